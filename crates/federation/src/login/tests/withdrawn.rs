//! Tests a redirect URI or a scope that is removed from the service provider's file during a login.

use crate::assurance::Level;
use crate::login::tests::harness::{
    BrowserView, Harness, browser_view, callback, choice_with_banner, error_page, grant,
};
use crate::login::{EffectOutcome, LoginRequest, LoginState, NextAction, Save};
use crate::testing::samples::identified_user;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::registration::ConsentRequirement;

const PAGE: BrowserView = error_page(ErrorCode::RedirectUriWithdrawn, NextAction::HomePage);

/// Runs a login up to one step, which is then taken after the file has changed.
type Walk = fn(&mut Harness, Result<(), ErrorCode>) -> BrowserView;

const WALKS: [(&str, Walk); 8] = [
    ("choice page", |harness, now| {
        harness.registered = now;
        harness.open_page()
    }),
    ("cancel", |harness, now| {
        harness.registered = now;
        harness.view_after(LoginRequest::Cancel)
    }),
    ("callback", |harness, now| {
        let attempt = harness.begin_at("idp");
        harness.registered = now;
        harness.view_after(callback(&attempt))
    }),
    ("the identity provider's response", |harness, now| {
        harness.reach_verifying();
        harness.registered = now;
        browser_view(harness.report_authentication(Level::Eidas1))
    }),
    ("the register's response", |harness, now| {
        harness.reach_identifying();
        harness.registered = now;
        browser_view(harness.report_identification(identified_user("idp", Level::Eidas1)))
    }),
    ("consent page", |harness, now| {
        harness.reach_consenting();
        harness.registered = now;
        harness.view_after(LoginRequest::OpenConsentPage)
    }),
    ("yes", |harness, now| {
        harness.reach_consenting();
        let yes = harness.yes();
        harness.registered = now;
        harness.view_after(yes)
    }),
    ("no", |harness, now| {
        harness.reach_consenting();
        let no = harness.no();
        harness.registered = now;
        harness.view_after(no)
    }),
];

#[test]
fn a_withdrawn_redirect_uri_receives_neither_code_nor_error_at_any_step() {
    for (step, walk) in WALKS {
        let mut harness = Harness::new(&[]);
        assert_eq!(walk(&mut harness, Err(ErrorCode::RedirectUriWithdrawn)), PAGE, "{step}");
        // A discarded outcome closes its attempt.
        let saved = if step.ends_with("response") { Save::Yes } else { Save::No };
        assert_eq!((harness.saved, harness.code()), (saved, None), "{step}");
        for request in [
            LoginRequest::Cancel,
            LoginRequest::OpenPage { reuse: Ok(None) },
            LoginRequest::OpenConsentPage,
        ] {
            assert_eq!(harness.view_after(request), PAGE, "{step}, and again");
        }
    }
}

#[test]
fn a_code_that_was_issued_is_not_sent_to_a_redirect_uri_withdrawn_meanwhile() {
    let mut harness = Harness::new(&[]);
    harness.reach_consenting();
    let yes = harness.yes();
    grant(harness.send(yes));
    harness.registered = Err(ErrorCode::RedirectUriWithdrawn);
    assert_eq!(browser_view(harness.report_outcome(EffectOutcome::CodeIssued(Ok(())))), PAGE);
    assert_eq!(
        harness.view_after(LoginRequest::OpenPage { reuse: Ok(None) }),
        PAGE,
        "by a repeated request"
    );
}

#[test]
fn a_redirect_uri_that_is_registered_again_lets_the_login_continue() {
    let mut harness = Harness::new(&[]);
    harness.reach_consenting();
    harness.registered = Err(ErrorCode::RedirectUriWithdrawn);
    assert_eq!(harness.view_after(LoginRequest::OpenConsentPage), PAGE);
    harness.registered = Ok(());
    let yes = harness.yes();
    grant(harness.send(yes));
}

#[test]
fn an_attempt_whose_outcome_was_discarded_is_closed_and_the_user_chooses_again() {
    for (step, walk) in WALKS.into_iter().filter(|(step, _)| step.ends_with("response")) {
        let mut harness = Harness::new(&[]);
        assert_eq!(walk(&mut harness, Err(ErrorCode::RedirectUriWithdrawn)), PAGE, "{step}");
        harness.crash();
        assert!(
            !harness.login.is_being_verified(harness.now),
            "{step}: a duplicate of the callback waits"
        );
        harness.registered = Ok(());
        assert_eq!(
            harness.open_page(),
            choice_with_banner(Some("idp"), ErrorCode::Interrupted),
            "{step}"
        );
        harness.begin_at("idp");
    }
}

#[test]
fn an_attempt_before_its_redirect_is_closed_too() {
    let mut harness = Harness::new(&[]);
    harness.effect_after(LoginRequest::Choose("idp".into()));
    harness.registered = Err(ErrorCode::RedirectUriWithdrawn);
    assert_eq!(
        browser_view(
            harness.report_outcome(EffectOutcome::RedirectPrepared(Err(ErrorCode::Internal)))
        ),
        PAGE
    );
    assert!(matches!(harness.login.state, LoginState::Choosing(_)), "{:?}", harness.login.state);
    harness.registered = Ok(());
    harness.begin_at("idp");
}

#[test]
fn a_withdrawn_scope_ends_the_login_with_invalid_scope_and_no_code() {
    for (step, walk) in WALKS
        .into_iter()
        .filter(|(step, _)| ["the register's answer", "consent page", "yes"].contains(step))
    {
        let mut harness = Harness::new(&[]);
        let seen = walk(&mut harness, Err(ErrorCode::ScopeWithdrawn));
        assert!(harness.ended_with_error(&seen, ErrorCode::ScopeWithdrawn), "{step}: {seen:?}");
        assert_eq!(ErrorCode::ScopeWithdrawn.entry().oauth, "invalid_scope");
        assert!(
            matches!(harness.login.state, LoginState::Completed(_)) && harness.code().is_none(),
            "{step}"
        );
    }
}

#[test]
fn a_withdrawn_scope_gives_no_code_where_no_page_is_shown() {
    let mut harness =
        Harness::new(&[("prompt", "login")]).with_policy(ConsentRequirement::Information);
    harness.reach_identifying();
    harness.registered = Err(ErrorCode::ScopeWithdrawn);
    let seen = browser_view(harness.report_identification(identified_user("idp", Level::Eidas1)));
    assert!(harness.ended_with_error(&seen, ErrorCode::ScopeWithdrawn), "{seen:?}");
}
