//! Wraps a store: counts its operations, errors and records, and logs why it is unavailable.
//!
//! Responsible for the label values of operations and errors in the metrics.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::by_kind::ByKind;
use crate::{
    Capacities, Family, InsertPairError, LoadedRecord, NewRecord, Record, RecordKey, RecordKind,
    RecordVersion, ReplaceOutcome, Store, StoreError, StoreScope, TakeOutcome, Usage,
};
use passerelle_protocol::env::Timestamp;
use passerelle_telemetry::{Metrics, StoreMeter};

/// Minimum time between two log lines about one cause.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Causes whose last log line is remembered. Above it, all are forgotten.
const MAX_LOGGED_CAUSES: usize = 32;

/// Store that counts each operation and its errors.
pub struct MeteredStore {
    inner: Arc<dyn Store>,
    by_kind: ByKind<KindMeters>,
    revoke: StoreMeter,
    logged: Mutex<LoggedCauses>,
}

impl MeteredStore {
    /// Wraps `inner` and registers its metrics.
    pub fn new(inner: Arc<dyn Store>, capacities: &Capacities, metrics: &Metrics) -> Self {
        Self {
            inner,
            by_kind: ByKind::new(capacities, |kind| KindMeters::new(metrics, kind)),
            revoke: metrics.store_meter("family", "revoke"),
            logged: Mutex::default(),
        }
    }

    async fn measure<T>(
        &self,
        meter: &StoreMeter,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let answer = operation.await;
        meter.record_call(began.elapsed());
        answer.inspect_err(|error| self.record_error(meter, error))
    }

    /// Counts an error. Logs the cause of `Unavailable`, which callers don't pass on: once a
    /// minute.
    fn record_error(&self, meter: &StoreMeter, error: &StoreError) {
        meter.record_error(error_label(error));
        let StoreError::Unavailable(cause) = error else { return };
        let is_due = {
            let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
            logged.is_due(cause, Instant::now())
        };
        if is_due {
            tracing::error!(cause, "call of the store failed");
        }
    }

    fn meters(&self, kind: &RecordKind) -> &KindMeters {
        self.by_kind.get(kind)
    }
}

/// Sets the gauges of records and capacity; for [`Metrics::sample_with`].
pub fn report_records(store: &dyn Store, capacities: &Capacities, metrics: &Metrics) {
    for (pool, capacity, kinds) in capacities.pools() {
        let records = kinds.map(|kind| {
            let count = store.count(kind);
            metrics.set_store_records(kind.name, count);
            count
        });
        metrics.set_store_pool(pool, records.sum(), capacity.records);
    }
}

#[async_trait]
impl Store for MeteredStore {
    async fn insert(
        &self,
        key: RecordKey,
        draft: NewRecord,
        now: Timestamp,
    ) -> Result<RecordVersion, StoreError> {
        let meter = &self.meters(key.kind).insert;
        self.measure(meter, self.inner.insert(key, draft, now)).await
    }

    /// Counts as two operations.
    async fn insert_pair(
        &self,
        first_key: RecordKey,
        first: NewRecord,
        second_key: RecordKey,
        second: NewRecord,
        now: Timestamp,
    ) -> Result<(), InsertPairError> {
        let meters = [first_key.kind, second_key.kind].map(|kind| &self.meters(kind).insert);
        let began = Instant::now();
        let answer = self.inner.insert_pair(first_key, first, second_key, second, now).await;
        let (took, [first, second]) = (began.elapsed(), meters);
        first.record_call(took);
        if let Err(InsertPairError::First(error)) = &answer {
            self.record_error(first, error);
        } else {
            second.record_call(took);
        }
        if let Err(InsertPairError::Second(error)) = &answer {
            self.record_error(second, error);
        }
        answer
    }

    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Option<Record>, StoreError> {
        self.measure(&self.meters(key.kind).load, self.inner.load(key, now)).await
    }

    async fn load_and_extend(
        &self,
        key: &RecordKey,
        now: Timestamp,
    ) -> Result<Option<LoadedRecord>, StoreError> {
        self.measure(&self.meters(key.kind).load, self.inner.load_and_extend(key, now)).await
    }

    /// Counts as one operation of the kind of the first key: it is one round trip.
    async fn load_many(
        &self,
        keys: &[RecordKey],
        now: Timestamp,
    ) -> Result<Vec<Option<Record>>, StoreError> {
        let Some(first) = keys.first() else { return Ok(Vec::new()) };
        self.measure(&self.meters(first.kind).load, self.inner.load_many(keys, now)).await
    }

    async fn replace(
        &self,
        key: &RecordKey,
        expected: RecordVersion,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<ReplaceOutcome, StoreError> {
        let meter = &self.meters(key.kind).replace;
        let answer =
            self.measure(meter, self.inner.replace(key, expected, value, expires_at, now)).await;
        answer.inspect(|replaced| {
            if matches!(replaced, ReplaceOutcome::Stale) {
                meter.record_conflict();
            }
        })
    }

    async fn take(
        &self,
        key: &RecordKey,
        tombstone: Vec<u8>,
        tombstone_until: Timestamp,
        now: Timestamp,
    ) -> Result<TakeOutcome, StoreError> {
        let meter = &self.meters(key.kind).take;
        let answer =
            self.measure(meter, self.inner.take(key, tombstone, tombstone_until, now)).await;
        answer.inspect(|taken| {
            if matches!(taken, TakeOutcome::AlreadyTaken(_)) {
                meter.record_conflict();
            }
        })
    }

    async fn remove(&self, key: &RecordKey) -> Result<(), StoreError> {
        self.measure(&self.meters(key.kind).remove, self.inner.remove(key)).await
    }

    async fn remove_version(
        &self,
        key: &RecordKey,
        version: RecordVersion,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.measure(&self.meters(key.kind).remove, self.inner.remove_version(key, version, now))
            .await
    }

    async fn revoke(
        &self,
        family: &Family,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.measure(&self.revoke, self.inner.revoke(family, until, now)).await
    }

    fn scope(&self) -> StoreScope {
        self.inner.scope()
    }

    fn count(&self, kind: &RecordKind) -> usize {
        self.inner.count(kind)
    }

    fn usage(&self, kind: &RecordKind) -> Usage {
        self.inner.usage(kind)
    }
}

/// When each cause of an error was logged last.
#[derive(Default)]
struct LoggedCauses(HashMap<String, Instant>);

impl LoggedCauses {
    /// Returns whether a cause is to be logged now, and remembers that it was.
    fn is_due(&mut self, cause: &str, now: Instant) -> bool {
        let last = self.0.get(cause);
        if last.is_some_and(|last| now.duration_since(*last) < LOG_INTERVAL) {
            return false;
        }
        if self.0.len() >= MAX_LOGGED_CAUSES {
            self.0.clear();
        }
        self.0.insert(cause.to_owned(), now);
        true
    }
}

struct KindMeters {
    insert: StoreMeter,
    load: StoreMeter,
    replace: StoreMeter,
    take: StoreMeter,
    remove: StoreMeter,
}

impl KindMeters {
    fn new(metrics: &Metrics, kind: &RecordKind) -> Self {
        let meter = |operation| metrics.store_meter(kind.name, operation);
        Self {
            insert: meter("insert"),
            load: meter("load"),
            replace: meter("replace"),
            take: meter("take"),
            remove: meter("remove"),
        }
    }
}

const fn error_label(error: &StoreError) -> &'static str {
    match error {
        StoreError::Full => "full",
        StoreError::Exists => "exists",
        StoreError::Revoked => "revoked",
        StoreError::Unavailable(_) => "unavailable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use crate::testing::store_conformance::{ample_capacities, at, code, conformance, new_record};

    async fn metered(capacities: Capacities) -> Arc<dyn Store> {
        let metrics = Metrics::new().unwrap();
        let memory = MemoryStore::new(capacities.clone());
        Arc::new(MeteredStore::new(Arc::new(memory), &capacities, &metrics))
    }

    conformance!(metered);

    #[test]
    fn each_cause_of_an_error_is_logged_once_a_minute() {
        let (mut logged, began) = (LoggedCauses::default(), Instant::now());
        let at = |seconds| began + Duration::from_secs(seconds);
        assert!(logged.is_due("no reply", at(0)));
        assert!(!logged.is_due("no reply", at(59)));
        assert!(logged.is_due("a key is missing", at(59)));
        assert!(logged.is_due("no reply", at(60)));
        for other in 0..100 {
            logged.is_due(&other.to_string(), at(60));
        }
        assert!(logged.0.len() <= MAX_LOGGED_CAUSES);
    }

    #[tokio::test]
    async fn operations_errors_and_records_are_counted() {
        let metrics = Metrics::new().unwrap();
        let capacities = ample_capacities().with_records(RecordKind::CODE, 1);
        let memory = MemoryStore::new(capacities.clone());
        let store = MeteredStore::new(Arc::new(memory), &capacities, &metrics);
        store.insert(code("a"), new_record("1", at(10)), at(0)).await.unwrap();
        store.insert(code("b"), new_record("1", at(10)), at(0)).await.unwrap_err();
        let (key, later) = (code("a"), at(9));
        assert!(matches!(
            store.replace(&key, RecordVersion(7), vec![], later, at(0)).await,
            Ok(ReplaceOutcome::Stale)
        ));
        assert!(matches!(store.take(&key, vec![], later, at(0)).await, Ok(TakeOutcome::Taken(_))));
        assert!(matches!(
            store.take(&key, vec![], later, at(0)).await,
            Ok(TakeOutcome::AlreadyTaken(_))
        ));
        report_records(&store, &capacities, &metrics);
        let text = metrics.render();
        for line in [
            r#"passerelle_store_operations_total{kind="code",operation="insert"} 2"#,
            r#"passerelle_store_errors_total{error="full",kind="code",operation="insert"} 1"#,
            r#"passerelle_store_records{kind="code"} 1"#,
            r#"passerelle_store_pool_records{pool="codes_and_tokens"} 1"#,
            r#"passerelle_store_pool_capacity_records{pool="codes_and_tokens"} 1"#,
            r#"passerelle_store_conflicts_total{kind="code",operation="replace"} 1"#,
            r#"passerelle_store_conflicts_total{kind="code",operation="take"} 1"#,
            r#"passerelle_store_operation_duration_seconds_count{operation="insert"} 2"#,
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }
}
