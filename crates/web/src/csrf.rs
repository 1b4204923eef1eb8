//! Protects forms against cross-site request forgery (docs/design/cookies-and-csrf.md).
//!
//! Each form carries an HMAC under the secret of its login or session, which is the cookie's value
//! and unknown to other sites and other logins. No state is stored for it.

use actix_web::HttpRequest;

use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;

/// Purpose of a form. A token is valid for one purpose only, so no two have the same label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormPurpose(pub &'static str);

impl FormPurpose {
    pub const CHOOSE_PROVIDER: Self = Self("choose");
    pub const CANCEL_LOGIN: Self = Self("cancel");
    /// Finds the identity provider by an e-mail address.
    pub const FIND_BY_EMAIL: Self = Self("email");
    /// Removes the remembered identity provider.
    pub const FORGET_LAST_CHOICE: Self = Self("forget");
    /// Sends a code that came by mail, or asks for another one.
    pub const MAIL_CODE: Self = Self("mail code");
    /// Also binds the displayed claims.
    pub const CONSENT: Self = Self("consent");
    /// Says that the displayed person is another one.
    pub const REPORT_WRONG_USER: Self = Self("wrong user");
    /// Sends a password to a connector; binds the attempt's `state`.
    pub const SIGN_IN: Self = Self("sign in");
    /// Keyed by the session's secret; binds the parameters of the logout request.
    pub const LOG_OUT: Self = Self("log out");
    /// Changes the hub from the admin console; keyed by the operator's session cookie.
    pub const ADMIN_ACTION: Self = Self("admin action");
}

/// Returns the token of a form. `bound` is the content that the token is bound to, or empty.
pub fn form_token(cookie: &Secret<String>, purpose: FormPurpose, bound: &str) -> String {
    digest::base64url(&digest::hmac_parts(
        cookie.reveal().as_bytes(),
        &[purpose.0.as_bytes(), bound.as_bytes()],
    ))
}

/// Verifies the token that a form sent.
///
/// # Errors
/// `CsrfMissing` if there is none, `CsrfWrong` if it does not match.
fn verify_form_token(
    cookie: &Secret<String>,
    purpose: FormPurpose,
    bound: &str,
    sent: Option<&str>,
) -> Result<(), ErrorCode> {
    let sent = sent.filter(|sent| !sent.is_empty()).ok_or(ErrorCode::CsrfMissing)?;
    let expected = form_token(cookie, purpose, bound);
    if digest::constant_time_eq(expected.as_bytes(), sent.as_bytes()) {
        Ok(())
    } else {
        Err(ErrorCode::CsrfWrong)
    }
}

/// Verifies that a form was sent from a page of the hub, with its token.
///
/// # Errors
/// As [`check_same_origin`] and `verify_form_token`.
pub fn verify_form(
    request: &HttpRequest,
    cookie: &Secret<String>,
    purpose: FormPurpose,
    bound: &str,
    sent: Option<&str>,
) -> Result<(), ErrorCode> {
    check_same_origin(request)?;
    verify_form_token(cookie, purpose, bound, sent)
}

/// Verifies that a form was sent from a page of the hub (Fetch Metadata).
///
/// `Origin` is not checked: under `no-referrer` it is `null`.
///
/// # Errors
/// `CsrfCrossSite` if the request comes from another site.
pub fn check_same_origin(request: &HttpRequest) -> Result<(), ErrorCode> {
    match request.headers().get("sec-fetch-site") {
        Some(site) if site.as_bytes() != b"same-origin" => Err(ErrorCode::CsrfCrossSite),
        Some(_) | None => Ok(()),
    }
}

/// Returns true if a page of the hub led the browser here, also by a redirect of the hub. False for
/// a link on another site or in a message, and for a browser that doesn't say it.
pub fn states_same_origin(request: &HttpRequest) -> bool {
    request.headers().get("sec-fetch-site").is_some_and(|site| site.as_bytes() == b"same-origin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_another_login_purpose_or_page_is_refused() {
        let (mine, other) = (Secret::new("mine".to_owned()), Secret::new("other".to_owned()));
        let good = form_token(&mine, FormPurpose::CONSENT, "shown");
        assert_eq!(verify_form_token(&mine, FormPurpose::CONSENT, "shown", Some(&good)), Ok(()));
        assert_eq!(
            verify_form_token(&other, FormPurpose::CONSENT, "shown", Some(&good)),
            Err(ErrorCode::CsrfWrong)
        );
        for other in [
            FormPurpose::CHOOSE_PROVIDER,
            FormPurpose::CANCEL_LOGIN,
            FormPurpose::FORGET_LAST_CHOICE,
            FormPurpose::SIGN_IN,
            FormPurpose::LOG_OUT,
        ] {
            assert_eq!(
                verify_form_token(&mine, other, "shown", Some(&good)),
                Err(ErrorCode::CsrfWrong)
            );
        }
        assert_eq!(
            verify_form_token(&mine, FormPurpose::CONSENT, "else", Some(&good)),
            Err(ErrorCode::CsrfWrong)
        );
        assert_eq!(
            verify_form_token(&mine, FormPurpose::CONSENT, "shown", None),
            Err(ErrorCode::CsrfMissing)
        );
        assert_eq!(
            verify_form_token(&mine, FormPurpose::CONSENT, "shown", Some("")),
            Err(ErrorCode::CsrfMissing)
        );
    }
}
