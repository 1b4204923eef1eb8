//! The pages of the demonstration service provider, for developers: they show the tokens.
//!
//! Their URLs belong to that service: `/`, and forms posted to `/login`, `/logout` and `/console`,
//! each with the page's language in `ui_locales`. `/login` also sends the requested level in
//! `level` (`eidas1` …), which determines the platform, and `consent=required` for the registration
//! that asks for consent; `/console` sends the `platform`.

use askama::Template;

use super::locale::PageMessages as _;
use super::{Locale, PageChrome, render_template};
use passerelle_protocol::acr::Level;

/// The page before a sign-in.
#[derive(Clone, Copy, Debug)]
pub struct DemoStart;

/// The page after a sign-out: what has ended, as far as the service can know.
#[derive(Clone, Copy, Debug)]
pub struct DemoSignedOut {
    /// Whether the hub has sent the browser back from its logout.
    pub hub_confirmed: bool,
}

/// What a button requests.
#[derive(Clone, Copy, Debug)]
pub struct DemoSignIn {
    pub level: Level,
    /// Whether the hub asks the user for consent, instead of informing them.
    pub asks_consent: bool,
}

impl DemoSignIn {
    /// The sign-in of the registration that asks for consent.
    pub const WITH_CONSENT: Self = Self { level: Level::Eidas1, asks_consent: true };

    /// Creates a sign-in without consent.
    pub const fn at_level(level: Level) -> Self {
        Self { level, asks_consent: false }
    }

    /// Returns the label of the button that starts it.
    fn label(self, t: &Locale) -> String {
        t.text(match self.level {
            Level::Eidas1 if self.asks_consent => "demo-sign-in-consent",
            Level::Eidas1 => "demo-sign-in-eidas1",
            Level::Eidas2 => "demo-sign-in-eidas2",
            Level::Eidas3 => "demo-sign-in-eidas3",
        })
    }
}

/// The page of a signed-in user: what the service provider received, after verification.
#[derive(Clone, Debug)]
pub struct DemoSignedIn {
    /// For the button to sign in again.
    pub sign_in: DemoSignIn,
    /// The `amr` of the ID token (RFC 8176).
    pub methods: Vec<String>,
    /// Wire name and value, in order.
    pub claims: Vec<NamedValue>,
    pub id_token: TokenParts,
    pub userinfo: TokenParts,
    /// Introspection response of the access token for a data provider, as indented JSON.
    pub introspection: Option<String>,
    /// The token response as received.
    pub token_response: String,
}

/// The parts of a decrypted token, each as indented JSON.
#[derive(Clone, Debug)]
pub struct TokenParts {
    /// Header of the JWE, if the token was encrypted.
    pub jwe_header: Option<String>,
    /// The JWS's header.
    pub header: String,
    pub payload: String,
}

/// A claim's name and value.
#[derive(Clone, Debug)]
pub struct NamedValue {
    pub name: String,
    pub value: String,
}

/// The page after a failed sign-in.
#[derive(Clone, Debug)]
pub enum DemoError {
    /// The hub sent the browser back with an error (RFC 6749 §4.1.2.1).
    Returned { error: String, description: Option<String> },
    /// The response is invalid or missing, and was not used. The reason is in English.
    Refused { reason: String },
}

/// The page of the demo wallet: who asks for what, and whose document to present. Its form is
/// posted to `/answer`.
#[derive(Clone, Debug)]
pub struct DemoWalletPage {
    /// Origin of the hub that asks.
    pub verifier: String,
    /// Names of the requested claims.
    pub claims: Vec<String>,
    /// Ids and labels of the persons.
    pub persons: Vec<NamedValue>,
    /// Hidden field of the form.
    pub request: String,
}

/// The page of a request that the demo's wallet or SAML identity provider does not answer. The reason
/// is in English.
#[derive(Clone, Debug)]
pub struct DemoRequestError {
    pub reason: String,
}

impl DemoStart {
    /// Renders the page as HTML.
    pub fn render(self, chrome: &PageChrome<'_>) -> String {
        let t = chrome.locale;
        render_template(&DemoStartTemplate { chrome, t, title: t.text("demo-title") })
    }
}

page_template!(DemoSignedOut, "demo_signed_out.html", |_, t| t.text("demo-out-title"));

page_template!(DemoSignedIn, "demo_signed_in.html", |_, t| t.text("demo-in-title"));

page_template!(DemoError, "demo_error.html", |_, t| t.text("demo-error-title"));

page_template!(DemoWalletPage, "demo_wallet.html", |_, t| t.text("demo-wallet-title"));

page_template!(DemoRequestError, "demo_request_error.html", |_, t| t.text("demo-error-title"));

#[derive(Template)]
#[template(path = "demo_start.html")]
struct DemoStartTemplate<'a> {
    chrome: &'a PageChrome<'a>,
    t: &'a Locale,
    title: String,
}
