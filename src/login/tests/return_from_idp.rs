//! The way to an identity provider and back: what counts as its answer, and what a bad one leads to.

use crate::assurance::{At, Level};
use crate::digest;
use crate::ids::Secret;
use crate::login::samples::{IDP_ISSUER, NONCE, authentication, left, proven};
use crate::login::tests::stage::{
    CLOSED, OPEN, Seen, Stage, answer, back, back_with, banner, effect, grant, problem,
};
use crate::login::upstream::AuthorizationRedirect;
use crate::login::{Effect, Report, Request, Return, Way};
use crate::protocol::catalogue::ErrorCode;

const UNKNOWN: Seen = problem(ErrorCode::StateUnknown, Way::Choice);

#[test]
fn the_departure_is_fresh_and_carries_what_the_request_asks() {
    let mut stage = Stage::new(&[
        ("max_age", "30"),
        ("login_hint", "angela"),
        ("ui_locales", "fr en"),
        ("acr_values", "eidas2"),
    ]);
    let Effect::Begin(connector, departure) = stage.effect(Request::Choose("idp".into())) else {
        panic!()
    };
    assert_eq!(connector.as_str(), "idp");
    assert_eq!(departure.redirect_uri, "https://hub.example/api/v2/callback/idp");
    let fresh =
        [departure.state.as_str(), departure.nonce.as_str(), departure.verifier.reveal().as_str()];
    assert!(fresh.iter().all(|value| value.len() == 43));
    assert!(fresh[0] != fresh[1] && fresh[1] != fresh[2] && fresh[0] != fresh[2]);
    assert_ne!(
        departure.nonce, NONCE,
        "the service provider's nonce is none of the identity provider's business"
    );
    assert_eq!(
        (departure.level, departure.reauthenticate, departure.max_age),
        (Level::Eidas2, true, Some(30))
    );
    assert_eq!(
        (departure.login_hint.as_deref(), departure.ui_locales.as_deref()),
        (Some("angela"), Some("fr en"))
    );

    let attempt = stage.depart();
    assert_eq!(
        (attempt.state, attempt.nonce, attempt.verifier),
        (departure.state, departure.nonce, departure.verifier)
    );
    assert_eq!((attempt.left_at, attempt.left.issuer.as_str()), (stage.now, IDP_ISSUER));
    let mut plain = Stage::new(&[("prompt", "consent")]);
    let Effect::Begin(_, departure) = plain.effect(Request::Choose("idp".into())) else { panic!() };
    assert!(!departure.reauthenticate && departure.max_age.is_none());
    assert!(departure.login_hint.is_none() && departure.ui_locales.is_none());
}

#[test]
fn completing_gets_the_attempt_and_what_came() {
    let mut stage = Stage::new(&[]);
    let attempt = stage.leave("idp");
    let Effect::Complete(completed, arrival, _) = stage.effect(back(&attempt)) else { panic!() };
    assert_eq!((completed.nonce, completed.verifier), (attempt.nonce, attempt.verifier));
    assert_eq!(
        digest::fingerprint(arrival.code.unwrap().reveal()),
        digest::fingerprint("upstream code")
    );
}

#[test]
fn forged_state_and_mix_up_leave_the_open_attempt_alone() {
    type Forge = fn(&mut Return);
    let forgeries: [(&str, Forge); 5] = [
        ("another state", |back| {
            back.state = back.state.replace(|c: char| c.is_ascii_digit(), "_") + "x"
        }),
        ("a part of it", |back| back.state.truncate(42)),
        ("no state", |back| back.state.clear()),
        ("one character more", |back| back.state.push('A')),
        ("another connector's callback", |back| back.connector = "evil".into()),
    ];
    for (attack, forge) in forgeries {
        let mut stage = Stage::new(&[]);
        let attempt = stage.leave("idp");
        assert_eq!(stage.seen(back_with(&attempt, forge)), UNKNOWN, "{attack}");
        assert!(
            matches!(stage.effect(back(&attempt)), Effect::Complete(..)),
            "{attack}: the real answer still counts"
        );
    }
}

/// RFC 6749 Appendix A.11. An identity provider's database or firewall answers such codes with 500, 413 or 403.
#[test]
fn a_code_that_no_server_issues_reaches_no_identity_provider_and_the_login_goes_on() {
    let refused = Seen::Problem(ErrorCode::IdpCodeMalformed, Way::Choice);
    for code in [
        "\0abc".to_owned(),
        "a\nb".to_owned(),
        "\u{e9}".to_owned(),
        "\u{7f}".to_owned(),
        "x".repeat(4097),
        "x".repeat(40_000),
    ] {
        let mut stage = Stage::new(&[]);
        let attempt = stage.leave("idp");
        let forged =
            back_with(&attempt, |back| back.arrival.code = Some(Secret::new(code.clone())));
        assert_eq!(stage.seen(forged), refused, "{code:.10}");
        assert!(
            matches!(stage.effect(back(&attempt)), Effect::Complete(..)),
            "the real answer still counts"
        );
    }
    for code in [" ~<script>".to_owned(), "x".repeat(4096)] {
        let mut stage = Stage::new(&[]);
        let attempt = stage.leave("idp");
        let good = back_with(&attempt, |back| back.arrival.code = Some(Secret::new(code.clone())));
        assert!(matches!(stage.effect(good), Effect::Complete(..)), "{code:.10}");
    }
}

#[test]
fn missing_and_wrong_iss_are_stopped_before_the_code_is_used() {
    // RFC 9207, 2.4
    for (expected, iss, code) in [
        (true, None, Some(ErrorCode::IdpIssMissing)),
        (true, Some("https://evil.example"), Some(ErrorCode::IdpIssWrong)),
        (false, Some("https://evil.example"), Some(ErrorCode::IdpIssWrong)),
        (false, Some("https://idp.example/"), Some(ErrorCode::IdpIssWrong)),
        (false, Some(""), Some(ErrorCode::IdpIssWrong)),
        (true, Some(IDP_ISSUER), None),
        (false, Some(IDP_ISSUER), None),
        (false, None, None),
    ] {
        let mut stage = Stage::new(&[]);
        let open = stage.effect(Request::Choose("idp".into()));
        assert!(matches!(open, Effect::Begin(..)));
        answer(stage.tell(Report::Departed(Ok(AuthorizationRedirect { iss_expected: expected, ..left() }))));
        let crate::login::State::Away(away) = &stage.login.state else { panic!() };
        let returned =
            back_with(&away.attempt.clone(), |back| back.arrival.iss = iss.map(str::to_owned));
        let Some(code) = code else {
            assert!(matches!(stage.effect(returned), Effect::Complete(..)), "{expected} {iss:?}");
            continue;
        };
        assert_eq!(stage.seen(returned.clone()), banner(Some("idp"), code), "{expected} {iss:?}");
        assert_eq!(stage.seen(returned), banner(Some("idp"), code), "the same answer again");
    }
}

#[test]
fn replayed_callback_gets_the_same_answer_and_no_second_token_call() {
    let mut stage = Stage::new(&[]);
    let attempt = stage.consenting();
    for _ in 0..3 {
        assert_eq!(stage.seen(back(&attempt)), Seen::ToConsent);
    }
    let yes = stage.yes();
    grant(stage.ask(yes));
    let told = answer(stage.tell(Report::Granted(Ok(()))));
    assert!(matches!(stage.effect(back(&attempt)), Effect::LookForCode(_)));
    assert_eq!(answer(stage.tell(Report::CodeLives(Ok(true)))), told);

    let mut stage = Stage::new(&[]);
    let attempt = stage.verifying();
    let first = answer(stage.tell(Report::Authenticated(Err(ErrorCode::IdpTimeout))));
    assert_eq!(stage.seen(back(&attempt)), first);

    let mut stage = Stage::new(&[]);
    let attempt = stage.identifying();
    let first = answer(stage.tell(Report::Identified(Err(ErrorCode::RegisterNotFound.into()))));
    assert_eq!(stage.seen(back(&attempt)), first);
}

#[test]
fn forged_callback_to_a_finished_login_gets_no_code() {
    let mut stage = Stage::new(&[]);
    stage.granted();
    let forged = back_with(&Stage::new(&[]).leave("idp"), |back| back.state.push('x'));
    assert_eq!(stage.seen(forged), problem(ErrorCode::AlreadyDone, Way::HomePage));
}

#[test]
fn choosing_again_closes_the_older_attempt() {
    let mut stage = Stage::new(&[]);
    let older = stage.leave("idp");
    let younger = stage.leave("idp");
    assert!(
        older.state != younger.state
            && older.nonce != younger.nonce
            && older.verifier != younger.verifier
    );
    assert_eq!(stage.seen(back(&older)), UNKNOWN);
    assert!(matches!(stage.effect(back(&younger)), Effect::Complete(..)));

    // Also when the younger one never left, and when its connector can't be used.
    let mut stage = Stage::new(&[]);
    let older = stage.leave("idp");
    stage.effect(Request::Choose("dead".into()));
    assert_eq!(
        answer(stage.tell(Report::Departed(Err(ErrorCode::IdpTimeout)))),
        banner(Some("dead"), ErrorCode::IdpTimeout)
    );
    assert_eq!(stage.seen(back(&older)), UNKNOWN);
    let mut stage = Stage::new(&[]);
    let older = stage.leave("idp");
    stage.gate = CLOSED;
    assert_eq!(
        stage.seen(Request::Choose("idp".into())),
        banner(Some("idp"), ErrorCode::GateClosed)
    );
    stage.gate = OPEN;
    assert_eq!(stage.seen(back(&older)), UNKNOWN);
}

#[test]
fn upstream_trouble_leads_back_to_the_choice_with_its_name() {
    let mut stage = Stage::new(&[]);
    stage.effect(Request::Choose("idp".into()));
    assert_eq!(
        answer(stage.tell(Report::Departed(Err(ErrorCode::IdpDiscovery)))),
        banner(Some("idp"), ErrorCode::IdpDiscovery)
    );
    stage.verifying();
    assert_eq!(
        answer(stage.tell(Report::Authenticated(Err(ErrorCode::IdpDenied)))),
        banner(Some("idp"), ErrorCode::IdpDenied)
    );
    assert_eq!(stage.look(), banner(Some("idp"), ErrorCode::IdpDenied));
    stage.granted();
}

#[test]
fn the_gate_is_asked_at_every_door() {
    let closed = ErrorCode::GateClosed;
    let mut stage = Stage::new(&[]);
    stage.gate = CLOSED;
    assert_eq!(stage.seen(Request::Choose("idp".into())), banner(Some("idp"), closed));

    let mut stage = Stage::new(&[]);
    let attempt = stage.leave("idp");
    stage.gate = CLOSED;
    let seen = stage.seen(back(&attempt));
    assert!(stage.told(&seen, closed), "callback");

    let mut stage = Stage::new(&[]);
    stage.verifying();
    stage.gate = CLOSED;
    let seen = answer(stage.authenticated(Level::Eidas1));
    assert!(stage.told(&seen, closed), "authenticated");

    let mut stage = Stage::new(&[]);
    stage.consenting();
    let yes = stage.yes();
    stage.gate = CLOSED;
    let seen = stage.seen(yes);
    assert!(stage.told(&seen, closed), "consent");

    let mut stage = Stage::new(&[("prompt", "login")]);
    stage.identifying();
    stage.gate = CLOSED;
    let seen = answer(stage.identified(proven("idp", Level::Eidas1)));
    assert!(stage.told(&seen, closed), "no page due");
}

#[test]
fn the_gate_judges_the_level_asked_before_and_the_one_obtained_after() {
    let mut stage = Stage::new(&[("acr_values", "eidas2")]);
    stage.gate = |_, at| {
        if matches!(at, At::Asked(demand) if demand.level == Level::Eidas2) {
            Ok(())
        } else {
            Err(ErrorCode::GateClosed)
        }
    };
    stage.verifying();
    let seen = answer(stage.authenticated(Level::Eidas3));
    assert!(stage.told(&seen, ErrorCode::GateClosed));
}

#[test]
fn a_floor_that_rises_while_the_consent_page_is_open_closes_the_gate() {
    let mut stage = Stage::new(&[]);
    stage.consenting();
    let yes = stage.yes();
    // What was proven is eidas1, however much the gate would lift what is asked.
    stage.gate =
        |_, at| if at == At::Obtained(Level::Eidas1) { Err(ErrorCode::AcrTooLow) } else { Ok(()) };
    let seen = stage.seen(yes);
    assert!(stage.told(&seen, ErrorCode::AcrTooLow));
}

#[test]
fn too_low_a_level_never_passes() {
    let mut stage = Stage::new(&[("acr_values", "eidas2")]);
    stage.verifying();
    assert_eq!(
        answer(stage.authenticated(Level::Eidas1)),
        banner(Some("idp"), ErrorCode::AcrTooLow)
    );
    for code in [ErrorCode::AcrTooLow, ErrorCode::AcrMissing, ErrorCode::AcrUnlisted] {
        let mut stage = Stage::new(&[("acr_values", "eidas2")]);
        stage.verifying();
        let seen = answer(stage.tell(Report::Authenticated(Err(code))));
        assert_eq!(
            seen,
            banner(Some("idp"), code),
            "another identity provider may reach it (decisions 8)"
        );
    }
    for level in [Level::Eidas2, Level::Eidas3] {
        let mut stage = Stage::new(&[("acr_values", "eidas2")]);
        stage.verifying();
        assert!(matches!(effect(stage.authenticated(level)), Effect::Identify(_)));
    }
}

#[test]
fn the_register_hears_of_exactly_what_was_proven() {
    let mut stage = Stage::new(&[]);
    stage.verifying();
    let Effect::Identify(identify) = effect(stage.authenticated(Level::Eidas1)) else { panic!() };
    assert_eq!(
        serde_json::to_value(&identify).unwrap(),
        serde_json::to_value(authentication("idp", Level::Eidas1)).unwrap()
    );
}
