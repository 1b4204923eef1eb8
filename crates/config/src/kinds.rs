//! Defines what a kind of store or register, or an optional crate, contributes to the
//! configuration: the shape of its table, its rules and its secrets. The program hands in its
//! [`Kinds`]; for those of connectors see [`ConnectorKindFormat`].
//!
//! The settings file names the kind by the key of its table: `[store.<name>]`,
//! `[register.<name>]`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::{RegisterConfig, Settings, StoreConfig};
use super::validation::consistency;
use super::validation::scopes::ScopeTables;
use passerelle_connector::kind_settings::ConnectorKindFormat;
use passerelle_extension::{Extension, OtherSettings, SettingsTable};
use passerelle_settings::{
    ConfiguredTable, Diagnostic, FileCheck, KindTable, SecretContext, SourceFile, TableKind,
};

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

    /// Returns the tables of the extensions.
    pub(super) fn extension_tables(self) -> impl Iterator<Item = SettingsTable> {
        self.extensions.iter().filter_map(|extension| extension.table)
    }

    /// Deserializes the settings file, without the tables of the extensions.
    pub(super) fn read_settings(
        self,
        source: &SourceFile,
        schema: impl FnOnce() -> Value,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Settings> {
        let tables = self.extension_tables().map(|table| table.kind.name);
        let settings = source.without_keys(tables).deserialize_at(&[], schema, problems)?;
        let mut senders = self.extensions.iter().filter(|extension| extension.sends_mail_codes);
        let has_table =
            |one: &Extension| one.table.is_some_and(|table| source.has_key(table.kind.name));
        Some(Settings { sends_mail_codes: senders.any(has_table), ..settings })
    }
}

/// The tables of the settings file that the crates of the program define.
#[derive(Clone, Default, Debug)]
pub(super) struct KindTables {
    pub store: Option<ConfiguredTable>,
    pub register: Option<ConfiguredTable>,
    /// Those of the extensions, by name.
    pub extensions: BTreeMap<&'static str, ConfiguredTable>,
}

impl KindTables {
    /// Writes the tables into the settings, as they are shown to operators.
    pub(super) fn copy_into(&self, settings: &mut Settings) {
        let to_table = |kind: &ConfiguredTable| kind.to_table();
        settings.store = self.store.as_ref().map(to_table).map(StoreConfig);
        settings.register = self.register.as_ref().map(to_table).map(RegisterConfig);
        settings.extensions = self.extensions.values().flat_map(to_table).collect();
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
            (kind.load)(&mut KindTable::new(check, &[table, kind.name], schema, *context))
        };
        let (store, register) = (load("store", kinds.stores), load("register", kinds.registers));
        let mut load = |TableKind { name, load, .. }| {
            let configured = check
                .source
                .has_key(name)
                .then(|| load(&mut KindTable::new(check, &[name], schema, *context)));
            Some((name, configured??))
        };
        let tables = kinds.extension_tables().filter_map(|table| load(table.kind));
        Self { extensions: tables.collect(), store, register }
    }

    /// Checks the tables of the extensions against the other settings and, unless they are invalid,
    /// the scope tables.
    pub(super) fn check_extensions(
        &self,
        check: &mut FileCheck<'_>,
        kinds: Kinds,
        settings: &Settings,
        scopes: Option<&ScopeTables>,
    ) {
        let other = OtherSettings {
            platform: settings.platform,
            is_sandbox: settings.sandbox,
            check_scopes: &|check, granted, rules| {
                let table = scopes.map(|tables| tables.named(rules));
                if let Some(table) = table {
                    consistency::check_scopes_are_known(check, granted, table);
                }
            },
        };
        for SettingsTable { kind, check: check_table } in kinds.extension_tables() {
            if let Some(table) = self.extensions.get(kind.name) {
                check_table(table, &other, &mut check.table(kind.name));
            }
        }
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
