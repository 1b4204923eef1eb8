//! Defines service providers and data providers as the rest of the hub uses them.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::config::model::{AuthMethod, RefreshTokensConfig, ServiceProviderFile};
use crate::config::validation::backchannel_logout::LogoutEndpoint;
use crate::config::validation::client_assertions::AssertionRules;
use crate::config::validation::client_certificates::registered_name;
use crate::config::validation::client_keys::{KeySource, ResponseEncryptionAlgs};
use crate::config::validation::connector_rules::{AllowedConnectors, ConnectorOrder};
use crate::config::validation::data_providers::RegisteredDataProvider;
use crate::config::validation::dated_secret::DatedSecret;
use crate::config::validation::logo::Logo;
use crate::config::validation::service_providers::RegisteredClient;
use crate::ids::{ClientId, ConnectorId, Scope};
use crate::protocol::alg::{EncryptionAlg, SigningAlg};
use crate::protocol::refresh::OFFLINE_ACCESS;
use crate::protocol::registration::{ProtocolRules, Registration};
use crate::token::client_certificate::CertificateName;

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
    /// Its class in metrics, if its file sets one.
    pub class: Option<Arc<str>>,
    /// Source of its public keys.
    pub keys: KeySource,
    /// How its responses are encrypted; `None` if they are only signed.
    pub encryption: Option<ResponseEncryptionAlgs>,
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

impl RefreshTokenRules {
    fn from_config(config: RefreshTokensConfig) -> Self {
        Self {
            lifetime: Duration::from_secs(config.lifetime_seconds),
            idle: Duration::from_secs(config.idle_seconds()),
            ends_with_session: config.end_with_session,
        }
    }
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
    fn from_client(client: &RegisteredClient) -> Self {
        match (client.file.token_endpoint_auth_method, client.file.rules) {
            // Client libraries have different defaults, and discovery announces both.
            (None, ProtocolRules::Openid) => Self::Secret(client.secrets.clone()),
            (None, ProtocolRules::Federation) | (Some(AuthMethod::ClientSecretPost), _) => {
                Self::SecretPost(client.secrets.clone())
            }
            (Some(AuthMethod::ClientSecretBasic), _) => Self::SecretBasic(client.secrets.clone()),
            (Some(AuthMethod::PrivateKeyJwt), _) => {
                Self::PrivateKeyJwt(AssertionRules::from_file(&client.file))
            }
            (Some(AuthMethod::TlsClientAuth), _) => {
                // The file's check rejects a file without a name, which no certificate has.
                let name = registered_name(&client.file);
                Self::TlsCertificate(name.unwrap_or(CertificateName::Dns(String::new())))
            }
            (Some(AuthMethod::SelfSignedTlsClientAuth), _) => Self::SelfSignedCertificate,
            (Some(AuthMethod::None), _) => Self::Public,
        }
    }
}

impl ServiceProvider {
    /// Creates a service provider from its checked file.
    pub(in crate::config) fn new(
        client: &RegisteredClient,
        hub_order: &Arc<ConnectorOrder>,
        hub_connectors: &[ConnectorId],
    ) -> Self {
        let file = &client.file;
        let own_order = &file.connectors.order;
        Self {
            registration: Registration {
                client_id: file.client_id.clone(),
                active: file.active,
                client_type: file.client_type(),
                redirect_uris: file.redirect_uris.clone(),
                post_logout_redirect_uris: file.post_logout_redirect_uris.clone(),
                granted_scopes: granted_scopes(file),
                require_pkce: file.require_pkce,
                home_page: file.home_page.clone(),
                consent: file.consent(),
                rules: file.rules,
                hints: file.connectors.idp_hint.clone(),
                acr: client.acr.clone(),
                protection: client.protection,
            },
            name: file.name.clone(),
            sector: client.sector.clone(),
            subject_key_version: client.subject_key_version,
            authentication: ClientAuthentication::from_client(client),
            id_token_signed_response_alg: file.id_token_signed_response_alg.unwrap_or(
                match file.rules {
                    ProtocolRules::Federation => SigningAlg::ES256,
                    ProtocolRules::Openid => SigningAlg::RS256, // OpenID Connect Dynamic Client Registration 1.0 §2
                },
            ),
            userinfo_signed_response_alg: file.userinfo_signed_response_alg.or(match file.rules {
                ProtocolRules::Federation => Some(SigningAlg::ES256),
                ProtocolRules::Openid => None,
            }),
            allowed_connectors: file.connectors.allowed_connectors(),
            order: if own_order.is_empty() {
                Arc::clone(hub_order)
            } else {
                Arc::new(ConnectorOrder::new(own_order, hub_connectors))
            },
            logo: client.logo.clone(),
            class: file.class.as_deref().map(Arc::from),
            keys: client.keys.clone(),
            encryption: client.encryption,
            logout_endpoint: client.logout_endpoint.clone(),
            logins_per_minute: file.logins_per_minute.and_then(NonZeroU32::new),
            id_token_claims: client.id_token_claims,
            access_token_lifetime: file.access_token_seconds.map(Duration::from_secs),
            cors_origins: file.cors_origins.clone(),
            refresh_tokens: file.refresh_tokens.map(RefreshTokenRules::from_config),
            token_binding: TokenBinding {
                dpop_required: file.dpop_bound_access_tokens,
                dpop_nonce_required: file.dpop_nonce_required,
                certificate_required: file.tls_client_certificate_bound_access_tokens,
            },
        }
    }
}

/// Returns the scopes that a service provider may request: with refresh tokens also the one that
/// asks for them.
fn granted_scopes(file: &ServiceProviderFile) -> Vec<Scope> {
    let offline = Scope::from(OFFLINE_ACCESS);
    let is_listed = file.scopes.contains(&offline);
    let added = (file.refresh_tokens.is_some() && !is_listed).then_some(offline);
    file.scopes.iter().cloned().chain(added).collect()
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

impl DataProvider {
    /// Creates a data provider from its checked file.
    pub(in crate::config) fn new(registered: &RegisteredDataProvider) -> Self {
        let file = &registered.file;
        Self {
            client_id: file.client_id.clone(),
            active: file.active,
            secrets: registered.secrets.clone(),
            scopes: file.scopes.clone(),
            sector: registered.sector.clone(),
            subject_key_version: registered.subject_key_version,
            response_format: file.introspection_signed_response_alg.map_or(
                IntrospectionResponseFormat::Json,
                |alg| IntrospectionResponseFormat::Jwt {
                    alg,
                    encryption: file.introspection_encrypted_response_alg,
                },
            ),
            keys: registered.keys.clone(),
        }
    }
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
