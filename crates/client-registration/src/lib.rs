//! Dynamic client registration (RFC 7591, RFC 7592; `docs/client-registration.md`).
//!
//! Responsible for registrations and initial access tokens in the store, for what a registration
//! may ask, for the copy of them in the federation, and for the routes of clients and operators.
//! Does not know what a registered client then does: codes, tokens and logins are those of every
//! service provider. Begin with [`EXTENSION`], then `requests.rs`.
//!
//! One record, the index, names every registration and token; each change replaces it under its
//! version, so that two requests can't both take the last place of a quota. The metadata are in a
//! record each, which is never changed: an update writes another one and the index then names that.
//!
//! Every hub reads the index every two seconds, and at once for a client that it doesn't know. So
//! looking a client up costs no store call.

mod admin_routes;
mod audit_events;
mod client_file;
pub mod client_metadata;
mod command;
mod console_acts;
mod deception;
mod endpoints;
mod error_codes;
mod extension;
mod mirror;
mod operator;
mod policy;
mod records;
mod requests;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client_metadata::MetadataError;
pub use extension::EXTENSION;
use passerelle_audit::Audit;
use passerelle_extension::ServiceProviderFileCheck;
use passerelle_federation::CurrentFederation;
use passerelle_grants::client_keys::KeyDirectory;
use passerelle_grants::error::GrantError;
use passerelle_protocol::acr::Platform;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::{ClientId, Scope};
use passerelle_protocol::registration::ProtocolRules;
use passerelle_quota::{KeyedRateLimiter, LimitKey, PrefixLengths};
use passerelle_store::Store;
use passerelle_telemetry::Metrics;
use settings::ClientRegistrationConfig;

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

/// Services of the hub that registrations use.
struct RegistrationServices {
    env: Env,
    store: Arc<dyn Store>,
    federation: CurrentFederation,
    client_keys: Arc<KeyDirectory>,
    check_client_file: Arc<ServiceProviderFileCheck>,
    platform: Platform,
    audit: Audit,
    metrics: Arc<Metrics>,
    issuer: String,
    /// The hub's display name, by language.
    hub_name: BTreeMap<String, String>,
}

impl ClientRegistrations {
    /// Creates the registrations; [`Self::run`] reads those in the store.
    fn new(config: ClientRegistrationConfig, services: RegistrationServices) -> Self {
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
    pub fn limiter(&self) -> Arc<KeyedRateLimiter> {
        Arc::clone(&self.limiter)
    }

    /// Counts a request from this address.
    ///
    /// # Errors
    /// `REGISTRATIONS_LIMITED` if its network is over its limit.
    pub fn check_network(&self, address: IpAddr) -> Result<(), GrantError> {
        let limit = NonZeroU32::new(self.config.requests_per_network).unwrap_or(NonZeroU32::MIN);
        let taken = self.limiter.take(LimitKey::from_network(address, NETWORK_PREFIXES), limit);
        taken.map_err(|over| GrantError {
            rate_limited: Some(over),
            ..error_codes::REGISTRATIONS_LIMITED.into()
        })
    }
}

impl From<MetadataError> for GrantError {
    fn from(error: MetadataError) -> Self {
        Self { reason: Some(error.description), ..Self::from(error.code) }
    }
}
