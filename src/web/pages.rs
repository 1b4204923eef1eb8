//! L4 · What a person sees (design of the pages; decisions 4, 5, 13).
//!
//! Each page is a view model of plain data with `render(&self, &Chrome) -> String`: one whole HTML document, complete
//! without script, every value escaped by the template. Owns: looks, words, languages. Must not know: logins,
//! sessions, stores, HTTP. What the caller must keep: addresses in a view model come from configuration or from this
//! hub, never from a request, for escaping does not make a `javascript:` address harmless.

mod arrangement;
mod choice;
mod consent;
mod demo;
mod error;
mod locale;
mod notice;
mod sandbox;
mod sign_in;
mod status;
mod theme;

pub use arrangement::{Arrangement, Asked, Candidate, Heading, arrange};
pub use choice::{Banner, ChoicePage, Provider, Refusal, Trouble, Unavailable};
pub use consent::{Claim, ClaimName, ConsentPage, Question, Source};
pub use demo::{DemoError, DemoSignedIn, DemoSignedOut, Fact, TokenParts};
pub use error::{Detail, ErrorPage, Leave, Way};
pub use locale::{Locale, negotiate};
pub use notice::Notice;
pub use sandbox::{Pick, SandboxPage};
pub use sign_in::{SignInPage, SignInTrouble};
pub use status::{FormPostPage, LogOutPage, LoggedOutPage, ProgressPage, Stage};
pub use theme::{LOGO_PATH, Theme};

/// What surrounds every page.
#[derive(Clone, Copy, Debug)]
pub struct Chrome<'a> {
    pub locale: Locale,
    /// The nonce of the `Content-Security-Policy` sent with this page.
    pub nonce: &'a str,
    pub theme: &'a Theme,
    /// Path of the hub's endpoints: `/api/v2`.
    pub base_path: &'a str,
    /// What the operator has to say now, for the pages on which a person stays.
    pub notices: &'a [Notice],
}

/// A hidden input of a form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    pub name: String,
    pub value: String,
}

impl Field {
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// Renders into memory, where only a formatter of ours could fail; then the person still gets a line to report.
fn draw(template: &impl askama::Template) -> String {
    template
        .render()
        .unwrap_or_else(|error| format!("<!doctype html><title>Y000500</title><p>Y000500: {error}"))
}

#[cfg(test)]
mod gallery;
#[cfg(test)]
mod tests;
