//! Dynamic client registration (RFC 7591, RFC 7592; `docs/client-registration.md`).
//!
//! Responsible for registrations and initial access tokens in the store, for what a registration
//! may ask, and for the copy of them in the federation. One record, the index, names every
//! registration and token; each change replaces it under its version, so that two requests can't
//! both take the last place of a quota. The metadata are in a record each, which is never changed:
//! an update writes another one and the index then names that.
//!
//! Every hub reads the index every two seconds, and at once for a client that it doesn't know. So
//! looking a client up costs no store call. Does not depend on HTTP.

mod client_file;
mod deception;
mod index;
mod mirror;
mod operator;
mod policy;
mod requests;
pub mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::client_keys::KeyDirectory;
use super::client_registration::settings::ClientRegistrationConfig;
use super::error::GrantError;
use passerelle_audit::Audit;
use passerelle_federation::{CurrentFederation, ServiceProvider};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_registration::MetadataError;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::{ClientId, Scope};
use passerelle_protocol::registration::ProtocolRules;
use passerelle_quota::{KeyedRateLimiter, LimitKey, PrefixLengths};
use passerelle_settings::Diagnostic;
use passerelle_store::Store;
use passerelle_telemetry::Metrics;

pub use index::{REGISTRATION, RegistrationStatus};
pub use operator::{
    CreatedInitialToken, InitialTokenSummary, NewInitialToken, OperatorDecision, RegistrationList,
    RegistrationSummary,
};
pub use requests::PresentedRegistrationToken;

/// Maximum number of networks that the limiter remembers.
const MAX_NETWORKS: usize = 16_384;
/// Networks that are counted as one: the /48 that one subscriber can hold (RFC 6177 §2).
const NETWORK_PREFIXES: PrefixLengths = PrefixLengths { v4: 32, v6: 48 };
/// Interval between two reads of the index.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);
/// Minimum time between two reads for unknown clients, which unauthenticated requests can cause.
const MIN_MISS_INTERVAL_MS: u64 = 250;

/// The dynamically registered clients of a hub.
pub struct ClientRegistrations {
    config: ClientRegistrationConfig,
    rules: ProtocolRules,
    services: RegistrationServices,
    limiter: Arc<KeyedRateLimiter>,
    mirror: tokio::sync::Mutex<mirror::RegistrationMirror>,
    /// When the index was last read for an unknown client, in milliseconds.
    last_miss_ms: AtomicU64,
    /// Clients that signed someone in since the last write of the index.
    used: Mutex<BTreeSet<ClientId>>,
}

/// Checks the text of a service provider's file that is not in the configuration folder. Returns
/// every problem. The caller makes sure that the text references no file, and checks its scopes.
pub type CheckClientFile = dyn Fn(&str) -> Result<ServiceProvider, Vec<Diagnostic>> + Send + Sync;

/// Services of the hub that registrations use.
pub struct RegistrationServices {
    pub env: Env,
    pub store: Arc<dyn Store>,
    pub federation: CurrentFederation,
    pub client_keys: Arc<KeyDirectory>,
    pub check_client_file: Arc<CheckClientFile>,
    pub platform: Platform,
    pub audit: Audit,
    pub metrics: Arc<Metrics>,
    /// Public base URL without a trailing slash.
    pub base_url: String,
    /// The hub's display name, by language.
    pub hub_name: BTreeMap<String, String>,
}

impl ClientRegistrations {
    /// Creates the registrations; [`Self::run`] reads those in the store.
    #[must_use]
    pub fn new(config: ClientRegistrationConfig, services: RegistrationServices) -> Self {
        let rules = config.rules_on(services.platform);
        let federation = services.federation.load();
        let table = federation.scope_table(rules);
        let is_known = |scope: &&Scope| scope.as_str() == "openid" || table.contains(scope);
        for scope in config.scopes.iter().filter(|scope| !is_known(scope)) {
            tracing::warn!(%scope, "client_registration.scopes names a scope that doesn't exist");
        }
        let limiter = KeyedRateLimiter::new("registration", MAX_NETWORKS, &services.env);
        let registrations = Self {
            rules,
            limiter: Arc::new(limiter.with_metrics(&services.metrics)),
            config,
            services,
            mirror: tokio::sync::Mutex::default(),
            last_miss_ms: AtomicU64::new(0),
            used: Mutex::default(),
        };
        registrations.record_counts(&[]);
        registrations
    }

    /// Returns the limiter of requests, for exchanging counts with other hubs.
    #[must_use]
    pub fn limiter(&self) -> Arc<KeyedRateLimiter> {
        Arc::clone(&self.limiter)
    }

    /// Counts a request from this address.
    ///
    /// # Errors
    /// `RegistrationsLimited` if its network is over its limit.
    pub fn check_network(&self, address: IpAddr) -> Result<(), GrantError> {
        let limit = NonZeroU32::new(self.config.requests_per_network).unwrap_or(NonZeroU32::MIN);
        let taken = self.limiter.take(LimitKey::from_network(address, NETWORK_PREFIXES), limit);
        taken.map_err(|over| GrantError {
            rate_limited: Some(over),
            ..ErrorCode::RegistrationsLimited.into()
        })
    }

    /// Remembers that a client signed someone in. Clients of the configuration cost nothing.
    pub fn record_use(&self, client_id: &ClientId) {
        if client_id.is_assigned_by_hub()
            && self.services.federation.load().registered().contains_key(client_id)
        {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.insert(client_id.clone());
        }
    }
}

impl From<MetadataError> for GrantError {
    fn from(error: MetadataError) -> Self {
        Self { reason: Some(error.description), ..Self::from(error.code) }
    }
}
