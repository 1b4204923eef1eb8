//! The sandbox identity provider's page: who to be, how strongly, or what shall go wrong.

use askama::Template;

use super::{Chrome, Field, Locale, draw};

/// One form: `person`, `level` and `failure` once each, `method` for each one ticked, and the hidden fields.
#[derive(Clone, Debug)]
pub struct SandboxPage {
    /// The connector's name.
    pub provider: String,
    /// Where the form is posted.
    pub action: String,
    pub hidden: Vec<Field>,
    pub persons: Vec<Pick>,
    pub levels: Vec<Pick>,
    pub methods: Vec<Pick>,
    /// "Nothing goes wrong" first.
    pub failures: Vec<Pick>,
}

/// One thing to pick.
#[derive(Clone, Debug)]
pub struct Pick {
    pub id: String,
    /// In the page's language.
    pub label: String,
    /// A second, quieter line.
    pub hint: Option<String>,
    /// Picked when the page is opened.
    pub is_picked: bool,
}

impl SandboxPage {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        draw(&SandboxTemplate { chrome, t, title: t.text("sandbox-title"), page: self })
    }
}

#[derive(Template)]
#[template(path = "sandbox.html")]
struct SandboxTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
    page: &'a SandboxPage,
}
