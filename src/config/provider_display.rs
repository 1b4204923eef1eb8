//! What the choice page shows of a connector, prepared when its file is read: names, category, logo, and the words
//! under which it is found. Nothing here is folded or sorted while somebody waits for a page.
//!
//! Owns: the folding of names for the search, and the order by name in each language. Must not know: pages, requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::connectors::ConfiguredConnector;
use super::logo::Logo;
use super::text::in_language;
use crate::ids::ConnectorId;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// For people, by language.
    pub name: Arc<BTreeMap<String, String>>,
    /// As `[choice] categories` may know it.
    pub category: Option<String>,
    pub logo: Option<Logo>,
    /// The folded words of all names, each after a blank.
    words: String,
}

impl Shown {
    #[must_use]
    pub fn of(connector: &ConfiguredConnector) -> Self {
        let file = &connector.file;
        Self::new(Arc::new(file.name.clone()), file.category.clone(), connector.logo.clone())
    }

    #[must_use]
    pub fn new(
        name: Arc<BTreeMap<String, String>>,
        category: Option<String>,
        logo: Option<Logo>,
    ) -> Self {
        let mut words = String::new();
        for word in name.values().flat_map(|name| indexed(name)) {
            words.push(' ');
            words.push_str(&word);
        }
        Self { name, category, logo, words }
    }

    /// True if each word of the query begins a word of a name, in whatever language.
    #[must_use]
    pub fn is_found_by(&self, query: &Query) -> bool {
        query.0.iter().all(|wanted| self.words.contains(wanted.as_str()))
    }
}

/// What somebody searches for, folded once. It forgives case, accents and apostrophes: `impots` finds `Impôts`, and both
/// `d epargne` and `depargne` find `d’Épargne`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query(Vec<String>);

impl Query {
    /// `None` when there is nothing to search for.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        // The blank in front is what makes it the beginning of a word.
        let words: Vec<String> =
            parts(&folded(text), is_letter).map(|word| format!(" {word}")).collect();
        (!words.is_empty()).then_some(Self(words))
    }
}

/// Connectors by name, in each language that a name is in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lineup(BTreeMap<String, Vec<ConnectorId>>);

impl Lineup {
    #[must_use]
    pub fn of<'a>(connectors: impl Iterator<Item = (&'a ConnectorId, &'a Shown)> + Clone) -> Self {
        let mut lineup = Self::default();
        for language in connectors.clone().flat_map(|(_, shown)| shown.name.keys()) {
            if !lineup.0.contains_key(language) {
                let named = connectors
                    .clone()
                    .map(|(id, shown)| (folded(in_language(&shown.name, language)), id.clone()));
                let mut named: Vec<_> = named.collect();
                named.sort();
                lineup.0.insert(language.clone(), named.into_iter().map(|(_, id)| id).collect());
            }
        }
        lineup
    }

    /// Every connector; in another language's order where no name is in this one.
    #[must_use]
    pub fn in_language(&self, language: &str) -> &[ConnectorId] {
        self.0.get(language).or_else(|| self.0.values().next()).map_or(&[], Vec::as_slice)
    }
}

/// Every word of a name; one with an apostrophe whole as well, for people who leave it out.
fn indexed(name: &str) -> Vec<String> {
    let folded = folded(name);
    let apart = parts(&folded, is_letter).map(str::to_owned);
    let with_apostrophe = parts(&folded, |c| is_letter(c) || is_apostrophe(c))
        .filter(|word| word.contains(is_apostrophe));
    let whole = with_apostrophe.map(|word| word.replace(is_apostrophe, ""));
    apart.chain(whole).collect()
}

fn parts(text: &str, is_inside: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(move |c| !is_inside(c)).filter(|part| !part.is_empty())
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric()
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’' | '‘' | 'ʼ')
}

/// Lower case, without accents, ligatures taken apart (those that Unicode's decompositions keep together).
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase) {
        match c {
            'œ' => folded.push_str("oe"),
            'æ' => folded.push_str("ae"),
            'ß' => folded.push_str("ss"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' => folded.push('d'),
            other => folded.push(other),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(names: &[(&str, &str)]) -> Shown {
        let name = names
            .iter()
            .map(|(language, name)| ((*language).to_owned(), (*name).to_owned()))
            .collect();
        Shown::new(Arc::new(name), None, None)
    }

    #[test]
    fn search_by_table() {
        let bank = shown(&[("fr", "Caisse d’Épargne"), ("en", "Savings bank")]);
        let heart = shown(&[("fr", "Sacré-Cœur de l'Île"), ("de", "Straße 12")]);
        for (entry, query, is_found) in [
            (&bank, "epargne", true),
            (&bank, "ÉPARGNE", true),
            (&bank, "d'epargne", true),
            (&bank, "d’épargne caisse", true),
            (&bank, "depargne", true),
            (&bank, "epar cai", true),
            (&bank, "savings", true),
            (&bank, "caisse bank", true),
            (&bank, "pargne", false),
            (&bank, "caisse lyon", false),
            (&bank, "é", true),
            (&heart, "coeur", true),
            (&heart, "cœur ile", true),
            (&heart, "sacre coeur", true),
            (&heart, "strasse 12", true),
            (&heart, "2", false),
        ] {
            assert_eq!(entry.is_found_by(&Query::of(query).unwrap()), is_found, "{query}");
        }
        for nothing in ["", "  ", "’", " - "] {
            assert_eq!(Query::of(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn names_are_in_order_in_each_language() {
        let connectors = [
            (ConnectorId::from("a"), shown(&[("fr", "Zoé"), ("en", "Alpha")])),
            (ConnectorId::from("b"), shown(&[("fr", "École")])),
            (ConnectorId::from("c"), shown(&[("fr", "étang"), ("en", "beta")])),
        ];
        let lineup = Lineup::of(connectors.iter().map(|(id, shown)| (id, shown)));
        let seen = |language| {
            lineup.in_language(language).iter().map(ConnectorId::as_str).collect::<Vec<_>>()
        };
        assert_eq!(seen("fr"), ["b", "c", "a"]);
        assert_eq!(seen("en"), ["a", "c", "b"]);
        assert_eq!(seen("de").len(), 3, "whatever order, but all");
        assert_eq!(Lineup::default().in_language("fr"), [] as [ConnectorId; 0]);
    }
}
