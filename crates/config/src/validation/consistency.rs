//! Checks the files of service providers and data providers against each other: ids are unique,
//! only files that declare a sector share it, and a sector uses one version of the subject key.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::scopes::NamedScopeTable;
use crate::model::{DataProviderFile, ServiceProviderFile};
use passerelle_protocol::ids::{ClientId, Scope};
use passerelle_settings::{Diagnostic, FileCheck, SourceFile, secret_rules};

/// The fields of a client's file that must be consistent with other files.
#[derive(Clone, Copy)]
pub(crate) struct ClientDeclaration<'a> {
    /// The client's file.
    pub source: &'a SourceFile,
    /// Its client_id.
    pub client_id: &'a ClientId,
    /// Its declared sector.
    pub sector: Option<&'a str>,
    /// Its declared version of the subject key.
    pub subject_key_version: Option<u32>,
}

impl<'a> ClientDeclaration<'a> {
    /// Returns the fields of a service provider's file.
    pub(crate) fn from_service_provider(
        source: &'a SourceFile,
        file: &'a ServiceProviderFile,
    ) -> Self {
        let ServiceProviderFile { client_id, sector, subject_key_version, .. } = file;
        Self {
            source,
            client_id,
            sector: sector.as_deref(),
            subject_key_version: *subject_key_version,
        }
    }

    /// Returns the fields of a data provider's file.
    pub(crate) fn from_data_provider(source: &'a SourceFile, file: &'a DataProviderFile) -> Self {
        let DataProviderFile { client_id, sector, subject_key_version, .. } = file;
        Self {
            source,
            client_id,
            sector: sector.as_deref(),
            subject_key_version: *subject_key_version,
        }
    }
}

/// A problem between several files.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The problem, at one of the files.
    pub problem: Diagnostic,
    /// The files involved. A change of any of them may resolve the conflict.
    pub files: Vec<PathBuf>,
    /// What the files disagree about.
    pub kind: ConflictKind,
}

/// Kind of a conflict between files. It decides which of the files a start ignores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConflictKind {
    /// Several files have one `client_id`: which of them is meant, and what it denies, is unknown.
    DuplicateId,
    /// A service provider is left without a connector, perhaps because a connector's file is
    /// invalid.
    NoConnector,
    /// The file with the problem is the wrong one.
    Other,
}

impl Conflict {
    /// Creates a conflict between `files`.
    pub fn new<'a>(problem: Diagnostic, between: impl IntoIterator<Item = &'a Path>) -> Self {
        let files = between.into_iter().map(Path::to_owned).collect();
        Self { problem, files, kind: ConflictKind::Other }
    }

    /// Sets the kind.
    #[must_use]
    pub fn with_kind(self, kind: ConflictKind) -> Self {
        Self { kind, ..self }
    }
}

/// Returns every conflict between files of service providers and data providers.
pub(crate) fn find_conflicts(
    declarations: &[ClientDeclaration<'_>],
    versions: &BTreeSet<u32>,
) -> Vec<Conflict> {
    let mut found = duplicate_ids(declarations);
    found.extend(sector_conflicts(declarations));
    found.extend(key_version_conflicts(declarations, versions));
    found
}

/// Returns the files whose `client_id` another file has too.
pub(crate) fn duplicate_ids(declarations: &[ClientDeclaration<'_>]) -> Vec<Conflict> {
    let mut found = Vec::new();
    let mut seen: BTreeMap<&ClientId, &ClientDeclaration<'_>> = BTreeMap::new();
    for declaration in declarations {
        if let Some(first) = seen.insert(declaration.client_id, declaration) {
            let message = format!("is already the client_id of {}", first.source.file());
            let fix = "give each service provider and data provider a unique client_id";
            let problem = declaration.source.diagnostic("client_id", message, fix);
            let conflict = Conflict::new(problem, [first.source.path(), declaration.source.path()]);
            found.push(conflict.with_kind(ConflictKind::DuplicateId));
        }
    }
    found
}

/// Returns the files that declare another client's `client_id` as their sector although that client
/// declares none. A sector is shared only if each file declares it.
pub(crate) fn sector_conflicts(declarations: &[ClientDeclaration<'_>]) -> Vec<Conflict> {
    let undeclared: BTreeMap<&str, &ClientDeclaration<'_>> = declarations
        .iter()
        .filter(|declaration| declaration.sector.is_none())
        .map(|declaration| (declaration.client_id.as_str(), declaration))
        .collect();
    let mut found = Vec::new();
    for declaration in declarations {
        let Some(sector) = declaration.sector else { continue };
        if let Some(other) = undeclared.get(sector) {
            let message =
                format!("is the client_id of {sector}, whose file doesn't declare a shared sector");
            let fix =
                format!("write sector = \"{sector}\" in that file too, or choose another name");
            let problem = declaration.source.diagnostic("sector", message, fix);
            found.push(Conflict::new(problem, [other.source.path(), declaration.source.path()]));
        }
    }
    found
}

/// Returns the files whose version of the subject key doesn't exist, or differs within a sector.
/// Two versions in one sector would give a user two `sub`.
pub(crate) fn key_version_conflicts(
    declarations: &[ClientDeclaration<'_>],
    versions: &BTreeSet<u32>,
) -> Vec<Conflict> {
    let mut found = Vec::new();
    let known = versions.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let newest = versions.last().copied().unwrap_or(1);
    let mut sector_versions: BTreeMap<&str, (u32, &ClientDeclaration<'_>)> = BTreeMap::new();
    for declaration in declarations {
        let version = declaration.subject_key_version.unwrap_or(newest);
        if !versions.contains(&version) {
            let fix =
                format!("write one of: {known}; or add the key to subject_keys in passerelle.toml");
            let problem = declaration.source.diagnostic(
                "subject_key_version",
                "is a version that no subject key has",
                fix,
            );
            found.push(Conflict::new(problem, [declaration.source.path()]));
            continue;
        }
        let Some(sector) = declaration.sector else { continue };
        let (other, first) = *sector_versions.entry(sector).or_insert((version, declaration));
        if other != version {
            let message = format!(
                "is {version}, but {other} in {}, which shares the sector: a user would have two sub",
                first.source.file()
            );
            let fix = format!(
                "write subject_key_version = {other} here, or the same version in every file of the sector"
            );
            let problem = declaration.source.diagnostic("subject_key_version", message, fix);
            found.push(Conflict::new(problem, [first.source.path(), declaration.source.path()]));
        }
    }
    found
}

/// Returns the files that reference an `ID.secret` of the configuration folder which another file
/// of the same name references too. Otherwise a connector of that name could send a service
/// provider's secret to its own server.
pub(crate) fn shared_secret_conflicts<'a>(
    sources: impl IntoIterator<Item = &'a SourceFile>,
    folder: &Path,
) -> Vec<Conflict> {
    let mut found = Vec::new();
    let mut seen: BTreeMap<&OsStr, &SourceFile> = BTreeMap::new();
    for source in sources {
        let Some((id, key)) = source
            .path()
            .file_stem()
            .zip(secret_rules::find_single_secret_reference(source, folder))
        else {
            continue;
        };
        match seen.get(id) {
            None => {
                seen.insert(id, source);
            }
            Some(first) => {
                let message =
                    format!("references the secret of {}, which has the same name", first.file());
                let fix = "put this secret into its own folder, see docs/secrets.md";
                found.push(Conflict::new(
                    source.diagnostic(&key, message, fix),
                    [first.path(), source.path()],
                ));
            }
        }
    }
    found
}

/// Reports a `client_id` that is not 1 to 255 printable ASCII characters.
pub(crate) fn check_client_id(check: &mut FileCheck<'_>, client_id: &ClientId) {
    let id = client_id.as_str();
    if id.is_empty() || id.len() > 255 || !id.bytes().all(|c| c.is_ascii_graphic()) {
        let fix = "use 1 to 255 printable ASCII characters without spaces";
        check.report("client_id", "is not a valid client_id", fix);
    }
}

/// Returns true if the text is a valid id of a category.
pub(crate) fn is_category_id(id: &str) -> bool {
    let charset = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=32).contains(&id.len()) && id.bytes().all(charset)
}

/// Reports an empty sector.
pub(crate) fn check_sector(check: &mut FileCheck<'_>, sector: Option<&str>) {
    if sector.is_some_and(|sector| sector.trim_ascii().is_empty()) {
        check.report("sector", "is empty", "name the sector, or remove the key");
    }
}

/// Reports entries of `scopes` that the scope table doesn't contain.
pub(crate) fn check_scopes_are_known(
    check: &mut FileCheck<'_>,
    granted: &[Scope],
    table: NamedScopeTable<'_>,
) {
    let NamedScopeTable { name, scopes: table } = table;
    for (index, _) in granted.iter().enumerate().filter(|(_, scope)| !table.contains_key(*scope)) {
        let known = table.keys().map(Scope::as_str).collect::<Vec<_>>().join(", ");
        let fix = format!("add it to [{name}] of scopes.toml, or use one of: {known}");
        check.report(
            &format!("scopes[{index}]"),
            "is granted, but is not in the scopes table",
            fix,
        );
    }
}
