//! L2 · Any store, with its verbs and refusals counted.
//!
//! Owns: the words under which kinds, verbs and faults appear in the metrics. Must not know: which store it wraps.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::env::Timestamp;
use crate::store::{
    Capacities, Draft, Family, Key, Kind, Loaded, Reach, Record, Replaced, Store, StoreFault,
    Taken, Usage, Version,
};
use crate::telemetry::{Metrics, StoreMeter};

/// Counts each verb, and each one that failed, before passing the answer on unchanged.
pub struct MeteredStore {
    inner: Arc<dyn Store>,
    /// Whether the last answer was that there is none.
    login: Meters,
    session: Meters,
    code: Meters,
    token: Meters,
    logout: Meters,
    parked: Meters,
    assertion: Meters,
    own_code: Meters,
    blocks: Meters,
    probes: Meters,
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
            own_code: meters(Kind::OwnCode),
            blocks: meters(Kind::Blocks),
            probes: meters(Kind::Probes),
            revoke: metrics.store_meter("family", "revoke"),
        }
    }

    async fn counted<T>(
        &self,
        meter: &StoreMeter,
        verb: impl Future<Output = Result<T, StoreFault>>,
    ) -> Result<T, StoreFault> {
        let began = Instant::now();
        let answer = verb.await;
        meter.asked(began.elapsed());
        answer.inspect_err(|fault| {
            meter.refused(match fault {
                StoreFault::Full => "full",
                StoreFault::Exists => "exists",
                StoreFault::Revoked => "revoked",
                StoreFault::Unavailable(_) => "unavailable",
            });
        })
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
            Kind::OwnCode => &self.own_code,
            Kind::Blocks => &self.blocks,
            Kind::Probes => &self.probes,
        }
    }
}

/// Sets the gauges of records by kind, and of the places that they take; for [`Metrics::sample_with`].
pub fn report_records(store: &dyn Store, capacities: &Capacities, metrics: &Metrics) {
    let count = |kind: Kind| {
        let count = store.count(kind);
        metrics.store_records(word(kind), count);
        count
    };
    let pools = [
        ("logins", count(Kind::Login), capacities.logins),
        ("sessions", count(Kind::Session), capacities.sessions),
        ("grants", count(Kind::Code) + count(Kind::Token), capacities.grants),
        ("logouts", count(Kind::Logout), capacities.logouts),
        ("parked_logouts", count(Kind::Parked), capacities.parked),
        ("assertions", count(Kind::Assertion), capacities.assertions),
        ("own_codes", count(Kind::OwnCode), capacities.own_codes),
    ];
    for (pool, records, capacity) in pools {
        metrics.store_pool(pool, records, capacity);
    }
}

#[async_trait]
impl Store for MeteredStore {
    async fn insert(&self, key: Key, draft: Draft, now: Timestamp) -> Result<Version, StoreFault> {
        let meter = &self.of(key.kind).insert;
        self.counted(meter, self.inner.insert(key, draft, now)).await
    }

    async fn load(&self, key: &Key, now: Timestamp) -> Result<Option<Record>, StoreFault> {
        self.counted(&self.of(key.kind).load, self.inner.load(key, now)).await
    }

    async fn load_and_keep(&self, key: &Key, now: Timestamp) -> Result<Option<Loaded>, StoreFault> {
        self.counted(&self.of(key.kind).load, self.inner.load_and_keep(key, now)).await
    }

    /// Counted as one operation, of the first key's kind: it is one round trip.
    async fn load_many(
        &self,
        keys: &[Key],
        now: Timestamp,
    ) -> Result<Vec<Option<Record>>, StoreFault> {
        let Some(first) = keys.first() else { return Ok(Vec::new()) };
        self.counted(&self.of(first.kind).load, self.inner.load_many(keys, now)).await
    }

    async fn replace(
        &self,
        key: &Key,
        expected: Version,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Replaced, StoreFault> {
        let meter = &self.of(key.kind).replace;
        let answer =
            self.counted(meter, self.inner.replace(key, expected, value, expires_at, now)).await;
        answer.inspect(|replaced| {
            if matches!(replaced, Replaced::Stale) {
                meter.lost()
            }
        })
    }

    async fn take(
        &self,
        key: &Key,
        tombstone: Vec<u8>,
        tombstone_until: Timestamp,
        now: Timestamp,
    ) -> Result<Taken, StoreFault> {
        let meter = &self.of(key.kind).take;
        let answer =
            self.counted(meter, self.inner.take(key, tombstone, tombstone_until, now)).await;
        answer.inspect(|taken| {
            if matches!(taken, Taken::Spent(_)) {
                meter.lost()
            }
        })
    }

    async fn remove(&self, key: &Key) -> Result<(), StoreFault> {
        self.counted(&self.of(key.kind).remove, self.inner.remove(key)).await
    }

    async fn remove_version(
        &self,
        key: &Key,
        version: Version,
        now: Timestamp,
    ) -> Result<bool, StoreFault> {
        self.counted(&self.of(key.kind).remove, self.inner.remove_version(key, version, now)).await
    }

    async fn revoke(
        &self,
        family: &Family,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreFault> {
        self.counted(&self.revoke, self.inner.revoke(family, until, now)).await
    }

    fn reach(&self) -> Reach {
        self.inner.reach()
    }

    fn count(&self, kind: Kind) -> usize {
        self.inner.count(kind)
    }

    fn usage(&self, kind: Kind) -> Usage {
        self.inner.usage(kind)
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

const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Login => "login",
        Kind::Session => "session",
        Kind::Code => "code",
        Kind::Token => "token",
        Kind::Logout => "logout",
        Kind::Parked => "parked_logout",
        Kind::Assertion => "assertion",
        Kind::OwnCode => "own_code",
        Kind::Blocks => "blocks",
        Kind::Probes => "probes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let capacities = Capacities { grants: 1, ..ROOMY };
        let store = MeteredStore::new(Arc::new(MemoryStore::new(capacities)), &metrics);
        store.insert(code("a"), draft("1", at(10)), at(0)).await.unwrap();
        store.insert(code("b"), draft("1", at(10)), at(0)).await.unwrap_err();
        let (key, later) = (code("a"), at(9));
        assert!(matches!(
            store.replace(&key, Version(7), vec![], later, at(0)).await,
            Ok(Replaced::Stale)
        ));
        assert!(matches!(store.take(&key, vec![], later, at(0)).await, Ok(Taken::Won(_))));
        assert!(matches!(store.take(&key, vec![], later, at(0)).await, Ok(Taken::Spent(_))));
        report_records(&store, &capacities, &metrics);
        let text = metrics.render();
        for line in [
            r#"passerelle_store_operations_total{kind="code",verb="insert"} 2"#,
            r#"passerelle_store_errors_total{error="full",kind="code",verb="insert"} 1"#,
            r#"passerelle_store_records{kind="code"} 1"#,
            r#"passerelle_store_pool_records{pool="grants"} 1"#,
            r#"passerelle_store_pool_capacity_records{pool="grants"} 1"#,
            r#"passerelle_store_conflicts_total{kind="code",verb="replace"} 1"#,
            r#"passerelle_store_conflicts_total{kind="code",verb="take"} 1"#,
            r#"passerelle_store_operation_duration_seconds_count{verb="insert"} 2"#,
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }
}
