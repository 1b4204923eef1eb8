//! Limits how often something may happen in a minute, on this hub and on all that share its store
//! (docs/limits.md).
//!
//! Responsible for counting, and for who is over a limit until when. Does not depend on requests or
//! pages. Begin with [`RateLimits`]. No request waits for the store: [`counter_sync`] exchanges the counts in the background.

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod counter_sync;
mod limit_key;
mod rate_limiter;
mod rate_window;

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

pub use self::limit_key::{LimitKey, PrefixLengths};
pub use self::rate_limiter::KeyedRateLimiter;
pub use self::rate_window::RateLimitError;
use passerelle_protocol::client_network;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_telemetry::Metrics;

/// Maximum number of networks that one limiter remembers: 13 MB.
const MAX_NETWORKS: usize = 65_536;
/// Maximum number of service providers or connectors in one limiter; no federation has more.
const MAX_MEMBERS: usize = 65_536;

/// Limit of an IPv6 site (/48), as a multiple of the limit of one network. A mobile carrier gives
/// each of its subscribers a network, and the subscribers of one site do not all log in at once.
const SITE_FACTOR: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);

/// Rate limits per minute; `None` means unlimited.
#[derive(Clone, Copy, Debug)]
pub struct RateLimitSettings {
    pub logins_per_service_provider: Option<NonZeroU32>,
    pub requests_per_network: NetworkRate,
    pub redirects_per_connector: Option<NonZeroU32>,
    pub failed_authentications_per_network: NetworkRate,
    pub prefixes: PrefixLengths,
}

/// Rate limit of requests from one network, per minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkRate {
    Unlimited,
    /// Counts public addresses only: behind a proxy that the configuration does not name, all users
    /// share its private address.
    PublicAddresses(NonZeroU32),
    /// Counts every address.
    Everyone(NonZeroU32),
}

impl NetworkRate {
    /// Returns the limit for this address.
    fn limit_for(self, address: IpAddr) -> Option<NonZeroU32> {
        match self {
            Self::Everyone(most) => Some(most),
            Self::PublicAddresses(most) if !client_network::is_private(address) => Some(most),
            Self::Unlimited | Self::PublicAddresses(_) => None,
        }
    }
}

/// The rate limiters of the program.
pub struct RateLimits {
    rates: RateLimitSettings,
    logins: Arc<KeyedRateLimiter>,
    requests: Arc<KeyedRateLimiter>,
    site_requests: Arc<KeyedRateLimiter>,
    redirects: Arc<KeyedRateLimiter>,
    failed_authentications: Arc<KeyedRateLimiter>,
}

impl RateLimits {
    /// Creates the limiters. Refusals are counted in `metrics`.
    pub fn new(rates: RateLimitSettings, env: &Env, metrics: &Arc<Metrics>) -> Self {
        let limiter = |name, capacity| {
            Arc::new(KeyedRateLimiter::new(name, capacity, env).with_metrics(metrics))
        };
        Self {
            rates,
            logins: limiter("service_provider", MAX_MEMBERS),
            requests: limiter("network", MAX_NETWORKS),
            site_requests: limiter("network_site", MAX_NETWORKS),
            redirects: limiter("connector", MAX_MEMBERS),
            failed_authentications: limiter("authentication_by_network", MAX_NETWORKS),
        }
    }

    /// Counts a new login of this service provider. `own` overrides the hub's rate.
    ///
    /// # Errors
    /// [`RateLimitError`] if the service provider is over its limit.
    pub fn check_login(
        &self,
        client_id: &ClientId,
        own: Option<NonZeroU32>,
    ) -> Result<(), RateLimitError> {
        let rate = own.or(self.rates.logins_per_service_provider);
        rate.map_or(Ok(()), |most| self.logins.take(LimitKey::from_id(client_id.as_str()), most))
    }

    /// Counts an authorization request from this address.
    ///
    /// # Errors
    /// [`RateLimitError`] if its network is over its limit.
    pub fn check_request(&self, address: IpAddr) -> Result<(), RateLimitError> {
        let Some(most) = self.rates.requests_per_network.limit_for(address) else { return Ok(()) };
        self.requests.take(LimitKey::from_network(address, self.rates.prefixes), most)?;
        // One subscriber may hold a whole IPv6 site, and with it thousands of networks.
        match address.to_canonical() {
            IpAddr::V6(_) => self
                .site_requests
                .take(LimitKey::from_site(address), most.saturating_mul(SITE_FACTOR)),
            IpAddr::V4(_) => Ok(()),
        }
    }

    /// Counts a redirect to this identity provider. `own` overrides the hub's rate.
    ///
    /// # Errors
    /// [`RateLimitError`] if the identity provider is over its limit.
    pub fn check_redirect(
        &self,
        connector: &ConnectorId,
        own: Option<NonZeroU32>,
    ) -> Result<(), RateLimitError> {
        let rate = own.or(self.rates.redirects_per_connector);
        rate.map_or(Ok(()), |most| self.redirects.take(LimitKey::from_id(connector.as_str()), most))
    }

    /// Counts a failed client authentication, DPoP proof or logout token from this address.
    ///
    /// # Errors
    /// [`RateLimitError`] if its network is over its limit.
    pub fn check_failed_authentication(
        &self,
        address: impl FnOnce() -> IpAddr,
    ) -> Result<(), RateLimitError> {
        let limited = self.failed_authentication_limit(address);
        limited.map_or(Ok(()), |(network, most)| self.failed_authentications.take(network, most))
    }

    /// Checks whether failures from this address are over their limit, before expensive work on
    /// what anyone can send. Counts nothing.
    ///
    /// # Errors
    /// [`RateLimitError`] if its network is over its limit.
    pub fn check_expensive_authentication(
        &self,
        address: impl FnOnce() -> IpAddr,
    ) -> Result<(), RateLimitError> {
        let limited = self.failed_authentication_limit(address);
        limited.map_or(Ok(()), |(network, _)| self.failed_authentications.check(network))
    }

    fn failed_authentication_limit(
        &self,
        address: impl FnOnce() -> IpAddr,
    ) -> Option<(LimitKey, NonZeroU32)> {
        if self.rates.failed_authentications_per_network == NetworkRate::Unlimited {
            return None;
        }
        let address = address();
        let most = self.rates.failed_authentications_per_network.limit_for(address)?;
        Some((LimitKey::from_network(address, self.rates.prefixes), most))
    }

    /// Returns all limiters, for the [`counter_sync`].
    pub fn limiters(&self) -> Vec<Arc<KeyedRateLimiter>> {
        [
            &self.logins,
            &self.requests,
            &self.site_requests,
            &self.redirects,
            &self.failed_authentications,
        ]
        .map(Arc::clone)
        .to_vec()
    }
}
