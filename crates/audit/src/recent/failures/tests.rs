//! Tests of the failed logins.

use super::super::tests::{event, id, recent};
use super::*;
use crate::event::Event;

fn summary(recent: &super::super::RecentEvents) -> FailureSummary {
    recent.summarize_failures(&FailureFilter::default())
}

#[test]
fn a_failed_login_is_counted_once_with_its_parties_and_reason() {
    let (recent, clock) = recent(64, 64);
    recent.record(&event(EventKind::AuthorizationReceived, 1));
    recent.record(&event(EventKind::IdpChosen, 1).idp(&"amandier".into()));
    recent.record(
        &event(EventKind::CallbackRefused, 1).idp(&"amandier".into()).code(ErrorCode::IdpTimeout),
    );
    clock.advance(Duration::from_secs(1));
    recent.record(&event(EventKind::LoginFailed, 1).code(ErrorCode::IdpTimeout));
    recent.record(&event(EventKind::StepRefused, 1).code(ErrorCode::CsrfWrong));
    let found = summary(&recent);
    let [login] = found.failed_logins.as_slice() else { panic!("{found:?}") };
    assert_eq!((&login.support_id, login.time.as_str()), (&id(1), "1970-01-01T00:16:41Z"));
    let [count] = found.counts.as_slice() else { panic!("{found:?}") };
    assert_eq!((count.count, count.code.as_str()), (1, ErrorCode::IdpTimeout.entry().code));
    assert_eq!(count.service_provider, Some("sp".into()));
    assert_eq!(count.identity_provider, Some("amandier".into()));
}

#[test]
fn a_person_who_signs_in_after_a_failure_is_no_failed_login() {
    let (recent, _) = recent(64, 64);
    recent.record(&event(EventKind::AuthorizationReceived, 1));
    let refused = event(EventKind::CallbackRefused, 1).idp(&"amandier".into());
    recent.record(&refused.code(ErrorCode::IdpTimeout));
    assert_eq!(summary(&recent).failed_logins.len(), 1);
    recent.record(&event(EventKind::CodeIssued, 1).idp(&"belvedere".into()));
    let found = summary(&recent);
    assert_eq!((found.failed_logins.len(), found.granted, found.counts.len()), (0, 1, 1));
}

#[test]
fn failures_are_filtered_by_party_and_forgotten_after_an_hour() {
    let (recent, clock) = recent(64, 64);
    for (number, idp) in [(1, "amandier"), (2, "belvedere"), (3, "belvedere")] {
        recent.record(&event(EventKind::AuthorizationReceived, number));
        let refused = event(EventKind::CallbackRefused, number).idp(&idp.into());
        recent.record(&refused.code(ErrorCode::IdpTimeout));
    }
    let of = |sp: Option<&str>, idp: Option<&str>| {
        let filter = FailureFilter {
            service_provider: sp.map(Into::into),
            identity_provider: idp.map(Into::into),
        };
        let found = recent.summarize_failures(&filter);
        (found.failed_logins.len(), found.counts.iter().map(|count| count.count).sum::<u64>())
    };
    assert_eq!(of(None, Some("belvedere")), (2, 2));
    assert_eq!(of(Some("sp"), None), (3, 3));
    assert_eq!(of(Some("another"), None), (0, 0));
    clock.advance(Duration::from_secs(3600));
    assert_eq!(of(None, None), (3, 0), "the logins stay until later ones replace them");
}

/// Attack: requests that anyone can send push the failed logins out.
#[test]
fn a_flood_of_refused_requests_evicts_no_failed_login() {
    let (recent, _) = recent(64, 64);
    recent.record(&event(EventKind::AuthorizationReceived, 1));
    recent.record(&event(EventKind::LoginFailed, 1).code(ErrorCode::IdpTimeout));
    for number in 2..5000 {
        let refused = Event::new(EventKind::AuthorizationRefused).support_id(&id(number));
        recent.record(&refused.code(ErrorCode::ClientIdUnknown));
    }
    let found = summary(&recent);
    assert_eq!((found.failed_logins.len(), found.refused_requests.len()), (1, SHOWN_FAILURES));
    assert_eq!(found.refused_requests[0].support_id, id(4999), "the latest first");
    assert_eq!(found.counts.len(), 2);
}

/// Attack: a party with endless names fills the memory.
#[test]
fn more_parties_than_counters_are_counted_without_their_names() {
    let (recent, _) = recent(64, 64);
    for number in 0..3000_u64 {
        let refused = Event::new(EventKind::AuthorizationRefused).support_id(&id(number));
        let sp = ClientId::new(format!("sp-{number}"));
        recent.record(&refused.sp(&sp).code(ErrorCode::ClientIdUnknown));
    }
    let state = recent.failures.0.lock().unwrap();
    let interval = &state.intervals[0];
    assert_eq!((interval.failed.len(), interval.failed.values().sum::<u64>()), (2001, 3000));
}
