//! Defines what a kind of store or register contributes to the configuration: the shape of its
//! table, its rules and its secrets. The program hands in its [`Kinds`]; for those of connectors
//! see [`ConnectorKindFormat`].
//!
//! The settings file names the kind by the key of its table: `[store.<name>]`,
//! `[register.<name>]`.

mod table;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::loading::{Diagnostic, SecretContext, SourceFile};
use super::model::{RegisterConfig, Settings, StoreConfig};
use super::validation::connector_kind::ConnectorKindFormat;

pub use table::KindTable;

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

/// The kinds of stores, registers and connectors that a program knows.
#[derive(Clone, Copy, Default)]
pub struct Kinds {
    /// Kinds of `[store.<name>]`.
    pub stores: &'static [TableKind],
    /// Kinds of `[register.<name>]`.
    pub registers: &'static [TableKind],
    /// Kinds of `[kind.<name>]` of a connector's file.
    pub connectors: &'static [ConnectorKindFormat],
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
    pub(super) fn to_table(&self) -> Map<String, Value> {
        self.table.clone()
    }
}

impl fmt::Debug for ConfiguredTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConfiguredTable").field(&self.table).finish()
    }
}

/// The tables of the settings file whose kind the program chooses.
#[derive(Clone, Default, Debug)]
pub(super) struct KindTables {
    pub store: Option<ConfiguredTable>,
    pub register: Option<ConfiguredTable>,
}

impl KindTables {
    /// Writes the tables into the settings, as they are shown to operators.
    pub(super) fn copy_into(&self, settings: &mut Settings) {
        let to_table = |kind: &ConfiguredTable| kind.to_table();
        settings.store = self.store.as_ref().map(to_table).map(StoreConfig);
        settings.register = self.register.as_ref().map(to_table).map(RegisterConfig);
    }

    /// Reads the tables. `schema` is that of the settings file.
    pub(super) fn load(
        source: &SourceFile,
        kinds: Kinds,
        schema: &Value,
        context: &SecretContext<'_>,
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut load = |table, kinds: &[TableKind]| {
            let kind = chosen_kind(source, table, kinds, problems)?;
            (kind.load)(&mut KindTable::new(source, [table, kind.name], schema, *context, problems))
        };
        Self { store: load("store", kinds.stores), register: load("register", kinds.registers) }
    }
}

/// Returns the kind whose table is in the file. Reports unknown kinds, and a second one.
fn chosen_kind(
    source: &SourceFile,
    table: &str,
    kinds: &[TableKind],
    problems: &mut Vec<Diagnostic>,
) -> Option<TableKind> {
    let keys = source.keys_of_table(table)?;
    let mut chosen = Vec::new();
    for key in &keys {
        if let Some(kind) = kinds.iter().find(|kind| kind.name == key) {
            chosen.push(*kind);
        } else {
            let known: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
            problems.push(source.diagnostic(
                &format!("{table}.{key}"),
                "is not one of the allowed words",
                format!("write one of: {}", known.join(", ")),
            ));
        }
    }
    if keys.len() > 1 {
        let message = format!("contains two {table}s");
        problems.push(source.diagnostic(
            table,
            message,
            format!("keep one: {}", list_tables(table, kinds)),
        ));
    }
    if keys.is_empty() {
        let fix = format!("add {}", list_tables(table, kinds));
        problems.push(source.diagnostic(table, "is empty", fix));
    }
    chosen.first().copied()
}

/// Returns the names of the tables: `[store.memory] or [store.redis]`.
pub(super) fn list_tables(table: &str, kinds: &[TableKind]) -> String {
    let tables: Vec<_> = kinds.iter().map(|kind| format!("[{table}.{}]", kind.name)).collect();
    tables.join(" or ")
}
