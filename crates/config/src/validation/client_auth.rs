//! Checks the client authentication of service providers and data providers: the registered method
//! has what it needs and nothing that it ignores.
//!
//! Does not read the clock: the dates of a secret are checked when it is used.

use super::client_assertions;
use crate::model::ServiceProviderFile;
use passerelle_federation::client_keys::KeySource;
use passerelle_federation::dated_secret::{ClientSecret, DatedSecret, read_dated_secret};
use passerelle_federation::validity::{Validity, ValidityStatus, first_exceeding};
use passerelle_protocol::client_auth::AuthMethod;
use passerelle_protocol::env::Timestamp;
use passerelle_settings::{Diagnostic, SecretContext, SourceFile};

/// Secrets that may be valid at once: the current and the next one.
const MAX_VALID_SECRETS: usize = 2;

/// Reads the client secrets. Leaves out invalid ones and reports them.
pub fn read_secrets(
    source: &SourceFile,
    given: &[ClientSecret],
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<DatedSecret> {
    let mut read = Vec::new();
    for (index, secret) in given.iter().enumerate() {
        match read_dated_secret(source, &format!("secrets[{index}]"), secret, context) {
            Ok(secret) => read.push(secret),
            Err(problem) => problems.push(problem),
        }
    }
    let validities: Vec<Validity> = read.iter().map(|secret| secret.validity).collect();
    if first_exceeding(MAX_VALID_SECRETS, &validities).is_some() {
        let fix =
            "keep the current and the next one, or set not_before or not_after for the others";
        problems.push(source.diagnostic(
            "secrets",
            "contains more than two secrets that are valid at the same time",
            fix,
        ));
    }
    read
}

/// Returns true if no secret is valid at `now`.
pub fn none_valid(secrets: &[DatedSecret], now: Timestamp) -> bool {
    secrets.iter().all(|secret| secret.validity.status_at(now) != ValidityStatus::Valid)
}

/// Checks that the registered method matches the secrets and keys.
pub fn check_auth_method(
    source: &SourceFile,
    file: &ServiceProviderFile,
    keys: &KeySource,
    problems: &mut Vec<Diagnostic>,
) {
    let mut report =
        |key: &str, message: &str, fix: &str| problems.push(source.diagnostic(key, message, fix));
    let method = file.token_endpoint_auth_method;
    match method {
        None
        | Some(AuthMethod::ClientSecretPost | AuthMethod::ClientSecretBasic | AuthMethod::None) => {
            if file.secrets.is_empty() && method != Some(AuthMethod::None) {
                report(
                    "secrets",
                    "is empty, so no code can ever be redeemed",
                    "add one or two secrets",
                );
            }
            let fix = "remove it, or write token_endpoint_auth_method = \"private_key_jwt\"";
            for (key, is_set) in [
                ("token_endpoint_auth_signing_alg", file.token_endpoint_auth_signing_alg.is_some()),
                ("client_assertion_audiences", file.client_assertion_audiences.is_some()),
            ] {
                if is_set {
                    let message = "applies to client assertions, which this method doesn't use";
                    report(key, message, fix);
                }
            }
        }
        Some(AuthMethod::TlsClientAuth | AuthMethod::SelfSignedTlsClientAuth) => {
            check_certificate_method(source, file, keys, problems);
        }
        Some(AuthMethod::PrivateKeyJwt) => {
            if !file.secrets.is_empty() {
                let fix =
                    "remove them, or write token_endpoint_auth_method = \"client_secret_post\"";
                report("secrets", "contains secrets, which private_key_jwt doesn't use", fix);
            }
            if file.jwks.is_none() && file.jwks_uri.is_none() {
                let fix = "add jwks or jwks_uri with the public keys of its assertion signatures";
                report(
                    "token_endpoint_auth_method",
                    "is private_key_jwt, but there are no keys to verify signatures with",
                    fix,
                );
            }
            // Keys at a jwks_uri may change, but an inline set doesn't.
            let mut algs = client_assertions::assertion_algs(file).iter();
            if matches!(keys, KeySource::Inline(keys) if !algs.any(|alg| keys.verification.verifies(alg)))
            {
                let message = "contains no signing key for token_endpoint_auth_signing_alg";
                report(
                    "jwks",
                    message,
                    "add one: EC on P-256 for ES256, RSA of 2048 to 4096 bits for RS256 and PS256, Ed25519 for EdDSA, with use = \"sig\" or without use",
                );
            }
            if let Some(listed) = &file.client_assertion_audiences {
                client_assertions::check_audiences(source, listed, problems);
            }
        }
    }
}

/// Checks a file whose method is a client certificate.
fn check_certificate_method(
    source: &SourceFile,
    file: &ServiceProviderFile,
    keys: &KeySource,
    problems: &mut Vec<Diagnostic>,
) {
    if !file.secrets.is_empty() {
        let message = "contains secrets, which client certificates replace";
        let fix = "remove them, or write token_endpoint_auth_method = \"client_secret_post\"";
        problems.push(source.diagnostic("secrets", message, fix));
    }
    let has_certificate = match keys {
        KeySource::None => false,
        KeySource::Inline(keys) => !keys.certificates.is_empty(),
        KeySource::Uri(_) => true,
    };
    let is_own = file.token_endpoint_auth_method == Some(AuthMethod::SelfSignedTlsClientAuth);
    if is_own && !has_certificate {
        let message = "is self_signed_tls_client_auth, but no key of jwks has its certificate";
        let fix = "add jwks or jwks_uri with keys that have x5c";
        problems.push(source.diagnostic("token_endpoint_auth_method", message, fix));
    }
}
