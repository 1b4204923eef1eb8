//! The domain: service providers, identity providers and data providers, validated and immutable;
//! the user's identity, level of assurance and session; and the state machine of a login.
//!
//! Does not know actors, stores, HTTP or pages. The state machines have no clock and no randomness
//! of their own. Begin with [`login`]: `(state, request, inputs) → (state, effect or answer)`, one
//! file for each state.

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod assurance;
pub mod blocks;
mod choice_page_texts;
mod claim_release;
mod client;
pub mod client_assertions;
pub mod client_keys;
mod connector_profile;
pub mod connector_rules;
mod current_federation;
pub mod dated_secret;
pub mod email_domains;
pub mod forwarded_params;
pub mod identity;
pub mod localized_text;
pub mod login;
pub mod logo;
pub mod notices;
pub mod place_names;
pub mod provider_display;
mod registered_clients;
pub mod session;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod validity;
mod verified_claims;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use blocks::BlockTarget;
use email_domains::{EmailDomainFile, EmailDomainIndex};
use logo::Logo;
use notices::Notice;
use place_names::PlaceNames;
use provider_display::SortedProviders;
use session::gate::{self, PermittedConnector, UnavailableReason};

use crate::identity::declared::DeclaredClaims;
use crate::identity::scopes::ScopeTable;
use passerelle_localization::Languages;
use passerelle_protocol::catalogue::Param;
use passerelle_protocol::discovery::ProtectionFeatures;
use passerelle_protocol::email_domain::EmailDomain;
use passerelle_protocol::ids::{ClientId, ConnectorId, Scope};
use passerelle_protocol::registration::{
    ClientDirectory, ClientType, ProtocolRules, Registration, RequestPolicy, RequestProtection,
};
use passerelle_protocol::security_profile::SecurityProfile;

pub use choice_page_texts::{Category, NoAccountText};
pub use client::{
    ClientAuthentication, DataProvider, IntrospectionResponseFormat, KeyOwner, LogoutEndpoint,
    RefreshTokenRules, ServiceProvider, TokenBinding,
};
pub use connector_profile::{ConnectorProfile, Levels};
pub use current_federation::CurrentFederation;
pub use registered_clients::RegisteredClients;
pub use verified_claims::{VerifiedClaimsRules, verified_claim_names};

/// An immutable snapshot of all service providers, data providers, connectors and scopes.
#[derive(Clone, Debug)]
pub struct Federation {
    services: BTreeMap<ClientId, Arc<ServiceProvider>>,
    /// Dynamically registered clients.
    registered: Arc<BTreeMap<ClientId, Arc<ServiceProvider>>>,
    data_providers: BTreeMap<ClientId, Arc<DataProvider>>,
    connectors: BTreeMap<ConnectorId, Arc<ConnectorProfile>>,
    /// The connectors, sorted by name.
    sorted_connectors: Arc<SortedProviders>,
    /// The rows of the file of e-mail domains.
    pub email_domain_file: Option<Arc<EmailDomainFile>>,
    email_domains: Arc<EmailDomainIndex>,
    /// Names of the further parameters that any connector gets, without `login_hint`.
    forwarded_params: Arc<[String]>,
    /// The scope table under federation rules.
    pub scopes: ScopeTable,
    /// The scope table under `rules = "openid"`.
    pub openid_scopes: ScopeTable,
    /// The claims beyond the specification's.
    pub declared_claims: Arc<DeclaredClaims>,
    /// Which verified claims the hub asserts; `None` if it asserts none.
    pub verified_claims: Option<Arc<VerifiedClaimsRules>>,
    /// How unavailable connectors are displayed.
    pub unavailable: UnavailableDisplay,
    /// The discovery document, as JSON; empty until it is generated.
    pub discovery: Arc<str>,
    /// The categories of the choice page, in order.
    pub categories: Vec<Category>,
    /// The operator's notices, in force or not.
    pub notices: Arc<[Notice]>,
    /// The languages of the pages.
    pub languages: Arc<Languages>,
    /// How long a browser remembers the last choice; `None` if it doesn't.
    pub remember_last: Option<Duration>,
    /// True if the choice page asks for an e-mail address.
    pub ask_email: bool,
    /// Advice for users who have none of the accounts.
    pub no_account: Option<NoAccountText>,
    /// Tables of place names; the first one with a code counts.
    pub place_name_files: Arc<[Arc<PlaceNames>]>,
}

/// How the choice page displays connectors that can't be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnavailableDisplay {
    /// Shown, but disabled.
    Disabled,
    /// Not shown.
    Hidden,
}

impl Federation {
    /// Creates a federation of service providers alone.
    pub fn new(
        services: impl IntoIterator<Item = ServiceProvider>,
        scopes: ScopeTable,
        unavailable: UnavailableDisplay,
    ) -> Self {
        let by_id =
            |service: ServiceProvider| (service.registration.client_id.clone(), Arc::new(service));
        Self {
            services: services.into_iter().map(by_id).collect(),
            registered: Arc::default(),
            data_providers: BTreeMap::new(),
            connectors: BTreeMap::new(),
            sorted_connectors: Arc::default(),
            email_domain_file: None,
            email_domains: Arc::default(),
            forwarded_params: Arc::default(),
            scopes,
            openid_scopes: ScopeTable::openid(),
            declared_claims: Arc::default(),
            verified_claims: None,
            unavailable,
            discovery: Arc::default(),
            categories: Vec::new(),
            notices: Arc::default(),
            languages: Languages::built_in(),
            remember_last: None,
            ask_email: false,
            no_account: None,
            place_name_files: Arc::default(),
        }
    }

    /// Replaces the service providers and data providers of `rest`.
    pub fn with_clients(
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

    /// Replaces the connectors. The file of e-mail domains must be set before.
    #[must_use]
    pub fn with_connectors(
        self,
        connectors: impl IntoIterator<Item = (ConnectorId, Arc<ConnectorProfile>)>,
    ) -> Self {
        let connectors: BTreeMap<_, _> = connectors.into_iter().collect();
        let sorted_connectors = SortedProviders::new(
            connectors
                .iter()
                .map(|(id, metadata): (_, &Arc<ConnectorProfile>)| (id, &*metadata.display)),
        );
        let forwarded: BTreeSet<&String> = connectors
            .values()
            .flat_map(|connector| connector.forwarded_params.names())
            .filter(|name| *name != Param::LoginHint.name())
            .collect();
        let forwarded_params = forwarded.into_iter().cloned().collect();
        let listed = connectors.iter().flat_map(|(id, connector)| {
            connector.email_domains.iter().map(move |pattern| (pattern.as_str(), id))
        });
        let rows = self.email_domain_file.iter().flat_map(|file| &file.rows);
        let rows = rows.map(|row| (&*row.pattern, &row.connector));
        let known = rows.filter(|(_, connector)| connectors.contains_key(*connector));
        let email_domains = Arc::new(EmailDomainIndex::new(listed.chain(known)));
        Self {
            email_domains,
            connectors,
            sorted_connectors: Arc::new(sorted_connectors),
            forwarded_params,
            ..self
        }
    }

    /// Returns a service provider or a registered client by its client_id, active or not.
    pub fn service_provider(&self, client_id: &ClientId) -> Option<&Arc<ServiceProvider>> {
        self.client_named(client_id.as_str())
    }

    /// Returns the name of a place or country by its code.
    pub fn place_name(&self, code: &str, language: &str) -> Option<&str> {
        self.place_name_files.iter().find_map(|table| table.name(code, language))
    }

    /// Returns a service provider's logo by its version.
    pub fn logo(&self, version: &str) -> Option<&Logo> {
        self.services
            .values()
            .filter_map(|service| service.logo.as_ref())
            .find(|logo| &*logo.version == version)
    }

    /// Returns every service provider of the configuration, active or not.
    pub fn service_providers(&self) -> impl Iterator<Item = &Arc<ServiceProvider>> {
        self.services.values()
    }

    /// Returns a data provider by its client_id, active or not.
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
    pub fn connector(&self, id: &ConnectorId) -> Option<&Arc<ConnectorProfile>> {
        self.connectors.get(id)
    }

    /// Returns every connector by its id, enabled or not.
    pub const fn connectors(&self) -> &BTreeMap<ConnectorId, Arc<ConnectorProfile>> {
        &self.connectors
    }

    /// Returns what a connector can prove to a service provider that may use it. `block` is the
    /// operators' block that is in force.
    ///
    /// # Errors
    /// The first reason against it.
    pub fn permit_connector(
        &self,
        client_id: &ClientId,
        id: &ConnectorId,
        block: Option<&BlockTarget>,
    ) -> Result<PermittedConnector, UnavailableReason> {
        let service = self.active_service_provider(client_id);
        let allowed = service.map(|service| &service.allowed_connectors);
        gate::permit_connector(allowed, id, self.connector(id).map(Arc::as_ref), block)
    }

    /// Returns the connectors that the domain leads to, enabled or not.
    pub fn connectors_for_domain(&self, domain: &EmailDomain) -> Vec<ConnectorId> {
        self.email_domains.find(domain).to_vec()
    }

    /// Returns the connectors sorted by name in each language.
    pub fn sorted_connectors(&self) -> &SortedProviders {
        &self.sorted_connectors
    }

    /// Returns every client that may have public keys, active or not.
    pub fn key_owners(&self) -> impl Iterator<Item = KeyOwner<'_>> {
        // The file's keys count: the registration's may be those of a stolen registration token.
        let services = self.services.values().chain(self.registered_without_file());
        let services = services.map(|service| KeyOwner {
            client_id: &service.registration.client_id,
            active: service.registration.active,
            keys: &service.keys,
            encryption: service
                .encryption
                .iter()
                .chain(service.registration.protection.response_encryption)
                .collect(),
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

    /// Returns true if an active service provider is a public client.
    pub fn has_public_clients(&self) -> bool {
        self.services.values().any(|service| {
            service.registration.active && service.registration.client_type == ClientType::Public
        })
    }

    /// Returns what active service providers use to protect their requests and responses. Where
    /// clients register themselves, discovery lists everything that they can register.
    pub fn protection_features(
        &self,
        policy: RequestPolicy,
        registration: Option<ProtocolRules>,
    ) -> ProtectionFeatures {
        let active = self.services.values().filter(|service| service.registration.active);
        let is_used = |is_user: fn(&RequestProtection) -> bool| {
            let mut protections = active.clone().map(|service| &service.registration.protection);
            registration.is_some() || protections.any(is_user)
        };
        let signs_messages = policy.profile.is_some_and(SecurityProfile::signs_messages);
        ProtectionFeatures {
            policy,
            encrypted_tokens: registration == Some(ProtocolRules::Openid)
                || active.clone().any(|service| service.encryption.iter().next().is_some()),
            request_objects: signs_messages || is_used(|used| used.request_object_algs.is_some()),
            signed_responses: signs_messages || is_used(|used| used.response_alg.is_some()),
            encrypted_responses: is_used(|used| used.response_encryption.is_some()),
        }
    }

    /// Returns true if an active service provider gets refresh tokens.
    pub fn issues_refresh_tokens(&self) -> bool {
        self.services
            .values()
            .any(|service| service.registration.active && service.refresh_tokens.is_some())
    }

    /// Returns true if an active service provider or registered client receives logout tokens.
    pub fn sends_logout_tokens(&self) -> bool {
        self.services
            .values()
            .chain(self.registered_without_file())
            .any(|service| service.registration.active && service.logout_endpoint.is_some())
    }

    /// Returns true if pages of this origin belong to an active public client.
    pub fn has_cors_origin(&self, origin: &str) -> bool {
        self.services
            .values()
            .filter(|service| service.registration.active)
            .any(|service| service.cors_origins.iter().any(|registered| registered == origin))
    }

    /// Like [`Self::service_provider`], for a client_id of a request.
    pub fn client_named(&self, client_id: &str) -> Option<&Arc<ServiceProvider>> {
        self.services.get(client_id).or_else(|| self.registered.get(client_id))
    }

    /// Returns an active service provider by its client_id.
    pub fn active_service_provider(&self, client_id: &ClientId) -> Option<&Arc<ServiceProvider>> {
        self.service_provider(client_id).filter(|service| service.registration.active)
    }

    /// Returns true if the service provider or the connector asks for a code by mail after a password
    /// only.
    pub fn requires_mail_code(&self, client_id: &ClientId, connector: &ConnectorId) -> bool {
        self.active_service_provider(client_id).is_some_and(|service| service.mail_code)
            || self.connector(connector).is_some_and(|connector| connector.mail_code)
    }
}

impl ClientDirectory for Federation {
    fn registration(&self, client_id: &str) -> Option<&Registration> {
        self.client_named(client_id).map(|service| &service.registration)
    }

    fn is_known_scope(&self, scope: &str, rules: ProtocolRules) -> bool {
        scope == "openid" || self.scope_table(rules).contains(&Scope::from(scope))
    }

    fn forwarded_params(&self) -> &[String] {
        &self.forwarded_params
    }
}
