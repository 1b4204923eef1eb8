//! Client assertion for `private_key_jwt` (OpenID Connect Core 1.0 §9; RFC 7523 §3).

use serde_json::json;

use super::settings::{AssertionAudience, OidcKind};
use crate::error::ConnectorError;
use passerelle_jose::relying_party_keys::{MAX_ASSERTION_LIFETIME, RelyingPartyKeys};
use passerelle_jose::{Signer as _, SigningError};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::Secret;

/// Signs an assertion for one request, valid for a minute and with a unique `jti`.
///
/// # Errors
/// `IdpAssertion` if no key can sign, `KeyDeviceUnavailable` if the key's device fails.
pub(super) async fn sign_client_assertion(
    kind: &OidcKind,
    token_endpoint: &str,
    keys: &RelyingPartyKeys,
    env: &Env,
) -> Result<Secret<String>, ConnectorError> {
    let audience = match kind.client_assertion_audience.unwrap_or_default() {
        // The issuer, not the endpoint: otherwise an attacker who controls the endpoint in the
        // metadata obtains a usable assertion (draft-ietf-oauth-rfc7523bis).
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
        "exp": (now + MAX_ASSERTION_LIFETIME).seconds(),
    });
    let alg = kind.token_endpoint_auth_signing_alg.unwrap_or_default();
    let signed = keys.assertion().sign(alg, "JWT", claims.to_string().as_bytes(), now).await;
    signed.map(Secret::new).map_err(|error| assertion_error(&error))
}

/// Returns the error of a login whose assertion or request object could not be signed.
pub(super) fn assertion_error(error: &SigningError) -> ConnectorError {
    let code = match error {
        SigningError::Device(_) => ErrorCode::KeyDeviceUnavailable,
        _ => ErrorCode::IdpAssertion,
    };
    ConnectorError::new(code, error.to_string())
}
