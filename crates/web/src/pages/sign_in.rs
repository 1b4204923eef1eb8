//! The password form, for connectors whose directory has no page of its own. No other page of the
//! hub asks for a password.

use std::time::Duration;

use super::locale::PageMessages as _;
use super::{HiddenField, Locale, title_with_error};
use passerelle_hub::PasswordNotice;
use passerelle_localization::OperatorText;
use passerelle_protocol::catalogue::ErrorCode;

/// The password form: `username`, `password` and the hidden fields.
#[derive(Clone, Debug)]
pub struct SignInPage {
    /// Name of the connector, whose password the user enters.
    pub provider: OperatorText,
    /// Path of the connector's logo on this host.
    pub logo: Option<String>,
    /// The page for users who forgot their password or must change it, from the configuration.
    pub forgotten_password_url: Option<String>,
    /// Name of the service provider.
    pub service: OperatorText,
    /// URL that the form posts to.
    pub action: String,
    pub hidden: Vec<HiddenField>,
    /// The entered username. The password is never returned.
    pub username: String,
    pub error: Option<SignInError>,
    /// URL of the choice of another account.
    pub back_url: String,
}

/// Error that the form shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignInError {
    /// The username or the password is empty.
    MissingField,
    /// The username or the password is wrong, or the account is locked; the page does not say
    /// which.
    WrongCredentials { is_last_attempt_next: bool },
    /// Too many attempts; the next one is allowed after `minutes`.
    Wait { minutes: u64 },
    /// The directory is unavailable, or refuses the account.
    Failed { code: ErrorCode, support_id: String },
}

impl SignInError {
    fn text(&self, t: &Locale) -> String {
        match self {
            Self::MissingField => t.text("sign-in-empty"),
            Self::WrongCredentials { .. } => t.text("sign-in-wrong"),
            Self::Wait { minutes } => {
                t.text_with_values("sign-in-wait", [("minutes", (*minutes).into())])
            }
            Self::Failed { code, .. } => t.text(code.entry().page_text),
        }
    }
}

page_template!(SignInPage, "sign_in.html", |page, t| {
    let title = t.text_with("sign-in-title", "provider", &page.provider);
    title_with_error(page.error.as_ref().map(|error| error.text(t)), title)
});

impl SignInPage {
    /// Returns whether the entered values are wrong.
    fn is_invalid(&self) -> bool {
        matches!(self.error, Some(SignInError::MissingField | SignInError::WrongCredentials { .. }))
    }

    /// Returns whether the user has to wait after one more wrong password.
    fn is_last_attempt_next(&self) -> bool {
        matches!(self.error, Some(SignInError::WrongCredentials { is_last_attempt_next: true }))
    }

    /// Returns the page on which the user changes the password, if that is the way on.
    fn change_url(&self) -> Option<&str> {
        match &self.error {
            Some(SignInError::Failed { code: ErrorCode::PasswordChangeRequired, .. }) => {
                self.forgotten_password_url.as_deref()
            }
            _ => None,
        }
    }
}

/// The page about a password that the directory accepts, and that the user should change.
#[derive(Clone, Debug)]
pub struct PasswordNoticePage {
    pub notice: PasswordNotice,
    /// Name of the connector.
    pub provider: OperatorText,
    /// The page on which users change their password, from the configuration.
    pub change_url: Option<String>,
    /// URL of the hub that continues the login.
    pub continue_url: String,
}

page_template!(PasswordNoticePage, "password_notice.html", |_, t| t.text("password-title"));

impl PasswordNoticePage {
    fn text(&self, t: &Locale) -> String {
        match self.notice {
            PasswordNotice::MustChange => t.text("password-must-change"),
            PasswordNotice::SignInsLeft(count) => {
                t.text_with_values("password-sign-ins-left", [("count", u64::from(count).into())])
            }
            PasswordNotice::ExpiresIn(time) => {
                t.text_with_values("password-expires", [("days", whole_days(time).into())])
            }
        }
    }
}

/// Rounds up to whole days, at least one.
fn whole_days(time: Duration) -> u64 {
    time.as_secs().div_ceil(24 * 3600).max(1)
}
