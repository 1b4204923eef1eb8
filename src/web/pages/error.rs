//! The error page: what happened, who can fix it, what to do next (docs/design/errors.md).

use askama::Template;

use super::{HiddenField, Locale, PageChrome, render_template};
use crate::env::Timestamp;
use crate::identity::Claim;
use crate::protocol::catalogue::{CatalogueEntry, ErrorCode, ResponsibleParty};

/// The page for any code of the catalogue. The caller sends the HTTP status `code.entry().status`.
#[derive(Clone, Debug)]
pub struct ErrorPage {
    pub code: ErrorCode,
    /// The precise error behind a 400 for a malformed request.
    pub detail: Option<ErrorDetail>,
    /// Name of the service provider, if it is verified.
    pub service: Option<String>,
    /// Name of the identity provider, if one is concerned.
    pub provider: Option<String>,
    /// The operator's message for users, in the page's language.
    pub message: Option<String>,
    /// The claim that is missing or malformed; never its value.
    pub claim: Option<Claim>,
    /// The first one is the main button.
    pub actions: Vec<PageAction>,
    pub support_id: String,
    pub at: Timestamp,
}

/// Details for the developer of a service provider, in English.
#[derive(Clone, Debug)]
pub struct ErrorDetail {
    /// `Y` and six digits.
    pub code: String,
    /// Parameter and violated rule.
    pub description: String,
}

/// A next step that a page offers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PageAction {
    /// Repeats the step.
    TryAgain { href: String },
    /// Continues the login at its current page.
    Continue { href: String },
    /// Returns to the choice of an identity provider.
    OtherProvider { href: String },
    /// Returns to the service provider with an authorization response.
    BackToService(ServiceReturn),
    /// The service provider's registered home page.
    ServiceHome { href: String },
    /// Opens the page that asks whether to sign out.
    SignOut { href: String },
}

/// How the browser returns to the service provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServiceReturn {
    Link { href: String },
    Post { action: String, fields: Vec<HiddenField> },
}

impl ErrorPage {
    /// Renders the page as HTML.
    #[must_use]
    pub fn render(&self, chrome: &PageChrome<'_>) -> String {
        let t = chrome.locale;
        let entry = self.displayed_code().entry();
        render_template(&ErrorTemplate {
            chrome,
            t,
            title: t.text(entry.page_text),
            responsible: t.text(match entry.responsible {
                ResponsibleParty::IdentityProvider
                    if entry.page_text == "error-idp-answer" && self.actions.is_empty() =>
                {
                    "responsible-answer-alone"
                }
                ResponsibleParty::IdentityProvider if entry.page_text == "error-idp-answer" => {
                    "responsible-answer"
                }
                ResponsibleParty::User if self.actions.is_empty() => "error-no-way",
                ResponsibleParty::User
                    if matches!(self.actions.first(), Some(PageAction::OtherProvider { .. })) =>
                {
                    "responsible-user-other"
                }
                ResponsibleParty::User => "responsible-user",
                ResponsibleParty::ServiceProvider => "responsible-service",
                ResponsibleParty::IdentityProvider => "responsible-provider",
                ResponsibleParty::Operator => "responsible-operator",
            }),
            developer_description: self
                .detail
                .as_ref()
                .map(|detail| detail.description.as_str())
                .or(developer_description(entry)),
            time: t.date_time(self.at),
            entry,
            page: self,
        })
    }

    /// Returns the code that the user sees. Deceased and refused look like any other rejection by
    /// the register, so that the page reveals no register data; the log has the precise code.
    fn displayed_code(&self) -> ErrorCode {
        match self.code {
            ErrorCode::RegisterDeceased | ErrorCode::RegisterRefused => ErrorCode::RegisterAnswer,
            code => code,
        }
    }
}

/// Returns the description for developers, for errors that a service provider can fix.
fn developer_description(entry: &CatalogueEntry) -> Option<&'static str> {
    matches!(entry.responsible, ResponsibleParty::ServiceProvider).then_some(entry.description)
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorTemplate<'a> {
    chrome: &'a PageChrome<'a>,
    t: Locale,
    title: String,
    responsible: String,
    developer_description: Option<&'a str>,
    time: String,
    entry: &'static CatalogueEntry,
    page: &'a ErrorPage,
}

impl PageAction {
    /// Returns the button's label in the page's language.
    pub(super) fn label(&self, t: &Locale, service: Option<&str>) -> String {
        match (self, service) {
            (Self::TryAgain { .. }, _) => t.text("action-again"),
            (Self::Continue { .. }, _) => t.text("action-continue"),
            (Self::OtherProvider { .. }, _) => t.text("action-other"),
            (Self::BackToService(_), Some(service)) => {
                t.text_with("action-service", "service", service)
            }
            (Self::BackToService(_), None) => t.text("action-service-unnamed"),
            (Self::ServiceHome { .. }, Some(service)) => {
                t.text_with("action-home", "service", service)
            }
            (Self::ServiceHome { .. }, None) => t.text("action-home-unnamed"),
            (Self::SignOut { .. }, _) => t.text("action-sign-out"),
        }
    }

    /// Returns the form's URL and fields, if the action is a form.
    pub(super) fn form(&self) -> Option<(&str, &[HiddenField])> {
        match self {
            Self::BackToService(ServiceReturn::Post { action, fields }) => Some((action, fields)),
            _ => None,
        }
    }

    /// Returns the URL of the action.
    pub(super) fn href(&self) -> &str {
        match self {
            Self::TryAgain { href }
            | Self::Continue { href }
            | Self::OtherProvider { href }
            | Self::ServiceHome { href }
            | Self::SignOut { href }
            | Self::BackToService(ServiceReturn::Link { href }) => href,
            Self::BackToService(ServiceReturn::Post { action, .. }) => action,
        }
    }
}
