//! Dependencies that all parts of a hub share.

use std::sync::{Arc, OnceLock};

use super::dynamic_clients::DynamicClients;
use passerelle_audit::Audit;
use passerelle_federation::CurrentFederation;
use passerelle_federation::assurance::Platform;
use passerelle_federation::client_assertions::HubAddresses;
use passerelle_federation::session::SessionLimits;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::ClientId;
use passerelle_quota::RateLimits;
use passerelle_telemetry::Metrics;

/// Facts and services that every part of a hub uses; one value per hub.
pub struct HubCore {
    pub env: Env,
    pub platform: Platform,
    /// `{base_url}/api/v2`.
    pub issuer: String,
    /// Base URL of `mtls_endpoint_aliases` (RFC 8705 §5), if it differs from the issuer's.
    pub certificate_base_url: Option<String>,
    /// `amr` value that identifies this hub.
    pub amr_marker: String,
    pub federation: CurrentFederation,
    /// Set at the start of the hub if clients can register themselves.
    pub dynamic_clients: OnceLock<Arc<dyn DynamicClients>>,
    pub metrics: Arc<Metrics>,
    pub audit: Audit,
    pub rate_limits: Arc<RateLimits>,
    /// How long a session may be reused.
    pub session_limits: SessionLimits,
}

impl HubCore {
    /// Returns the callback URL of every connector, up to the connector's id.
    pub fn callback_base(&self) -> String {
        format!("{}/callback/", self.issuer)
    }

    /// Returns the addresses that name this hub in what a client signs.
    pub(super) fn addresses(&self) -> HubAddresses<'_> {
        let certificate_base_url = self.certificate_base_url.as_deref();
        HubAddresses { issuer: &self.issuer, certificate_base_url }
    }

    /// Finds a client that another hub may have registered ([`DynamicClients::ensure_known`]).
    ///
    /// # Errors
    /// `StoreUnavailable` if the client may be registered, but the registrations can't be read.
    pub async fn ensure_client_known(&self, client_id: &str) -> Result<(), ErrorCode> {
        match self.dynamic_clients.get() {
            Some(clients) => clients.ensure_known(client_id).await,
            None => Ok(()),
        }
    }

    /// Remembers that a client signed a user in, so that its registration doesn't expire.
    pub fn record_client_use(&self, client_id: &ClientId) {
        if let Some(clients) = self.dynamic_clients.get() {
            clients.record_use(client_id);
        }
    }
}

#[cfg(any(test, feature = "testing"))]
impl HubCore {
    /// Creates the core of a hub without rate limits and without an audit log.
    ///
    /// # Panics
    /// If a metric is declared twice.
    #[expect(clippy::unwrap_used, reason = "only tests call it")]
    pub fn for_tests(env: Env, federation: CurrentFederation) -> Self {
        use passerelle_quota::{NetworkRate, PrefixLengths, RateLimitSettings};
        let rates = RateLimitSettings {
            logins_per_service_provider: None,
            requests_per_network: NetworkRate::Unlimited,
            redirects_per_connector: None,
            failed_authentications_per_network: NetworkRate::Unlimited,
            prefixes: PrefixLengths { v4: 32, v6: 56 },
        };
        let metrics = Arc::new(Metrics::new().unwrap());
        Self {
            platform: Platform::Standard,
            issuer: passerelle_federation::testing::samples::ISSUER.into(),
            certificate_base_url: None,
            amr_marker: "hub".into(),
            federation,
            dynamic_clients: OnceLock::new(),
            rate_limits: Arc::new(RateLimits::new(rates, &env, &metrics)),
            session_limits: SessionLimits::for_platform(Platform::Standard),
            audit: Audit::off(),
            metrics,
            env,
        }
    }
}
