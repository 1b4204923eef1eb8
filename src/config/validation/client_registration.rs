//! Checks `[client_registration]` of `passerelle.toml`.

use super::consistency;
use super::scopes::ScopeTables;
use crate::config::model::{OpenRegistration, ProtocolRules, Settings};
use crate::protocol::acr::Platform;
use crate::settings::value_checks::check_range;
use crate::settings::{Diagnostic, SourceFile};

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

/// Checks the table, if there is one.
pub fn check_client_registration(
    source: &SourceFile,
    settings: &Settings,
    problems: &mut Vec<Diagnostic>,
) {
    let Some(config) = &settings.client_registration else { return };
    for (key, value, most) in [
        ("max_registrations", config.max_registrations, 1000),
        ("max_pending", config.max_pending, 1000),
        ("requests_per_network", config.requests_per_network, 1000),
        ("pending_days", config.pending_days, 90),
        ("unused_days", config.unused_days, 366),
    ] {
        let key = format!("client_registration.{key}");
        check_range(source, &key, value.into(), (1, most), problems);
    }
    let mut report =
        |key: &str, message: &str, fix: &str| problems.push(source.diagnostic(key, message, fix));
    if !config.scopes.iter().any(|scope| scope.as_str() == "openid") {
        let message = "lacks openid, which every request needs";
        report("client_registration.scopes", message, "add \"openid\"");
    }
    let is_sandbox = settings.sandbox && settings.platform == Platform::Standard;
    if config.open == OpenRegistration::Immediate && !is_sandbox {
        let message = "is \"immediate\", so anyone could sign real people in to a service that no operator has seen";
        let fix = "write open = \"approval\", or create initial access tokens; \"immediate\" needs sandbox = true on the standard platform";
        report("client_registration.open", message, fix);
    }
    if config.rules == Some(ProtocolRules::Openid) && settings.platform == Platform::High {
        let message = "is \"openid\", which the high platform doesn't support";
        report("client_registration.rules", message, "write rules = \"federation\", or remove it");
    }
}
