//! The federation as everything else reads it: service providers and scopes, parsed, validated, immutable.

use std::collections::BTreeMap;

use super::model::AuthMethod;
use super::{AnswerEncryption, DatedSecret, KeySource, Loaded, RegisteredClient};
use crate::identity::scopes::{ScopeTable, ScopeTableFault};
use crate::ids::{ClientId, ConnectorId, Scope};
use crate::protocol::alg::SigningAlg;
use crate::protocol::registration::{Directory, Registration};

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
    pub userinfo_signed_response_alg: SigningAlg,
    pub blocked_connectors: Vec<ConnectorId>,
    pub keys: KeySource,
    /// How its answers are encrypted; only signed without.
    pub encryption: Option<AnswerEncryption>,
}

/// How a service provider proves who it is at the token endpoint.
#[derive(Clone, Debug)]
pub enum Authentication {
    /// The hash of each secret with its dates; whoever asks says what o'clock it is.
    SecretPost(Vec<DatedSecret>),
    SecretBasic(Vec<DatedSecret>),
    /// Assertions signed with exactly this algorithm.
    PrivateKeyJwt(SigningAlg),
}

impl Authentication {
    fn of(client: &RegisteredClient) -> Self {
        match client.file.token_endpoint_auth_method {
            AuthMethod::ClientSecretPost => Self::SecretPost(client.secrets.clone()),
            AuthMethod::ClientSecretBasic => Self::SecretBasic(client.secrets.clone()),
            AuthMethod::PrivateKeyJwt => Self::PrivateKeyJwt(client.file.token_endpoint_auth_signing_alg.unwrap_or_default()),
        }
    }
}

impl Service {
    fn of(client: &RegisteredClient) -> Self {
        let file = &client.file;
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
            },
            name: file.name.clone(),
            sector: client.sector.clone(),
            subject_key_version: client.subject_key_version,
            authentication: Authentication::of(client),
            id_token_signed_response_alg: file.id_token_signed_response_alg,
            userinfo_signed_response_alg: file.userinfo_signed_response_alg,
            blocked_connectors: file.blocked_connectors.clone(),
            keys: client.keys.clone(),
            encryption: client.encryption,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Federation {
    services: BTreeMap<ClientId, Service>,
    pub scopes: ScopeTable,
    /// Hide what can't be chosen instead of greying it.
    pub unavailable: Unavailable,
}

/// What the choice page does with connectors that can't be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unavailable {
    Greyed,
    Hidden,
}

impl Federation {
    #[must_use]
    pub fn new(services: impl IntoIterator<Item = Service>, scopes: ScopeTable, unavailable: Unavailable) -> Self {
        let services = services.into_iter().map(|service| (service.registration.client_id.clone(), service)).collect();
        Self { services, scopes, unavailable }
    }

    /// Of a configuration that was loaded and checked.
    ///
    /// # Errors
    /// A scope that releases a claim which doesn't exist.
    pub fn of(loaded: &Loaded) -> Result<Self, ScopeTableFault> {
        let scopes = ScopeTable::from_names(&loaded.scopes)?;
        let unavailable = if loaded.settings.choice.hide_unavailable { Unavailable::Hidden } else { Unavailable::Greyed };
        Ok(Self::new(loaded.service_providers.values().map(Service::of), scopes, unavailable))
    }

    /// A service provider of this id, active or not.
    #[must_use]
    pub fn service(&self, client_id: &ClientId) -> Option<&Service> {
        self.services.get(client_id)
    }

    /// Every service provider, active or not.
    pub fn services(&self) -> impl Iterator<Item = &Service> {
        self.services.values()
    }

    /// A service provider that may be served.
    #[must_use]
    pub fn active(&self, client_id: &ClientId) -> Option<&Service> {
        self.service(client_id).filter(|service| service.registration.active)
    }
}

impl Directory for Federation {
    fn registration(&self, client_id: &str) -> Option<&Registration> {
        self.services.get(client_id).map(|service| &service.registration)
    }

    fn scope_is_known(&self, scope: &str) -> bool {
        scope == "openid" || self.scopes.known(&Scope::from(scope))
    }
}
