//! Filling the register file: `passerelle register import`. Every line is checked before anything is written, and the
//! file is replaced in one step, so that a running hub never reads half of one.
//!
//! Owns: what a merge keeps. Must not know: the configuration, or who runs it.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::fs::{File, Metadata, Permissions};
use std::io::{BufWriter, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{COLUMNS, FileRegisterFault, Row, Status, each_row};
use crate::identity::pivot::Pivot;

/// Bad lines that are told one by one; the rest is counted.
const MOST_TOLD: usize = 100;

/// What becomes of the persons that are in the register already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// They stay; whoever is in the source too is written as the source says.
    Both,
    /// The register becomes the source.
    SourceOnly,
}

/// What an import did. Persons are told apart by their normalised pivot.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Imported {
    pub persons: usize,
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
    /// Pivots that several rows share: the register answers `several` for them.
    pub namesakes: usize,
}

impl fmt::Display for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { persons, added, changed, removed, namesakes } = self;
        write!(f, "{persons} persons; {added} added, {changed} changed, {removed} removed")?;
        match namesakes {
            0 => Ok(()),
            _ => write!(
                f,
                "\n{namesakes} of them share every datum with another row: nobody of these can log in (Y010002)"
            ),
        }
    }
}

/// Why nothing was written.
#[derive(thiserror::Error, Debug)]
pub enum ImportFault {
    #[error("nothing is imported: {0}")]
    Unusable(FileRegisterFault),
    #[error(
        "nothing is imported: {file} holds no person, and --replace would empty the register; to empty it, remove its lines by hand"
    )]
    Empty { file: String },
    /// The first of the bad lines, and how many there are.
    #[error("{}", in_lines(.0, *.1))]
    Source(Vec<FileRegisterFault>, usize),
    #[error("the register to merge into is bad; mend it, or drop it by --replace\n{0}")]
    Target(FileRegisterFault),
    #[error(
        "{file}: can not be written ({reason}): check the folder, its permissions and the space on the disk"
    )]
    Write { file: String, reason: std::io::ErrorKind },
    #[error(
        "{file}: is a link that leads nowhere, or no file: mount or make what it leads to, or name another by --to"
    )]
    NoFile { file: String },
    #[error(
        "{file}: belongs to another user or group (uid {uid}, gid {gid}), who could not read what is written: import as that user"
    )]
    Owner { file: String, uid: u32, gid: u32 },
}

fn in_lines(faults: &[FileRegisterFault], all: usize) -> String {
    let are = if all == 1 { "line is" } else { "lines are" };
    let mut text = format!("nothing is imported, for {all} {are} bad");
    for fault in faults {
        text.push_str(&format!("\n{fault}"));
    }
    if all > faults.len() {
        text.push_str(&format!("\n… and {} more", all - faults.len()));
    }
    text
}

/// Merges `source` into `target`, which is written sorted and without repeated rows. Its owner and group stay, so that
/// the hub goes on reading it whoever imports; others can't read it. A new file is its maker's alone.
///
/// # Errors
/// Nothing was written, and why.
pub fn import(
    source: &Path,
    target: &Path,
    home_country: &str,
    keep: Keep,
) -> Result<Imported, ImportFault> {
    let (mut faults, mut bad) = (Vec::new(), 0);
    let new = read(source, home_country, |fault| {
        bad += 1;
        if faults.len() < MOST_TOLD {
            faults.push(fault);
        }
        Ok(())
    });
    let new = new.map_err(ImportFault::Unusable)?;
    if bad > 0 {
        return Err(ImportFault::Source(faults, bad));
    }
    if new.is_empty() && matches!(keep, Keep::SourceOnly) {
        return Err(ImportFault::Empty { file: source.display().to_string() });
    }
    let place = Place::of(target)?;
    let old = match (keep, &place.replaced) {
        (_, None) => BTreeSet::new(),
        (Keep::Both, Some(_)) => read(target, home_country, Err).map_err(ImportFault::Target)?,
        // What is replaced is looked at to tell what changes, and may be bad.
        (Keep::SourceOnly, Some(_)) => read(target, home_country, |_| Ok(())).unwrap_or_default(),
    };
    let (merged, mut done) = merge(new, old, keep);
    let mut keys: Vec<&str> = merged.iter().map(Entry::key).collect();
    done.persons = keys.len();
    keys.dedup();
    done.namesakes = done.persons - keys.len();
    write(&place, &merged)?;
    Ok(done)
}

/// Where a register goes.
struct Place {
    /// As it was named, for faults.
    name: String,
    /// Where the target is a link, what it leads to is replaced, and the link stays.
    path: PathBuf,
    /// The file that is there already.
    replaced: Option<Metadata>,
}

impl Place {
    fn of(target: &Path) -> Result<Self, ImportFault> {
        let name = target.display().to_string();
        match target.canonicalize().and_then(|path| Ok((path.metadata()?, path))) {
            // A folder, or a device: what a rename over one breaks is more than a register.
            Ok((found, _)) if !found.is_file() => Err(ImportFault::NoFile { file: name }),
            Ok((found, path)) => Ok(Self { name, path, replaced: Some(found) }),
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(ImportFault::Write { file: name, reason: error.kind() })
            }
            Err(_) if target.symlink_metadata().is_ok() => Err(ImportFault::NoFile { file: name }),
            Err(_) => Ok(Self { name, path: target.to_owned(), replaced: None }),
        }
    }

    /// Gives `file` the owner and the group of what it replaces. One that the hub could no longer read would be found
    /// out at its next start only.
    fn hand_over(&self, file: &File) -> Result<(), ImportFault> {
        let Some(replaced) = &self.replaced else { return Ok(()) };
        let own = file.metadata().map_err(|error| self.fault(&error))?;
        let (uid, gid) = (replaced.uid(), replaced.gid());
        if (own.uid(), own.gid()) != (uid, gid) {
            fchown(file, Some(uid), Some(gid)).map_err(|_| ImportFault::Owner {
                file: self.name.clone(),
                uid,
                gid,
            })?;
        }
        // After the change of owner, which may take rights away.
        let mode = OWNER | (replaced.mode() & GROUP);
        file.set_permissions(Permissions::from_mode(mode)).map_err(|error| self.fault(&error))
    }

    fn fault(&self, error: &std::io::Error) -> ImportFault {
        ImportFault::Write { file: self.name.clone(), reason: error.kind() }
    }
}

/// Reading and writing by the owner, and by the group.
const OWNER: u32 = 0o600;
const GROUP: u32 = 0o060;

/// A row in its compact form behind its sort key; equal rows are one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// The normalised pivot, family name first.
    key: Box<str>,
    row: Box<str>,
}

impl Entry {
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

fn read(
    path: &Path,
    home_country: &str,
    mut bad: impl FnMut(FileRegisterFault) -> Result<(), FileRegisterFault>,
) -> Result<BTreeSet<Entry>, FileRegisterFault> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| FileRegisterFault::Unreadable {
        file: name.clone(),
        reason: error.kind(),
    })?;
    let mut rows = Vec::new();
    each_row(&name, file, home_country, |row| match row {
        Ok((pivot, row)) => {
            rows.push(Entry::new(&pivot, &row));
            Ok(())
        }
        Err(fault) => bad(fault),
    })?;
    // Sorted first, a set is built at once instead of row by row.
    rows.sort_unstable();
    Ok(rows.into_iter().collect())
}

fn merge(new: BTreeSet<Entry>, old: BTreeSet<Entry>, keep: Keep) -> (BTreeSet<Entry>, Imported) {
    let keys =
        |rows: &BTreeSet<Entry>| rows.iter().map(|entry| entry.key.clone()).collect::<HashSet<_>>();
    let (known, named) = (keys(&old), keys(&new));
    let differ: HashSet<_> = new.symmetric_difference(&old).map(Entry::key).collect();
    let done = Imported {
        added: named.difference(&known).count(),
        changed: named.intersection(&known).filter(|key| differ.contains(&***key)).count(),
        removed: match keep {
            Keep::Both => 0,
            Keep::SourceOnly => known.difference(&named).count(),
        },
        ..Imported::default()
    };
    drop(differ);
    let mut merged = new;
    if keep == Keep::Both {
        merged.extend(old.into_iter().filter(|entry| !named.contains(&entry.key)));
    }
    (merged, done)
}

/// Beside the target, then in its place: whoever reads sees the old file or the new one.
fn write(place: &Place, rows: &BTreeSet<Entry>) -> Result<(), ImportFault> {
    let fault = |error: std::io::Error| place.fault(&error);
    let folder = place
        .path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let file = NamedTempFile::new_in(folder).map_err(fault)?; // mode 0600
    place.hand_over(file.as_file())?;
    let mut csv = csv::Writer::from_writer(BufWriter::new(file));
    let record = |csv: &mut csv::Writer<_>, cells: [&str; COLUMNS.len()]| {
        csv.write_record(cells).map_err(cause)
    };
    record(&mut csv, COLUMNS).map_err(fault)?;
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
        .map_err(fault)?;
    }
    let mut buffer =
        csv.into_inner().map_err(|error| fault(std::io::Error::from(error.error().kind())))?;
    buffer.flush().map_err(fault)?;
    let file =
        buffer.into_inner().map_err(|error| fault(std::io::Error::from(error.error().kind())))?;
    file.as_file().sync_all().map_err(fault)?;
    file.persist(&place.path).map_err(|error| fault(error.error))?;
    Ok(())
}

/// What the operating system said, so that a full disk is called one.
fn cause(error: csv::Error) -> std::io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests;
