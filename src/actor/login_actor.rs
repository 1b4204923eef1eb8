//! One actor per login: a queue, so that steps of one login never overlap, and a cache of its record. It is never the
//! only copy (architecture, rule 2).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::live::Live;
use super::logins::{Ended, Reply};
use super::means::LoginServices;
use super::steps::{self, BrowserStep, Cached};
use crate::ids::InteractionHash;
use crate::protocol::catalogue::ErrorCode;

/// Without a step for this long, an actor gives its memory back; the store keeps the login.
const IDLE: Duration = Duration::from_secs(15);

/// Steps of one login that may wait: more than any person's double clicks, too few to crowd others out.
const MOST_WAITING: usize = 8;

/// The actor's name in metrics.
const ACTOR: &str = "login";

pub(super) struct LoginActor {
    hash: InteractionHash,
    means: Arc<LoginServices>,
    cached: Option<Cached>,
    /// Set while a step runs; others wait in `queue`.
    running: bool,
    queue: VecDeque<(BrowserStep, oneshot::Sender<Result<Reply, Ended>>)>,
    stepped: u64,
    /// From the actor's start to its end.
    live: Option<Live>,
}

#[derive(Message)]
#[rtype(result = "Result<Reply, Ended>")]
pub(super) struct Take {
    pub step: BrowserStep,
    pub sent: Instant,
}

impl LoginActor {
    pub(super) fn new(hash: InteractionHash, means: Arc<LoginServices>) -> Self {
        Self {
            hash,
            means,
            cached: None,
            running: false,
            queue: VecDeque::new(),
            stepped: 0,
            live: None,
        }
    }

    /// Runs the next step of the queue beside the mailbox. A duplicate that waited finds the state that the first
    /// one left, and the machine answers it alike.
    fn next(&mut self, ctx: &mut Context<Self>) {
        if self.running {
            return;
        }
        let Some((step, reply)) = self.queue.pop_front() else {
            return;
        };
        self.running = true;
        self.stepped += 1;
        let (means, hash, cached) =
            (Arc::clone(&self.means), self.hash.clone(), self.cached.take());
        let scope = step.scope.clone();
        // Boxed at once: it is large, and each wrapper would copy it.
        let work =
            scope.run(Box::pin(async move { steps::drive(&means, &hash, cached, step).await }));
        ctx.spawn(work.into_actor(self).map(move |(cached, outcome), actor, ctx| {
            actor.cached = cached;
            actor.running = false;
            // The requester may have gone; the step was taken all the same.
            let _gone = reply.send(outcome);
            actor.next(ctx);
        }));
    }

    fn passivate_when_idle(&self, ctx: &mut Context<Self>) {
        let stepped = self.stepped;
        ctx.run_later(IDLE, move |actor, ctx| {
            if actor.stepped == stepped && !actor.running && actor.queue.is_empty() {
                if let Some(live) = &mut actor.live {
                    live.falls_asleep();
                }
                ctx.stop();
            } else {
                actor.passivate_when_idle(ctx);
            }
        });
    }
}

impl Actor for LoginActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.live = Some(Live::new(&self.means.metrics, ACTOR));
        self.passivate_when_idle(ctx);
    }
}

impl Handler<Take> for LoginActor {
    type Result = ResponseFuture<Result<Reply, Ended>>;

    fn handle(&mut self, Take { step, sent }: Take, ctx: &mut Self::Context) -> Self::Result {
        self.means.metrics.actor_took(ACTOR, sent.elapsed());
        if self.queue.len() >= MOST_WAITING {
            return Box::pin(async { Err(Ended::Hub(ErrorCode::Busy)) });
        }
        if self.running {
            step.place.leave();
        }
        let (reply, answer) = oneshot::channel();
        self.queue.push_back((step, reply));
        self.next(ctx);
        Box::pin(async move { answer.await.unwrap_or(Err(Ended::Interrupted)) })
    }
}
