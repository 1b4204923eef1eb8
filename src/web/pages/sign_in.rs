//! The page where a password is typed: the only one of the hub that asks for any, and only for a connector whose directory
//! has no page of its own.

use askama::Template;

use super::{Chrome, Field, Locale, draw};
use crate::protocol::catalogue::ErrorCode;

/// One form: `username` and `password`, and the hidden fields.
#[derive(Clone, Debug)]
pub struct SignInPage {
    /// Whose password it is: the connector's name.
    pub provider: String,
    /// The service provider's name, from its file.
    pub service: String,
    /// Where the form is posted.
    pub action: String,
    pub hidden: Vec<Field>,
    /// As it was typed; a password never comes back.
    pub username: String,
    pub trouble: Option<SignInTrouble>,
    /// Where another account is chosen.
    pub back: String,
}

/// Why the page is shown again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignInTrouble {
    /// One of the two was left empty.
    Empty,
    /// Which of the two is wrong is not told.
    Wrong,
    /// Not before so many minutes have passed.
    Wait { minutes: u64 },
    /// The directory could not be asked.
    Failed { code: ErrorCode, support_id: String },
}

impl SignInTrouble {
    fn words(&self, t: &Locale) -> String {
        match self {
            Self::Empty => t.text("sign-in-empty"),
            Self::Wrong => t.text("sign-in-wrong"),
            Self::Wait { minutes: 0 | 1 } => t.text("sign-in-wait-one"),
            Self::Wait { minutes } => t.with("sign-in-wait", "minutes", &minutes.to_string()),
            Self::Failed { code, .. } => t.text(code.entry().text),
        }
    }

    /// Whether the fields are what is wrong.
    const fn is_of_the_fields(&self) -> bool {
        matches!(self, Self::Empty | Self::Wrong)
    }
}

impl SignInPage {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        let title = t.with("sign-in-title", "provider", &self.provider);
        let is_invalid = self.trouble.as_ref().is_some_and(SignInTrouble::is_of_the_fields);
        draw(&SignInTemplate { chrome, t, title, page: self, is_invalid })
    }
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
    page: &'a SignInPage,
    is_invalid: bool,
}
