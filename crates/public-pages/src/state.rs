//! What the handlers of the pages share.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::settings::PublicPagesConfig;
use passerelle_extension::RetentionPeriods;
use passerelle_hub::registry::{ConnectorState, ProviderStatus};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ConnectorId;

/// What the handlers work with.
pub(crate) struct PublicPages {
    pub config: PublicPagesConfig,
    pub retention: RetentionPeriods,
    pub changes: StateChanges,
}

/// Since when each identity provider is in its state, as far as this hub was asked.
#[derive(Default)]
pub(crate) struct StateChanges(Mutex<BTreeMap<ConnectorId, (ConnectorState, Timestamp)>>);

impl StateChanges {
    /// Records the states at `now`, and returns since when each is known. Forgets the others.
    pub(crate) fn record(&self, providers: &[ProviderStatus], now: Timestamp) -> Vec<Timestamp> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = |provider: &ProviderStatus| match known.get(&provider.id) {
            Some((state, since)) if *state == provider.state => *since,
            _ => now,
        };
        let since: Vec<Timestamp> = providers.iter().map(since).collect();
        for (provider, since) in providers.iter().zip(&since) {
            known.insert(provider.id.clone(), (provider.state, *since));
        }
        since
    }
}
