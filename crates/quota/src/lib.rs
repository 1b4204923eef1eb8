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
    site_failed_authentications: Arc<KeyedRateLimiter>,
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
            site_failed_authentications: limiter("authentication_by_site", MAX_NETWORKS),
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
        self.take_by_network(&self.requests, &self.site_requests, address, most)
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
        let Some((address, most)) = self.failed_authentication_limit(address) else {
            return Ok(());
        };
        let sites = &self.site_failed_authentications;
        self.take_by_network(&self.failed_authentications, sites, address, most)
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
        let Some((address, _)) = self.failed_authentication_limit(address) else { return Ok(()) };
        let network = LimitKey::from_network(address, self.rates.prefixes);
        self.failed_authentications.check(network)?;
        site_key(address).map_or(Ok(()), |site| self.site_failed_authentications.check(site))
    }

    fn failed_authentication_limit(
        &self,
        address: impl FnOnce() -> IpAddr,
    ) -> Option<(IpAddr, NonZeroU32)> {
        if self.rates.failed_authentications_per_network == NetworkRate::Unlimited {
            return None;
        }
        let address = address();
        Some((address, self.rates.failed_authentications_per_network.limit_for(address)?))
    }

    fn take_by_network(
        &self,
        networks: &KeyedRateLimiter,
        sites: &KeyedRateLimiter,
        address: IpAddr,
        most: NonZeroU32,
    ) -> Result<(), RateLimitError> {
        networks.take(LimitKey::from_network(address, self.rates.prefixes), most)?;
        let site = site_key(address);
        site.map_or(Ok(()), |site| sites.take(site, most.saturating_mul(SITE_FACTOR)))
    }

    /// Returns all limiters, for the [`counter_sync`].
    pub fn limiters(&self) -> Vec<Arc<KeyedRateLimiter>> {
        [
            &self.logins,
            &self.requests,
            &self.site_requests,
            &self.redirects,
            &self.failed_authentications,
            &self.site_failed_authentications,
        ]
        .map(Arc::clone)
        .to_vec()
    }
}

/// Returns the key of the site of an IPv6 address: one subscriber may hold all of it, and with it
/// thousands of networks.
fn site_key(address: IpAddr) -> Option<LimitKey> {
    address.to_canonical().is_ipv6().then(|| LimitKey::from_site(address))
}

#[cfg(test)]
mod tests {
    use passerelle_protocol::env::Timestamp;
    use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

    use super::*;

    /// Attack: one subscriber fails, or posts SAML responses, from each network of an IPv6 /48.
    #[test]
    fn a_flood_of_failures_from_the_networks_of_one_ipv6_site_has_the_share_of_four() {
        let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_800_000_000)));
        let env = Env::new(clock, Arc::new(SeededEntropy::new(1)));
        let rates = RateLimitSettings {
            logins_per_service_provider: None,
            requests_per_network: NetworkRate::Unlimited,
            redirects_per_connector: None,
            failed_authentications_per_network: NetworkRate::Everyone(NonZeroU32::MIN),
            prefixes: PrefixLengths { v4: 32, v6: 64 },
        };
        let limits = RateLimits::new(rates, &env, &Arc::new(Metrics::new().unwrap()));
        let fail = |address: &str| {
            let address = || address.parse().unwrap();
            let is_checked = limits.check_expensive_authentication(address).is_ok();
            let is_counted = limits.check_failed_authentication(address).is_ok();
            (is_checked, is_counted)
        };
        for network in 0..4 {
            assert_eq!(fail(&format!("2001:db8:7:{network}::1")), (true, true), "{network}");
        }
        assert_eq!(fail("2001:db8:7:ffff::1"), (true, false), "the refusal is the first");
        assert_eq!(fail("2001:db8:7:fffe::1"), (false, false), "nothing is decrypted meanwhile");
        for other in ["2001:db8:8::1", "203.0.113.1", "203.0.113.2"] {
            assert_eq!(fail(other), (true, true), "{other}");
        }
    }
}
