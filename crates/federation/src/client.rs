//! Defines service providers and data providers as the rest of the hub uses them.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::client_assertions::AssertionRules;
use super::client_keys::{KeySource, ResponseEncryptionAlgs};
use super::connector_rules::{AllowedConnectors, ConnectorOrder};
use super::dated_secret::DatedSecret;
use super::logo::Logo;
use passerelle_egress::safe_http_client::AllowedSchemes;
use passerelle_jose::client_certificate::CertificateName;
use passerelle_protocol::alg::{EncryptionAlg, SigningAlg};
use passerelle_protocol::ids::{ClientId, Scope};
use passerelle_protocol::registration::Registration;

/// A validated service provider.
#[derive(Clone, Debug)]
pub struct ServiceProvider {
    /// Its OAuth registration.
    pub registration: Registration,
    /// Display name, by language.
    pub name: BTreeMap<String, String>,
    /// Service providers of one sector share one `sub`.
    pub sector: String,
    /// Version of the subject key for its `sub`.
    pub subject_key_version: u32,
    /// How it authenticates.
    pub authentication: ClientAuthentication,
    /// Signature algorithm of its ID tokens.
    pub id_token_signed_response_alg: SigningAlg,
    /// Signature algorithm of its userinfo responses; `None` for plain JSON, under `rules =
    /// "openid"` only.
    pub userinfo_signed_response_alg: Option<SigningAlg>,
    /// The connectors that it may use, enforced by the gate.
    pub allowed_connectors: AllowedConnectors,
    /// The order of its choice page.
    pub order: Arc<ConnectorOrder>,
    /// Its logo.
    pub logo: Option<Logo>,
    /// Whether the status page shows its identity providers to everyone.
    pub status_page: bool,
    /// Its class in metrics, if its file sets one.
    pub class: Option<Arc<str>>,
    /// Source of its public keys.
    pub keys: KeySource,
    /// How its responses are encrypted.
    pub encryption: ResponseEncryptionAlgs,
    /// Where it receives logout tokens; `None` if it receives none.
    pub logout_endpoint: Option<LogoutEndpoint>,
    /// Logins that it may start per minute; `None` for the hub's default.
    pub logins_per_minute: Option<NonZeroU32>,
    /// True if its ID tokens contain the claims of the granted scopes.
    pub id_token_claims: bool,
    /// Lifetime of its access tokens; `None` for the hub's.
    pub access_token_lifetime: Option<Duration>,
    /// Origins of its pages, as browsers send them; public clients only.
    pub cors_origins: Vec<String>,
    /// Binding that its access tokens must have.
    pub token_binding: TokenBinding,
    /// Rules of its refresh tokens; `None` if it gets none.
    pub refresh_tokens: Option<RefreshTokenRules>,
    /// True if its users need a code by mail unless they prove two factors or `mail`.
    pub mail_code: bool,
}

/// Rules of a service provider's refresh tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefreshTokenRules {
    /// Maximum lifetime, from the login.
    pub lifetime: Duration,
    /// Maximum time without a use.
    pub idle: Duration,
    /// Whether the user's logout ends them.
    pub ends_with_session: bool,
}

/// Binding that the access tokens of a service provider must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TokenBinding {
    /// Every token request needs a DPoP proof.
    pub dpop_required: bool,
    /// Every DPoP proof needs a nonce of the hub.
    pub dpop_nonce_required: bool,
    /// Every token request needs a client certificate.
    pub certificate_required: bool,
}

/// How a service provider authenticates at the token endpoint.
#[derive(Clone, Debug)]
pub enum ClientAuthentication {
    /// `client_secret_post`.
    SecretPost(Vec<DatedSecret>),
    /// `client_secret_basic`.
    SecretBasic(Vec<DatedSecret>),
    /// Either of the two, but not both at once, because the file sets no method.
    Secret(Vec<DatedSecret>),
    /// `private_key_jwt` with these rules.
    PrivateKeyJwt(AssertionRules),
    /// `tls_client_auth`: a certificate of the hub's authorities with this name.
    TlsCertificate(CertificateName),
    /// `self_signed_tls_client_auth`: a certificate of its own keys.
    SelfSignedCertificate,
    /// `none`: a public client.
    Public,
}

impl ClientAuthentication {
    /// Returns the client secrets; none for the other methods.
    pub fn secrets(&self) -> &[DatedSecret] {
        match self {
            Self::SecretPost(secrets) | Self::SecretBasic(secrets) | Self::Secret(secrets) => {
                secrets
            }
            Self::PrivateKeyJwt(_)
            | Self::TlsCertificate(_)
            | Self::SelfSignedCertificate
            | Self::Public => &[],
        }
    }
}

/// A validated data provider.
#[derive(Clone, Debug)]
pub struct DataProvider {
    /// Its client_id.
    pub client_id: ClientId,
    /// False if it is treated as unknown.
    pub active: bool,
    /// Its secrets with their validity.
    pub secrets: Vec<DatedSecret>,
    /// The scopes that it may see.
    pub scopes: Vec<Scope>,
    /// Clients of one sector share one `sub`.
    pub sector: String,
    /// Version of the subject key for its `sub`.
    pub subject_key_version: u32,
    /// Format of introspection responses.
    pub response_format: IntrospectionResponseFormat,
    /// Source of its public keys.
    pub keys: KeySource,
}

/// Format of introspection responses to a data provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntrospectionResponseFormat {
    /// JSON (RFC 7662).
    Json,
    /// A JWT (RFC 9701), signed and, if an algorithm is registered, encrypted to the data
    /// provider's key.
    Jwt {
        /// Signature algorithm.
        alg: SigningAlg,
        /// Encryption algorithm.
        encryption: Option<EncryptionAlg>,
    },
}

/// A client with its keys and the encryption algorithms that they must support.
#[derive(Clone, Debug)]
pub struct KeyOwner<'a> {
    /// Its client_id.
    pub client_id: &'a ClientId,
    /// True if the client is active.
    pub active: bool,
    /// Source of its keys.
    pub keys: &'a KeySource,
    /// Required algorithms.
    pub encryption: Vec<EncryptionAlg>,
}

/// A service provider's back-channel logout endpoint, with the egress rules for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogoutEndpoint {
    /// The URL.
    pub uri: Url,
    /// The allowed schemes.
    pub schemes: AllowedSchemes,
    /// Hosts that may have internal addresses.
    pub internal_hosts: Vec<String>,
}
