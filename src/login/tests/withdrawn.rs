//! A redirect URI or a scope that the service provider's file loses while a login is under way.

use crate::assurance::Level;
use crate::login::samples::proven;
use crate::login::tests::stage::{Seen, Stage, answer, back, banner, grant, problem};
use crate::login::{ConsentPolicy, Report, Request, Save, State, Way};
use crate::protocol::catalogue::ErrorCode;

const PAGE: Seen = problem(ErrorCode::RedirectUriWithdrawn, Way::HomePage);

/// A walk as far as one step, which is then taken after the file has changed.
type Walk = fn(&mut Stage, Result<(), ErrorCode>) -> Seen;

const WALKS: [(&str, Walk); 8] = [
    ("choice page", |stage, now| {
        stage.registered = now;
        stage.look()
    }),
    ("cancel", |stage, now| {
        stage.registered = now;
        stage.seen(Request::Cancel)
    }),
    ("callback", |stage, now| {
        let attempt = stage.leave("idp");
        stage.registered = now;
        stage.seen(back(&attempt))
    }),
    ("the identity provider's answer", |stage, now| {
        stage.verifying();
        stage.registered = now;
        answer(stage.authenticated(Level::Eidas1))
    }),
    ("the register's answer", |stage, now| {
        stage.identifying();
        stage.registered = now;
        answer(stage.identified(proven("idp", Level::Eidas1)))
    }),
    ("consent page", |stage, now| {
        stage.consenting();
        stage.registered = now;
        stage.seen(Request::Review)
    }),
    ("yes", |stage, now| {
        stage.consenting();
        let yes = stage.yes();
        stage.registered = now;
        stage.seen(yes)
    }),
    ("no", |stage, now| {
        stage.consenting();
        let no = stage.no();
        stage.registered = now;
        stage.seen(no)
    }),
];

#[test]
fn a_withdrawn_redirect_uri_receives_neither_code_nor_error_at_any_step() {
    for (step, walk) in WALKS {
        let mut stage = Stage::new(&[]);
        assert_eq!(walk(&mut stage, Err(ErrorCode::RedirectUriWithdrawn)), PAGE, "{step}");
        // A report that is discarded closes its attempt.
        let saved = if step.ends_with("answer") { Save::Yes } else { Save::No };
        assert_eq!((stage.saved, stage.code()), (saved, None), "{step}");
        for request in [Request::Cancel, Request::Look { reuse: None }, Request::Review] {
            assert_eq!(stage.seen(request), PAGE, "{step}, and again");
        }
    }
}

#[test]
fn a_code_that_was_issued_is_not_sent_to_a_redirect_uri_withdrawn_meanwhile() {
    let mut stage = Stage::new(&[]);
    stage.consenting();
    let yes = stage.yes();
    grant(stage.ask(yes));
    stage.registered = Err(ErrorCode::RedirectUriWithdrawn);
    assert_eq!(answer(stage.tell(Report::Granted(Ok(())))), PAGE);
    assert_eq!(stage.seen(Request::Look { reuse: None }), PAGE, "nor by a repeated step");
}

#[test]
fn a_redirect_uri_that_is_registered_again_lets_the_login_go_on() {
    let mut stage = Stage::new(&[]);
    stage.consenting();
    stage.registered = Err(ErrorCode::RedirectUriWithdrawn);
    assert_eq!(stage.seen(Request::Review), PAGE);
    stage.registered = Ok(());
    let yes = stage.yes();
    grant(stage.ask(yes));
}

#[test]
fn an_attempt_whose_answer_was_discarded_is_closed_and_the_person_chooses_again() {
    for (step, walk) in WALKS.into_iter().filter(|(step, _)| step.ends_with("answer")) {
        let mut stage = Stage::new(&[]);
        assert_eq!(walk(&mut stage, Err(ErrorCode::RedirectUriWithdrawn)), PAGE, "{step}");
        stage.crash();
        assert!(
            !stage.login.is_being_verified(stage.now),
            "{step}: a duplicate of the callback waits for nothing"
        );
        stage.registered = Ok(());
        assert_eq!(stage.look(), banner(None, ErrorCode::Interrupted), "{step}");
        stage.leave("idp");
    }
}

#[test]
fn an_attempt_that_was_about_to_leave_is_closed_too() {
    let mut stage = Stage::new(&[]);
    stage.effect(Request::Choose("idp".into()));
    stage.registered = Err(ErrorCode::RedirectUriWithdrawn);
    assert_eq!(answer(stage.tell(Report::Departed(Err(ErrorCode::Internal)))), PAGE);
    assert!(matches!(stage.login.state, State::Choosing(_)), "{:?}", stage.login.state);
    stage.registered = Ok(());
    stage.leave("idp");
}

#[test]
fn a_withdrawn_scope_ends_the_login_with_invalid_scope_and_no_code() {
    for (step, walk) in WALKS
        .into_iter()
        .filter(|(step, _)| ["the register's answer", "consent page", "yes"].contains(step))
    {
        let mut stage = Stage::new(&[]);
        let seen = walk(&mut stage, Err(ErrorCode::ScopeWithdrawn));
        assert!(stage.told(&seen, ErrorCode::ScopeWithdrawn), "{step}: {seen:?}");
        assert_eq!(ErrorCode::ScopeWithdrawn.entry().oauth, "invalid_scope");
        assert!(
            matches!(stage.login.state, State::Answered(_)) && stage.code().is_none(),
            "{step}"
        );
    }
}

#[test]
fn a_withdrawn_scope_gives_no_code_where_no_page_stands_between() {
    let mut stage = Stage::new(&[]).with_policy(ConsentPolicy::None);
    stage.identifying();
    stage.registered = Err(ErrorCode::ScopeWithdrawn);
    let seen = answer(stage.identified(proven("idp", Level::Eidas1)));
    assert!(stage.told(&seen, ErrorCode::ScopeWithdrawn), "{seen:?}");
}
