//! The provider configuration document (OpenID Connect Discovery 1.0 §3; RFC 8414 §2), and the
//! paths of the endpoints.
//!
//! Only what works on this hub is published.

mod algorithms;
mod certificates;
mod request_protection;

use serde::Serialize;

use super::acr::Platform;
use super::authorize::Prompt;
use super::client_auth::AuthMethod;
use crate::ids::Scope;
use algorithms::{ENCRYPTION_ALGS, ENCRYPTION_ENCS, SIGNING_ALGS, token_encryption};
pub use certificates::CertificateSupport;
use certificates::EndpointAliases;
pub use request_protection::ProtectionFeatures;
use request_protection::ProtectionMetadata;

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
    /// Path of the client registration endpoint; each client's configuration is below it.
    pub const REGISTRATION: &str = "/api/v2/register";
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

/// An endpoint that a hub may lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionalEndpoint {
    Revocation,
    Introspection,
    EndSession,
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
    pub optional_endpoints: &'a [OptionalEndpoint],
    /// Whether a public client is registered.
    pub has_public_clients: bool,
    /// Whether clients can register themselves.
    pub has_registration: bool,
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

/// Returns the document as JSON text: the same bytes for the same input.
///
/// # Errors
/// Only if serialization fails, which this type can't cause.
pub fn discovery_document(provider: &DiscoveryInput<'_>) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Document::from(provider))
}

/// Members in the order of Discovery 1.0 §3, then those of other standards.
#[derive(Serialize)]
struct Document<'a> {
    issuer: &'a str,
    authorization_endpoint: String,
    token_endpoint: String,
    userinfo_endpoint: String,
    jwks_uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_endpoint: Option<String>,
    scopes_supported: &'a [Scope],
    response_types_supported: &'static [&'static str],
    response_modes_supported: Vec<&'static str>,
    grant_types_supported: &'static [&'static str],
    acr_values_supported: Vec<&'a str>,
    subject_types_supported: &'static [&'static str],
    id_token_signing_alg_values_supported: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token_encryption_alg_values_supported: Option<&'static [&'static str]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token_encryption_enc_values_supported: Option<&'static [&'static str]>,
    userinfo_signing_alg_values_supported: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    userinfo_encryption_alg_values_supported: Option<&'static [&'static str]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    userinfo_encryption_enc_values_supported: Option<&'static [&'static str]>,
    token_endpoint_auth_methods_supported: Vec<&'static str>,
    token_endpoint_auth_signing_alg_values_supported: &'static [&'static str],
    claims_supported: &'a [String],
    ui_locales_supported: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    service_documentation: Option<&'a str>,
    claims_parameter_supported: bool,
    // Discovery 1.0 §3: the default of request_uri would be true.
    request_parameter_supported: bool,
    request_uri_parameter_supported: bool,
    /// OpenID Connect RP-Initiated Logout 1.0 §2.1
    #[serde(skip_serializing_if = "Option::is_none")]
    end_session_endpoint: Option<String>,
    /// OpenID Connect Back-Channel Logout 1.0 §2.1
    #[serde(skip_serializing_if = "Option::is_none")]
    backchannel_logout_supported: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backchannel_logout_session_supported: Option<bool>,
    /// RFC 8414 §2
    #[serde(skip_serializing_if = "Option::is_none")]
    revocation_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revocation_endpoint_auth_methods_supported: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revocation_endpoint_auth_signing_alg_values_supported: Option<&'static [&'static str]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    introspection_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    introspection_endpoint_auth_methods_supported: Option<&'static [&'static str]>,
    /// RFC 9701 §7
    #[serde(skip_serializing_if = "Option::is_none")]
    introspection_signing_alg_values_supported: Option<&'static [&'static str]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    introspection_encryption_alg_values_supported: Option<&'static [&'static str]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    introspection_encryption_enc_values_supported: Option<&'static [&'static str]>,
    code_challenge_methods_supported: &'static [&'static str],
    /// Initiating User Registration via OpenID Connect 1.0
    prompt_values_supported: &'static [&'static str],
    /// RFC 9207 §3
    authorization_response_iss_parameter_supported: bool,
    #[serde(flatten)]
    protection: ProtectionMetadata,
    /// RFC 9449 §5.1
    dpop_signing_alg_values_supported: &'static [&'static str],
    /// RFC 8705 §3.3
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_client_certificate_bound_access_tokens: Option<bool>,
    /// RFC 8705 §5
    #[serde(skip_serializing_if = "Option::is_none")]
    mtls_endpoint_aliases: Option<EndpointAliases>,
}

impl<'a> From<&DiscoveryInput<'a>> for Document<'a> {
    fn from(provider: &DiscoveryInput<'a>) -> Self {
        let at = |path: &str| format!("{}{path}", provider.base_url);
        let has = |feature: OptionalEndpoint| provider.optional_endpoints.contains(&feature);
        let (revocation, introspection) =
            (has(OptionalEndpoint::Revocation), has(OptionalEndpoint::Introspection));
        let certificates = provider.client_certificates;
        let signing_algs = provider.protection.signing_algs();
        let client_algs = provider.protection.client_signing_algs();
        let mut auth_methods = provider.protection.auth_methods(provider.has_public_clients);
        auth_methods.extend(certificates.iter().flat_map(CertificateSupport::auth_methods));
        let (algs, encs) = token_encryption(provider.platform);
        Self {
            issuer: provider.issuer,
            authorization_endpoint: at(path::AUTHORIZE),
            token_endpoint: at(path::TOKEN),
            userinfo_endpoint: at(path::USERINFO),
            jwks_uri: at(path::JWKS),
            registration_endpoint: provider.has_registration.then(|| at(path::REGISTRATION)),
            scopes_supported: provider.scopes,
            response_types_supported: &["code"],
            response_modes_supported: provider.protection.response_modes(),
            grant_types_supported: provider.grant_types(),
            acr_values_supported: provider.acr_values(),
            subject_types_supported: &["pairwise"],
            id_token_signing_alg_values_supported: signing_algs,
            id_token_encryption_alg_values_supported: algs,
            id_token_encryption_enc_values_supported: encs,
            userinfo_signing_alg_values_supported: signing_algs,
            userinfo_encryption_alg_values_supported: algs,
            userinfo_encryption_enc_values_supported: encs,
            token_endpoint_auth_methods_supported: auth_methods.clone(),
            token_endpoint_auth_signing_alg_values_supported: client_algs,
            claims_supported: provider.claims,
            ui_locales_supported: provider.ui_locales,
            service_documentation: provider.service_documentation,
            claims_parameter_supported: true,
            request_parameter_supported: provider.protection.request_objects,
            // The hub fetches no request object. A `request_uri` of a pushed request needs no
            // announcement (RFC 9126 §5).
            request_uri_parameter_supported: false,
            end_session_endpoint: has(OptionalEndpoint::EndSession).then(|| at(path::END_SESSION)),
            backchannel_logout_supported: provider.sends_logout_tokens.then_some(true),
            backchannel_logout_session_supported: provider.sends_logout_tokens.then_some(true),
            revocation_endpoint: revocation.then(|| at(path::REVOCATION)),
            revocation_endpoint_auth_methods_supported: revocation.then_some(auth_methods),
            revocation_endpoint_auth_signing_alg_values_supported: revocation
                .then_some(client_algs),
            introspection_endpoint: introspection.then(|| at(path::INTROSPECTION)),
            introspection_endpoint_auth_methods_supported: introspection
                .then_some(INTROSPECTION_AUTH_METHODS),
            introspection_signing_alg_values_supported: introspection.then_some(SIGNING_ALGS),
            // On both platforms: data providers may register encrypted responses.
            introspection_encryption_alg_values_supported: introspection.then_some(ENCRYPTION_ALGS),
            introspection_encryption_enc_values_supported: introspection.then_some(ENCRYPTION_ENCS),
            code_challenge_methods_supported: &["S256"],
            prompt_values_supported: Prompt::VALUES,
            authorization_response_iss_parameter_supported: true,
            protection: ProtectionMetadata::new(provider.protection, provider.base_url),
            dpop_signing_alg_values_supported: provider.protection.dpop_signing_algs(),
            tls_client_certificate_bound_access_tokens: certificates.map(|_| true),
            mtls_endpoint_aliases: certificates
                .and_then(|support| support.aliases(provider.protection.policy)),
        }
    }
}

/// Id and secret in the body only (R204).
const INTROSPECTION_AUTH_METHODS: &[&str] = &[AuthMethod::ClientSecretPost.as_str()];

#[cfg(test)]
mod tests {
    use super::super::client_auth::supported_auth_methods;
    use super::*;
    use serde_json::{Map, Value, json};

    fn document(platform: Platform, features: &[OptionalEndpoint]) -> Map<String, Value> {
        let provider = DiscoveryInput {
            issuer: "https://hub.example/api/v2",
            base_url: "https://hub.example",
            platform,
            scopes: &["openid", "email"].map(Scope::from),
            level_names: &[],
            claims: &["sub", "email"].map(String::from),
            optional_endpoints: features,
            has_public_clients: false,
            has_registration: false,
            sends_logout_tokens: false,
            ui_locales: &["en", "fr"].map(String::from),
            service_documentation: None,
            protection: ProtectionFeatures::default(),
            issues_refresh_tokens: false,
            client_certificates: None,
        };
        let text = discovery_document(&provider).unwrap();
        assert_eq!(text, discovery_document(&provider).unwrap());
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
            "code_challenge_methods_supported": ["S256"],
            "prompt_values_supported": ["none", "login", "consent", "select_account"],
            "authorization_response_iss_parameter_supported": true,
            "dpop_signing_alg_values_supported": ["ES256", "PS256", "RS256", "EdDSA", "Ed25519"],
        });
        assert_eq!(Value::Object(document(Platform::Standard, &[])), expected);
    }

    #[test]
    fn an_endpoint_is_published_if_and_only_if_it_works() {
        for (feature, members) in [
            (OptionalEndpoint::EndSession, &["end_session_endpoint"][..]),
            (
                OptionalEndpoint::Revocation,
                &[
                    "revocation_endpoint",
                    "revocation_endpoint_auth_methods_supported",
                    "revocation_endpoint_auth_signing_alg_values_supported",
                ],
            ),
            (
                OptionalEndpoint::Introspection,
                &[
                    "introspection_endpoint",
                    "introspection_endpoint_auth_methods_supported",
                    "introspection_signing_alg_values_supported",
                    "introspection_encryption_alg_values_supported",
                    "introspection_encryption_enc_values_supported",
                ],
            ),
        ] {
            let without = document(Platform::Standard, &[]);
            let with = document(Platform::Standard, &[feature]);
            assert_eq!(with.len(), without.len() + members.len());
            for member in members {
                assert!(with.contains_key(*member) && !without.contains_key(*member), "{member}");
            }
        }
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
    fn only_the_high_platform_publishes_encryption_and_its_own_levels() {
        let high = document(Platform::High, &[]);
        assert_eq!(high["acr_values_supported"], json!(["eidas2", "eidas3"]));
        assert_eq!(
            high["id_token_encryption_alg_values_supported"],
            json!(["ECDH-ES", "RSA-OAEP-256", "RSA-OAEP"])
        );
        assert_eq!(high["userinfo_encryption_enc_values_supported"], json!(["A256GCM"]));
        assert_eq!(
            document(Platform::Standard, &[])
                .keys()
                .filter(|member| member.contains("encryption"))
                .count(),
            0
        );
    }
}
