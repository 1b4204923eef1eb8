//! Applies a security profile (FAPI 2.0) to a service provider's file: completes what the file
//! leaves open, and reports what contradicts the profile.

use std::time::Duration;

use figment::value::Value;

use super::declarations::Declarations;
use crate::model::{ServiceProviderFile, Settings};
use passerelle_protocol::alg::VerificationAlg;
use passerelle_protocol::client_auth::AuthMethod;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_protocol::security_profile::SecurityProfile;
use passerelle_settings::FileCheck;

/// FAPI 2.0 Security Profile §5.3.2.1.
const MAX_CODE_LIFETIME: Duration = Duration::from_secs(60);

/// Returns the file with everything that its profile, or the hub's if that demands more, requires.
/// Without `declarations` the hub's own settings are unreadable, and unknown.
pub(super) fn apply_profile(
    check: &mut FileCheck<'_>,
    mut file: ServiceProviderFile,
    declarations: Option<&Declarations>,
) -> ServiceProviderFile {
    let hub = declarations.and_then(|declarations| declarations.request_policy.profile);
    let Some(profile) = file.profile.max(hub) else { return file };
    let mut check = ProfileCheck { check, profile, is_from_hub: file.profile < hub };
    check.check_hub(file.rules, declarations);
    check.check_file(&file);
    file.profile = Some(profile);
    file.require_pkce = true;
    file.require_pushed_authorization_requests = true;
    file.dpop_bound_access_tokens |= !file.tls_client_certificate_bound_access_tokens;
    file.id_token_signed_response_alg.get_or_insert_default();
    if profile.signs_messages() {
        file.require_signed_request_object = true;
        file.authorization_signed_response_alg.get_or_insert_default();
    }
    file
}

/// Checks that the hub's own settings allow its profile.
pub(super) fn check_hub_profile(check: &mut FileCheck<'_>, settings: &Settings) {
    let Some(profile) = settings.profile.map(SecurityProfile::as_str) else { return };
    let mut report = |key: &str, message: &str, fix: &str| {
        let message = format!("{message} profile = \"{profile}\"");
        check.report(key, message, fix);
    };
    if !settings.request_policy().requires_pushed() {
        let fix = "write pushed_authorization_requests = \"required\"";
        report("pushed_authorization_requests", "must be \"required\" with", fix);
    }
    for (key, rules) in [
        ("lifetimes.code_seconds", ProtocolRules::Federation),
        ("lifetimes.openid_code_seconds", ProtocolRules::Openid),
    ] {
        if settings.lifetimes.tokens(rules).code > MAX_CODE_LIFETIME {
            report(key, "must be at most 60 with", "write 60 or less");
        }
    }
}

/// The profile that a file is checked against.
struct ProfileCheck<'a, 'f> {
    check: &'a mut FileCheck<'f>,
    profile: SecurityProfile,
    /// Whether `passerelle.toml` demands the profile, and not the service provider's own file.
    is_from_hub: bool,
}

impl ProfileCheck<'_, '_> {
    fn report(&mut self, key: &str, message: &str, fix: &str) {
        let origin = if self.is_from_hub { " of passerelle.toml" } else { "" };
        let profile = self.profile.as_str();
        let message = format!("{message}, which profile = \"{profile}\"{origin} doesn't allow");
        self.check.report(key, message, fix);
    }

    /// Checks the settings of the hub that a service provider with this profile depends on.
    fn check_hub(&mut self, rules: ProtocolRules, declarations: Option<&Declarations>) {
        // A problem of the hub's own profile is reported there.
        let Some(hub) = declarations.filter(|_| !self.is_from_hub) else { return };
        if !hub.request_policy.accepts_pushed() {
            let message =
                "needs pushed authorization requests, but this hub has no endpoint for them";
            let fix = "write pushed_authorization_requests = \"accepted\" in passerelle.toml, or remove profile";
            self.check.report("profile", message, fix);
        }
        if hub.code_lifetime(rules) > MAX_CODE_LIFETIME {
            let message =
                "needs codes that live at most 60 seconds, but those of this hub live longer";
            let key = match rules {
                ProtocolRules::Federation => "code_seconds",
                ProtocolRules::Openid => "openid_code_seconds",
            };
            let fix =
                format!("write lifetimes.{key} = 60 or less in passerelle.toml, or remove profile");
            self.check.report("profile", message, fix);
        }
    }

    fn check_file(&mut self, file: &ServiceProviderFile) {
        self.check_auth_method(file);
        self.check_algorithms(file);
        self.check_switches(file);
        let listed = file.client_assertion_audiences.as_deref();
        if listed.is_some_and(|listed| !matches!(listed, [only] if only == "issuer")) {
            let message = "has other audiences than the issuer";
            let fix = "remove it: the aud of an assertion is then the issuer, as one string";
            self.report("client_assertion_audiences", message, fix);
        }
        if file.id_token_claims == Some(true) {
            let message = "puts identity claims into ID tokens";
            let fix = "remove it: the service provider gets the claims from userinfo";
            self.report("id_token_claims", message, fix);
        }
        if file.insecure_http {
            let message = "lets authorization responses travel unencrypted";
            let fix = "remove it, and use https:// (http:// for loopback only)";
            self.report("insecure_http", message, fix);
        }
    }

    fn check_auth_method(&mut self, file: &ServiceProviderFile) {
        let message = match file.token_endpoint_auth_method {
            Some(
                AuthMethod::PrivateKeyJwt
                | AuthMethod::TlsClientAuth
                | AuthMethod::SelfSignedTlsClientAuth,
            ) => return,
            Some(AuthMethod::None) => "is \"none\": a public client",
            None | Some(AuthMethod::ClientSecretPost | AuthMethod::ClientSecretBasic) => {
                "is a client secret"
            }
        };
        let fix = "write token_endpoint_auth_method = \"private_key_jwt\" with jwks or jwks_uri; or \"tls_client_auth\" or \"self_signed_tls_client_auth\"";
        self.report("token_endpoint_auth_method", message, fix);
    }

    fn check_algorithms(&mut self, file: &ServiceProviderFile) {
        let of_client = "write \"ES256\", \"PS256\" or \"EdDSA\", as the service provider signs";
        let of_hub = "write \"ES256\"";
        let algorithms = [
            ("token_endpoint_auth_signing_alg", file.token_endpoint_auth_signing_alg, of_client),
            ("request_object_signing_alg", file.request_object_signing_alg, of_client),
            (
                "id_token_signed_response_alg",
                file.id_token_signed_response_alg.map(VerificationAlg::from),
                of_hub,
            ),
            (
                "userinfo_signed_response_alg",
                file.userinfo_signed_response_alg.map(VerificationAlg::from),
                of_hub,
            ),
            (
                "authorization_signed_response_alg",
                file.authorization_signed_response_alg.map(VerificationAlg::from),
                of_hub,
            ),
        ];
        for (key, alg, fix) in algorithms {
            if let Some(alg) = alg.filter(|alg| !self.profile.allows(*alg)) {
                let message = format!("is {}", alg.as_str());
                self.report(key, &message, fix);
            }
        }
    }

    /// Reports what the profile switches on and the file switches off.
    fn check_switches(&mut self, file: &ServiceProviderFile) {
        let is_bound_to_certificate = file.tls_client_certificate_bound_access_tokens;
        let switches = [
            ("require_pkce", true),
            ("require_pushed_authorization_requests", true),
            ("dpop_bound_access_tokens", !is_bound_to_certificate),
            ("require_signed_request_object", self.profile.signs_messages()),
        ];
        let is_off =
            |key: &str| matches!(self.check.source.values().get(key), Some(Value::Bool(_, false)));
        for (key, _) in switches.iter().filter(|(key, is_required)| *is_required && is_off(key)) {
            let fix = if *key == "dpop_bound_access_tokens" {
                "remove it; or write tls_client_certificate_bound_access_tokens = true"
            } else {
                "remove it: the profile switches it on"
            };
            self.report(key, "is false", fix);
        }
    }
}

#[cfg(test)]
mod tests;
