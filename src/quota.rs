//! L3 · How often something may happen in a minute, on this hub and on all that share its store (docs/limits.md).
//!
//! Owns: counting, whom it is too much for and until when, and what hubs tell each other of it. Must not know: requests,
//! pages, and what is answered. Nothing is asked of anybody while a request waits: [`exchange`] tells and hears beside it.

mod cell;
pub mod exchange;
mod limit;
mod subject;

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

pub use self::limit::Limit;
pub use self::subject::{Prefixes, Subject};
use crate::client_network;
use crate::env::Env;
use crate::ids::{ClientId, ConnectorId};
use crate::telemetry::Metrics;

/// Networks that one limit knows at once: 13 MB at most.
const NETWORKS: usize = 65_536;
/// More than any federation has service providers or connectors; those are no strangers' choice.
const MEMBERS: usize = 65_536;

/// An IPv6 site may send as many requests as so many of its networks. A mobile carrier gives each of its subscribers a network,
/// and the subscribers of one site do not all sign in at once.
const SITE_FACTOR: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);

/// One too many.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("too often; again in {wait:?}")]
pub struct Over {
    /// Until the next one is admitted, if nobody else takes its place.
    pub wait: Duration,
}

impl Over {
    /// Whole seconds, for `Retry-After`: nobody comes back too early.
    #[must_use]
    pub fn retry_after(self) -> u64 {
        self.wait.as_secs()
            + u64::from(self.wait.subsec_nanos() > 0).max(u64::from(self.wait.is_zero()))
    }
}

/// How many in a minute; `None`: any number, at no cost.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    pub logins_per_service_provider: Option<NonZeroU32>,
    pub requests_per_network: NetworkRate,
    pub departures_per_connector: Option<NonZeroU32>,
    pub failed_authentications_per_network: Option<NonZeroU32>,
    pub prefixes: Prefixes,
}

/// How many requests may come from one network in a minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkRate {
    Unlimited,
    /// Counts public addresses only: behind a proxy that the configuration does not name, everybody has its private one.
    PublicAddresses(NonZeroU32),
    /// Counts every address.
    Everyone(NonZeroU32),
}

/// One for the program.
#[derive(Debug)]
pub struct Quotas {
    rates: Rates,
    logins: Arc<Limit>,
    requests: Arc<Limit>,
    site_requests: Arc<Limit>,
    departures: Arc<Limit>,
    failures: Arc<Limit>,
}

impl Quotas {
    #[must_use]
    pub fn new(rates: Rates, env: &Env, metrics: &Arc<Metrics>) -> Self {
        let limit = |name, places| Arc::new(Limit::new(name, places, env).counted(metrics));
        Self {
            rates,
            logins: limit("service_provider", MEMBERS),
            requests: limit("network", NETWORKS),
            site_requests: limit("network_site", NETWORKS),
            departures: limit("connector", MEMBERS),
            failures: limit("authentication_by_network", NETWORKS),
        }
    }

    /// A login of this service provider begins; its own rate goes before the hub's.
    ///
    /// # Errors
    /// Too many have.
    pub fn login_begins(&self, client_id: &ClientId, own: Option<NonZeroU32>) -> Result<(), Over> {
        let rate = own.or(self.rates.logins_per_service_provider);
        rate.map_or(Ok(()), |most| self.logins.take(Subject::named(client_id.as_str()), most))
    }

    /// An authorization request comes from this address.
    ///
    /// # Errors
    /// Too many have come from its network.
    pub fn request_comes(&self, address: IpAddr) -> Result<(), Over> {
        let most = match self.rates.requests_per_network {
            NetworkRate::Everyone(most) => most,
            NetworkRate::PublicAddresses(most) if !client_network::is_private(address) => most,
            NetworkRate::Unlimited | NetworkRate::PublicAddresses(_) => return Ok(()),
        };
        self.requests.take(Subject::around(address, self.rates.prefixes), most)?;
        // One subscriber may hold a whole IPv6 site, and with it thousands of the networks that are counted above.
        match address.to_canonical() {
            IpAddr::V6(_) => self
                .site_requests
                .take(Subject::site_around(address), most.saturating_mul(SITE_FACTOR)),
            IpAddr::V4(_) => Ok(()),
        }
    }

    /// A person is sent to this identity provider; its own rate goes before the hub's.
    ///
    /// # Errors
    /// Too many have been.
    pub fn departs(&self, connector: &ConnectorId, own: Option<NonZeroU32>) -> Result<(), Over> {
        let rate = own.or(self.rates.departures_per_connector);
        rate.map_or(Ok(()), |most| self.departures.take(Subject::named(connector.as_str()), most))
    }

    /// A client at this address has failed to prove itself.
    ///
    /// # Errors
    /// Too many have in its network.
    pub fn authentication_fails(&self, address: impl FnOnce() -> IpAddr) -> Result<(), Over> {
        let take = |most| self.failures.take(Subject::around(address(), self.rates.prefixes), most);
        self.rates.failed_authentications_per_network.map_or(Ok(()), take)
    }

    /// Each limit, for the [`exchange`].
    #[must_use]
    pub fn limits(&self) -> Vec<Arc<Limit>> {
        [&self.logins, &self.requests, &self.site_requests, &self.departures, &self.failures]
            .map(Arc::clone)
            .to_vec()
    }
}
