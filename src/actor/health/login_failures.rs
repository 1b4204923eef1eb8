//! Failed logins by the network that they came from, so that no browser and no network alone condemns an identity provider.

use std::collections::BTreeMap;
use std::time::Duration;

use super::circuit::is_within;
use crate::client_network::ClientNetwork;
use crate::env::Timestamp;

/// Distinct networks whose logins must fail before the circuit opens.
pub const QUORUM: usize = 5;
/// The same for a half-open circuit, where people were told that it had failed.
pub const HALF_OPEN_QUORUM: usize = 3;
/// Failures of this time are weighed against its successes.
pub const WINDOW: Duration = Duration::from_secs(60);
/// With little traffic, failures of this time count where no login has succeeded since.
pub const LOW_TRAFFIC_WINDOW: Duration = Duration::from_secs(900);
/// Networks that are remembered at most; further ones do not count.
const MAX_NETWORKS: usize = 4096;
/// From this size on, expired networks are removed at each insertion.
const PRUNE_FROM: usize = 64;

#[derive(Default)]
pub struct LoginFailures {
    /// The last failure of each network.
    networks: BTreeMap<ClientNetwork, Timestamp>,
    succeeded_at: Option<Timestamp>,
}

impl LoginFailures {
    /// Records a failure. Returns false if this network has already failed within [`WINDOW`].
    pub fn record_failure(&mut self, network: ClientNetwork, now: Timestamp) -> bool {
        if self.networks.len() >= PRUNE_FROM {
            self.networks.retain(|_, at| is_within(*at, LOW_TRAFFIC_WINDOW, now));
        }
        if self.networks.len() >= MAX_NETWORKS && !self.networks.contains_key(&network) {
            return false;
        }
        self.networks.insert(network, now).is_none_or(|before| !is_within(before, WINDOW, now))
    }

    pub fn record_success(&mut self, now: Timestamp) {
        self.succeeded_at = Some(now);
    }

    /// Returns since when a quorum of networks fails; `None` if there is none. `successes` are those of [`WINDOW`].
    pub fn quorum(&self, networks: usize, successes: u32, now: Timestamp) -> Option<Timestamp> {
        if self.networks.len() < networks {
            return None;
        }
        let successes = usize::try_from(successes).unwrap_or(usize::MAX);
        let recent: Vec<Timestamp> =
            self.networks.values().copied().filter(|at| is_within(*at, WINDOW, now)).collect();
        let unanswered = |at: &Timestamp| {
            is_within(*at, LOW_TRAFFIC_WINDOW, now)
                && self.succeeded_at.is_none_or(|succeeded_at| *at > succeeded_at)
        };
        let consecutive: Vec<Timestamp> =
            self.networks.values().copied().filter(unanswered).collect();
        if recent.len() >= networks.max(successes) {
            recent.into_iter().min()
        } else if consecutive.len() >= networks {
            consecutive.into_iter().min()
        } else {
            None
        }
    }

    pub const fn has_succeeded(&self) -> bool {
        self.succeeded_at.is_some()
    }

    pub const fn succeeded_at(&self) -> Option<Timestamp> {
        self.succeeded_at
    }

    pub fn clear(&mut self) {
        self.networks.clear();
    }
}
