//! Tests blocks that come into force during a login.

use crate::assurance::Level;
use crate::login::tests::harness::{
    BLOCKED, BrowserView, Gate, Harness, OPEN, browser_view, callback, choice_with_banner, grant,
};
use crate::login::{ChoiceBanner, LoginRequest, Save};
use crate::testing::samples::user_of_reused_session;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::registration::ConsentRequirement;

const FOR_SERVICE: Gate = |_, _| Err(ErrorCode::IdpBlockedForService);

fn page(code: ErrorCode) -> BrowserView {
    BrowserView::BlockedPage(ChoiceBanner { connector: Some("idp".into()), code })
}

/// Runs a login up to one step, which is then taken under the block.
type Walk = fn(&mut Harness, Gate) -> BrowserView;

const WALKS: [(&str, Walk); 4] = [
    ("callback", |harness, gate| {
        let attempt = harness.begin_at("idp");
        harness.gate = gate;
        harness.view_after(callback(&attempt))
    }),
    ("the identity provider's response", |harness, gate| {
        harness.reach_verifying();
        harness.gate = gate;
        browser_view(harness.report_authentication(Level::Eidas1))
    }),
    ("consent page", |harness, gate| {
        harness.reach_consenting();
        harness.gate = gate;
        harness.view_after(LoginRequest::OpenConsentPage)
    }),
    ("yes", |harness, gate| {
        harness.reach_consenting();
        let yes = harness.yes();
        harness.gate = gate;
        harness.view_after(yes)
    }),
];

#[test]
fn a_running_login_stops_at_its_next_step_and_another_provider_may_be_chosen() {
    for (step, walk) in WALKS {
        for (gate, code) in
            [(BLOCKED, ErrorCode::IdpBlocked), (FOR_SERVICE, ErrorCode::IdpBlockedForService)]
        {
            for changes in [&[][..], &[("idp_hint", "idp")]] {
                let mut harness = Harness::new(changes);
                assert_eq!(walk(&mut harness, gate), page(code), "{step}");
                assert_eq!((harness.saved, harness.code()), (Save::Yes, None), "{step}");
                assert_eq!(
                    harness.open_page(),
                    choice_with_banner(Some("idp"), code),
                    "{step}: back at the choice"
                );
                assert_eq!(
                    harness.view_after(LoginRequest::OpenConsentPage),
                    page(code),
                    "{step}: the consent page again"
                );
                harness.gate = OPEN;
                harness.begin_at("other");
            }
        }
    }
}

#[test]
fn the_service_provider_gets_an_error_when_the_user_cancels() {
    for (_, walk) in WALKS {
        let mut harness = Harness::new(&[]);
        walk(&mut harness, BLOCKED);
        let seen = harness.view_after(LoginRequest::Cancel);
        assert!(harness.ended_with_error(&seen, ErrorCode::UserCancelled));
    }
}

#[test]
fn a_choice_of_what_is_blocked_is_a_banner_and_a_hint_to_it_is_ignored() {
    let mut harness = Harness::new(&[("idp_hint", "idp")]);
    harness.gate = BLOCKED;
    assert_eq!(harness.open_page(), BrowserView::ChoicePage(None));
    assert_eq!(
        harness.view_after(LoginRequest::Choose("idp".into())),
        choice_with_banner(Some("idp"), ErrorCode::IdpBlocked)
    );
}

#[test]
fn where_no_page_may_be_shown_the_service_provider_gets_the_error_at_once() {
    let mut harness = Harness::new(&[("prompt", "none")])
        .with_session("session")
        .with_policy(ConsentRequirement::None);
    harness.gate = BLOCKED;
    let seen = harness.view_after(LoginRequest::OpenPage {
        reuse: Ok(Some(Box::new(user_of_reused_session("session")))),
    });
    assert!(harness.ended_with_error(&seen, ErrorCode::IdpBlocked));
}

#[test]
fn consent_after_the_block_is_lifted_is_for_an_outdated_page() {
    let mut harness = Harness::new(&[]);
    harness.reach_consenting();
    let yes = harness.yes();
    harness.gate = BLOCKED;
    assert_eq!(harness.view_after(yes.clone()), page(ErrorCode::IdpBlocked));
    harness.gate = OPEN;
    assert_eq!(
        harness.view_after(yes),
        page(ErrorCode::IdpBlocked),
        "the authentication is discarded"
    );
    harness.reach_consenting();
    let yes = harness.yes();
    grant(harness.send(yes));
}
