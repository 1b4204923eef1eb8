//! One actor per login: a queue, so that steps of one login never overlap, and a cache of its record. It is never the
//! only copy (architecture, rule 2).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;

use super::logins::{Ended, Reply};
use super::means::Means;
use super::steps::{self, BrowserStep, Cached};
use crate::ids::InteractionHash;
use crate::protocol::catalogue::ErrorCode;

/// Without a step for this long, an actor gives its memory back; the store keeps the login.
const IDLE: Duration = Duration::from_secs(15);

/// Steps of one login that may wait: more than any person's double clicks, too few to crowd others out.
const MOST_WAITING: usize = 8;

pub(super) struct LoginActor {
    hash: InteractionHash,
    means: Arc<Means>,
    cached: Option<Cached>,
    /// Set while a step runs; others wait in `queue`.
    running: bool,
    queue: VecDeque<(BrowserStep, oneshot::Sender<Result<Reply, Ended>>)>,
    stepped: u64,
}

#[derive(Message)]
#[rtype(result = "Result<Reply, Ended>")]
pub(super) struct Take(pub BrowserStep);

impl LoginActor {
    pub(super) fn new(hash: InteractionHash, means: Arc<Means>) -> Self {
        Self { hash, means, cached: None, running: false, queue: VecDeque::new(), stepped: 0 }
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
        let (means, hash, cached) = (Arc::clone(&self.means), self.hash.clone(), self.cached.take());
        let work = async move { steps::drive(&means, &hash, cached, step).await };
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
        self.means.metrics.actor_activated("login");
        self.passivate_when_idle(ctx);
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.means.metrics.actor_passivated("login");
    }
}

impl Handler<Take> for LoginActor {
    type Result = ResponseFuture<Result<Reply, Ended>>;

    fn handle(&mut self, Take(step): Take, ctx: &mut Self::Context) -> Self::Result {
        if self.queue.len() >= MOST_WAITING {
            return Box::pin(async { Err(Ended::Hub(ErrorCode::Busy)) });
        }
        let (reply, answer) = oneshot::channel();
        self.queue.push_back((step, reply));
        self.next(ctx);
        Box::pin(async move { answer.await.unwrap_or(Err(Ended::Interrupted)) })
    }
}
