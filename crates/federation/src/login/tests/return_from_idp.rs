//! Tests the redirect to an identity provider and the callback: what is accepted, and what a bad
//! one leads to.

use crate::assurance::{AcrCheck, Level};
use crate::login::tests::harness::{
    BrowserView, CLOSED, Harness, OPEN, browser_view, callback, callback_with, choice_with_banner,
    effect, error_page, grant,
};
use crate::login::upstream::AuthorizationRedirect;
use crate::login::{Callback, Effect, EffectOutcome, LoginRequest, NextAction};
use crate::testing::samples::{
    IDP_ISSUER, NONCE, authentication, authorization_redirect, identified_user,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;

const UNKNOWN: BrowserView = error_page(ErrorCode::StateUnknown, NextAction::ChooseIdp);

#[test]
fn the_upstream_request_is_fresh_and_carries_what_the_request_demands() {
    let mut harness = Harness::new(&[
        ("max_age", "30"),
        ("login_hint", "angela"),
        ("ui_locales", "fr en"),
        ("acr_values", "eidas2"),
    ]);
    let Effect::BeginLogin(connector, request) =
        harness.effect_after(LoginRequest::Choose("idp".into()))
    else {
        panic!()
    };
    assert_eq!(connector.as_str(), "idp");
    assert_eq!(request.redirect_uri, "https://hub.example/api/v2/callback/idp");
    let fresh =
        [request.state.as_str(), request.nonce.as_str(), request.verifier.reveal().as_str()];
    assert!(fresh.iter().all(|value| value.len() == 43));
    assert!(fresh[0] != fresh[1] && fresh[1] != fresh[2] && fresh[0] != fresh[2]);
    assert_ne!(
        request.nonce, NONCE,
        "the service provider's nonce is sent to the identity provider"
    );
    assert_eq!(
        (request.level, request.reauthenticate, request.max_age),
        (Level::Eidas2, true, Some(30))
    );
    assert_eq!(
        (request.login_hint.as_deref(), request.ui_locales.as_deref()),
        (Some("angela"), Some("fr en"))
    );

    let attempt = harness.redirect();
    assert_eq!(
        (attempt.request.state, attempt.request.nonce, attempt.request.verifier),
        (request.state, request.nonce, request.verifier)
    );
    assert_eq!(
        (attempt.redirected_at, attempt.redirect.issuer.as_str()),
        (harness.now, IDP_ISSUER)
    );
    let mut plain = Harness::new(&[("prompt", "consent")]);
    let Effect::BeginLogin(_, request) = plain.effect_after(LoginRequest::Choose("idp".into()))
    else {
        panic!()
    };
    assert!(!request.reauthenticate && request.max_age.is_none());
    assert!(request.login_hint.is_none() && request.ui_locales.is_none());
}

#[test]
fn completing_gets_the_attempt_and_the_callback() {
    let mut harness = Harness::new(&[]);
    let attempt = harness.begin_at("idp");
    let Effect::CompleteLogin(completed, params, _) = harness.effect_after(callback(&attempt))
    else {
        panic!()
    };
    assert_eq!(
        (completed.request.nonce, completed.request.verifier),
        (attempt.request.nonce, attempt.request.verifier)
    );
    assert_eq!(
        digest::sha256_base64url(params.code.unwrap().reveal()),
        digest::sha256_base64url("upstream code")
    );
}

#[test]
fn forged_state_and_mix_up_leave_the_attempt_open() {
    type Forge = fn(&mut Callback);
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
        let mut harness = Harness::new(&[]);
        let attempt = harness.begin_at("idp");
        assert_eq!(harness.view_after(callback_with(&attempt, forge)), UNKNOWN, "{attack}");
        assert!(
            matches!(harness.effect_after(callback(&attempt)), Effect::CompleteLogin(..)),
            "{attack}: the real answer still counts"
        );
    }
}

/// RFC 6749 Appendix A.11. An identity provider's database or firewall answers such codes with 500,
/// 413 or 403.
#[test]
fn a_code_that_no_server_issues_reaches_no_identity_provider_and_the_login_continues() {
    let refused = BrowserView::ErrorPage(ErrorCode::IdpCodeMalformed, NextAction::ChooseIdp);
    for code in [
        "\0abc".to_owned(),
        "a\nb".to_owned(),
        "\u{e9}".to_owned(),
        "\u{7f}".to_owned(),
        "x".repeat(4097),
        "x".repeat(40_000),
    ] {
        let mut harness = Harness::new(&[]);
        let attempt = harness.begin_at("idp");
        let forged =
            callback_with(&attempt, |back| back.params.code = Some(Secret::new(code.clone())));
        assert_eq!(harness.view_after(forged), refused, "{code:.10}");
        assert!(
            matches!(harness.effect_after(callback(&attempt)), Effect::CompleteLogin(..)),
            "the real answer still counts"
        );
    }
    for code in [" ~<script>".to_owned(), "x".repeat(4096)] {
        let mut harness = Harness::new(&[]);
        let attempt = harness.begin_at("idp");
        let good =
            callback_with(&attempt, |back| back.params.code = Some(Secret::new(code.clone())));
        assert!(matches!(harness.effect_after(good), Effect::CompleteLogin(..)), "{code:.10}");
    }
}

#[test]
fn missing_and_wrong_iss_are_stopped_before_the_code_is_used() {
    // RFC 9207 §2.4
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
        let mut harness = Harness::new(&[]);
        let open = harness.effect_after(LoginRequest::Choose("idp".into()));
        assert!(matches!(open, Effect::BeginLogin(..)));
        browser_view(harness.report_outcome(EffectOutcome::RedirectPrepared(Ok(
            AuthorizationRedirect { iss_expected: expected, ..authorization_redirect() },
        ))));
        let crate::login::LoginState::AwaitingCallback(away) = &harness.login.state else {
            panic!()
        };
        let returned =
            callback_with(&away.attempt.clone(), |back| back.params.iss = iss.map(str::to_owned));
        let Some(code) = code else {
            assert!(
                matches!(harness.effect_after(returned), Effect::CompleteLogin(..)),
                "{expected} {iss:?}"
            );
            continue;
        };
        assert_eq!(
            harness.view_after(returned.clone()),
            choice_with_banner(Some("idp"), code),
            "{expected} {iss:?}"
        );
        assert_eq!(
            harness.view_after(returned),
            choice_with_banner(Some("idp"), code),
            "the same answer again"
        );
    }
}

#[test]
fn replayed_callback_gets_the_same_answer_and_no_second_token_call() {
    let mut harness = Harness::new(&[]);
    let attempt = harness.reach_consenting();
    for _ in 0..3 {
        assert_eq!(harness.view_after(callback(&attempt)), BrowserView::RedirectToConsent);
    }
    let yes = harness.yes();
    grant(harness.send(yes));
    let answer = browser_view(harness.report_outcome(EffectOutcome::CodeIssued(Ok(()))));
    assert!(matches!(harness.effect_after(callback(&attempt)), Effect::CheckCode(_)));
    assert_eq!(browser_view(harness.report_outcome(EffectOutcome::CodeChecked(Ok(true)))), answer);

    let mut harness = Harness::new(&[]);
    let attempt = harness.reach_verifying();
    let first = browser_view(
        harness.report_outcome(EffectOutcome::Authenticated(Err(ErrorCode::IdpTimeout))),
    );
    assert_eq!(harness.view_after(callback(&attempt)), first);

    let mut harness = Harness::new(&[]);
    let attempt = harness.reach_identifying();
    let first = browser_view(
        harness.report_outcome(EffectOutcome::Identified(Err(ErrorCode::RegisterNotFound.into()))),
    );
    assert_eq!(harness.view_after(callback(&attempt)), first);
}

#[test]
fn forged_callback_to_a_finished_login_gets_no_code() {
    let mut harness = Harness::new(&[]);
    harness.reach_granted();
    let forged = callback_with(&Harness::new(&[]).begin_at("idp"), |back| back.state.push('x'));
    assert_eq!(
        harness.view_after(forged),
        error_page(ErrorCode::AlreadyDone, NextAction::HomePage)
    );
}

#[test]
fn choosing_again_closes_the_older_attempt() {
    let mut harness = Harness::new(&[]);
    let older = harness.begin_at("idp");
    let younger = harness.begin_at("idp");
    assert!(
        older.request.state != younger.request.state
            && older.request.nonce != younger.request.nonce
            && older.request.verifier != younger.request.verifier
    );
    assert_eq!(harness.view_after(callback(&older)), UNKNOWN);
    assert!(matches!(harness.effect_after(callback(&younger)), Effect::CompleteLogin(..)));

    // Also if the younger one is not redirected, and if its connector can't be used.
    let mut harness = Harness::new(&[]);
    let older = harness.begin_at("idp");
    harness.effect_after(LoginRequest::Choose("dead".into()));
    assert_eq!(
        browser_view(
            harness.report_outcome(EffectOutcome::RedirectPrepared(Err(ErrorCode::IdpTimeout)))
        ),
        choice_with_banner(Some("dead"), ErrorCode::IdpTimeout)
    );
    assert_eq!(harness.view_after(callback(&older)), UNKNOWN);
    let mut harness = Harness::new(&[]);
    let older = harness.begin_at("idp");
    harness.gate = CLOSED;
    assert_eq!(
        harness.view_after(LoginRequest::Choose("idp".into())),
        choice_with_banner(Some("idp"), ErrorCode::GateClosed)
    );
    harness.gate = OPEN;
    assert_eq!(harness.view_after(callback(&older)), UNKNOWN);
}

#[test]
fn an_upstream_error_leads_back_to_the_choice_with_its_code() {
    let mut harness = Harness::new(&[]);
    harness.effect_after(LoginRequest::Choose("idp".into()));
    assert_eq!(
        browser_view(
            harness.report_outcome(EffectOutcome::RedirectPrepared(Err(ErrorCode::IdpDiscovery)))
        ),
        choice_with_banner(Some("idp"), ErrorCode::IdpDiscovery)
    );
    harness.reach_verifying();
    assert_eq!(
        browser_view(
            harness.report_outcome(EffectOutcome::Authenticated(Err(ErrorCode::IdpDenied)))
        ),
        choice_with_banner(Some("idp"), ErrorCode::IdpDenied)
    );
    assert_eq!(harness.open_page(), choice_with_banner(Some("idp"), ErrorCode::IdpDenied));
    harness.reach_granted();
}

#[test]
fn every_step_checks_the_gate() {
    let closed = ErrorCode::GateClosed;
    let mut harness = Harness::new(&[]);
    harness.gate = CLOSED;
    assert_eq!(
        harness.view_after(LoginRequest::Choose("idp".into())),
        choice_with_banner(Some("idp"), closed)
    );

    let mut harness = Harness::new(&[]);
    let attempt = harness.begin_at("idp");
    harness.gate = CLOSED;
    let seen = harness.view_after(callback(&attempt));
    assert!(harness.ended_with_error(&seen, closed), "callback");

    let mut harness = Harness::new(&[]);
    harness.reach_verifying();
    harness.gate = CLOSED;
    let seen = browser_view(harness.report_authentication(Level::Eidas1));
    assert!(harness.ended_with_error(&seen, closed), "authenticated");

    let mut harness = Harness::new(&[]);
    harness.reach_consenting();
    let yes = harness.yes();
    harness.gate = CLOSED;
    let seen = harness.view_after(yes);
    assert!(harness.ended_with_error(&seen, closed), "consent");

    let mut harness = Harness::new(&[("prompt", "login")]);
    harness.reach_identifying();
    harness.gate = CLOSED;
    let seen = browser_view(harness.report_identification(identified_user("idp", Level::Eidas1)));
    assert!(harness.ended_with_error(&seen, closed), "no page due");
}

#[test]
fn the_gate_checks_the_requested_level_before_and_the_achieved_one_after() {
    let mut harness = Harness::new(&[("acr_values", "eidas2")]);
    harness.gate = |_, at| {
        if matches!(at, AcrCheck::Requested(demand) if demand.level == Level::Eidas2) {
            Ok(())
        } else {
            Err(ErrorCode::GateClosed)
        }
    };
    harness.reach_verifying();
    let seen = browser_view(harness.report_authentication(Level::Eidas3));
    assert!(harness.ended_with_error(&seen, ErrorCode::GateClosed));
}

#[test]
fn a_lowest_level_that_rises_while_the_consent_page_is_open_closes_the_gate() {
    let mut harness = Harness::new(&[]);
    harness.reach_consenting();
    let yes = harness.yes();
    // The achieved level is eidas1, however much the gate would raise a requested one.
    harness.gate = |_, at| {
        if at == AcrCheck::Achieved(Level::Eidas1) { Err(ErrorCode::AcrTooLow) } else { Ok(()) }
    };
    let seen = harness.view_after(yes);
    assert!(harness.ended_with_error(&seen, ErrorCode::AcrTooLow));
}

#[test]
fn too_low_a_level_never_passes() {
    let mut harness = Harness::new(&[("acr_values", "eidas2")]);
    harness.reach_verifying();
    assert_eq!(
        browser_view(harness.report_authentication(Level::Eidas1)),
        choice_with_banner(Some("idp"), ErrorCode::AcrTooLow)
    );
    for code in [ErrorCode::AcrTooLow, ErrorCode::AcrMissing, ErrorCode::AcrUnlisted] {
        let mut harness = Harness::new(&[("acr_values", "eidas2")]);
        harness.reach_verifying();
        let seen = browser_view(harness.report_outcome(EffectOutcome::Authenticated(Err(code))));
        assert_eq!(
            seen,
            choice_with_banner(Some("idp"), code),
            "another identity provider may reach it"
        );
    }
    for level in [Level::Eidas2, Level::Eidas3] {
        let mut harness = Harness::new(&[("acr_values", "eidas2")]);
        harness.reach_verifying();
        assert!(matches!(effect(harness.report_authentication(level)), Effect::Identify(_)));
    }
}

#[test]
fn the_register_gets_exactly_the_authentication() {
    let mut harness = Harness::new(&[]);
    harness.reach_verifying();
    let Effect::Identify(identify) = effect(harness.report_authentication(Level::Eidas1)) else {
        panic!()
    };
    assert_eq!(
        serde_json::to_value(&identify).unwrap(),
        serde_json::to_value(authentication("idp", Level::Eidas1)).unwrap()
    );
}
