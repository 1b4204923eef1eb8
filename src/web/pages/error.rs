//! The error page: what happened, who can fix it, what to do next (docs/design/errors.md).

use askama::filters::Safe;

use super::consent::ClaimLabel;
use super::{HiddenField, Locale};
use crate::config::format_rfc3339;
use crate::env::Timestamp;
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
    pub claim: Option<ClaimLabel>,
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

page_template!(ErrorPage, "error.html", |page, t| t.text(page.entry().page_text));

impl ErrorPage {
    fn entry(&self) -> &'static CatalogueEntry {
        self.displayed_code().entry()
    }

    /// Returns who can fix the error, and how.
    fn responsible(&self, t: &Locale) -> String {
        let entry = self.entry();
        let is_answer = entry.page_text == "error-idp-answer";
        t.text(match (entry.responsible, self.actions.first()) {
            (ResponsibleParty::IdentityProvider, None) if is_answer => "responsible-answer-alone",
            (ResponsibleParty::IdentityProvider, Some(_)) if is_answer => "responsible-answer",
            (ResponsibleParty::IdentityProvider, _) => "responsible-provider",
            (ResponsibleParty::User, None) => "error-no-way",
            (ResponsibleParty::User, Some(PageAction::OtherProvider { .. })) => {
                "responsible-user-other"
            }
            (ResponsibleParty::User, Some(_)) => "responsible-user",
            (ResponsibleParty::ServiceProvider, _) => "responsible-service",
            (ResponsibleParty::Operator, _) => "responsible-operator",
        })
    }

    fn time(&self, t: &Locale) -> String {
        t.date_time(self.at)
    }

    fn datetime(&self) -> String {
        format_rfc3339(self.at)
    }

    /// Returns the description for developers, for errors that a service provider can fix.
    fn developer_description(&self) -> Option<&str> {
        let entry = self.entry();
        let own = || {
            (entry.responsible == ResponsibleParty::ServiceProvider).then_some(entry.description)
        };
        self.detail.as_ref().map(|detail| detail.description.as_str()).or_else(own)
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

impl PageAction {
    /// Returns the button's label in the page's language.
    pub(super) fn label(&self, t: &Locale, service: Option<&str>) -> Safe<String> {
        let key = match (self, service) {
            (Self::TryAgain { .. }, _) => "action-again",
            (Self::Continue { .. }, _) => "action-continue",
            (Self::OtherProvider { .. }, _) => "action-other",
            (Self::BackToService(_), Some(_)) => "action-service",
            (Self::BackToService(_), None) => "action-service-unnamed",
            (Self::ServiceHome { .. }, Some(_)) => "action-home",
            (Self::ServiceHome { .. }, None) => "action-home-unnamed",
            (Self::SignOut { .. }, _) => "action-sign-out",
        };
        t.html_with(key, "service", service.unwrap_or_default())
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
