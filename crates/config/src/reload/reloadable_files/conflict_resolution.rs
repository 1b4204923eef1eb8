//! Decides which pending versions become active when some of them conflict.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::ReloadableFiles;
use super::file_set::PendingFile;
use crate::validation::consistency::{self, ClientDeclaration, Conflict, ConflictKind};
use crate::validation::data_providers;
use crate::validation::service_providers::{self, ExistingConnectors};
use passerelle_settings::{Diagnostic, FileCheck, SourceFile, file_diagnostic};

/// Maximum number of rejected files for which each is retried on its own in the same scan.
const MAX_FILES_TO_READMIT: usize = 64;

/// Message about a folder of connectors that has become empty.
pub const NO_CONNECTOR: &str = "contains no connector, so no user can log in";

/// Files whose newest version is rejected, with the reasons.
pub(super) type RejectedFiles = BTreeMap<PathBuf, Vec<Diagnostic>>;

/// Files whose newest version is valid and not active yet.
pub(super) type PendingFiles = BTreeMap<PathBuf, PendingFile>;

impl ReloadableFiles {
    /// Activates the pending versions. Where versions conflict, the file that changed last keeps
    /// its last valid version. A conflict that a removed file causes is reported and rejects
    /// nothing. At a start (scan 0) no file was in use before: see [`file_to_reject`].
    pub(super) fn resolve_conflicts(&mut self) {
        let (pending, is_start) = (self.pending_files(), self.scan_count == 0);
        let mut rejected = RejectedFiles::new();
        // Accepting one of several files with one id could lift what another of them denies.
        let mut never_accepted = reject_new_duplicates(&self.conflicts(&rejected), &pending);
        never_accepted.extend(self.collisions_with_unusable_files(&pending));
        self.unattributed = loop {
            let all = rejected.iter().chain(&never_accepted);
            let known = all.map(|(file, reasons)| (file.clone(), reasons.clone())).collect();
            let (attributed, unattributed) =
                attribute_conflicts(self.conflicts(&known), &pending, is_start, &known);
            if attributed.is_empty() {
                break unattributed;
            }
            rejected.extend(attributed);
        };
        self.unattributed.extend(self.no_connector_warning());
        if (2..=MAX_FILES_TO_READMIT).contains(&rejected.len()) {
            self.readmit_files_without_conflict(&mut rejected, &never_accepted);
        }
        rejected.extend(never_accepted);
        self.services.activate_pending(&mut rejected);
        self.data_providers.activate_pending(&mut rejected);
        self.connectors.activate_pending(&mut rejected);
        self.scopes.activate_pending(&mut rejected);
        self.notices.activate_pending(&mut rejected);
        self.languages.activate_pending(&mut rejected);
    }

    /// Accepts rejected files that cause no further conflict on their own, without those of `never`.
    fn readmit_files_without_conflict(&self, rejected: &mut RejectedFiles, never: &RejectedFiles) {
        rejected.extend(never.clone());
        let accepted = self.conflicts(rejected).len();
        let files: Vec<PathBuf> =
            rejected.keys().filter(|file| !never.contains_key(*file)).cloned().collect();
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
        (is_empty && !self.services.is_empty())
            .then(|| file_diagnostic(&self.context.connectors, NO_CONNECTOR, fix))
    }

    fn pending_files(&self) -> PendingFiles {
        let all = self.services.pending_files().chain(self.data_providers.pending_files());
        let all = all.chain(self.connectors.pending_files()).chain(self.scopes.pending_files());
        all.map(|(path, pending)| (path.to_owned(), pending)).collect()
    }

    /// Returns the conflicts of service providers and data providers with the table of scopes.
    fn scope_conflicts(&self, is_rejected: &dyn Fn(&Path) -> bool) -> Vec<Conflict> {
        let Some(scopes) = self.scopes.candidate_versions(is_rejected).next() else {
            return Vec::new();
        };
        let tables = &scopes.content.tables;
        let conflicts = |source: &SourceFile, problems: Vec<Diagnostic>| {
            let files = [source.path(), scopes.source.path()];
            problems.into_iter().map(|problem| Conflict::new(problem, files)).collect::<Vec<_>>()
        };
        let mut found = Vec::new();
        for version in self.services.candidate_versions(is_rejected) {
            let (source, file) = (&version.source, &version.content.file);
            let mut problems = Vec::new();
            let mut check = FileCheck::new(source, &mut problems);
            service_providers::check_scopes(&mut check, file, tables);
            found.extend(conflicts(source, problems));
        }
        for version in self.data_providers.candidate_versions(is_rejected) {
            let (source, file) = (&version.source, &version.content.file);
            let mut problems = Vec::new();
            let mut check = FileCheck::new(source, &mut problems);
            data_providers::check_scopes(&mut check, file, &tables.scopes);
            found.extend(conflicts(source, problems));
        }
        found
    }

    /// Returns the conflicts that activating every pending version except `rejected` would cause.
    fn conflicts(&self, rejected: &RejectedFiles) -> Vec<Conflict> {
        let is_rejected = |path: &Path| rejected.contains_key(path);
        let services: Vec<_> = self.services.candidate_versions(&is_rejected).collect();
        let data_providers: Vec<_> = self.data_providers.candidate_versions(&is_rejected).collect();
        let service_providers = services.iter().map(|version| {
            ClientDeclaration::from_service_provider(&version.source, &version.content.file)
        });
        let data = data_providers.iter().map(|version| {
            ClientDeclaration::from_data_provider(&version.source, &version.content.file)
        });
        let parties: Vec<_> = service_providers.chain(data).collect();
        let mut found = consistency::find_conflicts(
            &parties,
            &self.context.subject_keys.keys().copied().collect(),
        );
        found.extend(self.scope_conflicts(&is_rejected));

        let connectors: Vec<_> = self.connectors.candidate_versions(&is_rejected).collect();
        let clients = services
            .iter()
            .map(|version| &version.source)
            .chain(data_providers.iter().map(|version| &version.source));
        let all = clients.chain(connectors.iter().map(|version| &version.source));
        found.extend(consistency::shared_secret_conflicts(all, &self.context.folder));
        let described = connectors.iter().map(|version| {
            let configured = &version.content;
            (&configured.id, (configured.file.levels.highest, version.source.path()))
        });
        let existing_connectors = ExistingConnectors { connectors: described.collect() };
        let files = services.iter().map(|version| (&version.source, &version.content.file));
        found.extend(service_providers::unreachable_conflicts(
            files,
            &existing_connectors,
            self.context.platform,
        ));
        found
    }
}

/// Rejects all files with one `client_id` of which none was in use before.
fn reject_new_duplicates(conflicts: &[Conflict], pending: &PendingFiles) -> RejectedFiles {
    let mut rejected = RejectedFiles::new();
    let is_new = |file: &PathBuf| pending.get(file).is_some_and(|pending| pending.is_new);
    for Conflict { problem, files, .. } in conflicts.iter().filter(|conflict| {
        conflict.kind == ConflictKind::DuplicateId && conflict.files.iter().all(is_new)
    }) {
        for file in files {
            let reasons = rejected.entry(file.clone()).or_default();
            reasons.push(attribute_to(file, problem.clone()));
        }
    }
    rejected
}

/// Attributes each conflict to one of the involved files. Also returns the conflicts that no
/// pending change has caused.
fn attribute_conflicts(
    conflicts: Vec<Conflict>,
    pending: &PendingFiles,
    is_start: bool,
    rejected: &RejectedFiles,
) -> (RejectedFiles, Vec<Diagnostic>) {
    let (mut attributed, mut unattributed) = (RejectedFiles::new(), Vec::new());
    for conflict in conflicts {
        // Rejecting a file for another conflict may resolve this one too; the next iteration finds
        // out.
        if let Some(already) = conflict.files.iter().find(|file| attributed.contains_key(*file)) {
            if let Some(reasons) = attributed.get_mut(already) {
                reasons.push(attribute_to(already, conflict.problem));
            }
            continue;
        }
        let candidates: BTreeSet<&PathBuf> =
            conflict.files.iter().filter(|file| !rejected.contains_key(*file)).collect();
        match file_to_reject(&conflict, candidates, pending, is_start) {
            Some(file) => {
                attributed.insert(file.clone(), vec![attribute_to(&file, conflict.problem)]);
            }
            None => unattributed.push(conflict.problem),
        }
    }
    (attributed, unattributed)
}

/// Returns the file that a conflict rejects: the one that changed last. At a start, when every file
/// is new, it is the one with the problem; a service provider that is left without a connector
/// stays registered, because its codes and tokens are still valid.
fn file_to_reject(
    conflict: &Conflict,
    candidates: BTreeSet<&PathBuf>,
    pending: &PendingFiles,
    is_start: bool,
) -> Option<PathBuf> {
    let mut pending_ones =
        candidates.into_iter().filter_map(|file| Some((pending.get(file)?.order, file)));
    let found = match conflict.kind {
        ConflictKind::NoConnector if is_start => None,
        _ if is_start => {
            pending_ones.find(|(_, file)| file.display().to_string() == conflict.problem.file)
        }
        _ => pending_ones.max(),
    };
    found.map(|(_, file)| file.clone())
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
