//! The memory of what happened lately.

use std::sync::Arc;

use super::*;
use crate::env::{HandClock, SeededEntropy};
use std::time::Duration;

fn recent(logins: usize, strays: usize) -> (Recent, Arc<HandClock>) {
    let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1000)));
    let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(1)));
    (Recent::new(Room { logins, strays }, &env), clock)
}

fn id(number: u64) -> SupportId {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let letter =
        |at: u32| char::from(ALPHABET[usize::try_from((number >> (5 * at)) & 31).unwrap()]);
    SupportId::new((0..12).rev().map(letter).collect::<String>())
}

fn of(name: Name, number: u64) -> Event {
    Event::of(name).support_id(&id(number)).sp(&"sp".into())
}

#[test]
fn a_login_is_told_in_order_and_stands_where_its_last_event_left_it() {
    let (recent, clock) = recent(16, 16);
    let refusal = ErrorCode::IdpTimeout;
    for (event, stage) in [
        (of(Name::AuthorizationReceived, 1), Stage::Choosing),
        (of(Name::ChoiceShown, 1), Stage::Choosing),
        (of(Name::IdpChosen, 1).idp(&"one".into()).code(refusal), Stage::Choosing),
        (of(Name::IdpChosen, 1).idp(&"two".into()), Stage::Away),
        (of(Name::CallbackRefused, 1).idp(&"two".into()).code(refusal), Stage::Choosing),
        (of(Name::IdpChosen, 1).idp(&"two".into()), Stage::Away),
        (of(Name::CallbackAccepted, 1).idp(&"two".into()), Stage::Identifying),
        (of(Name::InformationShown, 1), Stage::Consenting),
        (of(Name::StepRefused, 1).code(ErrorCode::CsrfWrong), Stage::Consenting),
        (of(Name::CodeIssued, 1), Stage::Granted),
        (of(Name::CallbackRefused, 1).code(refusal), Stage::Granted),
        (of(Name::TokenIssued, 1), Stage::Granted),
    ] {
        recent.note(&event);
        assert_eq!(recent.find(&id(1)).unwrap().stage, stage, "{:?}", event.name);
        clock.advance(Duration::from_millis(10));
    }
    let told = recent.find(&id(1)).unwrap();
    assert_eq!((told.moments.len(), told.is_whole(), told.left_out), (12, true, 0));
    assert!(told.moments.is_sorted_by_key(|moment| moment.at));
    assert_eq!(told.service_provider, Some("sp".into()));
    assert_eq!(told.identity_provider(), Some(&"two".into()));
    recent.note(&of(Name::LoginFailed, 2).code(refusal));
    recent.note(&of(Name::LoginRefused, 2).code(refusal));
    assert_eq!(
        recent.find(&id(2)).unwrap().stage,
        Stage::Refused,
        "the service provider has heard of it"
    );
}

#[test]
fn a_refused_login_is_remembered_while_good_ones_pass() {
    let (recent, _) = recent(SHARDS, SHARDS);
    recent.note(&of(Name::AuthorizationReceived, 0));
    recent.note(&of(Name::LoginFailed, 0).code(ErrorCode::IdpTimeout));
    let later = 1..=1000;
    later.clone().for_each(|number| recent.note(&of(Name::AuthorizationReceived, number)));
    assert!(recent.find(&id(0)).is_some_and(|told| told.stage == Stage::Failed));
    assert_eq!(
        later.filter(|number| recent.find(&id(*number)).is_some()).count(),
        SHARDS,
        "a place in each shard"
    );
}

#[test]
fn a_flood_of_bad_requests_drives_no_login_out() {
    let (recent, _) = recent(SHARDS, SHARDS);
    recent.note(&of(Name::AuthorizationReceived, 0));
    for number in 1..=10_000 {
        recent.note(&of(Name::AuthorizationRefused, number).code(ErrorCode::BadRequest));
    }
    assert!(recent.find(&id(0)).is_some());
    let kept = |recent: &Recent| {
        recent.shards.iter().map(|shard| shard.lock().unwrap().timelines.len()).sum::<usize>()
    };
    assert_eq!(kept(&recent), 1 + SHARDS);
    assert_eq!(recent.find(&id(10_000)).unwrap().stage, Stage::Stray);
}

/// Data providers ask about tokens for hours: longer than their logins are remembered, and at any node.
#[test]
fn tokens_of_forgotten_logins_are_nobody_on_the_way_and_drive_no_login_out() {
    for name in
        [Name::TokenIssued, Name::UserinfoTold, Name::IntrospectionActive, Name::TokenRevoked]
    {
        let (recent, _) = recent(SHARDS, SHARDS);
        recent.note(&of(Name::AuthorizationReceived, 0));
        (1..=1000).for_each(|number| recent.note(&of(name, number)));
        assert!(recent.find(&id(0)).is_some(), "{name:?}");
        let told = recent.find(&id(1000)).unwrap();
        assert_eq!((told.stage, told.is_whole()), (Stage::Granted, false), "{name:?}");
    }
}

#[test]
fn explanations_of_a_login_are_printable_and_take_bounded_room() {
    let (recent, _) = recent(16, 16);
    for number in 0..100 {
        let detail = format!("{number}\u{1b}[31m\u{202e}{}", "x".repeat(10_000));
        recent
            .note(&of(Name::CallbackRefused, 1).code(ErrorCode::AcrUnlisted).detail(Some(&detail)));
    }
    let told = recent.find(&id(1)).unwrap();
    let details: Vec<_> =
        told.moments.iter().filter_map(|moment| moment.detail.as_deref()).collect();
    assert_eq!(details.len(), MAX_DETAILS);
    assert!(details[MAX_DETAILS - 1].starts_with("99?[31m?xxx"), "the last ones stay");
    assert!(details.iter().all(|detail| detail.len() == MAX_DETAIL_CHARS
        && detail.chars().all(|c| c == ' ' || c.is_ascii_graphic())));
}

#[test]
fn an_endless_login_takes_no_more_room_than_another() {
    let (recent, _) = recent(16, 16);
    recent.note(&of(Name::AuthorizationReceived, 1));
    (0..1000).for_each(|_| recent.note(&of(Name::UserinfoTold, 1)));
    recent.note(&of(Name::TokenRevoked, 1));
    let told = recent.find(&id(1)).unwrap();
    assert_eq!((told.moments.len(), told.left_out), (MOMENTS, 1002 - MOMENTS as u32));
    assert_eq!(
        (told.moments[0].name, told.moments[MOMENTS - 1].name),
        (Name::AuthorizationReceived, Name::TokenRevoked)
    );
}
