//! Authorization code flow shared by `oidc` and `oauth2` (RFC 6749 §4.1; RFC 7636; RFC 9207):
//! validates the callback, redeems the code.
//!
//! Does not verify ID tokens.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use openidconnect::core::{CoreClient, CoreErrorResponseType, CoreTokenType};
use openidconnect::{
    AsyncHttpClient, AuthorizationCode, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse,
    OAuth2TokenResponse, PkceCodeVerifier, RedirectUrl, RequestTokenError, StandardErrorResponse,
    TokenUrl,
};
use serde_json::{Map, Value};
use url::Url;

use super::dpop::{DPOP, DpopSession, USE_DPOP_NONCE};
use super::error::ConnectorError;
use passerelle_egress::safe_http_client::SafeHttpClient;
use passerelle_federation::login::upstream::{CallbackParams, LoginAttempt};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::json;
use passerelle_telemetry::{printable_ascii, trace};

/// Client of the `openidconnect` crate with authorization and token endpoints. Its key set stays
/// empty, as `passerelle_jose::verify` verifies ID tokens.
pub(crate) type OauthClient =
    CoreClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// Validates the parameters of a callback, and returns the code. `issuer` and `client_id` are those
/// of the connector's current file.
///
/// # Errors
/// Returns an error if the response is from another issuer, an error response, or has no code.
pub fn validate_callback(
    issuer: &str,
    client_id: &str,
    attempt: &LoginAttempt,
    callback: CallbackParams,
) -> Result<Secret<String>, ConnectorError> {
    // RFC 9207 §2.4: checked first, for error responses too. Stops mix-up attacks.
    match &callback.iss {
        Some(iss) if *iss != attempt.redirect.issuer => {
            return Err(ConnectorError::new(
                ErrorCode::IdpIssWrong,
                "iss is not the issuer of the authorization request",
            ));
        }
        None if attempt.redirect.iss_expected => {
            return Err(ConnectorError::new(
                ErrorCode::IdpIssMissing,
                "iss is missing, although the identity provider announces it",
            ));
        }
        _ => {}
    }
    if attempt.redirect.issuer != issuer || attempt.redirect.client_id != client_id {
        return Err(ConnectorError::new(
            ErrorCode::IdpIssWrong,
            "the connector's issuer or client_id has changed since the authorization request",
        ));
    }
    if let Some(error) = callback.error {
        return Err(authorization_error(&error));
    }
    match callback.code {
        Some(code) if !code.reveal().is_empty() => Ok(code),
        _ => Err(ConnectorError::new(
            ErrorCode::IdpCallbackMalformed,
            "neither code nor error is present",
        )),
    }
}

/// Values of `error` by which identity providers say that the user stopped: the standard's, and
/// those of providers that have their own (RFC 6749 §4.1.2.1 is often extended).
const USER_CANCELLED_ERRORS: &[&str] = &[
    "access_denied",
    "authorization_declined",
    "cancelled",
    "cancelled_by_user",
    "canceled",
    "canceled_by_user",
    "consent_declined",
    "login_cancelled",
    "login_canceled",
    "user_cancel",
    "user_cancelled",
    "user_canceled",
    "user_cancelled_authorize",
    "user_cancelled_login",
    "user_denied",
];

/// Returns the error for the `error` of an authorization response (RFC 6749 §4.1.2.1). The user's
/// cancel, a sign-in that is less safe than asked, and the identity provider's failure are three
/// outcomes, for the user and for the service provider.
pub(crate) fn authorization_error(error: &str) -> ConnectorError {
    let code = match error {
        error if USER_CANCELLED_ERRORS.contains(&error) => ErrorCode::IdpDenied,
        "temporarily_unavailable" => ErrorCode::IdpTemporarilyUnavailable,
        // OpenID Connect Core Error Code unmet_authentication_requirements 1.0 §2.
        "unmet_authentication_requirements" => ErrorCode::AcrTooLow,
        _ => ErrorCode::IdpError,
    };
    ConnectorError::new(code, format!("error={}", printable_ascii(error, 64)))
}

/// Token response, not verified yet.
pub struct RawTokenResponse {
    pub access_token: Secret<String>,
    /// The member as received, of any type.
    pub id_token: Option<Value>,
}

/// Proofs of a token request besides the code and the hub's client secret.
#[derive(Default)]
pub struct TokenRequestProofs<'a> {
    /// Parameters of a client assertion.
    pub assertion_params: Vec<(&'static str, String)>,
    /// The key that the token must be bound to.
    pub dpop: Option<&'a DpopSession<'a>>,
}

/// Redeems a code at the token endpoint that was fixed in the authorization request.
///
/// # Errors
/// Returns an error if the call fails, the code is rejected, or the response is malformed.
pub async fn redeem_code(
    client: &OauthClient,
    http: &SafeHttpClient,
    code: Secret<String>,
    attempt: &LoginAttempt,
    proofs: TokenRequestProofs<'_>,
) -> Result<RawTokenResponse, ConnectorError> {
    let internal = |message: &str| ConnectorError::new(ErrorCode::Internal, message);
    let redirect_uri = RedirectUrl::new(attempt.request.redirect_uri.clone())
        .map_err(|_| internal("the hub's own redirect_uri is not a URL"))?;
    // The endpoint at the time of the authorization request, even if the metadata has changed
    // since. Stops mix-up attacks (RFC 9700 §4.4).
    let token_endpoint = TokenUrl::new(attempt.redirect.token_endpoint.clone())
        .map_err(|_| internal("the attempt's token endpoint is not a URL"))?;
    let client = client.clone().set_token_uri(token_endpoint);
    let call = TokenHttpClient { http, id_token: Mutex::new(None), dpop: proofs.dpop };
    let mut request = client
        .exchange_code(AuthorizationCode::new(code.into_inner()))
        .set_pkce_verifier(PkceCodeVerifier::new(attempt.request.verifier.reveal().clone()))
        .set_redirect_uri(Cow::Owned(redirect_uri));
    for (name, value) in proofs.assertion_params {
        request = request.add_extra_param(name, value);
    }
    let response = trace::start_span("idp token")
        .run(request.request_async(&call))
        .await
        .map_err(token_request_error)?;
    check_token_type(response.token_type(), proofs.dpop.is_some())?;
    let id_token = call.id_token.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(RawTokenResponse {
        access_token: Secret::new(response.access_token().secret().clone()),
        id_token,
    })
}

/// Checks the type of a token. Refuses a bearer token where a bound one is demanded: a thief could
/// use it (RFC 9449 §5).
fn check_token_type(token_type: &CoreTokenType, is_bound: bool) -> Result<(), ConnectorError> {
    let is_dpop = token_type.as_ref().eq_ignore_ascii_case("DPoP");
    match (is_bound, token_type) {
        (true, _) if is_dpop => Ok(()),
        (true, _) => {
            let message = "token_type is not DPoP: the token is not bound to the hub's key; let the identity \
                           provider bind this client's tokens, or set dpop = \"off\"";
            Err(ConnectorError::new(ErrorCode::IdpTokenUnbound, message))
        }
        (false, CoreTokenType::Bearer) => Ok(()),
        // RFC 6749 §7.1: a token of an unknown type must not be used.
        (false, _) => {
            let hint = if is_dpop { "; set dpop = \"on\"" } else { "" };
            let message = format!("token_type is not Bearer{hint}");
            Err(ConnectorError::new(ErrorCode::IdpTokenType, message))
        }
    }
}

/// HTTP client that removes the ID token from the response before `openidconnect` parses it, so
/// that its claims are read only after `passerelle_jose::verify` has verified the signature.
struct TokenHttpClient<'g> {
    http: &'g SafeHttpClient,
    id_token: Mutex<Option<Value>>,
    dpop: Option<&'g DpopSession<'g>>,
}

impl<'c> AsyncHttpClient<'c> for TokenHttpClient<'_> {
    type Error = ConnectorError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, ConnectorError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send_token_request(request))
    }
}

impl TokenHttpClient<'_> {
    async fn send_with_proof(
        &self,
        mut request: HttpRequest,
    ) -> Result<HttpResponse, ConnectorError> {
        let Some(dpop) = self.dpop else { return Ok(self.http.send(request).await?) };
        let url = Url::parse(&request.uri().to_string()).map_err(|_| {
            ConnectorError::new(ErrorCode::Internal, "the token endpoint is not a URL")
        })?;
        let proof = dpop.proof(request.method(), &url, None)?;
        request.headers_mut().insert(DPOP, proof);
        let response = self.http.send(request).await?;
        dpop.remember_nonce(&url, response.headers());
        Ok(response)
    }

    /// RFC 9449 §8: an authorization server asks for its nonce by an error.
    fn asks_for_nonce(&self, response: &HttpResponse) -> bool {
        let error = |members: Map<String, Value>| members.get("error")?.as_str().map(str::to_owned);
        self.dpop.is_some()
            && json::parse_object(response.body()).ok().and_then(error).as_deref()
                == Some(USE_DPOP_NONCE)
    }

    async fn send_token_request(
        &self,
        request: HttpRequest,
    ) -> Result<HttpResponse, ConnectorError> {
        let mut response = self.send_with_proof(request).await?;
        let status = response.status().as_u16();
        match status {
            200 => {}
            400..=428 | 430..=499 if self.asks_for_nonce(&response) => {
                let message = "the token endpoint asks for another DPoP nonce";
                return Err(ConnectorError::new(ErrorCode::IdpDpopNonce, message));
            }
            400..=428 | 430..=499 => return Ok(response),
            _ => return Err(ConnectorError::unexpected_status("the token endpoint", &response)),
        }
        let (body, id_token) = split_token_response(response.body())?;
        *self.id_token.lock().unwrap_or_else(PoisonError::into_inner) = id_token;
        *response.body_mut() = body;
        Ok(response)
    }
}

/// Splits the body of a successful response: into the body that `openidconnect` parses, and the ID
/// token.
///
/// # Errors
/// `IdpTokenAnswer`, `IdpAccessTokenMissing`, or the error that the body names.
pub fn split_token_response(body: &[u8]) -> Result<(Vec<u8>, Option<Value>), ConnectorError> {
    let mut members = json::parse_object(body).map_err(|_| {
        ConnectorError::new(
            ErrorCode::IdpTokenAnswer,
            "the response is not a JSON object without repeated members",
        )
    })?;
    if members.get("access_token").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err(match members.get("error").and_then(Value::as_str) {
            // GitHub sends errors with status 200.
            Some(error) => token_error(error),
            None => ConnectorError::new(
                ErrorCode::IdpAccessTokenMissing,
                "access_token is missing, empty or not a string",
            ),
        });
    }
    let id_token = members.remove("id_token");
    // Other members are dropped, so that a malformed `expires_in` or `scope` does no harm.
    let used: Map<String, Value> = ["access_token", "token_type"]
        .into_iter()
        .filter_map(|name| members.remove_entry(name))
        .collect();
    Ok((Value::Object(used).to_string().into_bytes(), id_token))
}

/// Converts an error of `openidconnect`. Only its `error` code is kept, as the error can contain
/// the whole response, tokens included.
fn token_request_error(
    error: RequestTokenError<ConnectorError, StandardErrorResponse<CoreErrorResponseType>>,
) -> ConnectorError {
    match error {
        RequestTokenError::Request(error) => error,
        RequestTokenError::ServerResponse(response) => token_error(response.error().as_ref()),
        RequestTokenError::Parse(..) => ConnectorError::new(
            ErrorCode::IdpTokenAnswer,
            "access_token or token_type is missing or malformed",
        ),
        RequestTokenError::Other(_) => ConnectorError::new(
            ErrorCode::IdpTokenAnswer,
            "the response is not application/json, or an error without a body",
        ),
    }
}

fn token_error(error: &str) -> ConnectorError {
    match error {
        // The second is GitHub's.
        "invalid_client" | "incorrect_client_credentials" => {
            let fix = "check that client_id, client_secret and token_endpoint_auth_method are those registered \
                       there. With private_key_jwt, check that the identity provider can read \
                       /api/v2/client/jwks and accepts the audience of client_assertion_audience";
            ConnectorError::new(ErrorCode::IdpClientRefused, format!("error={error}; {fix}"))
        }
        _ => ConnectorError::new(
            ErrorCode::IdpCodeRefused,
            format!("error={}", printable_ascii(error, 64)),
        ),
    }
}
