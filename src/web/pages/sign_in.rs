//! The password form, for connectors whose directory has no page of its own. No other page of the
//! hub asks for a password.

use super::{HiddenField, Locale};
use crate::protocol::catalogue::ErrorCode;

/// The password form: `username`, `password` and the hidden fields.
#[derive(Clone, Debug)]
pub struct SignInPage {
    /// Name of the connector, whose password the user enters.
    pub provider: String,
    /// Path of the connector's logo on this host.
    pub logo: Option<String>,
    /// The page for users who forgot their password, from the configuration.
    pub forgotten_password_url: Option<String>,
    /// Name of the service provider.
    pub service: String,
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
    /// The username or the password is wrong; the page does not say which.
    WrongCredentials,
    /// Too many attempts; the next one is allowed after `minutes`.
    Wait { minutes: u64 },
    /// The directory is unavailable.
    Failed { code: ErrorCode, support_id: String },
}

impl SignInError {
    fn text(&self, t: &Locale) -> String {
        match self {
            Self::MissingField => t.text("sign-in-empty"),
            Self::WrongCredentials => t.text("sign-in-wrong"),
            Self::Wait { minutes: 0 | 1 } => t.text("sign-in-wait-one"),
            Self::Wait { minutes } => {
                t.text_with_values("sign-in-wait", [("minutes", (*minutes).into())])
            }
            Self::Failed { code, .. } => t.text(code.entry().page_text),
        }
    }
}

page_template!(SignInPage, "sign_in.html", |page, t| {
    t.text_with("sign-in-title", "provider", &page.provider)
});

impl SignInPage {
    /// Returns whether the entered values are wrong.
    fn is_invalid(&self) -> bool {
        matches!(self.error, Some(SignInError::MissingField | SignInError::WrongCredentials))
    }
}
