//! Defines what a kind of store or register contributes to the configuration, and reads its table:
//! values, files and secrets.

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::Url;

use super::address::{self, PlainHttp};
use super::references::read_pem;
use super::value_checks::check_range;
use super::{Diagnostic, SecretContext, SecretRef, SourceFile, secrets};
use passerelle_protocol::ids::Secret;

/// Kind of store or register: the name of its table, and how the table is described and read.
#[derive(Clone, Copy)]
pub struct TableKind {
    /// Key of the table.
    pub name: &'static str,
    /// Description in the schema.
    pub summary: &'static str,
    /// Returns the schema of the table.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Reads the table with its secrets. Returns `None` and reports the problems if the table does
    /// not have the required shape; other problems are only reported.
    pub load: fn(&mut KindTable<'_>) -> Option<ConfiguredTable>,
}

impl TableKind {
    /// Returns a kind that this build of the program lacks, because a Cargo feature of the same
    /// name is off.
    #[must_use]
    pub const fn missing(name: &'static str) -> Self {
        Self {
            name,
            summary: "Not part of this program.",
            schema: |_| schemars::json_schema!({ "type": "object", "additionalProperties": true }),
            load: |table| table.report_missing_feature(),
        }
    }
}

/// The checked table of a kind, with its secrets.
#[derive(Clone)]
pub struct ConfiguredTable {
    /// The table by the name of the kind, with defaults and without secrets.
    table: Map<String, Value>,
    settings: Arc<dyn Any + Send + Sync>,
}

impl ConfiguredTable {
    /// Returns what the program builds the store or register from, if it is of this type.
    #[must_use]
    pub fn settings<T: Any>(&self) -> Option<&T> {
        self.settings.downcast_ref()
    }

    /// Returns the table by the name of its kind, with defaults and without secrets.
    #[must_use]
    pub fn to_table(&self) -> Map<String, Value> {
        self.table.clone()
    }
}

impl fmt::Debug for ConfiguredTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConfiguredTable").field(&self.table).finish()
    }
}

/// The table of a kind in the settings file. Keys are relative to the table, and every problem is
/// reported at its line.
pub struct KindTable<'a> {
    source: &'a SourceFile,
    /// `["store", "redis"]`.
    path: [&'a str; 2],
    /// Schema of the settings file.
    schema: &'a Value,
    context: SecretContext<'a>,
    problems: &'a mut Vec<Diagnostic>,
}

impl<'a> KindTable<'a> {
    /// Creates a reader of the table at `path`. `schema` is that of the whole settings file.
    #[must_use]
    pub fn new(
        source: &'a SourceFile,
        path: [&'a str; 2],
        schema: &'a Value,
        context: SecretContext<'a>,
        problems: &'a mut Vec<Diagnostic>,
    ) -> Self {
        Self { source, path, schema, context, problems }
    }

    /// Deserializes the table. Returns `None` and reports every error if that fails.
    pub fn deserialize<T: DeserializeOwned>(&mut self) -> Option<T> {
        let schema = || self.schema.clone();
        self.source.deserialize_at(&self.path, schema, self.problems)
    }

    /// Returns the table for the program: as operators may see it, and what the store or register
    /// is built from.
    pub fn configured(
        &self,
        table: &impl Serialize,
        settings: impl Any + Send + Sync,
    ) -> ConfiguredTable {
        let [_, kind] = self.path;
        // Tables consist of texts, numbers and lists, so this can't fail.
        let table = serde_json::to_value(table).unwrap_or_default();
        ConfiguredTable {
            table: Map::from_iter([(kind.to_owned(), table)]),
            settings: Arc::new(settings),
        }
    }

    /// Reports that the program was built without the kind.
    fn report_missing_feature(&mut self) -> Option<ConfiguredTable> {
        let [_, kind] = self.path;
        let message = format!("needs the Cargo feature `{kind}`, which this program lacks");
        let fix = format!("build it with `cargo build --features {kind}`, or use another kind");
        self.report("", message, fix);
        None
    }

    /// Reports a problem at a key of the table; the empty key is the table itself.
    pub fn report(&mut self, key: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.problems.push(self.source.diagnostic(&self.full_key(key), message, fix));
    }

    fn full_key(&self, key: &str) -> String {
        let table = self.path.join(".");
        if key.is_empty() { table } else { format!("{table}.{key}") }
    }

    /// Reports a number that is not from `least` to `most`.
    pub fn check_range(&mut self, key: &str, value: u64, (least, most): (u64, u64)) {
        check_range(self.source, &self.full_key(key), value, (least, most), self.problems);
    }

    /// Reports each entry that is not a host.
    pub fn check_hosts(&mut self, key: &str, hosts: &[String]) {
        self.problems.extend(self.source.check_hosts(&self.full_key(key), hosts));
    }

    /// Parses an https URL without a query; http is allowed too if `insecure_http` is set. Reports
    /// any other text.
    pub fn check_url(&mut self, key: &str, text: &str, insecure_http: bool) -> Option<Url> {
        let http = PlainHttp::anywhere_if(insecure_http);
        address::parse_url_without_query(text, http)
            .map_err(|error| self.report(key, error.message, error.fix))
            .ok()
    }

    /// Joins a path to the configuration folder.
    #[must_use]
    pub fn resolve_path(&self, path: &Path) -> PathBuf {
        self.context.folder.join(path)
    }

    /// Reports a file that is missing, or that this user may not read. `path` is relative to the
    /// configuration folder.
    pub fn check_file(&mut self, key: &str, path: &Path) {
        let key = self.full_key(key);
        let problem = self.source.check_file_exists(&key, self.context.folder, Some(path));
        self.problems.extend(problem);
    }

    /// Reads a PEM file of certificates. Returns `None` if none is named, or reports why it can't
    /// be read.
    pub fn read_pem(&mut self, key: &str, file: Option<&Path>) -> Option<String> {
        let read = read_pem(self.source, &self.full_key(key), file?, self.context.folder);
        read.map_err(|problem| self.problems.push(problem)).ok()
    }

    /// Reads the secret behind a reference. Returns `None` if there is no reference, or reports why
    /// it leads to no secret.
    pub fn resolve_secret(
        &mut self,
        key: &str,
        reference: Option<&SecretRef>,
    ) -> Option<Secret<String>> {
        let key = self.full_key(key);
        secrets::resolve_secret(self.source, &key, reference?, &self.context)
            .map_err(|problem| self.problems.push(problem))
            .ok()
    }
}
