//! Which identity providers a choice page shows, of hundreds perhaps: under which headings, how many of them, and how
//! the others are reached.
//!
//! Owns: grouping, search, paging, the place of the one used last. Must not know: why one can't be chosen, markup.

use super::choice::{Provider, Refusal, Trouble, Unavailable};
use crate::config::shown::{Query, Shown};

/// An identity provider that the page may show, in the order of all.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    pub id: &'a str,
    /// In the page's language.
    pub name: &'a str,
    pub shown: &'a Shown,
    /// Why it can't be chosen; `None` when it can.
    pub refusal: Option<Refusal>,
    /// One that had a problem a moment ago, and may be tried.
    pub trouble: Option<Trouble>,
}

/// A category: its id in addresses, and its name in the page's language.
#[derive(Clone, Copy, Debug)]
pub struct Heading<'a> {
    pub id: &'a str,
    pub name: &'a str,
}

/// What the address asks for; anything that makes no sense is as if it were not there.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// What the person searched for (`q`), as sent.
    pub query: Option<String>,
    /// The id of a category.
    pub category: Option<String>,
    /// Counted from 1.
    pub page: usize,
}

/// What a page shows.
#[derive(Clone, Debug, Default)]
pub struct Arrangement {
    /// Above all others.
    pub last_used: Option<Provider>,
    pub groups: Vec<Group>,
    pub unavailable: Vec<Unavailable>,
    /// Unavailable ones beyond those shown.
    pub unavailable_more: usize,
    /// Everything that can be chosen and that was asked for, shown here or not.
    pub total: usize,
    /// Set where the list goes over several pages.
    pub leaf: Option<Leaf>,
    /// Set where the page shows the beginning of each category.
    pub is_overview: bool,
    pub is_search: bool,
    /// As asked, where it made sense.
    pub query: Option<String>,
    pub category: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    pub title: Title,
    pub providers: Vec<Provider>,
    /// Where the rest of it is: a category's id, and how many it holds.
    pub more: Option<(String, usize)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Title {
    /// Nothing to tell it from.
    None,
    Category(String),
    Others,
}

/// One page of several: places counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    pub page: usize,
    pub pages: usize,
    pub first: usize,
    pub last: usize,
}

/// From this many identity providers up there is a search box.
const SEARCH_FROM: usize = 8;
/// A page shows no more of a list, so that 300 identity providers still make a light page.
const SHOWN_AT_MOST: usize = 24;
/// An overview shows of each category at least this many.
const OF_EACH_AT_LEAST: usize = 2;
/// Reasons for those that can't be chosen are given at the end of the page, to no more than these.
const UNAVAILABLE_AT_MOST: usize = 6;
/// In addresses: those without a category. No category can have this id.
const REST: &str = "_rest";

/// The arrangement of these candidates; `last_used` counts only if it can be chosen.
#[must_use]
pub fn arrange(
    candidates: &[Candidate<'_>],
    headings: &[Heading<'_>],
    last_used: Option<&str>,
    asked: &Asked,
) -> Arrangement {
    let query = asked.query.as_deref().and_then(Query::of);
    let category = asked.category.as_deref().and_then(|id| match id {
        REST => Some(headings.len()),
        _ => headings.iter().position(|heading| heading.id == id),
    });
    let is_asked = |candidate: &&Candidate<'_>| {
        query.as_ref().is_none_or(|query| candidate.shown.is_found_by(query))
            && category.is_none_or(|category| candidate.group(headings) == category)
    };
    let (mut available, mut refused) = (Vec::new(), Vec::new());
    for candidate in candidates.iter().filter(is_asked) {
        match &candidate.refusal {
            None => available.push(candidate),
            Some(refusal) => refused.push((candidate, refusal)),
        }
    }
    let mut arrangement = Arrangement {
        total: available.len(),
        is_search: candidates.len() >= SEARCH_FROM,
        query: asked.query.clone().filter(|_| query.is_some()),
        category: asked.category.clone().filter(|_| category.is_some()),
        ..Arrangement::default()
    };
    // The one used last stands above, and not a second time below.
    let is_whole = query.is_none() && category.is_none();
    let last_used = last_used
        .filter(|_| is_whole)
        .and_then(|id| available.iter().position(|candidate| candidate.id == id));
    let last_used = last_used.map(|at| available.remove(at));

    let mut groups = grouped(&available, headings);
    // A category's own page shows all of it.
    let elsewhere = last_used.map(|candidate| candidate.group(headings));
    if let Some(group) = groups.iter_mut().find(|group| Some(group.at) == elsewhere) {
        group.count += 1;
    }
    let several = groups.len() > 1;
    if available.len() <= SHOWN_AT_MOST {
        let is_titled = several || category.is_some();
        arrangement.groups =
            groups.into_iter().map(|group| group.shown(usize::MAX, is_titled)).collect();
    } else if is_whole && several {
        arrangement.is_overview = true;
        let share = (SHOWN_AT_MOST / groups.len()).max(OF_EACH_AT_LEAST);
        arrangement.groups = groups.into_iter().map(|group| group.shown(share, true)).collect();
    } else {
        let title = category.map_or(Title::None, |category| title(headings, category));
        arrangement.show_leaf(&available, title, asked.page);
    }
    if arrangement.leaf.is_none_or(|leaf| leaf.page == 1) {
        arrangement.show_last_used(last_used);
        arrangement.show_refused(refused);
    }
    arrangement
}

/// The members of a category, or of none.
struct Grouped<'a> {
    at: usize,
    id: &'a str,
    title: Title,
    members: Vec<&'a Candidate<'a>>,
    /// With the one that stands elsewhere on the page.
    count: usize,
}

/// Those of each heading, and at last the rest; none is empty.
fn grouped<'a>(available: &[&'a Candidate<'a>], headings: &[Heading<'a>]) -> Vec<Grouped<'a>> {
    let empty = |at: usize| Grouped {
        at,
        count: 0,
        id: headings.get(at).map_or(REST, |heading| heading.id),
        title: title(headings, at),
        members: Vec::new(),
    };
    let mut groups: Vec<Grouped<'a>> = (0..=headings.len()).map(empty).collect();
    for candidate in available {
        if let Some(group) = groups.get_mut(candidate.group(headings)) {
            group.members.push(candidate);
            group.count += 1;
        }
    }
    groups.retain(|group| !group.members.is_empty());
    groups
}

fn title(headings: &[Heading<'_>], group: usize) -> Title {
    headings.get(group).map_or(Title::Others, |heading| Title::Category(heading.name.to_owned()))
}

impl Grouped<'_> {
    /// Its first `share` members, and the way to the others.
    fn shown(self, share: usize, is_titled: bool) -> Group {
        let there = self.members.len();
        // A single one more takes no more room than the link to it.
        let shown = if there <= share.saturating_add(1) { there } else { share };
        Group {
            title: if is_titled { self.title } else { Title::None },
            providers: self.members.into_iter().take(shown).map(Provider::of).collect(),
            more: (shown < there).then(|| (self.id.to_owned(), self.count)),
        }
    }
}

impl Candidate<'_> {
    /// The place of its heading; that after the last is for the rest.
    fn group(&self, headings: &[Heading<'_>]) -> usize {
        let category = self.shown.category.as_deref();
        category
            .and_then(|id| headings.iter().position(|heading| heading.id == id))
            .unwrap_or(headings.len())
    }
}

impl Provider {
    fn of(candidate: &Candidate<'_>) -> Self {
        let Candidate { id, name, shown, trouble, .. } = *candidate;
        let logo = shown.logo.as_ref().map(|logo| format!("/assets/idp/{id}?v={}", logo.version));
        Self { id: id.to_owned(), name: name.to_owned(), logo, trouble }
    }
}

impl Arrangement {
    /// One page of a list.
    fn show_leaf(&mut self, available: &[&Candidate<'_>], title: Title, page: usize) {
        let pages = available.len().div_ceil(SHOWN_AT_MOST);
        let page = page.clamp(1, pages);
        let before = (page - 1) * SHOWN_AT_MOST;
        let providers: Vec<Provider> = available
            .iter()
            .skip(before)
            .take(SHOWN_AT_MOST)
            .map(|candidate| Provider::of(candidate))
            .collect();
        self.leaf = Some(Leaf { page, pages, first: before + 1, last: before + providers.len() });
        self.groups = vec![Group { title, providers, more: None }];
    }

    /// Below it a list needs a heading of its own.
    fn show_last_used(&mut self, last_used: Option<&Candidate<'_>>) {
        self.last_used = last_used.map(Provider::of);
        if let (Some(_), [Group { title: title @ Title::None, .. }]) =
            (&self.last_used, self.groups.as_mut_slice())
        {
            *title = Title::Others;
        }
    }

    fn show_refused(&mut self, mut refused: Vec<(&Candidate<'_>, &Refusal)>) {
        // What this service never takes says least.
        refused.sort_by_key(|(_, refusal)| **refusal == Refusal::NotForThisService);
        self.unavailable_more = refused.len().saturating_sub(UNAVAILABLE_AT_MOST);
        let shown = refused.into_iter().take(UNAVAILABLE_AT_MOST);
        self.unavailable = shown
            .map(|(one, reason)| Unavailable { name: one.name.to_owned(), reason: reason.clone() })
            .collect();
    }

    /// True if nothing that was asked for can be chosen.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.total == 0
    }
}
