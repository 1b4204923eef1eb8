//! What `prompt`, `idp_hint` and a wanted subject do to a login.

use std::time::Duration;

use crate::assurance::Level;
use crate::login::samples::{OPENED, proven, reused};
use crate::login::tests::stage::{
    Gate, Seen, Stage, answer, back_with, banner, effect, grant, problem,
};
use crate::login::{ConsentPolicy, Effect, Proven, Report, Request, Then, Way};
use crate::protocol::catalogue::ErrorCode;

const NOT_IDP: Gate =
    |connector, _| if connector.as_str() == "idp" { Err(ErrorCode::IdpOff) } else { Ok(()) };

#[test]
fn idp_hint_is_followed_once() {
    let mut stage = Stage::new(&[("idp_hint", "idp")]);
    let Effect::Begin(connector, _) = stage.effect(Request::Look { reuse: None }) else { panic!() };
    assert_eq!(connector.as_str(), "idp");
    stage.depart();
    assert_eq!(stage.look(), Seen::Choice(None), "back by the back button");
    // The process that left died before it did: the choice, not the same identity provider again.
    let mut stage = Stage::new(&[("idp_hint", "idp")]);
    effect(stage.ask(Request::Look { reuse: None }));
    assert_eq!(stage.look(), banner(None, ErrorCode::Interrupted));
}

#[test]
fn select_account_shows_the_choice_page_whatever_session_or_hint_there_is() {
    let mut stage = Stage::new(&[("prompt", "select_account"), ("idp_hint", "idp")]);
    assert_eq!(stage.look(), Seen::Choice(None));
    stage.leave("other");
}

#[test]
fn essential_acr_is_answered_with_one_of_its_values_or_not_at_all() {
    const EIDAS2: &str = r#"{"id_token":{"acr":{"essential":true,"values":["eidas2"]}}}"#;
    const BOTH: &str = r#"{"id_token":{"acr":{"essential":true,"values":["eidas2","eidas3"]}}}"#;
    const WISHED: &str = r#"{"id_token":{"acr":{"values":["eidas2"]}}}"#;
    for (claims, obtained, is_answer) in [
        (EIDAS2, Level::Eidas2, true),
        (EIDAS2, Level::Eidas3, false),
        (BOTH, Level::Eidas3, true),
        (WISHED, Level::Eidas3, true),
    ] {
        let mut stage = Stage::new(&[("acr_values", "eidas2"), ("claims", claims)]);
        stage.verifying();
        match stage.authenticated(obtained) {
            Then::Do(effect) => assert!(
                is_answer && matches!(*effect, Effect::Identify(_)),
                "{claims} {obtained:?}"
            ),
            then @ Then::Answer(_) => {
                assert!(!is_answer, "{claims} {obtained:?}");
                assert_eq!(answer(then), banner(Some("idp"), ErrorCode::AcrNotRequired));
            }
        }
    }
}

#[test]
fn idp_hint_that_the_gate_refuses_is_ignored() {
    let mut stage = Stage::new(&[("idp_hint", "idp")]);
    stage.gate = NOT_IDP;
    assert_eq!(stage.look(), Seen::Choice(None));
    stage.leave("other");
}

#[test]
fn the_service_provider_that_named_the_idp_hears_of_its_error_at_once() {
    let hinted = || Stage::new(&[("idp_hint", "idp")]);
    let mut stage = hinted();
    effect(stage.ask(Request::Look { reuse: None }));
    let seen = answer(stage.tell(Report::Departed(Err(ErrorCode::IdpUnreachable))));
    assert!(stage.told(&seen, ErrorCode::IdpUnreachable));

    let mut stage = hinted();
    stage.verifying();
    let seen = answer(stage.tell(Report::Authenticated(Err(ErrorCode::IdpDenied))));
    assert!(stage.told(&seen, ErrorCode::IdpDenied));

    let mut stage = hinted();
    let attempt = stage.leave("idp");
    let forged = back_with(&attempt, |back| back.arrival.iss = Some("https://evil.example".into()));
    let seen = stage.seen(forged.clone());
    assert!(stage.told(&seen, ErrorCode::IdpIssWrong));
    assert_eq!(stage.seen(forged), seen, "the same answer again");

    let mut stage = hinted();
    stage.effect(Request::Choose("other".into()));
    let seen = answer(stage.tell(Report::Departed(Err(ErrorCode::IdpUnreachable))));
    assert_eq!(
        seen,
        banner(Some("other"), ErrorCode::IdpUnreachable),
        "another one than was named"
    );
}

#[test]
fn prompt_none_shows_nothing_and_asks_no_idp() {
    for changes in [&[("prompt", "none")][..], &[("prompt", "none"), ("idp_hint", "idp")]] {
        let mut stage = Stage::new(changes);
        let seen = stage.look();
        assert!(stage.told(&seen, ErrorCode::LoginRequired));
    }
    let look = |consented| Request::Look {
        reuse: Some(Box::new(Proven { consented, ..reused("session") })),
    };
    let none = || Stage::new(&[("prompt", "none")]).with_session("session");
    let mut stage = none().with_policy(ConsentPolicy::Required);
    let seen = stage.seen(look(false));
    assert!(stage.told(&seen, ErrorCode::ConsentRequired));
    for policy in [ConsentPolicy::Required, ConsentPolicy::Information] {
        grant(none().with_policy(policy).ask(look(true)));
    }
    grant(none().ask(look(false)));
}

#[test]
fn prompt_none_shows_no_page_when_the_session_ended_meanwhile() {
    let mut stage = Stage::new(&[("prompt", "none")]).with_session("session");
    grant(stage.ask(Request::Look { reuse: Some(Box::new(reused("session"))) }));
    let seen = answer(stage.tell(Report::Granted(Err(ErrorCode::LoginRequired))));
    assert!(stage.told(&seen, ErrorCode::LoginRequired));
    assert!(stage.code().is_none());
}

#[test]
fn whoever_is_not_wanted_is_not_granted() {
    // Core, 3.1.2.1 and 5.5.1
    for stage in [
        Stage::new(&[]).wanting("somebody-else"),
        Stage::new(&[]).wanting("pairwise-angela").wanting("somebody-else"),
        Stage::new(&[]).wanting("pairwise-Angela"),
        Stage::new(&[("prompt", "none")]).with_session("session").wanting("somebody-else"),
    ] {
        let mut stage = stage;
        let seen = if stage.login.ticket.request.prompt.none {
            stage.seen(Request::Look { reuse: Some(Box::new(reused("session"))) })
        } else {
            stage.identifying();
            answer(stage.identified(proven("idp", Level::Eidas1)))
        };
        assert!(stage.told(&seen, ErrorCode::OtherUser), "{seen:?}");
    }
    Stage::new(&[]).wanting("pairwise-angela").wanting("pairwise-angela").granted();
}

#[test]
fn displaced_and_failed_logins_stay_so() {
    let mut stage = Stage::new(&[]);
    let attempt = stage.leave("idp");
    let page = problem(ErrorCode::TooManyLogins, Way::ServiceProvider);
    assert_eq!(stage.seen(Request::Displace), page);
    assert_eq!(stage.seen(back_with(&attempt, |_| {})), page, "its answer comes too late");
    assert_eq!(stage.seen(Request::Choose("idp".into())), page);
    let seen = stage.seen(Request::Cancel);
    assert!(stage.told(&seen, ErrorCode::TooManyLogins), "its own error, not the cancelling");
}

#[test]
fn an_interrupted_login_starts_over_and_ends_well() {
    let interrupted = banner(None, ErrorCode::Interrupted);
    for reach in
        [|stage: &mut Stage| drop(stage.verifying()), |stage: &mut Stage| drop(stage.identifying())]
    {
        let mut stage = Stage::new(&[]);
        reach(&mut stage);
        let stored = stage.stored.clone();
        let began = OPENED;
        assert!(stored.is_being_verified(began), "other nodes wait for what comes of it");
        assert!(!stored.is_being_verified(began + Duration::from_secs(8)), "and not for ever");
        assert_eq!(stage.look(), interrupted);
        stage.granted();
    }
}
