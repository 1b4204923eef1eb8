//! The federation as everything else reads it: service providers, data providers, connectors and scopes, parsed, validated,
//! immutable.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::client_assertions::AssertionRules;
use super::connector_rules::{Admitted, Order};
use super::logo::Logo;
use super::model::{AuthMethod, Category};
use super::notices::Notice;
use super::shown::Lineup;
use super::{
    AnswerEncryption, ConnectorFacts, DatedSecret, KeySource, Loaded, RegisteredClient,
    RegisteredDataProvider,
};
use crate::identity::scopes::ScopeTable;
use crate::ids::{ClientId, ConnectorId, Scope};
use crate::protocol::alg::{EncryptionAlg, SigningAlg};
use crate::protocol::registration::{Directory, Registration, Rules};

/// One service provider, ready for use.
#[derive(Clone, Debug)]
pub struct Service {
    pub registration: Registration,
    /// For people, by language.
    pub name: BTreeMap<String, String>,
    /// Service providers of one sector share one `sub`.
    pub sector: String,
    /// Version of the key that its subjects are derived with.
    pub subject_key_version: u32,
    /// How it proves who it is.
    pub authentication: Authentication,
    pub id_token_signed_response_alg: SigningAlg,
    /// Absent: plain JSON, under `rules = "openid"` only.
    pub userinfo_signed_response_alg: Option<SigningAlg>,
    /// Which connectors may serve it: the gate's to judge.
    pub admitted: Admitted,
    /// What comes first on its choice page.
    pub order: Arc<Order>,
    pub logo: Option<Logo>,
    /// Its class in metrics, where its file names one.
    pub class: Option<Arc<str>>,
    pub keys: KeySource,
    /// How its answers are encrypted; only signed without.
    pub encryption: Option<AnswerEncryption>,
    /// Logins that it may begin in a minute; `None` leaves it to the hub.
    pub logins_per_minute: Option<NonZeroU32>,
    /// Its ID tokens carry the claims of the granted scopes too.
    pub id_token_claims: bool,
}

/// How a service provider proves who it is at the token endpoint.
#[derive(Clone, Debug)]
pub enum Authentication {
    /// The hash of each secret with its dates; whoever asks says what o'clock it is.
    SecretPost(Vec<DatedSecret>),
    SecretBasic(Vec<DatedSecret>),
    /// By either of the two, one at a time: its file names neither.
    Secret(Vec<DatedSecret>),
    /// Assertions that keep these rules.
    PrivateKeyJwt(AssertionRules),
}

impl Authentication {
    fn of(client: &RegisteredClient) -> Self {
        match (client.file.token_endpoint_auth_method, client.file.rules) {
            // Ordinary libraries differ in what they do unasked, and both is published.
            (None, Rules::Openid) => Self::Secret(client.secrets.clone()),
            (None, Rules::Federation) | (Some(AuthMethod::ClientSecretPost), _) => {
                Self::SecretPost(client.secrets.clone())
            }
            (Some(AuthMethod::ClientSecretBasic), _) => Self::SecretBasic(client.secrets.clone()),
            (Some(AuthMethod::PrivateKeyJwt), _) => {
                Self::PrivateKeyJwt(AssertionRules::from_file(&client.file))
            }
        }
    }
}

impl Service {
    pub(super) fn of(
        client: &RegisteredClient,
        hub: &Arc<Order>,
        hubs_order: &[ConnectorId],
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
            authentication: Authentication::of(client),
            id_token_signed_response_alg: file.id_token_signed_response_alg.unwrap_or(
                match file.rules {
                    Rules::Federation => SigningAlg::ES256,
                    Rules::Openid => SigningAlg::RS256, // OpenID Connect Dynamic Client Registration 1.0, 2
                },
            ),
            userinfo_signed_response_alg: file.userinfo_signed_response_alg.or(match file.rules {
                Rules::Federation => Some(SigningAlg::ES256),
                Rules::Openid => None,
            }),
            admitted: file.connectors.admitted(),
            order: if own_order.is_empty() {
                Arc::clone(hub)
            } else {
                Arc::new(Order::of(own_order, hubs_order))
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

/// One data provider, ready for use.
#[derive(Clone, Debug)]
pub struct DataProvider {
    pub client_id: ClientId,
    pub active: bool,
    /// The hash of each secret with its dates; whoever asks says what o'clock it is.
    pub secrets: Vec<DatedSecret>,
    /// What it may learn of.
    pub scopes: Vec<Scope>,
    /// Whoever is of one sector shares one `sub`.
    pub sector: String,
    /// Version of the key that its subjects are derived with.
    pub subject_key_version: u32,
    pub form: IntrospectionForm,
    pub keys: KeySource,
}

/// How a data provider is answered (decisions 11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntrospectionForm {
    /// RFC 7662.
    Json,
    /// RFC 9701: signed, and then sealed to its key where an algorithm for that is registered.
    Jwt { alg: SigningAlg, sealed: Option<EncryptionAlg> },
}

impl DataProvider {
    pub(super) fn of(registered: &RegisteredDataProvider) -> Self {
        let file = &registered.file;
        Self {
            client_id: file.client_id.clone(),
            active: file.active,
            secrets: registered.secrets.clone(),
            scopes: file.scopes.clone(),
            sector: registered.sector.clone(),
            subject_key_version: registered.subject_key_version,
            form: file.introspection_signed_response_alg.map_or(IntrospectionForm::Json, |alg| {
                IntrospectionForm::Jwt { alg, sealed: file.introspection_encrypted_response_alg }
            }),
            keys: registered.keys.clone(),
        }
    }
}

/// Whose keys these are, and what they must be able to encrypt with.
#[derive(Clone, Debug)]
pub struct KeyOwner<'a> {
    pub client_id: &'a ClientId,
    pub active: bool,
    pub keys: &'a KeySource,
    pub encryption: Vec<EncryptionAlg>,
}

/// All that the files of a federation say, at one moment.
#[derive(Clone, Debug)]
pub struct Federation {
    services: BTreeMap<ClientId, Arc<Service>>,
    data_providers: BTreeMap<ClientId, Arc<DataProvider>>,
    connectors: BTreeMap<ConnectorId, Arc<ConnectorFacts>>,
    /// The connectors by name.
    lineup: Arc<Lineup>,
    pub scopes: ScopeTable,
    /// For service providers under `rules = "openid"`.
    pub openid_scopes: ScopeTable,
    /// Hide what can't be chosen instead of greying it.
    pub unavailable: Unavailable,
    /// The discovery document that goes with all this, as JSON; empty until it is written.
    pub discovery: Arc<str>,
    /// The choice page's headings, in their order.
    pub categories: Vec<Category>,
    /// What the operator has to say to everybody, in force or not.
    pub notices: Arc<[Notice]>,
    /// How long a browser keeps the last choice, if it does.
    pub remember_last: Option<Duration>,
}

/// What the choice page does with connectors that can't be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unavailable {
    Greyed,
    Hidden,
}

impl Federation {
    #[must_use]
    pub fn new(
        services: impl IntoIterator<Item = Service>,
        scopes: ScopeTable,
        unavailable: Unavailable,
    ) -> Self {
        let by_id = |service: Service| (service.registration.client_id.clone(), Arc::new(service));
        Self {
            services: services.into_iter().map(by_id).collect(),
            data_providers: BTreeMap::new(),
            connectors: BTreeMap::new(),
            lineup: Arc::default(),
            scopes,
            openid_scopes: ScopeTable::openid(),
            unavailable,
            discovery: Arc::default(),
            categories: Vec::new(),
            notices: Arc::default(),
            remember_last: None,
        }
    }

    /// `rest`, with these in place of what parties there were.
    pub(super) fn of_shared(
        services: impl Iterator<Item = Arc<Service>>,
        data_providers: impl Iterator<Item = Arc<DataProvider>>,
        rest: Self,
    ) -> Self {
        let services =
            services.map(|service| (service.registration.client_id.clone(), service)).collect();
        let data_providers =
            data_providers.map(|provider| (provider.client_id.clone(), provider)).collect();
        Self { services, data_providers, ..rest }
    }

    /// With these in place of what data providers there were.
    #[must_use]
    pub fn with_data_providers(
        self,
        data_providers: impl IntoIterator<Item = DataProvider>,
    ) -> Self {
        let by_id = |provider: DataProvider| (provider.client_id.clone(), Arc::new(provider));
        Self { data_providers: data_providers.into_iter().map(by_id).collect(), ..self }
    }

    /// With these in place of what connectors there were.
    #[must_use]
    pub fn with_connectors(
        self,
        connectors: impl IntoIterator<Item = (ConnectorId, Arc<ConnectorFacts>)>,
    ) -> Self {
        let connectors: BTreeMap<_, _> = connectors.into_iter().collect();
        let lineup = Lineup::of(
            connectors.iter().map(|(id, facts): (_, &Arc<ConnectorFacts>)| (id, &*facts.shown)),
        );
        Self { connectors, lineup: Arc::new(lineup), ..self }
    }

    /// Of a configuration that was loaded and checked.
    #[must_use]
    pub fn of(loaded: &Loaded) -> Self {
        loaded.files.federation()
    }

    /// A service provider of this id, active or not.
    #[must_use]
    pub fn service(&self, client_id: &ClientId) -> Option<&Arc<Service>> {
        self.services.get(client_id)
    }

    /// A service provider's logo, by its version.
    #[must_use]
    pub fn logo(&self, version: &str) -> Option<&Logo> {
        self.services
            .values()
            .filter_map(|service| service.logo.as_ref())
            .find(|logo| &*logo.version == version)
    }

    /// Every service provider, active or not.
    pub fn services(&self) -> impl Iterator<Item = &Arc<Service>> {
        self.services.values()
    }

    /// A data provider of this id, active or not.
    #[must_use]
    pub fn data_provider(&self, client_id: &ClientId) -> Option<&Arc<DataProvider>> {
        self.data_providers.get(client_id)
    }

    /// Every data provider, active or not.
    pub fn data_providers(&self) -> impl Iterator<Item = &Arc<DataProvider>> {
        self.data_providers.values()
    }

    /// Every data provider that is answered.
    pub fn active_data_providers(&self) -> impl Iterator<Item = &Arc<DataProvider>> {
        self.data_providers.values().filter(|provider| provider.active)
    }

    /// A connector of this id, enabled or not.
    #[must_use]
    pub fn connector(&self, id: &ConnectorId) -> Option<&Arc<ConnectorFacts>> {
        self.connectors.get(id)
    }

    /// Every connector by its id, enabled or not.
    #[must_use]
    pub const fn connectors(&self) -> &BTreeMap<ConnectorId, Arc<ConnectorFacts>> {
        &self.connectors
    }

    /// Every connector by name, in each language.
    #[must_use]
    pub fn lineup(&self) -> &Lineup {
        &self.lineup
    }

    /// Everyone who may have public keys, active or not.
    pub fn key_owners(&self) -> impl Iterator<Item = KeyOwner<'_>> {
        let services = self.services.values().map(|service| KeyOwner {
            client_id: &service.registration.client_id,
            active: service.registration.active,
            keys: &service.keys,
            encryption: service
                .encryption
                .map_or_else(Vec::new, |answers| vec![answers.id_token, answers.userinfo]),
        });
        let data_providers = self.data_providers.values().map(|provider| KeyOwner {
            client_id: &provider.client_id,
            active: provider.active,
            keys: &provider.keys,
            encryption: match provider.form {
                IntrospectionForm::Json => Vec::new(),
                IntrospectionForm::Jwt { sealed, .. } => sealed.into_iter().collect(),
            },
        });
        services.chain(data_providers)
    }

    /// A service provider that may be served.
    #[must_use]
    pub fn active(&self, client_id: &ClientId) -> Option<&Arc<Service>> {
        self.service(client_id).filter(|service| service.registration.active)
    }
}

impl Directory for Federation {
    fn registration(&self, client_id: &str) -> Option<&Registration> {
        self.services.get(client_id).map(|service| &service.registration)
    }

    fn scope_is_known(&self, scope: &str, rules: Rules) -> bool {
        scope == "openid" || self.scope_table(rules).known(&Scope::from(scope))
    }
}
