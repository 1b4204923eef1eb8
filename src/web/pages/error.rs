//! The page that gets a person out: what happened, who can mend it, how to go on (decisions 5 and 13).

use askama::Template;

use super::{Chrome, ClaimName, Field, Locale, draw};
use crate::env::Timestamp;
use crate::protocol::catalogue::{Entry, ErrorCode, Mender};

/// Any row of the catalogue. The HTTP status is the caller's: `code.entry().status`.
#[derive(Clone, Debug)]
pub struct ErrorPage {
    pub code: ErrorCode,
    /// The precise finding behind a 400 of the protocol's surface.
    pub detail: Option<Detail>,
    /// The service provider's name, where it is proven.
    pub service: Option<String>,
    /// The identity provider's name, where one is concerned.
    pub provider: Option<String>,
    /// The operator's word for the person, in the page's language.
    pub message: Option<String>,
    /// The claim that an identity lacks or that is malformed; never its value.
    pub claim: Option<ClaimName>,
    /// Best first; it becomes the main button.
    pub ways: Vec<Way>,
    pub support_id: String,
    pub at: Timestamp,
}

/// For the developer of a service provider, in English.
#[derive(Clone, Debug)]
pub struct Detail {
    /// `Y` and six digits.
    pub code: String,
    /// Names the parameter and the rule.
    pub line: String,
}

/// A next step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Way {
    /// The same step again.
    TryAgain { href: String },
    /// On to where the login stands.
    Continue { href: String },
    /// Back to the choice of an identity provider.
    OtherProvider { href: String },
    /// Back to the service provider with an answer, by its proven redirect.
    BackToService(Leave),
    /// The service provider's registered home page.
    ServiceHome { href: String },
    /// To the question whether to sign out here.
    SignOut { href: String },
}

/// How the browser leaves for the service provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Leave {
    Link { href: String },
    Post { action: String, fields: Vec<Field> },
}

impl ErrorPage {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        let entry = self.shown().entry();
        draw(&ErrorTemplate {
            chrome,
            t,
            title: t.text(entry.text),
            mender: t.text(match entry.mender {
                Mender::IdentityProvider
                    if entry.text == "error-idp-answer" && self.ways.is_empty() =>
                {
                    "mender-answer-alone"
                }
                Mender::IdentityProvider if entry.text == "error-idp-answer" => "mender-answer",
                Mender::User if self.ways.is_empty() => "error-no-way",
                Mender::User if matches!(self.ways.first(), Some(Way::OtherProvider { .. })) => {
                    "mender-other"
                }
                Mender::User => "mender-user",
                Mender::ServiceProvider => "mender-service",
                Mender::IdentityProvider => "mender-provider",
                Mender::Operator => "mender-operator",
            }),
            developer: self
                .detail
                .as_ref()
                .map(|detail| detail.line.as_str())
                .or(developer_line(entry)),
            time: t.moment(self.at),
            entry,
            page: self,
        })
    }

    /// To the user, deceased and refused look like any other no of the register (decisions 7); the log is precise.
    fn shown(&self) -> ErrorCode {
        match self.code {
            ErrorCode::RegisterDeceased | ErrorCode::RegisterRefused => ErrorCode::RegisterAnswer,
            code => code,
        }
    }
}

/// Only what a service provider's developer can mend is told in their words.
fn developer_line(entry: &Entry) -> Option<&'static str> {
    matches!(entry.mender, Mender::ServiceProvider).then_some(entry.description)
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
    mender: String,
    developer: Option<&'a str>,
    time: String,
    entry: &'static Entry,
    page: &'a ErrorPage,
}

impl Way {
    pub(super) fn label(&self, t: &Locale, service: Option<&str>) -> String {
        match (self, service) {
            (Self::TryAgain { .. }, _) => t.text("way-again"),
            (Self::Continue { .. }, _) => t.text("way-continue"),
            (Self::OtherProvider { .. }, _) => t.text("way-other"),
            (Self::BackToService(_), Some(service)) => t.with("way-service", "service", service),
            (Self::BackToService(_), None) => t.text("way-service-unnamed"),
            (Self::ServiceHome { .. }, Some(service)) => t.with("way-home", "service", service),
            (Self::ServiceHome { .. }, None) => t.text("way-home-unnamed"),
            (Self::SignOut { .. }, _) => t.text("way-sign-out"),
        }
    }

    /// The form's address and fields, where this way is a form.
    pub(super) fn form(&self) -> Option<(&str, &[Field])> {
        match self {
            Self::BackToService(Leave::Post { action, fields }) => Some((action, fields)),
            _ => None,
        }
    }

    pub(super) fn href(&self) -> &str {
        match self {
            Self::TryAgain { href }
            | Self::Continue { href }
            | Self::OtherProvider { href }
            | Self::ServiceHome { href }
            | Self::SignOut { href }
            | Self::BackToService(Leave::Link { href }) => href,
            Self::BackToService(Leave::Post { action, .. }) => action,
        }
    }
}
