//! Checks how a service provider's authorization requests and responses are protected: pushed
//! requests (RFC 9126), request objects (RFC 9101) and signed responses (JARM).

use super::client_keys::check_encryption_keys;
use crate::model::ServiceProviderFile;
use passerelle_federation::client_keys::KeySource;
use passerelle_protocol::alg::{AcceptedAlgs, VerificationAlg};
use passerelle_protocol::registration::{ProtocolRules, RequestPolicy, RequestProtection};
use passerelle_protocol::security_profile::SecurityProfile;
use passerelle_settings::FileCheck;

/// Reads the settings and reports those that can't work. `policy` is the hub's; `None` if the
/// settings file is unreadable.
pub(crate) fn request_protection(
    check: &mut FileCheck<'_>,
    file: &ServiceProviderFile,
    keys: &KeySource,
    policy: Option<RequestPolicy>,
) -> RequestProtection {
    // A profile reports it itself.
    let is_own_choice = file.profile.is_none() && file.require_pushed_authorization_requests;
    if is_own_choice && policy.is_some_and(|policy| !policy.accepts_pushed()) {
        let message = "is true, but this hub has no endpoint to push requests to";
        let fix =
            "write pushed_authorization_requests = \"accepted\" in passerelle.toml, or remove it";
        check.report("require_pushed_authorization_requests", message, fix);
    }
    let request_object_algs = request_object_algs(file, keys);
    check_request_objects(check, file, keys);
    check_signed_responses(check, file, keys);
    RequestProtection {
        profile: file.profile,
        require_pushed: file.require_pushed_authorization_requests
            || policy.is_some_and(|policy| policy.requires_pushed()),
        request_object_algs,
        require_request_object: file.require_signed_request_object,
        response_alg: file.authorization_signed_response_alg,
        response_encryption: file.authorization_encrypted_response_alg,
    }
}

/// Returns the registered algorithm of request objects; without one, any that the keys verify where
/// the service provider may send them (OpenID Connect Dynamic Client Registration 1.0 §2).
fn request_object_algs(file: &ServiceProviderFile, keys: &KeySource) -> Option<AcceptedAlgs> {
    if let Some(alg) = file.request_object_signing_alg {
        return Some(alg.into());
    }
    if let Some(profile) = file.profile.filter(|profile| profile.signs_messages()) {
        return Some(profile.algs());
    }
    let has_keys = match keys {
        KeySource::None => false,
        KeySource::Inline(keys) => !keys.verification.is_empty(),
        KeySource::Uri(_) => true,
    };
    (file.rules == ProtocolRules::Openid && has_keys)
        .then(|| file.profile.map_or(AcceptedAlgs::ANY, SecurityProfile::algs))
}

fn check_request_objects(check: &mut FileCheck<'_>, file: &ServiceProviderFile, keys: &KeySource) {
    let Some(alg) = file.request_object_signing_alg else {
        if file.require_signed_request_object && request_object_algs(file, keys).is_none() {
            let message = "is true, but no algorithm is registered, so every request is rejected";
            let fix = "add request_object_signing_alg = \"ES256\", \"PS256\", \"EdDSA\" or \"RS256\", as the service provider signs";
            check.report("require_signed_request_object", message, fix);
        }
        return;
    };
    let key = "request_object_signing_alg";
    if file.jwks.is_none() && file.jwks_uri.is_none() {
        let message = "is set, but there are no keys to verify signatures with";
        let fix = "add jwks or jwks_uri with the public keys of its request objects";
        check.report(key, message, fix);
    }
    // Keys at a jwks_uri may change, but an inline set doesn't.
    if matches!(keys, KeySource::Inline(keys) if !keys.verification.verifies(alg)) {
        let needed = match alg {
            VerificationAlg::ES256 => "EC on P-256",
            VerificationAlg::RS256 | VerificationAlg::PS256 => "RSA of 2048 to 4096 bits",
            VerificationAlg::EdDSA => "Ed25519",
        };
        let message = format!("contains no signing key for {key}");
        let fix = format!("add one: {needed}, with use = \"sig\" or without use");
        check.report("jwks", message, fix);
    }
}

fn check_signed_responses(check: &mut FileCheck<'_>, file: &ServiceProviderFile, keys: &KeySource) {
    let encryption = file.authorization_encrypted_response_alg;
    if encryption.is_none() && file.authorization_encrypted_response_enc.is_some() {
        let message = "is set, but no algorithm is registered to encrypt with";
        let fix = "add authorization_encrypted_response_alg, or remove it";
        check.report("authorization_encrypted_response_enc", message, fix);
    }
    let Some(alg) = encryption else { return };
    let key = "authorization_encrypted_response_alg";
    if file.authorization_signed_response_alg.is_none() {
        let message = "is set, but only signed responses are encrypted";
        check.report(key, message, "add authorization_signed_response_alg, or remove it");
    }
    if file.jwks.is_none() && file.jwks_uri.is_none() {
        let message = "is set, but there is no key to encrypt to";
        let fix =
            "add jwks or jwks_uri with a public key for encryption (use = \"enc\") and its kid";
        check.report(key, message, fix);
    }
    check_encryption_keys(check, keys, &[alg]);
}
