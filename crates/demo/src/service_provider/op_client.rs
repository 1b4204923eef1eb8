//! HTTP client of the demo: discovery, key set, token, userinfo and introspection at the hub, and
//! calls to the data provider.
//!
//! Does not verify tokens ([`super::verify`]).

use std::time::Duration;

use actix_web::cookie::Cookie;
use reqwest::redirect::Policy;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::form_urlencoded;

use passerelle_egress::system_authorities::build_with_system_authorities;
use passerelle_egress::tls_provider::install_tls_provider;
use passerelle_jose::verify::VerificationKeys;
use passerelle_protocol::field_value::is_media_type;
use passerelle_protocol::ids::Secret;

/// Limit for one call.
const TIME_LIMIT: Duration = Duration::from_secs(6);
const MAX_BODY: usize = 256 * 1024;

/// Error of a call, as the demo page shows it.
#[derive(thiserror::Error, Clone, Debug)]
pub(crate) enum OpClientError {
    #[error("The hub's {0} can't be reached.")]
    Unreachable(&'static str),
    #[error("The hub's {what} answered with status {status}{detail}.")]
    Status { what: &'static str, status: u16, detail: String },
    #[error("The response of the hub's {0} is malformed.")]
    Malformed(&'static str),
    #[error("The hub's configuration document names another issuer.")]
    Issuer,
}

/// Members of the discovery document that the demo needs.
#[derive(Clone, Deserialize)]
pub(crate) struct OpMetadata {
    pub issuer: String,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub userinfo_endpoint: String,
    pub jwks_uri: String,
    /// RP-Initiated Logout 1.0 §2.1.
    pub end_session_endpoint: Option<String>,
    /// RFC 8414 §2.
    pub introspection_endpoint: Option<String>,
    /// RFC 9207 §3.
    #[serde(default)]
    pub authorization_response_iss_parameter_supported: bool,
}

/// Token response, with its bytes for the page.
pub(crate) struct DemoTokens {
    pub id_token: String,
    pub access_token: Secret<String>,
    pub raw: String,
}

/// HTTP client of the hub.
pub(crate) struct OpClient {
    client: reqwest::Client,
}

impl OpClient {
    /// Creates a client.
    ///
    /// # Errors
    /// Returns an error if TLS is not available.
    pub(crate) fn new() -> Result<Self, reqwest::Error> {
        install_tls_provider();
        let build = |builder: reqwest::ClientBuilder| {
            builder.no_proxy().redirect(Policy::none()).timeout(TIME_LIMIT).build()
        };
        build_with_system_authorities(build).map(|(client, _)| Self { client })
    }

    /// Fetches the discovery document (OpenID Connect Discovery 1.0 §4), without a cache.
    ///
    /// # Errors
    /// Returns [`OpClientError::Issuer`] if the document names another issuer (Discovery 1.0 §4.3),
    /// or an error if the call fails.
    pub(crate) async fn discover(&self, issuer: &str) -> Result<OpMetadata, OpClientError> {
        const WHAT: &str = "configuration document";
        let request = self.client.get(format!("{issuer}/.well-known/openid-configuration"));
        let metadata: OpMetadata = parse_json(WHAT, &self.send(WHAT, request, None).await?)?;
        if metadata.issuer == issuer { Ok(metadata) } else { Err(OpClientError::Issuer) }
    }

    /// Fetches the key set.
    ///
    /// # Errors
    /// Returns an error if the call fails or the key set is malformed.
    pub(crate) async fn fetch_keys(
        &self,
        metadata: &OpMetadata,
    ) -> Result<VerificationKeys, OpClientError> {
        const WHAT: &str = "key set";
        let body = self.send(WHAT, self.client.get(&metadata.jwks_uri), None).await?;
        VerificationKeys::from_jwks(&body).map_err(|_| OpClientError::Malformed(WHAT))
    }

    /// Redeems a code (RFC 6749 §4.1.3) with `client_secret_post` (R201).
    ///
    /// # Errors
    /// Returns an error if the call fails or the response is malformed.
    pub(crate) async fn redeem_code(
        &self,
        metadata: &OpMetadata,
        form: &[(&str, &str)],
    ) -> Result<DemoTokens, OpClientError> {
        const WHAT: &str = "token endpoint";
        #[derive(Deserialize)]
        struct Answer {
            access_token: String,
            id_token: String,
            token_type: String,
        }
        let body = self.send(WHAT, self.form_request(&metadata.token_endpoint, form), None).await?;
        let answer: Answer = parse_json(WHAT, &body)?;
        if !answer.token_type.eq_ignore_ascii_case("bearer") {
            return Err(OpClientError::Malformed(WHAT));
        }
        let raw = String::from_utf8_lossy(&body).into_owned();
        Ok(DemoTokens {
            id_token: answer.id_token,
            access_token: Secret::new(answer.access_token),
            raw,
        })
    }

    /// Fetches the signed userinfo response (R161).
    ///
    /// # Errors
    /// Returns an error if the call fails or the response is not a JWT.
    pub(crate) async fn fetch_userinfo(
        &self,
        metadata: &OpMetadata,
        access_token: &Secret<String>,
    ) -> Result<String, OpClientError> {
        const WHAT: &str = "userinfo endpoint";
        let request =
            self.client.get(&metadata.userinfo_endpoint).bearer_auth(access_token.reveal());
        let body = self.send(WHAT, request, Some("application/jwt")).await?;
        String::from_utf8(body).map_err(|_| OpClientError::Malformed(WHAT))
    }

    /// Introspects a token (RFC 7662 §2), with id and secret in the form (R180).
    ///
    /// # Errors
    /// Returns an error if the call fails or the response is malformed.
    pub(crate) async fn introspect_token(
        &self,
        metadata: &OpMetadata,
        form: &[(&str, &str)],
    ) -> Result<Value, OpClientError> {
        const WHAT: &str = "introspection endpoint";
        let endpoint = metadata
            .introspection_endpoint
            .as_ref()
            .ok_or(OpClientError::Malformed("configuration document"))?;
        let request = self.form_request(endpoint, form);
        parse_json(WHAT, &self.send(WHAT, request, Some("application/json")).await?)
    }

    /// Calls the data provider with an access token; returns its response or the error, for
    /// display.
    pub(crate) async fn fetch_record(
        &self,
        data_provider: Option<&str>,
        access_token: &Secret<String>,
    ) -> Option<String> {
        const WHAT: &str = "data provider";
        let request = self.client.get(data_provider?).bearer_auth(access_token.reveal());
        let response = self.send(WHAT, request, Some("application/json")).await;
        let response = response.and_then(|body| parse_json::<Value>(WHAT, &body));
        Some(response.map_or_else(|error| error.to_string(), |response| format!("{response:#}")))
    }

    /// Signs in to the admin console of a hub, and returns the cookie of the console.
    ///
    /// # Errors
    /// Returns an error if the call fails, or the console sets no cookie.
    pub(crate) async fn sign_in_to_console(
        &self,
        origin: &str,
        token: &Secret<String>,
    ) -> Result<Cookie<'static>, OpClientError> {
        const WHAT: &str = "admin console";
        let form = [("token", token.reveal().as_str())];
        let request = self.form_request(&format!("{origin}/admin/sign-in"), &form);
        let answer = request.send().await.map_err(|_| OpClientError::Unreachable(WHAT))?;
        let cookie = answer.headers().get("set-cookie").and_then(|value| value.to_str().ok());
        match (answer.status().as_u16(), cookie) {
            (303, Some(cookie)) => {
                Cookie::parse(cookie.to_owned()).map_err(|_| OpClientError::Malformed(WHAT))
            }
            (303, None) => Err(OpClientError::Malformed(WHAT)),
            (status, _) => Err(OpClientError::Status { what: WHAT, status, detail: String::new() }),
        }
    }

    fn form_request(&self, address: &str, form: &[(&str, &str)]) -> reqwest::RequestBuilder {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        self.client
            .post(address)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body)
    }

    async fn send(
        &self,
        what: &'static str,
        request: reqwest::RequestBuilder,
        media_type: Option<&str>,
    ) -> Result<Vec<u8>, OpClientError> {
        let unreachable = |_| OpClientError::Unreachable(what);
        let mut answer = request.send().await.map_err(unreachable)?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(unreachable)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_BODY {
                return Err(OpClientError::Malformed(what));
            }
        }
        let status = answer.status().as_u16();
        if status != 200 {
            return Err(OpClientError::Status { what, status, detail: oauth_error(&body) });
        }
        let sent = answer.headers().get("content-type").and_then(|value| value.to_str().ok());
        if media_type.is_some_and(|wanted| !is_media_type(sent, wanted)) {
            return Err(OpClientError::Malformed(what));
        }
        Ok(body)
    }
}

fn parse_json<T: DeserializeOwned>(what: &'static str, body: &[u8]) -> Result<T, OpClientError> {
    serde_json::from_slice(body).map_err(|_| OpClientError::Malformed(what))
}

/// Formats an OAuth error body as `: invalid_grant, The code …`; empty for other bodies.
fn oauth_error(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Error {
        error: String,
        #[serde(default)]
        error_description: String,
    }
    let Ok(Error { error, error_description }) = serde_json::from_slice(body) else {
        return String::new();
    };
    let description = error_description.trim_end_matches('.');
    if description.is_empty() { format!(": {error}") } else { format!(": {error}, {description}") }
}
