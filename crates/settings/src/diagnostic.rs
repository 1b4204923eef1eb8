//! Findings about the configuration, each with its place, a message and a fix.
//!
//! No text contains a value from a file or from the environment, since any value may be a secret in
//! the wrong place. Only names (keys, client ids, connectors, scopes) are repeated.

use std::fmt;
use std::path::Path;

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
    pub fn to_single_line(&self) -> String {
        format!("{}; {}", self.located_message(), self.fix)
    }

    /// Returns what is wrong, with its place.
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

/// A diagnostic of a key, before the file and line are known.
#[derive(Clone, PartialEq, Eq, Debug, derive_more::Display, derive_more::Error)]
#[display("{key}: {message}; fix: {fix}")]
pub struct FieldDiagnostic {
    /// Path of the key, within the file or within a table: `kind.oidc.issuer`, `message.fr`.
    pub key: String,
    /// What is wrong, as a predicate of the key.
    pub message: String,
    /// How to fix it.
    pub fix: String,
}

impl FieldDiagnostic {
    /// Creates a diagnostic at `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), fix: fix.into() }
    }

    /// Returns the diagnostic with its key relative to the table that contains `table`.
    #[must_use]
    pub fn within(self, table: &str) -> Self {
        Self { key: format!("{table}.{}", self.key), ..self }
    }
}

/// Error of a constructor, which does not know the key of its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueError {
    /// What is wrong, as a predicate of the key.
    pub message: String,
    /// How to fix it.
    pub fix: String,
}

impl ValueError {
    /// Creates an error.
    pub fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { message: message.into(), fix: fix.into() }
    }

    /// Returns the error of the value at `key`.
    pub fn at(self, key: impl Into<String>) -> FieldDiagnostic {
        FieldDiagnostic { key: key.into(), message: self.message, fix: self.fix }
    }

    /// Returns the error of a whole file.
    pub fn in_file(self, file: &Path) -> Diagnostic {
        file_diagnostic(file, self.message, self.fix)
    }
}

/// Creates a diagnostic about a whole file.
pub fn file_diagnostic(
    file: &Path,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> Diagnostic {
    Diagnostic {
        file: file.display().to_string(),
        line: None,
        key: String::new(),
        message: message.into(),
        fix: fix.into(),
    }
}
