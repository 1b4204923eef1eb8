use super::super::tests::{CLIENT_SECRET, Folder};
use crate::model::TracePropagation;

fn with(table: &str) -> Folder {
    let header = "headers = { Authorization = { env = \"OTLP\" } }\n";
    let settings = format!("identity_source = \"provider\"\n[traces]\n{header}{table}\n");
    Folder::good()
        .edit("passerelle.toml", "identity_source = \"provider\"\n", &settings)
        .variable("OTLP", CLIENT_SECRET)
}

#[test]
fn traces_are_off_by_default() {
    let loaded = Folder::good().loaded();
    let traces = &loaded.settings.traces;
    assert_eq!(
        (traces.endpoint.as_deref(), traces.propagate, traces.trust_sampled),
        (None, TracePropagation::None, false)
    );
}

#[cfg(feature = "otlp")]
#[test]
fn the_collectors_headers_are_secrets() {
    let loaded = with("endpoint = \"https://collector.example/v1/traces\"").loaded();
    assert_eq!(loaded.trace_headers["Authorization"].reveal(), CLIENT_SECRET);
    assert!(!format!("{:?}", loaded.trace_headers).contains(CLIENT_SECRET));
}

#[cfg(not(feature = "otlp"))]
#[test]
fn a_build_without_otlp_rejects_a_collector() {
    let (file, key, text) = with("endpoint = \"https://collector.example/v1/traces\"").problem();
    assert_eq!((file.as_str(), key.as_str()), ("passerelle.toml", "traces.endpoint"));
    assert!(text.contains("`--features otlp`"), "{text}");
}

#[test]
fn bad_trace_settings_are_named_with_their_fix() {
    for (table, key, words) in [
        ("endpoint = \"http://127.0.0.1:4318/v1/traces\"", "traces.endpoint", "http"),
        ("endpoint = \"collector\"", "traces.endpoint", "https://"),
        ("sample_ratio = 1.5", "traces.sample_ratio", "from 0 to 1"),
        ("sample_ratio = -0.5", "traces.sample_ratio", "from 0 to 1"),
        ("sample_ratio = nan", "traces.sample_ratio", "from 0 to 1"),
        ("queue_spans = 1", "traces.queue_spans", "from 128"),
        ("service_name = \"\"", "traces.service_name", "name this hub"),
        ("resource = { \"service.name\" = \"x\" }", "traces.resource", "traces.service_name"),
        ("internal_hosts = [\"http://x\"]", "traces.internal_hosts[0]", "host name"),
        ("propagate = \"everyone\"", "traces.propagate", "none, register, all"),
    ] {
        let (file, named, text) = with(table).problem();
        assert_eq!((file.as_str(), named.as_str()), ("passerelle.toml", key), "{table}: {text}");
        assert!(text.contains(words), "{table}: {text}");
    }
    let (_, key, text) = with("").variable("OTLP", "a\nb").problem();
    assert!(key == "traces.headers.Authorization" && !text.contains("a\nb"), "{key}: {text}");
}
