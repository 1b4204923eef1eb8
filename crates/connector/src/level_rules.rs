//! Checks the levels of assurance and the `acr` and `amr` values of a connector.

use std::collections::BTreeMap;

use super::{AcrTable, ConnectorFile};
use passerelle_federation::assurance::amr;
use passerelle_protocol::acr::Level;
use passerelle_settings::FileCheck;

/// Maximum length of an `acr` value, which is usually a URI.
const MAX_ACR_BYTES: usize = 128;

/// Checks the mapping between the hub's levels and the identity provider's `acr` values.
pub fn check_levels(check: &mut FileCheck<'_>, file: &ConnectorFile) {
    let within = file.levels.lowest..=file.levels.highest;
    let mut seen: BTreeMap<&str, Level> = BTreeMap::new();
    for (level, values) in file.acr.levels() {
        let key = format!("acr.{}", level.as_str());
        if !within.contains(&level) {
            let message = "is outside this connector's levels";
            check.report(&key, message, "remove it, or widen levels");
        }
        check_acr_values(check, &key, values);
        for value in values {
            if seen.insert(value, level).is_some_and(|other| other != level) {
                let message = "contains a value that another level has too";
                check.report(&key, message, "list each value under one level only");
            }
        }
    }
    match file.assumed_level {
        // A level above the lowest requires a statement of the identity provider.
        Some(Level::Eidas2 | Level::Eidas3) => {
            let message = "is above eidas1, the only level that may be assumed";
            check.report(
                "assumed_level",
                message,
                "write assumed_level = \"eidas1\", or remove it",
            );
        }
        Some(Level::Eidas1) if file.levels.lowest > Level::Eidas1 => {
            let message = "is below levels.lowest, so it can never apply";
            check.report("assumed_level", message, "remove it");
        }
        Some(Level::Eidas1) => {}
        None if file.acr.is_empty() => {
            let fix = "add an [acr] table, or assumed_level = \"eidas1\" if the identity provider returns no acr";
            check.report("acr", "is missing, so every login would be rejected", fix);
        }
        None => {}
    }
    let mapped = |level: &Level| {
        file.acr.levels().any(|(listed, _)| listed == *level) || file.assumed_level == Some(*level)
    };
    let missing = Level::ALL.into_iter().find(|level| within.contains(level) && !mapped(level));
    if let (Some(level), false) = (missing, file.acr.is_empty() && file.assumed_level.is_none()) {
        let level = level.as_str();
        let fix = format!("add {level} = [\"…\"], or narrow levels");
        check.report("acr", format!("has no value for {level}"), &fix);
    }
}

/// Reports invalid `acr` values of one level.
fn check_acr_values(check: &mut FileCheck<'_>, key: &str, values: &[String]) {
    if values.is_empty() || values.iter().any(|value| value.trim_ascii().is_empty()) {
        let message = "is empty or contains an empty value";
        check.report(key, message, "write the identity provider's acr value");
    }
    // `acr_values` are separated by spaces (OpenID Connect Core 1.0 §3.1.2.1).
    let has_space = |value: &String| {
        !value.trim_ascii().is_empty() && value.contains(|c: char| c.is_ascii_whitespace())
    };
    if values.iter().any(has_space) {
        let fix = "write one acr value in each pair of quotes";
        check.report(key, "contains a value with a space", fix);
    }
    // The values are part of a URL and are compared with a token's `acr`.
    let is_invalid =
        |value: &String| value.len() > MAX_ACR_BYTES || value.chars().any(char::is_control);
    if values.iter().any(is_invalid) {
        let fix = format!(
            "write the identity provider's value, in at most {MAX_ACR_BYTES} bytes and without control characters"
        );
        check.report(key, "contains a value that is too long or has control characters", fix);
    }
}

/// Checks that `ignore_acr` comes with an `assumed_level` and without an `acr` table.
pub(crate) fn check_ignore_acr(check: &mut FileCheck<'_>, file: &ConnectorFile) {
    if !file.ignore_acr {
        return;
    }
    if file.assumed_level.is_none() {
        let message = "requires assumed_level, which is missing";
        check.report("ignore_acr", message, "add assumed_level = \"eidas1\", or remove ignore_acr");
    } else if !file.acr.is_empty() {
        let message = "contains values, but ignore_acr ignores the returned acr";
        check.report("acr", message, "remove the [acr] table, or ignore_acr");
    }
}

/// Checks the levels of a kind that returns no `acr`, which can only have eidas1.
pub fn check_levels_without_acr(check: &mut FileCheck<'_>, file: &ConnectorFile) {
    if file.ignore_acr {
        check.report(
            "ignore_acr",
            "has no effect, since this kind of identity provider returns no acr",
            "remove it",
        );
    }
    if file.acr != AcrTable::default() {
        let fix = "remove the table, and write assumed_level = \"eidas1\"";
        check.report("acr", "is set, but this kind of identity provider returns no acr", fix);
    }
    match file.assumed_level {
        None => {
            let fix = "write assumed_level = \"eidas1\"";
            check.report(
                "assumed_level",
                "is missing, but this kind of identity provider returns no acr",
                fix,
            );
        }
        Some(Level::Eidas1) => {}
        Some(Level::Eidas2 | Level::Eidas3) => {
            let fix = "write assumed_level = \"eidas1\"";
            check.report(
                "assumed_level",
                "is above eidas1, the only level that may be assumed",
                fix,
            );
        }
    }
    if file.levels.highest > Level::Eidas1 {
        let message = "is above eidas1, the only level of this kind of identity provider";
        check.report(
            "levels.highest",
            message,
            "write levels = { lowest = \"eidas1\", highest = \"eidas1\" }",
        );
    }
}

/// Reports names of `passed_amr` that no identity provider sends, or that need no entry.
pub fn check_passed_methods(check: &mut FileCheck<'_>, names: &[String]) {
    for (index, name) in names.iter().enumerate() {
        let key = format!("passed_amr[{index}]");
        if amr::is_known_method(name) {
            let message = "is a registered authentication method, which the hub evaluates anyway";
            check.report(&key, message, "remove it");
        } else if !(1..=64).contains(&name.len()) || !name.bytes().all(|c| c.is_ascii_graphic()) {
            let fix = "write 1 to 64 printable ASCII characters without spaces, as the identity provider sends it";
            check.report(&key, "is not the name of a method", fix);
        }
    }
}

/// Reports methods that are not registered for `amr`.
pub fn check_methods(check: &mut FileCheck<'_>, key: &str, names: &[String]) {
    for (index, _) in names.iter().enumerate().filter(|(_, name)| !amr::is_known_method(name)) {
        let fix = format!("use a name from RFC 8176, or mail: {}", amr::METHODS.join(", "));
        check.report(&format!("{key}[{index}]"), "is not a registered authentication method", fix);
    }
}
