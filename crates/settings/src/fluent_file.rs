//! Parses the syntax of a Fluent file into a [`SourceFile`], whose keys are the messages.

use std::collections::BTreeMap;
use std::path::Path;

use figment::value::{Dict, Value};

use super::diagnostic::Diagnostic;
use super::diagnostic::file_diagnostic;
use super::source_file::SourceFile;
use super::toml_values::line_number;

/// Parses Fluent text. `file` is only used in messages.
///
/// # Errors
/// Returns a diagnostic at the first line that is not valid, or that repeats a key.
pub(crate) fn parse_fluent(file: &Path, text: &str) -> Result<SourceFile, Diagnostic> {
    let at = |line, key: &str, message: &str, fix: &str| Diagnostic {
        line: Some(line),
        key: key.to_owned(),
        ..file_diagnostic(file, message, fix)
    };
    if let Err((_, errors)) = fluent_syntax::parser::parse_runtime(text) {
        let start = errors.iter().map(|error| error.pos.start).min().unwrap_or_default();
        let fix = "write `key = text`, and continue a text on lines that begin with a space";
        return Err(at(line_number(text, start), "", "is not valid Fluent at this line", fix));
    }
    let mut messages: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    let mut current = None;
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#')) {
        // Only a key begins at the first character of a line.
        let key = line.split_once('=').map(|(key, _)| key.trim_ascii_end());
        if let Some(key) = key.filter(|_| !line.starts_with([' ', '}', '[', '*', '.'])) {
            let fix = "keep one of the two texts";
            if messages.insert(key, (number, String::new())).is_some() {
                return Err(at(number, key, "has two texts", fix));
            }
            current = Some(key);
        }
        if let Some((_, source)) = current.and_then(|key| messages.get_mut(key)) {
            source.push_str(line.trim_ascii_end());
            source.push('\n');
        }
    }
    let lines = messages.iter().map(|(key, (line, _))| ((*key).to_owned(), *line)).collect();
    let value = |source: String| Value::from(source.trim_ascii_end());
    let values: Dict =
        messages.into_iter().map(|(key, (_, source))| (key.to_owned(), value(source))).collect();
    Ok(SourceFile::from_values(file, text, values, lines))
}
