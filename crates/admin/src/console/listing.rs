//! Searches and pages a long list by the query of its URL, so that the page needs no script.

use serde::Serialize;
use url::form_urlencoded;

/// Rows of one page.
const ROWS_PER_PAGE: usize = 50;
/// Maximum number of characters of a search.
const MAX_SEARCH_CHARS: usize = 100;

/// What an operator searches in a list, and which page of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct TableQuery {
    /// Text that a row contains, in lower case; empty for all rows.
    pub text: String,
    /// Number of the page, from 1; 0 is the first, too.
    page: usize,
}

/// A page of a list.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct TablePage<T> {
    pub rows: Vec<T>,
    /// Number of rows of all pages.
    pub total: usize,
    /// From 1.
    pub page: usize,
    pub pages: usize,
    /// What was searched.
    #[serde(skip)]
    pub text: String,
}

impl TableQuery {
    /// Reads `q` and `page` from the query of a URL.
    pub(super) fn parse(query: &str) -> Self {
        let mut parsed = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "q" => {
                    let text = fold_case(value.trim_ascii());
                    parsed.text = text.chars().take(MAX_SEARCH_CHARS).collect();
                }
                "page" => parsed.page = value.parse().unwrap_or_default(),
                _ => {}
            }
        }
        parsed
    }

    /// Returns whether one of a row's texts contains what is searched.
    pub(super) fn matches<'a>(&self, mut texts: impl Iterator<Item = &'a str>) -> bool {
        texts.any(|text| fold_case(text).contains(&self.text))
    }

    /// Returns the page of these rows; the last one if there are fewer.
    pub(super) fn select<T>(&self, rows: Vec<T>) -> TablePage<T> {
        let total = rows.len();
        let pages = total.div_ceil(ROWS_PER_PAGE).max(1);
        let page = self.page.clamp(1, pages);
        let rows = rows.into_iter().skip((page - 1) * ROWS_PER_PAGE).take(ROWS_PER_PAGE);
        TablePage { rows: rows.collect(), total, page, pages, text: self.text.clone() }
    }
}

#[expect(clippy::disallowed_methods, reason = "names are text that people write")]
fn fold_case(text: &str) -> String {
    text.to_lowercase()
}

impl<T> TablePage<T> {
    /// Returns the page with other rows.
    pub(super) fn map<U>(self, convert: impl Fn(T) -> U) -> TablePage<U> {
        let Self { rows, total, page, pages, text } = self;
        TablePage { rows: rows.into_iter().map(convert).collect(), total, page, pages, text }
    }

    /// Returns the query of the page before this one.
    pub(super) fn previous_link(&self) -> Option<String> {
        (self.page > 1).then(|| self.link(self.page - 1))
    }

    /// Returns the query of the page after this one.
    pub(super) fn next_link(&self) -> Option<String> {
        (self.page < self.pages).then(|| self.link(self.page + 1))
    }

    fn link(&self, page: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("q", &self.text).append_pair("page", &page.to_string());
        format!("?{}", query.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_searched_and_paged_by_the_query() {
        let rows = |query: &str| {
            let query = TableQuery::parse(query);
            let rows: Vec<String> = (0..300).map(|number| format!("Provider {number}")).collect();
            let found = rows.into_iter().filter(|row| query.matches([row.as_str()].into_iter()));
            query.select(found.collect())
        };
        let first = rows("");
        assert_eq!((first.rows.len(), first.total, first.page, first.pages), (50, 300, 1, 6));
        assert_eq!(
            (first.previous_link(), first.next_link().as_deref()),
            (None, Some("?q=&page=2"))
        );
        let last = rows("page=99&q=PROVIDER");
        assert_eq!((last.page, last.rows[0].as_str()), (6, "Provider 250"));
        assert_eq!(last.previous_link().as_deref(), Some("?q=provider&page=5"));
        let one = rows("q=%20vider+299+");
        assert_eq!((one.total, one.rows[0].as_str()), (1, "Provider 299"));
        assert_eq!(rows("q=%3Cscript%3E&page=-1").total, 0);
    }
}
