//! Texts that a person reads, by language.

use std::collections::BTreeMap;

use super::problem::Problem;
use super::source::Source;
use super::validity::Flaw;

/// The text in `language`, else in English, else in French, else in whatever there is; empty only for an empty table,
/// which no loaded file has.
#[must_use]
pub fn in_language<'a>(texts: &'a BTreeMap<String, String>, language: &str) -> &'a str {
    let found = [language, "en", "fr"].into_iter().find_map(|tag| texts.get(tag));
    found.or_else(|| texts.values().next()).map_or("", String::as_str)
}

/// At least one language; tags of two or three letters; texts of 1 to 100 characters without control characters.
pub fn check(
    source: &Source,
    key: &str,
    texts: &BTreeMap<String, String>,
    problems: &mut Vec<Problem>,
) {
    if texts.is_empty() {
        problems.push(source.problem(key, "has no language", "write { fr = \"…\", en = \"…\" }"));
    }
    problems.extend(
        flaws(key, texts, 100)
            .into_iter()
            .map(|flaw| source.problem(&flaw.key, flaw.what, flaw.mend)),
    );
}

/// The same for any number of languages and texts of `most` characters, wherever they were written.
pub fn flaws(key: &str, texts: &BTreeMap<String, String>, most: usize) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (tag, text) in texts {
        let key = format!("{key}.{tag}");
        if !(2..=3).contains(&tag.len()) || !tag.bytes().all(|c| c.is_ascii_lowercase()) {
            flaws.push(Flaw::new(
                &key,
                "is not a language",
                "use a language's two letters, as fr or en",
            ));
        }
        flaws.extend(flaw(&key, text, most));
    }
    flaws
}

/// One text of 1 to `most` characters in one line.
pub fn flaw(key: &str, text: &str, most: usize) -> Option<Flaw> {
    let bad =
        text.trim().is_empty() || text.chars().count() > most || text.chars().any(char::is_control);
    let mend = || format!("write 1 to {most} plain characters");
    bad.then(|| Flaw::new(key, "is empty, too long or holds control characters", mend()))
}
