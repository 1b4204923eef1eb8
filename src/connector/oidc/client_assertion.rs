//! The hub's proof of who it is, where it has no secret (`private_key_jwt`; OpenID Connect Core 1.0, 9; RFC 7523, 3).
//!
//! Owns: the assertion's claims. Must not know: what is exchanged with it.

use serde_json::json;

use crate::config::model::{AssertionAudience, OidcKind};
use crate::connector::ConnectorFault;
use crate::env::Env;
use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;
use crate::token::Signer as _;
use crate::token::upstream_keys::{ASSERTION_LIFE, UpstreamKeys};

/// RFC 7523, 2.2.
pub const TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// An assertion for one request to this identity provider: it lives a minute, and its `jti` is never used again.
///
/// # Errors
/// `IdpAssertion`, when no key can sign.
pub async fn sign(
    kind: &OidcKind,
    token_endpoint: &str,
    keys: &UpstreamKeys,
    env: &Env,
) -> Result<Secret<String>, ConnectorFault> {
    let audience = match kind.client_assertion_audience.unwrap_or_default() {
        // Not where it is sent, but whom it is for: an assertion with an address for audience can be had by whoever
        // makes the hub believe in that address (RFC 7523bis).
        AssertionAudience::Issuer => kind.issuer.as_str(),
        AssertionAudience::TokenEndpoint => token_endpoint,
    };
    let now = env.now();
    let claims = json!({
        "iss": kind.client_id,
        "sub": kind.client_id,
        "aud": audience,
        "jti": env.entropy().token(),
        "iat": now.seconds(),
        "exp": (now + ASSERTION_LIFE).seconds(),
    });
    let alg = kind.token_endpoint_auth_signing_alg.unwrap_or_default();
    let signed = keys.assertion().sign(alg, "JWT", claims.to_string().as_bytes(), now).await;
    signed
        .map(Secret::new)
        .map_err(|fault| ConnectorFault::new(ErrorCode::IdpAssertion, fault.to_string()))
}
