//! Tests of the recent events.

use std::sync::Arc;

use super::*;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use std::time::Duration;

const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

pub(super) fn recent(logins: usize, without_login: usize) -> (RecentEvents, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1000)));
    let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(1)));
    let limits = RetentionLimits { logins, without_login, max_age: MAX_AGE };
    (RecentEvents::new(limits, &env), clock)
}

pub(super) fn id(number: u64) -> SupportId {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let letter =
        |at: u32| char::from(ALPHABET[usize::try_from((number >> (5 * at)) & 31).unwrap()]);
    SupportId::new((0..12).rev().map(letter).collect::<String>())
}

pub(super) fn event(kind: EventKind, number: u64) -> Event {
    Event::new(kind).support_id(&id(number)).sp(&"sp".into())
}

#[test]
fn a_timeline_is_in_order_and_its_stage_follows_from_the_events() {
    let (recent, clock) = recent(16, 16);
    let refusal = ErrorCode::IdpTimeout;
    for (event, stage) in [
        (event(EventKind::AuthorizationReceived, 1), LoginStage::Choosing),
        (event(EventKind::ChoiceShown, 1), LoginStage::Choosing),
        (event(EventKind::IdpChosen, 1).idp(&"one".into()).code(refusal), LoginStage::Choosing),
        (event(EventKind::IdpChosen, 1).idp(&"two".into()), LoginStage::AwaitingCallback),
        (
            event(EventKind::CallbackRefused, 1).idp(&"two".into()).code(refusal),
            LoginStage::Choosing,
        ),
        (event(EventKind::IdpChosen, 1).idp(&"two".into()), LoginStage::AwaitingCallback),
        (event(EventKind::CallbackAccepted, 1).idp(&"two".into()), LoginStage::Identifying),
        (event(EventKind::InformationShown, 1), LoginStage::Consenting),
        (event(EventKind::StepRefused, 1).code(ErrorCode::CsrfWrong), LoginStage::Consenting),
        (event(EventKind::CodeIssued, 1), LoginStage::Granted),
        (event(EventKind::CallbackRefused, 1).code(refusal), LoginStage::Granted),
        (event(EventKind::TokenIssued, 1), LoginStage::Granted),
    ] {
        recent.record(&event);
        assert_eq!(recent.find(&id(1)).unwrap().stage, stage, "{:?}", event.kind);
        clock.advance(Duration::from_millis(10));
    }
    let timeline = recent.find(&id(1)).unwrap();
    assert_eq!((timeline.entries.len(), timeline.is_whole(), timeline.omitted), (12, true, 0));
    assert!(timeline.entries.is_sorted_by_key(|entry| entry.at));
    assert_eq!(timeline.service_provider, Some("sp".into()));
    assert_eq!(timeline.identity_provider(), Some(&"two".into()));
    recent.record(&event(EventKind::LoginFailed, 2).code(refusal));
    recent.record(&event(EventKind::LoginRefused, 2).code(refusal));
    assert_eq!(
        recent.find(&id(2)).unwrap().stage,
        LoginStage::Refused,
        "the service provider got the error"
    );
}

#[test]
fn a_refused_login_is_kept_while_successful_ones_are_evicted() {
    let (recent, _) = recent(SHARDS, SHARDS);
    recent.record(&event(EventKind::AuthorizationReceived, 0));
    recent.record(&event(EventKind::LoginFailed, 0).code(ErrorCode::IdpTimeout));
    let later = 1..=1000;
    later
        .clone()
        .for_each(|number| recent.record(&event(EventKind::AuthorizationReceived, number)));
    assert!(recent.find(&id(0)).is_some_and(|timeline| timeline.stage == LoginStage::Failed));
    assert_eq!(
        later.filter(|number| recent.find(&id(*number)).is_some()).count(),
        SHARDS,
        "one in each shard"
    );
}

#[test]
fn a_flood_of_bad_requests_evicts_no_login() {
    let (recent, _) = recent(SHARDS, SHARDS);
    recent.record(&event(EventKind::AuthorizationReceived, 0));
    for number in 1..=10_000 {
        recent.record(&event(EventKind::AuthorizationRefused, number).code(ErrorCode::BadRequest));
    }
    assert!(recent.find(&id(0)).is_some());
    let kept = |recent: &RecentEvents| {
        recent.shards.iter().map(|shard| shard.lock().unwrap().timelines.len()).sum::<usize>()
    };
    assert_eq!(kept(&recent), 1 + SHARDS);
    assert_eq!(recent.find(&id(10_000)).unwrap().stage, LoginStage::NoLogin);
}

/// Tokens are introspected for hours, longer than their logins are kept, and at any hub.
#[test]
fn tokens_of_forgotten_logins_are_not_live_and_evict_no_login() {
    for name in [
        EventKind::TokenIssued,
        EventKind::UserinfoReleased,
        EventKind::IntrospectionActive,
        EventKind::TokenRevoked,
    ] {
        let (recent, _) = recent(SHARDS, SHARDS);
        recent.record(&event(EventKind::AuthorizationReceived, 0));
        (1..=1000).for_each(|number| recent.record(&event(name, number)));
        assert!(recent.find(&id(0)).is_some(), "{name:?}");
        let timeline = recent.find(&id(1000)).unwrap();
        assert_eq!((timeline.stage, timeline.is_whole()), (LoginStage::Granted, false), "{name:?}");
    }
}

#[test]
fn explanations_of_a_login_are_printable_and_bounded() {
    let (recent, _) = recent(16, 16);
    for number in 0..100 {
        let detail = format!("{number}\u{1b}[31m\u{202e}{}", "x".repeat(10_000));
        recent.record(
            &event(EventKind::CallbackRefused, 1)
                .code(ErrorCode::AcrUnlisted)
                .detail(Some(&detail)),
        );
    }
    let timeline = recent.find(&id(1)).unwrap();
    let details: Vec<_> =
        timeline.entries.iter().filter_map(|entry| entry.detail.as_deref()).collect();
    assert_eq!(details.len(), MAX_DETAILS);
    assert!(details[MAX_DETAILS - 1].starts_with("99?[31m?xxx"), "the last ones stay");
    assert!(details.iter().all(|detail| detail.len() == MAX_DETAIL_CHARS
        && detail.chars().all(|c| c == ' ' || c.is_ascii_graphic())));
}

#[test]
fn an_endless_login_takes_bounded_memory() {
    let (recent, _) = recent(16, 16);
    recent.record(&event(EventKind::AuthorizationReceived, 1));
    (0..1000).for_each(|_| recent.record(&event(EventKind::UserinfoReleased, 1)));
    recent.record(&event(EventKind::TokenRevoked, 1));
    let timeline = recent.find(&id(1)).unwrap();
    assert_eq!(
        (timeline.entries.len(), timeline.omitted),
        (MAX_TIMELINE_ENTRIES, 1002 - MAX_TIMELINE_ENTRIES as u32)
    );
    assert_eq!(
        (timeline.entries[0].kind, timeline.entries[MAX_TIMELINE_ENTRIES - 1].kind),
        (EventKind::AuthorizationReceived, EventKind::TokenRevoked)
    );
}

#[test]
fn events_older_than_the_days_to_remember_are_neither_shown_nor_kept() {
    let (recent, clock) = recent(16, 16);
    let refusal = ErrorCode::IdpTimeout;
    recent.record(&event(EventKind::AuthorizationReceived, 1));
    recent.record(&event(EventKind::AuthorizationReceived, 2));
    recent.record(&event(EventKind::LoginFailed, 2).code(refusal));
    recent.record(&event(EventKind::StepRefused, 3).code(refusal));
    clock.advance(MAX_AGE - Duration::from_secs(1));
    recent.record(&event(EventKind::AuthorizationReceived, 4));
    recent.remove_expired();
    assert_eq!(count_timelines(&recent), 4, "none is too old yet");

    clock.advance(Duration::from_secs(1));
    for old in 1..=3 {
        assert!(recent.find(&id(old)).is_none(), "{old}");
    }
    assert!(recent.find(&id(4)).is_some());
    recent.remove_expired();
    assert_eq!(count_timelines(&recent), 1, "memory has what is shown only");
}

fn count_timelines(recent: &RecentEvents) -> usize {
    recent.shards.iter().map(|shard| shard.lock().unwrap().timelines.len()).sum()
}
