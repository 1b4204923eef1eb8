//! Checks and selects texts that users read, by language.

use std::collections::BTreeMap;

use passerelle_settings::{FieldDiagnostic, FileCheck};

/// Returns the text in `language`, else in English, French or any other language. Returns an empty
/// text only for an empty table, which no loaded file contains.
pub fn text_in_language<'a>(texts: &'a BTreeMap<String, String>, language: &str) -> &'a str {
    let found = [language, "en", "fr"].into_iter().find_map(|tag| texts.get(tag));
    found.or_else(|| texts.values().next()).map_or("", String::as_str)
}

/// Maximum length of a name, in characters.
pub const MAX_NAME_CHARS: usize = 100;

/// Requires at least one language, tags of two or three letters, and texts of 1 to `most`
/// characters without control characters.
pub fn check_texts(
    check: &mut FileCheck<'_>,
    key: &str,
    texts: &BTreeMap<String, String>,
    most: usize,
) {
    for found in required_text_diagnostics(key, texts, most) {
        check.add(found);
    }
}

/// Returns the diagnostics of [`text_diagnostics`], and one for a text in no language.
pub(crate) fn required_text_diagnostics(
    key: &str,
    texts: &BTreeMap<String, String>,
    most: usize,
) -> Vec<FieldDiagnostic> {
    let mut diagnostics = text_diagnostics(key, texts, most);
    if texts.is_empty() {
        let fix = "write { fr = \"…\", en = \"…\" }";
        diagnostics.push(FieldDiagnostic::new(key, "has no text in any language", fix));
    }
    diagnostics
}

/// Returns a diagnostic for each invalid language tag and for each text that is not 1 to `most`
/// characters.
pub fn text_diagnostics(
    key: &str,
    texts: &BTreeMap<String, String>,
    most: usize,
) -> Vec<FieldDiagnostic> {
    let mut diagnostics = Vec::new();
    for (tag, text) in texts {
        let key = format!("{key}.{tag}");
        if !(2..=3).contains(&tag.len()) || !tag.bytes().all(|c| c.is_ascii_lowercase()) {
            diagnostics.push(FieldDiagnostic::new(
                &key,
                "is not a language",
                "use a two-letter language code, for example fr or en",
            ));
        }
        diagnostics.extend(text_diagnostic(&key, text, most));
    }
    diagnostics
}

/// Returns a diagnostic unless the text is one line of 1 to `most` characters.
#[expect(clippy::disallowed_methods, reason = "a text of white space of any script shows nothing")]
pub fn text_diagnostic(key: &str, text: &str, most: usize) -> Option<FieldDiagnostic> {
    let bad =
        text.trim().is_empty() || text.chars().count() > most || text.chars().any(char::is_control);
    let fix = || format!("write 1 to {most} printable characters");
    bad.then(|| {
        FieldDiagnostic::new(key, "is empty, too long or contains control characters", fix())
    })
}
