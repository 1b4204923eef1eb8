//! The choice of an identity provider (decisions 5).

use askama::Template;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::{Chrome, Locale, draw};
use crate::protocol::acr::Level;
use crate::protocol::catalogue::ErrorCode;

/// Every form but the search posts `csrf`; choosing posts `provider` to `…/provider`, cancelling goes to `…/cancel`.
#[derive(Clone, Debug)]
pub struct ChoicePage {
    /// The login's public name, for the forms' addresses.
    pub interaction: String,
    pub choose_csrf: String,
    pub cancel_csrf: String,
    /// The service provider's name, from its file.
    pub service: String,
    /// Path on this host.
    pub service_logo: Option<String>,
    /// The level asked.
    pub level: Level,
    /// In the order they shall appear.
    pub providers: Vec<Provider>,
    /// In the order they shall appear; empty when they are to be hidden.
    pub unavailable: Vec<Unavailable>,
    /// What the person searched for (`q`), as sent.
    pub query: Option<String>,
    /// After a failed attempt.
    pub banner: Option<Banner>,
    /// The operator's message, in the page's language.
    pub notice: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Provider {
    pub id: String,
    pub name: String,
    /// Path on this host.
    pub logo: Option<String>,
    /// What a person should know before choosing it.
    pub trouble: Option<Trouble>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// It failed a moment ago, and may be tried.
    Recent,
}

impl Trouble {
    fn text(self, t: &Locale) -> String {
        match self {
            Self::Recent => t.text("choice-recent-trouble"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Unavailable {
    pub name: String,
    pub reason: Refusal,
}

/// Why an identity provider can't be chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    TooLow,
    NotForThisService,
    InTrouble,
    Off,
    /// A kill switch is in force, and the operator has said nothing more.
    Blocked,
    /// The operator's message, in the page's language.
    Message(String),
}

/// Names the identity provider with which the last attempt failed.
#[derive(Clone, Debug)]
pub struct Banner {
    pub provider: String,
    pub code: ErrorCode,
    /// The operator's word for the person, in the page's language.
    pub message: Option<String>,
    pub support_id: String,
}

/// From this many identity providers up there is a search box.
const SEARCH_FROM: usize = 8;
/// A page shows no more at once, so that 300 identity providers still make a light page.
const SHOWN_AT_MOST: usize = 40;

impl ChoicePage {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let wanted = self.query.as_deref().map(folded).filter(|query| !query.is_empty());
        let is_wanted = |name: &str| wanted.as_ref().is_none_or(|query| folded(name).contains(query.as_str()));
        let found: Vec<&Provider> = self.providers.iter().filter(|provider| is_wanted(&provider.name)).collect();
        let t = chrome.locale;
        draw(&ChoiceTemplate {
            chrome,
            t,
            title: t.text("choice-title"),
            page: self,
            is_search: self.providers.len() + self.unavailable.len() >= SEARCH_FROM,
            query: wanted.is_some().then_some(self.query.as_deref()).flatten(),
            part: (found.len() > SHOWN_AT_MOST).then(|| t.part("choice-part", SHOWN_AT_MOST, found.len())),
            found: found.into_iter().take(SHOWN_AT_MOST).collect(),
            unavailable: self.unavailable.iter().filter(|one| is_wanted(&one.name)).take(SHOWN_AT_MOST).collect(),
        })
    }
}

/// For a search that forgives case and accents: `impots` finds `Impôts`.
fn folded(text: &str) -> String {
    text.trim().nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect()
}

#[derive(Template)]
#[template(path = "choice.html")]
struct ChoiceTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
    page: &'a ChoicePage,
    is_search: bool,
    query: Option<&'a str>,
    part: Option<String>,
    found: Vec<&'a Provider>,
    unavailable: Vec<&'a Unavailable>,
}

impl ChoicePage {
    fn level_text(&self, t: &Locale) -> String {
        t.text(match self.level {
            Level::Eidas1 => "level-eidas1",
            Level::Eidas2 => "level-eidas2",
            Level::Eidas3 => "level-eidas3",
        })
    }
}

impl Provider {
    /// Stands in for a missing logo.
    fn initial(&self) -> String {
        self.name.chars().find(|c| c.is_alphanumeric()).map(|c| c.to_uppercase().collect()).unwrap_or_default()
    }
}

impl Refusal {
    fn text(&self, t: &Locale) -> String {
        match self {
            Self::TooLow => t.text("why-too-low"),
            Self::NotForThisService => t.text("why-not-for-service"),
            Self::InTrouble => t.text("why-in-trouble"),
            Self::Off => t.text("why-off"),
            Self::Blocked => t.text("why-blocked"),
            Self::Message(message) => message.clone(),
        }
    }
}
