//! The provider configuration document (OpenID Connect Discovery 1.0 §3; RFC 8414 §2), and the
//! paths of the endpoints.
//!
//! Only endpoints that the hub serves are published.

mod algorithms;
mod mutual_tls;
mod request_protection;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::acr::Platform;
use super::authorize::Prompt;
use super::client_auth::AuthMethod;
use crate::ids::Scope;
use algorithms::{ENCRYPTION_ALGS, ENCRYPTION_ENCS, SIGNING_ALGS};
pub use mutual_tls::CertificateSupport;
pub use request_protection::ProtectionFeatures;
use request_protection::push_endpoint;

/// Paths under `base_url`.
pub mod path {
    /// Path of the issuer identifier.
    pub const ISSUER: &str = "/api/v2";
    /// Path of the provider configuration document.
    pub const DISCOVERY: &str = "/api/v2/.well-known/openid-configuration";
    /// Path of the same document for clients that know OAuth alone (RFC 8414 §3): the issuer's path
    /// follows the well-known part.
    pub const OAUTH_METADATA: &str = "/.well-known/oauth-authorization-server/api/v2";
    /// Path of the key set for service providers.
    pub const JWKS: &str = "/api/v2/jwks";
    /// For identity providers; not in the document.
    pub const CLIENT_JWKS: &str = "/api/v2/client/jwks";
    /// Path of the authorization endpoint.
    pub const AUTHORIZE: &str = "/api/v2/authorize";
    /// Path of the token endpoint.
    pub const TOKEN: &str = "/api/v2/token";
    /// Path of the pushed authorization request endpoint.
    pub const PUSHED_REQUEST: &str = "/api/v2/par";
    /// Path of the userinfo endpoint.
    pub const USERINFO: &str = "/api/v2/userinfo";
    /// Path of the revocation endpoint.
    pub const REVOCATION: &str = "/api/v2/token/revocation";
    /// Path of the introspection endpoint.
    pub const INTROSPECTION: &str = "/api/v2/checktoken";
    /// Path of the logout endpoint.
    pub const END_SESSION: &str = "/api/v2/session/end";
    /// The confirmation form, under [`END_SESSION`]; so no connector may be named `confirm`.
    pub const END_SESSION_CONFIRM: &str = "/api/v2/session/end/confirm";
}

/// Verified claims that the hub asserts (OpenID Connect for Identity Assurance 1.0 §8).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifiedClaimsSupport {
    pub trust_framework: String,
    /// At least one.
    pub claims: Vec<&'static str>,
    /// Types of the electronic records that are evidence.
    pub electronic_record_types: BTreeSet<String>,
}

impl VerifiedClaimsSupport {
    fn metadata(&self) -> Value {
        let types = Some(&self.electronic_record_types).filter(|types| !types.is_empty());
        json!({
            "verified_claims_supported": true,
            "trust_frameworks_supported": [self.trust_framework],
            "claims_in_verified_claims_supported": self.claims,
            "evidence_supported": types.map(|_| ["electronic_record"]),
            "electronic_records_supported": types,
        })
    }
}

/// Inputs of the document.
#[derive(Clone, Copy, Debug)]
pub struct DiscoveryInput<'a> {
    pub issuer: &'a str,
    /// Without a trailing slash.
    pub base_url: &'a str,
    pub platform: Platform,
    /// Every known scope.
    pub scopes: &'a [Scope],
    /// Level names of active service providers.
    pub level_names: &'a [String],
    /// Names of all claims that may be released.
    pub claims: &'a [String],
    /// `None` if the hub asserts no verified claims.
    pub verified_claims: Option<&'a VerifiedClaimsSupport>,
    /// Whether a public client is registered.
    pub has_public_clients: bool,
    /// Path of the client registration endpoint; `None` if clients can't register themselves.
    pub registration_path: Option<&'a str>,
    /// Whether a service provider receives logout tokens.
    pub sends_logout_tokens: bool,
    /// Languages of the pages.
    pub ui_locales: &'a [String],
    /// Documentation for service providers.
    pub service_documentation: Option<&'a str>,
    pub protection: ProtectionFeatures,
    /// Whether a service provider gets refresh tokens.
    pub issues_refresh_tokens: bool,
    /// Present if the hub gets client certificates.
    pub client_certificates: Option<CertificateSupport<'a>>,
}

impl<'a> DiscoveryInput<'a> {
    const fn grant_types(&self) -> &'static [&'static str] {
        if self.issues_refresh_tokens {
            &["authorization_code", "refresh_token"]
        } else {
            &["authorization_code"]
        }
    }

    /// Returns the levels and the level names.
    fn acr_values(&self) -> Vec<&'a str> {
        self.platform
            .levels()
            .iter()
            .map(|level| level.as_str())
            .chain(self.level_names.iter().map(String::as_str))
            .collect()
    }
}

/// Returns the document as JSON text: the same bytes for the same input. The members are in the
/// order of Discovery 1.0 §3, then those of other standards.
pub fn discovery_document(provider: &DiscoveryInput<'_>) -> String {
    let at = |path: &str| format!("{}{path}", provider.base_url);
    let certificates = provider.client_certificates;
    let protection = provider.protection;
    let signing_algs = protection.signing_algs();
    let client_algs = protection.client_signing_algs();
    let mut auth_methods = protection.auth_methods_without_certificate(provider.has_public_clients);
    auth_methods.extend(certificates.iter().flat_map(CertificateSupport::auth_methods));
    let encrypts = provider.platform == Platform::High || protection.encrypted_tokens;
    let (algs, encs) = (encrypts.then_some(ENCRYPTION_ALGS), encrypts.then_some(ENCRYPTION_ENCS));
    let openid = json!({
        "issuer": provider.issuer,
        "authorization_endpoint": at(path::AUTHORIZE),
        "token_endpoint": at(path::TOKEN),
        "userinfo_endpoint": at(path::USERINFO),
        "jwks_uri": at(path::JWKS),
        "registration_endpoint": provider.registration_path.map(&at),
        "scopes_supported": provider.scopes,
        "response_types_supported": ["code"],
        "response_modes_supported": protection.response_modes(),
        "grant_types_supported": provider.grant_types(),
        "acr_values_supported": provider.acr_values(),
        "subject_types_supported": ["pairwise"],
        "id_token_signing_alg_values_supported": signing_algs,
        "id_token_encryption_alg_values_supported": algs,
        "id_token_encryption_enc_values_supported": encs,
        "userinfo_signing_alg_values_supported": signing_algs,
        "userinfo_encryption_alg_values_supported": algs,
        "userinfo_encryption_enc_values_supported": encs,
        "token_endpoint_auth_methods_supported": auth_methods,
        "token_endpoint_auth_signing_alg_values_supported": client_algs,
        "claims_supported": provider.claims,
        "ui_locales_supported": provider.ui_locales,
        "service_documentation": provider.service_documentation,
        "claims_parameter_supported": true,
        // Discovery 1.0 §3: the default of request_uri would be true. The hub fetches no request
        // object. A `request_uri` of a pushed request needs no announcement (RFC 9126 §5).
        "request_parameter_supported": protection.request_objects,
        "request_uri_parameter_supported": false,
    });
    let others = json!({
        // OpenID Connect RP-Initiated Logout 1.0 §2.1
        "end_session_endpoint": at(path::END_SESSION),
        // OpenID Connect Back-Channel Logout 1.0 §2.1
        "backchannel_logout_supported": provider.sends_logout_tokens.then_some(true),
        "backchannel_logout_session_supported": provider.sends_logout_tokens.then_some(true),
        // RFC 8414 §2
        "revocation_endpoint": at(path::REVOCATION),
        "revocation_endpoint_auth_methods_supported": auth_methods,
        "revocation_endpoint_auth_signing_alg_values_supported": client_algs,
        "introspection_endpoint": at(path::INTROSPECTION),
        // Id and secret in the body only (R204).
        "introspection_endpoint_auth_methods_supported": [AuthMethod::ClientSecretPost.as_str()],
        // RFC 9701 §7. On both platforms: data providers may register encrypted responses.
        "introspection_signing_alg_values_supported": SIGNING_ALGS,
        "introspection_encryption_alg_values_supported": ENCRYPTION_ALGS,
        "introspection_encryption_enc_values_supported": ENCRYPTION_ENCS,
        "code_challenge_methods_supported": ["S256"],
        // Initiating User Registration via OpenID Connect 1.0
        "prompt_values_supported": Prompt::VALUES,
        // RFC 9207 §3
        "authorization_response_iss_parameter_supported": true,
        // RFC 9449 §5.1
        "dpop_signing_alg_values_supported": protection.dpop_signing_algs(),
        // RFC 8705 §3.3 and §5
        "tls_client_certificate_bound_access_tokens": certificates.map(|_| true),
        "mtls_endpoint_aliases": certificates.and_then(|support| support.aliases(protection.policy)),
    });
    let push_endpoint = push_endpoint(protection.policy, provider.base_url);
    let verified = provider.verified_claims.map_or(Value::Null, VerifiedClaimsSupport::metadata);
    let parts = [openid, others, verified, push_endpoint, protection.metadata()];
    Value::Object(parts.into_iter().flat_map(present_members).collect()).to_string()
}

/// Returns the members that are not `null`.
fn present_members(members: Value) -> impl Iterator<Item = (String, Value)> {
    let members = if let Value::Object(members) = members { members } else { Map::new() };
    members.into_iter().filter(|(_, value)| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::super::client_auth::supported_auth_methods;
    use super::*;

    fn document(platform: Platform) -> Map<String, Value> {
        let provider = DiscoveryInput {
            issuer: "https://hub.example/api/v2",
            base_url: "https://hub.example",
            platform,
            scopes: &["openid", "email"].map(Scope::from),
            level_names: &[],
            claims: &["sub", "email"].map(String::from),
            verified_claims: None,
            has_public_clients: false,
            registration_path: None,
            sends_logout_tokens: false,
            ui_locales: &["en", "fr"].map(String::from),
            service_documentation: None,
            protection: ProtectionFeatures::default(),
            issues_refresh_tokens: false,
            client_certificates: None,
        };
        let text = discovery_document(&provider);
        assert_eq!(text, discovery_document(&provider));
        super::super::json::parse_object(text.as_bytes()).unwrap()
    }

    #[test]
    fn the_document_has_exactly_its_members() {
        let expected = json!({
            "issuer": "https://hub.example/api/v2",
            "authorization_endpoint": "https://hub.example/api/v2/authorize",
            "token_endpoint": "https://hub.example/api/v2/token",
            "userinfo_endpoint": "https://hub.example/api/v2/userinfo",
            "jwks_uri": "https://hub.example/api/v2/jwks",
            "scopes_supported": ["openid", "email"],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query", "form_post"],
            "grant_types_supported": ["authorization_code"],
            "acr_values_supported": ["eidas1"],
            "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": ["ES256", "RS256"],
            "userinfo_signing_alg_values_supported": ["ES256", "RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic", "private_key_jwt"],
            "token_endpoint_auth_signing_alg_values_supported": ["ES256", "RS256", "PS256", "EdDSA"],
            "claims_supported": ["sub", "email"],
            "ui_locales_supported": ["en", "fr"],
            "claims_parameter_supported": true,
            "request_parameter_supported": false,
            "request_uri_parameter_supported": false,
            "end_session_endpoint": "https://hub.example/api/v2/session/end",
            "revocation_endpoint": "https://hub.example/api/v2/token/revocation",
            "revocation_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic", "private_key_jwt"],
            "revocation_endpoint_auth_signing_alg_values_supported": ["ES256", "RS256", "PS256", "EdDSA"],
            "introspection_endpoint": "https://hub.example/api/v2/checktoken",
            "introspection_endpoint_auth_methods_supported": ["client_secret_post"],
            "introspection_signing_alg_values_supported": ["ES256", "RS256"],
            "introspection_encryption_alg_values_supported": ["ECDH-ES", "RSA-OAEP-256", "RSA-OAEP"],
            "introspection_encryption_enc_values_supported": ["A256GCM"],
            "code_challenge_methods_supported": ["S256"],
            "prompt_values_supported": ["none", "login", "consent", "select_account"],
            "authorization_response_iss_parameter_supported": true,
            "dpop_signing_alg_values_supported": ["ES256", "PS256", "RS256", "EdDSA", "Ed25519"],
        });
        assert_eq!(Value::Object(document(Platform::Standard)), expected);
    }

    #[test]
    fn the_method_none_is_published_if_and_only_if_there_are_public_clients() {
        assert_eq!(
            supported_auth_methods(true),
            ["client_secret_post", "client_secret_basic", "private_key_jwt", "none"]
        );
        assert_eq!(
            supported_auth_methods(false),
            ["client_secret_post", "client_secret_basic", "private_key_jwt"]
        );
    }

    #[test]
    fn the_high_platform_publishes_encryption_and_its_own_levels() {
        let high = document(Platform::High);
        assert_eq!(high["acr_values_supported"], json!(["eidas2", "eidas3"]));
        assert_eq!(
            high["id_token_encryption_alg_values_supported"],
            json!(["ECDH-ES", "RSA-OAEP-256", "RSA-OAEP"])
        );
        assert_eq!(high["userinfo_encryption_enc_values_supported"], json!(["A256GCM"]));
        assert_eq!(
            document(Platform::Standard)
                .keys()
                .filter(|member| member.contains("encryption") && !member.contains("introspection"))
                .count(),
            0
        );
    }
}
