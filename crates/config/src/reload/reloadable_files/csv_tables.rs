//! Follows the tables of place names and of e-mail domains. They are not TOML, and one that is
//! invalid stops nothing: the pages show codes instead of names, and users choose from the list.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use passerelle_federation::email_domains::{EmailDomainFile, MAX_EMAIL_DOMAIN_FILE_BYTES};
use passerelle_federation::place_names::{MAX_PLACES_BYTES, PlaceNames};
use passerelle_protocol::digest;
use passerelle_settings::{
    Diagnostic, FieldDigests, FilePath, FileStamp, file_diagnostic, safe_read,
};

/// A table that a CSV file has.
pub(super) trait CsvTable: Sized {
    const MAX_BYTES: usize;

    /// Parses the file.
    ///
    /// # Errors
    /// Returns a diagnostic with the line.
    fn parse(file: &Path, bytes: &[u8]) -> Result<Self, Diagnostic>;
}

impl CsvTable for PlaceNames {
    const MAX_BYTES: usize = MAX_PLACES_BYTES;

    fn parse(file: &Path, bytes: &[u8]) -> Result<Self, Diagnostic> {
        Self::parse(file, bytes)
    }
}

impl CsvTable for EmailDomainFile {
    const MAX_BYTES: usize = MAX_EMAIL_DOMAIN_FILE_BYTES;

    fn parse(file: &Path, bytes: &[u8]) -> Result<Self, Diagnostic> {
        Self::parse(file, bytes)
    }
}

/// Tables of one kind, in the order of the settings.
#[derive(Clone, Debug)]
pub(super) struct CsvTables<T>(Vec<CsvTableFile<T>>);

#[derive(Clone, Debug)]
struct CsvTableFile<T> {
    path: PathBuf,
    stamp: FileStamp,
    /// SHA-256 of the active version.
    hash: [u8; 32],
    active: Option<Arc<T>>,
    problem: Option<Diagnostic>,
}

impl<T: CsvTable> CsvTables<T> {
    /// Reads the files.
    pub(super) fn read<'p>(paths: impl IntoIterator<Item = &'p FilePath>) -> Self {
        let unread = |path: &FilePath| CsvTableFile {
            path: path.to_path_buf(),
            stamp: FileStamp::default(),
            hash: [0; 32],
            active: None,
            problem: None,
        };
        let mut tables = Self(paths.into_iter().map(unread).collect());
        tables.rescan();
        tables
    }

    /// Reads the files whose stamp has changed. An invalid one keeps its last valid version.
    pub(super) fn rescan(&mut self) {
        for table in &mut self.0 {
            let stamp = FileStamp::from_path(&table.path);
            if stamp == table.stamp && table.problem.is_none() && table.active.is_some() {
                continue;
            }
            match read_table(&table.path) {
                Ok((hash, names)) => {
                    table.hash = hash;
                    table.active = Some(Arc::new(names));
                    table.problem = None;
                }
                Err(problem) => table.problem = Some(problem),
            }
            table.stamp = stamp;
        }
    }

    /// Returns the active tables.
    pub(super) fn active(&self) -> Vec<Arc<T>> {
        self.0.iter().filter_map(|table| table.active.clone()).collect()
    }

    /// Returns the active tables with their paths.
    pub(super) fn with_paths(&self) -> impl Iterator<Item = (&Path, &T)> {
        self.0.iter().filter_map(|table| Some((&*table.path, &**table.active.as_ref()?)))
    }

    /// Returns the problems of invalid files.
    pub(super) fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter().filter_map(|table| table.problem.as_ref())
    }

    /// Returns the fingerprints of the active versions, by file name.
    pub(super) fn digests(&self) -> Arc<FieldDigests> {
        let digest = |table: &CsvTableFile<T>| {
            let name = table.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, table.hash)
        };
        Arc::new(FieldDigests::from_hashes(
            self.0.iter().filter(|table| table.active.is_some()).map(digest),
        ))
    }

    /// Returns the folders of the files.
    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let folders: BTreeSet<&Path> =
            self.0.iter().filter_map(|table| table.path.parent()).collect();
        folders.into_iter().map(Path::to_owned)
    }
}

fn read_table<T: CsvTable>(path: &Path) -> Result<([u8; 32], T), Diagnostic> {
    let file: File = safe_read::open_regular_file(path).map_err(|error| error.in_file(path))?;
    let mut bytes = Vec::new();
    file.take(T::MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|_| {
        file_diagnostic(path, "the file can't be read", "allow this user to read it")
    })?;
    Ok((digest::sha256(&bytes), T::parse(path, &bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_table_keeps_its_last_good_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("places.csv");
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        let name = |tables: &CsvTables<PlaceNames>| {
            let active = tables.active();
            active.first().and_then(|table| table.name("75107", "fr")).map(str::to_owned)
        };
        let mut tables = CsvTables::read(&[path.clone().into()]);
        assert_eq!((name(&tables), tables.diagnostics().count()), (None, 1), "missing");
        write("code,name\n75107,Paris\n");
        tables.rescan();
        let before = tables.digests();
        assert_eq!((name(&tables).as_deref(), tables.diagnostics().count()), (Some("Paris"), 0));
        write("nothing of use\n");
        tables.rescan();
        assert_eq!((name(&tables).as_deref(), tables.diagnostics().count()), (Some("Paris"), 1));
        assert_eq!(tables.digests(), before, "the last good version is in use");
        write("code,name\n75107,Paris 7e\n");
        tables.rescan();
        assert_eq!((name(&tables).as_deref(), tables.diagnostics().count()), (Some("Paris 7e"), 0));
        assert_ne!(tables.digests(), before);
    }
}
