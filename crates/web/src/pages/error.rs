//! The error page: what happened, who can fix it, what to do next (docs/integrate/errors.md).

use askama::filters::Safe;

use super::consent::ClaimLabel;
use super::locale::PageMessages as _;
use super::{HiddenField, Locale, PageChrome};
use crate::theme::PageLink;
use crate::theme::support_url::SupportDetails;
use passerelle_federation::validity::format_rfc3339;
use passerelle_localization::OperatorText;
use passerelle_protocol::catalogue::{CatalogueEntry, ErrorCode, ResponsibleParty};
use passerelle_protocol::env::Timestamp;

/// The page for any code of the catalogue. The caller sends the HTTP status `code.entry().status`.
#[derive(Clone, Debug)]
pub struct ErrorPage {
    pub code: ErrorCode,
    /// The precise error behind a 400 for a malformed request.
    pub detail: Option<ErrorDetail>,
    /// Name of the service provider, if it is verified.
    pub service: Option<OperatorText>,
    /// Name of the identity provider, if one is concerned.
    pub provider: Option<OperatorText>,
    /// The operator's message for users, in the page's language.
    pub message: Option<OperatorText>,
    /// The claim that is missing or malformed; never its value.
    pub claim: Option<ClaimLabel>,
    /// Seconds after which the request may be repeated, as `Retry-After` says.
    pub retry_after: Option<u64>,
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

impl From<ErrorCode> for ErrorDetail {
    fn from(precise: ErrorCode) -> Self {
        let CatalogueEntry { code, description, .. } = precise.entry();
        Self { code: (*code).to_owned(), description: (*description).to_owned() }
    }
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
    /// Leaves an account whose user could not be identified, and returns to the choice.
    OtherAccount(PostForm),
    /// The same, where the account is not at fault: the user tries once more.
    SignInAgain(PostForm),
    /// Returns to the service provider with an authorization response.
    BackToService(ServiceReturn),
    /// The service provider's registered home page.
    ServiceHome { href: String },
    /// Opens the page that asks whether to sign out.
    SignOut { href: String },
}

/// A form that consists of a button.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PostForm {
    pub action: String,
    pub fields: Vec<HiddenField>,
}

/// How the browser returns to the service provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServiceReturn {
    Link { href: String },
    Post(PostForm),
}

page_template!(ErrorPage, "error.html", |page, t| t.text(page.entry().page_text));

impl ErrorPage {
    fn entry(&self) -> &'static CatalogueEntry {
        self.displayed_code().entry()
    }

    /// Returns who can fix the error, and how; or how long to wait.
    fn advice(&self, t: &Locale) -> String {
        match self.retry_after {
            Some(seconds) if self.is_wait_known() => {
                t.text_with_values("retry-wait", [("seconds", seconds.into())])
            }
            Some(_) => t.text("retry-later"),
            None => t.text(self.advice_key()),
        }
    }

    /// Returns whether the hub knows when it accepts the request: a rate limit ends at a known time,
    /// an outage does not.
    fn is_wait_known(&self) -> bool {
        self.entry().status == 429
    }

    fn automatic_retry_text(&self, t: &Locale) -> String {
        t.text(if self.is_wait_known() { "retry-auto" } else { "retry-auto-later" })
    }

    fn advice_key(&self) -> &'static str {
        use ResponsibleParty::{IdentityProvider, Operator, ServiceProvider, User};
        let entry = self.entry();
        match (entry.page_text, entry.responsible, self.actions.first()) {
            ("error-idp-answer", _, None) => "responsible-answer-alone",
            ("error-idp-answer", _, Some(_)) => "responsible-answer",
            ("error-register", IdentityProvider, _) => "responsible-register",
            (
                "error-identity-incomplete" | "error-identity-malformed" | "error-mail-address",
                _,
                _,
            ) => "responsible-identity",
            ("error-mail-unreadable", _, _) => "responsible-mailbox",
            ("error-login-other-browser", _, _) => "responsible-cookies",
            ("error-repeated-cookie", _, _) => "responsible-repeated-cookie",
            ("error-login-too-many", _, _) => "responsible-newer-tab",
            ("error-login-order", _, _) => "responsible-other-tab",
            ("error-login-done", _, _) => "responsible-finished",
            ("error-timeout", _, _) => "responsible-connection",
            (_, IdentityProvider, _) => "responsible-provider",
            (_, User, None) => "error-no-way",
            (_, User, Some(PageAction::OtherProvider { .. } | PageAction::OtherAccount(_))) => {
                "responsible-user-other"
            }
            (_, User, Some(PageAction::Continue { .. })) => "responsible-user-continue",
            (_, User, Some(_)) => "responsible-user",
            (_, ServiceProvider, _) => "responsible-service",
            (_, Operator, _) => "responsible-operator",
        }
    }

    /// Returns the seconds after which script may repeat the request: only if a button does the
    /// same.
    fn automatic_retry(&self) -> Option<u64> {
        let is_repeatable = matches!(self.actions.first(), Some(PageAction::TryAgain { .. }));
        self.retry_after.filter(|_| is_repeatable)
    }

    /// Returns the support's address, with the references of this page.
    fn support_link(&self, chrome: &PageChrome<'_>) -> Option<String> {
        chrome.theme.support_link(&SupportDetails {
            code: self.detail.as_ref().map_or(self.entry().code, |detail| &detail.code),
            support_id: &self.support_id,
            service: self.service.as_deref().unwrap_or_default(),
            identity_provider: self.provider.as_deref().unwrap_or_default(),
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

    fn displayed_code(&self) -> ErrorCode {
        displayed_code(self.code)
    }

    /// Returns who corrects the register, where it did not confirm the identity.
    fn register_correction<'a>(&self, chrome: &PageChrome<'a>) -> Option<&'a PageLink> {
        let is_register = self.entry().page_text == "error-register";
        chrome.theme.register_correction.as_ref().filter(|_| is_register)
    }
}

/// Returns the code that the user sees. Deceased and refused look like any other rejection by the
/// register, so that no page reveals register data; the log has the precise code.
pub const fn displayed_code(code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::RegisterDeceased | ErrorCode::RegisterRefused => ErrorCode::RegisterAnswer,
        code => code,
    }
}

impl PageAction {
    /// Returns the button's label in the page's language.
    pub(super) fn label(&self, t: &Locale, service: Option<&OperatorText>) -> Safe<String> {
        let key = match (self, service) {
            (Self::Continue { .. }, _) => "action-continue",
            (Self::TryAgain { .. } | Self::SignInAgain(_), _) => "action-again",
            (Self::OtherProvider { .. } | Self::OtherAccount(_), _) => "action-other",
            (Self::BackToService(_), Some(_)) => "action-service",
            (Self::BackToService(_), None) => "action-service-unnamed",
            (Self::ServiceHome { .. }, Some(_)) => "action-home",
            (Self::ServiceHome { .. }, None) => "action-home-unnamed",
            (Self::SignOut { .. }, _) => "action-sign-out",
        };
        t.html_with(key, "service", service.unwrap_or(&OperatorText::default()))
    }

    /// Returns the form's URL and fields, if the action is a form.
    pub(super) fn form(&self) -> Option<(&str, &[HiddenField])> {
        match self {
            Self::BackToService(ServiceReturn::Post(form))
            | Self::OtherAccount(form)
            | Self::SignInAgain(form) => Some((&form.action, &form.fields)),
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
            Self::BackToService(ServiceReturn::Post(form))
            | Self::OtherAccount(form)
            | Self::SignInAgain(form) => &form.action,
        }
    }
}
