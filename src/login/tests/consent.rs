//! The page before the end, and the one code that a login can give.

use crate::assurance::Level;
use crate::ids::{Secret, Subject};
use crate::login::samples::{proven, reused};
use crate::login::tests::stage::{Seen, Stage, answer, banner, grant, problem};
use crate::login::{
    Consent, ConsentAnswer, ConsentPolicy, Effect, Login, Nodes, Proven, Report, Request, Save,
    SessionUse, Way,
};
use crate::protocol::catalogue::ErrorCode;

#[test]
fn a_yes_grants_what_was_shown_once() {
    let mut stage = Stage::new(&[]);
    stage.session = Some(Secret::new("former".into()));
    stage.consenting();
    let yes = stage.yes();
    let grant = grant(stage.ask(yes.clone()));
    assert_eq!(stage.saved, Save::Yes, "of two yeses at two nodes both would get a code");
    assert_eq!(
        serde_json::to_value(&grant.proven).unwrap(),
        serde_json::to_value(proven("idp", Level::Eidas1)).unwrap()
    );
    assert_eq!(grant.scopes, stage.login.ticket.request.scopes);
    assert_eq!(grant.request, stage.login.ticket.request);
    assert_eq!(grant.granted_at, stage.now);
    assert!(!grant.consented, "a continue button is no explicit yes");
    let SessionUse::Fresh { cookie, former } = grant.session else { panic!("session fixation") };
    assert_eq!(former.unwrap().reveal(), "former");
    assert_ne!(cookie.reveal(), "former");

    let told = answer(stage.tell(Report::Granted(Ok(()))));
    let expected = stage.login.ticket.request.redirect.code(grant.code.reveal());
    assert_eq!(told, Seen::Sp(expected, Some(cookie.reveal().clone())));

    // A double click.
    let Effect::LookForCode(code) = stage.effect(yes.clone()) else {
        panic!("two codes for one yes")
    };
    assert_eq!(code, grant.code);
    assert_eq!(answer(stage.tell(Report::CodeLives(Ok(true)))), told);
    assert!(matches!(stage.effect(yes.clone()), Effect::LookForCode(_)));
    // Used, or over.
    assert_eq!(
        answer(stage.tell(Report::CodeLives(Ok(false)))),
        problem(ErrorCode::AlreadyDone, Way::HomePage)
    );
    // At another node: the store knows, and takes the same code no second time.
    stage.crash();
    assert!(matches!(stage.effect(yes), Effect::LookForCode(_)));
    assert_eq!(
        crate::login::tests::stage::grant(stage.tell(Report::CodeLives(Ok(false)))).code,
        grant.code
    );
    assert_eq!(stage.saved, Save::No);
    assert_eq!(
        answer(stage.tell(Report::Granted(Err(ErrorCode::AlreadyDone)))),
        problem(ErrorCode::AlreadyDone, Way::HomePage)
    );
    assert_eq!(stage.code(), Some(code.reveal().as_str()));
}

/// A record that nobody can go on from when its process dies need not hold a person's data any more.
#[test]
fn of_one_node_an_answered_login_keeps_no_identity() {
    for (nodes, holds) in [(Nodes::One, false), (Nodes::Many, true)] {
        let mut stage = Stage::new(&[]);
        stage.nodes = nodes;
        stage.consenting();
        let yes = stage.yes();
        let granted = grant(stage.ask(yes.clone()));
        let name = granted.proven.identity.family_name.clone().unwrap();
        let holds_it = |login: &Login| serde_json::to_string(login).unwrap().contains(&name);
        assert_eq!(holds_it(&stage.stored), holds, "{nodes:?}");
        let told = answer(stage.tell(Report::Granted(Ok(()))));
        assert!(!holds_it(&stage.login), "what a node remembers of a grant that is done");
        assert!(matches!(stage.effect(yes), Effect::LookForCode(_)));
        assert_eq!(answer(stage.tell(Report::CodeLives(Ok(true)))), told);
    }
}

/// `consent = "none"` (decisions 5): whatever `prompt` says, and with `prompt=none` too.
#[test]
fn without_consent_no_page_comes_between() {
    for changes in [&[][..], &[("prompt", "login consent")], &[("prompt", "login")]] {
        let mut stage = Stage::new(changes).with_policy(ConsentPolicy::None);
        stage.identifying();
        let granted = grant(stage.identified(proven("idp", Level::Eidas1)));
        assert!(!granted.consented, "nobody said yes");
    }
}

/// A process killed between the two writes, or a store that was away for the second: nothing half-done remains.
#[test]
fn a_grant_that_was_cut_short_is_brought_to_its_end_by_whoever_repeats_the_step() {
    let mut stage = Stage::new(&[]);
    stage.consenting();
    let yes = stage.yes();
    let first = grant(stage.ask(yes.clone()));
    stage.crash();
    for _ in 0..2 {
        assert!(
            matches!(stage.effect(yes.clone()), Effect::LookForCode(code) if code == first.code)
        );
        let again = grant(stage.tell(Report::CodeLives(Ok(false))));
        assert_eq!(
            serde_json::to_value(&again).unwrap(),
            serde_json::to_value(&first).unwrap(),
            "one code, one session"
        );
        // Stored or not, nobody knows; the person hears that, and the login stays as it is.
        let page = problem(ErrorCode::StoreUnavailable, Way::Choice);
        assert_eq!(answer(stage.tell(Report::Granted(Err(ErrorCode::StoreUnavailable)))), page);
        assert_eq!(stage.saved, Save::No);
        assert!(matches!(stage.effect(yes.clone()), Effect::LookForCode(_)));
        assert_eq!(
            answer(stage.tell(Report::CodeLives(Err(ErrorCode::StoreUnavailable)))),
            page,
            "no word that it is over"
        );
        assert_eq!(stage.saved, Save::No);
    }
    assert!(matches!(stage.effect(yes), Effect::LookForCode(_)));
    grant(stage.tell(Report::CodeLives(Ok(false))));
    let told = answer(stage.tell(Report::Granted(Ok(()))));
    let expected = stage.login.ticket.request.redirect.code(first.code.reveal());
    assert_eq!(
        told,
        Seen::Sp(expected, first.session.fresh().map(|cookie| cookie.reveal().clone()))
    );
}

#[test]
fn a_grant_that_could_not_be_stored_is_no_grant() {
    let mut stage = Stage::new(&[]);
    stage.consenting();
    let yes = stage.yes();
    grant(stage.ask(yes.clone()));
    let page = problem(ErrorCode::StoreFull, Way::ServiceProvider);
    assert_eq!(answer(stage.tell(Report::Granted(Err(ErrorCode::StoreFull)))), page);
    assert_eq!(stage.saved, Save::Yes);
    assert_eq!(stage.seen(yes), page, "failure is sticky");
    let seen = stage.seen(Request::Cancel);
    assert!(stage.told(&seen, ErrorCode::StoreFull));
}

#[test]
fn yes_to_another_page_does_not_count() {
    let shown = |proven: Proven, policy| {
        let mut stage = Stage::new(&[]).with_policy(policy);
        stage.identifying();
        assert_eq!(answer(stage.identified(proven)), Seen::ToConsent);
        let Request::Consent(consent) = stage.yes() else { panic!() };
        consent.shown
    };
    let plain = || proven("idp", Level::Eidas1);
    let mut more_claims = plain();
    more_claims.claims.insert("birthplace".into(), "75107".into());
    let mut other_value = plain();
    other_value.claims.insert("email".into(), "other@example.org".into());
    let other_pages = [
        shown(more_claims, ConsentPolicy::Information),
        shown(other_value, ConsentPolicy::Information),
        shown(
            Proven { subject: Subject::new("somebody-else"), ..plain() },
            ConsentPolicy::Information,
        ),
        shown(plain(), ConsentPolicy::Required),
        String::new(),
    ];
    for shown in other_pages {
        for answer in [ConsentAnswer::Yes, ConsentAnswer::No] {
            let mut stage = Stage::new(&[]);
            stage.consenting();
            let seen = stage.seen(Request::Consent(Consent { answer, shown: shown.clone() }));
            assert_eq!(seen, problem(ErrorCode::CsrfWrong, Way::Choice));
            let yes = stage.yes();
            grant(stage.ask(yes));
        }
    }
}

#[test]
fn a_refusal_is_told_and_final() {
    let mut stage = Stage::new(&[]).with_policy(ConsentPolicy::Required);
    stage.consenting();
    let (yes, no) = (stage.yes(), stage.no());
    let seen = stage.seen(no);
    assert!(stage.told(&seen, ErrorCode::UserRefusedConsent));
    assert_eq!(stage.seen(yes), seen, "a yes after the no gives no code");
}

#[test]
fn the_page_is_shown_when_its_policy_says_so() {
    use ConsentPolicy::{Information, Required};
    for (policy, prompt, consented, page) in [
        (Information, "login", false, false),
        (Information, "consent", false, true),
        (Information, "login consent", true, true),
        (Information, "", false, true), // R114
        (Required, "login", false, true),
        (Required, "consent", false, true),
        (Required, "login", true, false),
        (Required, "consent", true, true),
    ] {
        let mut stage = Stage::new(&[("prompt", prompt)]).with_policy(policy);
        stage.identifying();
        let then = stage.identified(Proven { consented, ..proven("idp", Level::Eidas1) });
        let case = format!("{policy:?} {prompt:?} {consented}");
        if page {
            assert_eq!(answer(then), Seen::ToConsent, "{case}");
            assert_eq!(stage.saved, Save::Yes, "{case}");
        } else {
            assert_eq!(grant(then).consented, policy == Required, "{case}");
        }
    }
}

#[test]
fn an_explicit_yes_is_remembered_and_a_continue_is_not() {
    for (policy, explicit) in [(ConsentPolicy::Required, true), (ConsentPolicy::Information, false)]
    {
        let mut stage = Stage::new(&[]).with_policy(policy);
        stage.consenting();
        let yes = stage.yes();
        assert_eq!(grant(stage.ask(yes)).consented, explicit);
    }
}

#[test]
fn a_reused_session_keeps_its_cookie_and_asks_nobody() {
    let mut stage = Stage::new(&[("prompt", "login")]);
    stage.session = Some(Secret::new("session".into()));
    let grant = grant(stage.ask(Request::Look { reuse: Some(Box::new(reused("session"))) }));
    let SessionUse::Reused { cookie } = &grant.session else { panic!() };
    assert_eq!(cookie.reveal(), "session");
    assert!(grant.proven.session.is_none());
    let Seen::Sp(_, cookie) = answer(stage.tell(Report::Granted(Ok(())))) else { panic!() };
    assert_eq!(cookie, None, "the browser has it already");
}

#[test]
fn a_session_that_another_tab_replaced_gives_nothing() {
    for held in [None, Some("somebody else's")] {
        let mut stage = Stage::new(&[("prompt", "consent")]);
        stage.session = Some(Secret::new("session".into()));
        assert_eq!(
            stage.seen(Request::Look { reuse: Some(Box::new(reused("session"))) }),
            Seen::ToConsent
        );
        stage.session = held.map(|held| Secret::new(held.into()));
        let yes = stage.yes();
        assert_eq!(answer(stage.ask(yes)), banner(None, ErrorCode::Interrupted));
        assert!(stage.code().is_none());
    }
}

#[test]
fn a_session_is_not_reused_behind_a_banner() {
    let mut stage = Stage::new(&[("prompt", "login")]);
    stage.verifying();
    let failed = answer(stage.tell(Report::Authenticated(Err(ErrorCode::IdpDenied))));
    assert_eq!(failed, banner(Some("idp"), ErrorCode::IdpDenied));
    assert_eq!(stage.seen(Request::Look { reuse: Some(Box::new(reused("session"))) }), failed);
}

#[test]
fn a_login_in_a_log_line_gives_nobody_away() {
    let mut stage = Stage::new(&[]);
    let attempt = stage.leave("idp");
    let away = format!("{:?} {attempt:?}", stage.login);
    stage.consenting();
    let crate::login::State::Consenting(page) = &stage.login.state else { panic!() };
    let printed = format!("{away} {:?} {:?} {page:?}", stage.login, page.proven.authentication);
    for secret in [
        attempt.state.as_str(),
        &attempt.nonce,
        attempt.verifier.reveal(),
        "pairwise-angela",
        "DUBOIS",
        "1962",
    ] {
        assert!(!printed.contains(secret), "{secret} in {printed}");
    }
}
