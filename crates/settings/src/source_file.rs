//! One parsed TOML or Fluent file: its values, the line of each key, and diagnostics for values that don't
//! fit.
//!
//! Messages of figment and toml contain values, so only the kind of error and its place are used.

mod named_files;

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use figment::error::Kind as Fault;
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use toml::de::DeTable;

use super::diagnostic::{Diagnostic, FieldDiagnostic, file_diagnostic};
use super::environment::Overlay;
use super::fluent_file::parse_fluent;
use super::other_syntax::other_syntax;
use super::safe_read;
use super::schema_node::{self, SchemaNode, ValueKind};
use super::toml_values::{
    collect_texts, figment_value, index_table, key_path, line_number, remove_at_path, visit_texts,
};
pub use named_files::{CertificateLocation, ReferencedFile};
use passerelle_protocol::digest;

/// A parsed TOML file with the environment variables that override it.
#[derive(Clone, derive_more::Debug)]
#[debug("SourceFile({file:?})")]
pub struct SourceFile {
    file: PathBuf,
    values: Dict,
    /// `public.listen` → line, counted from 1.
    lines: BTreeMap<String, usize>,
    overlay: Overlay,
    /// Schema of the file; `Null` for one whose texts name no file.
    schema: Arc<serde_json::Value>,
    /// SHA-256 of the text.
    hash: [u8; 32],
}

impl SourceFile {
    /// Reads and parses a TOML file.
    ///
    /// # Errors
    /// Returns a diagnostic if the file can't be read or is not valid TOML.
    pub fn read(file: &Path) -> Result<Self, Diagnostic> {
        Self::from_bytes(
            file,
            safe_read::read_regular_file(file).map_err(|error| error.in_file(file))?,
        )
    }

    /// Reads and parses a file of `folder`. Rejects a link out of the folder.
    ///
    /// # Errors
    /// Returns a diagnostic if the file can't be read, is a link out of the folder, or is not valid
    /// TOML.
    pub fn read_in(folder: &Path, file: &Path) -> Result<Self, Diagnostic> {
        Self::from_bytes(file, read_bytes_in(folder, file)?)
    }

    /// Parses the bytes of a file.
    ///
    /// # Errors
    /// Returns a diagnostic if they are not UTF-8, or not valid TOML; for `*.ftl`, not valid Fluent.
    pub fn from_bytes(file: &Path, bytes: Vec<u8>) -> Result<Self, Diagnostic> {
        let not_text = |_| file_diagnostic(file, "the file is not UTF-8 text", "save it as UTF-8");
        let text = String::from_utf8(bytes).map_err(not_text)?;
        let is_fluent = file.extension().is_some_and(|extension| extension == "ftl");
        if is_fluent { parse_fluent(file, &text) } else { Self::parse(file, &text) }
    }

    /// Parses TOML text. `file` is only used in messages.
    ///
    /// # Errors
    /// Returns a diagnostic if the text is not valid TOML.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Diagnostic> {
        let broken = |error: &toml::de::Error, fix: &str| {
            let (message, fix) = match other_syntax(text) {
                Some(syntax) => syntax.message_and_fix(),
                None => ("is not valid TOML at this line", fix),
            };
            let line = error.span().map(|span| line_number(text, span.start));
            Diagnostic { line, ..file_diagnostic(file, message, fix) }
        };
        let spanned = DeTable::parse(text)
            // The parser's messages are fixed texts: they name what is expected, not what was
            // found.
            .map_err(|error| broken(&error, &format!("correct the line: {}", error.message())))?;
        let table: toml::Table = toml::from_str(text)
            .map_err(|error| broken(&error, "write a number or date that TOML allows"))?;
        let mut lines = BTreeMap::new();
        index_table(text, "", spanned.get_ref(), &mut lines);
        let values = table.into_iter().map(|(key, value)| (key, figment_value(value))).collect();
        Ok(Self::from_values(file, text, values, lines))
    }

    /// Creates a file from its parsed values and the line of each key.
    pub(super) fn from_values(
        file: &Path,
        text: &str,
        values: Dict,
        lines: BTreeMap<String, usize>,
    ) -> Self {
        let hash = digest::sha256(text.as_bytes());
        let (overlay, schema) = (Overlay::default(), Arc::default());
        Self { file: file.to_owned(), values, lines, overlay, schema, hash }
    }

    /// Returns the path as the operator gave it, for messages.
    pub fn file(&self) -> impl std::fmt::Display + '_ {
        self.file.display()
    }

    /// Returns the line of a key in the file, counted from 1.
    pub(super) fn line(&self, key: &str) -> Option<usize> {
        self.lines.get(key).copied()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Returns the SHA-256 of the text.
    pub const fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// Returns the values of the file by top-level key, without the overriding variables.
    pub const fn values(&self) -> &Dict {
        &self.values
    }

    /// Returns the file without these top-level keys.
    #[must_use]
    pub fn without_keys<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> Self {
        let mut rest = self.clone();
        for key in keys {
            rest.values.remove(key);
            rest.overlay.values.remove(key);
        }
        rest
    }

    /// Overrides values with environment variables.
    #[must_use]
    pub fn with_overlay(self, overlay: Overlay) -> Self {
        Self { overlay, ..self }
    }

    /// Returns the names of environment variables that `{ env = … }` tables reference, in the file
    /// or in the overlay.
    pub fn referenced_variables(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect_texts(&self.values, &["env"], &mut names);
        collect_texts(&self.overlay.values, &["env"], &mut names);
        names
    }

    /// Returns every text of the file, then of its overlay. Any of them may be the path of a file.
    pub fn all_texts(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, value) in self.values.iter().chain(&self.overlay.values) {
            visit_texts(name, value, &mut |_, text| found.push(text.into()));
        }
        found
    }

    /// Returns the text at a top-level key, unchecked.
    pub fn text_at(&self, key: &str) -> Option<&str> {
        self.overlay.values.get(key).or_else(|| self.values.get(key))?.as_str()
    }

    /// Returns true if the top-level key is in the file or in its overlay.
    pub fn has_key(&self, key: &str) -> bool {
        self.values.contains_key(key) || self.overlay.values.contains_key(key)
    }

    /// Returns the number of keys in a top-level table. An enum written as a table must have
    /// exactly one, but figment accepts several.
    pub fn key_count(&self, table: &str) -> usize {
        self.keys_of_table(table).map_or(0, |keys| keys.len())
    }

    /// Returns the keys of a top-level table; `None` if there is no such table.
    pub fn keys_of_table(&self, table: &str) -> Option<BTreeSet<String>> {
        let tables = [&self.values, &self.overlay.values];
        let mut tables = tables.into_iter().filter_map(|values| values.get(table)?.as_dict());
        let first = tables.next()?;
        Some(first.keys().chain(tables.flat_map(Dict::keys)).cloned().collect())
    }

    /// Creates a diagnostic at `key` (`redirect_uris[1]`) with its line, or with the variable that
    /// sets the key.
    pub fn diagnostic(
        &self,
        key: &str,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Diagnostic {
        let (message, fix) = (message.into(), fix.into());
        let mut place = key;
        loop {
            if let Some(variable) = self.overlay.variables.get(place) {
                return Diagnostic {
                    file: "environment".into(),
                    line: None,
                    key: variable.clone(),
                    message,
                    fix,
                };
            }
            if let Some(line) = self.lines.get(place) {
                let file = self.file.display().to_string();
                return Diagnostic { file, line: Some(*line), key: key.into(), message, fix };
            }
            match place.rfind(['.', '[']) {
                Some(end) => place = place.get(..end).unwrap_or_default(),
                None => {
                    return Diagnostic {
                        key: key.into(),
                        ..file_diagnostic(&self.file, message, fix)
                    };
                }
            }
        }
    }

    /// Returns the diagnostic with the line of its key, or with the variable that sets the key.
    pub fn locate(&self, found: FieldDiagnostic) -> Diagnostic {
        self.diagnostic(&found.key, found.message, found.fix)
    }

    /// Deserializes the file. Reports every error that leaves the rest readable, not only the
    /// first.
    pub fn deserialize<T: DeserializeOwned + JsonSchema + 'static>(
        &self,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<T> {
        self.deserialize_at(&[], schema_node::schema_for::<T>, problems)
    }

    /// Deserializes the table at a path, likewise. `file_schema` returns the schema of the file.
    pub fn deserialize_at<T: DeserializeOwned + JsonSchema + 'static>(
        &self,
        table: &[&str],
        file_schema: impl FnOnce() -> serde_json::Value,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<T> {
        // Generating the schema takes longer than reading a file, and only errors need it.
        let schema = LazyCell::new(file_schema);
        let (mut file, mut overlay) = (self.values.clone(), self.overlay.values.clone());
        let mut reported: Vec<Vec<String>> = Vec::new();
        loop {
            let merged = Figment::new().merge(DictProvider(&file)).merge(DictProvider(&overlay));
            let error = match extract_at::<T>(&merged, table) {
                Ok((shape, values)) => {
                    self.check_ranges::<T>(&values, table, problems);
                    return reported.is_empty().then_some(shape);
                }
                Err(error) => error,
            };
            let prefix = table.iter().map(|key| (*key).to_owned());
            let mut path: Vec<String> = prefix.chain(error.path.clone()).collect();
            if let Fault::MissingField(name) = &error.kind {
                path.push(name.to_string());
            }
            // Skips errors that removing a reported key below has caused.
            if reported.iter().any(|removed| removed.starts_with(&path)) {
                return None;
            }
            problems.push(self.describe_error(SchemaNode::root(&schema), &path, &error.kind));
            let missing = matches!(error.kind, Fault::MissingField(_));
            reported.push(path.clone());
            let is_removed =
                remove_at_path(&mut overlay, &path) || remove_at_path(&mut file, &path);
            if missing || !is_removed || path.len() <= table.len() || reported.len() > 50 {
                return None;
            }
        }
    }

    /// Reports each number outside of the range that its type states, for example by
    /// `#[schemars(range(min = 1, max = 600))]`.
    fn check_ranges<T: JsonSchema + 'static>(
        &self,
        values: &Dict,
        table: &[&str],
        problems: &mut Vec<Diagnostic>,
    ) {
        let schema = schema_node::shared_schema_for::<T>();
        visit_table(
            values,
            SchemaNode::root(&schema),
            &table.join("."),
            &mut |key, value, node| {
                let Some(range) = node.range() else { return };
                let signed = value.to_i128().and_then(|number| u64::try_from(number).ok());
                let unsigned = || value.to_u128().and_then(|number| u64::try_from(number).ok());
                let number = signed.or_else(unsigned);
                if !matches!(value, Value::Num(..)) || number.is_some_and(|n| range.contains(&n)) {
                    return;
                }
                let fix = format!("write a number from {} to {}", range.start(), range.end());
                problems.push(self.diagnostic(key, "is out of range", fix));
            },
        );
    }

    fn describe_error(&self, schema: SchemaNode<'_>, path: &[String], fault: &Fault) -> Diagnostic {
        let key = key_path(path);
        let node = schema.descend(path.iter().map(String::as_str));
        let name = path.last().map(String::as_str).unwrap_or_default();
        let hint = || {
            let unknown = || "correct the value".into();
            // Of an item of a list, the line of the list.
            match path.split_last() {
                Some((index, list)) if index.parse::<usize>().is_ok() => {
                    let list_name = list.last().map(String::as_str).unwrap_or_default();
                    let list = schema.descend(list.iter().map(String::as_str));
                    list.map_or_else(unknown, |list| list.hint(list_name))
                }
                _ => node.map_or_else(unknown, |node| node.hint(name)),
            }
        };
        let kind = node.map_or("another kind of value", |node| node.kind().description());
        match fault {
            Fault::UnknownField(written, known) => {
                self.describe_unknown_key(schema, path, written, known)
            }
            Fault::UnknownVariant(_, known) => self.diagnostic(
                &key,
                "is not one of the allowed words",
                format!("write one of: {}", known.join(", ")),
            ),
            Fault::MissingField(_) => {
                let line = node.map_or_else(|| name.to_owned(), |node| node.example_line(name));
                self.diagnostic(&key, "is missing", format!("add {line}"))
            }
            Fault::InvalidType(..) => self.diagnostic(&key, format!("must be {kind}"), hint()),
            Fault::InvalidValue(..)
                if node.is_some_and(|node| node.kind() == ValueKind::Integer) =>
            {
                self.diagnostic(&key, "must be a whole number, 0 or more", hint())
            }
            Fault::ISizeOutOfRange(_) | Fault::USizeOutOfRange(_) => {
                self.diagnostic(&key, "is out of range", hint())
            }
            // The text of every other error may contain the value, above all `Message`.
            Fault::Message(_)
            | Fault::InvalidValue(..)
            | Fault::InvalidLength(..)
            | Fault::DuplicateField(_)
            | Fault::Unsupported(_)
            | Fault::UnsupportedKey(..) => {
                self.diagnostic(&key, "does not have the required form", hint())
            }
        }
    }
}

/// Calls `each` with every value below a table, its path and its schema.
fn visit_table<'s>(
    values: &Dict,
    node: SchemaNode<'s>,
    path: &str,
    each: &mut impl FnMut(&str, &Value, SchemaNode<'s>),
) {
    for (key, value) in values {
        if let Some(node) = node.child(key) {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            visit_value(value, node, &path, each);
        }
    }
}

fn visit_value<'s>(
    value: &Value,
    node: SchemaNode<'s>,
    path: &str,
    each: &mut impl FnMut(&str, &Value, SchemaNode<'s>),
) {
    match value {
        Value::Dict(_, table) => visit_table(table, node, path, each),
        Value::Array(_, items) => {
            let Some(node) = node.child("0") else { return };
            for (index, item) in items.iter().enumerate() {
                visit_value(item, node, &format!("{path}[{index}]"), each);
            }
        }
        _ => each(path, value, node),
    }
}

/// Deserializes the table at a path, and returns its values too. Paths in errors are relative to the
/// table.
fn extract_at<T: DeserializeOwned>(
    file: &Figment,
    table: &[&str],
) -> Result<(T, Dict), Box<figment::Error>> {
    let values = file.find_value(&table.join("."))?;
    let Value::Dict(_, table) = &values else {
        let error = Fault::InvalidType(values.to_actual(), "a table".into());
        return Err(Box::new(error.into()));
    };
    // Not `Figment::extract`: to support types of figment that the hub doesn't use, it makes the compiler
    // generate the code of each structure six times.
    Ok((T::deserialize(&values)?, table.clone()))
}

/// Reads a file of `folder`. Rejects a link out of the folder.
///
/// # Errors
/// Returns a diagnostic if the file can't be read or is a link out of the folder.
pub fn read_bytes_in(folder: &Path, file: &Path) -> Result<Vec<u8>, Diagnostic> {
    let read = safe_read::check_link_stays_inside(file, folder)
        .and_then(|()| safe_read::read_regular_file(file));
    read.map_err(|error| error.in_file(file))
}

/// Passes parsed values to figment, whose own TOML provider needs a second toml crate and ignores
/// missing files.
struct DictProvider<'a>(&'a Dict);

impl Provider for DictProvider<'_> {
    fn metadata(&self) -> Metadata {
        Metadata::named("configuration")
    }

    fn data(&self) -> figment::error::Result<Map<Profile, Dict>> {
        Ok(Profile::Default.collect(self.0.clone()))
    }
}
