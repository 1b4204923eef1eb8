//! The form of the sandbox identity provider: test user, level, methods, simulated failure.

use askama::Template;

use super::{HiddenField, Locale, PageChrome, render_template};

/// The sandbox form: one `person`, `level` and `failure`, a `method` for each selected one, and the
/// hidden fields.
#[derive(Clone, Debug)]
pub struct SandboxPage {
    /// Name of the connector.
    pub provider: String,
    /// URL that the form posts to.
    pub action: String,
    pub hidden: Vec<HiddenField>,
    pub persons: Vec<SandboxOption>,
    pub levels: Vec<SandboxOption>,
    pub methods: Vec<SandboxOption>,
    /// The first one is "no failure".
    pub failures: Vec<SandboxOption>,
}

/// An option of the sandbox form.
#[derive(Clone, Debug)]
pub struct SandboxOption {
    pub id: String,
    /// In the page's language.
    pub label: String,
    /// Second line.
    pub hint: Option<String>,
    /// Whether it is initially selected.
    pub is_selected: bool,
}

impl SandboxPage {
    /// Renders the page as HTML.
    #[must_use]
    pub fn render(&self, chrome: &PageChrome<'_>) -> String {
        let t = chrome.locale;
        render_template(&SandboxTemplate { chrome, t, title: t.text("sandbox-title"), page: self })
    }
}

#[derive(Template)]
#[template(path = "sandbox.html")]
struct SandboxTemplate<'a> {
    chrome: &'a PageChrome<'a>,
    t: Locale,
    title: String,
    page: &'a SandboxPage,
}
