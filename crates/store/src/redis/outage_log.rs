//! Logs the outages of the store: the start, the end, and in between a line a minute with the cause.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::call_error::RedisCallError;
use passerelle_egress::circuit_breaker::{CircuitState, FAILURES_TO_OPEN};
use passerelle_telemetry::Metrics;

/// Minimum time between two lines about one outage. Each failed health check reopens the circuit,
/// once a second.
const REPEAT_INTERVAL: Duration = Duration::from_secs(60);

/// Log of the state changes of the store's circuit.
pub(super) struct OutageLog {
    metrics: Arc<Metrics>,
    outage: Mutex<Outage>,
}

#[derive(Default)]
struct Outage {
    /// When the last line about this outage was logged.
    logged_at: Option<Instant>,
}

/// Line about a state change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OutageLine {
    Opened,
    StillOpen,
    Closed,
}

impl OutageLog {
    /// Creates the log of a closed circuit.
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        metrics.set_redis_circuit(CircuitState::Closed.label(), &CircuitState::LABELS);
        Self { metrics, outage: Mutex::default() }
    }

    /// Logs a state change of the circuit, and the error that caused it.
    pub(super) fn report_change(
        &self,
        from: CircuitState,
        to: CircuitState,
        error: Option<&RedisCallError>,
    ) {
        self.metrics.set_redis_circuit(to.label(), &CircuitState::LABELS);
        let mut outage = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        let error = error.map(ToString::to_string);
        match outage.next_line(from, to, Instant::now()) {
            Some(OutageLine::Opened) => {
                tracing::error!(
                    failures = FAILURES_TO_OPEN,
                    error,
                    "circuit of the store opened: logins fail until it answers"
                );
            }
            Some(OutageLine::StillOpen) => {
                tracing::error!(error, "the store still does not answer, and logins fail");
            }
            Some(OutageLine::Closed) => {
                tracing::info!("circuit of the store closed: it answers again");
            }
            None => {}
        }
    }
}

impl Outage {
    fn next_line(
        &mut self,
        from: CircuitState,
        to: CircuitState,
        now: Instant,
    ) -> Option<OutageLine> {
        let line = match (from, to) {
            (_, CircuitState::HalfOpen) => return None,
            (_, CircuitState::Closed) => OutageLine::Closed,
            (CircuitState::Closed, CircuitState::Open) => OutageLine::Opened,
            (CircuitState::Open | CircuitState::HalfOpen, CircuitState::Open) => {
                let is_due = |logged| now.duration_since(logged) >= REPEAT_INTERVAL;
                if !self.logged_at.is_none_or(is_due) {
                    return None;
                }
                OutageLine::StillOpen
            }
        };
        self.logged_at = Some(now);
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::CircuitState::{Closed, HalfOpen, Open};
    use super::*;

    #[test]
    fn an_outage_is_logged_when_it_begins_each_minute_and_when_it_ends() {
        let (mut outage, began) = (Outage::default(), Instant::now());
        let mut lines = vec![(0, outage.next_line(Closed, Open, began))];
        for second in 1..=150 {
            let now = began + Duration::from_secs(second);
            assert_eq!(outage.next_line(Open, HalfOpen, now), None);
            lines.push((second, outage.next_line(HalfOpen, Open, now)));
        }
        let now = began + Duration::from_secs(151);
        lines.push((151, outage.next_line(HalfOpen, Closed, now)));
        lines.push((152, outage.next_line(Closed, Open, now)));
        lines.retain(|(_, line)| line.is_some());
        let expected = [
            (0, OutageLine::Opened),
            (60, OutageLine::StillOpen),
            (120, OutageLine::StillOpen),
            (151, OutageLine::Closed),
            (152, OutageLine::Opened),
        ];
        assert_eq!(lines, expected.map(|(second, line)| (second, Some(line))));
    }
}
