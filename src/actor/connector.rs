//! One actor per identity provider: it owns the connector and how many calls may be under way, so that a slow or
//! broken identity provider harms nobody else (architecture, rule 4).

mod asked;
mod names;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use url::Url;

use self::asked::{Asked, Begin, Complete, End, Posted, RunProbe, SignIn, Warm};
use self::names::{label, span_name};
use super::health::{Call, Health, ProbeOutcome, Standing, Turn, Verdict, verdict};
use super::live::Live;
use crate::client_network::ClientNetwork;
use crate::connector::own_page::{SignedIn, Typed};
use crate::connector::{Connector, ConnectorFault};
use crate::env::Env;
use crate::ids::ConnectorId;
use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, Farewell, AuthorizationRedirect};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::trace::{self, Party, Scope};
use crate::telemetry::{Judged, Metrics};

/// The actor's name in metrics.
const ACTOR: &str = "connector";

/// The longest that one upstream step may take: token, keys and userinfo, six seconds each (decisions 10).
const STEP_LIMIT: Duration = Duration::from_secs(18);

/// The longest that one probe may take.
const PROBE_LIMIT: Duration = Duration::from_secs(6);

/// The wait after a 429 that names none.
const UNSTATED_RETRY_AFTER: Duration = Duration::from_secs(60);

/// The longest that anyone waits for the actor's word: the queue, the step, and a little for its mailbox and its arbiter.
fn patience(limits: Limits) -> Duration {
    limits.wait + STEP_LIMIT + Duration::from_millis(500)
}

/// How much is asked of one identity provider at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub calls: usize,
    /// Calls that wait for one of those to end.
    pub queue: usize,
    /// The longest that one waits.
    pub wait: Duration,
}

/// Which of the hub's own calls is made.
#[derive(Clone, Debug)]
pub(super) enum Probe {
    Documents,
    Login { redirect_uri: String },
}

/// What the schedule must know of a probe; its outcome is in the connector's health.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ProbeReport {
    /// How long the identity provider asks the hub to wait.
    pub retry_after: Option<Duration>,
}

/// What all connector actors have of their hub.
#[derive(Clone)]
pub struct Surroundings {
    pub env: Env,
    pub metrics: Arc<Metrics>,
}

pub struct ConnectorActor {
    desk: Arc<Desk>,
    /// From the actor's start to its end.
    live: Option<Live>,
}

/// Where each call is admitted, made and judged.
struct Desk {
    id: ConnectorId,
    connector: Arc<dyn Connector>,
    limits: Limits,
    calls: Arc<Semaphore>,
    /// For those under way and those that wait.
    places: Arc<Semaphore>,
    health: Arc<Health>,
    surroundings: Surroundings,
}

impl ConnectorActor {
    pub fn new(
        id: ConnectorId,
        connector: Arc<dyn Connector>,
        limits: Limits,
        health: Arc<Health>,
        surroundings: Surroundings,
    ) -> Self {
        let calls = Arc::new(Semaphore::new(limits.calls));
        let places = Arc::new(Semaphore::new(limits.calls.saturating_add(limits.queue)));
        Self {
            desk: Arc::new(Desk { id, connector, limits, calls, places, health, surroundings }),
            live: None,
        }
    }

    /// Has the actor started, and gives the way to it.
    pub fn run(self, start: impl FnOnce(Self) -> Addr<Self>) -> ConnectorHandle {
        let (health, env) = (Arc::clone(&self.desk.health), self.desk.surroundings.env.clone());
        let patience = patience(self.desk.limits);
        ConnectorHandle { address: start(self), health, env, patience }
    }

    /// Runs one call beside the mailbox, never inside it: other logins' calls start meanwhile.
    fn call<T, F>(
        &self,
        call: Call,
        network: Option<ClientNetwork>,
        scope: Scope,
        work: impl FnOnce(Arc<Desk>) -> F + 'static,
    ) -> ResponseActFuture<Self, Result<T, ConnectorFault>>
    where
        T: 'static,
        F: Future<Output = Result<T, ConnectorFault>> + 'static,
    {
        let desk = Arc::clone(&self.desk);
        Box::pin(scope.run(desk.ask(call, network, work)).into_actor(self))
    }
}

impl Desk {
    async fn ask<T, F>(
        self: Arc<Self>,
        call: Call,
        network: Option<ClientNetwork>,
        work: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, ConnectorFault>
    where
        F: Future<Output = Result<T, ConnectorFault>>,
    {
        let mut span = trace::span(span_name(call)).to(Party::IdentityProvider);
        span.connector(&self.id);
        let outcome = span.run(self.admit(call, network, work)).await;
        if let Err(fault) = &outcome {
            span.refused(fault.code);
        }
        outcome
    }

    async fn admit<T, F>(
        self: Arc<Self>,
        call: Call,
        network: Option<ClientNetwork>,
        work: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, ConnectorFault>
    where
        F: Future<Output = Result<T, ConnectorFault>>,
    {
        let env = &self.surroundings.env;
        if matches!(call, Call::Begin | Call::Complete | Call::SignIn) {
            // Even where it is refused: people want it back.
            self.health.mark_used(env.now());
        }
        // Before anything is waited for.
        if self.health.refuses(call, env.now()) {
            return Err(self.spared(
                call,
                ErrorCode::IdpInTrouble,
                "it has failed several times and is left alone for a moment",
            ));
        }
        // The one call that nobody waits for takes no place from those that somebody does.
        let _room = match call {
            Call::Warm | Call::Probe | Call::LoginProbe => None,
            Call::Begin | Call::Complete | Call::SignIn | Call::End => {
                Some(self.room().await.map_err(|why| self.spared(call, ErrorCode::IdpBusy, why))?)
            }
        };
        let Some(pass) = self.health.admit(call, env.now()) else {
            return Err(self.spared(
                call,
                ErrorCode::IdpInTrouble,
                "it has failed while this call waited",
            ));
        };
        let started = Instant::now();
        let outcome =
            tokio::time::timeout(STEP_LIMIT, work(Arc::clone(&self))).await.unwrap_or_else(|_| {
                Err(ConnectorFault::new(ErrorCode::IdpTimeout, "the step took too long"))
            });
        let (told, took) =
            (outcome.as_ref().map(|_| ()).map_err(|fault| fault.code), started.elapsed());
        self.surroundings.metrics.connector_call(&self.id, label(call), told, took);
        self.judge(call, told);
        log_turn(&self.id, pass.settle(told, network, took, env.now()));
        outcome
    }

    /// A place among the calls under way: at once, or after a short wait among few others.
    async fn room(&self) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), &'static str> {
        let place = Arc::clone(&self.places)
            .try_acquire_owned()
            .map_err(|_| "too many calls are under way and waiting")?;
        let turn = match Arc::clone(&self.calls).try_acquire_owned() {
            Ok(turn) => Ok(turn),
            Err(_) => match tokio::time::timeout(
                self.limits.wait,
                Arc::clone(&self.calls).acquire_owned(),
            )
            .await
            {
                Ok(Ok(turn)) => Ok(turn),
                Ok(Err(_)) | Err(_) => Err("no call under way has ended while this one waited"),
            },
        }?;
        Ok((turn, place))
    }

    /// Makes a call of the hub's own, beside all limits: where every other call hangs, this one still finds out.
    async fn probe(&self, probe: Probe) -> ProbeReport {
        let env = &self.surroundings.env;
        let started = Instant::now();
        let (call, asked) = match &probe {
            Probe::Documents => (Call::Probe, self.connector.probe()),
            Probe::Login { redirect_uri } => {
                (Call::LoginProbe, self.connector.probe_login(redirect_uri))
            }
        };
        let late = || Err(ConnectorFault::new(ErrorCode::IdpTimeout, "the probe took too long"));
        let outcome = tokio::time::timeout(PROBE_LIMIT, asked).await.unwrap_or_else(|_| late());
        let took = started.elapsed();
        let told = outcome.as_ref().map(|_| ()).map_err(|fault| fault.code);
        self.surroundings.metrics.connector_call(&self.id, label(call), told, took);
        let retry_after = outcome.as_ref().err().and_then(|fault| fault.retry_after);
        let found = match verdict(call, told) {
            Verdict::Well => ProbeOutcome::Succeeded,
            Verdict::Ill(code) => ProbeOutcome::Failed(code),
            Verdict::Neither => ProbeOutcome::Inconclusive,
        };
        let turn = match call {
            Call::LoginProbe => self.health.record_login_probe(found, took, env.now()),
            _ => self.health.record_documents(found, retry_after.is_some(), took, env.now()),
        };
        log_turn(&self.id, turn);
        let is_throttled = told == Err(ErrorCode::IdpThrottled);
        ProbeReport { retry_after: retry_after.or(is_throttled.then_some(UNSTATED_RETRY_AFTER)) }
    }

    fn judge(&self, call: Call, outcome: Result<(), ErrorCode>) {
        let judged = match (call, verdict(call, outcome)) {
            // Nobody waited.
            (Call::Warm | Call::Probe | Call::LoginProbe, _) | (_, Verdict::Neither) => return,
            (_, Verdict::Well) => Judged::Well,
            (_, Verdict::Ill(_)) => Judged::Ill,
        };
        self.surroundings.metrics.connector_judged(&self.id, judged);
    }

    /// A call that never began: counted, and no time of it is measured.
    fn spared(&self, call: Call, code: ErrorCode, why: &str) -> ConnectorFault {
        self.surroundings.metrics.connector_spared(&self.id, label(call), code);
        if !matches!(call, Call::Warm | Call::Probe | Call::LoginProbe) {
            self.surroundings.metrics.connector_judged(&self.id, Judged::Ill);
        }
        ConnectorFault::new(code, why)
    }
}

/// Writes one line for each change of the circuit.
pub(super) fn log_turn(connector: &ConnectorId, turn: Option<Turn>) {
    let Some(Turn { to, cause, tally, reasons }) = turn else { return };
    match cause {
        Some(cause) => {
            let reasons: Vec<_> = reasons
                .iter()
                .map(|(code, times)| format!("{} {times}", code.entry().code))
                .collect();
            tracing::error!(
                %connector, cause = cause.label(), failed = tally.ill, well = tally.well, reasons = reasons.join(", "),
                "circuit opened: the identity provider fails, and is not offered until a probe finds it working"
            );
        }
        None => {
            tracing::info!(%connector, circuit = to.label(), "circuit changed: the identity provider is offered again")
        }
    }
}

impl Actor for ConnectorActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.desk.surroundings.metrics.connector_begins(&self.desk.id);
        self.live = Some(Live::new(&self.desk.surroundings.metrics, ACTOR));
        // Metadata is fetched ahead of the first login; the start of the hub never waits for it.
        ctx.notify(Posted { message: Warm, at: Instant::now(), scope: Scope::default() });
    }
}

/// The way to a connector's actor. Cheap to clone.
#[derive(Clone)]
pub struct ConnectorHandle {
    address: Addr<ConnectorActor>,
    health: Arc<Health>,
    env: Env,
    patience: Duration,
}

impl ConnectorHandle {
    pub(super) fn is_alive(&self) -> bool {
        self.address.connected()
    }

    /// Read without a message: an actor in trouble need not answer to say so.
    #[must_use]
    pub const fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Whether it may be chosen now, as its last calls show.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.health.standing(self.env.now())
    }

    /// Sets the gauges of this connector.
    pub(super) fn report(&self, id: &ConnectorId, metrics: &Metrics) {
        let view = self.health.view(self.env.now());
        metrics.connector_breaker(id, view.condition.label(), &super::health::Condition::LABELS);
        metrics.connector_failure_ratio(id, view.tally.failure_ratio());
        if let Some(latency) = view.latency {
            for (quantile, within) in
                [("0.5", latency.p50), ("0.95", latency.p95), ("0.99", latency.p99)]
            {
                metrics.connector_latency(id, quantile, within);
            }
        }
    }

    /// # Errors
    /// The connector's fault; `IdpBusy` beyond its limits; `IdpInTrouble` while it is left alone; `IdpTimeout` if its
    /// actor says nothing in time; `Internal` if its actor has died.
    pub async fn begin(&self, departure: Departure) -> Result<AuthorizationRedirect, ConnectorFault> {
        self.ask(Begin(departure)).await
    }

    /// # Errors
    /// As for `begin`.
    pub async fn complete(
        &self,
        attempt: Attempt,
        arrival: Arrival,
        network: ClientNetwork,
    ) -> Result<Authentication, ConnectorFault> {
        self.ask(Complete(attempt, arrival, network)).await
    }

    /// Judges what was typed on the connector's own page.
    ///
    /// # Errors
    /// As for `begin`.
    pub async fn sign_in(&self, typed: Typed) -> Result<SignedIn, ConnectorFault> {
        self.ask(SignIn(typed)).await
    }

    /// # Errors
    /// As for `begin`.
    pub async fn end(&self, farewell: Farewell) -> Result<Option<Url>, ConnectorFault> {
        self.ask(End(farewell)).await
    }

    /// Makes a call of the hub's own, and records what it came to. Returns nothing of note if the actor has died.
    pub(super) async fn probe(&self, probe: Probe) -> ProbeReport {
        self.address.send(RunProbe(probe)).await.unwrap_or_default()
    }

    /// # Errors
    /// As for `begin`.
    pub async fn warm(&self) -> Result<(), ConnectorFault> {
        self.ask(Warm).await
    }

    async fn ask<M, T>(&self, message: M) -> Result<T, ConnectorFault>
    where
        M: Asked + Message<Result = Result<T, ConnectorFault>> + Send + 'static,
        T: Send + 'static,
    {
        match self
            .address
            .send(Posted { message, at: Instant::now(), scope: trace::current() })
            .timeout(self.patience)
            .await
        {
            Ok(outcome) => outcome,
            Err(MailboxError::Timeout) => Err(ConnectorFault::new(
                ErrorCode::IdpTimeout,
                "the connector's actor said nothing in time",
            )),
            Err(MailboxError::Closed) => Err(died()),
        }
    }
}

fn died() -> ConnectorFault {
    ConnectorFault::new(ErrorCode::Internal, "the connector's actor has died; it is being replaced")
}

#[cfg(test)]
mod tests;
