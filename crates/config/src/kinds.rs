//! Defines what a kind of store or register contributes to the configuration: the shape of its
//! table, its rules and its secrets. The program hands in its [`Kinds`]; for those of connectors
//! see [`ConnectorKindFormat`].
//!
//! The settings file names the kind by the key of its table: `[store.<name>]`,
//! `[register.<name>]`.

use serde_json::Value;

use super::model::{RegisterConfig, Settings, StoreConfig};
use passerelle_connector::kind_settings::ConnectorKindFormat;
use passerelle_extension::Extension;
use passerelle_settings::{ConfiguredTable, FileCheck, KindTable, SecretContext, TableKind};

/// The kinds of stores, registers and connectors that a program knows, and its extensions.
#[derive(Clone, Copy, Default)]
pub struct Kinds {
    /// Kinds of `[store.<name>]`.
    pub stores: &'static [TableKind],
    /// Kinds of `[register.<name>]`.
    pub registers: &'static [TableKind],
    /// Kinds of `[kind.<name>]` of a connector's file.
    pub connectors: &'static [ConnectorKindFormat],
    /// Optional crates.
    pub extensions: &'static [Extension],
}

impl Kinds {
    /// Adds what the extensions add to the catalogues of the program.
    pub(super) fn install_extensions(self) {
        self.extensions.iter().for_each(Extension::install);
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
        check: &mut FileCheck<'_>,
        kinds: Kinds,
        schema: &Value,
        context: &SecretContext<'_>,
    ) -> Self {
        let mut load = |table, kinds: &[TableKind]| {
            let kind = chosen_kind(check, table, kinds)?;
            (kind.load)(&mut KindTable::new(check, [table, kind.name], schema, *context))
        };
        Self { store: load("store", kinds.stores), register: load("register", kinds.registers) }
    }
}

/// Returns the kind whose table is in the file. Reports unknown kinds, and a second one.
fn chosen_kind(check: &mut FileCheck<'_>, table: &str, kinds: &[TableKind]) -> Option<TableKind> {
    let keys = check.source.keys_of_table(table)?;
    let mut chosen = Vec::new();
    for key in &keys {
        if let Some(kind) = kinds.iter().find(|kind| kind.name == key) {
            chosen.push(*kind);
        } else {
            let known: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
            check.report(
                &format!("{table}.{key}"),
                "is not one of the allowed words",
                format!("write one of: {}", known.join(", ")),
            );
        }
    }
    if keys.len() > 1 {
        let message = format!("contains two {table}s");
        let fix = format!("keep one: {}", list_tables(table, kinds));
        check.report(table, message, fix);
    }
    if keys.is_empty() {
        let fix = format!("add {}", list_tables(table, kinds));
        check.report(table, "is empty", fix);
    }
    chosen.first().copied()
}

/// Returns the names of the tables: `[store.memory] or [store.redis]`.
pub(super) fn list_tables(table: &str, kinds: &[TableKind]) -> String {
    let tables: Vec<_> = kinds.iter().map(|kind| format!("[{table}.{}]", kind.name)).collect();
    tables.join(" or ")
}
