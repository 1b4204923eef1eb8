//! A kill switch that comes into force while a login is under way.

use crate::assurance::Level;
use crate::login::samples::reused;
use crate::login::tests::stage::{BLOCKED, Gate, OPEN, Seen, Stage, answer, back, banner, grant};
use crate::login::{Banner, ConsentPolicy, Request, Save};
use crate::protocol::catalogue::ErrorCode;

const FOR_SERVICE: Gate = |_, _| Err(ErrorCode::IdpBlockedForService);

fn page(code: ErrorCode) -> Seen {
    Seen::Blocked(Banner { connector: Some("idp".into()), code })
}

/// A walk as far as one step, which is then taken under the kill switch.
type Walk = fn(&mut Stage, Gate) -> Seen;

const WALKS: [(&str, Walk); 4] = [
    ("callback", |stage, gate| {
        let attempt = stage.leave("idp");
        stage.gate = gate;
        stage.seen(back(&attempt))
    }),
    ("the identity provider's answer", |stage, gate| {
        stage.verifying();
        stage.gate = gate;
        answer(stage.authenticated(Level::Eidas1))
    }),
    ("consent page", |stage, gate| {
        stage.consenting();
        stage.gate = gate;
        stage.seen(Request::Review)
    }),
    ("yes", |stage, gate| {
        stage.consenting();
        let yes = stage.yes();
        stage.gate = gate;
        stage.seen(yes)
    }),
];

#[test]
fn a_running_login_stops_at_its_next_step_and_another_provider_may_serve() {
    for (step, walk) in WALKS {
        for (gate, code) in
            [(BLOCKED, ErrorCode::IdpBlocked), (FOR_SERVICE, ErrorCode::IdpBlockedForService)]
        {
            for changes in [&[][..], &[("idp_hint", "idp")]] {
                let mut stage = Stage::new(changes);
                assert_eq!(walk(&mut stage, gate), page(code), "{step}");
                assert_eq!((stage.saved, stage.code()), (Save::Yes, None), "{step}");
                assert_eq!(stage.look(), banner(Some("idp"), code), "{step}: back at the choice");
                assert_eq!(
                    stage.seen(Request::Review),
                    page(code),
                    "{step}: the consent page again"
                );
                stage.gate = OPEN;
                stage.leave("other");
            }
        }
    }
}

#[test]
fn the_service_provider_hears_of_it_when_the_person_gives_up() {
    for (_, walk) in WALKS {
        let mut stage = Stage::new(&[]);
        walk(&mut stage, BLOCKED);
        let seen = stage.seen(Request::Cancel);
        assert!(stage.told(&seen, ErrorCode::UserCancelled));
    }
}

#[test]
fn a_choice_of_what_is_blocked_is_a_banner_and_a_hint_to_it_is_ignored() {
    let mut stage = Stage::new(&[("idp_hint", "idp")]);
    stage.gate = BLOCKED;
    assert_eq!(stage.look(), Seen::Choice(None));
    assert_eq!(
        stage.seen(Request::Choose("idp".into())),
        banner(Some("idp"), ErrorCode::IdpBlocked)
    );
}

#[test]
fn where_no_page_may_be_shown_the_service_provider_hears_of_it_at_once() {
    let mut stage =
        Stage::new(&[("prompt", "none")]).with_session("session").with_policy(ConsentPolicy::None);
    stage.gate = BLOCKED;
    let seen = stage.seen(Request::Look { reuse: Some(Box::new(reused("session"))) });
    assert!(stage.told(&seen, ErrorCode::IdpBlocked));
}

#[test]
fn a_yes_after_the_block_is_lifted_is_for_a_page_that_is_gone() {
    let mut stage = Stage::new(&[]);
    stage.consenting();
    let yes = stage.yes();
    stage.gate = BLOCKED;
    assert_eq!(stage.seen(yes.clone()), page(ErrorCode::IdpBlocked));
    stage.gate = OPEN;
    assert_eq!(stage.seen(yes), page(ErrorCode::IdpBlocked), "the authentication is given up");
    stage.consenting();
    let yes = stage.yes();
    grant(stage.ask(yes));
}
