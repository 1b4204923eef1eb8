//! Checks `[client_registration]` of `passerelle.toml` against the scope tables.

use super::consistency;
use super::scopes::ScopeTables;
use crate::model::Settings;
use passerelle_settings::{Diagnostic, SourceFile};

/// Reports scopes for clients without an initial access token that the scope table of their rules
/// doesn't contain.
pub fn check_scopes(
    source: &SourceFile,
    settings: &Settings,
    tables: &ScopeTables,
    problems: &mut Vec<Diagnostic>,
) {
    let Some(config) = &settings.client_registration else { return };
    let granted = ("client_registration.scopes", config.scopes.as_slice());
    let table = tables.named(config.rules_on(settings.platform));
    consistency::check_scopes_are_known(source, granted, table, problems);
}
