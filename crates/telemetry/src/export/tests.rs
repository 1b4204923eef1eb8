use super::super::trace::{self, Propagation, Sampling, Tracer};
use super::*;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue as OtlpAttribute};
use opentelemetry_proto::tonic::trace::v1::Span as OtlpSpan;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_protocol::trace_context::TraceContext;
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::time::Instant;

/// Collector that returns scripted responses, then success, and records the bodies.
#[derive(Clone, Default)]
struct Collector {
    answers: Arc<Mutex<VecDeque<Result<usize, ExportError>>>>,
    bodies: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
}

#[async_trait]
impl SpanTransport for Collector {
    async fn send(&self, body: Vec<u8>) -> Result<usize, ExportError> {
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Ok(0));
        if answer.is_ok() {
            let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
            self.bodies.lock().unwrap().push(request);
        }
        answer
    }
}

impl Collector {
    fn spans(&self) -> usize {
        let bodies = self.bodies.lock().unwrap();
        bodies.iter().map(|body| body.resource_spans[0].scope_spans[0].spans.len()).sum()
    }
}

fn hub(room: usize, collector: &Collector) -> (Tracer, SpanQueue, BatchExporter, Arc<Metrics>) {
    let env = Env::new(
        Arc::new(ManualClock::at(Timestamp::from_seconds(1_800_000_000))),
        Arc::new(SeededEntropy::new(3)),
    );
    let metrics = Arc::new(Metrics::new().unwrap());
    let resource = vec![KeyValue::new("service.name", "hub")];
    let (queue, exporter) = span_queue(room, resource, Box::new(collector.clone()), &metrics);
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
async fn without_a_collector_spans_beyond_the_queue_are_dropped_and_counted() {
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
async fn an_unreachable_collector_does_not_delay_the_shutdown() {
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
    let lines = crate::testing::captured_log::Lines::default();
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

fn attribute(key: &str, value: Value) -> OtlpAttribute {
    OtlpAttribute { key: key.into(), value: Some(AnyValue { value: Some(value) }), key_strindex: 0 }
}

#[tokio::test(start_paused = true)]
async fn an_export_request_has_the_form_of_the_protocol() {
    let collector = Collector::default();
    let (tracer, queue, exporter, _metrics) = hub(10, &collector);
    tokio::spawn(exporter.run());
    let login =
        TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa01a902b7-01").unwrap();
    let caller = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-00";
    let mut request = tracer.start_request(Some(caller));
    request
        .run(async {
            trace::attach_login(&"7K2M9QX4T0BC".into(), Some(&login));
            let mut call = trace::start_call("GET");
            tokio::time::advance(Duration::from_millis(1)).await;
            call.fail_with("timeout");
        })
        .await;
    request.set_route("POST", Some("/api/v2/token".into()));
    request.set_status(200);
    drop(request);
    queue.flush(LONG).await;
    let body = collector.bodies.lock().unwrap().remove(0);
    let [exported] = body.resource_spans.try_into().unwrap();
    let text = |text: &str| Value::StringValue(text.to_owned());
    assert_eq!(exported.resource.unwrap().attributes, [attribute("service.name", text("hub"))]);
    let [scope_spans] = exported.scope_spans.try_into().unwrap();
    let scope = scope_spans.scope.unwrap();
    assert_eq!(
        (scope.name.as_str(), scope.version.as_str()),
        ("passerelle", env!("CARGO_PKG_VERSION"))
    );
    let [child, own] = scope_spans.spans.try_into().unwrap();
    assert_eq!((child.kind(), own.kind()), (SpanKind::Client, SpanKind::Server));
    assert_eq!((child.name.as_str(), own.name.as_str()), ("GET", "POST /api/v2/token"));
    let trace_id = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes();
    assert_eq!((&child.trace_id[..], &own.trace_id[..]), (&trace_id[..], &trace_id[..]));
    assert_eq!(child.parent_span_id, own.span_id);
    assert_eq!(own.parent_span_id, 0x00f0_67aa_01a9_02b7_u64.to_be_bytes());
    assert_eq!(child.start_time_unix_nano, 1_800_000_000_000_000_000);
    assert_eq!(child.end_time_unix_nano, 1_800_000_000_001_000_000);
    assert_eq!(child.attributes, [attribute("error.type", text("timeout"))]);
    let status = |span: &OtlpSpan| span.status.as_ref().map(|status| status.code());
    assert_eq!((status(&child), status(&own)), (Some(StatusCode::Error), Some(StatusCode::Unset)));
    assert_eq!(
        own.attributes,
        [
            attribute("http.request.method", text("POST")),
            attribute("http.route", text("/api/v2/token")),
            attribute("http.response.status_code", Value::IntValue(200)),
            attribute("passerelle.support_id", text("7K2M9QX4T0BC")),
        ]
    );
    let [link] = own.links.try_into().unwrap();
    assert_eq!((link.trace_id, link.span_id), (vec![0xaa; 16], vec![0xbb; 8]));
    assert!(child.links.is_empty());
}
