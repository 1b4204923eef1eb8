//! The code by mail: when it counts, and when it does not.

use std::time::Duration;

use super::harness::{BrowserView, Harness, browser_view, effect};
use crate::login::{
    Effect, EffectOutcome, LoginRequest, LoginState, MAIL_CODE_LIFETIME, MAIL_RESEND_INTERVAL,
    MAX_WRONG_MAIL_CODES, MailAction, MailLanguage, MailPage, MailSubmission, NextAction, Save,
};
use crate::testing::samples::user_with_mail_rule;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;

fn open() -> LoginRequest {
    LoginRequest::OpenMailPage(MailLanguage::default())
}

fn submission(code: &str) -> LoginRequest {
    LoginRequest::Mail(MailSubmission::Code(Secret::new(code.to_owned())))
}

fn action(harness: &mut Harness, request: LoginRequest) -> MailAction {
    let Effect::Mail(mail) = effect(harness.send(request)) else { panic!() };
    assert_eq!(harness.saved, Save::Yes, "an effect of a state that another hub does not know");
    mail.action
}

fn done(harness: &mut Harness) -> BrowserView {
    browser_view(harness.report_outcome(EffectOutcome::Mail(Ok(()))))
}

/// Opens the page. Returns the code that it sends.
fn sent_code(harness: &mut Harness) -> String {
    let MailAction::Send { code, address, expires_at, .. } = action(harness, open()) else {
        panic!()
    };
    assert_eq!(address.reveal(), "angela@example.org");
    assert!(expires_at <= harness.login.context.expires_at);
    done(harness);
    code.into_inner()
}

fn at_page() -> Harness {
    let mut harness = Harness::new(&[]);
    harness.reach_identifying();
    let view = browser_view(harness.report_identification(user_with_mail_rule()));
    assert_eq!(view, BrowserView::RedirectToMail);
    harness
}

fn page(harness: &mut Harness) -> MailPage {
    let BrowserView::MailPage(page) = harness.view_after(open()) else { panic!() };
    page
}

fn wrong(code: &str) -> String {
    format!("{:06}", (code.parse::<u32>().unwrap() + 1) % 1_000_000)
}

#[test]
fn the_right_code_counts_once_and_adds_mail_without_mfa() {
    let mut harness = at_page();
    let code = sent_code(&mut harness);
    let stored = action(&mut harness, submission(&code));
    assert!(
        matches!(stored, MailAction::ConfirmAddress(address) if address.reveal() == "angela@example.org")
    );
    assert_eq!(done(&mut harness), BrowserView::RedirectToConsent);
    let LoginState::Consenting(page) = &harness.login.state else { panic!() };
    assert_eq!(page.user.evidence.amr_claim("hub"), ["pwd", "mail", "hub"]);
    assert_eq!(harness.view_after(submission(&code)), BrowserView::RedirectToConsent);
}

#[test]
fn a_process_that_dies_after_the_right_code_lets_the_login_go_on() {
    let mut harness = at_page();
    let code = sent_code(&mut harness);
    action(&mut harness, submission(&code));
    harness.crash();
    // The hub that died may not have known that the person has entered too many wrong codes.
    assert!(matches!(action(&mut harness, open()), MailAction::ConfirmAddress(_)));
    assert_eq!(done(&mut harness), BrowserView::RedirectToConsent);
}

#[test]
fn attack_right_code_after_too_many_wrong_ones_of_the_person() {
    let mut harness = at_page();
    let code = sent_code(&mut harness);
    action(&mut harness, submission(&code));
    let limited = Err(ErrorCode::MailLimited);
    let view = browser_view(harness.report_outcome(EffectOutcome::Mail(limited)));
    let next = NextAction::ChooseOtherAccount("idp".into());
    assert_eq!(view, BrowserView::ErrorPage(ErrorCode::MailLimited, next));
}

#[test]
fn attack_expired_code() {
    let mut harness = at_page();
    harness.login.context.expires_at = harness.now + 2 * MAIL_CODE_LIFETIME;
    let code = sent_code(&mut harness);
    harness.now = harness.now + MAIL_CODE_LIFETIME;
    assert_eq!(harness.view_after(submission(&code)), BrowserView::RedirectToMail);
    let shown = page(&mut harness);
    assert!(shown.is_expired && shown.resend_after == 0, "{shown:?}");
    harness.now = harness.now - Duration::from_millis(1);
    assert!(matches!(action(&mut harness, submission(&code)), MailAction::ConfirmAddress(_)));
}

#[test]
fn attack_code_of_another_login() {
    let (mut first, mut second) = (at_page(), at_page());
    second.login.context.hash = passerelle_protocol::ids::InteractionHash::new("another");
    let code = sent_code(&mut first);
    let own = sent_code(&mut second);
    assert_eq!(code, own, "the same entropy, so that only the login differs");
    assert!(matches!(action(&mut second, submission(&own)), MailAction::ConfirmAddress(_)));
    let mut stolen = at_page();
    sent_code(&mut stolen);
    stolen.login.context.hash = passerelle_protocol::ids::InteractionHash::new("another");
    assert!(matches!(action(&mut stolen, submission(&code)), MailAction::RecordWrongCode));
}

#[test]
fn attack_code_guessing_in_one_login() {
    let mut harness = at_page();
    let code = sent_code(&mut harness);
    for slip in ["", "12345", "1234567"] {
        assert_eq!(harness.view_after(submission(slip)), BrowserView::RedirectToMail);
        let shown = page(&mut harness);
        assert!(shown.is_wrong && shown.tries_left == MAX_WRONG_MAIL_CODES, "{slip}: {shown:?}");
    }
    for tries_left in (1..MAX_WRONG_MAIL_CODES).rev() {
        assert!(matches!(
            action(&mut harness, submission(&wrong(&code))),
            MailAction::RecordWrongCode
        ));
        assert_eq!(done(&mut harness), BrowserView::RedirectToMail);
        let shown = page(&mut harness);
        assert!(shown.is_wrong && shown.tries_left == tries_left, "{shown:?}");
    }
    // A new code gives no new tries.
    harness.now = harness.now + MAIL_RESEND_INTERVAL;
    harness.view_after(LoginRequest::Mail(MailSubmission::Resend));
    let code = sent_code(&mut harness);
    action(&mut harness, submission(&wrong(&code)));
    let ended = BrowserView::ErrorPage(
        ErrorCode::MailCodeWrong,
        NextAction::ChooseOtherAccount("idp".into()),
    );
    assert_eq!(done(&mut harness), ended);
    assert_eq!(harness.view_after(submission(&code)), ended);
}

#[test]
fn another_code_is_sent_after_a_minute_and_replaces_the_first() {
    let mut harness = at_page();
    let code = sent_code(&mut harness);
    let resend = || LoginRequest::Mail(MailSubmission::Resend);
    harness.now = harness.now + MAIL_RESEND_INTERVAL - Duration::from_millis(1);
    assert_eq!(harness.view_after(resend()), BrowserView::RedirectToMail);
    assert_eq!(page(&mut harness).resend_after, 1);
    harness.now = harness.now + Duration::from_millis(1);
    assert_eq!(harness.view_after(resend()), BrowserView::RedirectToMail);
    let second = sent_code(&mut harness);
    assert!(matches!(action(&mut harness, submission(&code)), MailAction::RecordWrongCode));
    done(&mut harness);
    assert!(matches!(action(&mut harness, submission(&second)), MailAction::ConfirmAddress(_)));
}

#[test]
fn a_code_that_can_not_be_sent_or_read_leaves_a_way_on() {
    for code in [ErrorCode::MailLimited, ErrorCode::MailUnavailable] {
        let mut harness = at_page();
        action(&mut harness, open());
        let view = browser_view(harness.report_outcome(EffectOutcome::Mail(Err(code))));
        assert_eq!(
            view,
            BrowserView::ErrorPage(code, NextAction::ChooseOtherAccount("idp".into()))
        );
    }
    let mut harness = at_page();
    sent_code(&mut harness);
    assert_eq!(
        harness.view_after(LoginRequest::Mail(MailSubmission::Unreadable)),
        BrowserView::ErrorPage(
            ErrorCode::MailUnreadable,
            NextAction::ChooseOtherAccount("idp".into())
        )
    );
}
