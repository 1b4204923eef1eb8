use super::*;
use std::sync::Arc;

use passerelle_protocol::ids::{ClientId, ConnectorId};

fn metrics() -> Metrics {
    Metrics::new().unwrap()
}

fn record_everything_once(metrics: &Metrics) {
    let impots = ConnectorId::from("impots");
    let took = Duration::from_millis(3);
    metrics.record_http_request(Listener::Public, "/api/v2/token", 200, took);
    metrics.record_login_transition("awaiting_callback");
    metrics.record_login_end(
        LoginOutcome::Refused(ErrorCode::AcrTooLow),
        &"sp".into(),
        Some(&impots),
        1,
    );
    metrics.record_login_end(LoginOutcome::Abandoned, &"gone".into(), None, 2);
    let spent = LoginPhases { hub: took, ..LoginPhases::default() };
    metrics.record_granted_login(&spent, Timestamp::from_millis(1_800_000_000_250));
    metrics.record_abandoned_logins("awaiting_callback", 2);
    metrics.set_live_logins("awaiting_callback", 3);
    metrics.record_connector_call(&impots, "complete_login", Err(ErrorCode::IdTokenNonce), took);
    metrics.init_connector(&impots);
    metrics.record_call_outcome(&impots, CallOutcome::Failure);
    metrics.record_skipped_connector_call(&impots, "begin_login", ErrorCode::IdpBusy);
    metrics.set_connector_circuit(&"gone".into(), "open", &["closed", "open"]);
    metrics.clear_connector_gauges();
    metrics.set_connector_circuit(&impots, "open", &["closed", "open"]);
    metrics.set_connector_failure_ratio(&impots, 0.5);
    metrics.set_connector_latency(&impots, "0.99", Duration::from_millis(1500));
    metrics.set_connector_clock_skew(&impots, -1.5);
    metrics.set_connector_blocks([(&ConnectorId::from("gone"), 1)].into_iter());
    metrics.set_connector_blocks([(&impots, 2)].into_iter());
    metrics.record_dropped_amr_values(&impots, "unknown", 2);
    metrics.record_dropped_claim(&"impots".into(), "siret", "type");
    metrics.record_register_lookup("found", took);
    metrics.record_skipped_register_lookup("circuit_open");
    metrics.record_register_retry();
    metrics.set_register_circuit("open", &["closed", "open"]);
    metrics.store_meter("login", "insert").record_call(took);
    metrics.store_meter("login", "replace").record_conflict();
    metrics.set_store_pool("logins", 7, 9);
    metrics.record_mailbox_delay("login", took);
    metrics.set_platform("standard");
    metrics.set_active_key(["tokens", "ES256", "file"], Timestamp::from_seconds(1_800_000_000));
    metrics.set_certificate_expiry("register_client", Timestamp::from_seconds(1_900_000_000));
    metrics.set_connector_keys_fetched(&impots, Timestamp::from_seconds(1_800_000_000));
    let renewal = Timestamp::from_seconds(1_900_000_000);
    metrics.set_connector_certificate_expiry(&impots, "access_certificate", renewal);
    metrics.store_meter("login", "insert").record_error("full");
    metrics.set_store_records("login", 7);
    metrics.record_redis_round_trip("take", took);
    metrics.record_redis_error("timeout");
    metrics.record_redis_retry();
    metrics.set_redis_circuit("open", &["closed", "open"]);
    metrics.record_actor_activation("login");
    metrics.record_actor_activation("login");
    metrics.record_actor_passivation("login");
    metrics.record_issued_token("code");
    metrics.record_introspection(&"archive".into(), "active");
    metrics.record_revocation("not_found");
    metrics.record_token_error(None, ErrorCode::CodeUnknown);
    metrics.record_token_error(Some(&"sp".into()), ErrorCode::ClientAuthentication);
    metrics.record_client_key_fetch(&"sp".into(), "ok");
    let fetched = [("sp", Some(Timestamp::from_millis(1_800_000_000_250))), ("other", None)];
    metrics.set_client_keys_fetched(fetched.into_iter().map(|(id, at)| (id.into(), at)));
    metrics.set_client_secret_expiry(
        [("sp".into(), Timestamp::from_seconds(1_900_000_000))].into_iter(),
    );
    metrics.set_invalid_config_files("connector", 2);
    metrics.record_config_reload("changed", Timestamp::from_millis(1_800_000_000_250));
    metrics.record_config_reload("failed", Timestamp::from_millis(1_900_000_000_250));
    metrics.record_audit_event("code_issued");
    metrics.record_lost_audit_event();
    metrics.record_audit_write_error();
    metrics.set_last_audit_checkpoint(Timestamp::from_millis(1_800_000_000_250));
    metrics.record_spans("exported", 7);
}

#[test]
fn each_event_shows_under_its_name() {
    let metrics = metrics();
    record_everything_once(&metrics);
    let text = metrics.render();
    let busy = ErrorCode::IdpBusy.entry().code;
    for line in [
        r#"passerelle_http_requests_total{endpoint="/api/v2/token",listener="public",status="2xx"} 1"#,
        r#"passerelle_http_request_duration_seconds_bucket{endpoint="/api/v2/token",listener="public",le="0.005"} 1"#,
        r#"passerelle_login_transitions_total{to="awaiting_callback"} 1"#,
        r#"passerelle_login_outcomes_total{error="Y100002",outcome="refused"} 1"#,
        r#"passerelle_connector_calls_total{connector="impots",operation="complete_login",outcome="Y020040"} 1"#,
        r#"passerelle_connector_call_duration_seconds_count{connector="impots",operation="complete_login"} 1"#,
        &format!(
            r#"passerelle_connector_calls_total{{connector="impots",operation="begin_login",outcome="{busy}"}} 1"#
        ),
        r#"passerelle_connector_clock_skew_seconds{connector="impots"} -1.5"#,
        r#"passerelle_connector_call_outcomes_total{connector="impots",outcome="failure"} 1"#,
        r#"passerelle_connector_call_outcomes_total{connector="impots",outcome="success"} 0"#,
        r#"passerelle_connector_blocks{connector="impots"} 2"#,
        r#"passerelle_connector_circuit_state{connector="impots",state="closed"} 0"#,
        r#"passerelle_connector_circuit_state{connector="impots",state="open"} 1"#,
        r#"passerelle_connector_failure_ratio{connector="impots"} 0.5"#,
        r#"passerelle_connector_latency_seconds{connector="impots",quantile="0.99"} 1.5"#,
        r#"passerelle_amr_values_dropped_total{connector="impots",reason="unknown"} 2"#,
        r#"passerelle_claims_dropped_total{claim="siret",connector="impots",reason="type"} 1"#,
        r#"passerelle_register_lookups_total{outcome="found"} 1"#,
        "passerelle_register_call_duration_seconds_count 1",
        r#"passerelle_register_lookups_total{outcome="circuit_open"} 1"#,
        "passerelle_register_retries_total 1",
        r#"passerelle_register_circuit_state{state="closed"} 0"#,
        r#"passerelle_register_circuit_state{state="open"} 1"#,
        r#"passerelle_store_operations_total{kind="login",operation="insert"} 1"#,
        r#"passerelle_store_errors_total{error="full",kind="login",operation="insert"} 1"#,
        r#"passerelle_store_records{kind="login"} 7"#,
        r#"passerelle_config_files_invalid{kind="connector"} 2"#,
        r#"passerelle_config_reloads_total{outcome="unchanged"} 0"#,
        r#"passerelle_config_reloads_total{outcome="failed"} 1"#,
        "passerelle_config_last_reload_success_timestamp_seconds 1800000000.25",
        r#"passerelle_actors_active{actor="login"} 1"#,
        r#"passerelle_actors_activated_total{actor="login"} 2"#,
        r#"passerelle_actors_passivated_total{actor="login"} 1"#,
        r#"passerelle_tokens_issued_total{kind="code"} 1"#,
        r#"passerelle_introspections_total{data_provider="archive",outcome="active"} 1"#,
        r#"passerelle_revocations_total{outcome="not_found"} 1"#,
        r#"passerelle_token_request_errors_total{client="(unknown)",error="Y042001"} 1"#,
        r#"passerelle_token_request_errors_total{client="sp",error="Y041002"} 1"#,
        r#"passerelle_client_key_fetches_total{client="sp",outcome="ok"} 1"#,
        r#"passerelle_client_secret_expiry_timestamp_seconds{client="sp"} 1900000000"#,
        r#"passerelle_service_provider_logins_total{connector="impots",error_family="Y10",outcome="refused",service_provider="sp"} 1"#,
        r#"passerelle_service_provider_logins_total{connector="(none)",error_family="none",outcome="abandoned",service_provider="gone"} 2"#,
        r#"passerelle_login_outcomes_total{error="none",outcome="granted"} 0"#,
        r#"passerelle_login_phase_duration_seconds_bucket{phase="hub",le="0.005"} 1"#,
        "passerelle_login_last_success_timestamp_seconds 1800000000.25",
        r#"passerelle_logins_abandoned_total{state="awaiting_callback"} 2"#,
        r#"passerelle_logins_in_progress{state="awaiting_callback"} 3"#,
        r#"passerelle_store_conflicts_total{kind="login",operation="replace"} 1"#,
        r#"passerelle_store_operation_duration_seconds_count{operation="insert"} 1"#,
        r#"passerelle_store_pool_capacity_records{pool="logins"} 9"#,
        r#"passerelle_actor_mailbox_delay_seconds_count{actor="login"} 1"#,
        r#"passerelle_platform_info{platform="standard"} 1"#,
        r#"passerelle_key_activation_timestamp_seconds{alg="ES256",location="file",purpose="tokens"} 1800000000"#,
        r#"passerelle_certificate_expiry_timestamp_seconds{certificate="register_client"} 1900000000"#,
        r#"passerelle_connector_keys_last_fetch_timestamp_seconds{connector="impots"} 1800000000"#,
        r#"passerelle_connector_certificate_expiry_timestamp_seconds{certificate="access_certificate",connector="impots"} 1900000000"#,
        r#"passerelle_client_keys_last_fetch_timestamp_seconds{client="sp"} 1800000000.25"#,
        r#"passerelle_client_keys_last_fetch_timestamp_seconds{client="other"} 0"#,
        r#"passerelle_audit_events_total{event="code_issued"} 1"#,
        "passerelle_audit_events_lost_total 1",
        "passerelle_audit_write_errors_total 1",
        "passerelle_audit_last_checkpoint_timestamp_seconds 1800000000.25",
        r#"passerelle_trace_spans_total{outcome="exported"} 7"#,
        r#"passerelle_redis_round_trip_duration_seconds_count{operation="take"} 1"#,
        r#"passerelle_redis_errors_total{error="timeout"} 1"#,
        "passerelle_redis_retries_total 1",
        r#"passerelle_redis_circuit_state{state="open"} 1"#,
    ] {
        assert!(text.lines().any(|has| has == line), "{line} is missing in\n{text}");
    }
    assert!(text.contains("passerelle_build_info{version="));
    assert!(!text.contains("connector=\"gone\""), "a removed connector still has series");
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
        "process_start_time_seconds",
        "process_threads",
    ] {
        assert!(text.contains(&format!("\n{name} ")), "{name} is missing in\n{text}");
    }
}

#[test]
fn every_rendered_metric_is_declared() {
    let metrics = metrics();
    record_everything_once(&metrics);
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
    one.record_login_transition("awaiting_callback");
    assert!(!other.render().contains("login_transitions_total{"));
}

#[test]
fn samplers_run_before_each_scrape() {
    let metrics = metrics();
    let records = Arc::new(std::sync::atomic::AtomicUsize::new(3));
    let sampled = Arc::clone(&records);
    metrics.sample_with(move |metrics| {
        metrics.set_store_records("code", sampled.load(std::sync::atomic::Ordering::Relaxed))
    });
    assert!(metrics.render().contains("passerelle_store_records{kind=\"code\"} 3"));
    records.store(4, std::sync::atomic::Ordering::Relaxed);
    assert!(metrics.render().contains("passerelle_store_records{kind=\"code\"} 4"));
}

#[test]
fn series_of_removed_connectors_and_clients_end() {
    let metrics = metrics();
    record_everything_once(&metrics);
    metrics.record_connector_call(&"kept".into(), "begin_login", Ok(()), Duration::ZERO);
    metrics.record_token_error(Some(&"kept-sp".into()), ErrorCode::CodeUnknown);
    metrics.retain_series(|connector| connector == "kept", [ClientId::from("kept-sp")].into_iter());
    let text = metrics.render();
    for removed in [
        "\"impots\",op",
        "amr_values_dropped_total{connector",
        "claims_dropped_total{",
        "\"sp\",error",
        "service_provider=\"sp\"",
        "client_key_fetches_total{",
    ] {
        assert!(!text.contains(removed), "{removed} is still in\n{text}");
    }
    for kept in [
        "calls_total{connector=\"kept\"",
        "errors_total{client=\"kept-sp\"",
        "errors_total{client=\"(unknown)\"",
    ] {
        assert!(text.contains(kept), "{kept} is missing in\n{text}");
    }
}

/// A hub with thousands of service providers must not have as many series of each metric.
#[test]
fn service_providers_labelled_by_class_are_not_distinguished_further() {
    let metrics = metrics();
    let classes = [("tax", "state"), ("customs", "state"), ("shop", "standard/openid")];
    metrics.set_client_classes(
        classes.into_iter().map(|(id, class)| (ClientId::from(id), class.into())).collect(),
    );
    for sp in ["tax", "customs", "shop", "stranger"] {
        metrics.record_login_end(LoginOutcome::Granted, &sp.into(), None, 1);
        metrics.record_token_error(Some(&sp.into()), ErrorCode::CodeUnknown);
    }
    let (early, late) = (Timestamp::from_seconds(5), Timestamp::from_seconds(9));
    metrics.set_client_secret_expiry([("tax".into(), late), ("customs".into(), early)].into_iter());
    let text = metrics.render();
    for line in [
        r#"passerelle_token_request_errors_total{client="state",error="Y042001"} 2"#,
        r#"passerelle_token_request_errors_total{client="(unknown)",error="Y042001"} 1"#,
        r#"passerelle_client_secret_expiry_timestamp_seconds{client="state"} 5"#,
    ] {
        assert!(text.lines().any(|has| has == line), "{line} is missing in\n{text}");
    }
    assert!(!["customs", "shop\"", "stranger"].iter().any(|id| text.contains(id)), "{text}");
}

#[test]
fn each_metric_has_a_unit_in_its_name_and_one_line_of_help() {
    for metric in metrics().declared() {
        assert!(metric.help.ends_with('.') && !metric.help.contains('\n'), "{metric:?}");
        assert_eq!(
            metric.metric_type == MetricType::Counter,
            metric.name.ends_with("_total"),
            "{metric:?}"
        );
        assert!(
            metric.metric_type != MetricType::Histogram || metric.unit() == "seconds",
            "{metric:?}"
        );
        assert!(
            metric
                .labels
                .iter()
                .all(|label| !["user", "session", "support_id", "sub"].contains(&label.as_str()))
        );
    }
}
