//! Implements `passerelle register import`, which fills the register file.
//!
//! Responsible for merging. It checks every line before it writes anything, and replaces the file
//! atomically, so that a running hub never reads a partial one.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{COLUMNS, FileRegisterError, Row, Status, for_each_row};
use passerelle_federation::identity::pivot::Pivot;
use passerelle_protocol::atomic_file::{parent_folder, sync_folder};

/// Maximum number of invalid lines that are listed.
const MAX_REPORTED_LINES: usize = 100;

/// Treatment of the persons that are already in the register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImportMode {
    /// Keeps them; the source replaces those that it contains too.
    Merge,
    /// Removes those that the source does not contain.
    Replace,
}

/// Step of an import, in the order of their execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImportStep {
    ReadSource,
    ReadRegister,
    Write,
}

/// Watches an import, for example to show its progress, and can cancel it.
pub trait ImportObserver {
    /// Called when a step begins, with the approximate number of its bytes.
    fn begin(&self, step: ImportStep, bytes: u64);

    /// Called after these bytes of the step.
    fn advance(&self, bytes: u64);

    /// Returns whether the import must end without a change.
    fn is_cancelled(&self) -> bool;
}

/// Shows nothing and cancels nothing.
pub struct Unobserved;

impl ImportObserver for Unobserved {
    fn begin(&self, _: ImportStep, _: u64) {}

    fn advance(&self, _: u64) {}

    fn is_cancelled(&self) -> bool {
        false
    }
}

/// A file whose bytes are reported to an observer. Reading and writing fail once it has cancelled the
/// import.
struct ObservedFile<'a, F> {
    file: F,
    observer: &'a dyn ImportObserver,
}

impl<F> ObservedFile<'_, F> {
    fn observe(&self, bytes: io::Result<usize>) -> io::Result<usize> {
        let bytes = bytes?;
        self.observer.advance(bytes as u64);
        if self.observer.is_cancelled() { Err(ErrorKind::Other.into()) } else { Ok(bytes) }
    }
}

impl<F: Read> Read for ObservedFile<'_, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer);
        self.observe(bytes)
    }
}

impl<F: Write> Write for ObservedFile<'_, F> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let bytes = self.file.write(buffer);
        self.observe(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Result of an import. Persons are identified by their normalised pivot.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ImportStats {
    pub persons: usize,
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
    /// Number of rows that share their pivot with another: the register answers `several` for them.
    pub indistinguishable: usize,
}

impl fmt::Display for ImportStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { persons, added, changed, removed, indistinguishable } = self;
        write!(f, "{persons} persons; {added} added, {changed} changed, {removed} removed")?;
        match indistinguishable {
            0 => Ok(()),
            _ => write!(
                f,
                "\n{indistinguishable} of them have the same data as another row: these persons can't log in (Y010002)"
            ),
        }
    }
}

/// Error of an import: nothing was written.
#[derive(thiserror::Error, Debug)]
pub enum ImportError {
    #[error("interrupted: nothing is imported, and the register is as it was")]
    Cancelled,
    #[error("nothing is imported: {0}")]
    UnreadableSource(FileRegisterError),
    #[error(
        "nothing is imported: {file} contains no person, and --replace would empty the register; to empty it, remove its lines by hand"
    )]
    Empty { file: String },
    /// The first invalid lines, and the number of all.
    #[error("{}", format_line_errors(.0, *.1))]
    InvalidSource(Vec<FileRegisterError>, usize),
    #[error("the existing register is invalid; correct it, or replace it by --replace\n{0}")]
    InvalidTarget(FileRegisterError),
    #[error(
        "{file}: can not be written ({reason}): check the folder, its permissions and the space on the disk"
    )]
    Write { file: String, reason: std::io::ErrorKind },
    #[error(
        "{file}: is a dangling link, or not a file: mount or create its target, or name another file by --to"
    )]
    NotAFile { file: String },
    #[error(
        "{file}: belongs to another user or group (uid {uid}, gid {gid}), who could not read the new file: import as that user"
    )]
    Owner { file: String, uid: u32, gid: u32 },
}

fn format_line_errors(line_errors: &[FileRegisterError], all: usize) -> String {
    let are = if all == 1 { "line is" } else { "lines are" };
    let mut text = format!("nothing is imported: {all} {are} invalid");
    for line_error in line_errors {
        text.push_str(&format!("\n{line_error}"));
    }
    if all > line_errors.len() {
        text.push_str(&format!("\n… and {} more", all - line_errors.len()));
    }
    text
}

/// Merges `source` into `target` and writes it sorted, without repeated rows.
///
/// Keeps owner and group of the target, so that the hub can still read it; others
/// can't read it. A new file belongs to its creator alone.
///
/// # Errors
/// Returns why nothing was written; `Cancelled` if the observer cancelled it.
pub fn import(
    source: &Path,
    target: &Path,
    home_country: &str,
    keep: ImportMode,
    observer: &dyn ImportObserver,
) -> Result<ImportStats, ImportError> {
    let done = merge_files(source, target, home_country, keep, observer);
    done.map_err(|error| if observer.is_cancelled() { ImportError::Cancelled } else { error })
}

fn merge_files(
    source: &Path,
    target: &Path,
    home_country: &str,
    keep: ImportMode,
    observer: &dyn ImportObserver,
) -> Result<ImportStats, ImportError> {
    let (mut line_errors, mut bad) = (Vec::new(), 0);
    let reader = RowReader { home_country, observer };
    let new = reader.read(ImportStep::ReadSource, source, |line_error| {
        bad += 1;
        if line_errors.len() < MAX_REPORTED_LINES {
            line_errors.push(line_error);
        }
        Ok(())
    });
    let new = new.map_err(ImportError::UnreadableSource)?;
    if bad > 0 {
        return Err(ImportError::InvalidSource(line_errors, bad));
    }
    if new.is_empty() && matches!(keep, ImportMode::Replace) {
        return Err(ImportError::Empty { file: source.display().to_string() });
    }
    let place = ImportTarget::resolve(target)?;
    let old = match (keep, &place.replaced) {
        (_, None) => BTreeSet::new(),
        (ImportMode::Merge, Some(_)) => reader
            .read(ImportStep::ReadRegister, target, Err)
            .map_err(ImportError::InvalidTarget)?,
        // Read for the statistics only, so it may be invalid.
        (ImportMode::Replace, Some(_)) => {
            reader.read(ImportStep::ReadRegister, target, |_| Ok(())).unwrap_or_default()
        }
    };
    let (merged, mut done) = merge(new, old, keep);
    let mut keys: Vec<&str> = merged.iter().map(SortedRow::key).collect();
    done.persons = keys.len();
    keys.dedup();
    done.indistinguishable = done.persons - keys.len();
    write_register(&place, &merged, observer)?;
    Ok(done)
}

/// File that an import writes.
struct ImportTarget {
    /// Name for errors, as given.
    name: String,
    /// Path after resolving links: the import replaces the file behind a link.
    path: PathBuf,
    /// Metadata of the existing file.
    replaced: Option<Metadata>,
}

impl ImportTarget {
    fn resolve(target: &Path) -> Result<Self, ImportError> {
        let name = target.display().to_string();
        match target.canonicalize().and_then(|path| Ok((path.metadata()?, path))) {
            // A folder or a device must not be replaced.
            Ok((found, _)) if !found.is_file() => Err(ImportError::NotAFile { file: name }),
            Ok((found, path)) => Ok(Self { name, path, replaced: Some(found) }),
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(ImportError::Write { file: name, reason: error.kind() })
            }
            Err(_) if target.symlink_metadata().is_ok() => {
                Err(ImportError::NotAFile { file: name })
            }
            Err(_) => Ok(Self { name, path: target.to_owned(), replaced: None }),
        }
    }

    /// Gives `file` the owner and group of the file that it replaces. Otherwise the hub might be
    /// unable to read it at its next start.
    fn copy_ownership(&self, file: &File) -> Result<(), ImportError> {
        let Some(replaced) = &self.replaced else { return Ok(()) };
        let own = file.metadata().map_err(|error| self.write_error(&error))?;
        let (uid, gid) = (replaced.uid(), replaced.gid());
        if (own.uid(), own.gid()) != (uid, gid) {
            fchown(file, Some(uid), Some(gid)).map_err(|_| ImportError::Owner {
                file: self.name.clone(),
                uid,
                gid,
            })?;
        }
        // After the change of owner, which may clear mode bits.
        let mode = OWNER_READ_WRITE | (replaced.mode() & GROUP_READ_WRITE);
        file.set_permissions(Permissions::from_mode(mode)).map_err(|error| self.write_error(&error))
    }

    fn write_error(&self, error: &std::io::Error) -> ImportError {
        ImportError::Write { file: self.name.clone(), reason: error.kind() }
    }
}

/// Mode bits: read and write for the owner, and for the group.
const OWNER_READ_WRITE: u32 = 0o600;
const GROUP_READ_WRITE: u32 = 0o060;

/// Row in its compact form with a sort key; equal rows are merged.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SortedRow {
    /// Normalised pivot, family name first.
    key: Box<str>,
    row: Box<str>,
}

impl SortedRow {
    fn new(pivot: &Pivot, row: &Row) -> Self {
        let [given_names, family_name, birthdate, gender, birthplace, birthcountry] =
            pivot.fields().map(String::from_utf8_lossy);
        let key =
            [family_name, given_names, birthdate, gender, birthplace, birthcountry].join("\u{1f}");
        let mut text = String::new();
        row.write(&mut text);
        Self { key: key.into(), row: text.into() }
    }

    fn key(&self) -> &str {
        &self.key
    }
}

/// Reads the rows of a source or of a register.
struct RowReader<'a> {
    home_country: &'a str,
    observer: &'a dyn ImportObserver,
}

impl RowReader<'_> {
    fn read(
        &self,
        step: ImportStep,
        path: &Path,
        mut bad: impl FnMut(FileRegisterError) -> Result<(), FileRegisterError>,
    ) -> Result<BTreeSet<SortedRow>, FileRegisterError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| FileRegisterError::Unreadable {
            file: name.clone(),
            reason: error.kind(),
        })?;
        self.observer.begin(step, file.metadata().map_or(0, |found| found.len()));
        let mut rows = Vec::new();
        let file = ObservedFile { file, observer: self.observer };
        for_each_row(&name, file, self.home_country, |row| match row {
            Ok((pivot, row)) => {
                rows.push(SortedRow::new(&pivot, &row));
                Ok(())
            }
            Err(line_error) => bad(line_error),
        })?;
        // Sorted first, a set is built at once instead of row by row.
        rows.sort_unstable();
        Ok(rows.into_iter().collect())
    }
}

fn merge(
    new: BTreeSet<SortedRow>,
    old: BTreeSet<SortedRow>,
    keep: ImportMode,
) -> (BTreeSet<SortedRow>, ImportStats) {
    let keys = |rows: &BTreeSet<SortedRow>| {
        rows.iter().map(|entry| entry.key.clone()).collect::<HashSet<_>>()
    };
    let (known, named) = (keys(&old), keys(&new));
    let differ: HashSet<_> = new.symmetric_difference(&old).map(SortedRow::key).collect();
    let done = ImportStats {
        added: named.difference(&known).count(),
        changed: named.intersection(&known).filter(|key| differ.contains(&***key)).count(),
        removed: match keep {
            ImportMode::Merge => 0,
            ImportMode::Replace => known.difference(&named).count(),
        },
        ..ImportStats::default()
    };
    drop(differ);
    let mut merged = new;
    if keep == ImportMode::Merge {
        merged.extend(old.into_iter().filter(|entry| !named.contains(&entry.key)));
    }
    (merged, done)
}

/// Writes beside the target, then renames, so that readers see the old file or the new one.
fn write_register(
    place: &ImportTarget,
    rows: &BTreeSet<SortedRow>,
    observer: &dyn ImportObserver,
) -> Result<(), ImportError> {
    let to_import_error = |error: std::io::Error| place.write_error(&error);
    observer.begin(ImportStep::Write, rows.iter().map(|entry| entry.row.len() as u64).sum());
    let folder = parent_folder(&place.path);
    let file = NamedTempFile::new_in(folder).map_err(to_import_error)?; // mode 0600
    place.copy_ownership(file.as_file())?;
    let mut csv = csv::Writer::from_writer(BufWriter::new(ObservedFile { file, observer }));
    let record = |csv: &mut csv::Writer<_>, cells: [&str; COLUMNS.len()]| {
        csv.write_record(cells).map_err(io_error)
    };
    record(&mut csv, COLUMNS).map_err(to_import_error)?;
    for row in rows.iter().filter_map(|entry| Row::read(&entry.row)) {
        let given_names = row.identity.given_names.join(" ");
        let cell = |value: &'_ Option<String>| value.clone().unwrap_or_default();
        let identity = &row.identity;
        let status = match row.status {
            Status::Active => "active",
            Status::Deceased => "deceased",
            Status::Refused => "refused",
        };
        let [family_name, birthdate, gender, birthplace, birthcountry] = [
            &identity.family_name,
            &identity.birthdate,
            &identity.gender,
            &identity.birthplace,
            &identity.birthcountry,
        ]
        .map(cell);
        record(
            &mut csv,
            [&given_names, &family_name, &birthdate, &gender, &birthplace, &birthcountry, status],
        )
        .map_err(to_import_error)?;
    }
    let mut buffer = csv
        .into_inner()
        .map_err(|error| to_import_error(std::io::Error::from(error.error().kind())))?;
    buffer.flush().map_err(to_import_error)?;
    let ObservedFile { file, .. } = buffer
        .into_inner()
        .map_err(|error| to_import_error(std::io::Error::from(error.error().kind())))?;
    file.as_file().sync_all().map_err(to_import_error)?;
    if observer.is_cancelled() {
        return Err(ImportError::Cancelled);
    }
    file.persist(&place.path).map_err(|error| to_import_error(error.error))?;
    sync_folder(parent_folder(&place.path)).map_err(to_import_error)
}

/// Returns the I/O error, so that a full disk is reported as such.
fn io_error(error: csv::Error) -> std::io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests;
