//! Tests the consent page, and the one code that a login can give.

use crate::assurance::Level;
use crate::login::tests::harness::{
    BrowserView, Harness, browser_view, choice_with_banner, error_page, grant,
};
use crate::login::{
    ConsentAnswer, ConsentSubmission, Effect, EffectOutcome, HubCount, IdentifiedUser, Login,
    LoginRequest, NextAction, Save, SessionUse,
};
use crate::testing::samples::{identified_user, user_of_reused_session};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{Secret, Subject};
use passerelle_protocol::registration::ConsentRequirement;

#[test]
fn consent_grants_what_was_shown_once() {
    let mut harness = Harness::new(&[]);
    harness.session = Some(Secret::new("former".into()));
    harness.reach_consenting();
    let yes = harness.yes();
    let grant = grant(harness.send(yes.clone()));
    assert_eq!(harness.saved, Save::Yes, "two submissions at two hubs would both get a code");
    assert_eq!(
        serde_json::to_value(&grant.user).unwrap(),
        serde_json::to_value(IdentifiedUser {
            informed: true,
            ..identified_user("idp", Level::Eidas1)
        })
        .unwrap()
    );
    assert_eq!(grant.scopes, harness.login.context.request.scopes);
    assert_eq!(grant.request, harness.login.context.request);
    assert_eq!(grant.granted_at, harness.now);
    assert!(!grant.consented, "a continue button is not explicit consent");
    let SessionUse::New { cookie, replaced } = grant.session else { panic!("session fixation") };
    assert_eq!(replaced.unwrap().reveal(), "former");
    assert_ne!(cookie.reveal(), "former");

    let answer = browser_view(harness.report_outcome(EffectOutcome::CodeIssued(Ok(()))));
    let expected = harness.login.context.request.redirect.code_response(grant.code.reveal());
    assert_eq!(answer, BrowserView::ServiceProvider(expected, Some(cookie.reveal().clone())));

    // A double click.
    let Effect::CheckCode(code) = harness.effect_after(yes.clone()) else {
        panic!("two codes for one consent")
    };
    assert_eq!(code, grant.code);
    assert_eq!(browser_view(harness.report_outcome(EffectOutcome::CodeChecked(Ok(true)))), answer);
    assert!(matches!(harness.effect_after(yes.clone()), Effect::CheckCode(_)));
    // Used or expired.
    assert_eq!(
        browser_view(harness.report_outcome(EffectOutcome::CodeChecked(Ok(false)))),
        error_page(ErrorCode::AlreadyDone, NextAction::HomePage)
    );
    // At another hub: the store knows the code, and accepts it no second time.
    harness.crash();
    assert!(matches!(harness.effect_after(yes), Effect::CheckCode(_)));
    assert_eq!(
        crate::login::tests::harness::grant(
            harness.report_outcome(EffectOutcome::CodeChecked(Ok(false)))
        )
        .code,
        grant.code
    );
    assert_eq!(harness.saved, Save::No);
    assert_eq!(
        browser_view(
            harness.report_outcome(EffectOutcome::CodeIssued(Err(ErrorCode::AlreadyDone)))
        ),
        error_page(ErrorCode::AlreadyDone, NextAction::HomePage)
    );
    assert_eq!(harness.code(), Some(code.reveal().as_str()));
}

/// Where no other hub can continue after a crash, the record need not hold personal data.
#[test]
fn with_one_hub_a_completed_login_keeps_no_identity() {
    for (hub_count, holds) in [(HubCount::Single, false), (HubCount::Several, true)] {
        let mut harness = Harness::new(&[]);
        harness.hub_count = hub_count;
        harness.reach_consenting();
        let yes = harness.yes();
        let granted = grant(harness.send(yes.clone()));
        let name = granted.user.identity.family_name.clone().unwrap();
        let holds_it = |login: &Login| serde_json::to_string(login).unwrap().contains(&name);
        assert_eq!(holds_it(&harness.stored), holds, "{hub_count:?}");
        let answer = browser_view(harness.report_outcome(EffectOutcome::CodeIssued(Ok(()))));
        assert!(!holds_it(&harness.login), "a stored grant still holds personal data");
        assert!(matches!(harness.effect_after(yes), Effect::CheckCode(_)));
        assert_eq!(
            browser_view(harness.report_outcome(EffectOutcome::CodeChecked(Ok(true)))),
            answer
        );
    }
}

/// Without a page of the service's own, only `prompt=consent` asks for one (OpenID Connect Core 1.0
/// §3.1.2.1).
#[test]
fn where_the_file_asks_for_no_page_one_is_shown_only_if_the_request_asks_for_it() {
    for (prompt, page) in [("login", false), ("consent", true), ("login consent", true)] {
        let mut harness = Harness::new(&[("prompt", prompt)]).with_policy(ConsentRequirement::None);
        harness.reach_identifying();
        let then = harness.report_identification(identified_user("idp", Level::Eidas1));
        if page {
            assert_eq!(browser_view(then), BrowserView::RedirectToConsent, "{prompt}");
            let yes = harness.yes();
            let grant = grant(harness.send(yes));
            assert!(!grant.consented, "it is information, with one button");
            assert!(grant.user.informed, "{prompt}");
        } else {
            let grant = grant(then);
            assert!(!grant.consented && !grant.user.informed, "no page was shown");
        }
    }
}

/// A session that another service began must not give this one a name and an e-mail address in a
/// hidden request.
#[test]
fn a_service_that_the_user_has_never_seen_gets_no_identity_silently() {
    let reuse = |informed| LoginRequest::OpenPage {
        reuse: Ok(Some(Box::new(IdentifiedUser { informed, ..user_of_reused_session("session") }))),
    };
    let harness = |prompt, policy| {
        Harness::new(&[("prompt", prompt)]).with_policy(policy).with_session("session")
    };
    let mut silent = harness("none", ConsentRequirement::Information);
    let seen = silent.view_after(reuse(false));
    assert!(silent.ended_with_error(&seen, ErrorCode::ConsentRequired));
    grant(harness("none", ConsentRequirement::Information).send(reuse(true)));
    // The file of plain OpenID Connect can do without a page.
    grant(harness("none", ConsentRequirement::None).send(reuse(false)));
}

#[test]
fn consent_to_another_page_is_rejected() {
    let page_digest = |user: IdentifiedUser, policy| {
        let mut harness = Harness::new(&[]).with_policy(policy);
        harness.reach_identifying();
        assert_eq!(
            browser_view(harness.report_identification(user)),
            BrowserView::RedirectToConsent
        );
        let LoginRequest::Consent(consent) = harness.yes() else { panic!() };
        consent.page_digest
    };
    let plain = || identified_user("idp", Level::Eidas1);
    let mut more_claims = plain();
    more_claims.claims.insert("birthplace".into(), "75107".into());
    let mut other_value = plain();
    other_value.claims.insert("email".into(), "other@example.org".into());
    let other_pages = [
        page_digest(more_claims, ConsentRequirement::Information),
        page_digest(other_value, ConsentRequirement::Information),
        page_digest(
            IdentifiedUser { subject: Subject::new("another-user"), ..plain() },
            ConsentRequirement::Information,
        ),
        page_digest(plain(), ConsentRequirement::Required),
        String::new(),
    ];
    for shown in other_pages {
        for answer in [ConsentAnswer::Yes, ConsentAnswer::No] {
            let mut harness = Harness::new(&[]);
            harness.reach_consenting();
            let seen = harness.view_after(LoginRequest::Consent(ConsentSubmission {
                answer,
                page_digest: shown.clone(),
            }));
            assert_eq!(seen, error_page(ErrorCode::CsrfWrong, NextAction::ChooseIdp));
            let yes = harness.yes();
            grant(harness.send(yes));
        }
    }
}

#[test]
fn a_refusal_reaches_the_service_provider_and_is_final() {
    let mut harness = Harness::new(&[]).with_policy(ConsentRequirement::Required);
    harness.reach_consenting();
    let (yes, no) = (harness.yes(), harness.no());
    let seen = harness.view_after(no);
    assert!(harness.ended_with_error(&seen, ErrorCode::UserRefusedConsent));
    assert_eq!(harness.view_after(yes), seen, "consent after the refusal gave a code");
}

#[test]
fn the_consent_page_is_shown_as_its_policy_requires() {
    use ConsentRequirement::{Information, None, Required};
    for (policy, prompt, consented, informed, page) in [
        (Information, "login", false, false, true),
        (Information, "login", false, true, false),
        (Information, "select_account", false, false, true),
        (Information, "consent", false, true, true),
        (Information, "login consent", true, true, true),
        (Information, "", false, true, true), // R114
        (None, "login", false, false, false),
        (None, "consent", true, true, true),
        (Required, "login", false, false, true),
        (Required, "login", false, true, true),
        (Required, "consent", false, false, true),
        (Required, "login", true, true, false),
        (Required, "consent", true, true, true),
    ] {
        let mut harness = Harness::new(&[("prompt", prompt)]).with_policy(policy);
        harness.reach_identifying();
        let then = harness.report_identification(IdentifiedUser {
            consented,
            informed,
            ..identified_user("idp", Level::Eidas1)
        });
        let case = format!("{policy:?} {prompt:?} {consented} {informed}");
        if page {
            assert_eq!(browser_view(then), BrowserView::RedirectToConsent, "{case}");
            assert_eq!(harness.saved, Save::Yes, "{case}");
        } else {
            assert_eq!(grant(then).consented, policy == Required, "{case}");
        }
    }
}

#[test]
fn impersonation_of_a_native_client_through_silent_consent_is_stopped() {
    for policy in [ConsentRequirement::Required, ConsentRequirement::Information] {
        let reuse = || LoginRequest::OpenPage {
            reuse: Ok(Some(Box::new(IdentifiedUser {
                consented: true,
                ..user_of_reused_session("session")
            }))),
        };
        let harness = |prompt| {
            Harness::new(&[("prompt", prompt)])
                .with_policy(policy)
                .with_session("session")
                .for_public_client()
        };
        let mut silent = harness("none");
        let seen = silent.view_after(reuse());
        assert!(silent.ended_with_error(&seen, ErrorCode::ConsentRequired), "{policy:?}");
        let mut reused = harness("login");
        assert_eq!(reused.view_after(reuse()), BrowserView::RedirectToConsent, "{policy:?}");
        assert!(reused.code().is_none());
        // An identity provider with a session of its own answers silently, too.
        let mut fresh = harness("login");
        fresh.reach_identifying();
        let then = fresh.report_identification(identified_user("idp", Level::Eidas1));
        assert_eq!(browser_view(then), BrowserView::RedirectToConsent, "{policy:?}");
        let yes = fresh.yes();
        grant(fresh.send(yes));
    }
}

#[test]
fn continuing_is_information_and_no_explicit_consent() {
    for (policy, explicit) in
        [(ConsentRequirement::Required, true), (ConsentRequirement::Information, false)]
    {
        let mut harness = Harness::new(&[]).with_policy(policy);
        harness.reach_consenting();
        let yes = harness.yes();
        let grant = grant(harness.send(yes));
        assert_eq!((grant.consented, grant.user.informed), (explicit, true));
    }
}

#[test]
fn a_reused_session_keeps_its_cookie_and_needs_no_page() {
    let mut harness = Harness::new(&[("prompt", "login")]);
    harness.session = Some(Secret::new("session".into()));
    let grant = grant(harness.send(LoginRequest::OpenPage {
        reuse: Ok(Some(Box::new(user_of_reused_session("session")))),
    }));
    let SessionUse::Reused { cookie } = &grant.session else { panic!() };
    assert_eq!(cookie.reveal(), "session");
    assert!(grant.user.session.is_none());
    let BrowserView::ServiceProvider(_, cookie) =
        browser_view(harness.report_outcome(EffectOutcome::CodeIssued(Ok(()))))
    else {
        panic!()
    };
    assert_eq!(cookie, None, "the browser has it already");
}

#[test]
fn a_session_that_another_tab_replaced_gives_no_code() {
    for held in [None, Some("another user's")] {
        let mut harness = Harness::new(&[("prompt", "consent")]);
        harness.session = Some(Secret::new("session".into()));
        assert_eq!(
            harness.view_after(LoginRequest::OpenPage {
                reuse: Ok(Some(Box::new(user_of_reused_session("session"))))
            }),
            BrowserView::RedirectToConsent
        );
        harness.session = held.map(|held| Secret::new(held.into()));
        let yes = harness.yes();
        assert_eq!(
            browser_view(harness.send(yes)),
            choice_with_banner(Some("idp"), ErrorCode::Interrupted)
        );
        assert!(harness.code().is_none());
    }
}

#[test]
fn a_session_is_not_reused_behind_a_banner() {
    let mut harness = Harness::new(&[("prompt", "login")]);
    harness.reach_verifying();
    let failed = browser_view(
        harness.report_outcome(EffectOutcome::Authenticated(Err(ErrorCode::IdpDenied))),
    );
    assert_eq!(failed, choice_with_banner(Some("idp"), ErrorCode::IdpDenied));
    assert_eq!(
        harness.view_after(LoginRequest::OpenPage {
            reuse: Ok(Some(Box::new(user_of_reused_session("session"))))
        }),
        failed
    );
}

#[test]
fn a_login_in_a_log_line_reveals_no_personal_data() {
    let mut harness = Harness::new(&[]);
    let attempt = harness.begin_at("idp");
    let away = format!("{:?} {attempt:?}", harness.login);
    harness.reach_consenting();
    let crate::login::LoginState::Consenting(page) = &harness.login.state else { panic!() };
    let printed = format!("{away} {:?} {:?} {page:?}", harness.login, page.user.authentication);
    for secret in [
        attempt.request.state.as_str(),
        &attempt.request.nonce,
        attempt.request.verifier.reveal(),
        "pairwise-angela",
        "DUBOIS",
        "1962",
    ] {
        assert!(!printed.contains(secret), "{secret} in {printed}");
    }
}

/// A stolen store shows no hint about a user whose login has ended, and the code can't be linked to
/// the nonce of its request.
#[test]
fn an_answered_login_keeps_no_hint_and_no_nonce() {
    let hints =
        [("login_hint", "angela@example.org"), ("nonce", "n-of-the-service-provider-0123456789")];
    let texts = hints.map(|(_, value)| value);
    let stored = |harness: &Harness| serde_json::to_string(&harness.stored).unwrap();

    let mut granted = Harness::new(&hints);
    granted.hub_count = HubCount::Single;
    assert!(texts.iter().all(|text| stored(&granted).contains(text)));
    granted.reach_granted();
    let mut refused = Harness::new(&hints);
    refused.reach_consenting();
    let no = refused.no();
    refused.send(no);
    for harness in [&granted, &refused] {
        assert!(harness.stored.is_completed());
        assert!(texts.iter().all(|text| !stored(harness).contains(text)), "{}", stored(harness));
    }
}
