//! Admits, makes and evaluates the calls to one identity provider.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::call_labels::{call_label, span_name};
use crate::health::{
    Attribution, CallKind, CircuitTransition, EndedCall, Health, ProbeOutcome, PublishedHealth,
    attribute_outcome, pause_after_failed_probe,
};
use crate::hub_clock::HubClock;
use passerelle_connector::{Connector, ConnectorError};
use passerelle_federation::CurrentFederation;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::ConnectorId;
use passerelle_telemetry::trace::{self, TracePeer};
use passerelle_telemetry::{CallOutcome, Metrics};

/// Longest time of one call: token, keys and userinfo, six seconds each.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(18);

/// Time limit of one probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(6);

/// Limits on the concurrent calls to one identity provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ConnectorCallLimits {
    pub calls: usize,
    /// Calls that wait for another to end.
    pub queue: usize,
    /// Longest wait of a queued call.
    pub wait: Duration,
}

/// Outcome of a probe. The connector's [`Health`] has recorded it.
pub(crate) type ProbeResult = Result<(), ErrorCode>;

/// Dependencies of all connector actors.
#[derive(Clone)]
pub(crate) struct ConnectorActorDeps {
    pub env: Env,
    pub metrics: Arc<Metrics>,
    pub clock: HubClock,
    pub federation: CurrentFederation,
}

/// A running call, among those of its identity provider.
struct CallSlots {
    _call: OwnedSemaphorePermit,
    _slot: OwnedSemaphorePermit,
}

/// Admits, makes and evaluates the calls to one identity provider.
pub(super) struct CallGate {
    pub id: ConnectorId,
    pub connector: Arc<dyn Connector>,
    pub limits: ConnectorCallLimits,
    calls: Arc<Semaphore>,
    /// Slots for running and queued calls.
    slots: Arc<Semaphore>,
    pub health: Arc<PublishedHealth>,
    pub deps: ConnectorActorDeps,
}

impl CallGate {
    /// Creates the gate.
    pub(super) fn new(
        id: ConnectorId,
        connector: Arc<dyn Connector>,
        limits: ConnectorCallLimits,
        health: Arc<PublishedHealth>,
        deps: ConnectorActorDeps,
    ) -> Self {
        deps.clock.add(&connector);
        let calls = Arc::new(Semaphore::new(limits.calls));
        let slots = Arc::new(Semaphore::new(limits.calls.saturating_add(limits.queue)));
        Self { id, connector, limits, calls, slots, health, deps }
    }

    /// Makes a call, within the limits, in a span of its own. `record` gets the outcome and its
    /// time.
    ///
    /// # Errors
    /// `IdpCircuitOpen` while the circuit is open, `IdpBusy` at the limit of concurrent calls,
    /// `IdpTimeout` at the limit of time; otherwise the error of `work`.
    pub(super) async fn call<T>(
        &self,
        call: CallKind,
        network: Option<ClientNetwork>,
        work: impl Future<Output = Result<T, ConnectorError>>,
        record: impl FnOnce(EndedCall, Timestamp),
    ) -> Result<T, ConnectorError> {
        let mut span = trace::start_span(span_name(call)).with_peer(TracePeer::IdentityProvider);
        span.set_connector(&self.id);
        let made = span.run(async {
            let (epoch, _slots) = self.admit(call).await?;
            let started = Instant::now();
            let outcome = tokio::time::timeout(CALL_TIMEOUT, work).await.unwrap_or_else(|_| {
                Err(ConnectorError::new(ErrorCode::IdpTimeout, "the call took too long"))
            });
            self.publish_observations();
            let outcome = outcome.map_err(|error| self.deps.clock.attribute_error(error));
            let (result, took) =
                (outcome.as_ref().map(|_| ()).map_err(|error| error.code), started.elapsed());
            self.deps.metrics.record_connector_call(&self.id, call_label(call), result, took);
            self.record_call_outcome(call, result);
            let ended = EndedCall { kind: call, epoch, outcome: result, network, took };
            record(ended, self.deps.env.now());
            outcome
        });
        let outcome = made.await;
        if let Err(error) = &outcome {
            span.fail_with_code(error.code);
            if call == CallKind::Preload {
                tracing::warn!(connector = %self.id, %error, "preloading the identity provider's metadata failed; retried at the next login");
            }
        }
        outcome
    }

    /// Admits a call. Returns the circuit's epoch, and the permits that count as running calls.
    async fn admit(&self, call: CallKind) -> Result<(u64, Option<CallSlots>), ConnectorError> {
        let circuit_epoch = |why_refused| {
            let epoch = self.health.snapshot.load().admit(call, self.deps.env.now());
            epoch.ok_or_else(|| self.reject_call(call, ErrorCode::IdpCircuitOpen, why_refused))
        };
        // Checked before any wait.
        circuit_epoch("its circuit is open after several failures")?;
        // Calls that no user waits for take no slot from those that a user waits for.
        let slots = match call {
            CallKind::Preload | CallKind::Probe => None,
            CallKind::BeginLogin
            | CallKind::CompleteLogin
            | CallKind::SignIn
            | CallKind::EndSession => Some(
                self.acquire_slots()
                    .await
                    .map_err(|why| self.reject_call(call, ErrorCode::IdpBusy, why))?,
            ),
        };
        Ok((circuit_epoch("its circuit opened while this call waited")?, slots))
    }

    /// Acquires permits for a call: at once, or after a short wait in a short queue.
    async fn acquire_slots(&self) -> Result<CallSlots, &'static str> {
        let slot = Arc::clone(&self.slots)
            .try_acquire_owned()
            .map_err(|_| "too many calls are running and queued")?;
        let call = match Arc::clone(&self.calls).try_acquire_owned() {
            Ok(call) => Ok(call),
            Err(_) => match tokio::time::timeout(
                self.limits.wait,
                Arc::clone(&self.calls).acquire_owned(),
            )
            .await
            {
                Ok(Ok(call)) => Ok(call),
                Ok(Err(_)) | Err(_) => Err("no running call ended while this one waited"),
            },
        }?;
        Ok(CallSlots { _call: call, _slot: slot })
    }

    /// Makes a probe. No limit applies to it, so that it works while all other calls hang.
    /// Returns also the change of the health that it causes.
    pub(super) async fn probe(&self) -> (ProbeResult, impl FnOnce(&mut Health) + Send + use<>) {
        const CALL: CallKind = CallKind::Probe;
        let started = Instant::now();
        let late = || Err(ConnectorError::new(ErrorCode::IdpTimeout, "the probe took too long"));
        let outcome = tokio::time::timeout(PROBE_TIMEOUT, self.connector.probe()).await;
        let outcome = outcome.unwrap_or_else(|_| late());
        self.publish_observations();
        let outcome = outcome.map_err(|error| self.deps.clock.attribute_error(error));
        let took = started.elapsed();
        let result = outcome.as_ref().copied().map_err(|error| error.code);
        self.deps.metrics.record_connector_call(&self.id, call_label(CALL), result, took);
        let retry_after = outcome.as_ref().err().and_then(|error| error.retry_after);
        let probe_outcome = match attribute_outcome(CALL, result) {
            Attribution::Success => ProbeOutcome::Succeeded,
            Attribution::Failure(code) => ProbeOutcome::Failed(code),
            Attribution::Ignored => ProbeOutcome::Inconclusive,
        };
        let (is_declared, now) = (retry_after.is_some(), self.deps.env.now());
        let own_wait = result.err().and_then(pause_after_failed_probe);
        let record = move |health: &mut Health| {
            health.record_document_probe(probe_outcome, is_declared, took, now);
            health.snapshot.documents.pause(retry_after.or(own_wait), now);
        };
        (result, record)
    }

    /// Publishes the addresses and the clock skew that the connector knows, whether the call
    /// succeeded or not.
    fn publish_observations(&self) {
        let addresses = self.connector.published_addresses();
        self.deps.federation.set_published_addresses(&self.id, addresses);
        if let Some(seconds) = self.deps.clock.credible_skew(self.connector.as_ref()) {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a skew of 2^52 seconds is beyond every clock"
            )]
            self.deps.metrics.set_connector_clock_skew(&self.id, seconds as f64);
        }
    }

    fn record_call_outcome(&self, call: CallKind, outcome: Result<(), ErrorCode>) {
        let outcome = match (call, attribute_outcome(call, outcome)) {
            // No user waited.
            (CallKind::Preload | CallKind::Probe, _) | (_, Attribution::Ignored) => return,
            (_, Attribution::Success) => CallOutcome::Success,
            (_, Attribution::Failure(_)) => CallOutcome::Failure,
        };
        self.deps.metrics.record_call_outcome(&self.id, outcome);
    }

    /// Counts a call that the gate refuses, and returns its error.
    fn reject_call(&self, call: CallKind, code: ErrorCode, why: &str) -> ConnectorError {
        self.deps.metrics.record_skipped_connector_call(&self.id, call_label(call), code);
        if !matches!(call, CallKind::Preload | CallKind::Probe) {
            self.deps.metrics.record_call_outcome(&self.id, CallOutcome::Failure);
        }
        ConnectorError::new(code, why)
    }
}

/// Logs a change of the circuit.
pub(super) fn log_transition(connector: &ConnectorId, transition: Option<CircuitTransition>) {
    let Some(CircuitTransition { to, cause, tally, reasons }) = transition else { return };
    match cause {
        Some(cause) => {
            let reasons: Vec<_> = reasons
                .iter()
                .map(|(code, times)| format!("{} {times}", code.entry().code))
                .collect();
            tracing::error!(
                %connector, cause = cause.label(), failures = tally.failures, successes = tally.successes, reasons = reasons.join(", "),
                "circuit opened: the identity provider is not offered until a probe succeeds"
            );
        }
        None => {
            tracing::info!(%connector, circuit = to.label(), "circuit closed or half-open: the identity provider is offered again");
        }
    }
}
