//! Counts failed logins by network, so that no browser and no network alone opens a circuit.

use std::collections::BTreeMap;
use std::time::Duration;

use super::circuit::is_within;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::env::Timestamp;

/// Distinct networks whose logins must fail to open a closed circuit.
pub(super) const FAILURE_QUORUM: usize = 5;
/// Distinct networks whose logins must fail to open a half-open circuit again.
pub(super) const HALF_OPEN_FAILURE_QUORUM: usize = 3;
/// Time in which failures are compared with successes.
pub(super) const FAILURE_WINDOW: Duration = Duration::from_secs(60);
/// Time in which failures count under little traffic, if no login has succeeded since.
pub(super) const LOW_TRAFFIC_WINDOW: Duration = Duration::from_secs(900);
/// Maximum number of stored networks; further ones do not count.
const MAX_NETWORKS: usize = 4096;
/// Number of networks from which expired ones are removed at each insertion.
const PRUNE_FROM: usize = 64;

/// The last failed login of each network.
#[derive(Default)]
pub(crate) struct LoginFailures {
    /// The last failure of each network.
    networks: BTreeMap<ClientNetwork, Timestamp>,
}

impl LoginFailures {
    /// Records a failure. Returns false if this network has already failed within
    /// [`FAILURE_WINDOW`].
    pub(crate) fn record_failure(&mut self, network: ClientNetwork, now: Timestamp) -> bool {
        if self.networks.len() >= PRUNE_FROM {
            self.networks.retain(|_, at| is_within(*at, LOW_TRAFFIC_WINDOW, now));
        }
        if self.networks.len() >= MAX_NETWORKS && !self.networks.contains_key(&network) {
            return false;
        }
        self.networks
            .insert(network, now)
            .is_none_or(|before| !is_within(before, FAILURE_WINDOW, now))
    }

    /// Returns since when a quorum of networks fails; `None` without one. `successes`: those within
    /// [`FAILURE_WINDOW`]. `succeeded_at`: the last one.
    pub(crate) fn quorum_since(
        &self,
        networks: usize,
        successes: u32,
        succeeded_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        if self.networks.len() < networks {
            return None;
        }
        let successes = usize::try_from(successes).unwrap_or(usize::MAX);
        let recent: Vec<Timestamp> = self
            .networks
            .values()
            .copied()
            .filter(|at| is_within(*at, FAILURE_WINDOW, now))
            .collect();
        let unanswered = |at: &Timestamp| {
            is_within(*at, LOW_TRAFFIC_WINDOW, now)
                && succeeded_at.is_none_or(|succeeded_at| *at > succeeded_at)
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

    /// Forgets the failures.
    pub(crate) fn clear(&mut self) {
        self.networks.clear();
    }
}
