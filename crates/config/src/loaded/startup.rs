//! Loads the configuration for a start, which a bad file must not prevent.
//!
//! Responsible for what the hub starts without: connectors, service providers, data providers,
//! notices, messages and the theme. Whatever else is invalid stops the start (docs/reload.md): settings
//! without which no login can be right, and the scope tables, which restrict what is released.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::{
    LoadedConfig, assemble, file_warnings, load_config, load_context, reloadable_files, settings,
};
use crate::kinds::{KindTables, Kinds};
use crate::reload::reloadable_files::ReloadableFiles;
use crate::reload::settings_file::SettingsFile;
use crate::schema::settings_schema;
use crate::validation::certificate_expiry::certificate_expiries;
use crate::validation::declarations::Declarations;
use crate::validation::scopes::{self, ScopeTables};
use passerelle_settings::settings_overlay::apply_environment;
use passerelle_settings::{
    Diagnostic, Environment, FileCheck, SecretContext, SecretOwner, SourceFile, secret_rules,
};
use passerelle_web::theme;

/// Reads and checks the configuration in `folder`, and leaves out the invalid files that a hub can
/// start without. [`LoadedConfig::files`] and [`LoadedConfig::startup_diagnostics`] have their problems.
///
/// # Errors
/// Returns every problem of every file if one of them prevents the start.
pub fn load_usable_config(
    folder: &Path,
    environment: &Environment,
    kinds: Kinds,
) -> Result<LoadedConfig, Vec<Diagnostic>> {
    load_config(folder, environment, kinds).or_else(|mut problems| {
        let mut fatal = Vec::new();
        match load_valid_files(folder, environment, kinds, &mut fatal) {
            Some(loaded) if fatal.is_empty() => Ok(loaded),
            _ => {
                problems.extend(fatal);
                problems.sort();
                problems.dedup();
                Err(problems)
            }
        }
    })
}

/// Returns the settings file, with the check of whether the settings and the scope tables prevent a
/// start.
pub(super) fn settings_file(
    folder: &Path,
    environment: &Environment,
    kinds: Kinds,
) -> SettingsFile {
    let path = folder.join("passerelle.toml");
    let (folder, environment) = (folder.to_owned(), environment.clone());
    let start_check = move || {
        let mut fatal = Vec::new();
        let _usable = load_settings(&folder, &environment, kinds, &mut fatal);
        fatal
    };
    SettingsFile::new(path, Arc::new(start_check))
}

fn load_valid_files(
    folder: &Path,
    environment: &Environment,
    kinds: Kinds,
    fatal: &mut Vec<Diagnostic>,
) -> Option<LoadedConfig> {
    let UsableSettings { context, checked, scopes, tables } =
        load_settings(folder, environment, kinds, fatal)?;
    let loaded = assemble_valid_files(context, checked, scopes, fatal)?;
    let KindTables { store, register, extensions: extension_tables } = tables;
    let extensions = kinds.extensions;
    Some(LoadedConfig { register, store, extensions, extension_tables, ..loaded })
}

/// The settings and the scope tables, checked.
struct UsableSettings {
    context: reloadable_files::LoadContext,
    checked: settings::CheckedSettings,
    scopes: (SourceFile, ScopeTables),
    tables: KindTables,
}

fn load_settings(
    folder: &Path,
    environment: &Environment,
    kinds: Kinds,
    fatal: &mut Vec<Diagnostic>,
) -> Option<UsableSettings> {
    kinds.install_extensions();
    let schema = Arc::new(settings_schema(kinds));
    let source = SourceFile::read(&folder.join("passerelle.toml"))
        .map_err(|problem| fatal.push(problem))
        .ok()?;
    let source = apply_environment(source, environment, Arc::clone(&schema), fatal);
    let settings = kinds.read_settings(&source, || Value::clone(&schema), fatal)?;
    let declarations = Declarations::from_settings(&settings);
    let rules = settings.secret_rules(&source, folder);
    let context =
        SecretContext { folder, environment, secrets: &rules, owner: SecretOwner::Settings };
    let mut check = FileCheck::new(&source, fatal);
    let tables = KindTables::load(&mut check, kinds, &schema, &context);
    // As for service providers, a scope that is missing does not prevent a start.
    tables.check_extensions(&mut check, kinds, &settings, None);
    let mut checked = settings::check_settings(&mut check, settings, kinds, &context)?;
    let scopes =
        scopes::load_scopes(&folder.join("scopes.toml"), Some(&declarations.claims), fatal)?;
    tables.copy_into(&mut checked.settings);
    let context = load_context(&context, kinds, &checked);
    Some(UsableSettings { context, checked, scopes, tables })
}

/// Builds the configuration from the files that pass every check.
fn assemble_valid_files(
    load_context: reloadable_files::LoadContext,
    checked: settings::CheckedSettings,
    scopes: (SourceFile, ScopeTables),
    fatal: &mut Vec<Diagnostic>,
) -> Option<LoadedConfig> {
    let mut startup_diagnostics = Vec::new();
    let theme = theme::load_theme(checked.settings.theme.as_deref(), &mut startup_diagnostics)
        .or_else(|| theme::built_in_theme(fatal))?;
    let files = ReloadableFiles::scan_at_start(load_context.clone(), scopes.clone())
        .map_err(|problem| fatal.push(problem))
        .ok()?;
    let valid = files.checked_files(scopes);
    let drafts: Vec<_> = valid
        .services
        .iter()
        .map(|(source, client)| (source.clone(), client.file.clone()))
        .collect();
    let warnings = file_warnings(&drafts, Some(&valid.connectors), Some(&checked));
    let folder = load_context.folder.clone();
    let sources = valid.services.iter().map(|(source, _)| source);
    let sources = sources.chain(valid.data_providers.iter().map(|(source, _)| source));
    let sources = sources.chain(valid.connectors.iter().map(|(source, _)| source));
    let read: Vec<&SourceFile> = std::iter::once(&checked.source).chain(sources).collect();
    let exposed_secrets =
        read.iter().flat_map(|source| secret_rules::exposed_secrets(source, &folder)).collect();
    let certificates = certificate_expiries(&read, &folder, &load_context.environment);
    let loaded = assemble(load_context, checked, valid, theme, warnings)
        .map_err(|problem| fatal.push(problem))
        .ok()?;
    Some(LoadedConfig { files, exposed_secrets, certificates, startup_diagnostics, ..loaded })
}

#[cfg(test)]
mod tests;
