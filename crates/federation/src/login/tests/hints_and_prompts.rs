//! Tests the effect of `prompt`, `idp_hint` and required subjects on a login.

use std::time::Duration;

use crate::assurance::Level;
use crate::login::tests::harness::{
    BrowserView, CLOSED, Gate, Harness, OPEN, browser_view, callback_with, choice_with_banner,
    effect, error_page, grant,
};
use crate::login::{Effect, EffectOutcome, IdentifiedUser, LoginRequest, NextAction, StepOutput};
use crate::testing::samples::{OPENED, identified_user, user_of_reused_session};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::registration::ConsentRequirement;

const NOT_IDP: Gate =
    |connector, _| if connector.as_str() == "idp" { Err(ErrorCode::IdpOff) } else { Ok(()) };

#[test]
fn idp_hint_is_followed_once() {
    let mut harness = Harness::new(&[("idp_hint", "idp")]);
    let Effect::BeginLogin(connector, _) =
        harness.effect_after(LoginRequest::OpenPage { reuse: Ok(None) })
    else {
        panic!()
    };
    assert_eq!(connector.as_str(), "idp");
    harness.redirect();
    assert_eq!(harness.open_page(), BrowserView::ChoicePage(None), "after the back button");
    // The process died before the redirect: the choice, not the same identity provider again.
    let mut harness = Harness::new(&[("idp_hint", "idp")]);
    effect(harness.send(LoginRequest::OpenPage { reuse: Ok(None) }));
    assert_eq!(harness.open_page(), choice_with_banner(Some("idp"), ErrorCode::Interrupted));
}

#[test]
fn select_account_shows_the_choice_page_despite_session_and_hint() {
    let mut harness = Harness::new(&[("prompt", "select_account"), ("idp_hint", "idp")]);
    assert_eq!(harness.open_page(), BrowserView::ChoicePage(None));
    harness.begin_at("other");
}

#[test]
fn essential_acr_is_answered_with_one_of_its_values_or_not_at_all() {
    const EIDAS2: &str = r#"{"id_token":{"acr":{"essential":true,"values":["eidas2"]}}}"#;
    const BOTH: &str = r#"{"id_token":{"acr":{"essential":true,"values":["eidas2","eidas3"]}}}"#;
    const WISHED: &str = r#"{"id_token":{"acr":{"values":["eidas2"]}}}"#;
    for (claims, achieved, is_answer) in [
        (EIDAS2, Level::Eidas2, true),
        (EIDAS2, Level::Eidas3, false),
        (BOTH, Level::Eidas3, true),
        (WISHED, Level::Eidas3, true),
    ] {
        let mut harness = Harness::new(&[("acr_values", "eidas2"), ("claims", claims)]);
        harness.reach_verifying();
        match harness.report_authentication(achieved) {
            StepOutput::Perform(effect) => assert!(
                is_answer && matches!(*effect, Effect::Identify(_)),
                "{claims} {achieved:?}"
            ),
            output @ StepOutput::Answer(_) => {
                assert!(!is_answer, "{claims} {achieved:?}");
                assert_eq!(
                    browser_view(output),
                    choice_with_banner(Some("idp"), ErrorCode::AcrNotRequired)
                );
            }
        }
    }
}

#[test]
fn idp_hint_that_the_gate_refuses_is_ignored() {
    let mut harness = Harness::new(&[("idp_hint", "idp")]);
    harness.gate = NOT_IDP;
    assert_eq!(harness.open_page(), BrowserView::ChoicePage(None));
    harness.begin_at("other");
}

#[test]
fn the_service_provider_that_named_the_idp_gets_its_error_at_once() {
    let hinted = || Harness::new(&[("idp_hint", "idp")]);
    let mut harness = hinted();
    effect(harness.send(LoginRequest::OpenPage { reuse: Ok(None) }));
    let seen = browser_view(
        harness.report_outcome(EffectOutcome::RedirectPrepared(Err(ErrorCode::IdpUnreachable))),
    );
    assert!(harness.ended_with_error(&seen, ErrorCode::IdpUnreachable));

    let mut harness = hinted();
    harness.reach_verifying();
    let seen = browser_view(
        harness.report_outcome(EffectOutcome::Authenticated(Err(ErrorCode::IdpDenied))),
    );
    assert!(harness.ended_with_error(&seen, ErrorCode::IdpDenied));

    let mut harness = hinted();
    let attempt = harness.begin_at("idp");
    let forged =
        callback_with(&attempt, |back| back.params.iss = Some("https://evil.example".into()));
    let seen = harness.view_after(forged.clone());
    assert!(harness.ended_with_error(&seen, ErrorCode::IdpIssWrong));
    assert_eq!(harness.view_after(forged), seen, "the same answer again");

    let mut harness = hinted();
    harness.effect_after(LoginRequest::Choose("other".into()));
    let seen = browser_view(
        harness.report_outcome(EffectOutcome::RedirectPrepared(Err(ErrorCode::IdpUnreachable))),
    );
    assert_eq!(
        seen,
        choice_with_banner(Some("other"), ErrorCode::IdpUnreachable),
        "another one than the hint names"
    );
}

#[test]
fn an_address_in_login_hint_leads_to_the_idp_of_its_domain_once() {
    let hinted = |changes: &[(&str, &str)], gate: Gate| {
        let mut harness = Harness::new(changes);
        harness.login_hint_idp = Some("by-domain".into());
        harness.gate = gate;
        harness
    };
    let chosen = |harness: &mut Harness| {
        let effect = harness.effect_after(LoginRequest::OpenPage { reuse: Ok(None) });
        let Effect::BeginLogin(connector, _) = effect else { panic!() };
        connector.to_string()
    };
    let mut harness = hinted(&[], OPEN);
    assert_eq!(chosen(&mut harness), "by-domain");
    harness.report_outcome(EffectOutcome::RedirectPrepared(Err(ErrorCode::IdpUnreachable)));
    // Unlike after `idp_hint`, the user may have meant another account.
    let banner = choice_with_banner(Some("by-domain"), ErrorCode::IdpUnreachable);
    assert_eq!(harness.open_page(), banner);

    assert_eq!(chosen(&mut hinted(&[("idp_hint", "idp")], OPEN)), "idp", "the name goes first");
    assert_eq!(chosen(&mut hinted(&[("idp_hint", "idp")], NOT_IDP)), "by-domain");
    for (changes, gate) in [(&[][..], CLOSED), (&[("prompt", "select_account")], OPEN)] {
        assert_eq!(hinted(changes, gate).open_page(), BrowserView::ChoicePage(None));
    }
}

#[test]
fn prompt_none_shows_no_page_and_calls_no_idp() {
    for changes in [&[("prompt", "none")][..], &[("prompt", "none"), ("idp_hint", "idp")]] {
        let mut harness = Harness::new(changes);
        let seen = harness.open_page();
        assert!(harness.ended_with_error(&seen, ErrorCode::LoginRequired));
    }
    let look = |acknowledged| LoginRequest::OpenPage {
        reuse: Ok(Some(Box::new(IdentifiedUser {
            consented: acknowledged,
            informed: acknowledged,
            ..user_of_reused_session("session")
        }))),
    };
    let none = || Harness::new(&[("prompt", "none")]).with_session("session");
    let mut harness = none().with_policy(ConsentRequirement::Required);
    let seen = harness.view_after(look(false));
    assert!(harness.ended_with_error(&seen, ErrorCode::ConsentRequired));
    for policy in [ConsentRequirement::Required, ConsentRequirement::Information] {
        grant(none().with_policy(policy).send(look(true)));
    }
    grant(none().send(look(false)));
}

#[test]
fn a_session_that_can_not_be_loaded_is_not_reported_as_ended() {
    let open = || LoginRequest::OpenPage { reuse: Err(ErrorCode::StoreUnavailable) };
    let mut harness = Harness::new(&[("prompt", "none")]).with_session("session");
    let seen = harness.view_after(open());
    assert!(harness.ended_with_error(&seen, ErrorCode::StoreUnavailable));
    // Where a page may be shown, the user can authenticate again.
    let mut harness = Harness::new(&[("prompt", "consent")]).with_session("session");
    assert_eq!(harness.view_after(open()), BrowserView::ChoicePage(None));
}

#[test]
fn prompt_none_shows_no_page_when_the_session_ended_meanwhile() {
    let mut harness = Harness::new(&[("prompt", "none")]).with_session("session");
    grant(harness.send(LoginRequest::OpenPage {
        reuse: Ok(Some(Box::new(user_of_reused_session("session")))),
    }));
    let seen = browser_view(
        harness.report_outcome(EffectOutcome::CodeIssued(Err(ErrorCode::LoginRequired))),
    );
    assert!(harness.ended_with_error(&seen, ErrorCode::LoginRequired));
    assert!(harness.code().is_none());
}

#[test]
fn a_user_other_than_the_required_one_gets_no_code() {
    // OpenID Connect Core 1.0 §3.1.2.1 and §5.5.1
    for harness in [
        Harness::new(&[]).requiring_subject("another-user"),
        Harness::new(&[]).requiring_subject("pairwise-angela").requiring_subject("another-user"),
        Harness::new(&[]).requiring_subject("pairwise-Angela"),
        Harness::new(&[("prompt", "none")])
            .with_session("session")
            .requiring_subject("another-user"),
    ] {
        let mut harness = harness;
        let seen = if harness.login.context.request.prompt.none {
            harness.view_after(LoginRequest::OpenPage {
                reuse: Ok(Some(Box::new(user_of_reused_session("session")))),
            })
        } else {
            harness.reach_identifying();
            browser_view(harness.report_identification(identified_user("idp", Level::Eidas1)))
        };
        assert!(harness.ended_with_error(&seen, ErrorCode::OtherUser), "{seen:?}");
    }
    Harness::new(&[])
        .requiring_subject("pairwise-angela")
        .requiring_subject("pairwise-angela")
        .reach_granted();
}

#[test]
fn displaced_and_failed_logins_stay_in_their_state() {
    let mut harness = Harness::new(&[]);
    let attempt = harness.begin_at("idp");
    let page = error_page(ErrorCode::TooManyLogins, NextAction::ReturnToServiceProvider);
    assert_eq!(harness.view_after(LoginRequest::Displace), page);
    assert_eq!(
        harness.view_after(callback_with(&attempt, |_| {})),
        page,
        "its answer comes too late"
    );
    assert_eq!(harness.view_after(LoginRequest::Choose("idp".into())), page);
    let seen = harness.view_after(LoginRequest::Cancel);
    assert!(
        harness.ended_with_error(&seen, ErrorCode::TooManyLogins),
        "its own error, not the cancellation"
    );
}

#[test]
fn an_interrupted_login_starts_over_and_completes() {
    let interrupted = choice_with_banner(Some("idp"), ErrorCode::Interrupted);
    for reach in [
        |harness: &mut Harness| drop(harness.reach_verifying()),
        |harness: &mut Harness| drop(harness.reach_identifying()),
    ] {
        let mut harness = Harness::new(&[]);
        reach(&mut harness);
        let stored = harness.stored.clone();
        let began = OPENED;
        assert!(stored.is_being_verified(began), "other hubs wait for the outcome");
        assert!(!stored.is_being_verified(began + Duration::from_secs(8)), "and no longer");
        assert_eq!(harness.open_page(), interrupted);
        harness.reach_granted();
    }
}
