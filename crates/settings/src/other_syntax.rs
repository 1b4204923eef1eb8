//! Recognizes YAML and JSON in a file that should be TOML.

/// A syntax that operators write in place of TOML.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OtherSyntax {
    Yaml,
    Json,
}

impl OtherSyntax {
    /// Returns what is wrong with the file, and what to type.
    pub(crate) const fn message_and_fix(self) -> (&'static str, &'static str) {
        match self {
            Self::Yaml => (
                "is YAML, not TOML",
                "write key = \"value\" instead of key: value, and [table] above the keys of a table",
            ),
            Self::Json => (
                "is JSON, not TOML",
                "remove the outer braces and the commas at line ends, and write key = \"value\" instead of \"key\": \"value\"",
            ),
        }
    }
}

/// Returns the syntax of a text that is not valid TOML, by its first line that is no comment.
pub(crate) fn other_syntax(text: &str) -> Option<OtherSyntax> {
    let mut lines = text.lines().map(str::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'))?;
    if first.starts_with('{') || matches!(first, "[" | "[{") {
        return Some(OtherSyntax::Json);
    }
    let is_word = |key: &str| {
        !key.is_empty()
            && key.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'))
    };
    let is_mapping = first
        .split_once(':')
        .is_some_and(|(key, rest)| is_word(key) && (rest.is_empty() || rest.starts_with(' ')));
    let is_yaml = is_mapping || first == "---" || first.starts_with("- ") || first.starts_with('%');
    is_yaml.then_some(OtherSyntax::Yaml)
}
