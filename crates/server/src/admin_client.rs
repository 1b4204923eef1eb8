//! Client of a running hub's administration API (`/admin/…`) on its private listener.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use http::{Method, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use passerelle_admin::console::{HubStatus, LoginView, PersonLogins};
use passerelle_admin::{
    AdminErrorBody, BlockChange, ConnectorList, DrainState, EndedSessions, KeysInUse, LoginSearch,
    NewNotice, NoticeChange, NoticeList, OperatorProbeOutcome, RefreshGrantList,
    RefreshGrantRevocation, ReloadOutcome, RevokedGrants,
};
use passerelle_config::command_settings::AdminAccess;
use passerelle_egress::safe_http_client::{
    AllowedSchemes, CallLimits, EgressError, SafeHttpClient,
};
use passerelle_extension::AdminRequest;
use passerelle_hub::registry::NewBlock;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;

/// The hub writes to disk before it answers; the list of a large federation is about a megabyte.
const LIMITS: CallLimits = CallLimits {
    connect_timeout: Duration::from_secs(2),
    total_timeout: Duration::from_secs(15),
    max_body_bytes: 8 << 20,
};

/// Error returned by a call to the administration API.
#[derive(thiserror::Error, Debug)]
pub enum AdminClientError {
    #[error(
        "private.admin_token is not set; fix: name the file of your token (private.operators) with --token-file, \
         or set it in passerelle.toml, as {{ env = \"NAME\" }} or {{ file = \"path\" }}, and restart the hub"
    )]
    NoToken,
    #[error(
        "--token-file {file}: {problem}; fix: write your token into this file, or name another"
    )]
    TokenFile { file: PathBuf, problem: String },
    #[error(
        "private.listen has port 0, so only the hub knows its port; fix: give the address with --private http://127.0.0.1:PORT"
    )]
    NoPort,
    #[error("{0} is not the address of a private listener; fix: write it as http://127.0.0.1:9090")]
    Address(String),
    #[error(
        "the hub does not answer at {address}: {error}; fix: start it, or give its private listener with --private URL"
    )]
    Unreachable { address: String, error: EgressError },
    #[error(
        "the hub at {address} rejects the token of private.admin_token; fix: use the token that the hub was started with"
    )]
    TokenRejected { address: String },
    #[error(
        "the hub at {address} rejects the token in {file}; fix: use a token that the hub was started with"
    )]
    FileTokenRejected { address: String, file: PathBuf },
    #[error(
        "the hub at {address} has received too many wrong tokens; fix: use the right token, and retry in {seconds} s"
    )]
    TooManyAttempts { address: String, seconds: String },
    #[error(
        "the hub at {address} runs without private.admin_token and private.operators; fix: set one of them in passerelle.toml and restart the hub"
    )]
    Disabled { address: String },
    #[error("{}{}", .0.error_description, .0.details.iter().map(|detail| format!("\n  {detail}")).collect::<String>())]
    Rejected(AdminErrorBody),
    #[error(
        "the server at {address} is not the private listener of a hub (status {status}); fix: give its address with --private URL"
    )]
    NotAHub { address: String, status: u16 },
    #[error("the request can't be serialized to JSON")]
    Request,
}

/// Outcome of a call of the admin API.
pub type AdminResult<T> = Result<T, AdminClientError>;

/// Client of the administration API of one hub.
pub struct AdminClient {
    base: Url,
    token: Secret<String>,
    /// File of the token; `None` for that of `private.admin_token`.
    token_file: Option<PathBuf>,
    http: SafeHttpClient,
}

impl AdminClient {
    /// Creates a client with the token of `private.admin_token`. `private` overrides the configured
    /// address of the private listener.
    ///
    /// # Errors
    /// Returns an error if the address or the token is missing or malformed.
    pub fn new(access: AdminAccess, private: Option<&str>) -> AdminResult<Self> {
        let token = access.admin_token.ok_or(AdminClientError::NoToken)?;
        let url = private.map_or_else(|| Self::listener_url(access.address), |url| Ok(url.into()));
        Self::connect(url?, token, None)
    }

    /// Creates a client of the private listener at `url` with the token in `file`.
    ///
    /// # Errors
    /// Returns an error if the file has no token, or the address is malformed.
    pub fn with_token_file(url: String, file: &Path) -> AdminResult<Self> {
        let problem = |problem| AdminClientError::TokenFile { file: file.to_owned(), problem };
        let text = std::fs::read_to_string(file).map(Secret::new);
        let text = text.map_err(|error| problem(format!("can't be read ({error})")))?;
        let token = text.reveal().trim_ascii();
        // The token is sent in a header (RFC 6750 §2.1).
        if token.is_empty() || !token.bytes().all(|c| c.is_ascii_graphic()) {
            return Err(problem("is not one word of printable ASCII".to_owned()));
        }
        Self::connect(url, Secret::new(token.to_owned()), Some(file.to_owned()))
    }

    /// Returns the URL of a private listener.
    ///
    /// # Errors
    /// Fails for port 0, which stands for one that only the hub knows.
    pub fn listener_url(address: SocketAddr) -> AdminResult<String> {
        if address.port() == 0 {
            return Err(AdminClientError::NoPort);
        }
        Ok(format!("http://{address}"))
    }

    fn connect(
        text: String,
        token: Secret<String>,
        token_file: Option<PathBuf>,
    ) -> AdminResult<Self> {
        let url = Url::parse(&text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.username().is_empty());
        let url = url.filter(|url| {
            url.query().is_none() && url.fragment().is_none() && url.password().is_none()
        });
        let (Some(base), Some(host)) = (url.clone(), url.as_ref().and_then(Url::host_str)) else {
            return Err(AdminClientError::Address(text));
        };
        // The operator chose this host, so any address is allowed, loopback included.
        let http = SafeHttpClient::new(AllowedSchemes::HttpAndHttps, &[host.to_owned()], LIMITS)
            .map_err(|error| AdminClientError::Unreachable { address: text, error })?;
        Ok(Self { base, token, token_file, http })
    }

    /// Lists every connector with its state and its blocks.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn connectors(&self) -> AdminResult<ConnectorList> {
        self.send(Method::GET, "admin/connectors", None::<&()>).await
    }

    /// Sets a block; it is in force when this returns.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn block(&self, new: &NewBlock) -> AdminResult<BlockChange> {
        self.send(Method::POST, "admin/blocks", Some(new)).await
    }

    /// Lifts a block that was set by a command.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn unblock(&self, id: &str) -> AdminResult<BlockChange> {
        self.send(Method::DELETE, &format!("admin/blocks/{}", segment(id)), None::<&()>).await
    }

    /// Lists the notices that have not ended.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn notices(&self) -> AdminResult<NoticeList> {
        self.send(Method::GET, "admin/notices", None::<&()>).await
    }

    /// Publishes a notice; it is in force when this returns.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn publish_notice(&self, notice: &NewNotice) -> AdminResult<NoticeChange> {
        self.send(Method::POST, "admin/notices", Some(notice)).await
    }

    /// Removes a notice that was published on the running hub.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn remove_notice(&self, id: &str) -> AdminResult<NoticeChange> {
        self.send(Method::DELETE, &format!("admin/notices/{}", segment(id)), None::<&()>).await
    }

    /// Makes the hub probe an identity provider at once.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn probe(&self, connector: &str) -> AdminResult<OperatorProbeOutcome> {
        let path = format!("admin/connectors/{}/probe", segment(connector));
        self.send(Method::POST, &path, None::<&()>).await
    }

    /// Makes the hub reload its keys; they are in use when this returns.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn reload_keys(&self) -> AdminResult<KeysInUse> {
        self.send(Method::POST, "admin/keys/reload", None::<&()>).await
    }

    /// Finds a login on all hubs.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn login(&self, support_id: &str) -> AdminResult<LoginView> {
        self.send(Method::GET, &format!("admin/logins/{}", segment(support_id)), None::<&()>).await
    }

    /// Searches a person's recent logins on all hubs, which record the reason.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn search_logins(&self, sub: &str, reason: &str) -> AdminResult<PersonLogins> {
        let search = LoginSearch { sub: sub.to_owned(), reason: reason.to_owned() };
        self.send(Method::POST, "admin/logins/search", Some(&search)).await
    }

    /// Ends the sessions of a person. The hub records the reason.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn end_sessions(&self, person: &LoginSearch) -> AdminResult<EndedSessions> {
        self.send(Method::POST, "admin/sessions/end", Some(person)).await
    }

    /// Lists the refresh tokens of a person. The hub records the reason.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn refresh_grants(&self, person: &LoginSearch) -> AdminResult<RefreshGrantList> {
        self.send(Method::POST, "admin/refresh-grants/search", Some(person)).await
    }

    /// Ends refresh tokens of a person. The hub records the reason.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn revoke_refresh_grants(
        &self,
        revocation: &RefreshGrantRevocation,
    ) -> AdminResult<RevokedGrants> {
        self.send(Method::POST, "admin/refresh-grants/revoke", Some(revocation)).await
    }

    /// Makes the hub read its files and keys.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn reload(&self) -> AdminResult<ReloadOutcome> {
        self.send(Method::POST, "admin/reload", None::<&()>).await
    }

    /// Makes the hub not ready.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn drain(&self) -> AdminResult<DrainState> {
        self.send(Method::POST, "admin/drain", None::<&()>).await
    }

    /// Makes a drained hub ready again.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn resume(&self) -> AdminResult<DrainState> {
        self.send(Method::DELETE, "admin/drain", None::<&()>).await
    }

    /// Returns the address of the private listener.
    pub fn address(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Fetches the status of the hub.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn status(&self) -> AdminResult<HubStatus> {
        self.send(Method::GET, "admin/status", None::<&()>).await
    }

    /// Sends the request of an optional crate's command, and returns the body of the response.
    ///
    /// # Errors
    /// See [`AdminClientError`].
    pub async fn call(&self, request: &AdminRequest) -> AdminResult<Value> {
        let method = request.method.parse().map_err(|_| AdminClientError::Request)?;
        self.send(method, &request.path, request.body.as_ref()).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> AdminResult<T> {
        let address = self.base.as_str().trim_end_matches('/').to_owned();
        let not_a_hub = |status| AdminClientError::NotAHub { address: address.clone(), status };
        let body = body.map(serde_json::to_vec).transpose();
        let body = body.map_err(|_| AdminClientError::Request)?.unwrap_or_default();
        let bearer = HeaderValue::try_from(format!("Bearer {}", self.token.reveal()))
            .map_err(|_| AdminClientError::NoToken)?;
        let request = Request::builder()
            .method(method)
            .uri(format!("{address}/{path}"))
            .header(AUTHORIZATION, bearer);
        let request = request.body(body).map_err(|_| AdminClientError::Address(address.clone()))?;
        let answer = self.http.send(request).await;
        let answer = answer
            .map_err(|error| AdminClientError::Unreachable { address: address.clone(), error })?;
        let status = answer.status().as_u16();
        if answer.status().is_success() {
            return serde_json::from_slice(answer.body()).map_err(|_| not_a_hub(status));
        }
        let refused: AdminErrorBody =
            serde_json::from_slice(answer.body()).map_err(|_| not_a_hub(status))?;
        let is = |code: ErrorCode| refused.code == code.entry().code;
        let seconds = || {
            answer
                .headers()
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok())
                .unwrap_or("60")
                .to_owned()
        };
        Err(match () {
            () if is(ErrorCode::AdminOff) => AdminClientError::Disabled { address },
            () if is(ErrorCode::AdminToken) => match self.token_file.clone() {
                None => AdminClientError::TokenRejected { address },
                Some(file) => AdminClientError::FileTokenRejected { address, file },
            },
            () if is(ErrorCode::TooManyFailures) => {
                AdminClientError::TooManyAttempts { address, seconds: seconds() }
            }
            () => AdminClientError::Rejected(refused),
        })
    }
}

fn segment(id: &str) -> String {
    url::form_urlencoded::byte_serialize(id.as_bytes()).collect()
}
