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
use crate::telemetry::Metrics;

/// Without a step for this long, an actor gives its memory back; the store keeps the login.
const IDLE: Duration = Duration::from_secs(15);

/// Steps of one login that may wait: more than any person's double clicks, too few to crowd others out.
const MOST_WAITING: usize = 8;

/// The actor's name in metrics.
const ACTOR: &str = "login";

pub(super) struct LoginActor {
    hash: InteractionHash,
    means: Arc<Means>,
    cached: Option<Cached>,
    /// Set while a step runs; others wait in `queue`.
    running: bool,
    queue: VecDeque<(BrowserStep, oneshot::Sender<Result<Reply, Ended>>)>,
    stepped: u64,
    /// From the actor's start to its end.
    live: Option<Live>,
}

/// Counts an actor as live until it is dropped, which a panic and a stopped arbiter do as well: those call no `stopped`.
struct Live {
    metrics: Arc<Metrics>,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It gave its memory back in peace.
    Asleep,
    /// It was cut off.
    Cut,
}

impl Live {
    fn new(metrics: &Arc<Metrics>) -> Self {
        metrics.actor_activated(ACTOR);
        Self { metrics: Arc::clone(metrics), end: End::Cut }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        match self.end {
            End::Asleep => self.metrics.actor_passivated(ACTOR),
            End::Cut => self.metrics.actor_stopped(ACTOR),
        }
    }
}

#[derive(Message)]
#[rtype(result = "Result<Reply, Ended>")]
pub(super) struct Take(pub BrowserStep);

impl LoginActor {
    pub(super) fn new(hash: InteractionHash, means: Arc<Means>) -> Self {
        Self { hash, means, cached: None, running: false, queue: VecDeque::new(), stepped: 0, live: None }
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
        let scope = step.scope.clone();
        let work = scope.run(async move { steps::drive(&means, &hash, cached, step).await });
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
                    live.end = End::Asleep;
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
        self.live = Some(Live::new(&self.means.metrics));
        self.passivate_when_idle(ctx);
    }
}

impl Handler<Take> for LoginActor {
    type Result = ResponseFuture<Result<Reply, Ended>>;

    fn handle(&mut self, Take(step): Take, ctx: &mut Self::Context) -> Self::Result {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Timestamp;

    #[test]
    fn an_actor_that_panics_is_not_counted_as_live() {
        let metrics = Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap());
        let (held, mut asleep) = (Live::new(&metrics), Live::new(&metrics));
        asleep.end = End::Asleep;
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _live = held;
            panic!("in a step");
        }));
        assert!(panicked.is_err());
        drop(asleep);
        let text = metrics.render();
        assert!(text.contains("passerelle_actors_live{actor=\"login\"} 0"), "{text}");
        assert!(text.contains("passerelle_actors_passivated_total{actor=\"login\"} 1"), "{text}");
    }
}
