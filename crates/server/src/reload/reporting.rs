//! Logs what a scan of the files has found, and turns it into findings.

use std::collections::BTreeMap;

use super::ReloadLoop;
use passerelle_audit::{Event, EventKind};
use passerelle_config::reloadable_files::NO_CONNECTOR;
use passerelle_config::settings_file::SettingsFileState;
use passerelle_settings::Diagnostic;
use passerelle_telemetry::CheckFinding;

impl ReloadLoop {
    /// Logs a change of the settings file.
    pub(super) fn report_settings(&mut self, state: SettingsFileState) {
        if state == self.settings {
            return;
        }
        match &state {
            SettingsFileState::Unchanged => {
                tracing::info!("passerelle.toml is the one again that this hub was started with");
            }
            SettingsFileState::Changed(_) => {
                tracing::warn!("passerelle.toml has changed; it takes effect at the next restart");
            }
            SettingsFileState::Invalid(diagnostics) => {
                let error = join_lines(diagnostics);
                tracing::error!(error, "passerelle.toml is invalid; the next start will fail");
            }
        }
        self.settings = state;
    }

    /// Logs each file that becomes invalid, whose diagnostics change, or that becomes valid again.
    pub(super) fn report_changes(&mut self, diagnostics: &[Diagnostic]) {
        let mut now: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
        for diagnostic in diagnostics {
            now.entry(diagnostic.file.clone()).or_default().push(diagnostic.clone());
        }
        for (file, diagnostics) in
            now.iter().filter(|(file, diagnostics)| self.reported.get(*file) != Some(*diagnostics))
        {
            if diagnostics.iter().all(|diagnostic| diagnostic.message == NO_CONNECTOR) {
                tracing::warn!(folder = file, "no connector is left; no user can log in");
                continue;
            }
            let error = join_lines(diagnostics);
            tracing::error!(
                file,
                error,
                "a configuration file is invalid; its last good version stays in use, if it had one"
            );
            self.core.audit.record(|| Event::new(EventKind::ConfigRejected).file(file));
        }
        for file in self.reported.keys().filter(|file| !now.contains_key(*file)) {
            tracing::info!(file, "a configuration file is valid again, or removed");
        }
        self.reported = now;
    }
}

pub(super) fn to_findings<'a>(
    diagnostics: impl IntoIterator<Item = &'a Diagnostic>,
) -> Vec<CheckFinding> {
    let finding = |one: &Diagnostic| CheckFinding::new(one.located_message(), one.fix.clone());
    diagnostics.into_iter().map(finding).collect()
}

pub(super) fn prevents_next_start(diagnostic: &Diagnostic) -> CheckFinding {
    let message = format!("the next start will fail: {}", diagnostic.located_message());
    CheckFinding::new(message, diagnostic.fix.clone())
}

fn join_lines(diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<_> = diagnostics.iter().map(Diagnostic::to_single_line).collect();
    lines.join("; and ")
}
