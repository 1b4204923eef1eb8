//! Collects what is wrong with one file.

use std::ops::RangeInclusive;
use std::path::Path;

use super::references::read_pem;
use super::{
    Diagnostic, FieldDiagnostic, SecretContext, SecretRef, SourceFile, ValueError, safe_read,
    secrets,
};
use passerelle_protocol::ids::Secret;

/// Maximum of every rate per minute.
pub const MAX_RATE_PER_MINUTE: u32 = 10_000_000;

/// The check of one file, or of one table of it: adds a diagnostic for each value that breaks a
/// rule. Keys are relative to the table.
pub struct FileCheck<'a> {
    /// The file.
    pub source: &'a SourceFile,
    /// Path of the table; empty for the whole file.
    table: String,
    /// What was found so far, in all files.
    pub problems: &'a mut Vec<Diagnostic>,
}

impl<'a> FileCheck<'a> {
    /// Creates the check of a whole file.
    pub const fn new(source: &'a SourceFile, problems: &'a mut Vec<Diagnostic>) -> Self {
        Self { source, table: String::new(), problems }
    }

    /// Returns the check of the table at `key`.
    pub fn table(&mut self, key: &str) -> FileCheck<'_> {
        FileCheck { source: self.source, table: self.path(key), problems: self.problems }
    }

    /// Returns the path of a key in the file; the empty key is the table itself.
    pub fn path(&self, key: &str) -> String {
        match (self.table.as_str(), key) {
            ("", _) => key.to_owned(),
            (table, "") => table.to_owned(),
            (table, _) => format!("{table}.{key}"),
        }
    }

    /// Reports a problem at a key.
    pub fn report(&mut self, key: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.problems.push(self.source.diagnostic(&self.path(key), message, fix));
    }

    /// Reports each key that is set.
    pub fn report_each_set(
        &mut self,
        keys: impl IntoIterator<Item = (&'static str, bool)>,
        message: &str,
        fix: &str,
    ) {
        for (key, _) in keys.into_iter().filter(|(_, is_set)| *is_set) {
            self.report(key, message, fix);
        }
    }

    /// Reports a problem whose key is relative to the table.
    pub fn add(&mut self, found: FieldDiagnostic) {
        self.report(&found.key, found.message, found.fix);
    }

    /// Returns the value; reports the rule that it breaks, and returns `None`.
    pub fn accept<T>(&mut self, key: &str, parsed: Result<T, ValueError>) -> Option<T> {
        parsed.map_err(|error| self.add(error.at(key))).ok()
    }

    /// Returns what was read; reports why it can't be read, and returns `None`.
    pub fn collect<T>(&mut self, read: Result<T, Diagnostic>) -> Option<T> {
        read.map_err(|problem| self.problems.push(problem)).ok()
    }

    /// Reports a number outside of a range that another value sets. The range of a type is stated
    /// beside it, by `#[schemars(range(…))]`.
    pub fn check_range(&mut self, key: &str, value: u64, range: RangeInclusive<u64>) {
        if !range.contains(&value) {
            let fix = format!("write a number from {} to {}", range.start(), range.end());
            self.report(key, "is out of range", fix);
        }
    }

    /// Reports each entry that is not a host.
    pub fn check_hosts(&mut self, key: &str, hosts: &[String]) {
        let fix = "write a host name or an IP address, without scheme, port or path";
        for (index, _) in
            hosts.iter().enumerate().filter(|(_, host)| url::Host::parse(host).is_err())
        {
            self.report(&format!("{key}[{index}]"), "is not a host", fix);
        }
    }

    /// Reports a missing or unreadable file. `path` is relative to `folder`.
    pub fn check_file(&mut self, key: &str, folder: &Path, path: &Path) {
        self.accept(key, safe_read::check_named_file(&folder.join(path)));
    }

    /// Reads a PEM file of certificates, relative to `folder`; reports why it can't be used, and
    /// returns `None`.
    pub fn read_pem(&mut self, key: &str, file: &Path, folder: &Path) -> Option<String> {
        self.accept(key, read_pem(&folder.join(file)))
    }

    /// Reads the secret behind a reference; reports why it leads to no secret, and returns `None`.
    pub fn resolve_secret(
        &mut self,
        key: &str,
        reference: &SecretRef,
        context: &SecretContext<'_>,
    ) -> Option<Secret<String>> {
        let read = secrets::resolve_secret(self.source, &self.path(key), reference, context);
        self.collect(read)
    }
}
