//! What the kinds with an authorization code share (RFC 6749, 4.1; RFC 7636; RFC 9207): judging what the browser brought
//! back, redeeming the code, asking for userinfo.
//!
//! Owns: the token request, and what may be read from its answer. Must not know: ID tokens, or what userinfo says.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use http::header::{ACCEPT, AUTHORIZATION};
use openidconnect::core::{CoreClient, CoreErrorResponseType, CoreTokenType};
use openidconnect::{
    AsyncHttpClient, AuthorizationCode, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse,
    OAuth2TokenResponse, PkceCodeVerifier, RedirectUrl, RequestTokenError, StandardErrorResponse,
    TokenUrl,
};
use serde_json::{Map, Value};
use url::Url;

use super::ConnectorFault;
use crate::egress::guard::Guard;
use crate::env::Env;
use crate::ids::Secret;
use crate::login::upstream::{Arrival, Attempt};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::json;
use crate::telemetry::trace;

/// The crate's client with authorization and token endpoints. Its key set stays empty: ID tokens are opened by
/// `token::verify`.
pub type Client =
    CoreClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// What can be said of a callback before anything is called: whose answer it is, then whether it is a refusal.
/// `issuer` and `client_id` are the connector's own, as its file has them now.
///
/// # Errors
/// It is another's answer, a refusal, or none at all.
pub fn judge_arrival(
    issuer: &str,
    client_id: &str,
    attempt: &Attempt,
    arrival: Arrival,
) -> Result<Secret<String>, ConnectorFault> {
    // RFC 9207, 2.4: compared before all else, an error answer included. Stops a mix-up of identity providers.
    match &arrival.iss {
        Some(iss) if *iss != attempt.left.issuer => {
            return Err(ConnectorFault::new(
                ErrorCode::IdpIssWrong,
                "iss is not the issuer to which the browser was sent",
            ));
        }
        None if attempt.left.iss_expected => {
            return Err(ConnectorFault::new(
                ErrorCode::IdpIssMissing,
                "iss is announced and missing",
            ));
        }
        _ => {}
    }
    if attempt.left.issuer != issuer || attempt.left.client_id != client_id {
        return Err(ConnectorFault::new(
            ErrorCode::IdpIssWrong,
            "the connector's issuer or client_id has changed since the browser left",
        ));
    }
    if let Some(error) = arrival.error {
        let code =
            if error == "access_denied" { ErrorCode::IdpDenied } else { ErrorCode::IdpError };
        let description = arrival.error_description.unwrap_or_default();
        return Err(ConnectorFault::new(
            code,
            format!("error={} {}", printable(&error, 64), printable(&description, 200)),
        ));
    }
    match arrival.code {
        Some(code) if !code.reveal().is_empty() => Ok(code),
        _ => Err(ConnectorFault::new(
            ErrorCode::IdpCallbackMalformed,
            "neither code nor error is there",
        )),
    }
}

/// What a code was exchanged for. Nothing in it is verified yet.
pub struct Granted {
    pub access_token: Secret<String>,
    /// Whatever stood there.
    pub id_token: Option<Value>,
}

/// Redeems `code` at the token endpoint to which the attempt was bound when the browser left. `proof` are the
/// parameters that tell who the hub is, where it has no secret there.
///
/// # Errors
/// The call fails, the code is refused, or the answer is no token answer.
pub async fn redeem(
    client: &Client,
    guard: &Guard,
    code: Secret<String>,
    attempt: &Attempt,
    proof: Vec<(&'static str, String)>,
) -> Result<Granted, ConnectorFault> {
    let binding = Binding {
        // Where the browser's own identity provider redeems it, and nowhere else, even if the metadata has changed since
        // (mix-up, RFC 9700, 4.4).
        token_endpoint: &attempt.left.token_endpoint,
        redirect_uri: &attempt.redirect_uri,
        verifier: attempt.verifier.reveal().clone(),
    };
    request_token(client, guard, code, binding, proof).await
}

/// What a code is bound to.
struct Binding<'a> {
    token_endpoint: &'a str,
    redirect_uri: &'a str,
    verifier: String,
}

async fn request_token(
    client: &Client,
    guard: &Guard,
    code: Secret<String>,
    binding: Binding<'_>,
    proof: Vec<(&'static str, String)>,
) -> Result<Granted, ConnectorFault> {
    let internal = |why: &str| ConnectorFault::new(ErrorCode::Internal, why);
    let redirect_uri = RedirectUrl::new(binding.redirect_uri.to_owned())
        .map_err(|_| internal("the hub's own redirect_uri is not a URL"))?;
    let token_endpoint = TokenUrl::new(binding.token_endpoint.to_owned())
        .map_err(|_| internal("the attempt's token endpoint is not a URL"))?;
    let client = client.clone().set_token_uri(token_endpoint);
    let call = TokenCall { guard, id_token: Mutex::new(None) };
    let mut request = client
        .exchange_code(AuthorizationCode::new(code.into_inner()))
        .set_pkce_verifier(PkceCodeVerifier::new(binding.verifier))
        .set_redirect_uri(Cow::Owned(redirect_uri));
    for (name, value) in proof {
        request = request.add_extra_param(name, value);
    }
    let answer =
        trace::span("idp token").run(request.request_async(&call)).await.map_err(fault_of)?;
    // RFC 6749, 7.1: a token of a type that we don't understand must not be used.
    if *answer.token_type() != CoreTokenType::Bearer {
        return Err(ConnectorFault::new(ErrorCode::IdpTokenType, "token_type is not Bearer"));
    }
    let id_token = call.id_token.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Granted { access_token: Secret::new(answer.access_token().secret().clone()), id_token })
}

/// Redeems a code that the identity provider never issued. A working token endpoint refuses it (RFC 6749 §5.2), and the
/// refusal of the hub's own credentials is such an answer, too.
///
/// # Errors
/// The call fails, or the answer is none that RFC 6749 knows.
pub async fn redeem_made_up_code(
    client: &Client,
    guard: &Guard,
    redirect_uri: &str,
    env: &Env,
    proof: Vec<(&'static str, String)>,
) -> Result<(), ConnectorFault> {
    let token_endpoint = client.token_uri().to_string();
    let binding =
        Binding { token_endpoint: &token_endpoint, redirect_uri, verifier: env.entropy().token() };
    match request_token(client, guard, Secret::new(env.entropy().token()), binding, proof).await {
        Ok(_) => Ok(()),
        Err(fault)
            if matches!(fault.code, ErrorCode::IdpCodeRefused | ErrorCode::IdpClientRefused) =>
        {
            Ok(())
        }
        Err(fault) => Err(fault),
    }
}

/// Asks for userinfo with the access token; the body as it came.
///
/// # Errors
/// The call fails, or the answer's status is not 200.
pub async fn userinfo(
    endpoint: &Url,
    accepted: &'static str,
    access_token: &Secret<String>,
    guard: &Guard,
) -> Result<Vec<u8>, ConnectorFault> {
    let request: HttpRequest = http::Request::get(endpoint.as_str())
        .header(ACCEPT, accepted)
        .header(AUTHORIZATION, format!("Bearer {}", access_token.reveal()))
        .body(Vec::new())
        .map_err(|_| {
            ConnectorFault::new(
                ErrorCode::IdpTokenAnswer,
                "the access token is not printable ASCII",
            )
        })?;
    let answer = trace::span("idp userinfo").run(guard.send_safe(request)).await?;
    match answer.status().as_u16() {
        200 => Ok(answer.into_body()),
        status @ (401 | 403) => Err(ConnectorFault::new(
            ErrorCode::UserinfoRefused,
            format!("userinfo answered with status {status}"),
        )),
        _ => Err(ConnectorFault::of_status("userinfo", &answer)),
    }
}

/// A stranger's text for the log: printable ASCII, cut.
pub fn printable(text: &str, longest: usize) -> String {
    text.chars()
        .take(longest)
        .map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { '?' })
        .collect()
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
            400..=428 | 430..=499 => return Ok(answer),
            _ => return Err(ConnectorFault::of_status("the token endpoint", &answer)),
        }
        let mut members = json::parse_object(answer.body()).map_err(|_| {
            ConnectorFault::new(
                ErrorCode::IdpTokenAnswer,
                "it is not a JSON object without repeated members",
            )
        })?;
        if members.get("access_token").and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(match members.get("error").and_then(Value::as_str) {
                // Some refuse with status 200, as GitHub does.
                Some(error) => refused(error),
                None => ConnectorFault::new(
                    ErrorCode::IdpAccessTokenMissing,
                    "access_token is missing, empty or no string",
                ),
            });
        }
        *self.id_token.lock().unwrap_or_else(PoisonError::into_inner) = members.remove("id_token");
        // Only what is used is read, so that an odd `expires_in` or `scope` breaks nothing.
        let used: Map<String, Value> = ["access_token", "token_type"]
            .into_iter()
            .filter_map(|name| members.remove_entry(name))
            .collect();
        *answer.body_mut() = Value::Object(used).to_string().into_bytes();
        Ok(answer)
    }
}

/// The crate's errors can carry the whole answer, tokens included: nothing of them but the `error` code goes on.
fn fault_of(
    error: RequestTokenError<ConnectorFault, StandardErrorResponse<CoreErrorResponseType>>,
) -> ConnectorFault {
    match error {
        RequestTokenError::Request(fault) => fault,
        RequestTokenError::ServerResponse(refusal) => refused(refusal.error().as_ref()),
        RequestTokenError::Parse(..) => ConnectorFault::new(
            ErrorCode::IdpTokenAnswer,
            "access_token or token_type is missing or malformed",
        ),
        RequestTokenError::Other(_) => ConnectorFault::new(
            ErrorCode::IdpTokenAnswer,
            "it is not typed application/json, or an error without a body",
        ),
    }
}

fn refused(error: &str) -> ConnectorFault {
    match error {
        // The second is GitHub's.
        "invalid_client" | "incorrect_client_credentials" => {
            let mend = "are client_id, client_secret and token_endpoint_auth_method those registered there? \
                        With private_key_jwt: can it read /api/v2/client/jwks, and does it take the audience that \
                        client_assertion_audience names?";
            ConnectorFault::new(ErrorCode::IdpClientRefused, format!("error={error}; {mend}"))
        }
        _ => ConnectorFault::new(
            ErrorCode::IdpCodeRefused,
            format!("error={}", printable(error, 64)),
        ),
    }
}
