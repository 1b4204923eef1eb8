//! Prepares what the choice page shows of a connector when its file is read: names, category, logo
//! and search words. Requests neither normalize nor sort.

use std::collections::BTreeMap;
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::localized_text::text_in_language;
use super::logo::Logo;
use passerelle_protocol::ids::ConnectorId;

/// Display data of one connector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderDisplay {
    /// Display name, by language.
    pub name: Arc<BTreeMap<String, String>>,
    /// Id of the category; `[choice] categories` may not contain it.
    pub category: Option<String>,
    /// The logo.
    pub logo: Option<Logo>,
    /// The normalized words of all names, each preceded by a space.
    words: String,
}

impl ProviderDisplay {
    /// Creates display data, indexing the names for the search.
    pub fn new(
        name: Arc<BTreeMap<String, String>>,
        category: Option<String>,
        logo: Option<Logo>,
    ) -> Self {
        let mut words = String::new();
        for word in name.values().flat_map(|name| search_words(name)) {
            words.push(' ');
            words.push_str(&word);
        }
        Self { name, category, logo, words }
    }

    /// Returns true if each word of the query is a prefix of a word of a name in any language.
    pub fn matches(&self, query: &SearchQuery) -> bool {
        query.0.iter().all(|wanted| self.words.contains(wanted.as_str()))
    }
}

/// A normalized search query. Case, accents and apostrophes don't matter: `impots` finds `Impôts`,
/// and both `d epargne` and `depargne` find `d’Épargne`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchQuery(Vec<String>);

impl SearchQuery {
    /// Normalizes a query. Returns `None` if it contains no word.
    pub fn parse(text: &str) -> Option<Self> {
        // The leading space matches the start of a word only.
        let words: Vec<String> =
            split_words(&normalize(text), is_letter).map(|word| format!(" {word}")).collect();
        (!words.is_empty()).then_some(Self(words))
    }
}

/// Connector ids sorted by name, in each language.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SortedProviders(BTreeMap<String, Vec<ConnectorId>>);

impl SortedProviders {
    /// Sorts connectors by name in each language of their names.
    pub fn new<'a>(
        connectors: impl Iterator<Item = (&'a ConnectorId, &'a ProviderDisplay)> + Clone,
    ) -> Self {
        let mut sorted = Self::default();
        for language in connectors.clone().flat_map(|(_, display)| display.name.keys()) {
            if !sorted.0.contains_key(language) {
                let named = connectors.clone().map(|(id, display)| {
                    (normalize(text_in_language(&display.name, language)), id.clone())
                });
                let mut named: Vec<_> = named.collect();
                named.sort();
                sorted.0.insert(language.clone(), named.into_iter().map(|(_, id)| id).collect());
            }
        }
        sorted
    }

    /// Returns every connector in the order of `language`, or of another language if no name is in
    /// it.
    pub fn in_language(&self, language: &str) -> &[ConnectorId] {
        self.0.get(language).or_else(|| self.0.values().next()).map_or(&[], Vec::as_slice)
    }
}

/// Returns the words of a name. A word with an apostrophe is also included without it.
fn search_words(name: &str) -> Vec<String> {
    let normalized = normalize(name);
    let apart = split_words(&normalized, is_letter).map(str::to_owned);
    let with_apostrophe = split_words(&normalized, |c| is_letter(c) || is_apostrophe(c))
        .filter(|word| word.contains(is_apostrophe));
    let whole = with_apostrophe.map(|word| word.replace(is_apostrophe, ""));
    apart.chain(whole).collect()
}

fn split_words(text: &str, is_inside: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(move |c| !is_inside(c)).filter(|part| !part.is_empty())
}

#[expect(clippy::disallowed_methods, reason = "names are text that people write, in any script")]
fn is_letter(c: char) -> bool {
    c.is_alphanumeric()
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’' | '‘' | 'ʼ')
}

/// Converts to lower case, removes accents, and expands ligatures that Unicode does not decompose.
#[expect(clippy::disallowed_methods, reason = "names are text that people write, in any script")]
fn normalize(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    for c in text.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase) {
        match c {
            'œ' => normalized.push_str("oe"),
            'æ' => normalized.push_str("ae"),
            'ß' => normalized.push_str("ss"),
            'ø' => normalized.push('o'),
            'ł' => normalized.push('l'),
            'đ' => normalized.push('d'),
            other => normalized.push(other),
        }
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    fn display(names: &[(&str, &str)]) -> ProviderDisplay {
        let name = names
            .iter()
            .map(|(language, name)| ((*language).to_owned(), (*name).to_owned()))
            .collect();
        ProviderDisplay::new(Arc::new(name), None, None)
    }

    #[test]
    fn search_by_table() {
        let bank = display(&[("fr", "Caisse d’Épargne"), ("en", "Savings bank")]);
        let heart = display(&[("fr", "Sacré-Cœur de l'Île"), ("de", "Straße 12")]);
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
            assert_eq!(entry.matches(&SearchQuery::parse(query).unwrap()), is_found, "{query}");
        }
        for nothing in ["", "  ", "’", " - "] {
            assert_eq!(SearchQuery::parse(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn names_are_in_order_in_each_language() {
        let connectors = [
            (ConnectorId::from("a"), display(&[("fr", "Zoé"), ("en", "Alpha")])),
            (ConnectorId::from("b"), display(&[("fr", "École")])),
            (ConnectorId::from("c"), display(&[("fr", "étang"), ("en", "beta")])),
        ];
        let sorted = SortedProviders::new(connectors.iter().map(|(id, display)| (id, display)));
        let seen = |language| {
            sorted.in_language(language).iter().map(ConnectorId::as_str).collect::<Vec<_>>()
        };
        assert_eq!(seen("fr"), ["b", "c", "a"]);
        assert_eq!(seen("en"), ["a", "c", "b"]);
        assert_eq!(seen("de").len(), 3, "all of them, in any order");
        assert_eq!(SortedProviders::default().in_language("fr"), [] as [ConnectorId; 0]);
    }
}
