//! The code exchange (RFC 6749, 4.1.3; OpenID Connect Core 1.0, 3.1.3).
//!
//! Owns: the token request and what may be read from its answer. Must not know: what the ID token says.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use openidconnect::core::{CoreErrorResponseType, CoreTokenType};
use openidconnect::{
    AsyncHttpClient, AuthorizationCode, HttpRequest, HttpResponse, OAuth2TokenResponse, PkceCodeVerifier, RedirectUrl,
    RequestTokenError, StandardErrorResponse, TokenUrl,
};
use serde_json::{Map, Value};

use super::metadata::Provider;
use super::{assertion, printable};
use crate::connector::ConnectorFault;
use crate::egress::guard::Guard;
use crate::ids::Secret;
use crate::login::upstream::Attempt;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::json;

/// What a code was exchanged for. Nothing in it is verified yet.
pub struct Granted {
    pub access_token: Secret<String>,
    /// Compact, as received.
    pub id_token: Secret<String>,
}

/// Redeems `code` at the token endpoint to which the attempt was bound when the browser left. `assertion` is the hub's
/// proof of who it is where it has no secret there.
///
/// # Errors
/// The call fails, the code is refused, or the answer is no token answer with an ID token.
pub async fn exchange(
    provider: &Provider,
    guard: &Guard,
    code: Secret<String>,
    attempt: &Attempt,
    assertion: Option<Secret<String>>,
) -> Result<Granted, ConnectorFault> {
    let redirect_uri = RedirectUrl::new(attempt.redirect_uri.clone())
        .map_err(|_| ConnectorFault::new(ErrorCode::Internal, "the hub's own redirect_uri is not a URL"))?;
    let client = pinned(provider, attempt)?;
    let call = TokenCall { guard, id_token: Mutex::new(None) };
    let mut request = client
        .exchange_code(AuthorizationCode::new(code.into_inner()))
        .set_pkce_verifier(PkceCodeVerifier::new(attempt.verifier.reveal().clone()))
        .set_redirect_uri(Cow::Owned(redirect_uri));
    if let Some(assertion) = assertion {
        // RFC 7521, 4.2.
        request = request
            .add_extra_param("client_assertion_type", assertion::TYPE)
            .add_extra_param("client_assertion", assertion.into_inner());
    }
    let answer = request.request_async(&call).await.map_err(fault_of)?;
    // RFC 6749, 7.1: a token of a type that we don't understand must not be used.
    if *answer.token_type() != CoreTokenType::Bearer {
        return Err(ConnectorFault::new(ErrorCode::IdpTokenAnswer, "token_type is not Bearer"));
    }
    match call.id_token.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(Value::String(id_token)) => {
            Ok(Granted { access_token: Secret::new(answer.access_token().secret().clone()), id_token: Secret::new(id_token) })
        }
        Some(_) => Err(ConnectorFault::new(ErrorCode::IdTokenMalformed, "id_token is not a string")),
        None => {
            Err(ConnectorFault::new(ErrorCode::IdTokenMissing, "the token answer has no id_token; is the openid scope granted?"))
        }
    }
}

/// The client that sends the code where the browser's own identity provider redeems it, and nowhere else, even if
/// the metadata has changed since (mix-up, RFC 9700, 4.4).
fn pinned<'a>(provider: &'a Provider, attempt: &Attempt) -> Result<Cow<'a, super::metadata::UpstreamClient>, ConnectorFault> {
    if provider.token_endpoint == attempt.left.token_endpoint {
        return Ok(Cow::Borrowed(&provider.client));
    }
    let token_endpoint = TokenUrl::new(attempt.left.token_endpoint.clone())
        .map_err(|_| ConnectorFault::new(ErrorCode::Internal, "the attempt's token endpoint is not a URL"))?;
    Ok(Cow::Owned(provider.client.clone().set_token_uri(token_endpoint)))
}

/// The guarded client, which takes the ID token out of the answer before the crate sees it: it is opened by
/// `token::verify` first, and its claims are read only after its signature.
struct TokenCall<'g> {
    guard: &'g Guard,
    id_token: Mutex<Option<Value>>,
}

impl<'c> AsyncHttpClient<'c> for TokenCall<'_> {
    type Error = ConnectorFault;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, ConnectorFault>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.ask(request))
    }
}

impl TokenCall<'_> {
    async fn ask(&self, request: HttpRequest) -> Result<HttpResponse, ConnectorFault> {
        let mut answer = self.guard.send(request).await?;
        let status = answer.status().as_u16();
        match status {
            200 => {}
            400..=499 => return Ok(answer),
            _ => return Err(unexpected_status(status)),
        }
        let mut members = json::parse_object(answer.body())
            .map_err(|_| ConnectorFault::new(ErrorCode::IdpTokenAnswer, "it is not a JSON object without repeated members"))?;
        *self.id_token.lock().unwrap_or_else(PoisonError::into_inner) = members.remove("id_token");
        // Only what is used is read, so that an odd `expires_in` or `scope` breaks nothing.
        let used: Map<String, Value> =
            ["access_token", "token_type"].into_iter().filter_map(|name| members.remove_entry(name)).collect();
        *answer.body_mut() = Value::Object(used).to_string().into_bytes();
        Ok(answer)
    }
}

fn unexpected_status(status: u16) -> ConnectorFault {
    ConnectorFault::new(ErrorCode::IdpStatus, format!("the token endpoint answered with status {status}"))
}

/// The crate's errors can carry the whole answer, tokens included: nothing of them but the `error` code goes on.
fn fault_of(error: RequestTokenError<ConnectorFault, StandardErrorResponse<CoreErrorResponseType>>) -> ConnectorFault {
    match error {
        RequestTokenError::Request(fault) => fault,
        RequestTokenError::ServerResponse(refusal) if *refusal.error() == CoreErrorResponseType::InvalidClient => {
            let mend = "error=invalid_client; are client_id, client_secret and token_endpoint_auth_method those registered there? \
                        With private_key_jwt: can it read /api/v2/client/jwks?";
            ConnectorFault::new(ErrorCode::IdpClientRefused, mend)
        }
        RequestTokenError::ServerResponse(refusal) => {
            ConnectorFault::new(ErrorCode::IdpCodeRefused, format!("error={}", printable(refusal.error().as_ref(), 64)))
        }
        RequestTokenError::Parse(..) => {
            ConnectorFault::new(ErrorCode::IdpTokenAnswer, "access_token or token_type is missing or malformed")
        }
        RequestTokenError::Other(_) => {
            ConnectorFault::new(ErrorCode::IdpTokenAnswer, "it is not typed application/json, or an error without a body")
        }
    }
}
