//! Tests what opens and closes the circuit, and that no single network does.

use super::super::circuit::{HALF_OPEN_TIMEOUT, MAX_OPEN_TIME, MIN_OPEN_TIME};
use super::super::tests::{DEAD, Harness, T0};
use super::super::*;

#[test]
fn an_answer_that_a_browser_can_cause_is_ignored() {
    let mut harness = Harness::new();
    let forged = [
        ErrorCode::IdpError,
        ErrorCode::IdpIssWrong,
        ErrorCode::IdpCodeRefused,
        ErrorCode::IdTokenNonce,
    ];
    for (n, code) in
        (0..).zip(forged.into_iter().cycle().take(1000).chain([ErrorCode::IdpDenied; 100]))
    {
        harness.login(Err(code), n);
    }
    assert_eq!(harness.circuit(), CircuitState::Closed);
    assert_eq!(harness.health.snapshot.window.tally(harness.now), Tally::default());
}

#[test]
fn one_network_opens_no_circuit_however_many_failures_it_causes() {
    let mut harness = Harness::new();
    for _ in 0..3600 {
        harness.login(Err(ErrorCode::IdpStatus), 7);
        harness.wait(Duration::from_secs(1));
        assert_eq!(harness.circuit(), CircuitState::Closed);
    }
    // One network counts at most once a minute.
    assert!(harness.health.snapshot.window.tally(harness.now).failures <= 2);
}

#[test]
fn one_network_keeps_no_circuit_open() {
    let mut harness = Harness::new();
    harness.open_by_logins();
    harness.wait(MIN_OPEN_TIME);
    harness.half_open_if_due();
    assert_eq!(harness.circuit(), CircuitState::HalfOpen);
    for _ in 0..50 {
        harness.login(Err(ErrorCode::IdpStatus), 7);
        harness.wait(Duration::from_secs(1));
    }
    assert_eq!(harness.circuit(), CircuitState::HalfOpen, "users may still choose it");
    harness.login(Ok(()), 8);
    assert_eq!(harness.circuit(), CircuitState::Closed);
}

#[test]
fn logins_that_fail_from_several_networks_open_it_within_seconds() {
    let mut harness = Harness::new();
    for network in 0..5 {
        assert_eq!(harness.circuit(), CircuitState::Closed);
        harness.login(Err(ErrorCode::IdpStatus), network);
        harness.wait(Duration::from_secs(1));
    }
    assert_eq!((harness.circuit(), harness.cause()), (CircuitState::Open, Some(OpenCause::Logins)));
    assert!(
        harness.admit(CallKind::BeginLogin).is_none()
            && harness.admit(CallKind::CompleteLogin).is_none()
            && harness.admit(CallKind::EndSession).is_none()
    );
}

#[test]
fn with_little_traffic_failures_of_a_longer_time_count_until_one_login_succeeds() {
    let mut harness = Harness::new();
    for network in 0..4 {
        harness.login(Err(DEAD), network);
        harness.wait(Duration::from_secs(120));
    }
    assert_eq!(harness.circuit(), CircuitState::Closed);
    harness.login(Err(DEAD), 4);
    assert_eq!(
        harness.circuit(),
        CircuitState::Open,
        "five networks in ten minutes, and no success"
    );

    let mut harness = Harness::new();
    for network in 0..40 {
        harness.login(Err(DEAD), network);
        harness.wait(Duration::from_secs(120));
        if network % 4 == 3 {
            harness.login(Ok(()), 100);
        }
    }
    assert_eq!(harness.circuit(), CircuitState::Closed);
}

#[test]
fn successes_of_all_networks_weigh_against_failures() {
    let mut harness = Harness::new();
    for _ in 0..40 {
        harness.login(Ok(()), 1000);
    }
    (0..39).for_each(|network| harness.login(Err(DEAD), network));
    assert_eq!(harness.circuit(), CircuitState::Closed);
    harness.wait(Duration::from_secs(1));
    harness.login(Err(DEAD), 39);
    assert_eq!(harness.circuit(), CircuitState::Open, "half of all");
}

#[test]
fn two_refused_connections_or_three_slow_answers_open_the_circuit() {
    for (code, times) in
        [(ErrorCode::IdpUnreachable, 2), (ErrorCode::IdpTimeout, 3), (ErrorCode::IdpStatus, 3)]
    {
        let mut harness = Harness::new();
        for time in 1..=times {
            assert_eq!(harness.circuit(), CircuitState::Closed, "{code:?}, {time}");
            harness.documents(ProbeOutcome::Failed(code));
        }
        assert_eq!(
            (harness.circuit(), harness.cause()),
            (CircuitState::Open, Some(OpenCause::Documents)),
            "{code:?}"
        );
        assert_eq!(harness.documents(ProbeOutcome::Succeeded).unwrap().to, CircuitState::Closed);
        assert_eq!(harness.circuit(), CircuitState::Closed);
    }
}

#[test]
fn a_rate_limit_of_an_identity_provider_is_neither_a_failure_nor_a_success() {
    let mut harness = Harness::new();
    for _ in 0..10 {
        harness.documents(ProbeOutcome::Inconclusive);
    }
    assert_eq!(harness.circuit(), CircuitState::Closed);
    harness.documents(ProbeOutcome::Failed(DEAD));
    harness.documents(ProbeOutcome::Inconclusive);
    harness.documents(ProbeOutcome::Failed(DEAD));
    assert_eq!(harness.circuit(), CircuitState::Open);
}

#[test]
fn a_successful_login_outweighs_slow_probes() {
    let mut harness = Harness::new();
    for _ in 0..10 {
        harness.documents(ProbeOutcome::Failed(ErrorCode::IdpTimeout));
        harness.documents(ProbeOutcome::Failed(ErrorCode::IdpTimeout));
        harness.login(Ok(()), 1);
    }
    assert_eq!(harness.circuit(), CircuitState::Closed);
}

#[test]
fn a_circuit_that_logins_opened_stays_open_while_the_documents_can_not_be_fetched() {
    let mut harness = Harness::new();
    harness.open_by_logins();
    harness.documents(ProbeOutcome::Failed(DEAD));
    harness.wait(MAX_OPEN_TIME);
    harness.half_open_if_due();
    assert_eq!(harness.circuit(), CircuitState::Open);
    harness.documents(ProbeOutcome::Succeeded);
    harness.half_open_if_due();
    assert_eq!(harness.circuit(), CircuitState::HalfOpen);
}

#[test]
fn logins_that_still_fail_open_it_again_for_longer() {
    let mut harness = Harness::new();
    harness.open_by_logins();
    for pause in [10, 20, 40, 60, 60] {
        harness.wait(Duration::from_secs(pause - 1));
        harness.half_open_if_due();
        assert_eq!(harness.circuit(), CircuitState::Open, "{pause}");
        harness.wait(Duration::from_secs(1));
        harness.half_open_if_due();
        assert_eq!(harness.circuit(), CircuitState::HalfOpen, "{pause}");
        (0..3).for_each(|network| harness.login(Err(DEAD), network));
        assert_eq!(harness.circuit(), CircuitState::Open);
    }
    harness.wait(MAX_OPEN_TIME);
    harness.half_open_if_due();
    harness.wait(HALF_OPEN_TIMEOUT);
    assert_eq!(harness.circuit(), CircuitState::Closed, "no failure since");
}

#[test]
fn a_call_from_before_a_change_has_no_effect_after_it() {
    let mut harness = Harness::new();
    let late: Vec<_> = (0..4).map(|_| harness.admit(CallKind::CompleteLogin).unwrap()).collect();
    harness.open_by_logins();
    harness.wait(MIN_OPEN_TIME);
    harness.half_open_if_due();
    for (network, epoch) in (10..).zip(late) {
        harness.end_call(CallKind::CompleteLogin, epoch, Err(DEAD), network);
        harness.apply_evidence();
    }
    assert_eq!(harness.circuit(), CircuitState::HalfOpen);
}

#[test]
fn a_connector_that_died_in_use_stays_in_use_until_it_is_back() {
    let mut harness = Harness::new();
    harness.health.mark_used(harness.now);
    harness.wait(Duration::from_secs(200));
    harness.documents(ProbeOutcome::Failed(DEAD));
    harness.wait(Duration::from_secs(1800));
    assert!(harness.health.snapshot.last_used_at(harness.now).is_some());
    harness.documents(ProbeOutcome::Succeeded);
    assert!(harness.health.snapshot.last_used_at(harness.now).is_none());
}

#[test]
fn an_answer_from_a_cache_proves_nothing() {
    let mut harness = Harness::new();
    for _ in 0..1000 {
        harness.end_call(CallKind::BeginLogin, 0, Ok(()), 1);
    }
    assert_eq!(harness.health.evidence(harness.now).alive_at, None);
    assert!(!harness.health.snapshot.documents_suspected);
    harness.end_call(CallKind::BeginLogin, 0, Err(DEAD), 1);
    assert!(harness.health.snapshot.documents_suspected);
    let requests = harness.health.take_probe_requests();
    assert_eq!((requests.documents_suspected, requests.probe_requested), (true, false));
    assert!(!harness.health.snapshot.documents_suspected);
}

#[test]
fn a_success_after_the_evidence_was_collected_keeps_the_circuit_closed() {
    for (succeeds_since, circuit) in [(true, CircuitState::Closed), (false, CircuitState::Open)] {
        let mut harness = Harness::new();
        let now = harness.now;
        let probe = |health: &mut Health, outcome| {
            health.record_document_probe(outcome, true, Duration::ZERO, now);
        };
        harness.update(|health| probe(health, ProbeOutcome::Failed(DEAD)));
        let (cause, _) = harness.health.evidence(now).open_cause.unwrap();
        if succeeds_since {
            harness.update(|health| probe(health, ProbeOutcome::Succeeded));
        }
        harness.update(|health| health.open_circuit_if_failing(cause, now));
        assert_eq!(harness.circuit(), circuit);
    }
}

#[test]
fn a_clock_that_is_set_back_opens_no_circuit() {
    let mut harness = Harness::new();
    (0..4).for_each(|network| harness.login(Err(DEAD), network));
    harness.now = T0 - Duration::from_secs(86_400);
    harness.login(Err(DEAD), 5);
    assert_eq!(harness.circuit(), CircuitState::Closed);
}
