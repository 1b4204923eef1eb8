//! The demonstration service provider's pages. The only ones that speak of tokens: they are for developers.
//!
//! Their addresses are that service's own: `/`, and forms posted to `/login` and `/logout`, each with the page's language
//! in `ui_locales`.

use askama::Template;

use super::{Chrome, Locale, draw};

/// Nobody is signed in.
#[derive(Clone, Copy, Debug)]
pub struct DemoSignedOut;

/// What the service provider got, after checking it.
#[derive(Clone, Debug)]
pub struct DemoSignedIn {
    /// Wire name and value, in order.
    pub claims: Vec<Fact>,
    /// Indented JSON, as the next two.
    pub id_token_header: String,
    pub id_token_payload: String,
    pub userinfo: String,
    /// The token endpoint's answer as it came.
    pub token_answer: String,
}

#[derive(Clone, Debug)]
pub struct Fact {
    pub name: String,
    pub value: String,
}

/// Nobody could be signed in.
#[derive(Clone, Debug)]
pub enum DemoError {
    /// The hub sent the browser back with an error (RFC 6749, 4.1.2.1).
    Returned { error: String, description: Option<String> },
    /// The answer broke a rule, or could not be had; nothing of it was used. In English, for a developer.
    Refused { reason: String },
}

impl DemoSignedOut {
    #[must_use]
    pub fn render(self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        draw(&SignedOutTemplate { chrome, t, title: t.text("demo-title") })
    }
}

impl DemoSignedIn {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        draw(&SignedInTemplate { chrome, t, title: t.text("demo-in-title"), page: self })
    }

    fn panels(&self, t: &Locale) -> [(String, &str); 4] {
        [
            (t.text("demo-id-payload"), &self.id_token_payload),
            (t.text("demo-userinfo"), &self.userinfo),
            (t.text("demo-id-header"), &self.id_token_header),
            (t.text("demo-token-answer"), &self.token_answer),
        ]
    }
}

impl DemoError {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        draw(&DemoErrorTemplate { chrome, t, title: t.text("demo-error-title"), page: self })
    }
}

#[derive(Template)]
#[template(path = "demo_signed_out.html")]
struct SignedOutTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
}

#[derive(Template)]
#[template(path = "demo_signed_in.html")]
struct SignedInTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
    page: &'a DemoSignedIn,
}

#[derive(Template)]
#[template(path = "demo_error.html")]
struct DemoErrorTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
    page: &'a DemoError,
}
