//! Metrics of the store and of actors.

use std::time::Duration;

use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec};

use super::declare::{Labelled, metric_table};
use super::{BUCKETS, Metrics};

/// Buckets in seconds: the embedded store takes microseconds, a shared one about a millisecond.
const VERB_BUCKETS: &[f64] =
    &[0.000_005, 0.000_025, 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0];

metric_table! {
    /// Metrics of the store.
    struct StoreMetrics {
        operations: IntCounterVec("store_operations_total", ["kind", "operation"])
            "Operations on the store.";
        seconds: HistogramVec("store_operation_duration_seconds", ["operation"], VERB_BUCKETS)
            "Time of a store operation, in seconds.";
        errors: IntCounterVec("store_errors_total", ["kind", "operation", "error"])
            "Failed store operations.";
        conflicts: IntCounterVec("store_conflicts_total", ["kind", "operation"])
            "Store operations that lost a race: replace found a newer version, take found a used record.";
        records: IntGaugeVec("store_records", ["kind"])
            "Records in the store.";
        pool_records: IntGaugeVec("store_pool_records", ["pool"])
            "Records in a pool; codes and tokens share one.";
        pool_capacity: IntGaugeVec("store_pool_capacity_records", ["pool"])
            "Maximum number of records in a pool.";
        redis_seconds: HistogramVec("redis_round_trip_duration_seconds", ["operation"], VERB_BUCKETS)
            "Time of a round trip to the shared store, in seconds.";
        redis_errors: IntCounterVec("redis_errors_total", ["error"])
            "Failed calls to the shared store.";
        redis_retries: IntCounterVec("redis_retries_total", [])
            "Calls to the shared store that were repeated.";
        redis_circuit: IntGaugeVec("redis_circuit_state", ["state"])
            "1 for the current state of the circuit to the shared store, 0 for the others.";
    }
}

metric_table! {
    /// Metrics of actors.
    struct ActorMetrics {
        live: IntGaugeVec("actors_active", ["actor"])
            "Actors in memory.";
        activated: IntCounterVec("actors_activated_total", ["actor"])
            "Actors started.";
        passivated: IntCounterVec("actors_passivated_total", ["actor"])
            "Actors passivated.";
        mailbox: HistogramVec("actor_mailbox_delay_seconds", ["actor"], BUCKETS)
            "Time that a message waited in the mailbox of its actor, in seconds.";
    }
}

impl Metrics {
    /// Records a call to the shared store, successful or not.
    pub fn record_redis_round_trip(&self, operation: &'static str, took: Duration) {
        self.store.redis_seconds.with([operation]).observe(took.as_secs_f64());
    }

    /// Records a failed call; `error` is one of a few constants.
    pub fn record_redis_error(&self, error: &'static str) {
        self.store.redis_errors.with([error]).inc();
    }

    /// Records a repeated call.
    pub fn record_redis_retry(&self) {
        self.store.redis_retries.with([]).inc();
    }

    /// Sets the state of the circuit; `state` is one of `states`.
    pub fn set_redis_circuit(&self, state: &'static str, states: &[&'static str]) {
        for known in states {
            self.store.redis_circuit.with([*known]).set(i64::from(*known == state));
        }
    }

    /// Returns handles for one kind of record and one operation.
    pub fn store_meter(&self, kind: &'static str, operation: &'static str) -> StoreMeter {
        if operation == "insert" {
            // Starts at 0, so that the first error raises a rate.
            self.store.errors.with([kind, operation, "full"]).inc_by(0);
        }
        StoreMeter {
            operations: self.store.operations.with([kind, operation]),
            seconds: self.store.seconds.with([operation]),
            conflicts: self.store.conflicts.clone(),
            errors: self.store.errors.clone(),
            kind,
            operation,
        }
    }

    /// Sets the number of records of a kind.
    pub fn set_store_records(&self, kind: &'static str, records: usize) {
        self.store.records.with([kind]).set(i64::try_from(records).unwrap_or(i64::MAX));
    }

    /// Sets the number of records in a pool, and its capacity.
    pub fn set_store_pool(&self, pool: &'static str, records: usize, capacity: usize) {
        let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.store.pool_records.with([pool]).set(whole(records));
        self.store.pool_capacity.with([pool]).set(whole(capacity));
    }

    /// Records the activation of an actor.
    pub fn record_actor_activation(&self, actor: &'static str) {
        self.actors.activated.with([actor]).inc();
        self.actors.live.with([actor]).inc();
    }

    /// Records the passivation of an actor; it can be activated again.
    pub fn record_actor_passivation(&self, actor: &'static str) {
        self.actors.passivated.with([actor]).inc();
        self.record_actor_stop(actor);
    }

    /// Records the end of an actor for another reason: done, crashed, or connector removed.
    pub fn record_actor_stop(&self, actor: &'static str) {
        self.actors.live.with([actor]).dec();
    }

    /// Records how long a message waited in a mailbox.
    pub fn record_mailbox_delay(&self, actor: &'static str, after: Duration) {
        self.actors.mailbox.with([actor]).observe(after.as_secs_f64());
    }
}

/// Counts one store operation on one kind of record.
#[derive(Clone, Debug)]
pub struct StoreMeter {
    operations: IntCounter,
    seconds: Histogram,
    conflicts: Labelled<IntCounterVec, 2>,
    errors: Labelled<IntCounterVec, 3>,
    kind: &'static str,
    operation: &'static str,
}

impl StoreMeter {
    /// Records a call.
    pub fn record_call(&self, took: Duration) {
        self.operations.inc();
        self.seconds.observe(took.as_secs_f64());
    }

    /// Records a lost race.
    pub fn record_conflict(&self) {
        self.conflicts.with([self.kind, self.operation]).inc();
    }

    /// Records an error.
    pub fn record_error(&self, error: &'static str) {
        self.errors.with([self.kind, self.operation, error]).inc();
    }
}
