//! The permit of one call to an identity provider.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::attribution::{Attribution, attribute_outcome};
use super::circuit::CallKind;
use super::probe_record::ProbeOutcome;
use super::{CircuitTransition, Health};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::env::Timestamp;

/// Permit of one call. Dropped, the call counts for nothing.
pub struct CallPermit {
    pub(super) health: Arc<Health>,
    pub(super) call: CallKind,
    pub(super) epoch: u64,
}

impl CallPermit {
    /// Records the outcome of the call, the network that caused it, its duration and its time.
    /// Returns the change of the circuit, for the caller to log.
    #[must_use]
    pub fn record(
        self,
        outcome: Result<(), ErrorCode>,
        network: Option<ClientNetwork>,
        took: Duration,
        now: Timestamp,
    ) -> Option<CircuitTransition> {
        let (call, health, epoch) = (self.call, &self.health, self.epoch);
        match attribute_outcome(call, outcome) {
            Attribution::Success => health.update(now, |state| {
                state.window.record(now, call, Ok(()), took);
                // A success of a call that started before the circuit's last change proves nothing
                // about now.
                if call.is_login() && epoch == state.circuit.epoch() {
                    state.login_succeeded(now);
                }
            }),
            Attribution::Failure(code) if call.is_login() => health.update(now, |state| {
                let is_current = epoch == state.circuit.epoch();
                let is_new = network.is_none_or(|network| {
                    is_current && state.login_failures.record_failure(network, now)
                });
                if is_new {
                    state.window.record(now, call, Err(code), took);
                }
            }),
            Attribution::Failure(code) => {
                // The documents could not be fetched: the hub's own probe finds out why.
                health.documents_suspected.store(true, Ordering::Relaxed);
                health.update(now, |state| {
                    if call == CallKind::Preload {
                        state.documents.record(ProbeOutcome::Failed(code), false, now);
                    }
                    state.window.record(now, call, Err(code), took);
                })
            }
            Attribution::Ignored => None,
        }
    }
}
