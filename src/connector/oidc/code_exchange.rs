//! Exchanges a code for tokens (OpenID Connect Core 1.0 §3.1.3). Does not verify the ID token.

use serde_json::Value;

use super::client_assertion;
use super::metadata::ResolvedProvider;
use crate::connector::code_flow;
use crate::connector::error::ConnectorError;
use crate::egress::safe_http_client::SafeHttpClient;
use crate::ids::Secret;
use crate::login::upstream::LoginAttempt;
use crate::protocol::catalogue::ErrorCode;

/// Tokens of a token response, not verified yet.
pub struct OidcTokens {
    pub access_token: Secret<String>,
    /// Compact, as received.
    pub id_token: Secret<String>,
}

/// Returns the parameters of a client assertion (RFC 7521 §4.2); none if the hub uses a client
/// secret.
pub fn assertion_params(assertion: Option<Secret<String>>) -> Vec<(&'static str, String)> {
    assertion.map_or_else(Vec::new, |assertion| {
        vec![
            ("client_assertion_type", client_assertion::CLIENT_ASSERTION_TYPE.to_owned()),
            ("client_assertion", assertion.into_inner()),
        ]
    })
}

/// Redeems a code, with a client assertion if the hub has no client secret.
///
/// # Errors
/// Returns an error if the call fails, the code is rejected, or the response has no ID token.
pub async fn exchange_code(
    provider: &ResolvedProvider,
    http: &SafeHttpClient,
    code: Secret<String>,
    attempt: &LoginAttempt,
    assertion: Option<Secret<String>>,
) -> Result<OidcTokens, ConnectorError> {
    let response =
        code_flow::redeem_code(&provider.client, http, code, attempt, assertion_params(assertion))
            .await?;
    match response.id_token {
        Some(Value::String(id_token)) => {
            Ok(OidcTokens { access_token: response.access_token, id_token: Secret::new(id_token) })
        }
        Some(_) => {
            Err(ConnectorError::new(ErrorCode::IdTokenMalformed, "id_token is not a string"))
        }
        None => Err(ConnectorError::new(
            ErrorCode::IdTokenMissing,
            "the token response has no id_token; check that the openid scope is granted",
        )),
    }
}
