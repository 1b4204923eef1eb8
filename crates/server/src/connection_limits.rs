//! Derives the connection limits of both listeners from the settings and the descriptor limit.

use std::sync::Arc;

use rustix::process::{Resource, getrlimit};

use passerelle_config::model::Settings;
use passerelle_web::connection::EXTRA_CONNECTIONS_PER_ARBITER;
use passerelle_web::connection::admission::{ConnectionLimiter, ConnectionLimits};

/// Default connections of the public listener, if there are enough descriptors.
const DEFAULT_CONNECTIONS: usize = 10_000;

/// Connections of the private listener: probes, a few scrapers, an operator.
const PRIVATE_CONNECTIONS: usize = 64;

/// Minimum for the public listener, whatever the descriptor limit: fewer could not serve one page.
const MIN_CONNECTIONS: usize = 16;

/// Descriptors of the runtime of one worker.
const DESCRIPTORS_PER_WORKER: usize = 8;

/// Returns the soft limit of open descriptors (`RLIMIT_NOFILE`).
fn descriptor_limit() -> usize {
    getrlimit(Resource::Nofile)
        .current
        .map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// Returns the maximum of public connections. A quarter of all descriptors is reserved for files,
/// the store, the register and identity providers.
fn max_public_connections(configured: Option<usize>, descriptors: usize, workers: usize) -> usize {
    let own = PRIVATE_CONNECTIONS
        + EXTRA_CONNECTIONS_PER_ARBITER
        + workers * (DESCRIPTORS_PER_WORKER + EXTRA_CONNECTIONS_PER_ARBITER);
    let room = descriptors.saturating_sub(descriptors / 4).saturating_sub(own).max(MIN_CONNECTIONS);
    configured.unwrap_or(DEFAULT_CONNECTIONS).min(room)
}

/// Returns the connection limits of the public listener.
pub(super) fn public_admission(settings: &Settings, workers: usize) -> Arc<ConnectionLimiter> {
    let (configured, descriptors) = (settings.public.max_connections, descriptor_limit());
    let total = max_public_connections(configured, descriptors, workers);
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
    ConnectionLimiter::new(limits, workers * EXTRA_CONNECTIONS_PER_ARBITER)
}

/// Returns the connection limits of the private listener.
pub(super) fn private_admission() -> Arc<ConnectionLimiter> {
    let limits = ConnectionLimits {
        total: PRIVATE_CONNECTIONS,
        per_peer: None,
        per_network: None,
        counts_local_peers: false,
        trusted_proxies: Vec::new(),
    };
    ConnectionLimiter::new(limits, EXTRA_CONNECTIONS_PER_ARBITER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_descriptors_are_reserved_for_the_private_listener() {
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
            let total = max_public_connections(configured, descriptors, workers);
            assert_eq!(total, expected, "{configured:?} {descriptors} {workers}");
            let at_most = total
                + workers * EXTRA_CONNECTIONS_PER_ARBITER
                + PRIVATE_CONNECTIONS
                + EXTRA_CONNECTIONS_PER_ARBITER;
            assert!(
                descriptors < 256 || at_most < descriptors - descriptors / 5,
                "{at_most} of {descriptors}"
            );
        }
    }
}
