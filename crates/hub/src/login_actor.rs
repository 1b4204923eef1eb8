//! Runs one actor per login: a queue, so that steps of one login never overlap, and a cache of its
//! record. The store's record is authoritative (docs/design/architecture.md).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::live_actor::LiveActor;
use super::login_services::LoginServices;
use super::login_summary::{Reply, StepError};
use super::steps::{self, BrowserStep, CachedLogin};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::InteractionHash;

/// An actor without a step for this long passivates; the store keeps the login.
const PASSIVATE_AFTER: Duration = Duration::from_secs(15);

/// Maximum number of queued steps of one login: more than a user's double clicks, and few enough
/// not to starve others.
const MAX_QUEUED_STEPS: usize = 8;

/// The actor's name in metrics.
const ACTOR: &str = "login";

/// Actor of one login.
pub(super) struct LoginActor {
    hash: InteractionHash,
    services: Arc<LoginServices>,
    cached: Option<CachedLogin>,
    /// Whether a step is running. Others wait in `queue`.
    running: bool,
    queue: VecDeque<(BrowserStep, oneshot::Sender<Result<Reply, StepError>>)>,
    steps_taken: u64,
    /// Set while the actor runs.
    live: Option<LiveActor>,
}

/// Message that runs a step.
#[derive(Message)]
#[rtype(result = "Result<Reply, StepError>")]
pub(super) struct RunStep {
    pub step: BrowserStep,
    pub sent: Instant,
}

impl LoginActor {
    /// Creates the actor, without its login.
    pub(super) fn new(hash: InteractionHash, services: Arc<LoginServices>) -> Self {
        Self {
            hash,
            services,
            cached: None,
            running: false,
            queue: VecDeque::new(),
            steps_taken: 0,
            live: None,
        }
    }

    /// Runs the next step of the queue outside the mailbox. A duplicate finds the state that the
    /// first one left, and gets the same answer.
    fn run_next(&mut self, ctx: &mut Context<Self>) {
        if self.running {
            return;
        }
        let Some((step, reply)) = self.queue.pop_front() else {
            return;
        };
        self.running = true;
        self.steps_taken += 1;
        let (services, hash, cached) =
            (Arc::clone(&self.services), self.hash.clone(), self.cached.take());
        let scope = step.scope.clone();
        // Boxed here: the future is large, and each wrapper would copy it.
        let work = scope.run(Box::pin(async move {
            steps::run_browser_step(&services, &hash, cached, step).await
        }));
        ctx.spawn(work.into_actor(self).map(move |(cached, outcome), actor, ctx| {
            actor.cached = cached;
            actor.running = false;
            // The requester may be gone; the step has run all the same.
            let _gone = reply.send(outcome);
            actor.run_next(ctx);
            if actor.is_completed() {
                actor.passivate(ctx);
            }
        }));
    }

    /// Returns whether the login is completed and no step is queued: there is nothing left to cache.
    fn is_completed(&self) -> bool {
        let is_completed = |cached: &CachedLogin| cached.login.is_completed();
        !self.running && self.queue.is_empty() && self.cached.as_ref().is_some_and(is_completed)
    }

    /// Stops the actor; the store keeps the login.
    fn passivate(&mut self, ctx: &mut Context<Self>) {
        if let Some(live) = &mut self.live {
            live.mark_passivated();
        }
        ctx.stop();
    }

    fn passivate_when_idle(&self, ctx: &mut Context<Self>) {
        let stepped = self.steps_taken;
        ctx.run_later(PASSIVATE_AFTER, move |actor, ctx| {
            if actor.steps_taken == stepped && !actor.running && actor.queue.is_empty() {
                actor.passivate(ctx);
            } else {
                actor.passivate_when_idle(ctx);
            }
        });
    }
}

impl Actor for LoginActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.live = Some(LiveActor::new(&self.services.core.metrics, ACTOR));
        self.passivate_when_idle(ctx);
    }
}

impl Handler<RunStep> for LoginActor {
    type Result = ResponseFuture<Result<Reply, StepError>>;

    fn handle(&mut self, RunStep { step, sent }: RunStep, ctx: &mut Self::Context) -> Self::Result {
        self.services.core.metrics.record_mailbox_delay(ACTOR, sent.elapsed());
        if self.queue.len() >= MAX_QUEUED_STEPS {
            return Box::pin(async { Err(StepError::Hub(ErrorCode::Busy)) });
        }
        if self.running {
            step.permit.release_slot();
        }
        let (reply, answer) = oneshot::channel();
        self.queue.push_back((step, reply));
        self.run_next(ctx);
        Box::pin(async move { answer.await.unwrap_or(Err(StepError::Interrupted)) })
    }
}
