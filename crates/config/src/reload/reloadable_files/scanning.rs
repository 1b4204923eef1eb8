//! Reads the changed files of each kind.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entries::{LoadContext, ScopesEntry};
use super::file_set::{ScanContext, ScanOutcome};
use super::{BuildCheck, ReloadableFiles};
use crate::validation::scopes::{self, ScopeTables};
use crate::validation::{connectors, data_providers, languages, service_providers};
use passerelle_federation::identity::declared::DeclaredClaims;
use passerelle_federation::notices;
use passerelle_protocol::digest;
use passerelle_settings::toml_folder::list_toml_files;
use passerelle_settings::{Diagnostic, FileCheck, SecretContext, SourceFile, source_file};

const FOLDER_FIX: &str =
    "restore the folder and make it readable; until then its last content stays active";

impl ReloadableFiles {
    /// Reads and checks the changed files of service providers.
    pub(super) fn scan_service_providers(
        &mut self,
        scan: &ScanContext<'_>,
        load_context: &LoadContext,
        context: &SecretContext<'_>,
    ) -> ScanOutcome {
        let folder = service_provider_folder(&load_context.folder);
        let settings = load_context.hub_settings();
        let check = |source: &SourceFile| {
            let (mut problems, file) = parse_file(source)?;
            let mut check = FileCheck::new(source, &mut problems);
            let checked = service_providers::check_file(&mut check, file, settings, context);
            unless_problems(problems, checked)
        };
        let read = |path: &Path| source_file::read_bytes_in(&folder, path);
        self.services.scan(list_toml_files(&folder, FOLDER_FIX), scan, read, check)
    }

    /// Reads and checks the changed files of data providers. Their folder is optional.
    pub(super) fn scan_data_providers(
        &mut self,
        scan: &ScanContext<'_>,
        load_context: &LoadContext,
        context: &SecretContext<'_>,
    ) -> ScanOutcome {
        let folder = data_provider_folder(&load_context.folder);
        let paths = match list_toml_files(&folder, FOLDER_FIX) {
            // The folder is optional.
            Err(_) if self.data_providers.is_empty() && !folder.exists() => Ok(Vec::new()),
            paths => paths,
        };
        let newest = load_context.newest_subject_key();
        let check = |source: &SourceFile| {
            let (mut problems, file) = parse_file(source)?;
            let mut check = FileCheck::new(source, &mut problems);
            let checked = data_providers::check_file(&mut check, file, newest, context);
            unless_problems(problems, checked)
        };
        let read = |path: &Path| source_file::read_bytes_in(&folder, path);
        self.data_providers.scan(paths, scan, read, check)
    }

    /// Reads and checks the changed files of connectors. A connector that can't be built is
    /// invalid.
    pub(super) fn scan_connectors(
        &mut self,
        scan: &ScanContext<'_>,
        load_context: &LoadContext,
        context: &SecretContext<'_>,
        buildable: BuildCheck<'_>,
    ) -> ScanOutcome {
        let folder = &load_context.connectors;
        let check = |source: &SourceFile| {
            let configured = connectors::check_source(
                source,
                load_context.kinds,
                &load_context.declarations,
                context,
            )?;
            buildable(&configured).map_err(|found| vec![source.locate(found)])?;
            Ok(Arc::new(configured))
        };
        let read = |path: &Path| source_file::read_bytes_in(folder, path);
        self.connectors.scan(connectors::list_files(folder), scan, read, check)
    }

    /// Reads and checks `scopes.toml` if it has changed. Without the file, the built-in tables
    /// apply.
    pub(super) fn scan_scopes(
        &mut self,
        scan: &ScanContext<'_>,
        claims: &DeclaredClaims,
    ) -> ScanOutcome {
        let read = |path: &Path| read_bytes_or(path, scopes::ABSENT_SCOPES_FILE);
        self.scopes.scan(single_file(scan.folder, "scopes.toml"), scan, read, |source| {
            let mut problems = Vec::new();
            let tables = if is_absent_scopes_file(source) {
                Some(ScopeTables::default())
            } else {
                scopes::parse_scopes(&mut FileCheck::new(source, &mut problems), Some(claims))
            };
            ScopesEntry::new(source, tables.ok_or(problems)?, claims)
                .map_err(|problem| vec![problem])
        })
    }

    /// Reads and checks `notices.toml` if it has changed. Without the file, there are no notices.
    pub(super) fn scan_notices(&mut self, scan: &ScanContext<'_>) -> ScanOutcome {
        let read = |path: &Path| read_bytes_or(path, notices::ABSENT_NOTICES_FILE);
        self.notices.scan(single_file(scan.folder, "notices.toml"), scan, read, |source| {
            let mut problems = Vec::new();
            notices::parse_notices(&mut FileCheck::new(source, &mut problems))
                .map(Arc::from)
                .ok_or(problems)
        })
    }

    /// Reads and checks the changed files of messages. Their folder is optional.
    pub(super) fn scan_languages(&mut self, scan: &ScanContext<'_>) -> ScanOutcome {
        let folder = scan.folder.join(languages::FOLDER);
        let paths = match languages::list_message_files(&folder, FOLDER_FIX) {
            Err(_) if self.languages.is_empty() && !folder.exists() => Ok(Vec::new()),
            paths => paths,
        };
        let read = |path: &Path| source_file::read_bytes_in(&folder, path);
        self.languages.scan(paths, scan, read, languages::check_source)
    }
}

/// Returns the folder of the service providers' files.
pub(super) fn service_provider_folder(root: &Path) -> PathBuf {
    root.join("service-providers")
}

/// Returns the folder of the data providers' files.
pub(super) fn data_provider_folder(root: &Path) -> PathBuf {
    root.join(data_providers::FOLDER)
}

fn parse_file<T: serde::de::DeserializeOwned + schemars::JsonSchema + 'static>(
    source: &SourceFile,
) -> Result<(Vec<Diagnostic>, T), Vec<Diagnostic>> {
    let mut problems = Vec::new();
    match source.deserialize(&mut problems) {
        Some(file) => Ok((problems, file)),
        None => Err(problems),
    }
}

pub(super) fn unless_problems<T>(
    problems: Vec<Diagnostic>,
    value: T,
) -> Result<T, Vec<Diagnostic>> {
    if problems.is_empty() { Ok(value) } else { Err(problems) }
}

/// Reads an optional file; returns `absent` if it is missing.
fn read_bytes_or(path: &Path, absent: &str) -> Result<Vec<u8>, Diagnostic> {
    let folder = path.parent().unwrap_or(path);
    let is_absent = std::fs::symlink_metadata(path)
        .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    if is_absent { Ok(absent.into()) } else { source_file::read_bytes_in(folder, path) }
}

fn is_absent_scopes_file(source: &SourceFile) -> bool {
    *source.hash() == digest::sha256(scopes::ABSENT_SCOPES_FILE.as_bytes())
}

/// Returns the path of an optional file, unless its folder can't be read.
fn single_file(folder: &Path, name: &str) -> Result<Vec<PathBuf>, Diagnostic> {
    if folder.is_dir() { Ok(vec![folder.join(name)]) } else { list_toml_files(folder, FOLDER_FIX) }
}
