//! The demonstration service provider's pages. The only ones that speak of tokens: they are for developers.
//!
//! Their addresses are that service's own: `/`, and forms posted to `/login` and `/logout`, each with the page's language
//! in `ui_locales`; `/login` with the level to ask for, which decides the platform, in `level` (`eidas1` …).

use askama::Template;

use super::{Chrome, Locale, draw};
use crate::protocol::acr::Level;

/// Nobody is signed in.
#[derive(Clone, Copy, Debug)]
pub struct DemoSignedOut;

/// What the service provider got, after checking it.
#[derive(Clone, Debug)]
pub struct DemoSignedIn {
    /// What was asked, for the way to ask again.
    pub level: Level,
    /// Wire name and value, in order.
    pub claims: Vec<Fact>,
    pub id_token: TokenParts,
    pub userinfo: TokenParts,
    /// What a data provider was told of the access token, as indented JSON.
    pub data_provider: Option<String>,
    /// The token endpoint's answer as it came.
    pub token_answer: String,
}

/// A token, opened and taken apart; each part is indented JSON.
#[derive(Clone, Debug)]
pub struct TokenParts {
    /// The JWE's header, where it came encrypted.
    pub seal: Option<String>,
    /// The JWS's header.
    pub header: String,
    pub payload: String,
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
}

impl DemoError {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        draw(&DemoErrorTemplate { chrome, t, title: t.text("demo-error-title"), page: self })
    }
}

impl Locale {
    /// On the button that begins a sign-in.
    fn demo_sign_in(self, level: Level) -> String {
        self.text(match level {
            Level::Eidas1 => "demo-sign-in-eidas1",
            Level::Eidas2 => "demo-sign-in-eidas2",
            Level::Eidas3 => "demo-sign-in-eidas3",
        })
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
