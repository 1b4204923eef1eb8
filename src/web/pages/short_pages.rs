//! The short pages: on the way back by form, where a login stands, whether to sign out, signed out (decisions 3, 5, 12).

use askama::Template;

use super::{Chrome, Field, Locale, Way, draw};

/// `response_mode=form_post`: a form that the nonced script sends, with a button where there is no script.
#[derive(Clone, Debug)]
pub struct FormPostPage {
    /// The service provider's registered redirect URI.
    pub action: String,
    /// The answer's parameters, in order.
    pub fields: Vec<Field>,
    /// The service provider's name, from its file.
    pub service: String,
}

impl FormPostPage {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        draw(&FormPostTemplate { chrome, t, title: t.text("return-title"), page: self })
    }
}

#[derive(Template)]
#[template(path = "form_post.html")]
struct FormPostTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
    page: &'a FormPostPage,
}

/// Where a login stands, for a repeated or early step.
#[derive(Clone, Debug)]
pub struct ProgressPage {
    /// The service provider's name, from its file.
    pub service: String,
    pub stage: Stage,
    /// Best first; it becomes the main button.
    pub ways: Vec<Way>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stage {
    /// At the choice page.
    Choosing,
    /// The browser has left for this identity provider.
    Away { provider: String },
    /// This identity provider's answer is being worked on.
    Checking { provider: String },
    /// At the consent page.
    Consent,
}

impl ProgressPage {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        let lead = match &self.stage {
            Stage::Choosing => t.text("progress-choosing"),
            Stage::Away { provider } => t.with("progress-away", "provider", provider),
            Stage::Checking { provider } => t.with("progress-checking", "provider", provider),
            Stage::Consent => t.text("progress-consent"),
        };
        draw(&ProgressTemplate { chrome, t, title: t.text("progress-title"), lead, page: self })
    }
}

#[derive(Template)]
#[template(path = "progress.html")]
struct ProgressTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
    lead: String,
    page: &'a ProgressPage,
}

/// Nobody has proven that this person wants to sign out: only they can say so.
#[derive(Clone, Debug)]
pub struct LogOutPage {
    /// The token and the request's own parameters, for the form to send them again.
    pub fields: Vec<Field>,
    /// Name and registered home page of the service provider that sent the browser, where one is proven.
    pub service: Option<(String, String)>,
    /// The identity provider that this person signed in with; without it nobody is known to be signed in.
    pub provider: Option<String>,
}

impl LogOutPage {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        draw(&LogOutTemplate { chrome, t, title: t.text("log-out-title"), page: self })
    }
}

#[derive(Template)]
#[template(path = "log_out.html")]
struct LogOutTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
    page: &'a LogOutPage,
}

/// The session here is over.
#[derive(Clone, Debug, Default)]
pub struct LoggedOutPage {
    /// The service provider's name, where it is known.
    pub service: Option<String>,
    /// The way back, where there is one.
    pub way: Option<Way>,
    /// The identity provider whose own session could not be ended.
    pub unreached: Option<String>,
}

impl LoggedOutPage {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        draw(&LoggedOutTemplate { chrome, t, title: t.text("logged-out-title"), page: self })
    }
}

#[derive(Template)]
#[template(path = "logged_out.html")]
struct LoggedOutTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
    page: &'a LoggedOutPage,
}
