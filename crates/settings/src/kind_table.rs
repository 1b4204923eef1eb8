//! Defines what a kind of store or register contributes to the configuration, and reads its table:
//! values, files and secrets.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::Url;

use super::address::{self, PlainHttp};
use super::{FileCheck, SecretContext, SecretRef};
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

/// Description of a kind that this build of the program lacks.
const MISSING_KIND: &str = "Not part of this program.";

impl TableKind {
    /// Returns a kind that this build of the program lacks, because a Cargo feature of the same
    /// name is off.
    pub const fn missing(name: &'static str) -> Self {
        Self {
            name,
            summary: MISSING_KIND,
            schema: |_| {
                schemars::json_schema!({
                    "type": "object",
                    "additionalProperties": true,
                    "description": MISSING_KIND,
                })
            },
            load: |table| table.report_missing_feature(),
        }
    }
}

/// The checked table of a kind, with its secrets.
#[derive(Clone, derive_more::Debug)]
#[debug("ConfiguredTable({table:?})")]
pub struct ConfiguredTable {
    /// The table by the name of the kind, with defaults and without secrets.
    table: Map<String, Value>,
    settings: Arc<dyn Any + Send + Sync>,
}

impl ConfiguredTable {
    /// Returns what the program builds the store or register from, if it is of this type.
    pub fn settings<T: Any>(&self) -> Option<&T> {
        self.settings.downcast_ref()
    }

    /// Returns the table by the name of its kind, with defaults and without secrets.
    pub fn to_table(&self) -> Map<String, Value> {
        self.table.clone()
    }
}

/// The table of a kind in the settings file. Keys are relative to the table, and every problem is
/// reported at its line.
pub struct KindTable<'a> {
    check: FileCheck<'a>,
    /// `["store", "redis"]`, or `["table"]`.
    path: &'a [&'a str],
    /// Schema of the settings file.
    schema: &'a Value,
    context: SecretContext<'a>,
}

impl<'a> KindTable<'a> {
    /// Creates a reader of the table at `path`. `schema` is that of the whole settings file.
    pub fn new(
        settings: &'a mut FileCheck<'_>,
        path: &'a [&'a str],
        schema: &'a Value,
        context: SecretContext<'a>,
    ) -> Self {
        Self { check: settings.table(&path.join(".")), path, schema, context }
    }

    /// Deserializes the table. Returns `None` and reports every error if that fails.
    pub fn deserialize<T: DeserializeOwned + JsonSchema + 'static>(&mut self) -> Option<T> {
        let schema = || self.schema.clone();
        self.check.source.deserialize_at(self.path, schema, self.check.problems)
    }

    /// Returns the table for the program: as operators may see it, and what the store or register
    /// is built from.
    pub fn configured(
        &self,
        table: &impl Serialize,
        settings: impl Any + Send + Sync,
    ) -> ConfiguredTable {
        // Tables consist of texts, numbers and lists, so this can't fail.
        let table = serde_json::to_value(table).unwrap_or_default();
        ConfiguredTable {
            table: Map::from_iter([(self.name().to_owned(), table)]),
            settings: Arc::new(settings),
        }
    }

    /// Returns the key of the table.
    fn name(&self) -> &str {
        self.path.last().copied().unwrap_or_default()
    }

    /// Reports that the program was built without the kind.
    fn report_missing_feature(&mut self) -> Option<ConfiguredTable> {
        let kind = self.name();
        let message = format!("needs the Cargo feature `{kind}`, which this program lacks");
        let fix = format!("build it with `cargo build --features {kind}`, or use another kind");
        self.report("", message, fix);
        None
    }

    /// Reports a problem at a key of the table; the empty key is the table itself.
    pub fn report(&mut self, key: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.check.report(key, message, fix);
    }

    /// Reports each entry that is not a host.
    pub fn check_hosts(&mut self, key: &str, hosts: &[String]) {
        self.check.check_hosts(key, hosts);
    }

    /// Parses an https URL without a query; http is allowed too if `insecure_http` is set. Reports
    /// any other text.
    pub fn check_url(&mut self, key: &str, text: &str, insecure_http: bool) -> Option<Url> {
        let http = PlainHttp::anywhere_if(insecure_http);
        self.check.accept(key, address::parse_url_without_query(text, http))
    }

    /// Joins a path to the configuration folder.
    pub fn resolve_path(&self, path: &Path) -> PathBuf {
        self.context.folder.join(path)
    }

    /// Reports a file that is missing, or that this user may not read. `path` is relative to the
    /// configuration folder.
    pub fn check_file(&mut self, key: &str, path: &Path) {
        self.check.check_file(key, self.context.folder, path);
    }

    /// Reads a PEM file of certificates. Returns `None` if none is named, or reports why it can't
    /// be read.
    pub fn read_pem(&mut self, key: &str, file: Option<&Path>) -> Option<String> {
        self.check.read_pem(key, file?, self.context.folder)
    }

    /// Reads the secret behind a reference. Returns `None` if there is no reference, or reports why
    /// it leads to no secret.
    pub fn resolve_secret(
        &mut self,
        key: &str,
        reference: Option<&SecretRef>,
    ) -> Option<Secret<String>> {
        self.check.resolve_secret(key, reference?, &self.context)
    }
}
