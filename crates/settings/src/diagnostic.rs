//! Findings about the configuration, each with its place, a message and a fix.
//!
//! No text contains a value from a file or from the environment, since any value may be a secret in
//! the wrong place. Only names (keys, client ids, connectors, scopes) are repeated.

use std::fmt;

use serde::Serialize;

/// A finding about the configuration.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Diagnostic {
    /// Path of the file as the operator gave it, or `environment`.
    pub file: String,
    /// Line number, from 1; `None` for a missing file or a variable.
    pub line: Option<usize>,
    /// Path of the key (`public.listen`, `secrets[0].env`) or the variable's name; empty for the
    /// whole file.
    pub key: String,
    /// What is wrong, as a predicate of the key: `is missing`.
    pub message: String,
    /// How to fix it.
    pub fix: String,
}

impl Diagnostic {
    /// Returns the finding as a single line, for logs.
    #[must_use]
    pub fn to_single_line(&self) -> String {
        format!("{}; {}", self.located_message(), self.fix)
    }

    /// Returns what is wrong, with its place.
    #[must_use]
    pub fn located_message(&self) -> String {
        let line = self.line.map_or_else(String::new, |line| format!(":{line}"));
        let key = if self.key.is_empty() { String::new() } else { format!("{} ", self.key) };
        format!("{}{line} {key}{}", self.file, self.message)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}\n  fix: {}", self.message, self.fix)
    }
}

/// How to fix a key that names a missing file.
pub const CREATE_FILE: &str = "create the file; the path is relative to the configuration folder";

impl Diagnostic {
    /// Returns the finding of a check without `--config`, which takes the folder of the checked
    /// file for the configuration folder. Its fix says so if it mentions that folder.
    #[must_use]
    pub fn without_config_folder(mut self) -> Self {
        if self.fix.contains("configuration folder") {
            self.fix += "; because --config is missing, that is the folder of this file";
        }
        self
    }
}

/// A diagnostic relative to a table, before the file and line are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldDiagnostic {
    /// Key within the table: `until`, `message.fr`.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub fix: String,
}

impl FieldDiagnostic {
    /// Creates a diagnostic at `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), fix: fix.into() }
    }
}

impl fmt::Display for FieldDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; fix: {}", self.key, self.message, self.fix)
    }
}

/// What is wrong with a value and how to fix it, before the key is known.
pub type MessageAndFix = (&'static str, &'static str);
