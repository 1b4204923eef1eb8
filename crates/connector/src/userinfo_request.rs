//! Fetches userinfo with an access token, for `oidc` and `oauth2` (OpenID Connect Core 1.0 §5.3.1;
//! RFC 6750 §2.1; RFC 9449 §7). Does not verify the response.

use http::header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE};
use openidconnect::{HttpRequest, HttpResponse};
use url::Url;

use super::dpop::{DPOP, DpopSession, USE_DPOP_NONCE};
use super::error::ConnectorError;
use passerelle_egress::safe_http_client::{EgressError, SafeHttpClient};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;
use passerelle_telemetry::trace;

/// A userinfo request.
pub(crate) struct UserinfoRequest<'a> {
    pub method: http::Method,
    pub endpoint: &'a Url,
    /// Media types of the response.
    pub accepted: &'static str,
    pub access_token: &'a Secret<String>,
    /// The key that the token is bound to.
    pub dpop: Option<&'a DpopSession<'a>>,
}

impl UserinfoRequest<'_> {
    /// Fetches userinfo, and returns the body unparsed.
    ///
    /// # Errors
    /// Returns an error if the call fails, or the status is not 200.
    pub(crate) async fn fetch(&self, http: &SafeHttpClient) -> Result<Vec<u8>, ConnectorError> {
        let response = trace::start_span("idp userinfo").run(self.send(http)).await?;
        match response.status().as_u16() {
            200 => Ok(response.into_body()),
            status @ (401 | 403) => Err(ConnectorError::new(
                ErrorCode::UserinfoRefused,
                format!("userinfo answered with status {status}"),
            )),
            _ => Err(ConnectorError::unexpected_status("userinfo", &response)),
        }
    }

    async fn send(&self, http: &SafeHttpClient) -> Result<HttpResponse, ConnectorError> {
        let Some(dpop) = self.dpop else {
            return Ok(http.send_with_retry(self.build(None)?).await?);
        };
        // Each request has a proof of its own, a repeated one too: a proof counts once.
        let mut is_first_nonce = true;
        let mut is_first_failure = true;
        loop {
            match http.send(self.build(Some(dpop))?).await {
                Err(EgressError::Unreachable { .. }) if is_first_failure => {
                    is_first_failure = false;
                }
                Err(error) => return Err(error.into()),
                Ok(response) => {
                    let has_nonce = dpop.remember_nonce(self.endpoint, response.headers());
                    let asks = is_first_nonce && has_nonce && asks_for_nonce(&response);
                    if !asks {
                        return Ok(response);
                    }
                    is_first_nonce = false;
                }
            }
        }
    }

    fn build(&self, dpop: Option<&DpopSession<'_>>) -> Result<HttpRequest, ConnectorError> {
        let scheme = if dpop.is_some() { "DPoP" } else { "Bearer" };
        let not_ascii = || {
            ConnectorError::new(
                ErrorCode::IdpTokenAnswer,
                "the access token is not printable ASCII",
            )
        };
        // RFC 6749 A.12
        if !self.access_token.reveal().bytes().all(|byte| (0x20..=0x7e).contains(&byte)) {
            return Err(not_ascii());
        }
        let mut request = http::Request::builder()
            .method(self.method.clone())
            .uri(self.endpoint.as_str())
            .header(ACCEPT, self.accepted)
            .header(AUTHORIZATION, format!("{scheme} {}", self.access_token.reveal()));
        if let Some(dpop) = dpop {
            let proof = dpop.proof(&self.method, self.endpoint, Some(self.access_token))?;
            request = request.header(DPOP, proof);
        }
        request.body(Vec::new()).map_err(|_| not_ascii())
    }
}

/// RFC 9449 §9: a resource server asks for its nonce with status 401.
fn asks_for_nonce(response: &HttpResponse) -> bool {
    response.status() == http::StatusCode::UNAUTHORIZED
        && response
            .headers()
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|challenge| challenge.to_str().ok())
            .any(|challenge| challenge.contains(USE_DPOP_NONCE))
}
