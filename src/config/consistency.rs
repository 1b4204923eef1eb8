//! What is checked over the files of service providers and data providers together (decisions 6, 7): their ids are unique,
//! sectors are shared only by those who say so, and a sector has one version of the subjects' key.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::ids::{ClientId, Scope};

use super::data_providers::DataProvider;
use super::model::ServiceProvider;
use super::problem::Problem;
use super::secret_rules;
use super::settings::SubjectKeys;
use super::source::Source;

/// What every such file says of whom it registers.
#[derive(Clone, Copy)]
pub struct Party<'a> {
    pub source: &'a Source,
    pub client_id: &'a ClientId,
    pub sector: Option<&'a str>,
    pub subject_key_version: Option<u32>,
}

impl<'a> Party<'a> {
    pub fn of_service(source: &'a Source, file: &'a ServiceProvider) -> Self {
        let ServiceProvider { client_id, sector, subject_key_version, .. } = file;
        Self {
            source,
            client_id,
            sector: sector.as_deref(),
            subject_key_version: *subject_key_version,
        }
    }

    pub fn of_data_provider(source: &'a Source, file: &'a DataProvider) -> Self {
        let DataProvider { client_id, sector, subject_key_version, .. } = file;
        Self {
            source,
            client_id,
            sector: sector.as_deref(),
            subject_key_version: *subject_key_version,
        }
    }
}

/// A fault that no file has alone.
#[derive(Clone, Debug)]
pub struct Conflict {
    pub problem: Problem,
    /// The files that it lies between: a change of any of them may end it.
    pub between: Vec<PathBuf>,
}

impl Conflict {
    pub fn new<'a>(problem: Problem, between: impl IntoIterator<Item = &'a Path>) -> Self {
        Self { problem, between: between.into_iter().map(Path::to_owned).collect() }
    }
}

/// Every conflict between files of service providers and data providers.
pub fn conflicts(parties: &[Party<'_>], keys: &SubjectKeys) -> Vec<Conflict> {
    let mut found = duplicates(parties);
    found.extend(sectors(parties));
    found.extend(key_versions(parties, keys));
    found
}

pub fn duplicates(parties: &[Party<'_>]) -> Vec<Conflict> {
    let mut found = Vec::new();
    let mut seen: BTreeMap<&ClientId, &Party<'_>> = BTreeMap::new();
    for party in parties {
        if let Some(first) = seen.insert(party.client_id, party) {
            let what = format!("is already the client_id of {}", first.source.file());
            let mend = "give each service provider and data provider an id of its own";
            let problem = party.source.problem("client_id", what, mend);
            found.push(Conflict::new(problem, [first.source.path(), party.source.path()]));
        }
    }
    found
}

/// Several share a sector only if each file says so (decisions 7): nobody's sector is another's bare client_id.
pub fn sectors(parties: &[Party<'_>]) -> Vec<Conflict> {
    let undeclared: BTreeMap<&str, &Party<'_>> = parties
        .iter()
        .filter(|party| party.sector.is_none())
        .map(|party| (party.client_id.as_str(), party))
        .collect();
    let mut found = Vec::new();
    for party in parties {
        let Some(sector) = party.sector else { continue };
        if let Some(other) = undeclared.get(sector) {
            let what =
                format!("is the sector of {sector}, whose file does not say that it shares it");
            let mend = format!("write sector = \"{sector}\" there too, or choose another name");
            let problem = party.source.problem("sector", what, mend);
            found.push(Conflict::new(problem, [other.source.path(), party.source.path()]));
        }
    }
    found
}

/// A version is one of those that there are, and the same in a whole sector, which would have two `sub` otherwise.
pub fn key_versions(parties: &[Party<'_>], keys: &SubjectKeys) -> Vec<Conflict> {
    let mut found = Vec::new();
    let known = keys.keys().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let newest = keys.keys().next_back().copied().unwrap_or(1);
    let mut of_sector: BTreeMap<&str, (u32, &Party<'_>)> = BTreeMap::new();
    for party in parties {
        let version = party.subject_key_version.unwrap_or(newest);
        if !keys.contains_key(&version) {
            let mend =
                format!("write one of: {known}; or add the key to subject_keys in passerelle.toml");
            let problem =
                party.source.problem("subject_key_version", "is a version that no key has", mend);
            found.push(Conflict::new(problem, [party.source.path()]));
            continue;
        }
        let Some(sector) = party.sector else { continue };
        let (other, first) = *of_sector.entry(sector).or_insert((version, party));
        if other != version {
            let what = format!(
                "is {version}, and {other} in {}, which shares the sector: one person would have two sub",
                first.source.file()
            );
            let mend = format!(
                "write subject_key_version = {other} here, or the same other version in every file of the sector"
            );
            let problem = party.source.problem("subject_key_version", what, mend);
            found.push(Conflict::new(problem, [first.source.path(), party.source.path()]));
        }
    }
    found
}

/// The file `ID.secret` of the configuration folder belongs to one file alone: where files of two kinds have the same name,
/// the first kind keeps it. Otherwise a connector of the right name would send a service provider's secret away.
pub fn shared_secrets<'a>(
    sources: impl IntoIterator<Item = &'a Source>,
    folder: &Path,
) -> Vec<Conflict> {
    let mut found = Vec::new();
    let mut seen: BTreeMap<&OsStr, &Source> = BTreeMap::new();
    for source in sources {
        let Some((id, key)) =
            source.path().file_stem().zip(secret_rules::single_reference(source, folder))
        else {
            continue;
        };
        match seen.get(id) {
            None => {
                seen.insert(id, source);
            }
            Some(first) => {
                let what = format!("names the secret of {}, which has the same name", first.file());
                let mend = "put this one into a folder of its own, as docs/secrets.md says";
                found.push(Conflict::new(
                    source.problem(&key, what, mend),
                    [first.path(), source.path()],
                ));
            }
        }
    }
    found
}

pub fn usable_id(source: &Source, client_id: &ClientId, problems: &mut Vec<Problem>) {
    let id = client_id.as_str();
    if id.is_empty() || id.len() > 255 || !id.bytes().all(|c| c.is_ascii_graphic()) {
        let mend = "use 1 to 255 printable ASCII characters without blanks";
        problems.push(source.problem("client_id", "is not a usable id", mend));
    }
}

pub fn named_sector(source: &Source, sector: Option<&str>, problems: &mut Vec<Problem>) {
    if sector.is_some_and(|sector| sector.trim().is_empty()) {
        problems.push(source.problem("sector", "is empty", "name the sector, or remove the key"));
    }
}

pub fn known_scopes(
    source: &Source,
    granted: &[Scope],
    (name, table): (&str, &BTreeMap<Scope, Vec<String>>),
    problems: &mut Vec<Problem>,
) {
    for (index, _) in granted.iter().enumerate().filter(|(_, scope)| !table.contains_key(*scope)) {
        let known = table.keys().map(Scope::as_str).collect::<Vec<_>>().join(", ");
        let mend = format!("add it to [{name}] of scopes.toml, or use one of: {known}");
        problems.push(source.problem(
            &format!("scopes[{index}]"),
            "is granted, but the scopes table does not know it",
            mend,
        ));
    }
}
