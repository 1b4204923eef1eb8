//! Exports spans to a collector: a bounded queue, and a task that sends batches and retries.
//!
//! Requests never wait: spans that do not fit are counted and dropped. A collector that is down is
//! logged once. Does not transport the batches ([`SpanTransport`]). Why this is not the SDK's batch
//! processor: docs/design/adr/0018-own-span-recorder.md.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::trace::SpanData;
use prost::Message;
use tokio::sync::{Notify, Semaphore, SemaphorePermit, mpsc};
use tokio::time::timeout;

use super::metrics::Metrics;

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
    /// Sends one `ExportTraceServiceRequest`, and returns how many of its spans the collector
    /// rejected.
    ///
    /// # Errors
    /// Returns whether the same body may be sent again, and why. The text names a host at most.
    async fn send(&self, body: Vec<u8>) -> Result<usize, ExportError>;
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
    sender: mpsc::UnboundedSender<Vec<SpanData>>,
    state: Arc<QueueState>,
}

struct QueueState {
    capacity: u32,
    /// A permit for each span that fits.
    room: Semaphore,
    batch_ready: Notify,
    /// Ends the delay before a batch or a retry.
    flush_requested: Notify,
    is_flushing: AtomicBool,
    metrics: Arc<Metrics>,
}

/// Sends the spans of a [`SpanQueue`] to the collector.
pub struct BatchExporter {
    requests: mpsc::UnboundedReceiver<Vec<SpanData>>,
    queue: Arc<QueueState>,
    resource: ResourceAttributesWithSchema,
    transport: Box<dyn SpanTransport>,
    /// The last batch could not be sent.
    is_down: bool,
}

/// Creates a queue of at most `capacity` spans, and its exporter, to be [run](BatchExporter::run).
pub fn span_queue(
    capacity: usize,
    resource: Vec<KeyValue>,
    transport: Box<dyn SpanTransport>,
    metrics: &Arc<Metrics>,
) -> (SpanQueue, BatchExporter) {
    let (sender, requests) = mpsc::unbounded_channel();
    let capacity = u32::try_from(capacity).unwrap_or(u32::MAX);
    let state = Arc::new(QueueState {
        capacity,
        room: Semaphore::new(capacity as usize),
        batch_ready: Notify::new(),
        flush_requested: Notify::new(),
        is_flushing: AtomicBool::new(false),
        metrics: Arc::clone(metrics),
    });
    let queue = Arc::clone(&state);
    let resource = ResourceAttributesWithSchema { attributes: resource.into(), schema_url: None };
    (
        SpanQueue { sender, state },
        BatchExporter { requests, queue, resource, transport, is_down: false },
    )
}

impl SpanQueue {
    /// Adds the spans of a request, all or none. `lost` spans of it were already dropped.
    pub(super) fn enqueue(&self, spans: Vec<SpanData>, lost: usize) {
        let count = spans.len();
        let permits =
            u32::try_from(count).ok().and_then(|n| self.state.room.try_acquire_many(n).ok());
        let fits = permits.map(SemaphorePermit::forget).is_some();
        let is_queued = fits && self.sender.send(spans).is_ok();
        if self.state.is_batch_ready() {
            self.state.batch_ready.notify_one();
        }
        let lost = if is_queued { lost } else { lost + count };
        if lost > 0 {
            self.state.metrics.record_spans(QUEUE_FULL, lost);
        }
    }

    /// Waits until every queued span was tried once, or until `limit`.
    pub async fn flush(&self, limit: Duration) {
        if self.sender.is_closed() {
            return;
        }
        self.state.is_flushing.store(true, Ordering::Relaxed);
        self.state.flush_requested.notify_one();
        let _late = timeout(limit, self.state.room.acquire_many(self.state.capacity)).await;
        self.state.is_flushing.store(false, Ordering::Relaxed);
    }
}

impl QueueState {
    fn is_batch_ready(&self) -> bool {
        self.capacity as usize - self.room.available_permits() >= MAX_SPANS_PER_BATCH
    }

    fn is_flushing(&self) -> bool {
        self.is_flushing.load(Ordering::Relaxed)
    }
}

impl BatchExporter {
    /// Sends batches until every queue is dropped.
    pub async fn run(mut self) {
        while let Some(spans) = self.requests.recv().await {
            let batch = self.collect_batch(spans).await;
            let count = batch.len();
            let resource_spans = group_spans_by_resource_and_scope(batch, &self.resource);
            let body = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
            let rejected = self.send_with_retry(&body).await.map_or(count, |n| n.min(count));
            self.queue.metrics.record_spans(REJECTED, rejected);
            self.queue.metrics.record_spans(EXPORTED, count - rejected);
            self.queue.room.add_permits(count);
        }
    }

    /// Collects the spans of one request to the collector.
    async fn collect_batch(&mut self, mut batch: Vec<SpanData>) -> Vec<SpanData> {
        if !self.queue.is_batch_ready() && !self.queue.is_flushing() {
            let enough = async {
                tokio::select! {
                    () = self.queue.flush_requested.notified() => {}
                    () = self.queue.batch_ready.notified() => {}
                }
            };
            let _time_is_over = timeout(BATCH_DELAY, enough).await;
        }
        while batch.len() < MAX_SPANS_PER_BATCH
            && let Ok(spans) = self.requests.try_recv()
        {
            batch.extend(spans);
        }
        batch
    }

    /// Sends a body until the collector answers, once only while flushing. Returns how many spans
    /// the collector rejected; `None` for all.
    async fn send_with_retry(&mut self, body: &[u8]) -> Option<usize> {
        let mut delay = MIN_RETRY_DELAY;
        loop {
            match self.transport.send(body.to_vec()).await {
                Ok(rejected) => {
                    if std::mem::take(&mut self.is_down) {
                        tracing::info!("the trace collector accepts spans again");
                    }
                    return Some(rejected);
                }
                Err(ExportError::Permanent(why)) => {
                    self.log_failure(&why);
                    return None;
                }
                Err(ExportError::Retryable(why)) => self.log_failure(&why),
            }
            if self.queue.is_flushing() {
                return None;
            }
            // New spans wait in the bounded queue.
            let _flush = timeout(delay, self.queue.flush_requested.notified()).await;
            delay = (delay * 2).min(MAX_RETRY_DELAY);
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
}

#[cfg(test)]
mod tests;
