//! L1 · What the hub stands on: the store and the actors.

use std::time::Duration;

use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec};

use super::declare::Declare;
use super::{BUCKETS, Metrics};
use crate::telemetry::TelemetryFault;

/// Seconds: a store in memory takes microseconds, one over the network a millisecond.
const VERB_BUCKETS: &[f64] =
    &[0.000_005, 0.000_025, 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0];

pub(super) struct StoreMetrics {
    operations: IntCounterVec,
    seconds: HistogramVec,
    errors: IntCounterVec,
    conflicts: IntCounterVec,
    records: IntGaugeVec,
    pool_records: IntGaugeVec,
    pool_capacity: IntGaugeVec,
    redis_seconds: HistogramVec,
    redis_errors: IntCounterVec,
    redis_retries: IntCounterVec,
    redis_breaker: IntGaugeVec,
}

impl StoreMetrics {
    pub fn new(declare: &Declare<'_>) -> Result<Self, TelemetryFault> {
        Ok(Self {
            operations: declare.counters(
                "store_operations_total",
                "Verbs asked of the store.",
                &["kind", "verb"],
            )?,
            seconds: declare.durations(
                "store_operation_duration_seconds",
                "Time of a verb.",
                &["verb"],
                VERB_BUCKETS,
            )?,
            errors: declare.counters(
                "store_errors_total",
                "Verbs that the store refused.",
                &["kind", "verb", "error"],
            )?,
            conflicts: declare.counters(
                "store_conflicts_total",
                "Verbs that came too late: replace lost a race, take found what was spent.",
                &["kind", "verb"],
            )?,
            records: declare.gauges(
                "store_records",
                "Records that take a place in the store.",
                &["kind"],
            )?,
            pool_records: declare.gauges(
                "store_pool_records",
                "Places taken; codes and tokens share one pool.",
                &["pool"],
            )?,
            pool_capacity: declare.gauges(
                "store_pool_capacity_records",
                "Places that there are.",
                &["pool"],
            )?,
            redis_seconds: declare.durations(
                "redis_round_trip_duration_seconds",
                "Time of a round trip to the shared store.",
                &["verb"],
                VERB_BUCKETS,
            )?,
            redis_errors: declare.counters(
                "redis_errors_total",
                "Calls to the shared store without an answer.",
                &["error"],
            )?,
            redis_retries: declare.counters(
                "redis_retries_total",
                "Calls to the shared store made a second time.",
                &[],
            )?,
            redis_breaker: declare.gauges(
                "redis_breaker",
                "1 for the state of the circuit to the shared store.",
                &["state"],
            )?,
        })
    }
}

pub(super) struct Actors {
    live: IntGaugeVec,
    activated: IntCounterVec,
    passivated: IntCounterVec,
    mailbox: HistogramVec,
}

impl Actors {
    pub fn new(declare: &Declare<'_>) -> Result<Self, TelemetryFault> {
        Ok(Self {
            live: declare.gauges("actors_live", "Actors in memory.", &["actor"])?,
            activated: declare.counters("actors_activated_total", "Actors started.", &["actor"])?,
            passivated: declare.counters(
                "actors_passivated_total",
                "Actors that went to sleep.",
                &["actor"],
            )?,
            mailbox: declare.durations(
                "actor_mailbox_delay_seconds",
                "From the sending of a message until its actor takes it.",
                &["actor"],
                BUCKETS,
            )?,
        })
    }
}

impl Metrics {
    /// A call that reached the shared store's connection, whatever came of it.
    pub fn redis_round_trip(&self, verb: &'static str, took: Duration) {
        self.store.redis_seconds.with_label_values(&[verb]).observe(took.as_secs_f64());
    }

    /// `error` is one of a handful.
    pub fn redis_failed(&self, error: &'static str) {
        self.store.redis_errors.with_label_values(&[error]).inc();
    }

    pub fn redis_retried(&self) {
        self.store.redis_retries.with_label_values::<&str>(&[]).inc();
    }

    /// `state` is one of `states`, whose others are then zero.
    pub fn redis_breaker(&self, state: &'static str, states: &[&'static str]) {
        for known in states {
            self.store.redis_breaker.with_label_values(&[*known]).set(i64::from(*known == state));
        }
    }

    /// Handles for one kind and verb, for whoever counts on each call.
    #[must_use]
    pub fn store_meter(&self, kind: &'static str, verb: &'static str) -> StoreMeter {
        if verb == "insert" {
            // From the start, so that the first refusal raises a rate.
            self.store.errors.with_label_values(&[kind, verb, "full"]).inc_by(0);
        }
        StoreMeter {
            operations: self.store.operations.with_label_values(&[kind, verb]),
            seconds: self.store.seconds.with_label_values(&[verb]),
            conflicts: self.store.conflicts.clone(),
            errors: self.store.errors.clone(),
            kind,
            verb,
        }
    }

    pub fn store_records(&self, kind: &'static str, records: usize) {
        self.store
            .records
            .with_label_values(&[kind])
            .set(i64::try_from(records).unwrap_or(i64::MAX));
    }

    /// How full the places are that some kinds of records share.
    pub fn store_pool(&self, pool: &'static str, records: usize, capacity: usize) {
        let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.store.pool_records.with_label_values(&[pool]).set(whole(records));
        self.store.pool_capacity.with_label_values(&[pool]).set(whole(capacity));
    }

    pub fn actor_activated(&self, actor: &'static str) {
        self.actors.activated.with_label_values(&[actor]).inc();
        self.actors.live.with_label_values(&[actor]).inc();
    }

    /// The actor went to sleep; it can be activated again.
    pub fn actor_passivated(&self, actor: &'static str) {
        self.actors.passivated.with_label_values(&[actor]).inc();
        self.actor_stopped(actor);
    }

    /// The actor ended for another reason: done, crashed, or its connector was removed.
    pub fn actor_stopped(&self, actor: &'static str) {
        self.actors.live.with_label_values(&[actor]).dec();
    }

    /// A message waited so long to be taken.
    pub fn actor_took(&self, actor: &'static str, after: Duration) {
        self.actors.mailbox.with_label_values(&[actor]).observe(after.as_secs_f64());
    }
}

/// Counts the calls of one store verb on one kind of record.
#[derive(Clone, Debug)]
pub struct StoreMeter {
    operations: IntCounter,
    seconds: Histogram,
    conflicts: IntCounterVec,
    errors: IntCounterVec,
    kind: &'static str,
    verb: &'static str,
}

impl StoreMeter {
    pub fn asked(&self, took: Duration) {
        self.operations.inc();
        self.seconds.observe(took.as_secs_f64());
    }

    /// The verb came too late.
    pub fn lost(&self) {
        self.conflicts.with_label_values(&[self.kind, self.verb]).inc();
    }

    pub fn refused(&self, error: &'static str) {
        self.errors.with_label_values(&[self.kind, self.verb, error]).inc();
    }
}
