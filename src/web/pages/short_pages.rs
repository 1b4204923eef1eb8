//! The short pages: the form post response, the confirmation of a logout, the end of a logout.

use askama::Template;

use super::{HiddenField, Locale, PageAction, PageChrome, render_template};

/// The page of `response_mode=form_post`: script submits the form; without script the user does.
#[derive(Clone, Debug)]
pub struct FormPostPage {
    /// Registered redirect URI of the service provider.
    pub action: String,
    /// Parameters of the authorization response, in order.
    pub fields: Vec<HiddenField>,
    /// Name of the service provider.
    pub service: String,
}

impl FormPostPage {
    /// Renders the page as HTML.
    #[must_use]
    pub fn render(&self, chrome: &PageChrome<'_>) -> String {
        let t = chrome.locale;
        render_template(&FormPostTemplate { chrome, t, title: t.text("return-title"), page: self })
    }
}

#[derive(Template)]
#[template(path = "form_post.html")]
struct FormPostTemplate<'a> {
    chrome: &'a PageChrome<'a>,
    t: Locale,
    title: String,
    page: &'a FormPostPage,
}

/// The page that asks the user to confirm a logout.
#[derive(Clone, Debug)]
pub struct ConfirmLogOutPage {
    /// The CSRF token and the parameters of the request, which the form sends again.
    pub fields: Vec<HiddenField>,
    /// Name and registered home page of the service provider that requested the logout, if
    /// verified.
    pub service: Option<(String, String)>,
    /// Name of the session's identity provider; `None` if there is no session.
    pub provider: Option<String>,
}

impl ConfirmLogOutPage {
    /// Renders the page as HTML.
    #[must_use]
    pub fn render(&self, chrome: &PageChrome<'_>) -> String {
        let t = chrome.locale;
        render_template(&ConfirmLogOutTemplate {
            chrome,
            t,
            title: t.text("log-out-title"),
            page: self,
        })
    }
}

#[derive(Template)]
#[template(path = "log_out.html")]
struct ConfirmLogOutTemplate<'a> {
    chrome: &'a PageChrome<'a>,
    t: Locale,
    title: String,
    page: &'a ConfirmLogOutPage,
}

/// The page after a logout.
#[derive(Clone, Debug, Default)]
pub struct LoggedOutPage {
    /// Name of the service provider, if known.
    pub service: Option<String>,
    /// Return to the service provider, if known.
    pub action: Option<PageAction>,
    /// Name of the identity provider whose session could not be ended.
    pub unreached_provider: Option<String>,
}

impl LoggedOutPage {
    /// Renders the page as HTML.
    #[must_use]
    pub fn render(&self, chrome: &PageChrome<'_>) -> String {
        let t = chrome.locale;
        render_template(&LoggedOutTemplate {
            chrome,
            t,
            title: t.text("logged-out-title"),
            page: self,
        })
    }
}

#[derive(Template)]
#[template(path = "logged_out.html")]
struct LoggedOutTemplate<'a> {
    chrome: &'a PageChrome<'a>,
    t: Locale,
    title: String,
    page: &'a LoggedOutPage,
}
