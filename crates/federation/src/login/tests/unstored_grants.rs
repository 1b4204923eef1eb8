//! Tests the grant of a login that the store did not accept at once.

use crate::login::tests::harness::{BrowserView, Harness, browser_view, error_page, grant};
use crate::login::{Effect, EffectOutcome, HubCount, LoginRequest, NextAction, Save};
use passerelle_protocol::catalogue::ErrorCode;

#[test]
fn a_full_shared_store_gets_the_same_grant_again_at_the_next_request() {
    let mut harness = Harness::new(&[]);
    harness.reach_consenting();
    let yes = harness.yes();
    let first = grant(harness.send(yes.clone()));
    let full = EffectOutcome::CodeIssued(Err(ErrorCode::StoreFull));
    let page = error_page(ErrorCode::StoreFull, NextAction::ChooseIdp);
    assert_eq!(browser_view(harness.report_outcome(full)), page);
    assert!(matches!(harness.effect_after(yes), Effect::CheckCode(_)));
    let again = grant(harness.report_outcome(EffectOutcome::CodeChecked(Ok(false))));
    assert_eq!(again.code.reveal(), first.code.reveal());
}

#[test]
fn a_grant_that_the_only_hub_could_not_store_fails() {
    let mut harness = Harness::new(&[]);
    harness.hub_count = HubCount::Single;
    harness.reach_consenting();
    let yes = harness.yes();
    grant(harness.send(yes.clone()));
    let page = error_page(ErrorCode::StoreFull, NextAction::ReturnToServiceProvider);
    assert_eq!(
        browser_view(harness.report_outcome(EffectOutcome::CodeIssued(Err(ErrorCode::StoreFull)))),
        page
    );
    assert_eq!(harness.saved, Save::Yes);
    assert_eq!(harness.view_after(yes), page, "failure is sticky");
    let seen = harness.view_after(LoginRequest::Cancel);
    assert!(harness.ended_with_error(&seen, ErrorCode::StoreFull));
}

/// A process killed between the two writes, or a store that was unavailable for the second, leaves
/// nothing half-done.
#[test]
fn an_interrupted_grant_is_completed_by_a_repeated_request() {
    let mut harness = Harness::new(&[]);
    harness.reach_consenting();
    let yes = harness.yes();
    let first = grant(harness.send(yes.clone()));
    harness.crash();
    for _ in 0..2 {
        assert!(
            matches!(harness.effect_after(yes.clone()), Effect::CheckCode(code) if code == first.code)
        );
        let again = grant(harness.report_outcome(EffectOutcome::CodeChecked(Ok(false))));
        assert_eq!(
            serde_json::to_value(&again).unwrap(),
            serde_json::to_value(&first).unwrap(),
            "one code, one session"
        );
        // It is unknown whether it was stored: the user gets an error, and the login is unchanged.
        let page = error_page(ErrorCode::StoreUnavailable, NextAction::ChooseIdp);
        assert_eq!(
            browser_view(
                harness.report_outcome(EffectOutcome::CodeIssued(Err(ErrorCode::StoreUnavailable)))
            ),
            page
        );
        assert_eq!(harness.saved, Save::No);
        assert!(matches!(harness.effect_after(yes.clone()), Effect::CheckCode(_)));
        assert_eq!(
            browser_view(
                harness
                    .report_outcome(EffectOutcome::CodeChecked(Err(ErrorCode::StoreUnavailable)))
            ),
            page,
            "an error that says it has ended"
        );
        assert_eq!(harness.saved, Save::No);
    }
    assert!(matches!(harness.effect_after(yes), Effect::CheckCode(_)));
    grant(harness.report_outcome(EffectOutcome::CodeChecked(Ok(false))));
    let answer = browser_view(harness.report_outcome(EffectOutcome::CodeIssued(Ok(()))));
    let expected = harness.login.context.request.redirect.code_response(first.code.reveal());
    assert_eq!(
        answer,
        BrowserView::ServiceProvider(
            expected,
            first.session.new_cookie().map(|cookie| cookie.reveal().clone())
        )
    );
}
