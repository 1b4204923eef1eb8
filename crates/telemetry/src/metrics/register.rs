//! Metrics of the register.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use super::declare::metric_table;
use super::{BUCKETS, Metrics};

metric_table! {
    /// Metrics of the register.
    struct RegisterMetrics {
        lookups: IntCounterVec("register_lookups_total", ["outcome"])
            "Queries of the register by outcome.";
        seconds: HistogramVec("register_call_duration_seconds", [], BUCKETS)
            "Time of a call to the register, in seconds.";
        retries: IntCounterVec("register_retries_total", [])
            "Calls to the register that were repeated.";
        circuit: IntGaugeVec("register_circuit_state", ["state"])
            "1 for the current state of the circuit to the register, 0 for the others.";
    }
}

impl Metrics {
    /// Records a query of the register.
    pub fn record_register_lookup(&self, answer: &'static str, took: Duration) {
        self.register.lookups.with([answer]).inc();
        self.register.seconds.with([]).observe(took.as_secs_f64());
    }

    /// Records a query that was not made; it has no duration.
    pub fn record_skipped_register_lookup(&self, answer: &'static str) {
        self.register.lookups.with([answer]).inc();
    }

    /// Records a repeated call.
    pub fn record_register_retry(&self) {
        self.register.retries.with([]).inc();
    }

    /// Sets the state of the circuit; `state` is one of `states`.
    pub fn set_register_circuit(&self, state: &'static str, states: &[&'static str]) {
        // Retries start at 0, so that the first one raises a rate.
        self.register.retries.with([]).inc_by(0);
        for known in states {
            self.register.circuit.with([*known]).set(i64::from(*known == state));
        }
    }
}
