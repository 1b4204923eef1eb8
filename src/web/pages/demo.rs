//! The demonstration service provider's pages. The only ones that speak of tokens: they are for developers.

use askama::Template;

use super::{Chrome, Locale, draw};

/// Signed out: one button for each way in.
#[derive(Clone, Debug)]
pub struct DemoSignedOut {
    /// At least one; the first is the main one.
    pub sign_ins: Vec<SignIn>,
    /// Empty: no language switch.
    pub languages: Vec<LanguageLink>,
}

#[derive(Clone, Debug)]
pub struct SignIn {
    /// In the page's language.
    pub label: String,
    pub href: String,
}

#[derive(Clone, Debug)]
pub struct LanguageLink {
    /// The language's tag.
    pub tag: String,
    /// The language's own name for itself.
    pub label: String,
    pub href: String,
}

/// What the service provider got, after checking it.
#[derive(Clone, Debug)]
pub struct DemoSignedIn {
    /// Wire name and value, in order.
    pub claims: Vec<Fact>,
    /// Pretty-printed JSON, as the next three.
    pub id_token_header: String,
    pub id_token_payload: String,
    pub userinfo: String,
    /// The token endpoint's whole answer.
    pub token_answer: String,
    /// Where the sign-out form is posted.
    pub sign_out: String,
    pub sign_in_again: String,
}

#[derive(Clone, Debug)]
pub struct Fact {
    pub name: String,
    pub value: String,
}

/// The hub answered with an error.
#[derive(Clone, Debug)]
pub struct DemoError {
    pub error: String,
    pub description: String,
    pub sign_in_again: String,
}

impl DemoSignedOut {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        draw(&SignedOutTemplate { chrome, t, title: t.text("demo-title"), page: self })
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
    page: &'a DemoSignedOut,
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
