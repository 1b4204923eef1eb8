use std::sync::Arc;

use tracing::Dispatch;

use super::super::LineFormat;
use super::super::trace::{self, Tracer};
use crate::testing::captured_log::Lines;
#[cfg(feature = "otlp")]
use passerelle_protocol::env::Env;

#[cfg(feature = "otlp")]
fn recording_tracer() -> Tracer {
    struct NullTransport;
    #[async_trait::async_trait]
    impl super::super::export::SpanTransport for NullTransport {
        async fn send(&self, _: Vec<u8>) -> Result<usize, super::super::export::ExportError> {
            Ok(0)
        }
    }
    let env = Env::system();
    let metrics = Arc::new(super::super::Metrics::new().unwrap());
    let (queue, _) =
        super::super::export::span_queue(1, Vec::new(), Box::new(NullTransport), &metrics);
    Tracer::new(1.0, trace::Sampling::HubRatio, trace::Propagation::Disabled, queue, env)
}

async fn three_lines(tracer: &Tracer, dispatch: &Dispatch) -> String {
    let _listening = tracing::dispatcher::set_default(dispatch);
    tracing::info!(count = 3, "outside of a login");
    let request = tracer.start_request(None);
    let login = request.run(async {
        let login = trace::start_login_trace(&"7K2M9QX4T0BC".into());
        tracing::warn!(connector = "impots", good = true, "from deep inside");
        tracing::warn!(support_id = "PAGESOWN1234", code = "Y000400", "a page's own");
        login
    });
    login.await.map(|login| login.trace_id.to_string()).unwrap_or_default()
}

#[cfg(feature = "otlp")]
#[tokio::test]
async fn each_json_line_has_the_documented_names_and_its_logins() {
    let lines = Lines::default();
    let trace_id = three_lines(&recording_tracer(), &lines.dispatch()).await;
    let [none, inside, page] = lines.json().try_into().unwrap();
    assert_eq!(
        (&none["level"], &none["message"], &none["count"]),
        (&"INFO".into(), &"outside of a login".into(), &3.into())
    );
    assert_eq!(none["target"], "passerelle_telemetry::log_format::tests");
    assert!(none["timestamp"].as_str().unwrap().ends_with('Z'));
    assert!(none.get("support_id").is_none() && none.get("trace_id").is_none());
    assert_eq!(
        (&inside["support_id"], &inside["trace_id"]),
        (&"7K2M9QX4T0BC".into(), &trace_id.clone().into())
    );
    assert_eq!((&inside["connector"], &inside["good"]), (&"impots".into(), &true.into()));
    assert_eq!(
        (&page["support_id"], &page["code"]),
        (&"PAGESOWN1234".into(), &"Y000400".into()),
        "what is on the screen"
    );
    assert_eq!(page["trace_id"], trace_id);
    let begins = r#"{"timestamp":"20"#;
    assert!(lines.text().lines().all(|line| line.starts_with(begins)), "{}", lines.text());
}

#[tokio::test]
async fn an_untraced_login_still_has_its_support_id_in_the_log() {
    let lines = Lines::default();
    three_lines(&Tracer::disabled(), &lines.dispatch()).await;
    let inside = &lines.json()[1];
    // Without traces the scope still knows the login.
    assert_eq!((&inside["support_id"], inside.get("trace_id")), (&"7K2M9QX4T0BC".into(), None));
}

#[cfg(feature = "otlp")]
#[tokio::test]
async fn the_text_format_carries_the_same_fields() {
    let lines = Lines::default();
    let trace_id = three_lines(&recording_tracer(), &lines.formatted(LineFormat::Human)).await;
    let text = lines.text();
    let [none, inside, page] = text.lines().collect::<Vec<_>>().try_into().unwrap();
    assert!(none.ends_with("outside of a login count=3"), "{none}");
    assert!(
        inside.contains(" WARN ")
            && inside.contains(r#"connector="impots" good=true support_id="7K2M9QX4T0BC""#),
        "{inside}"
    );
    assert!(inside.contains(&format!("trace_id={trace_id} span_id=")), "{inside}");
    assert_eq!(page.matches("support_id=").count(), 1, "{page}");
}

#[test]
fn a_line_can_not_be_forged_by_what_it_repeats() {
    for (format, escaped) in [(LineFormat::Json, r"x\n{"), (LineFormat::Human, r"error=x\n{")] {
        let lines = Lines::default();
        tracing::dispatcher::with_default(&lines.formatted(format), || {
            tracing::warn!(error = %"x\n{\"level\":\"ERROR\"}\r\n", "one line");
            tracing::warn!(error = "x\n", "as text");
            tracing::warn!("{}", "in the message\n\u{1b}[2J");
        });
        let text = lines.text();
        assert_eq!(text.lines().count(), 3, "{text:?}");
        assert!(
            text.contains(escaped) && text.chars().all(|c| c == '\n' || !c.is_control()),
            "{text:?}"
        );
    }
}
