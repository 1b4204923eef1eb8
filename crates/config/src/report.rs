//! Renders the outcome of a load for operators.

use std::fmt;

use serde::Serialize;

use super::loaded::LoadedConfig;
use super::validation::client_certificates::proxy_duty;
use passerelle_protocol::env::Timestamp;
use passerelle_settings::Diagnostic;

impl LoadedConfig {
    /// Returns what `check` rejects although the hub starts with it: unverified identity providers
    /// and exposed secrets.
    pub fn check_failures(&self) -> impl Iterator<Item = &Diagnostic> {
        self.unverified_connectors.iter().chain(&self.exposed_secrets)
    }

    /// Returns what the configuration requires of others, and `check` can't see.
    fn notes(&self) -> impl Iterator<Item = String> {
        proxy_duty(&self.settings.public).into_iter()
    }

    /// Returns the warnings at `now`: [`Self::warnings`], certificates that expire soon, and clients
    /// without a valid secret.
    pub fn warnings_at(&self, now: Timestamp) -> impl Iterator<Item = &Diagnostic> {
        let service_providers = self.service_providers.values().map(|one| &one.no_valid_secret);
        let data_providers = self.data_providers.values().map(|one| &one.no_valid_secret);
        let secrets = service_providers.chain(data_providers).flatten();
        let certificates =
            self.certificates.iter().filter_map(move |certificate| certificate.warning_at(now));
        let secrets = secrets.filter_map(move |secrets| secrets.warning_at(now));
        self.warnings.iter().chain(certificates).chain(secrets)
    }
}

/// Outcome of a load, for `passerelle check --json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ConfigReport<'l> {
    /// Whether `check` finds nothing to reject.
    pub valid: bool,
    pub issuer: Option<&'l str>,
    pub service_providers: Vec<String>,
    pub data_providers: Vec<String>,
    pub connectors: Vec<String>,
    pub problems: Vec<&'l Diagnostic>,
    pub warnings: Vec<&'l Diagnostic>,
    /// What the configuration requires of others, and `check` can't see.
    pub notes: Vec<String>,
}

impl<'l> ConfigReport<'l> {
    /// Creates the report of a load at `now`.
    pub fn new(loaded: &'l Result<LoadedConfig, Vec<Diagnostic>>, now: Timestamp) -> Self {
        let mut report = Self {
            valid: false,
            issuer: None,
            service_providers: Vec::new(),
            data_providers: Vec::new(),
            connectors: Vec::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
        };
        match loaded {
            Ok(loaded) => {
                report.issuer = Some(&loaded.issuer);
                report.service_providers = to_texts(loaded.service_providers.keys());
                report.data_providers = to_texts(loaded.data_providers.keys());
                report.connectors = to_texts(loaded.connectors.keys());
                report.problems = loaded.check_failures().collect();
                report.warnings = loaded.warnings_at(now).collect();
                report.notes = loaded.notes().collect();
                report.valid = report.problems.is_empty();
            }
            Err(problems) => report.problems = problems.iter().collect(),
        }
        report
    }
}

fn to_texts<T: fmt::Display>(names: impl Iterator<Item = T>) -> Vec<String> {
    names.map(|name| name.to_string()).collect()
}

/// Returns the output of `passerelle check`: every problem, or a summary of the configuration with
/// its warnings at `now`.
pub fn render_check_output(
    loaded: &Result<LoadedConfig, Vec<Diagnostic>>,
    now: Timestamp,
) -> String {
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
            for note in loaded.notes() {
                text += &format!("\nnote: {note}\n");
            }
        }
        Err(problems) => text += &list_diagnostics("problem", &problems.iter().collect::<Vec<_>>()),
    }
    text
}

fn join_names<T: fmt::Display>(names: impl Iterator<Item = T>) -> String {
    let names = to_texts(names);
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
