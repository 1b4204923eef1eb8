//! What opens and closes the circuit, and that no single network does.

use super::super::circuit::{FIRST_PAUSE, LONGEST_PAUSE, QUIET};
use super::super::tests::{DEAD, Stage, T0, TOOK, net};
use super::super::*;

#[test]
fn an_answer_that_a_browser_can_cause_counts_for_nothing() {
    let stage = Stage::new();
    let forged = [
        ErrorCode::IdpError,
        ErrorCode::IdpIssWrong,
        ErrorCode::IdpCodeRefused,
        ErrorCode::IdTokenNonce,
    ];
    for (n, code) in
        (0..).zip(forged.into_iter().cycle().take(1000).chain([ErrorCode::IdpDenied; 100]))
    {
        stage.login(Err(code), n);
    }
    assert_eq!(stage.health.standing(stage.now), Standing::Well);
    assert_eq!(stage.health.view(stage.now).tally, Tally::default());
}

#[test]
fn one_network_opens_no_circuit_however_many_failures_it_causes() {
    let mut stage = Stage::new();
    for _ in 0..3600 {
        stage.login(Err(ErrorCode::IdpStatus), 7);
        stage.wait(Duration::from_secs(1));
        assert_eq!(stage.condition(), Condition::Closed);
    }
    // One network can do no more than be counted once a minute.
    assert!(stage.health.view(stage.now).tally.ill <= 2);
}

#[test]
fn one_network_keeps_no_circuit_open() {
    let mut stage = Stage::new();
    stage.open_by_logins();
    stage.wait(FIRST_PAUSE);
    stage.login_probe(ProbeOutcome::Succeeded);
    assert_eq!(stage.condition(), Condition::HalfOpen);
    for _ in 0..50 {
        stage.login(Err(ErrorCode::IdpStatus), 7);
        stage.wait(Duration::from_secs(1));
    }
    assert_eq!(
        stage.health.standing(stage.now),
        Standing::OnTrial,
        "all others may still choose it"
    );
    stage.login(Ok(()), 8);
    assert_eq!(stage.condition(), Condition::Closed);
}

#[test]
fn logins_that_fail_from_several_networks_open_it_within_seconds() {
    let mut stage = Stage::new();
    for network in 0..5 {
        assert_eq!(stage.condition(), Condition::Closed);
        stage.login(Err(ErrorCode::IdpStatus), network);
        stage.wait(Duration::from_secs(1));
    }
    assert_eq!((stage.condition(), stage.cause()), (Condition::Open, Some(Cause::Logins)));
    assert!(
        stage.ask(Call::Begin).is_none()
            && stage.ask(Call::Complete).is_none()
            && stage.ask(Call::End).is_none()
    );
}

#[test]
fn with_little_traffic_failures_of_a_longer_time_count_until_one_login_succeeds() {
    let mut stage = Stage::new();
    for network in 0..4 {
        stage.login(Err(DEAD), network);
        stage.wait(Duration::from_secs(120));
    }
    assert_eq!(stage.condition(), Condition::Closed);
    stage.login(Err(DEAD), 4);
    assert_eq!(stage.condition(), Condition::Open, "five networks in ten minutes, and no success");

    let mut stage = Stage::new();
    for network in 0..40 {
        stage.login(Err(DEAD), network);
        stage.wait(Duration::from_secs(120));
        if network % 4 == 3 {
            stage.login(Ok(()), 100);
        }
    }
    assert_eq!(stage.condition(), Condition::Closed);
}

#[test]
fn successes_of_anybody_weigh_against_failures() {
    let stage = Stage::new();
    for _ in 0..40 {
        stage.login(Ok(()), 1000);
    }
    (0..39).for_each(|network| stage.login(Err(DEAD), network));
    assert_eq!(stage.condition(), Condition::Closed);
    let mut stage = stage;
    stage.wait(Duration::from_secs(1));
    stage.login(Err(DEAD), 39);
    assert_eq!(stage.condition(), Condition::Open, "half of all");
}

#[test]
fn two_refused_connections_condemn_and_three_slow_answers() {
    for (code, times) in
        [(ErrorCode::IdpUnreachable, 2), (ErrorCode::IdpTimeout, 3), (ErrorCode::IdpStatus, 3)]
    {
        let stage = Stage::new();
        for time in 1..=times {
            assert_eq!(stage.condition(), Condition::Closed, "{code:?}, {time}");
            stage.documents(ProbeOutcome::Failed(code));
        }
        assert_eq!(
            (stage.condition(), stage.cause()),
            (Condition::Open, Some(Cause::Documents)),
            "{code:?}"
        );
        assert_eq!(stage.documents(ProbeOutcome::Succeeded).unwrap().to, Condition::Closed);
        assert_eq!(stage.health.standing(stage.now), Standing::Well);
    }
}

#[test]
fn an_identity_provider_that_limits_the_hub_is_neither_dead_nor_alive() {
    let stage = Stage::new();
    for _ in 0..10 {
        stage.documents(ProbeOutcome::Inconclusive);
    }
    assert_eq!(stage.condition(), Condition::Closed);
    stage.documents(ProbeOutcome::Failed(DEAD));
    stage.documents(ProbeOutcome::Inconclusive);
    stage.documents(ProbeOutcome::Failed(DEAD));
    assert_eq!(stage.condition(), Condition::Open);
}

#[test]
fn a_login_that_succeeds_is_worth_more_than_slow_probes() {
    let stage = Stage::new();
    for _ in 0..10 {
        stage.documents(ProbeOutcome::Failed(ErrorCode::IdpTimeout));
        stage.documents(ProbeOutcome::Failed(ErrorCode::IdpTimeout));
        stage.login(Ok(()), 1);
    }
    assert_eq!(stage.condition(), Condition::Closed);
}

#[test]
fn where_all_users_come_from_one_network_the_token_endpoint_decides() {
    // Its answer to a made-up code was seen while it worked.
    let mut stage = Stage::new();
    stage.login(Ok(()), 7);
    assert!(
        stage.health.wants_login_probe(stage.now),
        "what a working token endpoint says is not known yet"
    );
    stage.login_probe(ProbeOutcome::Succeeded);
    assert!(!stage.health.wants_login_probe(stage.now));
    stage.wait(Duration::from_secs(60));
    stage.login(Err(ErrorCode::IdpStatus), 7);
    for _ in 0..3 {
        assert_eq!(stage.condition(), Condition::Closed);
        assert!(stage.health.wants_login_probe(stage.now));
        stage.login_probe(ProbeOutcome::Failed(ErrorCode::IdpStatus));
        stage.wait(Duration::from_secs(1));
    }
    assert_eq!((stage.condition(), stage.cause()), (Condition::Open, Some(Cause::LoginProbe)));
    stage.wait(Duration::from_secs(10));
    assert!(stage.health.wants_login_probe(stage.now));
    stage.login_probe(ProbeOutcome::Succeeded);
    assert_eq!(stage.condition(), Condition::Closed, "no person had to try");
}

#[test]
fn a_token_endpoint_that_dislikes_made_up_codes_is_not_condemned_for_it() {
    let mut stage = Stage::new();
    for _ in 0..20 {
        stage.login(Err(ErrorCode::IdpStatus), 7);
        stage.login_probe(ProbeOutcome::Failed(ErrorCode::IdpStatus));
        stage.wait(Duration::from_secs(30));
    }
    assert_eq!(stage.condition(), Condition::Closed, "it may have answered so when it worked");
    stage.login_probe(ProbeOutcome::Failed(DEAD));
    stage.login_probe(ProbeOutcome::Failed(DEAD));
    assert_eq!(stage.condition(), Condition::Open, "a refused connection is clear at any time");
    stage.wait(Duration::from_secs(10));
    stage.login_probe(ProbeOutcome::Failed(ErrorCode::IdpStatus));
    assert_eq!(stage.condition(), Condition::HalfOpen, "it answers again as it did before");
    stage.login(Ok(()), 7);
    assert_eq!(stage.condition(), Condition::Closed);
}

#[test]
fn a_token_endpoint_that_comes_back_and_limits_the_hub_is_offered_again() {
    let mut stage = Stage::new();
    stage.login(Ok(()), 7);
    stage.login_probe(ProbeOutcome::Succeeded);
    (0..2).for_each(|_| stage.login_probe(ProbeOutcome::Failed(DEAD)));
    assert_eq!((stage.condition(), stage.cause()), (Condition::Open, Some(Cause::LoginProbe)));
    for _ in 0..3 {
        stage.wait(Duration::from_secs(60));
        stage.login_probe(ProbeOutcome::Inconclusive);
        assert_eq!(stage.condition(), Condition::HalfOpen);
    }
    // It dies again.
    (0..2).for_each(|_| stage.login_probe(ProbeOutcome::Failed(DEAD)));
    assert_eq!((stage.condition(), stage.cause()), (Condition::Open, Some(Cause::LoginProbe)));
}

#[test]
fn an_answer_between_two_refused_connections_of_the_token_endpoint_keeps_the_circuit_closed() {
    let mut stage = Stage::new();
    for _ in 0..5 {
        stage.login_probe(ProbeOutcome::Failed(DEAD));
        stage.login_probe(ProbeOutcome::Failed(ErrorCode::IdpStatus));
        stage.wait(Duration::from_secs(2));
        assert_eq!(stage.condition(), Condition::Closed);
        assert!(!stage.health.wants_login_probe(stage.now), "there is nothing left to confirm");
    }
}

#[test]
fn an_attacker_causes_few_calls_to_the_token_endpoint() {
    let mut stage = Stage::new();
    stage.login(Ok(()), 1);
    stage.login_probe(ProbeOutcome::Succeeded);
    let mut probes = 0;
    for _ in 0..600 {
        stage.wait(Duration::from_secs(1));
        stage.login(Err(ErrorCode::IdpStatus), 7);
        if stage.health.wants_login_probe(stage.now) {
            probes += 1;
            stage.login_probe(ProbeOutcome::Succeeded);
        }
    }
    assert!(probes <= 30, "{probes} in ten minutes");
    assert_eq!(stage.condition(), Condition::Closed);
}

#[test]
fn logins_that_still_fail_open_it_again_for_longer() {
    let mut stage = Stage::new();
    stage.open_by_logins();
    for pause in [10, 20, 40, 60, 60] {
        stage.wait(Duration::from_secs(pause - 1));
        stage.login_probe(ProbeOutcome::Succeeded);
        assert_eq!(stage.condition(), Condition::Open, "{pause}");
        stage.wait(Duration::from_secs(1));
        stage.login_probe(ProbeOutcome::Succeeded);
        assert_eq!(stage.condition(), Condition::HalfOpen, "{pause}");
        (0..3).for_each(|network| stage.login(Err(DEAD), network));
        assert_eq!(stage.condition(), Condition::Open);
    }
    stage.wait(LONGEST_PAUSE);
    stage.login_probe(ProbeOutcome::Succeeded);
    stage.wait(QUIET);
    assert_eq!(stage.condition(), Condition::Closed, "nothing speaks against it any more");
}

#[test]
fn a_call_from_before_a_change_has_no_say_after_it() {
    let mut stage = Stage::new();
    let late: Vec<_> = (0..4).map(|_| stage.ask(Call::Complete).unwrap()).collect();
    stage.open_by_logins();
    stage.wait(FIRST_PAUSE);
    stage.login_probe(ProbeOutcome::Succeeded);
    for (network, pass) in (10..).zip(late) {
        pass.settle(Err(DEAD), Some(net(network)), TOOK, stage.now);
        stage.decide();
    }
    assert_eq!(stage.condition(), Condition::HalfOpen);
}

#[test]
fn a_connector_that_died_in_use_stays_in_use_until_it_is_back() {
    let mut stage = Stage::new();
    stage.health.mark_used(stage.now);
    stage.wait(Duration::from_secs(200));
    stage.documents(ProbeOutcome::Failed(DEAD));
    stage.wait(Duration::from_secs(1800));
    assert!(stage.health.in_use_since(stage.now).is_some());
    stage.documents(ProbeOutcome::Succeeded);
    assert!(stage.health.in_use_since(stage.now).is_none());
}

#[test]
fn an_answer_from_memory_proves_nothing() {
    let stage = Stage::new();
    for _ in 0..1000 {
        stage.call(Call::Begin, Ok(()), 1);
    }
    assert_eq!(stage.health.evidence(stage.now).alive_at, None);
    assert!(!stage.health.take_documents_suspicion());
    stage.call(Call::Begin, Err(DEAD), 1);
    assert!(stage.health.take_documents_suspicion() && !stage.health.take_documents_suspicion());
}

#[test]
fn a_clock_that_is_set_back_condemns_nobody() {
    let mut stage = Stage::new();
    (0..4).for_each(|network| stage.login(Err(DEAD), network));
    stage.now = T0 - Duration::from_secs(86_400);
    stage.login(Err(DEAD), 5);
    assert_eq!(stage.condition(), Condition::Closed);
}
