use super::*;
use std::sync::Arc;

use crate::ids::{ClientId, ConnectorId};

fn metrics() -> Metrics {
    Metrics::new(Timestamp::from_millis(1_800_000_000_500)).unwrap()
}

fn everything_once(metrics: &Metrics) {
    let impots = ConnectorId::from("impots");
    let took = Duration::from_millis(3);
    metrics.http_request(Listener::Public, "/api/v2/token", 200, took);
    metrics.login_reached("away");
    metrics.login_ended(Outcome::Refused(ErrorCode::AcrTooLow), &"sp".into(), Some(&impots), 1);
    metrics.login_ended(Outcome::Abandoned, &"gone".into(), None, 2);
    let spent = Parts { hub: took, ..Parts::default() };
    metrics.login_granted(&spent, Timestamp::from_millis(1_800_000_000_250));
    metrics.logins_abandoned("away", 2);
    metrics.logins_live("away", 3);
    metrics.connector_call(&impots, "complete", Err(ErrorCode::IdTokenNonce), took);
    metrics.connector_begins(&impots);
    metrics.connector_judged(&impots, Judged::Ill);
    metrics.connector_spared(&impots, "begin", ErrorCode::IdpBusy);
    metrics.connector_breaker(&"gone".into(), "open", &["closed", "open"]);
    metrics.connectors_cleared();
    metrics.connector_breaker(&impots, "open", &["closed", "open"]);
    metrics.connector_failure_ratio(&impots, 0.5);
    metrics.connector_latency(&impots, "0.99", Duration::from_millis(1500));
    metrics.connector_clock_skew(&impots, -1.5);
    metrics.connector_blocks([(&ConnectorId::from("gone"), 1)].into_iter());
    metrics.connector_blocks([(&impots, 2)].into_iter());
    metrics.amr_dropped(&impots, "unknown", 2);
    metrics.register_answered("found", took);
    metrics.register_spared("breaker_open");
    metrics.register_retried();
    metrics.register_breaker("open", &["closed", "open"]);
    metrics.store_meter("login", "insert").asked(took);
    metrics.store_meter("login", "replace").lost();
    metrics.store_pool("logins", 7, 9);
    metrics.actor_took("login", took);
    metrics.hub_is("standard");
    metrics.key_in_use("tokens", "ES256", Timestamp::from_seconds(1_800_000_000));
    metrics.certificate_expires("register_client", Timestamp::from_seconds(1_900_000_000));
    metrics.connector_keys_fetched(&impots, Timestamp::from_seconds(1_800_000_000));
    metrics.store_meter("login", "insert").refused("full");
    metrics.store_records("login", 7);
    metrics.redis_round_trip("take", took);
    metrics.redis_failed("timeout");
    metrics.redis_retried();
    metrics.redis_breaker("open", &["closed", "open"]);
    metrics.actor_activated("login");
    metrics.actor_activated("login");
    metrics.actor_passivated("login");
    metrics.token_issued("code");
    metrics.introspected(&"archive".into(), "active");
    metrics.revoked("nothing");
    metrics.token_refused(None, ErrorCode::CodeUnknown);
    metrics.token_refused(Some(&"sp".into()), ErrorCode::ClientAuthentication);
    metrics.client_keys_asked(&"sp".into(), "ok");
    let fetched = [("sp", Some(Timestamp::from_millis(1_800_000_000_250))), ("other", None)];
    metrics.client_keys_fetched(fetched.into_iter().map(|(id, at)| (id.into(), at)));
    metrics
        .client_secrets_expire([("sp".into(), Timestamp::from_seconds(1_900_000_000))].into_iter());
    metrics.config_files_bad("connector", 2);
    metrics.config_read("changed", Timestamp::from_millis(1_800_000_000_250));
    metrics.config_read("failed", Timestamp::from_millis(1_900_000_000_250));
    metrics.audit_written("code_issued");
    metrics.audit_lost();
    metrics.audit_refused();
    metrics.audit_sealed(Timestamp::from_millis(1_800_000_000_250));
    metrics.spans("exported", 7);
}

#[test]
fn each_event_shows_under_its_name() {
    let metrics = metrics();
    everything_once(&metrics);
    let text = metrics.render();
    let busy = ErrorCode::IdpBusy.entry().code;
    for line in [
        r#"passerelle_http_requests_total{endpoint="/api/v2/token",listener="public",status="2xx"} 1"#,
        r#"passerelle_http_request_duration_seconds_bucket{endpoint="/api/v2/token",listener="public",le="0.005"} 1"#,
        r#"passerelle_login_transitions_total{to="away"} 1"#,
        r#"passerelle_login_outcomes_total{error="Y100002",outcome="refused"} 1"#,
        r#"passerelle_connector_calls_total{connector="impots",operation="complete",outcome="Y020040"} 1"#,
        r#"passerelle_connector_call_duration_seconds_count{connector="impots",operation="complete"} 1"#,
        &format!(
            r#"passerelle_connector_calls_total{{connector="impots",operation="begin",outcome="{busy}"}} 1"#
        ),
        r#"passerelle_connector_clock_skew_seconds{connector="impots"} -1.5"#,
        r#"passerelle_connector_verdicts_total{connector="impots",verdict="ill"} 1"#,
        r#"passerelle_connector_verdicts_total{connector="impots",verdict="well"} 0"#,
        r#"passerelle_connector_blocks{connector="impots"} 2"#,
        r#"passerelle_connector_breaker{connector="impots",state="closed"} 0"#,
        r#"passerelle_connector_breaker{connector="impots",state="open"} 1"#,
        r#"passerelle_connector_failure_ratio{connector="impots"} 0.5"#,
        r#"passerelle_connector_latency_seconds{connector="impots",quantile="0.99"} 1.5"#,
        r#"passerelle_amr_dropped_total{connector="impots",reason="unknown"} 2"#,
        r#"passerelle_register_answers_total{answer="found"} 1"#,
        "passerelle_register_call_duration_seconds_count 1",
        r#"passerelle_register_answers_total{answer="breaker_open"} 1"#,
        "passerelle_register_retries_total 1",
        r#"passerelle_register_breaker{state="closed"} 0"#,
        r#"passerelle_register_breaker{state="open"} 1"#,
        r#"passerelle_store_operations_total{kind="login",verb="insert"} 1"#,
        r#"passerelle_store_errors_total{error="full",kind="login",verb="insert"} 1"#,
        r#"passerelle_store_records{kind="login"} 7"#,
        r#"passerelle_config_files_bad{kind="connector"} 2"#,
        r#"passerelle_config_reads_total{outcome="failed"} 1"#,
        "passerelle_config_read_timestamp_seconds 1800000000.25",
        r#"passerelle_actors_live{actor="login"} 1"#,
        r#"passerelle_actors_activated_total{actor="login"} 2"#,
        r#"passerelle_actors_passivated_total{actor="login"} 1"#,
        r#"passerelle_tokens_issued_total{kind="code"} 1"#,
        r#"passerelle_introspections_total{data_provider="archive",outcome="active"} 1"#,
        r#"passerelle_revocations_total{outcome="nothing"} 1"#,
        r#"passerelle_token_refusals_total{client="(not known)",reason="Y042001"} 1"#,
        r#"passerelle_token_refusals_total{client="sp",reason="Y041002"} 1"#,
        r#"passerelle_client_key_fetches_total{client="sp",outcome="ok"} 1"#,
        r#"passerelle_client_secret_expires_timestamp_seconds{client="sp"} 1900000000"#,
        r#"passerelle_service_provider_logins_total{connector="impots",family="Y10",outcome="refused",service_provider="sp"} 1"#,
        r#"passerelle_service_provider_logins_total{connector="(none)",family="none",outcome="abandoned",service_provider="gone"} 2"#,
        r#"passerelle_login_outcomes_total{error="none",outcome="granted"} 0"#,
        r#"passerelle_login_part_duration_seconds_bucket{part="hub",le="0.005"} 1"#,
        "passerelle_login_last_success_timestamp_seconds 1800000000.25",
        r#"passerelle_logins_abandoned_total{state="away"} 2"#,
        r#"passerelle_logins_live{state="away"} 3"#,
        r#"passerelle_store_conflicts_total{kind="login",verb="replace"} 1"#,
        r#"passerelle_store_operation_duration_seconds_count{verb="insert"} 1"#,
        r#"passerelle_store_pool_capacity_records{pool="logins"} 9"#,
        r#"passerelle_actor_mailbox_delay_seconds_count{actor="login"} 1"#,
        r#"passerelle_hub_info{platform="standard"} 1"#,
        r#"passerelle_key_since_timestamp_seconds{alg="ES256",purpose="tokens"} 1800000000"#,
        r#"passerelle_certificate_expires_timestamp_seconds{certificate="register_client"} 1900000000"#,
        r#"passerelle_connector_keys_fetched_timestamp_seconds{connector="impots"} 1800000000"#,
        r#"passerelle_client_keys_fetched_timestamp_seconds{client="sp"} 1800000000.25"#,
        r#"passerelle_client_keys_fetched_timestamp_seconds{client="other"} 0"#,
        r#"passerelle_audit_events_total{event="code_issued"} 1"#,
        "passerelle_audit_lost_total 1",
        "passerelle_audit_write_errors_total 1",
        "passerelle_audit_checkpoint_timestamp_seconds 1800000000.25",
        r#"passerelle_trace_spans_total{outcome="exported"} 7"#,
        r#"passerelle_redis_round_trip_duration_seconds_count{verb="take"} 1"#,
        r#"passerelle_redis_errors_total{error="timeout"} 1"#,
        "passerelle_redis_retries_total 1",
        r#"passerelle_redis_breaker{state="open"} 1"#,
        "process_start_time_seconds 1800000000.5",
    ] {
        assert!(text.lines().any(|has| has == line), "{line} is missing in\n{text}");
    }
    assert!(text.contains("passerelle_build_info{version="));
    assert!(!text.contains("connector=\"gone\""), "a connector that is gone stays");
}

#[test]
#[cfg(target_os = "linux")]
fn the_process_is_measured_at_the_scrape() {
    let text = metrics().render();
    for name in [
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_max_fds",
    ] {
        assert!(text.contains(&format!("\n{name} ")), "{name} is missing in\n{text}");
    }
}

#[test]
fn what_is_rendered_was_declared() {
    let metrics = metrics();
    everything_once(&metrics);
    let text = metrics.render();
    let rendered = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let declared: Vec<_> =
        metrics.declared().iter().map(|declared| declared.name.as_str()).collect();
    for name in rendered {
        assert!(declared.contains(&name), "{name} is missing in {declared:?}");
    }
    let calls = metrics
        .declared()
        .iter()
        .find(|declared| declared.name == "passerelle_connector_calls_total")
        .unwrap();
    assert_eq!(calls.labels, ["connector", "operation", "outcome"]);
}

#[test]
fn two_hubs_in_one_process_do_not_count_together() {
    let (one, other) = (metrics(), metrics());
    one.login_reached("away");
    assert!(!other.render().contains("login_transitions_total{"));
}

#[test]
fn samplers_speak_before_each_scrape() {
    let metrics = metrics();
    let records = Arc::new(std::sync::atomic::AtomicUsize::new(3));
    let sampled = Arc::clone(&records);
    metrics.sample_with(move |metrics| {
        metrics.store_records("code", sampled.load(std::sync::atomic::Ordering::Relaxed))
    });
    assert!(metrics.render().contains("passerelle_store_records{kind=\"code\"} 3"));
    records.store(4, std::sync::atomic::Ordering::Relaxed);
    assert!(metrics.render().contains("passerelle_store_records{kind=\"code\"} 4"));
}

#[test]
fn whoever_is_gone_after_a_reload_leaves_no_series() {
    let metrics = metrics();
    everything_once(&metrics);
    metrics.connector_call(&"kept".into(), "begin", Ok(()), Duration::ZERO);
    metrics.token_refused(Some(&"kept-sp".into()), ErrorCode::CodeUnknown);
    metrics.keep(|connector| connector == "kept", [ClientId::from("kept-sp")].into_iter());
    let text = metrics.render();
    for gone in [
        "\"impots\",op",
        "amr_dropped_total{connector",
        "\"sp\",reason",
        "service_provider=\"sp\"",
        "client_key_fetches_total{",
    ] {
        assert!(!text.contains(gone), "{gone} stays in\n{text}");
    }
    for kept in [
        "calls_total{connector=\"kept\"",
        "refusals_total{client=\"kept-sp\"",
        "refusals_total{client=\"(not known)\"",
    ] {
        assert!(text.contains(kept), "{kept} went from\n{text}");
    }
}

/// A hub with thousands of service providers must not have as many series of each metric.
#[test]
fn service_providers_by_class_are_told_apart_no_further() {
    let metrics = metrics();
    let classes = [("tax", "state"), ("customs", "state"), ("shop", "standard/openid")];
    metrics.classes(
        classes.into_iter().map(|(id, class)| (ClientId::from(id), class.into())).collect(),
    );
    for sp in ["tax", "customs", "shop", "stranger"] {
        metrics.login_ended(Outcome::Granted, &sp.into(), None, 1);
        metrics.token_refused(Some(&sp.into()), ErrorCode::CodeUnknown);
    }
    let (early, late) = (Timestamp::from_seconds(5), Timestamp::from_seconds(9));
    metrics.client_secrets_expire([("tax".into(), late), ("customs".into(), early)].into_iter());
    let text = metrics.render();
    for line in [
        r#"passerelle_token_refusals_total{client="state",reason="Y042001"} 2"#,
        r#"passerelle_token_refusals_total{client="(not known)",reason="Y042001"} 1"#,
        r#"passerelle_client_secret_expires_timestamp_seconds{client="state"} 5"#,
    ] {
        assert!(text.lines().any(|has| has == line), "{line} is missing in\n{text}");
    }
    assert!(!["customs", "shop\"", "stranger"].iter().any(|id| text.contains(id)), "{text}");
}

#[test]
fn each_metric_has_a_unit_in_its_name_and_one_line_of_help() {
    for metric in metrics().declared() {
        assert!(metric.help.ends_with('.') && !metric.help.contains('\n'), "{metric:?}");
        assert_eq!(metric.sort == Sort::Counter, metric.name.ends_with("_total"), "{metric:?}");
        assert!(metric.sort != Sort::Histogram || metric.unit() == "seconds", "{metric:?}");
        assert!(
            metric
                .labels
                .iter()
                .all(|label| !["user", "session", "support_id", "sub"].contains(&label.as_str()))
        );
    }
}
