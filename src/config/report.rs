//! Renders the outcome of a load for operators.

use std::fmt;

use super::loaded::LoadedConfig;
use super::loading::Diagnostic;
use crate::env::Timestamp;

impl LoadedConfig {
    /// Returns what `check` rejects although the hub starts with it: unverified identity providers
    /// and exposed secrets.
    pub fn check_failures(&self) -> impl Iterator<Item = &Diagnostic> {
        self.unverified_connectors.iter().chain(&self.exposed_secrets)
    }

    /// Returns the warnings at `now`: [`Self::warnings`] and clients without a valid secret.
    pub fn warnings_at(&self, now: Timestamp) -> impl Iterator<Item = &Diagnostic> {
        let service_providers = self
            .service_providers
            .values()
            .filter_map(move |client| client.no_valid_secret_warning(now));
        let data_providers = self
            .data_providers
            .values()
            .filter_map(move |client| client.no_valid_secret_warning(now));
        self.warnings.iter().chain(service_providers).chain(data_providers)
    }
}

/// Returns the output of `passerelle check`: every problem, or a summary of the configuration with
/// its warnings at `now`.
#[must_use]
pub fn report(loaded: &Result<LoadedConfig, Vec<Diagnostic>>, now: Timestamp) -> String {
    let mut text = String::new();
    match loaded {
        Ok(loaded) => {
            text += if loaded.check_failures().next().is_none() {
                "The configuration is valid.\n"
            } else {
                "The files are well formed. The hub starts with them and logs a warning for each problem below.\n"
            };
            text += &format!("  issuer: {}\n", loaded.issuer);
            text +=
                &format!("  service providers: {}\n", join_names(loaded.service_providers.keys()));
            text += &format!("  data providers: {}\n", join_names(loaded.data_providers.keys()));
            text += &format!("  connectors: {}\n", join_names(loaded.connectors.keys()));
            text += &list_diagnostics("problem", &loaded.check_failures().collect::<Vec<_>>());
            text += &list_diagnostics("warning", &loaded.warnings_at(now).collect::<Vec<_>>());
        }
        Err(problems) => text += &list_diagnostics("problem", &problems.iter().collect::<Vec<_>>()),
    }
    text
}

fn join_names<T: fmt::Display>(names: impl Iterator<Item = T>) -> String {
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    if names.is_empty() { "none".into() } else { format!("{} ({})", names.len(), names.join(", ")) }
}

fn list_diagnostics(word: &str, problems: &[&Diagnostic]) -> String {
    let mut text = match problems.len() {
        0 => return String::new(),
        1 => format!("\n1 {word}:\n"),
        many => format!("\n{many} {word}s:\n"),
    };
    for problem in problems {
        text += &format!("{problem}\n");
    }
    text
}
