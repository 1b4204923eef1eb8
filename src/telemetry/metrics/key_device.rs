//! Metrics of the device that holds private keys.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use super::Metrics;
use super::declare::metric_table;

/// Buckets in seconds: a card in the machine takes about a millisecond, a device in the network ten.
const DEVICE_BUCKETS: &[f64] =
    &[0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

metric_table! {
    /// Metrics of the key device.
    struct KeyDeviceMetrics {
        calls: IntCounterVec("key_device_calls_total", ["operation", "result"])
            "Calls of the device that holds private keys.";
        seconds: HistogramVec("key_device_call_duration_seconds", ["operation"], DEVICE_BUCKETS)
            "Time of a call of the key device with its wait for a session, in seconds.";
        circuit: IntGaugeVec("key_device_circuit_state", ["state"])
            "1 for the current state of the circuit to the key device, 0 for the others.";
    }
}

impl Metrics {
    /// Counts a call; both labels are a few constants.
    pub fn record_key_device_call(&self, operation: &'static str, result: &'static str) {
        self.key_device.calls.with_label_values(&[operation, result]).inc();
    }

    /// Records the time of a call that was made.
    pub fn record_key_device_time(&self, operation: &'static str, took: Duration) {
        self.key_device.seconds.with_label_values(&[operation]).observe(took.as_secs_f64());
    }

    /// Sets the state of the circuit; `state` is one of `states`.
    pub fn set_key_device_circuit(&self, state: &'static str, states: &[&'static str]) {
        for known in states {
            self.key_device.circuit.with_label_values(&[*known]).set(i64::from(*known == state));
        }
    }
}
