use super::super::Metrics;
use super::super::export::{self, ExportError, SpanQueue, SpanTransport};
use super::recording::MAX_SPANS_PER_REQUEST;
use super::*;
use async_trait::async_trait;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span as OtlpSpan;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use prost::Message;
use serde_json::{Value as Json, json};
use std::sync::Mutex;

#[derive(Clone, Default)]
struct FakeCollector(Arc<Mutex<Vec<Json>>>);

#[async_trait]
impl SpanTransport for FakeCollector {
    async fn send(&self, body: Vec<u8>) -> Result<usize, ExportError> {
        let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
        let spans = &request.resource_spans[0].scope_spans[0].spans;
        self.0.lock().unwrap().extend(spans.iter().map(json_span));
        Ok(0)
    }
}

fn json_span(span: &OtlpSpan) -> Json {
    let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let links = span.links.iter().map(|link| json!({ "traceId": hex(&link.trace_id) }));
    json!({
        "traceId": hex(&span.trace_id),
        "spanId": hex(&span.span_id),
        "parentSpanId": hex(&span.parent_span_id),
        "name": span.name,
        "attributes": format!("{:?}", span.attributes),
        "links": links.collect::<Vec<_>>(),
    })
}

struct Hub {
    tracer: Tracer,
    queue: SpanQueue,
    collector: FakeCollector,
}

impl Hub {
    fn with(ratio: f64, sampling: Sampling, propagation: Propagation) -> Self {
        let env = Env::new(
            Arc::new(ManualClock::at(Timestamp::from_seconds(1_800_000_000))),
            Arc::new(SeededEntropy::new(5)),
        );
        let metrics = Arc::new(Metrics::new().unwrap());
        let collector = FakeCollector::default();
        let (queue, exporter) =
            export::span_queue(100_000, Vec::new(), Box::new(collector.clone()), &metrics);
        tokio::spawn(exporter.run());
        Self {
            tracer: Tracer::new(ratio, sampling, propagation, queue.clone(), env),
            queue,
            collector,
        }
    }

    async fn spans(&self) -> Vec<Json> {
        self.queue.flush(Duration::from_secs(10)).await;
        std::mem::take(&mut *self.collector.0.lock().unwrap())
    }
}

const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa01a902b7-01";

fn support_id() -> SupportId {
    "7K2M9QX4T0BC".into()
}

fn text<'a>(span: &'a Json, key: &str) -> &'a str {
    span[key].as_str().unwrap_or_default()
}

#[tokio::test]
async fn the_requests_of_one_login_are_one_tree_across_tasks() {
    let hub = Hub::with(1.0, Sampling::HubRatio, Propagation::Disabled);
    let mut first = hub.tracer.start_request(None);
    let login = first.run(async { start_login_trace(&support_id()) }).await.unwrap();
    first.set_route("GET", Some("/api/v2/authorize".into()));
    drop(first);
    let second = hub.tracer.start_request(None);
    let scope = second.scope();
    drop(second);
    let elsewhere = tokio::spawn(scope.run(async move {
        let early = start_span("before the login is known");
        attach_login(&support_id(), Some(&login));
        drop(early);
        let step = start_span("login step");
        step.run(async { drop(start_call("POST")) }).await;
        login_context()
    }));
    assert_eq!(elsewhere.await.unwrap(), Some(login), "the context stored with a code");
    let spans = hub.spans().await;
    assert_eq!(spans.len(), 5, "{spans:#?}");
    let ids: Vec<_> = spans.iter().map(|span| text(span, "spanId")).collect();
    for span in &spans {
        assert_eq!(text(span, "traceId"), login.trace_id.to_string());
        let parent = text(span, "parentSpanId");
        assert!(
            ids.contains(&parent)
                || (parent.is_empty() && text(span, "spanId") == login.span_id.to_string()),
            "{span}"
        );
    }
    assert!(spans.iter().any(|span| text(span, "name") == "GET /api/v2/authorize"));
}

#[tokio::test]
async fn a_stranger_can_not_enable_tracing() {
    let hub = Hub::with(0.0, Sampling::HubRatio, Propagation::Disabled);
    for _ in 0..100 {
        let request = hub.tracer.start_request(Some(CALLER));
        let login = request.run(async { start_login_trace(&support_id()) }).await.unwrap();
        assert!(!login.sampled);
        assert!(
            request.run(async { start_span("login step").active.is_none() }).await,
            "an unsampled span is not created"
        );
    }
    assert!(hub.spans().await.is_empty());
    let trusting = Hub::with(0.0, Sampling::CallerFlag, Propagation::Disabled);
    drop(trusting.tracer.start_request(Some(CALLER)));
    drop(trusting.tracer.start_request(Some(&CALLER.replace("-01", "-00"))));
    assert_eq!(trusting.spans().await.len(), 1);
}

#[tokio::test]
async fn a_chosen_trace_id_does_not_get_around_the_ratio() {
    let hub = Hub::with(0.5, Sampling::HubRatio, Propagation::Disabled);
    (0..1000).for_each(|_| drop(hub.tracer.start_request(Some(CALLER))));
    let kept = hub.spans().await.len();
    assert!((350..650).contains(&kept), "{kept} of 1000 at a half");
}

#[tokio::test]
async fn a_callers_trace_is_continued_unless_the_login_has_its_own() {
    let hub = Hub::with(1.0, Sampling::HubRatio, Propagation::Disabled);
    let authorize = hub.tracer.start_request(Some(CALLER));
    let login = authorize.run(async { start_login_trace(&support_id()) }).await.unwrap();
    drop(authorize);
    let spans = hub.spans().await;
    assert_eq!(
        (text(&spans[0], "traceId"), text(&spans[0], "parentSpanId")),
        (&CALLER[3..35], &CALLER[36..52])
    );
    let other = CALLER.replace("4bf9", "aaaa");
    let token = hub.tracer.start_request(Some(&other));
    token.run(async { attach_login(&support_id(), Some(&login)) }).await;
    drop(token);
    let spans = hub.spans().await;
    assert_eq!(text(&spans[0], "traceId"), login.trace_id.to_string());
    assert_eq!(text(&spans[0], "parentSpanId"), login.span_id.to_string());
    assert_eq!(text(&spans[0]["links"][0], "traceId"), &other[3..35]);
    assert!(spans[0]["attributes"].to_string().contains("7K2M9QX4T0BC"));
    let malformed = hub.tracer.start_request(Some("00-forged"));
    drop(malformed);
    assert_eq!(text(&hub.spans().await[0], "parentSpanId"), "", "a malformed header is ignored");
}

#[tokio::test]
async fn later_requests_of_an_unsampled_login_are_not_recorded() {
    let hub = Hub::with(1.0, Sampling::HubRatio, Propagation::AllPeers);
    let login = TraceContext::parse(&CALLER.replace("-01", "-00")).unwrap();
    let request = hub.tracer.start_request(None);
    request
        .run(async {
            drop(start_span("too early to know"));
            attach_login(&support_id(), Some(&login));
            assert_eq!(
                start_call("GET").with_peer(TracePeer::IdentityProvider).traceparent(),
                None
            );
        })
        .await;
    drop(request);
    assert!(hub.spans().await.is_empty());
}

#[tokio::test]
async fn only_configured_peers_receive_a_traceparent() {
    let table = [
        (Propagation::Disabled, false, false),
        (Propagation::RegisterOnly, true, false),
        (Propagation::AllPeers, true, true),
    ];
    for (propagation, register, idp) in table {
        let hub = Hub::with(1.0, Sampling::HubRatio, propagation);
        let request = hub.tracer.start_request(None);
        let receives = request.run(async {
            assert_eq!(
                start_call("GET").with_peer(TracePeer::Register).traceparent(),
                None,
                "before the login is known"
            );
            let _login = start_login_trace(&support_id());
            let to = |party| start_call("GET").with_peer(party).traceparent().is_some();
            assert_eq!(
                start_call("GET").traceparent(),
                None,
                "a call without a peer gets no header"
            );
            (to(TracePeer::Register), to(TracePeer::IdentityProvider))
        });
        assert_eq!(receives.await, (register, idp), "{propagation:?}");
    }
}

#[tokio::test]
async fn a_panic_ends_its_span_and_loses_none() {
    let hub = Hub::with(1.0, Sampling::HubRatio, Propagation::Disabled);
    let request = hub.tracer.start_request(None);
    let scope = request.scope();
    drop(request);
    let panicked = tokio::spawn(scope.run(async {
        let _step = start_span("login step");
        panic!("in a step");
    }));
    assert!(panicked.await.is_err());
    assert_eq!(hub.spans().await.len(), 2);
}

#[tokio::test]
async fn work_on_another_login_is_not_logged_as_this_ones() {
    let request = Tracer::disabled().start_request(None);
    request
        .run(async {
            attach_login(&support_id(), None);
            detached(async { attach_login(&"ANOTHERLOGIN".into(), None) }).await;
            assert_eq!(log_origin().support_id, Some(support_id()));
            detached(async { assert_eq!(log_origin(), LogOrigin::default()) }).await;
        })
        .await;
    assert_eq!(log_origin(), LogOrigin::default());
}

#[tokio::test]
async fn a_request_can_not_fill_the_queue_alone() {
    let hub = Hub::with(1.0, Sampling::HubRatio, Propagation::Disabled);
    let request = hub.tracer.start_request(None);
    request.run(async { (0..1000).for_each(|_| drop(start_span("again"))) }).await;
    drop(request);
    assert_eq!(hub.spans().await.len(), MAX_SPANS_PER_REQUEST);
}
