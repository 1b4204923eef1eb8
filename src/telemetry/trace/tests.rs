use super::super::Metrics;
use super::super::export::{self, Exporter, Transport, Undelivered};
use super::super::otlp::Resource;
use super::*;
use crate::env::{HandClock, SeededEntropy};
use async_trait::async_trait;
use serde_json::Value as Json;
use std::time::Duration;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Json>>>);

#[async_trait]
impl Transport for Kept {
    async fn send(&self, body: Vec<u8>) -> Result<u64, Undelivered> {
        let body: Json = serde_json::from_slice(&body).unwrap();
        let spans = body
            .pointer("/resourceSpans/0/scopeSpans/0/spans")
            .unwrap()
            .as_array()
            .unwrap()
            .clone();
        self.0.lock().unwrap().extend(spans);
        Ok(0)
    }
}

struct Hub {
    tracer: Tracer,
    queue: Queue,
    kept: Kept,
}

impl Hub {
    fn with(ratio: f64, sampling: Sampling, propagation: Propagation) -> Self {
        let env = Env::new(
            Arc::new(HandClock::at(Timestamp::from_seconds(1_800_000_000))),
            Arc::new(SeededEntropy::new(5)),
        );
        let metrics = Arc::new(Metrics::new(env.now()).unwrap());
        let kept = Kept::default();
        let (queue, exporter): (_, Exporter) =
            export::queue(100_000, Resource::default(), Box::new(kept.clone()), &metrics);
        tokio::spawn(exporter.run());
        Self { tracer: Tracer::new(ratio, sampling, propagation, queue.clone(), env), queue, kept }
    }

    async fn spans(&self) -> Vec<Json> {
        self.queue.flush(Duration::from_secs(10)).await;
        std::mem::take(&mut *self.kept.0.lock().unwrap())
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
    let hub = Hub::with(1.0, Sampling::Ours, Propagation::Nobody);
    let mut first = hub.tracer.request(None);
    let login = first.run(async { begin_login(&support_id()) }).await.unwrap();
    first.route("GET", Some("/api/v2/authorize".into()));
    drop(first);
    let second = hub.tracer.request(None);
    let scope = second.scope();
    drop(second);
    let elsewhere = tokio::spawn(scope.run(async move {
        let early = span("before it is known whose");
        about(&support_id(), Some(&login));
        drop(early);
        let step = span("login step");
        step.run(async { drop(call("POST")) }).await;
        of_login()
    }));
    assert_eq!(elsewhere.await.unwrap(), Some(login), "what a code carries on");
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
async fn a_stranger_can_not_switch_tracing_on_for_himself() {
    let hub = Hub::with(0.0, Sampling::Ours, Propagation::Nobody);
    for _ in 0..100 {
        let request = hub.tracer.request(Some(CALLER));
        let login = request.run(async { begin_login(&support_id()) }).await.unwrap();
        assert!(!login.sampled);
        assert!(
            request.run(async { span("login step").live.is_none() }).await,
            "what is not kept is not made"
        );
    }
    assert!(hub.spans().await.is_empty());
    let trusting = Hub::with(0.0, Sampling::Callers, Propagation::Nobody);
    drop(trusting.tracer.request(Some(CALLER)));
    drop(trusting.tracer.request(Some(&CALLER.replace("-01", "-00"))));
    assert_eq!(trusting.spans().await.len(), 1);
}

#[tokio::test]
async fn a_chosen_trace_id_does_not_get_around_the_ratio() {
    let hub = Hub::with(0.5, Sampling::Ours, Propagation::Nobody);
    (0..1000).for_each(|_| drop(hub.tracer.request(Some(CALLER))));
    let kept = hub.spans().await.len();
    assert!((350..650).contains(&kept), "{kept} of 1000 at a half");
}

#[tokio::test]
async fn a_callers_trace_is_continued_and_a_logins_own_goes_before_it() {
    let hub = Hub::with(1.0, Sampling::Ours, Propagation::Nobody);
    let authorize = hub.tracer.request(Some(CALLER));
    let login = authorize.run(async { begin_login(&support_id()) }).await.unwrap();
    drop(authorize);
    let spans = hub.spans().await;
    assert_eq!(
        (text(&spans[0], "traceId"), text(&spans[0], "parentSpanId")),
        (&CALLER[3..35], &CALLER[36..52])
    );
    let other = CALLER.replace("4bf9", "aaaa");
    let token = hub.tracer.request(Some(&other));
    token.run(async { about(&support_id(), Some(&login)) }).await;
    drop(token);
    let spans = hub.spans().await;
    assert_eq!(text(&spans[0], "traceId"), login.trace_id.to_string());
    assert_eq!(text(&spans[0], "parentSpanId"), login.span_id.to_string());
    assert_eq!(text(&spans[0]["links"][0], "traceId"), &other[3..35]);
    assert!(spans[0]["attributes"].to_string().contains("7K2M9QX4T0BC"));
    let malformed = hub.tracer.request(Some("00-forged"));
    drop(malformed);
    assert_eq!(
        text(&hub.spans().await[0], "parentSpanId"),
        "",
        "what is malformed is as if it had not come"
    );
}

#[tokio::test]
async fn a_login_that_is_not_kept_keeps_nothing_of_its_later_requests() {
    let hub = Hub::with(1.0, Sampling::Ours, Propagation::Everybody);
    let login = TraceContext::parse(&CALLER.replace("-01", "-00")).unwrap();
    let request = hub.tracer.request(None);
    request
        .run(async {
            drop(span("too early to know"));
            about(&support_id(), Some(&login));
            assert_eq!(call("GET").to(Party::IdentityProvider).traceparent(), None);
        })
        .await;
    drop(request);
    assert!(hub.spans().await.is_empty());
}

#[tokio::test]
async fn only_whom_the_settings_name_hears_of_a_trace() {
    let table = [
        (Propagation::Nobody, false, false),
        (Propagation::Register, true, false),
        (Propagation::Everybody, true, true),
    ];
    for (propagation, register, idp) in table {
        let hub = Hub::with(1.0, Sampling::Ours, propagation);
        let request = hub.tracer.request(None);
        let hears = request.run(async {
            assert_eq!(
                call("GET").to(Party::Register).traceparent(),
                None,
                "before the login is known"
            );
            let _login = begin_login(&support_id());
            let to = |party| call("GET").to(party).traceparent().is_some();
            assert_eq!(call("GET").traceparent(), None, "nobody in particular hears nothing");
            (to(Party::Register), to(Party::IdentityProvider))
        });
        assert_eq!(hears.await, (register, idp), "{propagation:?}");
    }
}

#[tokio::test]
async fn a_panic_ends_its_span_and_loses_none() {
    let hub = Hub::with(1.0, Sampling::Ours, Propagation::Nobody);
    let request = hub.tracer.request(None);
    let scope = request.scope();
    drop(request);
    let panicked = tokio::spawn(scope.run(async {
        let _step = span("login step");
        panic!("in a step");
    }));
    assert!(panicked.await.is_err());
    assert_eq!(hub.spans().await.len(), 2);
}

#[tokio::test]
async fn work_on_another_login_is_not_told_as_this_ones() {
    let request = Tracer::off().request(None);
    request
        .run(async {
            about(&support_id(), None);
            apart(async { about(&"ANOTHERLOGIN".into(), None) }).await;
            assert_eq!(origin().support_id, Some(support_id()));
            apart(async { assert_eq!(origin(), Origin::default()) }).await;
        })
        .await;
    assert_eq!(origin(), Origin::default());
}

#[tokio::test]
async fn a_request_can_not_fill_the_queue_alone() {
    let hub = Hub::with(1.0, Sampling::Ours, Propagation::Nobody);
    let request = hub.tracer.request(None);
    request.run(async { (0..1000).for_each(|_| drop(span("again"))) }).await;
    drop(request);
    assert_eq!(hub.spans().await.len(), MOST);
}
