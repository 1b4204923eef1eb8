//! Checks `[client_registration]` of `passerelle.toml` against the scope tables.

use super::consistency;
use super::scopes::ScopeTables;
use crate::model::Settings;
use passerelle_settings::FileCheck;

/// Reports scopes for clients without an initial access token that the scope table of their rules
/// doesn't contain.
pub fn check_scopes(check: &mut FileCheck<'_>, settings: &Settings, tables: &ScopeTables) {
    let Some(config) = &settings.client_registration else { return };
    let table = tables.named(config.rules_on(settings.platform));
    let mut check = check.table("client_registration");
    consistency::check_scopes_are_known(&mut check, &config.scopes, table);
}
