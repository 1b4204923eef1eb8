//! How many connections the listeners may hold: what is configured, within the descriptors that this process may have.

use std::sync::Arc;

use rustix::process::{Resource, getrlimit};

use crate::config::model::Settings;
use crate::web::connection::SURPLUS_PER_WORKER;
use crate::web::connection::admission::{Admission, ConnectionLimits};

/// Connections of the public listener where descriptors allow them.
const DEFAULT_CONNECTIONS: usize = 10_000;

/// Connections of the private listener: probes, a few scrapers, an operator.
const PRIVATE_CONNECTIONS: usize = 64;

/// The public listener holds as many however few descriptors there are: with fewer it could not serve one page.
const MIN_CONNECTIONS: usize = 16;

/// The runtime of a web worker and of a thread of logins.
const DESCRIPTORS_PER_WORKER: usize = 8;

/// The soft limit of open descriptors (RLIMIT_NOFILE).
fn descriptor_limit() -> usize {
    getrlimit(Resource::Nofile)
        .current
        .map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// Returns how many connections the public listener may hold. A quarter of all descriptors is for files, the store, the
/// register and identity providers.
fn public_total(configured: Option<usize>, descriptors: usize, workers: usize) -> usize {
    let own = PRIVATE_CONNECTIONS
        + SURPLUS_PER_WORKER
        + workers * (DESCRIPTORS_PER_WORKER + SURPLUS_PER_WORKER);
    let room = descriptors.saturating_sub(descriptors / 4).saturating_sub(own).max(MIN_CONNECTIONS);
    configured.unwrap_or(DEFAULT_CONNECTIONS).min(room)
}

/// The public listener's connections.
pub(super) fn public(settings: &Settings, workers: usize) -> Arc<Admission> {
    let (configured, descriptors) = (settings.public.max_connections, descriptor_limit());
    let total = public_total(configured, descriptors, workers);
    if configured.is_some_and(|configured| configured > total) {
        tracing::warn!(
            descriptors,
            connections = total,
            "public.max_connections needs a higher descriptor limit (LimitNOFILE=)"
        );
    }
    let per_peer = settings.public.max_connections_per_peer.unwrap_or(total / 4).max(1);
    let limits = ConnectionLimits {
        total,
        per_peer: Some(per_peer),
        per_network: Some(per_peer.max(total / 2)),
        counts_local_peers: settings.public.max_connections_per_peer.is_some(),
        trusted_proxies: settings
            .public
            .trusted_proxies
            .iter()
            .filter_map(|text| text.parse().ok())
            .collect(),
    };
    Admission::new(limits, workers * SURPLUS_PER_WORKER)
}

/// The private listener's connections.
pub(super) fn private() -> Arc<Admission> {
    let limits = ConnectionLimits {
        total: PRIVATE_CONNECTIONS,
        per_peer: None,
        per_network: None,
        counts_local_peers: false,
        trusted_proxies: Vec::new(),
    };
    Admission::new(limits, SURPLUS_PER_WORKER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_left_for_the_private_listener_whatever_is_configured() {
        for (configured, descriptors, workers, expected) in [
            (None, 1024, 1, 664),
            (None, 1024, 8, 496),
            (Some(500), 1024, 1, 500),
            (Some(1_000_000), 1024, 1, 664),
            (None, 65_536, 8, 10_000),
            (Some(40_000), 65_536, 8, 40_000),
            (None, usize::MAX, 8, 10_000),
            (None, 64, 1, 16),
        ] {
            let total = public_total(configured, descriptors, workers);
            assert_eq!(total, expected, "{configured:?} {descriptors} {workers}");
            let at_most =
                total + workers * SURPLUS_PER_WORKER + PRIVATE_CONNECTIONS + SURPLUS_PER_WORKER;
            assert!(
                descriptors < 256 || at_most < descriptors - descriptors / 5,
                "{at_most} of {descriptors}"
            );
        }
    }
}
