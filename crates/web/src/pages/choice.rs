//! The page on which the user chooses an identity provider.

use askama::filters::Safe;
use url::form_urlencoded::Serializer;

use super::locale::PageMessages as _;
use super::provider_list::{GroupTitle, ProviderGroup, ProviderList};
use super::{Locale, PageChrome, title_with_error};
use crate::theme::support_url::SupportDetails;
use passerelle_federation::session::gate::UnavailableReason;
use passerelle_localization::OperatorText;
use passerelle_protocol::acr::Level;
use passerelle_protocol::catalogue::ErrorCode;

/// The choice page.
///
/// Every form except the search posts `csrf`. Choosing posts `provider` to `…/provider`, cancelling
/// posts to `…/cancel`, forgetting the last choice to `…/forget`.
#[derive(Clone, Debug)]
pub struct ChoicePage {
    /// The login's hash, for the forms' URLs.
    pub interaction: String,
    pub choose_csrf: String,
    pub cancel_csrf: String,
    /// If the list has an account that was used last.
    pub forget_csrf: Option<String>,
    /// Name of the service provider.
    pub service: OperatorText,
    /// Path on this host.
    pub service_logo: Option<String>,
    /// The requested level.
    pub level: Level,
    /// The identity providers that the page shows.
    pub list: ProviderList,
    /// Set after a failed attempt.
    pub banner: Option<FailureBanner>,
    /// `None` if the page knows nothing of e-mail addresses.
    pub email: Option<EmailSearch>,
    /// The operator's advice for users without an account.
    pub no_account: Option<NoAccountAdvice>,
}

/// The operator's advice for users who have none of the accounts, in the page's language.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoAccountAdvice {
    pub text: OperatorText,
    /// Absolute https address, from the configuration.
    pub link: Option<String>,
}

/// How far the search for an account by an e-mail address is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EmailSearch {
    /// The page asks for an address, instead of showing the list. The form posts `email` and `csrf`
    /// to `…/email`.
    Question { csrf: String, is_malformed: bool },
    /// The list has the accounts of this domain only.
    Found { domain: String },
    /// No account has this domain: the list has all.
    Unknown { domain: String },
    /// The list has all, as the user wants.
    List,
}

/// An identity provider that can be chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderOption {
    pub id: String,
    pub name: OperatorText,
    /// Path on this host.
    pub logo: Option<String>,
    /// The page says so beside the name.
    pub failed_recently: bool,
}

/// An identity provider that can't be chosen.
#[derive(Clone, Debug)]
pub struct UnavailableProvider {
    pub name: OperatorText,
    pub reason: UnavailableReason,
    /// The operator's message in the page's language, if a block has one.
    pub block_message: Option<OperatorText>,
}

/// Link to the identity providers whose names begin with a letter.
struct LetterLink {
    label: String,
    url: String,
    is_current: bool,
}

/// Banner about the identity provider of the last, failed attempt.
#[derive(Clone, Debug)]
pub struct FailureBanner {
    pub provider: OperatorText,
    pub code: ErrorCode,
    /// The operator's message for users, in the page's language.
    pub message: Option<OperatorText>,
    pub support_id: String,
}

page_template!(ChoicePage, "choice.html", |page, t| {
    let title = match page.service.as_str() {
        "" => t.text("choice-title"),
        service => t.text_with("choice-title-service", "service", service),
    };
    title_with_error(page.error_text(t), title)
});

impl FailureBanner {
    /// Returns the support's address, with the references of this attempt.
    fn support_link(&self, chrome: &PageChrome<'_>, service: &str) -> Option<String> {
        chrome.theme.support_link(&SupportDetails {
            code: self.code.entry().code,
            support_id: &self.support_id,
            service,
            identity_provider: &self.provider,
        })
    }

    /// Returns the kind of the banner: an alert, or a message if the user stopped the attempt.
    const fn kind(&self) -> BannerKind {
        match self.code {
            ErrorCode::IdpDenied => BannerKind::Stopped,
            ErrorCode::UserCancelled => BannerKind::OtherUser,
            ErrorCode::AcrTooLow
            | ErrorCode::AcrNotRequired
            | ErrorCode::AcrMissing
            | ErrorCode::AcrUnlisted => BannerKind::LessSafe,
            _ => BannerKind::Alert,
        }
    }
}

/// Kind of a banner: how it looks and begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BannerKind {
    /// The attempt failed.
    Alert,
    /// The user stopped at the identity provider.
    Stopped,
    /// The user signed in, less safely than the service asks.
    LessSafe,
    /// The user said that the displayed person is another one.
    OtherUser,
}

impl ChoicePage {
    /// Returns what went wrong before the page was shown.
    fn error_text(&self, t: &Locale) -> Option<String> {
        if let Some(EmailSearch::Question { is_malformed: true, .. }) = self.email {
            return Some(t.text("choice-email-malformed"));
        }
        let banner = self.banner.as_ref()?;
        let with_provider = |key| t.text_with(key, "provider", &banner.provider);
        Some(match banner.kind() {
            BannerKind::Alert => with_provider("choice-banner"),
            BannerKind::Stopped => with_provider("choice-stopped"),
            BannerKind::LessSafe => with_provider("choice-less-safe"),
            BannerKind::OtherUser => t.text("choice-not-me"),
        })
    }

    /// Returns the URL of the choice page without a query.
    fn url(&self, chrome: &PageChrome<'_>) -> String {
        format!("{}/interaction/{}", chrome.base_path, self.interaction)
    }

    /// Returns the URL of the list of all providers.
    fn list_url(&self, url: &str) -> String {
        if self.email.is_some() { format!("{url}?list=all") } else { url.to_owned() }
    }

    /// Returns whether the page shows a part of the list only.
    const fn is_partial(&self) -> bool {
        matches!(self.email, Some(EmailSearch::Found { .. }))
            || self.list.query.is_some()
            || self.list.category.is_some()
            || self.list.letter.is_some()
    }

    /// Returns whether the page links to the question for an address.
    const fn can_ask_again(&self) -> bool {
        matches!(self.email, Some(EmailSearch::List | EmailSearch::Unknown { .. }))
    }

    /// Returns whether the page shows providers, or says that there are none.
    const fn has_list(&self) -> bool {
        !matches!(self.email, Some(EmailSearch::Question { .. })) || self.list.last_used.is_some()
    }

    /// Returns the number of unavailable providers that are not shown.
    fn more_unavailable(&self, t: &Locale) -> Option<String> {
        let total = self.list.more_unavailable;
        (total > 0)
            .then(|| t.text_with_values("choice-unavailable-more", [("total", total.into())]))
    }

    /// Returns the URL of the previous page of the list.
    fn previous(&self, url: &str) -> Option<String> {
        let page = self.list.list_page.filter(|page| page.page > 1)?;
        Some(self.page_url(url, page.page - 1))
    }

    /// Returns the URL of the next page of the list.
    fn next(&self, url: &str) -> Option<String> {
        let page = self.list.list_page.filter(|page| page.page < page.pages)?;
        Some(self.page_url(url, page.page + 1))
    }

    /// Returns the number of providers, if not all are shown or a search was made.
    fn provider_count(&self, t: &Locale) -> Option<String> {
        let list = &self.list;
        let total = || ("total", list.total.into());
        match (list.list_page, &list.query) {
            _ if list.is_empty() => None,
            (Some(page), _) => Some(t.text_with_values(
                "choice-range",
                [("first", page.first.into()), ("last", page.last.into()), total()],
            )),
            (None, Some(_)) => Some(t.text_with_values("choice-found", [total()])),
            (None, None) => list.is_overview.then(|| t.text_with_values("choice-total", [total()])),
        }
    }

    /// Returns the URL of another page of the list.
    fn page_url(&self, url: &str, page: usize) -> String {
        let mut query = Serializer::new(String::new());
        if let Some(text) = &self.list.query {
            query.append_pair("q", text);
        }
        if let Some(category) = &self.list.category {
            query.append_pair("category", category);
        }
        if let Some(letter) = self.list.letter {
            query.append_pair("letter", letter.encode_utf8(&mut [0; 4]));
        }
        query.append_pair("page", &page.to_string());
        format!("{url}?{}", query.finish())
    }

    /// Returns the links to the names that begin with each letter.
    fn letter_links(&self, url: &str) -> Vec<LetterLink> {
        let link = |letter: &char| {
            let value = letter.to_string();
            let query = Serializer::new(String::new()).append_pair("letter", &value).finish();
            LetterLink {
                label: if *letter == '0' { "0–9".to_owned() } else { value },
                url: format!("{url}?{query}"),
                is_current: self.list.letter == Some(*letter),
            }
        };
        self.list.letters.iter().map(link).collect()
    }

    fn level_text(&self, t: &Locale) -> String {
        t.text(match self.level {
            Level::Eidas1 => "level-eidas1",
            Level::Eidas2 => "level-eidas2",
            Level::Eidas3 => "level-eidas3",
        })
    }
}

impl ProviderGroup {
    fn heading(&self, t: &Locale) -> Option<OperatorText> {
        match &self.title {
            GroupTitle::None => None,
            GroupTitle::Category(name) => Some(name.clone()),
            GroupTitle::Others => Some(t.text("choice-others").into()),
        }
    }

    /// Returns the text of the link to all providers of a category.
    fn see_all_text(&self, t: &Locale, total: &usize) -> Safe<String> {
        let category = self.heading(t).unwrap_or_default();
        t.html_with_values(
            "choice-see-category",
            [("total", (*total).into()), ("category", (&*category).into())],
        )
    }
}

impl ProviderOption {
    /// Returns the initials of the first and the last word with a capital letter or a digit, shown
    /// instead of a missing logo.
    #[expect(
        clippy::disallowed_methods,
        reason = "names are text that people write, in any script"
    )]
    fn initials(&self) -> String {
        let initial = |word: &str| word.chars().find(|c| c.is_alphanumeric());
        let is_named = |c: &char| !c.is_lowercase();
        let mut named = self.name.split([' ', '’', '\'', '-']).filter_map(initial).filter(is_named);
        let first = named.next().or_else(|| initial(&self.name));
        first.into_iter().chain(named.next_back()).flat_map(char::to_uppercase).collect()
    }

    /// Returns the number of the colour behind the initials, the same one on every page.
    fn initials_colour(&self) -> u32 {
        self.id.bytes().map(u32::from).sum::<u32>() % INITIALS_COLOURS
    }
}

/// Number of colours behind initials: `.initials0` … of the style sheet.
pub(super) const INITIALS_COLOURS: u32 = 6;

impl UnavailableProvider {
    /// Returns why it can't be chosen.
    fn reason_text(&self, t: &Locale) -> OperatorText {
        let standard = || {
            let key = match self.reason {
                UnavailableReason::ConnectorBlocked
                | UnavailableReason::BlockedForServiceProvider => "why-blocked",
                UnavailableReason::ConnectorUnknown | UnavailableReason::ConnectorDisabled => {
                    "why-off"
                }
                UnavailableReason::ServiceProviderInactive
                | UnavailableReason::ExcludedByServiceProvider => "why-not-for-service",
                UnavailableReason::LevelTooHigh | UnavailableReason::LevelTooLow => "why-too-low",
                UnavailableReason::ReauthenticationUnproven => "why-no-reauthentication",
                UnavailableReason::Down => "why-in-trouble",
            };
            t.text(key).into()
        };
        self.block_message.clone().unwrap_or_else(standard)
    }
}
