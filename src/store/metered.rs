//! L2 · Any store, with its verbs and refusals counted.
//!
//! Owns: the words under which kinds, verbs and faults appear in the metrics. Must not know: which store it wraps.

use std::sync::Arc;

use async_trait::async_trait;

use crate::env::Timestamp;
use crate::store::{Draft, Family, Key, Kind, Reach, Record, Replaced, Store, StoreFault, Taken, Version};
use crate::telemetry::{Metrics, StoreMeter};

/// Counts each verb, and each one that failed, before passing the answer on unchanged.
pub struct MeteredStore {
    inner: Arc<dyn Store>,
    login: Meters,
    session: Meters,
    code: Meters,
    token: Meters,
    logout: Meters,
    parked: Meters,
    assertion: Meters,
    revoke: StoreMeter,
}

impl MeteredStore {
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, metrics: &Metrics) -> Self {
        let meters = |kind| Meters::new(metrics, kind);
        Self {
            inner,
            login: meters(Kind::Login),
            session: meters(Kind::Session),
            code: meters(Kind::Code),
            token: meters(Kind::Token),
            logout: meters(Kind::Logout),
            parked: meters(Kind::Parked),
            assertion: meters(Kind::Assertion),
            revoke: metrics.store_meter("family", "revoke"),
        }
    }

    fn of(&self, kind: Kind) -> &Meters {
        match kind {
            Kind::Login => &self.login,
            Kind::Session => &self.session,
            Kind::Code => &self.code,
            Kind::Token => &self.token,
            Kind::Logout => &self.logout,
            Kind::Parked => &self.parked,
            Kind::Assertion => &self.assertion,
        }
    }
}

/// Sets the gauges of records by kind; for [`Metrics::sample_with`].
pub fn report_records(store: &dyn Store, metrics: &Metrics) {
    for kind in [Kind::Login, Kind::Session, Kind::Code, Kind::Token, Kind::Logout, Kind::Parked, Kind::Assertion] {
        metrics.store_records(word(kind), store.count(kind));
    }
}

#[async_trait]
impl Store for MeteredStore {
    async fn insert(&self, key: Key, draft: Draft, now: Timestamp) -> Result<Version, StoreFault> {
        let meter = &self.of(key.kind).insert;
        counted(meter, self.inner.insert(key, draft, now).await)
    }

    async fn load(&self, key: &Key, now: Timestamp) -> Result<Option<Record>, StoreFault> {
        counted(&self.of(key.kind).load, self.inner.load(key, now).await)
    }

    async fn replace(
        &self,
        key: &Key,
        expected: Version,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Replaced, StoreFault> {
        counted(&self.of(key.kind).replace, self.inner.replace(key, expected, value, expires_at, now).await)
    }

    async fn take(&self, key: &Key, tombstone: Vec<u8>, tombstone_until: Timestamp, now: Timestamp) -> Result<Taken, StoreFault> {
        counted(&self.of(key.kind).take, self.inner.take(key, tombstone, tombstone_until, now).await)
    }

    async fn remove(&self, key: &Key) -> Result<(), StoreFault> {
        counted(&self.of(key.kind).remove, self.inner.remove(key).await)
    }

    async fn revoke(&self, family: &Family, until: Timestamp, now: Timestamp) -> Result<(), StoreFault> {
        counted(&self.revoke, self.inner.revoke(family, until, now).await)
    }

    fn reach(&self) -> Reach {
        self.inner.reach()
    }

    fn count(&self, kind: Kind) -> usize {
        self.inner.count(kind)
    }
}

struct Meters {
    insert: StoreMeter,
    load: StoreMeter,
    replace: StoreMeter,
    take: StoreMeter,
    remove: StoreMeter,
}

impl Meters {
    fn new(metrics: &Metrics, kind: Kind) -> Self {
        let meter = |verb| metrics.store_meter(word(kind), verb);
        Self {
            insert: meter("insert"),
            load: meter("load"),
            replace: meter("replace"),
            take: meter("take"),
            remove: meter("remove"),
        }
    }
}

fn counted<T>(meter: &StoreMeter, answer: Result<T, StoreFault>) -> Result<T, StoreFault> {
    meter.asked();
    answer.inspect_err(|fault| {
        meter.refused(match fault {
            StoreFault::Full => "full",
            StoreFault::Exists => "exists",
            StoreFault::Revoked => "revoked",
            StoreFault::Unavailable(_) => "unavailable",
        });
    })
}

const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Login => "login",
        Kind::Session => "session",
        Kind::Code => "code",
        Kind::Token => "token",
        Kind::Logout => "logout",
        Kind::Parked => "parked_logout",
        Kind::Assertion => "assertion",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Capacities;
    use crate::store::conformance::{ROOMY, at, code, conformance, draft};
    use crate::store::memory::MemoryStore;

    async fn metered(capacities: Capacities) -> Arc<dyn Store> {
        let metrics = Metrics::new(at(0)).unwrap();
        Arc::new(MeteredStore::new(Arc::new(MemoryStore::new(capacities)), &metrics))
    }

    conformance!(metered);

    #[tokio::test]
    async fn verbs_refusals_and_records_are_counted() {
        let metrics = Metrics::new(at(0)).unwrap();
        let store = MeteredStore::new(Arc::new(MemoryStore::new(Capacities { grants: 1, ..ROOMY })), &metrics);
        store.insert(code("a"), draft("1", at(10)), at(0)).await.unwrap();
        store.insert(code("b"), draft("1", at(10)), at(0)).await.unwrap_err();
        report_records(&store, &metrics);
        let text = metrics.render();
        for line in [
            r#"passerelle_store_operations_total{kind="code",verb="insert"} 2"#,
            r#"passerelle_store_errors_total{error="full",kind="code",verb="insert"} 1"#,
            r#"passerelle_store_records{kind="code"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }
}
