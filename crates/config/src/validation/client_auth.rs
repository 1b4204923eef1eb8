//! Checks the client authentication of service providers and data providers: the registered method
//! has what it needs and nothing that it ignores.
//!
//! Does not read the clock: the dates of a secret are checked when it is used.

use super::{client_assertion_rules, client_certificates};
use crate::model::ServiceProviderFile;
use passerelle_federation::ClientAuthentication;
use passerelle_federation::client_keys::KeySource;
use passerelle_federation::dated_secret::{ClientSecret, DatedSecret, read_dated_secret};
use passerelle_federation::validity::{Validity, ValidityStatus, first_exceeding};
use passerelle_jose::client_certificate::CertificateName;
use passerelle_protocol::client_auth::AuthMethod;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_settings::{Diagnostic, FileCheck, SecretContext};

/// Secrets that may be valid at once: the current and the next one.
const MAX_VALID_SECRETS: usize = 2;

/// Reads the client secrets. Leaves out invalid ones and reports them.
pub(crate) fn read_secrets(
    check: &mut FileCheck<'_>,
    given: &[ClientSecret],
    context: &SecretContext<'_>,
) -> Vec<DatedSecret> {
    let mut read = Vec::new();
    for (index, secret) in given.iter().enumerate() {
        let key = format!("secrets[{index}]");
        read.extend(check.collect(read_dated_secret(check.source, &key, secret, context)));
    }
    let validities: Vec<Validity> = read.iter().map(|secret| secret.validity).collect();
    if first_exceeding(MAX_VALID_SECRETS, &validities).is_some() {
        let fix =
            "keep the current and the next one, or set not_before or not_after for the others";
        check.report(
            "secrets",
            "contains more than two secrets that are valid at the same time",
            fix,
        );
    }
    read
}

/// The warning for the time in which no secret of a client is valid.
#[derive(Clone, Debug)]
pub struct NoValidSecret {
    warning: Diagnostic,
    validities: Vec<Validity>,
}

impl NoValidSecret {
    /// Creates the warning; `None` for a client without secrets.
    pub fn new(check: &FileCheck<'_>, secrets: &[DatedSecret], message: &str) -> Option<Self> {
        let fix = "add a secret, or correct the dates";
        (!secrets.is_empty()).then(|| Self {
            warning: check.source.diagnostic("secrets", message, fix),
            validities: secrets.iter().map(|secret| secret.validity).collect(),
        })
    }

    /// Returns the warning if no secret is valid at `now`.
    pub fn warning_at(&self, now: Timestamp) -> Option<&Diagnostic> {
        let is_valid = |one: &Validity| one.status_at(now) == ValidityStatus::Valid;
        (!self.validities.iter().any(is_valid)).then_some(&self.warning)
    }
}

/// Returns how a service provider with these secrets authenticates.
pub(crate) fn authentication(
    file: &ServiceProviderFile,
    secrets: Vec<DatedSecret>,
) -> ClientAuthentication {
    match (file.token_endpoint_auth_method, file.rules) {
        // Client libraries have different defaults, and discovery announces both.
        (None, ProtocolRules::Openid) => ClientAuthentication::Secret(secrets),
        (None, ProtocolRules::Federation) | (Some(AuthMethod::ClientSecretPost), _) => {
            ClientAuthentication::SecretPost(secrets)
        }
        (Some(AuthMethod::ClientSecretBasic), _) => ClientAuthentication::SecretBasic(secrets),
        (Some(AuthMethod::PrivateKeyJwt), _) => {
            ClientAuthentication::PrivateKeyJwt(client_assertion_rules::assertion_rules(file))
        }
        (Some(AuthMethod::TlsClientAuth), _) => {
            // The file's check rejects a file without a name, which no certificate has.
            let name = client_certificates::registered_name(file);
            ClientAuthentication::TlsCertificate(
                name.unwrap_or(CertificateName::Dns(String::new())),
            )
        }
        (Some(AuthMethod::SelfSignedTlsClientAuth), _) => {
            ClientAuthentication::SelfSignedCertificate
        }
        (Some(AuthMethod::None), _) => ClientAuthentication::Public,
    }
}

/// Checks that the registered method matches the secrets and keys.
pub(crate) fn check_auth_method(
    check: &mut FileCheck<'_>,
    file: &ServiceProviderFile,
    keys: &KeySource,
) {
    let method = file.token_endpoint_auth_method;
    match method {
        None
        | Some(AuthMethod::ClientSecretPost | AuthMethod::ClientSecretBasic | AuthMethod::None) => {
            if file.secrets.is_empty() && method != Some(AuthMethod::None) {
                check.report(
                    "secrets",
                    "is empty, so no code can ever be redeemed",
                    "add one or two secrets",
                );
            }
            let fix = "remove it, or write token_endpoint_auth_method = \"private_key_jwt\"";
            let keys = [
                ("token_endpoint_auth_signing_alg", file.token_endpoint_auth_signing_alg.is_some()),
                ("client_assertion_audiences", file.client_assertion_audiences.is_some()),
            ];
            let message = "applies to client assertions, which this method doesn't use";
            check.report_each_set(keys, message, fix);
        }
        Some(AuthMethod::TlsClientAuth | AuthMethod::SelfSignedTlsClientAuth) => {
            check_certificate_method(check, file, keys);
        }
        Some(AuthMethod::PrivateKeyJwt) => {
            if !file.secrets.is_empty() {
                let fix =
                    "remove them, or write token_endpoint_auth_method = \"client_secret_post\"";
                check.report("secrets", "contains secrets, which private_key_jwt doesn't use", fix);
            }
            if file.jwks.is_none() && file.jwks_uri.is_none() {
                let fix = "add jwks or jwks_uri with the public keys of its assertion signatures";
                check.report(
                    "token_endpoint_auth_method",
                    "is private_key_jwt, but there are no keys to verify signatures with",
                    fix,
                );
            }
            // Keys at a jwks_uri may change, but an inline set doesn't.
            let mut algs = client_assertion_rules::assertion_algs(file).iter();
            if matches!(keys, KeySource::Inline(keys) if !algs.any(|alg| keys.verification.verifies(alg)))
            {
                let message = "contains no signing key for token_endpoint_auth_signing_alg";
                check.report(
                    "jwks",
                    message,
                    "add one: EC on P-256 for ES256, RSA of 2048 to 4096 bits for RS256 and PS256, Ed25519 for EdDSA, with use = \"sig\" or without use",
                );
            }
            if let Some(listed) = &file.client_assertion_audiences {
                client_assertion_rules::check_audiences(check, listed);
            }
        }
    }
}

/// Checks a file whose method is a client certificate.
fn check_certificate_method(
    check: &mut FileCheck<'_>,
    file: &ServiceProviderFile,
    keys: &KeySource,
) {
    if !file.secrets.is_empty() {
        let message = "contains secrets, which client certificates replace";
        let fix = "remove them, or write token_endpoint_auth_method = \"client_secret_post\"";
        check.report("secrets", message, fix);
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
        check.report("token_endpoint_auth_method", message, fix);
    }
}
