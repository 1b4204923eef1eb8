//! The choice of an identity provider (decisions 5).

use askama::Template;
use url::form_urlencoded::Serializer;

use super::arrangement::{Arrangement, Group, Title};
use super::{Chrome, Locale, draw};
use crate::protocol::acr::Level;
use crate::protocol::catalogue::ErrorCode;

/// Every form but the search posts `csrf`; choosing posts `provider` to `…/provider`, cancelling goes to `…/cancel`,
/// forgetting the last choice to `…/forget`.
#[derive(Clone, Debug)]
pub struct ChoicePage {
    /// The login's public name, for the forms' addresses.
    pub interaction: String,
    pub choose_csrf: String,
    pub cancel_csrf: String,
    pub forget_csrf: String,
    /// The service provider's name, from its file.
    pub service: String,
    /// Path on this host.
    pub service_logo: Option<String>,
    /// The level asked.
    pub level: Level,
    /// Which identity providers it shows.
    pub arrangement: Arrangement,
    /// After a failed attempt.
    pub banner: Option<Banner>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// The request asks for a new authentication, and this identity provider proves none.
    NoReauthentication,
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

impl ChoicePage {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        let here = format!("{}/interaction/{}", chrome.base_path, self.interaction);
        let shown = &self.arrangement;
        let unavailable_more = shown.unavailable_more;
        draw(&ChoiceTemplate {
            chrome,
            t,
            title: t.text("choice-title"),
            page: self,
            shown,
            summary: self.summary(t),
            unavailable_more: (unavailable_more > 0)
                .then(|| t.filled("choice-unavailable-more", [("total", unavailable_more.into())])),
            previous: shown
                .leaf
                .filter(|leaf| leaf.page > 1)
                .map(|leaf| self.address(&here, leaf.page - 1)),
            next: shown
                .leaf
                .filter(|leaf| leaf.page < leaf.pages)
                .map(|leaf| self.address(&here, leaf.page + 1)),
            here,
        })
    }

    /// How many there are, where not all of them are seen at once; and what a search has found.
    fn summary(&self, t: Locale) -> Option<String> {
        let shown = &self.arrangement;
        let total = || ("total", shown.total.into());
        match (shown.leaf, &shown.query) {
            _ if shown.is_empty() => None,
            (Some(leaf), _) => Some(t.filled(
                "choice-range",
                [("first", leaf.first.into()), ("last", leaf.last.into()), total()],
            )),
            (None, Some(_)) => Some(t.filled("choice-found", [total()])),
            (None, None) => shown.is_overview.then(|| t.filled("choice-total", [total()])),
        }
    }

    /// The address of another page of what is shown.
    fn address(&self, here: &str, page: usize) -> String {
        let mut query = Serializer::new(String::new());
        if let Some(text) = &self.arrangement.query {
            query.append_pair("q", text);
        }
        if let Some(category) = &self.arrangement.category {
            query.append_pair("category", category);
        }
        query.append_pair("page", &page.to_string());
        format!("{here}?{}", query.finish())
    }

    fn level_text(&self, t: &Locale) -> String {
        t.text(match self.level {
            Level::Eidas1 => "level-eidas1",
            Level::Eidas2 => "level-eidas2",
            Level::Eidas3 => "level-eidas3",
        })
    }
}

#[derive(Template)]
#[template(path = "choice.html")]
struct ChoiceTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
    page: &'a ChoicePage,
    shown: &'a Arrangement,
    summary: Option<String>,
    unavailable_more: Option<String>,
    /// Addresses of the list's pages beside this one.
    previous: Option<String>,
    next: Option<String>,
    /// The address of the whole choice.
    here: String,
}

impl Group {
    fn heading(&self, t: &Locale) -> Option<String> {
        match &self.title {
            Title::None => None,
            Title::Category(name) => Some(name.clone()),
            Title::Others => Some(t.text("choice-others")),
        }
    }

    /// The words of the link to all of a category.
    fn see_all(&self, t: &Locale, total: &usize) -> String {
        let category = self.heading(t).unwrap_or_default();
        t.filled("choice-see-category", [("total", (*total).into()), ("category", category.into())])
    }
}

impl Provider {
    /// Stands in for a missing logo.
    fn initial(&self) -> String {
        self.name
            .chars()
            .find(|c| c.is_alphanumeric())
            .map(|c| c.to_uppercase().collect())
            .unwrap_or_default()
    }
}

impl Refusal {
    fn text(&self, t: &Locale) -> String {
        match self {
            Self::TooLow => t.text("why-too-low"),
            Self::NoReauthentication => t.text("why-no-reauthentication"),
            Self::NotForThisService => t.text("why-not-for-service"),
            Self::InTrouble => t.text("why-in-trouble"),
            Self::Off => t.text("why-off"),
            Self::Blocked => t.text("why-blocked"),
            Self::Message(message) => message.clone(),
        }
    }
}
