//! Tests every request in every state as one table, and every unexpected outcome.

use crate::assurance::Level;
use crate::login::tests::harness::{
    BrowserView, Harness, browser_view, callback, callback_with, seen,
};
use crate::login::{
    ConsentAnswer, ConsentSubmission, Effect, EffectOutcome, LoginRequest, LoginState,
    MailLanguage, MailSubmission, NextAction, Save, StepOutput,
};
use crate::testing::samples::{
    authentication, authorization_redirect, identified_user, user_with_mail_rule,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;

const REQUESTS: [&str; 13] = [
    "look",
    "choose",
    "cancel",
    "return",
    "forged return",
    "review",
    "yes",
    "yes to another page",
    "displace",
    "late look",
    "not me",
    "mail page",
    "mail code",
];

/// Answers of each state to each of [`REQUESTS`]: `error X` goes to the service provider, `X, …` is
/// an error page with its next action, `banner X` the choice page with a banner, and the rest an
/// effect or a plain page.
const MATRIX: [(&str, [&str; 13]); 12] = {
    const OUT: &str = "StepOutOfOrder, choose";
    const UNKNOWN: &str = "StateUnknown, choose";
    const CANCEL: &str = "error UserCancelled";
    const MANY: &str = "TooManyLogins, back";
    const LATE: &str = "LoginExpired, back";
    const DONE: &str = "AlreadyDone, home";
    const CODE: &str = "look for code";
    const AGAIN: &str = "banner Interrupted";
    const BROKEN: &str = "error Interrupted";
    const FAILED: &str = "RegisterNotFound, other";
    [
        (
            "choosing",
            [
                "choice", "begin", CANCEL, UNKNOWN, UNKNOWN, OUT, OUT, OUT, MANY, LATE, "choice",
                OUT, OUT,
            ],
        ),
        (
            "back at the choice",
            [
                "banner IdpTimeout",
                "begin",
                "error IdpTimeout",
                "banner IdpTimeout",
                UNKNOWN,
                OUT,
                OUT,
                OUT,
                MANY,
                LATE,
                "banner IdpTimeout",
                OUT,
                OUT,
            ],
        ),
        (
            "leaving",
            [AGAIN, "begin", BROKEN, UNKNOWN, UNKNOWN, OUT, OUT, OUT, MANY, LATE, AGAIN, OUT, OUT],
        ),
        (
            "away",
            [
                "choice", "begin", CANCEL, "complete", UNKNOWN, OUT, OUT, OUT, MANY, LATE,
                "choice", OUT, OUT,
            ],
        ),
        (
            "verifying",
            [AGAIN, "begin", BROKEN, AGAIN, UNKNOWN, OUT, OUT, OUT, MANY, LATE, AGAIN, OUT, OUT],
        ),
        (
            "identifying",
            [AGAIN, "begin", BROKEN, AGAIN, UNKNOWN, OUT, OUT, OUT, MANY, LATE, AGAIN, OUT, OUT],
        ),
        (
            "confirming mail",
            [
                "to mail", OUT, CANCEL, "to mail", UNKNOWN, OUT, OUT, OUT, MANY, LATE, OUT, "mail",
                "to mail",
            ],
        ),
        (
            "consenting",
            [
                "to consent",
                OUT,
                CANCEL,
                "to consent",
                UNKNOWN,
                "page",
                "grant",
                "CsrfWrong, choose",
                MANY,
                LATE,
                "wrong user",
                "to consent",
                "to consent",
            ],
        ),
        ("granted", [CODE, DONE, CODE, CODE, DONE, DONE, CODE, CODE, DONE, CODE, DONE, CODE, CODE]),
        (
            "refused",
            [
                DONE,
                DONE,
                "error IdpDenied",
                "error IdpDenied",
                DONE,
                DONE,
                "error IdpDenied",
                "error IdpDenied",
                DONE,
                DONE,
                DONE,
                "error IdpDenied",
                "error IdpDenied",
            ],
        ),
        (
            "failed",
            [
                FAILED,
                FAILED,
                "error RegisterNotFound",
                FAILED,
                FAILED,
                FAILED,
                FAILED,
                FAILED,
                FAILED,
                FAILED,
                "banner RegisterNotFound",
                FAILED,
                FAILED,
            ],
        ),
        (
            "expired",
            [
                LATE,
                LATE,
                "error LoginExpired",
                LATE,
                LATE,
                LATE,
                LATE,
                LATE,
                LATE,
                LATE,
                LATE,
                LATE,
                LATE,
            ],
        ),
    ]
};

/// Returns a login in this state, and the request that repeats (or is) its callback.
pub(super) fn in_state(name: &str) -> (Harness, LoginRequest) {
    let mut harness = Harness::new(if name == "refused" { &[("idp_hint", "idp")] } else { &[] });
    let mut repeat = callback(&Harness::new(&[]).begin_at("idp"));
    match name {
        "choosing" => {}
        "back at the choice" => {
            repeat = callback(&harness.reach_verifying());
            browser_view(
                harness.report_outcome(EffectOutcome::Authenticated(Err(ErrorCode::IdpTimeout))),
            );
        }
        "leaving" => {
            assert!(matches!(
                harness.effect_after(LoginRequest::Choose("idp".into())),
                Effect::BeginLogin(..)
            ))
        }
        "away" => repeat = callback(&harness.begin_at("idp")),
        "verifying" => repeat = callback(&harness.reach_verifying()),
        "identifying" => repeat = callback(&harness.reach_identifying()),
        "confirming mail" => {
            repeat = callback(&harness.reach_identifying());
            let user = user_with_mail_rule();
            assert_eq!(
                browser_view(harness.report_identification(user)),
                BrowserView::RedirectToMail
            );
        }
        "consenting" => repeat = callback(&harness.reach_consenting()),
        "granted" => {
            repeat = callback(&harness.reach_consenting());
            let yes = harness.yes();
            assert!(matches!(harness.effect_after(yes), Effect::IssueCode(_)));
        }
        "refused" => {
            repeat = callback(&harness.reach_verifying());
            browser_view(
                harness.report_outcome(EffectOutcome::Authenticated(Err(ErrorCode::IdpDenied))),
            );
        }
        "failed" => {
            repeat = callback(&harness.reach_identifying());
            browser_view(harness.report_outcome(EffectOutcome::Identified(Err(
                ErrorCode::RegisterNotFound.into(),
            ))));
        }
        "expired" => {
            repeat = callback(&harness.begin_at("idp"));
            harness.at_end_plus(0);
            harness.open_page();
        }
        other => panic!("{other}"),
    }
    (harness, repeat)
}

fn request(name: &str, harness: &mut Harness, repeat: LoginRequest) -> LoginRequest {
    let yes = |shown: String| {
        LoginRequest::Consent(ConsentSubmission { answer: ConsentAnswer::Yes, page_digest: shown })
    };
    match name {
        "look" => LoginRequest::OpenPage { reuse: Ok(None) },
        "late look" => {
            harness.at_end_plus(0);
            LoginRequest::OpenPage { reuse: Ok(None) }
        }
        "choose" => LoginRequest::Choose("idp".into()),
        "cancel" => LoginRequest::Cancel,
        "return" => repeat,
        "forged return" => {
            callback_with(&Harness::new(&[]).begin_at("idp"), |back| back.state.push('x'))
        }
        "review" => LoginRequest::OpenConsentPage,
        "yes" => match &harness.login.state {
            LoginState::Consenting(page) => yes(page.page_digest()),
            _ => yes("whatever was shown".into()),
        },
        "yes to another page" => yes("another page".into()),
        "mail page" => LoginRequest::OpenMailPage(MailLanguage::default()),
        "mail code" => LoginRequest::Mail(MailSubmission::Code(Secret::new("000000".into()))),
        "displace" => LoginRequest::Displace,
        "not me" => LoginRequest::ReportWrongUser,
        other => panic!("{other}"),
    }
}

fn outcome(harness: &Harness, then: StepOutput) -> String {
    let StepOutput::Answer(answer) = then else {
        let StepOutput::Perform(effect) = then else { unreachable!() };
        return match *effect {
            Effect::BeginLogin(..) => "begin",
            Effect::CompleteLogin(..) => "complete",
            Effect::Identify(_) => "identify",
            Effect::Mail(_) => "mail",
            Effect::IssueCode(_) => "grant",
            Effect::CheckCode(_) => "look for code",
        }
        .into();
    };
    match seen(answer) {
        BrowserView::BlockedPage(banner) => format!("blocked page {}", banner.code.entry().code),
        BrowserView::ChoicePage(None) => "choice".into(),
        BrowserView::ChoicePage(Some(banner)) => format!("banner {:?}", banner.code),
        BrowserView::RedirectToIdp(_) => "leave".into(),
        BrowserView::RedirectToMail => "to mail".into(),
        BrowserView::MailPage(_) => "mail page".into(),
        BrowserView::RedirectToConsent => "to consent".into(),
        BrowserView::ConsentPage(_) => "page".into(),
        BrowserView::WrongUserReported => "wrong user".into(),
        BrowserView::ServiceProvider(answer, session) => {
            let code = harness.login.outcome().unwrap().unwrap_err();
            assert_eq!(
                (answer, session),
                (harness.login.context.request.redirect.error_response(code), None)
            );
            format!("error {code:?}")
        }
        BrowserView::ErrorPage(code, next_action) => {
            let next_action = match next_action {
                NextAction::ChooseIdp => "choose",
                NextAction::ReturnToServiceProvider => "back",
                NextAction::ChooseOtherAccount(_) => "other",
                NextAction::HomePage => "home",
            };
            format!("{code:?}, {next_action}")
        }
    }
}

#[test]
fn every_request_in_every_state() {
    for (state, row) in MATRIX {
        for (name, expected) in REQUESTS.into_iter().zip(row) {
            let (mut harness, repeat) = in_state(state);
            let request = request(name, &mut harness, repeat);
            let then = harness.send(request);
            assert_eq!(outcome(&harness, then), expected, "{name} in {state}");
        }
    }
}

#[test]
fn the_states_of_the_table_are_all_states() {
    let mut names: Vec<_> =
        MATRIX.iter().map(|(state, _)| in_state(state).0.login.state.name()).collect();
    names.dedup();
    let expected = [
        "choosing",
        "preparing_redirect",
        "awaiting_callback",
        "verifying",
        "identifying",
        "confirming_mail",
        "consenting",
        "completed",
        "failed",
    ];
    assert_eq!(names, expected);
}

#[test]
fn an_ended_login_is_stored_before_the_browser_gets_the_answer() {
    for (state, request) in [
        ("away", LoginRequest::Cancel),
        ("away", LoginRequest::Displace),
        ("failed", LoginRequest::Cancel),
    ] {
        let (mut harness, _) = in_state(state);
        browser_view(harness.send(request));
        assert_eq!(harness.saved, Save::Yes, "{state}");
    }
}

#[test]
fn an_unexpected_outcome_changes_nothing() {
    type Make = fn() -> EffectOutcome;
    let reports: [(&str, Make); 5] = [
        ("leaving", || EffectOutcome::RedirectPrepared(Ok(authorization_redirect()))),
        ("verifying", || {
            EffectOutcome::Authenticated(Ok(Box::new(authentication("idp", Level::Eidas1))))
        }),
        ("identifying", || {
            EffectOutcome::Identified(Ok(Box::new(identified_user("idp", Level::Eidas1))))
        }),
        ("confirming mail", || EffectOutcome::Mail(Ok(()))),
        ("identifying", || EffectOutcome::Identified(Err(ErrorCode::RegisterNotFound.into()))),
    ];
    for (state, _) in MATRIX {
        for (expected_in, report) in reports {
            let (mut harness, _) = in_state(state);
            if state == expected_in {
                continue;
            }
            let before = serde_json::to_value(&harness.login).unwrap();
            let then = harness.report_outcome(report());
            assert_eq!(
                outcome(&harness, then),
                "StepOutOfOrder, choose",
                "{expected_in}'s in {state}"
            );
            assert_eq!(
                serde_json::to_value(&harness.login).unwrap(),
                before,
                "{expected_in}'s in {state}"
            );
        }
        if !matches!(state, "granted" | "refused") {
            let (mut harness, _) = in_state(state);
            for report in [EffectOutcome::CodeIssued(Ok(())), EffectOutcome::CodeChecked(Ok(true))]
            {
                let then = harness.report_outcome(report);
                assert_eq!(outcome(&harness, then), "StepOutOfOrder, choose", "{state}");
            }
        }
    }
}

#[test]
fn expiry_is_the_first_millisecond_that_is_refused() {
    for (state, _) in MATRIX.into_iter().take(8) {
        let (mut harness, _) = in_state(state);
        harness.at_end_plus(-1);
        harness.open_page();
        assert_ne!(harness.login.state.name(), "failed", "{state}");
        harness.at_end_plus(0);
        assert_eq!(
            harness.open_page(),
            BrowserView::ErrorPage(ErrorCode::LoginExpired, NextAction::ReturnToServiceProvider),
            "{state}"
        );
        assert_eq!(harness.saved, Save::Yes);
    }
}

#[test]
fn no_state_prints_a_secret() {
    let (harness, _) = in_state("granted");
    let code = harness.code().unwrap().to_owned();
    assert!(!format!("{:?}", harness.login).contains(&code));
    let (harness, _) = in_state("away");
    let LoginState::AwaitingCallback(away) = &harness.login.state else { panic!() };
    let verifier: &Secret<String> = &away.attempt.request.verifier;
    assert!(!format!("{:?}", harness.login).contains(verifier.reveal()));
}
