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

use self::asked::{Asked, Begin, Complete, End, Posted, SignIn, Warm};
use self::names::{label, span_name};
use super::health::{Call, Health, PROBE_LIMIT, Standing, Turn, Verdict, verdict};
use super::live::Live;
use crate::client_network::ClientNetwork;
use crate::connector::own_page::{SignedIn, Typed};
use crate::connector::{Connector, ConnectorFault};
use crate::env::Env;
use crate::ids::ConnectorId;
use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, Farewell, Left};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::trace::{self, Party, Scope};
use crate::telemetry::{Judged, Metrics};

/// The actor's name in metrics.
const ACTOR: &str = "connector";

/// The longest that one upstream step may take: token, keys and userinfo, six seconds each (decisions 10).
const STEP_LIMIT: Duration = PROBE_LIMIT;

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

/// What all connector actors have of their hub.
#[derive(Clone)]
pub struct Surroundings {
    pub env: Env,
    pub metrics: Arc<Metrics>,
}

pub struct ConnectorActor {
    desk: Arc<Desk>,
    /// A probe is under way, or will be.
    probing: bool,
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
        Self { desk: Arc::new(Desk { id, connector, limits, calls, places, health, surroundings }), probing: false, live: None }
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
        scope: Scope,
        work: impl FnOnce(Arc<Desk>) -> F + 'static,
    ) -> ResponseActFuture<Self, Result<T, ConnectorFault>>
    where
        T: 'static,
        F: Future<Output = Result<T, ConnectorFault>> + 'static,
    {
        let desk = Arc::clone(&self.desk);
        let asked = scope.run(desk.ask(call, work));
        Box::pin(asked.into_actor(self).map(|outcome, actor, ctx| {
            actor.watch(ctx);
            outcome
        }))
    }

    /// Sees to it that an identity provider that is left alone is asked by us, not by people, whether it is back.
    fn watch(&mut self, ctx: &mut Context<Self>) {
        let Some(wait) = self.desk.health.probe_in(self.desk.surroundings.env.now()) else { return };
        // Whoever waits to probe is kept alive by it: an actor that nobody can reach any more lets go.
        if self.probing || !ctx.connected() {
            return;
        }
        self.probing = true;
        ctx.run_later(wait, |actor, ctx| {
            let desk = Arc::clone(&actor.desk);
            ctx.spawn(async move { desk.probe().await }.into_actor(actor).map(|(), actor, ctx| {
                actor.probing = false;
                actor.watch(ctx);
            }));
        });
    }
}

impl Desk {
    async fn ask<T, F>(self: Arc<Self>, call: Call, work: impl FnOnce(Arc<Self>) -> F) -> Result<T, ConnectorFault>
    where
        F: Future<Output = Result<T, ConnectorFault>>,
    {
        let mut span = trace::span(span_name(call)).to(Party::IdentityProvider);
        span.connector(&self.id);
        let outcome = span.run(self.admit(call, work)).await;
        if let Err(fault) = &outcome {
            span.refused(fault.code);
        }
        outcome
    }

    async fn admit<T, F>(self: Arc<Self>, call: Call, work: impl FnOnce(Arc<Self>) -> F) -> Result<T, ConnectorFault>
    where
        F: Future<Output = Result<T, ConnectorFault>>,
    {
        let env = &self.surroundings.env;
        // Before anything is waited for.
        if self.health.refuses(call, env.now()) {
            return Err(self.spared(call, ErrorCode::IdpInTrouble, "it has failed several times and is left alone for a moment"));
        }
        // The one call that nobody waits for takes no place from those that somebody does.
        let _room = match call {
            Call::Warm | Call::Probe => None,
            Call::Begin | Call::Complete | Call::SignIn | Call::End => {
                Some(self.room().await.map_err(|why| self.spared(call, ErrorCode::IdpBusy, why))?)
            }
        };
        let Some(pass) = self.health.admit(call, env.now()) else {
            return Err(self.spared(call, ErrorCode::IdpInTrouble, "it has failed while this call waited"));
        };
        let started = Instant::now();
        let outcome = tokio::time::timeout(STEP_LIMIT, work(Arc::clone(&self)))
            .await
            .unwrap_or_else(|_| Err(ConnectorFault::new(ErrorCode::IdpTimeout, "the step took too long")));
        let (told, took) = (outcome.as_ref().map(|_| ()).map_err(|fault| fault.code), started.elapsed());
        self.surroundings.metrics.connector_call(&self.id, label(call), told, took);
        self.judge(call, told);
        self.tell(pass.settle(told, took, env.now()));
        outcome
    }

    /// A place among the calls under way: at once, or after a short wait among few others.
    async fn room(&self) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), &'static str> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| "too many calls are under way and waiting")?;
        let turn = match Arc::clone(&self.calls).try_acquire_owned() {
            Ok(turn) => Ok(turn),
            Err(_) => match tokio::time::timeout(self.limits.wait, Arc::clone(&self.calls).acquire_owned()).await {
                Ok(Ok(turn)) => Ok(turn),
                Ok(Err(_)) | Err(_) => Err("no call under way has ended while this one waited"),
            },
        }?;
        Ok((turn, place))
    }

    /// Beside all limits: where every call hangs, this one still finds out when that is over.
    async fn probe(&self) {
        let env = &self.surroundings.env;
        let Some(pass) = self.health.admit(Call::Probe, env.now()) else { return };
        let started = Instant::now();
        let outcome = tokio::time::timeout(PROBE_LIMIT, self.connector.probe()).await;
        let told = outcome.map_or(Err(ErrorCode::IdpTimeout), |asked| asked.map_err(|fault| fault.code));
        self.surroundings.metrics.connector_call(&self.id, label(Call::Probe), told, started.elapsed());
        self.tell(pass.settle(told, started.elapsed(), env.now()));
    }

    fn judge(&self, call: Call, outcome: Result<(), ErrorCode>) {
        let judged = match (call, verdict(call, outcome)) {
            // Nobody waited.
            (Call::Warm | Call::Probe, _) | (_, Verdict::Neither) => return,
            (_, Verdict::Well) => Judged::Well,
            (_, Verdict::Ill(_)) => Judged::Ill,
        };
        self.surroundings.metrics.connector_judged(&self.id, judged);
    }

    /// A call that never began: counted, and no time of it is measured.
    fn spared(&self, call: Call, code: ErrorCode, why: &str) -> ConnectorFault {
        self.surroundings.metrics.connector_spared(&self.id, label(call), code);
        if !matches!(call, Call::Warm | Call::Probe) {
            self.surroundings.metrics.connector_judged(&self.id, Judged::Ill);
        }
        ConnectorFault::new(code, why)
    }

    /// One line for each change of the circuit.
    fn tell(&self, turn: Option<Turn>) {
        let Some(Turn { to, tally, reasons, pause }) = turn else { return };
        let connector = &self.id;
        match pause {
            Some(pause) => {
                let reasons: Vec<_> = reasons.iter().map(|(code, times)| format!("{} {times}", code.entry().code)).collect();
                tracing::error!(
                    %connector, failed = tally.ill, well = tally.well, reasons = reasons.join(", "), pause_seconds = pause.as_secs(),
                    "an identity provider fails and is left alone; people are told so, and it is asked again"
                );
            }
            None => tracing::info!(%connector, circuit = to.label(), "an identity provider that failed may be used again"),
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
        // Its predecessor may have left it in trouble.
        self.watch(ctx);
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
            for (quantile, within) in [("0.5", latency.p50), ("0.95", latency.p95), ("0.99", latency.p99)] {
                metrics.connector_latency(id, quantile, within);
            }
        }
    }

    /// # Errors
    /// The connector's fault; `IdpBusy` beyond its limits; `IdpInTrouble` while it is left alone; `IdpTimeout` if its
    /// actor says nothing in time; `Internal` if its actor has died.
    pub async fn begin(&self, departure: Departure) -> Result<Left, ConnectorFault> {
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
        match self.address.send(Posted { message, at: Instant::now(), scope: trace::current() }).timeout(self.patience).await {
            Ok(outcome) => outcome,
            Err(MailboxError::Timeout) => {
                Err(ConnectorFault::new(ErrorCode::IdpTimeout, "the connector's actor said nothing in time"))
            }
            Err(MailboxError::Closed) => Err(died()),
        }
    }
}

fn died() -> ConnectorFault {
    ConnectorFault::new(ErrorCode::Internal, "the connector's actor has died; it is being replaced")
}

#[cfg(test)]
#[path = "connector_tests.rs"]
mod tests;
