//! Each form carries an HMAC under its login's own secret, or its session's: the cookie's value, which no other site and no
//! other login knows (decisions 4). No state is kept for it.

use actix_web::HttpRequest;

use crate::digest;
use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;

/// What a form is for: a token of one purpose is worth nothing for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    Choose,
    Cancel,
    /// Of the last choice.
    Forget,
    /// Binds what was shown as well.
    Consent,
    /// A password for a connector; binds the attempt's `state`.
    SignIn,
    /// Under the session's own secret; binds what the logout asked for.
    LogOut,
}

impl Purpose {
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Choose => b"choose",
            Self::Cancel => b"cancel",
            Self::Forget => b"forget",
            Self::Consent => b"consent",
            Self::SignIn => b"sign in",
            Self::LogOut => b"log out",
        }
    }
}

/// The token for a form; `shown` is what the page displayed, empty where nothing is bound to it.
#[must_use]
pub fn token(cookie: &Secret<String>, purpose: Purpose, shown: &str) -> String {
    digest::base64url(&digest::hmac_parts(
        cookie.reveal().as_bytes(),
        &[purpose.label(), shown.as_bytes()],
    ))
}

/// # Errors
/// `CsrfMissing`, `CsrfWrong`.
pub fn check(
    cookie: &Secret<String>,
    purpose: Purpose,
    shown: &str,
    sent: Option<&str>,
) -> Result<(), ErrorCode> {
    let sent = sent.filter(|sent| !sent.is_empty()).ok_or(ErrorCode::CsrfMissing)?;
    let expected = token(cookie, purpose, shown);
    if digest::equal(expected.as_bytes(), sent.as_bytes()) {
        Ok(())
    } else {
        Err(ErrorCode::CsrfWrong)
    }
}

/// A form of ours is sent from a page of ours. `Origin` says nothing here: under `no-referrer` it is `null`.
///
/// # Errors
/// `CsrfCrossSite`.
pub fn same_origin(request: &HttpRequest) -> Result<(), ErrorCode> {
    match request.headers().get("sec-fetch-site") {
        Some(site) if site.as_bytes() != b"same-origin" => Err(ErrorCode::CsrfCrossSite),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_another_login_purpose_or_page_is_refused() {
        let (mine, other) = (Secret::new("mine".to_owned()), Secret::new("other".to_owned()));
        let good = token(&mine, Purpose::Consent, "shown");
        assert_eq!(check(&mine, Purpose::Consent, "shown", Some(&good)), Ok(()));
        assert_eq!(
            check(&other, Purpose::Consent, "shown", Some(&good)),
            Err(ErrorCode::CsrfWrong)
        );
        for other in
            [Purpose::Choose, Purpose::Cancel, Purpose::Forget, Purpose::SignIn, Purpose::LogOut]
        {
            assert_eq!(check(&mine, other, "shown", Some(&good)), Err(ErrorCode::CsrfWrong));
        }
        assert_eq!(check(&mine, Purpose::Consent, "else", Some(&good)), Err(ErrorCode::CsrfWrong));
        assert_eq!(check(&mine, Purpose::Consent, "shown", None), Err(ErrorCode::CsrfMissing));
        assert_eq!(check(&mine, Purpose::Consent, "shown", Some("")), Err(ErrorCode::CsrfMissing));
    }
}
