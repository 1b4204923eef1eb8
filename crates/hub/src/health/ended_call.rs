//! Records a call to an identity provider.

use std::time::Duration;

use super::Health;
use super::attribution::{Attribution, attribute_outcome};
use super::circuit::CallKind;
use super::probe_record::ProbeOutcome;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::env::Timestamp;

/// A call that has ended.
pub(crate) struct EndedCall {
    pub kind: CallKind,
    /// Epoch of the circuit when the call was admitted.
    pub epoch: u64,
    pub outcome: Result<(), ErrorCode>,
    /// The network of the user that waited for it.
    pub network: Option<ClientNetwork>,
    pub took: Duration,
}

impl Health {
    /// Records a call.
    pub(crate) fn record_call(&mut self, ended: EndedCall, now: Timestamp) {
        let EndedCall { kind, epoch, outcome, network, took } = ended;
        let is_current = epoch == self.snapshot.circuit.epoch();
        match attribute_outcome(kind, outcome) {
            Attribution::Success => {
                self.snapshot.window.record(now, kind, Ok(()), took);
                // A success of a call that started before the circuit's last change proves nothing
                // about now.
                if kind.is_login() && is_current {
                    self.login_succeeded(now);
                }
            }
            Attribution::Failure(code) if kind.is_login() => {
                let is_new = network.is_none_or(|network| {
                    is_current && self.login_failures.record_failure(network, now)
                });
                if is_new {
                    self.snapshot.window.record(now, kind, Err(code), took);
                }
            }
            Attribution::Failure(code) => {
                // The documents could not be fetched: the hub's own probe finds out why.
                self.snapshot.documents_suspected = true;
                if kind == CallKind::Preload {
                    self.snapshot.documents.record(ProbeOutcome::Failed(code), false, now);
                }
                self.snapshot.window.record(now, kind, Err(code), took);
            }
            Attribution::Ignored => {}
        }
    }
}
