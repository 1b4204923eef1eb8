//! Holds the federation that the rest of the hub uses: service providers, data providers,
//! connectors and scopes, validated and immutable.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::client_assertions::AssertionRules;
use super::connector_rules::{AllowedConnectors, ConnectorOrder};
use super::logo::Logo;
use super::model::{AuthMethod, Category};
use super::notices::Notice;
use super::provider_display::SortedProviders;
use super::{
    ConnectorMetadata, DatedSecret, KeySource, LoadedConfig, RegisteredClient,
    RegisteredDataProvider, ResponseEncryptionAlgs,
};
use crate::identity::scopes::ScopeTable;
use crate::ids::{ClientId, ConnectorId, Scope};
use crate::protocol::alg::{EncryptionAlg, SigningAlg};
use crate::protocol::registration::{ClientDirectory, ProtocolRules, Registration};

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
    /// Logins that it may start per minute; `None` for the hub's default.
    pub logins_per_minute: Option<NonZeroU32>,
    /// True if its ID tokens contain the claims of the granted scopes.
    pub id_token_claims: bool,
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
        }
    }
}

impl ServiceProvider {
    /// Creates a service provider from its checked file.
    pub(super) fn new(
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
                redirect_uris: file.redirect_uris.clone(),
                post_logout_redirect_uris: file.post_logout_redirect_uris.clone(),
                granted_scopes: file.scopes.clone(),
                require_pkce: file.require_pkce,
                home_page: file.home_page.clone(),
                consent: file.consent,
                rules: file.rules,
                hints: file.connectors.idp_hint.clone(),
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
            logins_per_minute: file.logins_per_minute.and_then(NonZeroU32::new),
            id_token_claims: file.id_token_claims,
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

impl DataProvider {
    /// Creates a data provider from its checked file.
    pub(super) fn new(registered: &RegisteredDataProvider) -> Self {
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

/// An immutable snapshot of all service providers, data providers, connectors and scopes.
#[derive(Clone, Debug)]
pub struct Federation {
    services: BTreeMap<ClientId, Arc<ServiceProvider>>,
    data_providers: BTreeMap<ClientId, Arc<DataProvider>>,
    connectors: BTreeMap<ConnectorId, Arc<ConnectorMetadata>>,
    /// The connectors, sorted by name.
    sorted_connectors: Arc<SortedProviders>,
    /// The scope table under federation rules.
    pub scopes: ScopeTable,
    /// The scope table under `rules = "openid"`.
    pub openid_scopes: ScopeTable,
    /// How unavailable connectors are displayed.
    pub unavailable: UnavailableDisplay,
    /// The discovery document, as JSON; empty until it is generated.
    pub discovery: Arc<str>,
    /// The categories of the choice page, in order.
    pub categories: Vec<Category>,
    /// The operator's notices, in force or not.
    pub notices: Arc<[Notice]>,
    /// How long a browser remembers the last choice; `None` if it doesn't.
    pub remember_last: Option<Duration>,
}

/// How the choice page displays connectors that can't be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnavailableDisplay {
    /// Greyed out.
    Greyed,
    /// Not shown.
    Hidden,
}

impl Federation {
    /// Creates a federation of service providers alone.
    #[must_use]
    pub fn new(
        services: impl IntoIterator<Item = ServiceProvider>,
        scopes: ScopeTable,
        unavailable: UnavailableDisplay,
    ) -> Self {
        let by_id =
            |service: ServiceProvider| (service.registration.client_id.clone(), Arc::new(service));
        Self {
            services: services.into_iter().map(by_id).collect(),
            data_providers: BTreeMap::new(),
            connectors: BTreeMap::new(),
            sorted_connectors: Arc::default(),
            scopes,
            openid_scopes: ScopeTable::openid(),
            unavailable,
            discovery: Arc::default(),
            categories: Vec::new(),
            notices: Arc::default(),
            remember_last: None,
        }
    }

    /// Replaces the service providers and data providers of `rest`.
    pub(super) fn with_clients(
        services: impl Iterator<Item = Arc<ServiceProvider>>,
        data_providers: impl Iterator<Item = Arc<DataProvider>>,
        rest: Self,
    ) -> Self {
        let services =
            services.map(|service| (service.registration.client_id.clone(), service)).collect();
        let data_providers =
            data_providers.map(|provider| (provider.client_id.clone(), provider)).collect();
        Self { services, data_providers, ..rest }
    }

    /// Replaces the data providers.
    #[must_use]
    pub fn with_data_providers(
        self,
        data_providers: impl IntoIterator<Item = DataProvider>,
    ) -> Self {
        let by_id = |provider: DataProvider| (provider.client_id.clone(), Arc::new(provider));
        Self { data_providers: data_providers.into_iter().map(by_id).collect(), ..self }
    }

    /// Replaces the connectors.
    #[must_use]
    pub fn with_connectors(
        self,
        connectors: impl IntoIterator<Item = (ConnectorId, Arc<ConnectorMetadata>)>,
    ) -> Self {
        let connectors: BTreeMap<_, _> = connectors.into_iter().collect();
        let sorted_connectors = SortedProviders::new(
            connectors
                .iter()
                .map(|(id, metadata): (_, &Arc<ConnectorMetadata>)| (id, &*metadata.display)),
        );
        Self { connectors, sorted_connectors: Arc::new(sorted_connectors), ..self }
    }

    /// Returns the federation of a checked configuration.
    #[must_use]
    pub fn from_loaded(loaded: &LoadedConfig) -> Self {
        loaded.files.build_federation()
    }

    /// Returns a service provider by its client_id, active or not.
    #[must_use]
    pub fn service_provider(&self, client_id: &ClientId) -> Option<&Arc<ServiceProvider>> {
        self.services.get(client_id)
    }

    /// Returns a service provider's logo by its version.
    #[must_use]
    pub fn logo(&self, version: &str) -> Option<&Logo> {
        self.services
            .values()
            .filter_map(|service| service.logo.as_ref())
            .find(|logo| &*logo.version == version)
    }

    /// Returns every service provider, active or not.
    pub fn service_providers(&self) -> impl Iterator<Item = &Arc<ServiceProvider>> {
        self.services.values()
    }

    /// Returns a data provider by its client_id, active or not.
    #[must_use]
    pub fn data_provider(&self, client_id: &ClientId) -> Option<&Arc<DataProvider>> {
        self.data_providers.get(client_id)
    }

    /// Returns every data provider, active or not.
    pub fn data_providers(&self) -> impl Iterator<Item = &Arc<DataProvider>> {
        self.data_providers.values()
    }

    /// Returns every active data provider.
    pub fn active_data_providers(&self) -> impl Iterator<Item = &Arc<DataProvider>> {
        self.data_providers.values().filter(|provider| provider.active)
    }

    /// Returns a connector by its id, enabled or not.
    #[must_use]
    pub fn connector(&self, id: &ConnectorId) -> Option<&Arc<ConnectorMetadata>> {
        self.connectors.get(id)
    }

    /// Returns every connector by its id, enabled or not.
    #[must_use]
    pub const fn connectors(&self) -> &BTreeMap<ConnectorId, Arc<ConnectorMetadata>> {
        &self.connectors
    }

    /// Returns the connectors sorted by name in each language.
    #[must_use]
    pub fn sorted_connectors(&self) -> &SortedProviders {
        &self.sorted_connectors
    }

    /// Returns every client that may have public keys, active or not.
    pub fn key_owners(&self) -> impl Iterator<Item = KeyOwner<'_>> {
        let services = self.services.values().map(|service| KeyOwner {
            client_id: &service.registration.client_id,
            active: service.registration.active,
            keys: &service.keys,
            encryption: service
                .encryption
                .map_or_else(Vec::new, |algs| vec![algs.id_token, algs.userinfo]),
        });
        let data_providers = self.data_providers.values().map(|provider| KeyOwner {
            client_id: &provider.client_id,
            active: provider.active,
            keys: &provider.keys,
            encryption: match provider.response_format {
                IntrospectionResponseFormat::Json => Vec::new(),
                IntrospectionResponseFormat::Jwt { encryption, .. } => {
                    encryption.into_iter().collect()
                }
            },
        });
        services.chain(data_providers)
    }

    /// Returns an active service provider by its client_id.
    #[must_use]
    pub fn active_service_provider(&self, client_id: &ClientId) -> Option<&Arc<ServiceProvider>> {
        self.service_provider(client_id).filter(|service| service.registration.active)
    }
}

impl ClientDirectory for Federation {
    fn registration(&self, client_id: &str) -> Option<&Registration> {
        self.services.get(client_id).map(|service| &service.registration)
    }

    fn is_known_scope(&self, scope: &str, rules: ProtocolRules) -> bool {
        scope == "openid" || self.scope_table(rules).contains(&Scope::from(scope))
    }
}
