use super::super::trace::{Propagation, Sampling, Tracer};
use super::*;
use crate::env::{Env, Timestamp};
use crate::testing::env::{ManualClock, SeededEntropy};
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::time::Instant;

/// Collector that returns scripted responses, then success, and records the bodies.
#[derive(Clone, Default)]
struct Collector {
    answers: Arc<Mutex<VecDeque<Result<u64, ExportError>>>>,
    bodies: Arc<Mutex<Vec<serde_json::Value>>>,
}

#[async_trait]
impl SpanTransport for Collector {
    async fn send(&self, body: Vec<u8>) -> Result<u64, ExportError> {
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Ok(0));
        if answer.is_ok() {
            self.bodies.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
        }
        answer
    }
}

impl Collector {
    fn spans(&self) -> usize {
        let spans = |body: &serde_json::Value| {
            body.pointer("/resourceSpans/0/scopeSpans/0/spans").unwrap().as_array().unwrap().len()
        };
        self.bodies.lock().unwrap().iter().map(spans).sum()
    }
}

fn hub(room: usize, collector: &Collector) -> (Tracer, SpanQueue, SpanExporter, Arc<Metrics>) {
    let env = Env::new(
        Arc::new(ManualClock::at(Timestamp::from_seconds(1_800_000_000))),
        Arc::new(SeededEntropy::new(3)),
    );
    let metrics = Arc::new(Metrics::new().unwrap());
    let (queue, exporter) =
        span_queue(room, Resource::default(), Box::new(collector.clone()), &metrics);
    (
        Tracer::new(1.0, Sampling::HubRatio, Propagation::Disabled, queue.clone(), env),
        queue,
        exporter,
        metrics,
    )
}

fn count(metrics: &Metrics, outcome: &str) -> usize {
    let line = format!("passerelle_trace_spans_total{{outcome=\"{outcome}\"}} ");
    metrics.render().lines().find_map(|text| text.strip_prefix(&line)?.parse().ok()).unwrap_or(0)
}

const LONG: Duration = Duration::from_secs(600);

#[tokio::test(start_paused = true)]
async fn waiting_spans_are_sent_in_one_body_after_a_second() {
    let collector = Collector::default();
    let (tracer, _queue, exporter, metrics) = hub(100, &collector);
    tokio::spawn(exporter.run());
    for _ in 0..3 {
        drop(tracer.start_request(None));
    }
    tokio::time::sleep(BATCH_DELAY * 2).await;
    let bodies = collector.bodies.lock().unwrap().len();
    assert_eq!((bodies, collector.spans(), count(&metrics, EXPORTED)), (1, 3, 3));
}

#[tokio::test(start_paused = true)]
async fn with_a_dead_collector_spans_beyond_the_queue_are_dropped_and_counted() {
    let collector = Collector::default();
    collector
        .answers
        .lock()
        .unwrap()
        .extend((0..3).map(|_| Err(ExportError::Retryable("refused".into()))));
    let (tracer, queue, exporter, metrics) = hub(10, &collector);
    for _ in 0..25 {
        drop(tracer.start_request(None));
    }
    assert_eq!(count(&metrics, QUEUE_FULL), 15, "no more than the queue holds");
    tokio::spawn(exporter.run());
    tokio::time::sleep(MAX_RETRY_DELAY).await;
    assert_eq!(
        (collector.spans(), count(&metrics, EXPORTED)),
        (10, 10),
        "queued spans are sent when the collector is back"
    );
    drop(tracer.start_request(None));
    queue.flush(LONG).await;
    assert_eq!(count(&metrics, EXPORTED), 11, "their capacity is free again");
}

#[tokio::test(start_paused = true)]
async fn a_dead_collector_does_not_delay_the_shutdown() {
    let collector = Collector::default();
    collector
        .answers
        .lock()
        .unwrap()
        .extend((0..1000).map(|_| Err(ExportError::Retryable("refused".into()))));
    let (tracer, queue, exporter, metrics) = hub(10, &collector);
    tokio::spawn(exporter.run());
    drop(tracer.start_request(None));
    tokio::time::sleep(MAX_RETRY_DELAY).await;
    let began = Instant::now();
    queue.flush(LONG).await;
    assert!(began.elapsed() < MIN_RETRY_DELAY, "{:?}", began.elapsed());
    assert_eq!(count(&metrics, REJECTED), 1);
}

#[tokio::test(start_paused = true)]
async fn permanently_rejected_spans_are_dropped_at_once() {
    let collector = Collector::default();
    collector
        .answers
        .lock()
        .unwrap()
        .extend([Err(ExportError::Permanent("it answered with status 400".into())), Ok(2)]);
    let (tracer, queue, exporter, metrics) = hub(10, &collector);
    tokio::spawn(exporter.run());
    drop(tracer.start_request(None));
    queue.flush(LONG).await;
    assert_eq!(count(&metrics, REJECTED), 1);
    (0..3).for_each(|_| drop(tracer.start_request(None)));
    queue.flush(LONG).await;
    assert_eq!(
        (count(&metrics, REJECTED), count(&metrics, EXPORTED)),
        (3, 1),
        "a partial success counts the rejected spans"
    );
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_is_down_is_logged_once() {
    let collector = Collector::default();
    let down = || Err(ExportError::Retryable("refused".into()));
    collector.answers.lock().unwrap().extend([down(), down(), down(), Ok(0), down()]);
    let (tracer, queue, exporter, _metrics) = hub(10, &collector);
    let lines = crate::telemetry::log_format::tests::Lines::default();
    let _listening = tracing::dispatcher::set_default(&lines.dispatch());
    tokio::spawn(exporter.run());
    drop(tracer.start_request(None));
    tokio::time::sleep(MAX_RETRY_DELAY).await;
    drop(tracer.start_request(None));
    queue.flush(LONG).await;
    let messages: Vec<_> =
        lines.json().iter().map(|line| line["level"].as_str().unwrap().to_owned()).collect();
    assert_eq!(messages, ["WARN", "INFO", "WARN"], "down, up again, down again");
}
