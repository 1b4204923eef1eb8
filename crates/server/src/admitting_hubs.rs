//! Knows whether another hub of a shared store admits logins (docs/operating.md).
//!
//! One record names a ready hub that admits logins, which renews it every few seconds. If the record
//! stops changing, another such hub takes it over. A hub compares the record's changes with its own
//! clock only.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use passerelle_admin::readiness::Readiness;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_store::{
    NewRecord, RecordKey, RecordKind, RecordVersion, Store, StoreError, StoreScope,
};

/// Interval between two exchanges.
const SYNC_INTERVAL: Duration = Duration::from_secs(3);
/// Time after which the hub of a record that does not change counts as gone.
const STALE_AFTER: Duration = Duration::from_secs(10);
/// Lifetime of the record after its last write.
const RECORD_LIFETIME: Duration = Duration::from_secs(30);

/// Whether another hub admits logins, as of the last exchange.
pub(super) struct AdmittingHubs {
    /// The shared store; `None` if no other hub uses it.
    store: Option<Arc<dyn Store>>,
    env: Env,
    hub: String,
    seen: Mutex<Option<SeenHub>>,
}

/// Another hub that the record names.
struct SeenHub {
    version: RecordVersion,
    /// When this version was seen first.
    since: Timestamp,
}

impl AdmittingHubs {
    pub(crate) fn new(store: &Arc<dyn Store>, env: &Env) -> Self {
        let store = (store.scope() == StoreScope::Shared).then(|| Arc::clone(store));
        Self { store, env: env.clone(), hub: env.entropy().token(), seen: Mutex::default() }
    }

    /// Returns whether another hub admits logins.
    pub(crate) fn has_other(&self) -> bool {
        let now = self.env.now();
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.as_ref().is_some_and(|seen| seen.is_fresh(now))
    }

    /// Exchanges at intervals, if other hubs can use the store. Never returns then.
    pub(crate) async fn run(self: Arc<Self>, readiness: Arc<Readiness>) {
        if self.store.is_none() {
            return;
        }
        let mut ticks = tokio::time::interval(SYNC_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            // While the store does not answer, this hub is not ready for that reason.
            let _unavailable = self.sync_once(readiness.admits_logins()).await;
        }
    }

    /// Exchanges once. `admits`: whether this hub is ready and admits logins.
    ///
    /// # Errors
    /// The store does not answer.
    pub(crate) async fn sync_once(&self, admits: bool) -> Result<(), StoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        let now = self.env.now();
        let found = store.load(&record_key(), now).await?;
        let other = found.as_ref().filter(|record| *record.value != *self.hub.as_bytes());
        let is_other_alive = self.note(other.map(|record| record.version), now);
        if !admits || is_other_alive {
            return Ok(());
        }
        let (value, until) = (self.hub.clone().into_bytes(), now + RECORD_LIFETIME);
        // If another hub is faster, the next exchange sees it.
        match found {
            Some(record) => {
                store.replace(&record_key(), record.version, value, until, now).await.map(drop)
            }
            None => match store.insert(record_key(), NewRecord::new(value, until), now).await {
                Ok(_) | Err(StoreError::Exists) => Ok(()),
                Err(error) => Err(error),
            },
        }
    }

    /// Notes the version of another hub's record. Returns whether that hub is alive.
    fn note(&self, other: Option<RecordVersion>, now: Timestamp) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.take();
        *seen = other.map(|version| match known {
            Some(known) if known.version == version => known,
            _ => SeenHub { version, since: now },
        });
        seen.as_ref().is_some_and(|seen| seen.is_fresh(now))
    }
}

impl SeenHub {
    fn is_fresh(&self, now: Timestamp) -> bool {
        now.since(self.since) < STALE_AFTER
    }
}

fn record_key() -> RecordKey {
    RecordKey { kind: RecordKind::PROBES, name: Arc::from("admitting") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_federation::testing::samples::OPENED;
    use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
    use passerelle_store::testing::fake_shared_store::FakeSharedStore;

    fn hubs(clock: &Arc<ManualClock>) -> [AdmittingHubs; 2] {
        let store: Arc<dyn Store> = FakeSharedStore::new();
        [1, 2].map(|seed| {
            let env = Env::new(Arc::clone(clock) as Arc<_>, Arc::new(SeededEntropy::new(seed)));
            AdmittingHubs::new(&store, &env)
        })
    }

    /// Lets both hubs exchange for a while, and returns what each knows of the other.
    async fn exchange(
        [one, two]: &[AdmittingHubs; 2],
        clock: &ManualClock,
        admits: [bool; 2],
    ) -> [bool; 2] {
        for _ in 0..8 {
            clock.advance(SYNC_INTERVAL);
            one.sync_once(admits[0]).await.unwrap();
            two.sync_once(admits[1]).await.unwrap();
        }
        [one.has_other(), two.has_other()]
    }

    #[tokio::test]
    async fn a_hub_that_admits_no_login_knows_whether_another_one_does() {
        let clock = Arc::new(ManualClock::at(OPENED));
        let hubs = hubs(&clock);
        for (admits, [one_must_know, two_must_know]) in [
            ([false, false], [false, false]),
            ([true, false], [false, true]),
            ([false, true], [true, false]),
            // The disks of both are full.
            ([false, false], [false, false]),
            ([false, true], [true, false]),
        ] {
            let known = exchange(&hubs, &clock, admits).await;
            assert_eq!(known, [one_must_know, two_must_know], "{admits:?}");
        }
    }

    #[tokio::test]
    async fn a_hub_that_died_counts_as_gone_after_ten_seconds() {
        let clock = Arc::new(ManualClock::at(OPENED));
        let [one, two] = hubs(&clock);
        one.sync_once(true).await.unwrap();
        two.sync_once(false).await.unwrap();
        assert!(two.has_other());
        clock.advance(STALE_AFTER);
        two.sync_once(false).await.unwrap();
        assert!(!two.has_other());
    }
}
