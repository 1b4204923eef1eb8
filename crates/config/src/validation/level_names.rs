//! Checks level names: their declarations in `passerelle.toml`, and the lists of service providers
//! and connectors.

use std::collections::BTreeSet;

use super::declarations::{Declarations, MAIL_CODES_FIX, NO_MAIL_CODES};
use crate::model::{ServiceProviderFile, Settings};
use passerelle_connector::ConnectorFile;
use passerelle_protocol::acr::{AcrRegistration, Level, Platform};
use passerelle_settings::FileCheck;

/// Maximum length of a level name, which is usually a URI.
const MAX_NAME_BYTES: usize = 128;

/// Checks the `[level_names.NAME]` tables.
pub(crate) fn check_level_names(check: &mut FileCheck<'_>, settings: &Settings) {
    for (name, declaration) in &settings.level_names {
        let key = format!("level_names.{name}");
        // `acr_values` are separated by spaces (OpenID Connect Core 1.0 §3.1.2.1).
        let symbol = |c: u8| c.is_ascii_graphic() && c != b'"' && c != b'\\';
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(symbol) {
            let fix = "use 1 to 128 printable ASCII characters without spaces, for example https://refeds.org/profile/mfa";
            check.report(&key, "is not a valid value of acr", fix);
        }
        if let Some(level) = Level::ALL.iter().find(|level| level.as_str() == name) {
            let message = format!("is the name of the level {} itself", level.as_str());
            check.report(&key, message, "remove it, or choose another name");
        }
        if declaration.mail && !settings.sends_mail_codes {
            check.report(&format!("{key}.mail"), NO_MAIL_CODES, MAIL_CODES_FIX);
        }
        let levels = settings.platform.levels();
        if !levels.contains(&declaration.level) {
            let known: Vec<&str> = levels.iter().map(|level| level.as_str()).collect();
            let message = "is not a level of this platform";
            let fix = format!("write one of: {}", known.join(", "));
            check.report(&format!("{key}.level"), message, &fix);
        }
    }
}

/// Returns what a service provider's file says of `acr`, and reports what is invalid. Without
/// declarations, because the settings are unreadable, nothing is checked.
pub(crate) fn acr_registration(
    check: &mut FileCheck<'_>,
    file: &ServiceProviderFile,
    platform: Option<Platform>,
    declarations: Option<&Declarations>,
) -> AcrRegistration {
    let Some(declarations) = declarations else { return AcrRegistration::default() };
    let (mut level_names, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, name) in file.level_names.iter().enumerate() {
        let key = format!("level_names[{index}]");
        if !seen.insert(name) {
            check.report(&key, "is listed twice", "keep one of the two");
        }
        match declarations.level_name(name) {
            Some(declared) => level_names.push(declared),
            None => check.report(
                &key,
                "is not a declared level name",
                undeclared_fix(name, declarations),
            ),
        }
    }
    let levels = platform.map(Platform::levels).unwrap_or_default();
    for (index, value) in file.default_acr_values.iter().enumerate() {
        let is_level = levels.iter().any(|level| level.as_str() == value);
        if !is_level && !file.level_names.contains(value) {
            let known: Vec<&str> = levels
                .iter()
                .map(|level| level.as_str())
                .chain(file.level_names.iter().map(String::as_str))
                .collect();
            check.report(
                &format!("default_acr_values[{index}]"),
                "is neither a level of the platform nor in level_names",
                format!("write one of: {}; or add it to level_names", known.join(", ")),
            );
        }
    }
    AcrRegistration { level_names, default_values: file.default_acr_values.clone() }
}

/// Reports names in a connector's `[acr.names]` that are not declared, and values that don't prove
/// the level of their name.
pub(crate) fn check_acr_names(
    check: &mut FileCheck<'_>,
    file: &ConnectorFile,
    declarations: &Declarations,
) {
    for (name, values) in &file.acr.names {
        let key = format!("acr.names.{name}");
        let Some(declared) = declarations.level_name(name) else {
            let fix = undeclared_fix(name, declarations);
            check.report(&key, "is not a declared level name", fix);
            continue;
        };
        let proves = |value: &String| {
            let mut levels = file.acr.levels().filter(|(_, listed)| listed.contains(value));
            levels.next().is_some_and(|(level, _)| level >= declared.level)
        };
        if values.is_empty() || !values.iter().all(proves) {
            let level = declared.level.as_str();
            let message = format!("needs values that also prove its level, {level}");
            let fix = format!(
                "list each value under {level} or a higher level of [acr] too, or correct it here"
            );
            check.report(&key, message, fix);
        }
    }
}

fn undeclared_fix(name: &str, declarations: &Declarations) -> String {
    format!(
        "declare it as [level_names.\"{name}\"] in passerelle.toml, or use one of: {}",
        declarations.known_level_names()
    )
}

#[cfg(test)]
mod tests;
