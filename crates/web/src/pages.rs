//! The HTML pages.
//!
//! Each page is a view model of plain data with `render(&self, &PageChrome) -> String`, which
//! returns one HTML document that works without script; the template escapes every value.
//! Responsible for layout, texts and languages. Does not depend on logins, sessions, stores or
//! HTTP.
//!
//! Callers must take URLs in a view model from the configuration or from the hub, never from a
//! request: escaping does not stop a `javascript:` URL.

/// Implements `render` for a page: names its template, which sees the page as `page`, and the
/// function that returns its title. The crate that uses it depends on `askama`, and its `askama.toml`
/// names the folder of these pages' templates.
#[macro_export]
macro_rules! page_template {
    ($page:ty, $path:literal, $title:expr) => {
        impl $page {
            /// Renders the page as HTML.
            pub fn render(&self, chrome: &$crate::pages::PageChrome<'_>) -> String {
                #[derive(askama::Template)]
                #[template(path = $path)]
                struct PageTemplate<'a> {
                    chrome: &'a $crate::pages::PageChrome<'a>,
                    t: &'a $crate::pages::Locale,
                    title: String,
                    page: &'a $page,
                }
                let title: fn(&$page, &$crate::pages::Locale) -> String = $title;
                let t = chrome.locale;
                $crate::pages::render_template(&PageTemplate {
                    chrome,
                    t,
                    title: title(self, t),
                    page: self,
                })
            }
        }
    };
}

use super::theme::fragments::FragmentSlot;

mod choice;
mod consent;
mod demo;
mod diagnostics;
mod error;
mod locale;
mod mail_code;
mod notice;
mod oauth_error;
mod provider_list;
mod sandbox;
mod short_pages;
mod sign_in;
mod theme;

pub use choice::{
    ChoicePage, EmailSearch, FailureBanner, NoAccountAdvice, ProviderOption, UnavailableProvider,
};
pub use consent::{ClaimLabel, ConsentClaim, ConsentMode, ConsentPage};
pub use demo::{
    DemoError, DemoRequestError, DemoSignIn, DemoSignedIn, DemoSignedOut, DemoStart,
    DemoWalletPage, NamedValue, TokenParts,
};
pub use diagnostics::{DiagnosedRequest, DiagnosticsPage, TokenDiagnosticPage};
pub use locale::PageMessages;
use passerelle_localization::Languages;
pub use passerelle_localization::Locale;

pub use error::{ErrorDetail, ErrorPage, PageAction, PostForm, ServiceReturn, displayed_code};
pub use mail_code::MailCodePage;
pub use notice::DisplayedNotice;
pub use oauth_error::OauthErrorPage;
pub use provider_list::{
    CategoryHeading, ListQuery, ProviderCandidate, ProviderList, build_provider_list,
    connector_logo_path,
};
pub use sandbox::{SandboxOption, SandboxPage};
pub use short_pages::{ConfirmLogOutPage, FormPostPage, LandingPage, LoggedOutPage};
pub use sign_in::{PasswordNoticePage, SignInError, SignInPage};
pub use theme::{FAVICON_PATH, LOGO_PATH, PageTheme};

/// Data that every page needs.
#[derive(Clone, Copy, Debug)]
pub struct PageChrome<'a> {
    pub locale: &'a Locale,
    /// The nonce of the `Content-Security-Policy` sent with this page.
    pub nonce: &'a str,
    pub theme: &'a PageTheme,
    /// Path of the hub's endpoints: `/api/v2`.
    pub base_path: &'a str,
    /// Operator notices in force, for the pages on which a user stays.
    pub notices: &'a [DisplayedNotice],
    pub languages: &'a Languages,
    /// Path of the page to return to after the choice of a language; without one, the page has no
    /// choice.
    pub return_path: Option<&'a str>,
}

/// The operator's fragments, as checked HTML; empty without one.
impl PageChrome<'_> {
    pub fn header_fragment(&self) -> &str {
        self.theme.fragments.html(FragmentSlot::Header, self.locale.tag())
    }

    pub fn help_fragment(&self) -> &str {
        self.theme.fragments.html(FragmentSlot::Help, self.locale.tag())
    }

    pub fn footer_fragment(&self) -> &str {
        self.theme.fragments.html(FragmentSlot::Footer, self.locale.tag())
    }
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

/// Returns a support id in groups of four, as it is read out. A person who types it may leave the
/// spaces out.
fn in_groups(support_id: &str) -> String {
    let mut grouped = String::with_capacity(support_id.len() + support_id.len() / 4);
    for (position, letter) in support_id.chars().enumerate() {
        if position > 0 && position.is_multiple_of(4) {
            grouped.push(' ');
        }
        grouped.push(letter);
    }
    grouped
}

/// Returns the title of a page that shows an error: the error comes first, as a screen reader reads
/// the title first.
pub fn title_with_error(error: Option<String>, title: String) -> String {
    match error {
        Some(error) => format!("{error} – {title}"),
        None => title,
    }
}

/// Bytes of most pages; a larger one is copied while it grows.
const PAGE_BYTES: usize = 16 * 1024;

/// Renders a template. Should a formatter fail, the page is a line that the user can report.
pub fn render_template(template: &impl askama::Template) -> String {
    let mut page = String::with_capacity(PAGE_BYTES);
    match template.render_into(&mut page) {
        Ok(()) => page,
        Err(error) => format!("<!doctype html><title>Y000500</title><p>Y000500: {error}"),
    }
}

#[cfg(test)]
mod tests;
