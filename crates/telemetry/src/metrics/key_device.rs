//! Metrics of the device that holds private keys.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use super::Metrics;
use super::declare::metric_table;

/// Buckets in seconds: a card in the machine takes about a millisecond, a device in the network
/// ten.
const DEVICE_BUCKETS: &[f64] =
    &[0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

metric_table! {
    /// Metrics of the key device.
    struct KeyDeviceMetrics {
        calls: IntCounterVec("key_device_calls_total", ["device", "operation", "result"])
            "Calls of the device that holds private keys.";
        seconds: HistogramVec("key_device_call_duration_seconds", ["device", "operation"], DEVICE_BUCKETS)
            "Time of a call of the key device with its wait for a session, in seconds.";
        circuit: IntGaugeVec("key_device_circuit_state", ["device", "state"])
            "1 for the current state of the circuit to the key device, 0 for the others.";
    }
}

impl Metrics {
    /// Counts a call; all labels are a few constants.
    pub fn record_key_device_call(
        &self,
        device: &'static str,
        operation: &'static str,
        result: &'static str,
    ) {
        self.key_device.calls.with([device, operation, result]).inc();
    }

    /// Records the time of a call that was made.
    pub fn record_key_device_time(
        &self,
        device: &'static str,
        operation: &'static str,
        took: Duration,
    ) {
        let seconds = self.key_device.seconds.with([device, operation]);
        seconds.observe(took.as_secs_f64());
    }

    /// Sets the state of the circuit; `state` is one of `states`.
    pub fn set_key_device_circuit(
        &self,
        device: &'static str,
        state: &'static str,
        states: &[&'static str],
    ) {
        for known in states {
            let circuit = self.key_device.circuit.with([device, *known]);
            circuit.set(i64::from(*known == state));
        }
    }
}
