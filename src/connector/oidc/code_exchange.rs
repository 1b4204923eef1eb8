//! The code exchange of OpenID Connect (Core 1.0, 3.1.3): a token answer with an ID token.
//!
//! Owns: that there is one, and the hub's proof of who it is. Must not know: what the ID token says.

use serde_json::Value;

use super::assertion;
use super::metadata::Provider;
use crate::connector::{ConnectorFault, code_flow};
use crate::egress::guard::Guard;
use crate::ids::Secret;
use crate::login::upstream::Attempt;
use crate::protocol::catalogue::ErrorCode;

/// What a code was exchanged for. Nothing in it is verified yet.
pub struct Granted {
    pub access_token: Secret<String>,
    /// Compact, as received.
    pub id_token: Secret<String>,
}

/// Returns the parameters of a client assertion (RFC 7521 §4.2); none where the hub has a secret.
pub fn proof(assertion: Option<Secret<String>>) -> Vec<(&'static str, String)> {
    assertion.map_or_else(Vec::new, |assertion| {
        vec![
            ("client_assertion_type", assertion::TYPE.to_owned()),
            ("client_assertion", assertion.into_inner()),
        ]
    })
}

/// Redeems `code`. `assertion` is the hub's proof of who it is where it has no secret there.
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
    let granted =
        code_flow::redeem(&provider.client, guard, code, attempt, proof(assertion)).await?;
    match granted.id_token {
        Some(Value::String(id_token)) => {
            Ok(Granted { access_token: granted.access_token, id_token: Secret::new(id_token) })
        }
        Some(_) => {
            Err(ConnectorFault::new(ErrorCode::IdTokenMalformed, "id_token is not a string"))
        }
        None => Err(ConnectorFault::new(
            ErrorCode::IdTokenMissing,
            "the token answer has no id_token; is the openid scope granted?",
        )),
    }
}
