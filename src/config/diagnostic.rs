//! What is wrong with a configuration, said so that it can be mended: file, line, key, fault, remedy.
//!
//! No text here ever holds a value from a file or from the environment, for any of them could be a secret that was
//! put in the wrong place; only names (keys, client ids, connectors, scopes) are repeated.

use std::fmt;

use super::Loaded;
use crate::env::Timestamp;

/// One fault in the configuration.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// The file as the operator reached it, or `environment`.
    pub file: String,
    /// Counted from 1; `None` where the fault is a missing file or a variable.
    pub line: Option<usize>,
    /// Path of the key (`public.listen`, `secrets[0].env`) or the variable's full name; empty for a whole file.
    pub key: String,
    pub what: String,
    pub mend: String,
}

impl Problem {
    /// All of it in one line, for a log and a probe.
    #[must_use]
    pub fn in_line(&self) -> String {
        let line = self.line.map_or_else(String::new, |line| format!(":{line}"));
        let key = if self.key.is_empty() { String::new() } else { format!("{} ", self.key) };
        format!("{}{line} {key}{}; {}", self.file, self.what, self.mend)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}\n  mend: {}", self.what, self.mend)
    }
}

impl Loaded {
    /// Returns what `check` refuses although a hub starts with it: unverified identity providers and exposed secrets.
    pub fn faults(&self) -> impl Iterator<Item = &Problem> {
        self.refused.iter().chain(&self.exposed)
    }

    /// What deserves a line in the log of a start at this moment: [`Self::warnings`], and what the date has made worth one.
    pub fn warnings_at(&self, now: Timestamp) -> impl Iterator<Item = &Problem> {
        let locked_out =
            self.service_providers.values().filter_map(move |client| client.locked_out(now));
        let of_data_providers =
            self.data_providers.values().filter_map(move |client| client.locked_out(now));
        self.warnings.iter().chain(locked_out).chain(of_data_providers)
    }
}

/// What `passerelle check` prints: every problem, or what was loaded and what deserves a second look at this moment.
/// Exposed secrets are problems of a configuration that loads.
#[must_use]
pub fn report(loaded: &Result<Loaded, Vec<Problem>>, now: Timestamp) -> String {
    let mut text = String::new();
    match loaded {
        Ok(loaded) => {
            text += if loaded.faults().next().is_none() {
                "The configuration is valid.\n"
            } else {
                "The files are well formed. The hub starts with them and logs a warning for each problem below.\n"
            };
            text += &format!("  issuer: {}\n", loaded.issuer);
            text += &format!("  service providers: {}\n", names(loaded.service_providers.keys()));
            text += &format!("  data providers: {}\n", names(loaded.data_providers.keys()));
            text += &format!("  connectors: {}\n", names(loaded.connectors.keys()));
            text += &list("problem", &loaded.faults().collect::<Vec<_>>());
            text += &list("warning", &loaded.warnings_at(now).collect::<Vec<_>>());
        }
        Err(problems) => text += &list("problem", &problems.iter().collect::<Vec<_>>()),
    }
    text
}

fn names<T: fmt::Display>(names: impl Iterator<Item = T>) -> String {
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    if names.is_empty() { "none".into() } else { format!("{} ({})", names.len(), names.join(", ")) }
}

fn list(word: &str, problems: &[&Problem]) -> String {
    let mut text = match problems.len() {
        0 => return String::new(),
        1 => format!("\n1 {word}:\n"),
        many => format!("\n{many} {word}s:\n"),
    };
    for problem in problems {
        text += &format!("{problem}\n");
    }
    text
}
