//! The demo's calls over HTTP: the service provider's for discovery, key set, token and userinfo, and to the data provider;
//! the data provider's for introspection.
//!
//! Owns: what goes over the wire, its limits. Must not know: whether an answer may be believed (that is `judge`).

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded;

use crate::ids::Secret;
use crate::token::verify::VerificationKeys;

/// The whole of one call.
const TIME_LIMIT: Duration = Duration::from_secs(6);
const MAX_BODY: usize = 256 * 1024;

/// What went wrong, in words that the demo page shows.
#[derive(thiserror::Error, Clone, Debug)]
pub enum HubFault {
    #[error("The hub's {0} can not be reached.")]
    Unreachable(&'static str),
    #[error("The hub's {what} answered with status {status}{detail}.")]
    Status { what: &'static str, status: u16, detail: String },
    #[error("The answer of the hub's {0} is malformed.")]
    Malformed(&'static str),
    #[error("The hub's configuration document names another issuer.")]
    Issuer,
}

/// The members of discovery that the demo needs.
#[derive(Clone, Deserialize)]
pub struct Metadata {
    pub issuer: String,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub userinfo_endpoint: String,
    pub jwks_uri: String,
    /// RP-Initiated Logout 1.0, 2.1.
    pub end_session_endpoint: Option<String>,
    /// RFC 8414, 2.
    pub introspection_endpoint: Option<String>,
    /// RFC 9207, 3.
    #[serde(default)]
    pub authorization_response_iss_parameter_supported: bool,
}

/// The token endpoint's answer, and its bytes for the page.
pub struct Tokens {
    pub id_token: String,
    pub access_token: Secret<String>,
    pub raw: String,
}

pub struct Hub {
    client: reqwest::Client,
}

impl Hub {
    /// # Errors
    /// If the HTTP client can't be built: no usable TLS setup on this machine.
    pub fn new() -> Result<Self, reqwest::Error> {
        let no_redirects = reqwest::redirect::Policy::none();
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(no_redirects)
            .timeout(TIME_LIMIT)
            .build()?;
        Ok(Self { client })
    }

    /// OpenID Connect Discovery 1.0, 4. Asked anew for each sign-in, so that the demo always shows what is published now.
    ///
    /// # Errors
    /// `Issuer` if the document is another issuer's (Discovery 4.3).
    pub async fn discover(&self, issuer: &str) -> Result<Metadata, HubFault> {
        const WHAT: &str = "configuration document";
        let body = self
            .call(WHAT, self.client.get(format!("{issuer}/.well-known/openid-configuration")), None)
            .await?;
        let metadata: Metadata =
            serde_json::from_slice(&body).map_err(|_| HubFault::Malformed(WHAT))?;
        if metadata.issuer == issuer { Ok(metadata) } else { Err(HubFault::Issuer) }
    }

    pub async fn keys(&self, metadata: &Metadata) -> Result<VerificationKeys, HubFault> {
        const WHAT: &str = "key set";
        let body = self.call(WHAT, self.client.get(&metadata.jwks_uri), None).await?;
        VerificationKeys::from_jwks(&body).map_err(|_| HubFault::Malformed(WHAT))
    }

    /// RFC 6749, 4.1.3, with `client_secret_post` (R201).
    pub async fn redeem(
        &self,
        metadata: &Metadata,
        form: &[(&str, &str)],
    ) -> Result<Tokens, HubFault> {
        const WHAT: &str = "token endpoint";
        #[derive(Deserialize)]
        struct Answer {
            access_token: String,
            id_token: String,
            token_type: String,
        }
        let body = self.call(WHAT, self.posted(&metadata.token_endpoint, form), None).await?;
        let answer: Answer =
            serde_json::from_slice(&body).map_err(|_| HubFault::Malformed(WHAT))?;
        if !answer.token_type.eq_ignore_ascii_case("bearer") {
            return Err(HubFault::Malformed(WHAT));
        }
        let raw = String::from_utf8_lossy(&body).into_owned();
        Ok(Tokens {
            id_token: answer.id_token,
            access_token: Secret::new(answer.access_token),
            raw,
        })
    }

    /// The signed userinfo answer, as it came (R161).
    pub async fn userinfo(
        &self,
        metadata: &Metadata,
        access_token: &Secret<String>,
    ) -> Result<String, HubFault> {
        const WHAT: &str = "userinfo endpoint";
        let request =
            self.client.get(&metadata.userinfo_endpoint).bearer_auth(access_token.reveal());
        let body = self.call(WHAT, request, Some("application/jwt")).await?;
        String::from_utf8(body).map_err(|_| HubFault::Malformed(WHAT))
    }

    /// RFC 7662, 2, with id and secret in the form (R180).
    pub async fn introspect(
        &self,
        metadata: &Metadata,
        form: &[(&str, &str)],
    ) -> Result<Value, HubFault> {
        const WHAT: &str = "introspection endpoint";
        let endpoint = metadata
            .introspection_endpoint
            .as_ref()
            .ok_or(HubFault::Malformed("configuration document"))?;
        let body = self.call(WHAT, self.posted(endpoint, form), Some("application/json")).await?;
        serde_json::from_slice(&body).map_err(|_| HubFault::Malformed(WHAT))
    }

    /// What the data provider at this address learns of an access token, as its answer or as what came instead.
    pub async fn record(
        &self,
        data_provider: Option<&str>,
        access_token: &Secret<String>,
    ) -> Option<String> {
        const WHAT: &str = "data provider";
        let request = self.client.get(data_provider?).bearer_auth(access_token.reveal());
        let told = self.call(WHAT, request, Some("application/json")).await;
        let told = told.and_then(|body| {
            serde_json::from_slice::<Value>(&body).map_err(|_| HubFault::Malformed(WHAT))
        });
        Some(told.map_or_else(|fault| fault.to_string(), |told| format!("{told:#}")))
    }

    fn posted(&self, address: &str, form: &[(&str, &str)]) -> reqwest::RequestBuilder {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        self.client
            .post(address)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body)
    }

    async fn call(
        &self,
        what: &'static str,
        request: reqwest::RequestBuilder,
        media_type: Option<&str>,
    ) -> Result<Vec<u8>, HubFault> {
        let unreachable = |_| HubFault::Unreachable(what);
        let mut answer = request.send().await.map_err(unreachable)?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(unreachable)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_BODY {
                return Err(HubFault::Malformed(what));
            }
        }
        let status = answer.status().as_u16();
        if status != 200 {
            return Err(HubFault::Status { what, status, detail: oauth_error(&body) });
        }
        let sent = answer
            .headers()
            .get("content-type")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let sent = sent.split(';').next().unwrap_or_default().trim();
        if media_type.is_some_and(|wanted| !sent.eq_ignore_ascii_case(wanted)) {
            return Err(HubFault::Malformed(what));
        }
        Ok(body)
    }
}

/// `: invalid_grant, The code …`, where the body is an OAuth error.
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
