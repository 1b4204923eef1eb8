//! The operator's side of `/admin/…`: asks a running hub, from the machine that it runs on, or from one that reaches its
//! private listener.

use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use http::{Method, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::actor::registry::NewBlock;
use crate::config::access::Access;
use crate::egress::guard::{CallLimits, Guard, GuardFault, Schemes};
use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;
use crate::web::admin::{Changed, ConnectorList, KeysInUse, Refused};
use crate::web::window::Status;

/// The hub waits for its disk before it answers; the list of a large federation has a megabyte.
const LIMITS: CallLimits =
    CallLimits { connect: Duration::from_secs(2), whole: Duration::from_secs(15), body: 8 << 20 };

/// Why the hub did not do what it was asked.
#[derive(thiserror::Error, Debug)]
pub enum AdministerFault {
    #[error(
        "private.admin_token is not set, without which the hub can't be administered; \
         mend: set it in passerelle.toml, as {{ env = \"NAME\" }} or {{ file = \"path\" }}, and restart the hub"
    )]
    NoToken,
    #[error(
        "private.listen takes a free port, which only the hub knows; mend: name its address by --private http://127.0.0.1:PORT"
    )]
    NoPort,
    #[error(
        "{0} is not the address of a private listener; mend: write it as http://127.0.0.1:9090"
    )]
    Address(String),
    #[error(
        "the hub does not answer at {address}: {fault}; mend: start it, or name its private listener by --private URL"
    )]
    NoAnswer { address: String, fault: GuardFault },
    #[error(
        "the hub at {address} refuses the token of private.admin_token; mend: give this command the token that the hub was started with"
    )]
    TokenRefused { address: String },
    #[error(
        "the hub at {address} has refused too many wrong tokens; mend: give this command the right one, and try again in {seconds} s"
    )]
    TooMany { address: String, seconds: String },
    #[error(
        "the hub at {address} runs without private.admin_token; mend: set it in passerelle.toml and restart the hub"
    )]
    Off { address: String },
    #[error("{}{}", .0.error_description, .0.details.iter().map(|detail| format!("\n  {detail}")).collect::<String>())]
    Refused(Refused),
    #[error(
        "what answers at {address} is no hub's private listener (status {status}); mend: name it by --private URL"
    )]
    Stranger { address: String, status: u16 },
}

/// A hub's private listener, and what opens its administration.
pub struct Administration {
    base: Url,
    token: Secret<String>,
    guard: Guard,
}

impl std::fmt::Debug for Administration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Administration").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl Administration {
    /// `private` is the listener's address where it is not that of the configuration.
    ///
    /// # Errors
    /// What is missing to find the hub, or to be let in.
    pub fn of(access: Access, private: Option<&str>) -> Result<Self, AdministerFault> {
        let token = access.admin_token.ok_or(AdministerFault::NoToken)?;
        if private.is_none() && access.address.port() == 0 {
            return Err(AdministerFault::NoPort);
        }
        let text = private.map_or_else(|| format!("http://{}", access.address), str::to_owned);
        let url = Url::parse(&text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.username().is_empty());
        let url = url.filter(|url| {
            url.query().is_none() && url.fragment().is_none() && url.password().is_none()
        });
        let (Some(base), Some(host)) = (url.clone(), url.as_ref().and_then(Url::host_str)) else {
            return Err(AdministerFault::Address(text));
        };
        // The operator named this one host: it may be anywhere, loopback above all.
        let guard = Guard::new(Schemes::HttpToo, &[host.to_owned()], LIMITS)
            .map_err(|fault| AdministerFault::NoAnswer { address: text, fault })?;
        Ok(Self { base, token, guard })
    }

    /// Every connector, with its state and its blocks.
    ///
    /// # Errors
    /// See [`AdministerFault`].
    pub async fn connectors(&self) -> Result<ConnectorList, AdministerFault> {
        self.ask(Method::GET, "admin/connectors", None::<&()>).await
    }

    /// Sets a block; it is in force when this returns.
    ///
    /// # Errors
    /// See [`AdministerFault`].
    pub async fn block(&self, new: &NewBlock) -> Result<Changed, AdministerFault> {
        self.ask(Method::POST, "admin/blocks", Some(new)).await
    }

    /// Lifts a block that was set by command.
    ///
    /// # Errors
    /// See [`AdministerFault`].
    pub async fn unblock(&self, id: &str) -> Result<Changed, AdministerFault> {
        let id: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
        self.ask(Method::DELETE, &format!("admin/blocks/{id}"), None::<&()>).await
    }

    /// Has the hub read its keys again; they are in use when this returns.
    ///
    /// # Errors
    /// See [`AdministerFault`].
    pub async fn reload_keys(&self) -> Result<KeysInUse, AdministerFault> {
        self.ask(Method::POST, "admin/keys/reload", None::<&()>).await
    }

    /// The private listener's address.
    #[must_use]
    pub fn address(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// How the hub is doing.
    ///
    /// # Errors
    /// See [`AdministerFault`].
    pub async fn status(&self) -> Result<Status, AdministerFault> {
        self.ask(Method::GET, "admin/status", None::<&()>).await
    }

    /// Every metric, in Prometheus' text format.
    ///
    /// # Errors
    /// See [`AdministerFault`].
    pub async fn metrics(&self) -> Result<String, AdministerFault> {
        let address = self.base.as_str().trim_end_matches('/').to_owned();
        let request = Request::get(format!("{address}/metrics")).body(Vec::new());
        let request = request.map_err(|_| AdministerFault::Address(address.clone()))?;
        let answer = self.guard.send(request).await;
        let answer = answer
            .map_err(|fault| AdministerFault::NoAnswer { address: address.clone(), fault })?;
        let status = answer.status().as_u16();
        match String::from_utf8(answer.into_body()) {
            Ok(text) if status == 200 => Ok(text),
            Ok(_) | Err(_) => Err(AdministerFault::Stranger { address, status }),
        }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, AdministerFault> {
        let address = self.base.as_str().trim_end_matches('/').to_owned();
        let stranger = |status| AdministerFault::Stranger { address: address.clone(), status };
        let body =
            body.map(serde_json::to_vec).transpose().map_err(|_| stranger(0))?.unwrap_or_default();
        let bearer = HeaderValue::try_from(format!("Bearer {}", self.token.reveal()))
            .map_err(|_| AdministerFault::NoToken)?;
        let request = Request::builder()
            .method(method)
            .uri(format!("{address}/{path}"))
            .header(AUTHORIZATION, bearer);
        let request = request.body(body).map_err(|_| AdministerFault::Address(address.clone()))?;
        let answer = self.guard.send(request).await;
        let answer = answer
            .map_err(|fault| AdministerFault::NoAnswer { address: address.clone(), fault })?;
        let status = answer.status().as_u16();
        if answer.status().is_success() {
            return serde_json::from_slice(answer.body()).map_err(|_| stranger(status));
        }
        let refused: Refused =
            serde_json::from_slice(answer.body()).map_err(|_| stranger(status))?;
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
            () if is(ErrorCode::AdminOff) => AdministerFault::Off { address },
            () if is(ErrorCode::AdminToken) => AdministerFault::TokenRefused { address },
            () if is(ErrorCode::TooManyMistakes) => {
                AdministerFault::TooMany { address, seconds: seconds() }
            }
            () => AdministerFault::Refused(refused),
        })
    }
}
