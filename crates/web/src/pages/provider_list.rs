//! Selects the identity providers that the choice page shows, out of up to several hundred.
//!
//! Responsible for grouping, search, paging, and the position of the one used last. Does not decide
//! which ones can be chosen.

use std::collections::BTreeSet;

use super::choice::{ProviderOption, UnavailableProvider};
use passerelle_federation::logo::Logo;
use passerelle_federation::provider_display::{ProviderDisplay, SearchQuery, index_letter};
use passerelle_federation::session::gate::UnavailableReason;
use passerelle_localization::{LocalizedStr, OperatorText};

/// An identity provider that the page may show. The candidates are sorted.
#[derive(Clone, Debug)]
pub struct ProviderCandidate<'a> {
    pub id: &'a str,
    /// Name in the page's language.
    pub name: LocalizedStr<'a>,
    pub shown: &'a ProviderDisplay,
    /// Why it can't be chosen; `None` if it can.
    pub unavailable: Option<UnavailableReason>,
    /// The operator's message in the page's language, if a block has one.
    pub block_message: Option<LocalizedStr<'a>>,
    /// The page says so beside the name.
    pub failed_recently: bool,
}

/// A category: its id in URLs, and its name in the page's language.
#[derive(Clone, Copy, Debug)]
pub struct CategoryHeading<'a> {
    pub id: &'a str,
    pub name: LocalizedStr<'a>,
}

/// Query of the choice page. Invalid values are ignored.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// Search text (`q`), as sent.
    pub query: Option<String>,
    /// The id of a category.
    pub category: Option<String>,
    /// The letter with which names begin, as the page's links have it.
    pub letter: Option<char>,
    /// Page number, from 1.
    pub page: usize,
}

/// The identity providers that a page shows.
#[derive(Clone, Debug, Default)]
pub struct ProviderList {
    /// Shown above all others.
    pub last_used: Option<ProviderOption>,
    pub groups: Vec<ProviderGroup>,
    pub unavailable: Vec<UnavailableProvider>,
    /// Number of unavailable ones beyond those shown.
    pub more_unavailable: usize,
    /// Number of available ones that match the query, on all pages.
    pub total: usize,
    /// Set if the list has several pages.
    pub list_page: Option<ProviderListPage>,
    /// Whether the page shows the first entries of each category.
    pub is_overview: bool,
    pub has_search: bool,
    /// The query, if it is valid.
    pub query: Option<String>,
    pub category: Option<String>,
    /// The letters with which names of a long list begin.
    pub letters: BTreeSet<char>,
    /// The letter of the names that the page shows.
    pub letter: Option<char>,
}

/// Identity providers under one heading.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderGroup {
    pub title: GroupTitle,
    pub providers: Vec<ProviderOption>,
    /// Link to the whole category: its id, and its number of providers.
    pub more: Option<(String, usize)>,
}

/// Heading of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GroupTitle {
    /// There is only one group.
    None,
    Category(OperatorText),
    Others,
}

/// Position of a page in a list of several pages. All numbers start at 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProviderListPage {
    pub page: usize,
    pub pages: usize,
    pub first: usize,
    pub last: usize,
}

/// Number of identity providers from which the page has a search box.
const MIN_PROVIDERS_FOR_SEARCH: usize = 8;
/// Identity providers per page, so that a page of 300 stays small.
const MAX_PROVIDERS_PER_PAGE: usize = 24;
/// Identity providers that an overview shows of each category at least.
const MIN_SHOWN_PER_CATEGORY: usize = 2;
/// Unavailable identity providers that the end of the page lists with their reasons.
const MAX_UNAVAILABLE_SHOWN: usize = 6;
/// Id in URLs of those without a category. No category can have this id.
const OTHERS_CATEGORY_ID: &str = "_rest";

/// Returns the list of these candidates. `last_used` is ignored if it can't be chosen.
pub fn build_provider_list(
    candidates: &[ProviderCandidate<'_>],
    headings: &[CategoryHeading<'_>],
    last_used: Option<&str>,
    list_query: &ListQuery,
) -> ProviderList {
    let query = list_query.query.as_deref().and_then(|text| parse_query(text, candidates));
    let category = list_query.category.as_deref().and_then(|id| match id {
        OTHERS_CATEGORY_ID => Some(headings.len()),
        _ => headings.iter().position(|heading| heading.id == id),
    });
    let letters = index_letters(candidates);
    let letter = list_query.letter.filter(|letter| letters.contains(letter));
    let is_match = |candidate: &&ProviderCandidate<'_>| {
        query.as_ref().is_none_or(|query| candidate.shown.matches(query))
            && category.is_none_or(|category| candidate.category_index(headings) == category)
            && letter.is_none_or(|letter| index_letter(&candidate.name) == Some(letter))
    };
    let (mut available, mut unavailable) = (Vec::new(), Vec::new());
    for candidate in candidates.iter().filter(is_match) {
        match candidate.unavailable {
            None => available.push(candidate),
            Some(reason) => unavailable.push(UnavailableProvider {
                name: candidate.name.into(),
                reason,
                block_message: candidate.block_message.map(Into::into),
            }),
        }
    }
    let mut list = ProviderList {
        total: available.len(),
        has_search: candidates.len() >= MIN_PROVIDERS_FOR_SEARCH,
        query: list_query.query.clone().filter(|_| query.is_some()),
        category: list_query.category.clone().filter(|_| category.is_some()),
        letters,
        letter,
        ..ProviderList::default()
    };
    // The one used last is shown at the top only.
    let is_whole = query.is_none() && category.is_none() && letter.is_none();
    let last_used = last_used
        .filter(|_| is_whole)
        .and_then(|id| available.iter().position(|candidate| candidate.id == id));
    let last_used = last_used.map(|at| available.remove(at));

    let mut groups = group_by_category(&available, headings);
    // A category's own page shows all of it.
    let last_used_category = last_used.map(|candidate| candidate.category_index(headings));
    if let Some(group) = groups.iter_mut().find(|group| Some(group.index) == last_used_category) {
        group.total += 1;
    }
    let has_several = groups.len() > 1;
    if available.len() <= MAX_PROVIDERS_PER_PAGE {
        let is_titled = has_several || category.is_some();
        list.groups =
            groups.into_iter().map(|group| group.into_group(usize::MAX, is_titled)).collect();
    } else if is_whole && has_several {
        list.is_overview = true;
        let share = (MAX_PROVIDERS_PER_PAGE / groups.len()).max(MIN_SHOWN_PER_CATEGORY);
        list.groups = groups.into_iter().map(|group| group.into_group(share, true)).collect();
    } else {
        let title = category.map_or(GroupTitle::None, |category| group_title(headings, category));
        list.set_page(&available, title, list_query.page);
    }
    if list.list_page.is_none_or(|page| page.page == 1) {
        list.set_last_used(last_used);
        list.set_unavailable(unavailable);
    }
    list
}

/// Returns the query, which forgives wrong letters if nothing is found otherwise.
fn parse_query(text: &str, candidates: &[ProviderCandidate<'_>]) -> Option<SearchQuery> {
    let query = SearchQuery::parse(text)?;
    let is_found = candidates.iter().any(|candidate| candidate.shown.matches(&query));
    Some(if is_found { query } else { query.with_typos_forgiven() })
}

/// Returns the letters with which names begin, if there are more than one page of them.
fn index_letters(candidates: &[ProviderCandidate<'_>]) -> BTreeSet<char> {
    if candidates.len() <= MAX_PROVIDERS_PER_PAGE {
        return BTreeSet::new();
    }
    let available = candidates.iter().filter(|candidate| candidate.unavailable.is_none());
    available.filter_map(|candidate| index_letter(&candidate.name)).collect()
}

/// The available members of a category, or those without one.
struct CategoryMembers<'a> {
    index: usize,
    id: &'a str,
    title: GroupTitle,
    members: Vec<&'a ProviderCandidate<'a>>,
    /// Number of members, including the one used last.
    total: usize,
}

/// Groups candidates by heading, those without one last. Empty groups are omitted.
fn group_by_category<'a>(
    available: &[&'a ProviderCandidate<'a>],
    headings: &[CategoryHeading<'a>],
) -> Vec<CategoryMembers<'a>> {
    let empty = |at: usize| CategoryMembers {
        index: at,
        total: 0,
        id: headings.get(at).map_or(OTHERS_CATEGORY_ID, |heading| heading.id),
        title: group_title(headings, at),
        members: Vec::new(),
    };
    let mut groups: Vec<CategoryMembers<'a>> = (0..=headings.len()).map(empty).collect();
    for candidate in available {
        if let Some(group) = groups.get_mut(candidate.category_index(headings)) {
            group.members.push(candidate);
            group.total += 1;
        }
    }
    groups.retain(|group| !group.members.is_empty());
    groups
}

fn group_title(headings: &[CategoryHeading<'_>], group: usize) -> GroupTitle {
    headings
        .get(group)
        .map_or(GroupTitle::Others, |heading| GroupTitle::Category(heading.name.into()))
}

impl CategoryMembers<'_> {
    /// Returns the first `share` members, and a link to the others.
    fn into_group(self, share: usize, is_titled: bool) -> ProviderGroup {
        let all = self.members.len();
        // One more entry takes no more space than the link.
        let shown = if all <= share.saturating_add(1) { all } else { share };
        ProviderGroup {
            title: if is_titled { self.title } else { GroupTitle::None },
            providers: self
                .members
                .into_iter()
                .take(shown)
                .map(ProviderOption::from_candidate)
                .collect(),
            more: (shown < all).then(|| (self.id.to_owned(), self.total)),
        }
    }
}

impl ProviderCandidate<'_> {
    /// Returns the index of its heading; `headings.len()` if it has none.
    fn category_index(&self, headings: &[CategoryHeading<'_>]) -> usize {
        let category = self.shown.category.as_deref();
        category
            .and_then(|id| headings.iter().position(|heading| heading.id == id))
            .unwrap_or(headings.len())
    }
}

/// Returns the path of a connector's logo, which can be cached forever.
pub fn connector_logo_path(id: &str, logo: &Logo) -> String {
    format!("/assets/idp/{id}?v={}", logo.version)
}

impl ProviderOption {
    fn from_candidate(candidate: &ProviderCandidate<'_>) -> Self {
        let ProviderCandidate { id, name, shown, failed_recently, .. } = *candidate;
        let logo = shown.logo.as_ref().map(|logo| connector_logo_path(id, logo));
        Self { id: id.to_owned(), name: name.into(), logo, failed_recently }
    }
}

impl ProviderList {
    /// Shows one page of a list.
    fn set_page(&mut self, available: &[&ProviderCandidate<'_>], title: GroupTitle, page: usize) {
        let pages = available.len().div_ceil(MAX_PROVIDERS_PER_PAGE);
        let page = page.clamp(1, pages);
        let before = (page - 1) * MAX_PROVIDERS_PER_PAGE;
        let providers: Vec<ProviderOption> = available
            .iter()
            .skip(before)
            .take(MAX_PROVIDERS_PER_PAGE)
            .map(|candidate| ProviderOption::from_candidate(candidate))
            .collect();
        self.list_page = Some(ProviderListPage {
            page,
            pages,
            first: before + 1,
            last: before + providers.len(),
        });
        self.groups = vec![ProviderGroup { title, providers, more: None }];
    }

    /// Shows the one used last, and gives the list below it a heading.
    fn set_last_used(&mut self, last_used: Option<&ProviderCandidate<'_>>) {
        self.last_used = last_used.map(ProviderOption::from_candidate);
        if let (Some(_), [ProviderGroup { title: title @ GroupTitle::None, .. }]) =
            (&self.last_used, self.groups.as_mut_slice())
        {
            *title = GroupTitle::Others;
        }
    }

    fn set_unavailable(&mut self, mut unavailable: Vec<UnavailableProvider>) {
        // Those that this service never accepts come last: they are the least interesting.
        unavailable.sort_by_key(|provider| {
            matches!(
                provider.reason,
                UnavailableReason::ServiceProviderInactive
                    | UnavailableReason::ExcludedByServiceProvider
            )
        });
        self.more_unavailable = unavailable.len().saturating_sub(MAX_UNAVAILABLE_SHOWN);
        unavailable.truncate(MAX_UNAVAILABLE_SHOWN);
        self.unavailable = unavailable;
    }

    /// Returns whether no available provider matches the query.
    pub const fn is_empty(&self) -> bool {
        self.total == 0
    }
}
