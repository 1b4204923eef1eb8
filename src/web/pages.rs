//! The HTML pages.
//!
//! Each page is a view model of plain data with `render(&self, &PageChrome) -> String`, which
//! returns one HTML document that works without script; the template escapes every value.
//! Responsible for layout, texts and languages. Does not know logins, sessions, stores or HTTP.
//!
//! Callers must take URLs in a view model from the configuration or from the hub, never from a
//! request: escaping does not stop a `javascript:` URL.

mod provider_list;
mod choice;
mod consent;
mod demo;
mod error;
mod locale;
mod notice;
mod sandbox;
mod sign_in;
mod short_pages;
mod theme;

pub use provider_list::{ProviderList, ListQuery, ProviderCandidate, CategoryHeading, build_provider_list};
pub use choice::{FailureBanner, ChoicePage, ProviderOption, UnavailableLabel, ProviderWarning, UnavailableProvider};
pub use consent::{ConsentClaim, ClaimName, ConsentPage, ConsentMode, ClaimSource};
pub use demo::{DemoError, DemoSignedIn, DemoSignedOut, NamedValue, TokenParts};
pub use error::{ErrorDetail, ErrorPage, ServiceReturn, PageAction};
pub use locale::{Locale, negotiate_language};
pub use notice::DisplayedNotice;
pub use sandbox::{SandboxOption, SandboxPage};
pub use sign_in::{SignInPage, SignInError};
pub use short_pages::{FormPostPage, ConfirmLogOutPage, LoggedOutPage};
pub use theme::{LOGO_PATH, PageTheme};

/// Data that every page needs.
#[derive(Clone, Copy, Debug)]
pub struct PageChrome<'a> {
    pub locale: Locale,
    /// The nonce of the `Content-Security-Policy` sent with this page.
    pub nonce: &'a str,
    pub theme: &'a PageTheme,
    /// Path of the hub's endpoints: `/api/v2`.
    pub base_path: &'a str,
    /// Operator notices in force, for the pages on which a user stays.
    pub notices: &'a [DisplayedNotice],
}

/// A hidden input of a form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HiddenField {
    pub name: String,
    pub value: String,
}

impl HiddenField {
    /// Creates a field.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// Renders a template. Should a formatter fail, the page is a line that the user can report.
fn render_template(template: &impl askama::Template) -> String {
    template
        .render()
        .unwrap_or_else(|error| format!("<!doctype html><title>Y000500</title><p>Y000500: {error}"))
}

#[cfg(test)]
mod gallery;
#[cfg(test)]
mod tests;
