//! Exports spans to a collector: a bounded queue, and a task that sends batches and retries.
//!
//! Requests never wait: spans that do not fit are counted and dropped. A collector that is down is
//! logged once. Does not encode ([`super::otlp`]) or transport ([`SpanTransport`]) the batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;

use super::finished_span::SpanBatch;
use super::metrics::Metrics;
use super::otlp::{self, Resource};

/// Spans in one request, approximately.
const MAX_SPANS_PER_BATCH: usize = 512;
/// Longest time that spans wait for a full batch.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// First and longest delay before a retry.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

// Outcomes of a span: labels of one metric.
const EXPORTED: &str = "exported";
const QUEUE_FULL: &str = "queue_full";
const REJECTED: &str = "rejected";

/// Transport of encoded spans to the collector.
#[async_trait]
pub trait SpanTransport: Send + Sync {
    /// Sends one request body, and returns how many of its spans the collector rejected.
    ///
    /// # Errors
    /// Returns whether the same body may be sent again, and why. The text names a host at most.
    async fn send(&self, body: Vec<u8>) -> Result<u64, ExportError>;
}

/// Error returned when a batch could not be exported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExportError {
    /// The collector is down or busy (OTLP 1.5, "Failures": 429, 502, 503, 504, or no response).
    Retryable(String),
    /// The collector will never accept this batch.
    Permanent(String),
}

/// Bounded queue of finished spans. Cheap to clone.
#[derive(Clone)]
pub struct SpanQueue {
    sender: mpsc::UnboundedSender<QueueItem>,
    waiting: Arc<AtomicUsize>,
    /// A flush is waiting: ends a retry delay.
    flush_requested: Arc<Notify>,
    /// A full batch is waiting.
    batch_ready: Arc<Notify>,
    capacity: usize,
    metrics: Arc<Metrics>,
}

enum QueueItem {
    Spans(SpanBatch),
    Flush(oneshot::Sender<()>),
}

/// Sends the spans of a [`SpanQueue`] to the collector.
pub struct SpanExporter {
    jobs: mpsc::UnboundedReceiver<QueueItem>,
    waiting: Arc<AtomicUsize>,
    flush_requested: Arc<Notify>,
    batch_ready: Arc<Notify>,
    metrics: Arc<Metrics>,
    resource: Resource,
    transport: Box<dyn SpanTransport>,
    /// The last batch could not be sent.
    is_down: bool,
}

/// Creates a queue of at most `room` spans, and its exporter, to be [run](SpanExporter::run).
#[must_use]
pub fn span_queue(
    room: usize,
    resource: Resource,
    transport: Box<dyn SpanTransport>,
    metrics: &Arc<Metrics>,
) -> (SpanQueue, SpanExporter) {
    let (sender, jobs) = mpsc::unbounded_channel();
    let (waiting, metrics) = (Arc::new(AtomicUsize::new(0)), Arc::clone(metrics));
    let (flush_requested, batch_ready) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let queue = SpanQueue {
        sender,
        waiting: Arc::clone(&waiting),
        flush_requested: Arc::clone(&flush_requested),
        batch_ready: Arc::clone(&batch_ready),
        capacity: room,
        metrics: Arc::clone(&metrics),
    };
    (
        queue,
        SpanExporter {
            jobs,
            waiting,
            flush_requested,
            batch_ready,
            metrics,
            resource,
            transport,
            is_down: false,
        },
    )
}

impl SpanQueue {
    /// Adds a batch. `lost` spans of the same request were already dropped.
    pub(super) fn enqueue(&self, batch: SpanBatch, lost: usize) {
        let count = batch.spans.len();
        let room = |waiting: usize| (waiting + count <= self.capacity).then_some(waiting + count);
        let before = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok();
        let taken = before.is_some() && self.sender.send(QueueItem::Spans(batch)).is_ok();
        if before.is_some_and(|before| {
            before < MAX_SPANS_PER_BATCH && before + count >= MAX_SPANS_PER_BATCH
        }) {
            self.batch_ready.notify_one();
        }
        let lost = if taken { lost } else { lost + count };
        if lost > 0 {
            self.metrics.record_spans(QUEUE_FULL, lost);
        }
    }

    /// Waits until every queued span was tried once, or until `limit`.
    pub async fn flush(&self, limit: Duration) {
        let (done, flushed) = oneshot::channel();
        if self.sender.send(QueueItem::Flush(done)).is_ok() {
            self.flush_requested.notify_one();
            let _late = timeout(limit, flushed).await;
        }
    }
}

impl SpanExporter {
    /// Sends batches until every queue is dropped.
    pub async fn run(mut self) {
        let mut pause = MIN_RETRY_DELAY;
        while let Some(first) = self.jobs.recv().await {
            let (batches, flush) = self.collect_batch(first).await;
            let mut last_try = flush.is_some();
            while !batches.is_empty() && !self.send_batches(&batches).await {
                if last_try {
                    self.finish_batches(&batches, REJECTED);
                    break;
                }
                // New spans wait in the bounded queue.
                last_try = timeout(pause, self.flush_requested.notified()).await.is_ok();
                pause = (pause * 2).min(MAX_RETRY_DELAY);
            }
            if !self.is_down {
                pause = MIN_RETRY_DELAY;
            }
            if let Some(done) = flush {
                let _receiver_gone = done.send(());
            }
        }
    }

    /// Collects the batches of one request, and the flush that waits for them.
    async fn collect_batch(
        &mut self,
        first: QueueItem,
    ) -> (Vec<SpanBatch>, Option<oneshot::Sender<()>>) {
        let (mut batches, mut count) = (Vec::new(), 0);
        if matches!(first, QueueItem::Spans(_))
            && self.waiting.load(Ordering::Relaxed) < MAX_SPANS_PER_BATCH
        {
            let enough = async {
                tokio::select! {
                    () = self.flush_requested.notified() => {}
                    () = self.batch_ready.notified() => {}
                }
            };
            let _time_is_over = timeout(BATCH_DELAY, enough).await;
        }
        let mut next = Some(first);
        while let Some(job) = next {
            match job {
                QueueItem::Flush(done) => return (batches, Some(done)),
                QueueItem::Spans(batch) => {
                    count += batch.spans.len();
                    batches.push(batch);
                }
            }
            if count >= MAX_SPANS_PER_BATCH {
                break;
            }
            next = self.jobs.try_recv().ok();
        }
        (batches, None)
    }

    /// Sends the batches; returns false if they should be retried.
    async fn send_batches(&mut self, batches: &[SpanBatch]) -> bool {
        let body = match otlp::encode_request(&self.resource, batches) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(%error, "spans can't be encoded");
                self.finish_batches(batches, REJECTED);
                return true;
            }
        };
        match self.transport.send(body).await {
            Ok(rejected) => {
                if std::mem::take(&mut self.is_down) {
                    tracing::info!("the trace collector accepts spans again");
                }
                let rejected =
                    usize::try_from(rejected).unwrap_or(usize::MAX).min(span_count(batches));
                self.metrics.record_spans(REJECTED, rejected);
                self.metrics.record_spans(EXPORTED, span_count(batches) - rejected);
                self.release_capacity(batches);
                true
            }
            Err(ExportError::Permanent(why)) => {
                self.log_failure(&why);
                self.finish_batches(batches, REJECTED);
                true
            }
            Err(ExportError::Retryable(why)) => {
                self.log_failure(&why);
                false
            }
        }
    }

    fn log_failure(&mut self, why: &str) {
        if !std::mem::replace(&mut self.is_down, true) {
            tracing::warn!(
                why,
                "the trace collector does not accept spans; those that exceed the queue are dropped and counted"
            );
        }
    }

    fn finish_batches(&self, batches: &[SpanBatch], outcome: &str) {
        self.metrics.record_spans(outcome, span_count(batches));
        self.release_capacity(batches);
    }

    fn release_capacity(&self, batches: &[SpanBatch]) {
        self.waiting.fetch_sub(span_count(batches), Ordering::Relaxed);
    }
}

fn span_count(batches: &[SpanBatch]) -> usize {
    batches.iter().map(|batch| batch.spans.len()).sum()
}

#[cfg(test)]
mod tests;
