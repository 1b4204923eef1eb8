//! Decides which pending versions become active when some of them conflict.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::ReloadableFiles;
use super::file_set::ChangeOrder;
use crate::config::loading::{Diagnostic, SourceFile, file_diagnostic};
use crate::config::validation::consistency::{self, ClientDeclaration, Conflict};
use crate::config::validation::data_providers;
use crate::config::validation::service_providers::{self, ExistingConnectors};

/// Maximum number of rejected files for which each is retried on its own in the same scan.
const MAX_FILES_TO_READMIT: usize = 64;

/// Files whose newest version is rejected, with the reasons.
type RejectedFiles = BTreeMap<PathBuf, Vec<Diagnostic>>;

impl ReloadableFiles {
    /// Activates the pending versions. Where versions conflict, the file that changed last keeps
    /// its last valid version. A conflict that a removed file causes is reported and rejects
    /// nothing.
    pub(super) fn resolve_conflicts(&mut self) {
        let pending: BTreeMap<PathBuf, ChangeOrder> = self.pending_files();
        let mut rejected = RejectedFiles::new();
        self.unattributed = loop {
            let (attributed, unattributed) =
                attribute_conflicts(self.conflicts(&rejected), &pending, &rejected);
            if attributed.is_empty() {
                break unattributed;
            }
            rejected.extend(attributed);
        };
        self.unattributed.extend(self.no_connector_warning());
        if (2..=MAX_FILES_TO_READMIT).contains(&rejected.len()) {
            self.readmit_innocent(&mut rejected);
        }
        self.services.activate_pending(&mut rejected);
        self.data_providers.activate_pending(&mut rejected);
        self.connectors.activate_pending(&mut rejected);
        self.scopes.activate_pending(&mut rejected);
        self.notices.activate_pending(&mut rejected);
        self.languages.activate_pending(&mut rejected);
    }

    /// Accepts rejected files that cause no further conflict on their own.
    fn readmit_innocent(&self, rejected: &mut RejectedFiles) {
        let accepted = self.conflicts(rejected).len();
        let files: Vec<PathBuf> = rejected.keys().cloned().collect();
        for file in files {
            let Some(reasons) = rejected.remove(&file) else { continue };
            if self.conflicts(rejected).len() > accepted {
                rejected.insert(file, reasons);
            }
        }
    }

    /// Warns if service providers exist but no connector.
    fn no_connector_warning(&self) -> Option<Diagnostic> {
        let is_empty = self.connectors.is_empty() && self.connectors.diagnostics().next().is_none();
        let fix = "add a connector file there";
        (is_empty && !self.services.is_empty()).then(|| {
            file_diagnostic(
                &self.context.connectors,
                "contains no connector, so no user can log in",
                fix,
            )
        })
    }

    fn pending_files(&self) -> BTreeMap<PathBuf, ChangeOrder> {
        let all = self.services.pending_files().chain(self.data_providers.pending_files());
        let all = all.chain(self.connectors.pending_files()).chain(self.scopes.pending_files());
        all.map(|(path, order)| (path.to_owned(), order)).collect()
    }

    /// Returns the conflicts that activating every pending version except `rejected` would cause.
    fn conflicts(&self, rejected: &RejectedFiles) -> Vec<Conflict> {
        let is_rejected = |path: &Path| rejected.contains_key(path);
        let services: Vec<_> = self.services.candidate_versions(&is_rejected).collect();
        let data_providers: Vec<_> = self.data_providers.candidate_versions(&is_rejected).collect();
        let service_providers = services.iter().map(|version| {
            ClientDeclaration::from_service_provider(&version.source, &version.content.client.file)
        });
        let data = data_providers.iter().map(|version| {
            ClientDeclaration::from_data_provider(&version.source, &version.content.registered.file)
        });
        let parties: Vec<_> = service_providers.chain(data).collect();
        let mut found = consistency::find_conflicts(
            &parties,
            &self.context.subject_keys.keys().copied().collect(),
        );

        if let Some(scopes) = self.scopes.candidate_versions(&is_rejected).next() {
            let tables = &scopes.content.tables;
            let conflicts = |source: &SourceFile, problems: Vec<Diagnostic>| {
                let files = [source.path(), scopes.source.path()];
                problems
                    .into_iter()
                    .map(|problem| Conflict::new(problem, files))
                    .collect::<Vec<_>>()
            };
            for version in &services {
                let (source, file) = (&version.source, &version.content.client.file);
                let mut problems = Vec::new();
                service_providers::check_scopes(source, file, tables, &mut problems);
                found.extend(conflicts(source, problems));
            }
            for version in &data_providers {
                let (source, file) = (&version.source, &version.content.registered.file);
                let mut problems = Vec::new();
                data_providers::check_scopes(source, file, &tables.scopes, &mut problems);
                found.extend(conflicts(source, problems));
            }
        }

        let connectors: Vec<_> = self.connectors.candidate_versions(&is_rejected).collect();
        let clients = services
            .iter()
            .map(|version| &version.source)
            .chain(data_providers.iter().map(|version| &version.source));
        let all = clients.chain(connectors.iter().map(|version| &version.source));
        found.extend(consistency::shared_secret_conflicts(all, &self.context.folder));
        let described = connectors.iter().map(|version| {
            let configured = &version.content.configured;
            (&configured.id, (configured.file.levels.highest, version.source.path()))
        });
        let existing_connectors = ExistingConnectors { connectors: described.collect() };
        let files = services.iter().map(|version| (&version.source, &version.content.client.file));
        found.extend(service_providers::unreachable_conflicts(
            files,
            &existing_connectors,
            self.context.platform,
        ));
        found
    }
}

/// Attributes each conflict to the involved file that changed last. Also returns the conflicts that
/// no pending change has caused.
fn attribute_conflicts(
    conflicts: Vec<Conflict>,
    pending: &BTreeMap<PathBuf, ChangeOrder>,
    rejected: &RejectedFiles,
) -> (RejectedFiles, Vec<Diagnostic>) {
    let (mut attributed, mut unattributed) = (RejectedFiles::new(), Vec::new());
    for Conflict { problem, files } in conflicts {
        // Rejecting a file for another conflict may resolve this one too; the next iteration finds
        // out.
        if let Some(already) = files.iter().find(|file| attributed.contains_key(*file)) {
            if let Some(reasons) = attributed.get_mut(already) {
                reasons.push(attribute_to(already, problem));
            }
            continue;
        }
        let candidates: BTreeSet<_> =
            files.iter().filter(|file| !rejected.contains_key(*file)).collect();
        let last = candidates.into_iter().filter_map(|file| Some((pending.get(file)?, file))).max();
        match last {
            Some((_, file)) => {
                attributed.insert(file.clone(), vec![attribute_to(file, problem)]);
            }
            None => unattributed.push(problem),
        }
    }
    (attributed, unattributed)
}

/// Rewrites a problem that is reported in one file but attributed to `file`.
fn attribute_to(file: &Path, problem: Diagnostic) -> Diagnostic {
    let name = file.display().to_string();
    if problem.file == name {
        return problem;
    }
    let line = problem.line.map_or_else(String::new, |line| format!(":{line}"));
    let message =
        format!("conflicts with {}{line}: {} {}", problem.file, problem.key, problem.message);
    let fix = format!("revert this change, or in that file: {}", problem.fix);
    Diagnostic { file: name, line: None, key: String::new(), message, fix }
}
