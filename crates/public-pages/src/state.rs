//! What the handlers of the pages share.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::settings::PublicPagesConfig;
use passerelle_extension::RetentionPeriods;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;

/// What the handlers work with.
pub(crate) struct PublicPages {
    pub config: PublicPagesConfig,
    pub retention: RetentionPeriods,
    pub feed_entry_times: FeedEntryTimes,
}

/// When this hub first saw each entry of its feeds, as far as it was asked: of the feed of all, or of
/// one service provider.
#[derive(Default)]
pub(crate) struct FeedEntryTimes(Mutex<BTreeMap<Option<ClientId>, BTreeMap<String, Timestamp>>>);

impl FeedEntryTimes {
    /// Records that the feed has these entries at `now`, and returns since when it has each one.
    /// Forgets the others.
    pub(crate) fn record(
        &self,
        service: Option<&ClientId>,
        entries: impl Iterator<Item = String>,
        now: Timestamp,
    ) -> Vec<Timestamp> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.entry(service.cloned()).or_default();
        let entries = entries.map(|entry| {
            let since = known.get(&entry).copied().unwrap_or(now);
            (entry, since)
        });
        let entries: Vec<_> = entries.collect();
        let since = entries.iter().map(|(_, since)| *since).collect();
        *known = entries.into_iter().collect();
        since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_time_of_its_first_sight_and_that_of_a_service_its_own() {
        let (times, service) = (FeedEntryTimes::default(), ClientId::from("library"));
        let record = |service, entries: &[&str], seconds| {
            let entries = entries.iter().map(|entry| (*entry).to_owned());
            let since = times.record(service, entries, Timestamp::from_seconds(seconds));
            since.into_iter().map(Timestamp::seconds).collect::<Vec<_>>()
        };
        assert_eq!(record(None, &["a"], 1), [1]);
        assert_eq!(record(Some(&service), &["b", "a"], 2), [2, 2]);
        assert_eq!(record(None, &["b", "a"], 3), [3, 1]);
        assert_eq!(record(Some(&service), &["a"], 4), [2]);
        assert!(record(None, &[], 5).is_empty());
        assert_eq!(record(None, &["a"], 6), [6]);
    }
}
