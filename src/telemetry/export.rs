//! L1 · Spans on their way to a collector: a bounded queue, and a task that empties it beside everything else.
//!
//! Owns: when to send, what happens to spans that can't be sent. Must not know: how a body travels ([`Transport`]), nor what
//! it looks like ([`super::otlp`]). Nobody ever waits here: where there is no room spans are counted and let go, and a
//! collector that is down is told of in the log once, not for each span.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;

use super::Metrics;
use super::otlp::{self, Resource};
use super::trace::Batch;

/// So many spans travel in one body.
const MOST_AT_ONCE: usize = 512;
/// Spans that wait are sent after this time, if they are not enough for a body before.
const GATHER: Duration = Duration::from_secs(1);
/// After a body that could not be sent, the first and the longest pause.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What became of a span; labels of one metric.
const EXPORTED: &str = "exported";
const NO_ROOM: &str = "no_room";
const REFUSED: &str = "refused";

/// How a body reaches the collector.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Gives how many of its spans the collector did not take.
    /// # Errors
    /// Whether the same body may be sent again, and why it was not taken. The text names a host at most.
    async fn send(&self, body: Vec<u8>) -> Result<u64, Undelivered>;
}

/// Why a body was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Undelivered {
    /// The collector is down or busy (OTLP 1.5, "Failures": 429, 502, 503, 504, or no answer).
    ForNow(String),
    /// It will never take this.
    ForGood(String),
}

/// Where finished requests leave their spans. Cheap to clone.
#[derive(Clone)]
pub struct Queue {
    sender: mpsc::UnboundedSender<Job>,
    waiting: Arc<AtomicUsize>,
    /// Somebody waits for a flush: no pause is worth that.
    hurry: Arc<Notify>,
    /// As much waits as goes into one body.
    enough: Arc<Notify>,
    room: usize,
    metrics: Arc<Metrics>,
}

enum Job {
    Spans(Batch),
    Flush(oneshot::Sender<()>),
}

/// The other end of a [`Queue`].
pub struct Exporter {
    jobs: mpsc::UnboundedReceiver<Job>,
    waiting: Arc<AtomicUsize>,
    hurry: Arc<Notify>,
    enough: Arc<Notify>,
    metrics: Arc<Metrics>,
    resource: Resource,
    transport: Box<dyn Transport>,
    /// The last body was not taken.
    down: bool,
}

/// A queue with room for so many spans, and what empties it once it [runs](Exporter::run).
#[must_use]
pub fn queue(
    room: usize,
    resource: Resource,
    transport: Box<dyn Transport>,
    metrics: &Arc<Metrics>,
) -> (Queue, Exporter) {
    let (sender, jobs) = mpsc::unbounded_channel();
    let (waiting, metrics) = (Arc::new(AtomicUsize::new(0)), Arc::clone(metrics));
    let (hurry, enough) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let queue = Queue {
        sender,
        waiting: Arc::clone(&waiting),
        hurry: Arc::clone(&hurry),
        enough: Arc::clone(&enough),
        room,
        metrics: Arc::clone(&metrics),
    };
    (queue, Exporter { jobs, waiting, hurry, enough, metrics, resource, transport, down: false })
}

impl Queue {
    /// `lost` spans of the same request are gone already.
    pub(super) fn offer(&self, batch: Batch, lost: usize) {
        let count = batch.spans.len();
        let room = |waiting: usize| (waiting + count <= self.room).then_some(waiting + count);
        let before = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok();
        let taken = before.is_some() && self.sender.send(Job::Spans(batch)).is_ok();
        if before.is_some_and(|before| before < MOST_AT_ONCE && before + count >= MOST_AT_ONCE) {
            self.enough.notify_one();
        }
        let lost = if taken { lost } else { lost + count };
        if lost > 0 {
            self.metrics.spans(NO_ROOM, lost);
        }
    }

    /// Comes back when all that waits was tried once, or `limit` is over.
    pub async fn flush(&self, limit: Duration) {
        let (done, flushed) = oneshot::channel();
        if self.sender.send(Job::Flush(done)).is_ok() {
            self.hurry.notify_one();
            let _late = timeout(limit, flushed).await;
        }
    }
}

impl Exporter {
    /// Ends when every queue is gone and what waited was tried once.
    pub async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        while let Some(first) = self.jobs.recv().await {
            let (batches, flush) = self.gather(first).await;
            let mut last_try = flush.is_some();
            while !batches.is_empty() && !self.deliver(&batches).await {
                if last_try {
                    self.settle(&batches, REFUSED);
                    break;
                }
                // What comes meanwhile waits in its bounded queue.
                last_try = timeout(pause, self.hurry.notified()).await.is_ok();
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            if !self.down {
                pause = FIRST_PAUSE;
            }
            if let Some(done) = flush {
                let _nobody_waits = done.send(());
            }
        }
    }

    /// What goes into one body, and who waits for it. What comes meanwhile wakes nobody: it is taken together afterwards.
    async fn gather(&mut self, first: Job) -> (Vec<Batch>, Option<oneshot::Sender<()>>) {
        let (mut batches, mut count) = (Vec::new(), 0);
        if matches!(first, Job::Spans(_)) && self.waiting.load(Ordering::Relaxed) < MOST_AT_ONCE {
            let enough = async {
                tokio::select! {
                    () = self.hurry.notified() => {}
                    () = self.enough.notified() => {}
                }
            };
            let _time_is_over = timeout(GATHER, enough).await;
        }
        let mut next = Some(first);
        while let Some(job) = next {
            match job {
                Job::Flush(done) => return (batches, Some(done)),
                Job::Spans(batch) => {
                    count += batch.spans.len();
                    batches.push(batch);
                }
            }
            if count >= MOST_AT_ONCE {
                break;
            }
            next = self.jobs.try_recv().ok();
        }
        (batches, None)
    }

    /// True if these batches are done with, taken or not.
    async fn deliver(&mut self, batches: &[Batch]) -> bool {
        let body = match otlp::body(&self.resource, batches) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(%error, "spans can't be written");
                self.settle(batches, REFUSED);
                return true;
            }
        };
        match self.transport.send(body).await {
            Ok(rejected) => {
                if std::mem::take(&mut self.down) {
                    tracing::info!("the trace collector takes spans again");
                }
                let rejected = usize::try_from(rejected).unwrap_or(usize::MAX).min(spans(batches));
                self.metrics.spans(REFUSED, rejected);
                self.metrics.spans(EXPORTED, spans(batches) - rejected);
                self.leave(batches);
                true
            }
            Err(Undelivered::ForGood(why)) => {
                self.tell(&why);
                self.settle(batches, REFUSED);
                true
            }
            Err(Undelivered::ForNow(why)) => {
                self.tell(&why);
                false
            }
        }
    }

    fn tell(&mut self, why: &str) {
        if !std::mem::replace(&mut self.down, true) {
            tracing::warn!(
                why,
                "the trace collector does not take spans; those that find no room are counted and let go"
            );
        }
    }

    fn settle(&self, batches: &[Batch], outcome: &str) {
        self.metrics.spans(outcome, spans(batches));
        self.leave(batches);
    }

    fn leave(&self, batches: &[Batch]) {
        self.waiting.fetch_sub(spans(batches), Ordering::Relaxed);
    }
}

fn spans(batches: &[Batch]) -> usize {
    batches.iter().map(|batch| batch.spans.len()).sum()
}

#[cfg(test)]
mod tests;
