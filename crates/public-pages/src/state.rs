//! What the handlers of the pages share.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::settings::PublicPagesConfig;
use passerelle_extension::RetentionPeriods;
use passerelle_hub::registry::{ConnectorState, ProviderStatus};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId};

/// What the handlers work with.
pub(crate) struct PublicPages {
    pub config: PublicPagesConfig,
    pub retention: RetentionPeriods,
    pub changes: StateChanges,
}

/// Since when each identity provider is in its state, as far as this hub was asked: for all, or for
/// one service provider, whose blocks are its own.
#[derive(Default)]
pub(crate) struct StateChanges(Mutex<BTreeMap<StateKey, (ConnectorState, Timestamp)>>);

type StateKey = (Option<ClientId>, ConnectorId);

impl StateChanges {
    /// Records the states at `now`, and returns since when each is known. Forgets the identity
    /// providers that are no longer there.
    pub(crate) fn record(
        &self,
        service: Option<&ClientId>,
        providers: &[ProviderStatus],
        now: Timestamp,
    ) -> Vec<Timestamp> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since =
            |provider: &ProviderStatus| match known.get(&(service.cloned(), provider.id.clone())) {
                Some((state, since)) if *state == provider.state => *since,
                _ => now,
            };
        let since: Vec<Timestamp> = providers.iter().map(since).collect();
        known.retain(|(of, _), _| of.as_ref() != service);
        known.extend(providers.iter().zip(&since).map(|(provider, since)| {
            ((service.cloned(), provider.id.clone()), (provider.state, *since))
        }));
        since
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use passerelle_federation::provider_display::ProviderDisplay;

    fn provider(id: &str, state: ConnectorState) -> ProviderStatus {
        let display = Arc::new(ProviderDisplay::new(Arc::default(), &[], None, None));
        ProviderStatus { id: ConnectorId::from(id), display, state, block: None, planned: vec![] }
    }

    #[test]
    fn a_state_is_known_since_its_first_sight_and_that_of_a_service_is_its_own() {
        let (changes, service) = (StateChanges::default(), ClientId::from("library"));
        let at = Timestamp::from_seconds;
        let down = [provider("a", ConnectorState::Down)];
        let blocked = [provider("a", ConnectorState::Blocked)];
        assert_eq!(changes.record(None, &down, at(1)), [at(1)]);
        assert_eq!(changes.record(Some(&service), &blocked, at(2)), [at(2)]);
        assert_eq!(changes.record(None, &down, at(3)), [at(1)]);
        assert_eq!(changes.record(Some(&service), &blocked, at(4)), [at(2)]);
        assert!(changes.record(None, &[], at(5)).is_empty());
        assert_eq!(changes.record(None, &down, at(6)), [at(6)]);
    }
}
