//! The page on which a user enters a one-time code that the hub sent by mail (docs/mail.md).

use actix_web::http::header::ACCEPT_LANGUAGE;
use actix_web::{HttpResponse, web};

use super::csrf::FormPurpose;
use super::login::{ResponseOrigin, answer_step};
use super::login_request_check::{verify_login_cookie, verify_login_form};
use super::page_models::LoginPageContext;
use super::pages::MailCodePage;
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::{interaction_path, page_response};
use passerelle_federation::login::{LoginRequest, MailLanguage, MailPage, MailSubmission};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;

/// Handles `GET /api/v2/interaction/{hash}/mail`: shows the page, and sends the code if none is in
/// force.
pub(crate) async fn show_mail_page(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let login = verify_login_cookie(&context, &path).await?;
    let language = MailLanguage {
        chosen: context.hub.cookies.language(&context.request).map(ToOwned::to_owned),
        accepted: context.header(&ACCEPT_LANGUAGE).map(ToOwned::to_owned),
    };
    let open = LoginRequest::OpenMailPage(language);
    answer_step(&context, &login, open, ResponseOrigin::Page).await
}

/// Handles `POST /api/v2/interaction/{hash}/mail`.
pub(crate) async fn submit_mail_page(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let (login, params) = verify_login_form(&context, &path, body, FormPurpose::MAIL_CODE).await?;
    let submission = match (params.single("answer"), params.single("code")) {
        (Ok(Some("code")), Ok(Some(code))) => MailSubmission::Code(Secret::new(digits(code))),
        (Ok(Some("resend")), _) => MailSubmission::Resend,
        (Ok(Some("unreadable")), _) => MailSubmission::Unreadable,
        _ => return Err(Rejection::malformed(ErrorCode::BadRequest)),
    };
    answer_step(&context, &login, LoginRequest::Mail(submission), ResponseOrigin::Form).await
}

/// Builds the page.
pub(super) fn mail_page_response(login: &LoginPageContext<'_>, mail: MailPage) -> HttpResponse {
    let page = MailCodePage {
        action: format!("{}/mail", interaction_path(login.hash())),
        csrf: login.form_token(FormPurpose::MAIL_CODE, ""),
        service: login.service_name(),
        mail,
    };
    page_response(login.hub, 200, &login.locale, |chrome| page.render(chrome))
}

/// Returns the digits of what a user entered, also of those that Arabic and Persian keyboards have.
fn digits(entered: &str) -> String {
    let to_ascii = |c: char| match c {
        '0'..='9' => Some(c),
        '\u{660}'..='\u{669}' => char::from_digit(u32::from(c) - 0x660, 10),
        '\u{6f0}'..='\u{6f9}' => char::from_digit(u32::from(c) - 0x6f0, 10),
        _ => None,
    };
    entered.chars().filter_map(to_ascii).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_may_be_entered_with_spaces_or_in_other_digits() {
        for entered in ["123456", " 123 456\t", "123-456", "١٢٣٤٥٦", "۱۲۳۴۵۶"] {
            assert_eq!(digits(entered), "123456", "{entered}");
        }
        assert_eq!(digits("no code"), "");
    }
}
