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
    /// The normalized words of all names and search terms, each preceded by a space.
    words: String,
}

impl ProviderDisplay {
    /// Creates display data, indexing the names and further terms for the search.
    pub fn new(
        name: Arc<BTreeMap<String, String>>,
        search_terms: &[String],
        category: Option<String>,
        logo: Option<Logo>,
    ) -> Self {
        let mut words = String::new();
        for word in name.values().chain(search_terms).flat_map(|name| search_words(name)) {
            words.push(' ');
            words.push_str(&word);
        }
        Self { name, category, logo, words }
    }

    /// Returns true if each word of the query is a prefix of a word of a name in any language, or of
    /// a search term, apart from one wrong letter if the query forgives it.
    pub fn matches(&self, query: &SearchQuery) -> bool {
        let is_near = |wanted: &str| self.words.split(' ').any(|word| is_near_prefix(wanted, word));
        query.words.iter().all(|wanted| {
            self.words.contains(wanted.as_str())
                || (query.forgives_typos && is_near(wanted.trim_ascii()))
        })
    }
}

/// A normalized search query. Case, accents and apostrophes don't matter: `impots` finds `Impôts`,
/// and both `d epargne` and `depargne` find `d’Épargne`. Only the beginning of a long query counts,
/// which bounds the time of a search among hundreds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchQuery {
    words: Vec<String>,
    forgives_typos: bool,
}

impl SearchQuery {
    /// Normalizes a query. Returns `None` if it contains no word.
    pub fn parse(text: &str) -> Option<Self> {
        // The leading space matches the start of a word only.
        let text: String = text.chars().take(MAX_QUERY_CHARS).collect();
        let words: Vec<String> = split_words(&normalize(&text), is_letter)
            .take(MAX_QUERY_WORDS)
            .map(|word| format!(" {word}"))
            .collect();
        (!words.is_empty()).then_some(Self { words, forgives_typos: false })
    }

    /// Forgives one wrong letter in each word of four letters or more.
    #[must_use]
    pub fn with_typos_forgiven(self) -> Self {
        Self { forgives_typos: true, ..self }
    }
}

/// Characters of a search query that count, as the page's field has at most.
const MAX_QUERY_CHARS: usize = 64;

/// Words of a search query that count.
const MAX_QUERY_WORDS: usize = 8;

/// Shortest word in which one wrong letter is forgiven.
const MIN_LENGTH_WITH_TYPO: usize = 4;

/// Returns whether one letter changed, added, left out or swapped with its neighbour makes `wanted`
/// a prefix of `word`. Takes a time linear in the length.
fn is_near_prefix(wanted: &str, word: &str) -> bool {
    if wanted.chars().count() < MIN_LENGTH_WITH_TYPO {
        return false;
    }
    let common = wanted.chars().zip(word.chars()).take_while(|(a, b)| a == b);
    let common: usize = common.map(|(letter, _)| letter.len_utf8()).sum();
    let (wanted, word) = (wanted.get(common..).unwrap_or(""), word.get(common..).unwrap_or(""));
    let [wanted_1, wanted_2] = [1, 2].map(|count| without_letters(wanted, count));
    let [word_1, word_2] = [1, 2].map(|count| without_letters(word, count));
    let is_swapped =
        || wanted.chars().take(2).eq(word_1.chars().take(1).chain(word.chars().take(1)));
    word_1.starts_with(wanted_1)
        || word.starts_with(wanted_1)
        || word_1.starts_with(wanted)
        || (is_swapped() && word_2.starts_with(wanted_2))
}

/// Returns the text without its first letters.
fn without_letters(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or("", |(at, _)| text.get(at..).unwrap_or(""))
}

/// Returns the letter under which a name stands in an index: its first one, without accents, or `0`
/// for every digit.
#[expect(clippy::disallowed_methods, reason = "names are text that people write, in any script")]
pub fn index_letter(name: &str) -> Option<char> {
    let first: String = name.chars().filter(|c| is_letter(*c)).take(1).collect();
    let letter = normalize(&first).chars().next()?;
    if letter.is_numeric() { Some('0') } else { letter.to_uppercase().next() }
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
        ProviderDisplay::new(Arc::new(name), &["DGFiP".into(), "Steuern".into()], None, None)
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
            (&heart, "dgfip", true),
            (&heart, "stra steu", true),
        ] {
            assert_eq!(entry.matches(&SearchQuery::parse(query).unwrap()), is_found, "{query}");
        }
        for (entry, query, is_near) in [
            (&bank, "epargne", true),
            (&bank, "epergne", true),
            (&bank, "epargnes", true),
            (&bank, "eparrgne", true),
            (&bank, "epagne", true),
            (&bank, "eprgne", true),
            (&bank, "peargne", true),
            (&bank, "xpargne", true),
            (&bank, "eparnge casise", true),
            (&bank, "epragen", false),
            (&bank, "eaprgen", false),
            (&bank, "cax", false),
            (&bank, "caxs", true),
            (&bank, "banque", false),
            (&heart, "couer", true),
            (&heart, "strase", true),
        ] {
            let query = SearchQuery::parse(query).unwrap().with_typos_forgiven();
            assert_eq!(entry.matches(&query), is_near, "{query:?}");
        }
        for nothing in ["", "  ", "’", " - "] {
            assert_eq!(SearchQuery::parse(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn search_as_denial_of_service_is_stopped() {
        let longest = SearchQuery::parse(&"é* %_ ".repeat(50_000)).unwrap();
        assert_eq!(longest.words.len(), MAX_QUERY_WORDS);
        let word = SearchQuery::parse(&"\u{fdfa}".repeat(50_000)).unwrap();
        assert!(word.words.iter().map(String::len).sum::<usize>() < MAX_QUERY_CHARS * 64);
        // A wildcard is no letter.
        for wildcards in ["*", "%%%%", ".*", "?_"] {
            assert_eq!(
                SearchQuery::parse(wildcards).map(|query| query.words.len()),
                None,
                "{wildcards}"
            );
        }
    }

    #[test]
    fn names_stand_under_their_first_letter() {
        for (name, letter) in [
            ("Écoles", Some('E')),
            ("« œuvres »", Some('O')),
            ("3e âge", Some('0')),
            ("ßtern", Some('S')),
            ("жизнь", Some('Ж')),
            ("…", None),
        ] {
            assert_eq!(index_letter(name), letter, "{name}");
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
