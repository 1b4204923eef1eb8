//! Reads and writes the entries: in a file of the hub's own folder, and in the record of a shared
//! store.
//!
//! A reader of the file always finds a whole version: a new one is written beside the file, synced
//! and renamed, and then the folder is synced.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{EntryKind, EntrySet, RuntimeEntry};
use passerelle_protocol::atomic_file;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::json::parse_object;

/// Version of the format. Another version was written by another program, whose entries must not be
/// misread.
const FORMAT_VERSION: u64 = 1;

/// Error of the file of entries.
#[derive(thiserror::Error, Debug)]
pub enum EntriesFileError {
    #[error("{}: the file can't be read: {cause}; fix: let this user read it and the folders above it", .path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error(
        "{}: the {name} are invalid ({what}), and without them {loss}; fix: correct the file, or remove it and \
         set the {name} again", .path.display()
    )]
    Damaged { path: PathBuf, name: &'static str, what: String, loss: &'static str },
    #[error("{}: the file can't be written: {cause}; fix: let this user write to the folder (the setting `state`)", .path.display())]
    Unwritable { path: PathBuf, cause: io::Error },
}

/// The entries in the file, with a note, or in the record, with a revision.
#[serde_with::skip_serializing_none]
#[derive(Serialize)]
struct StoredEntries<F> {
    version: u64,
    revision: Option<u64>,
    note: Option<&'static str>,
    #[serde(flatten)]
    by_name: BTreeMap<&'static str, Vec<StoredEntry<F>>>,
}

#[derive(Serialize)]
struct StoredEntry<F> {
    id: String,
    set_at: Timestamp,
    #[serde(flatten)]
    fields: F,
}

/// Reads the file. A missing file holds no entries.
///
/// # Errors
/// `Unreadable` or `Damaged`.
pub(super) fn read_file<K: EntryKind>(
    path: &Path,
) -> Result<Vec<RuntimeEntry<K>>, EntriesFileError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(EntriesFileError::Unreadable { path: path.into(), cause }),
    };
    let (path, name, loss) = (path.into(), K::NAME, K::LOSS);
    let (_, entries) = parse_entries(&bytes).map_err(|what| EntriesFileError::Damaged {
        path,
        name,
        what,
        loss,
    })?;
    Ok(entries)
}

/// Writes the file.
///
/// # Errors
/// `Unwritable`.
pub(super) fn write_file<K: EntryKind>(
    path: &Path,
    entries: &[RuntimeEntry<K>],
) -> Result<(), EntriesFileError> {
    let unwritable = |cause| EntriesFileError::Unwritable { path: path.into(), cause };
    let stored = StoredEntries { note: Some(K::NOTE), ..StoredEntries::new(entries) };
    let bytes = serde_json::to_vec_pretty(&stored).map_err(|error| unwritable(error.into()))?;
    atomic_file::replace_file(path, &bytes).map_err(unwritable)
}

impl<K: EntryKind> EntrySet<K> {
    /// Returns the value of the record.
    ///
    /// # Errors
    /// The fields of an entry can't be written.
    pub(super) fn to_record(&self) -> serde_json::Result<Vec<u8>> {
        let stored = StoredEntries::new(&self.entries);
        serde_json::to_vec(&StoredEntries { revision: Some(self.revision), ..stored })
    }

    /// Parses the value of the record.
    ///
    /// # Errors
    /// What is invalid, as text.
    pub(super) fn from_record(value: &[u8]) -> Result<Self, String> {
        let (revision, entries) = parse_entries(value)?;
        let revision = revision.ok_or("it has no revision")?;
        Ok(Self { revision, entries: Arc::new(entries) })
    }
}

impl<F> StoredEntries<F> {
    fn new<K: EntryKind<Fields = F>>(entries: &[RuntimeEntry<K>]) -> Self {
        let stored = |one: &RuntimeEntry<K>| StoredEntry {
            id: one.id.clone(),
            set_at: one.set_at,
            fields: one.value.to_fields(),
        };
        let entries = entries.iter().map(stored).collect();
        let by_name = BTreeMap::from([(K::NAME, entries)]);
        Self { version: FORMAT_VERSION, revision: None, note: None, by_name }
    }
}

/// Returns the revision, if there is one, and the entries.
fn parse_entries<K: EntryKind>(
    bytes: &[u8],
) -> Result<(Option<u64>, Vec<RuntimeEntry<K>>), String> {
    let mut object =
        parse_object(bytes).map_err(|_| "it is not one whole JSON object".to_owned())?;
    // Checked first: unknown members of another version are not an error.
    if object.remove("version") != Some(Value::from(FORMAT_VERSION)) {
        return Err(format!("its version is not {FORMAT_VERSION}"));
    }
    let _for_readers = object.remove("note");
    let revision = take_member(&mut object, "revision")?;
    let rows: Vec<Map<String, Value>> = take_member(&mut object, K::NAME)?;
    if let Some(unknown) = object.keys().next() {
        return Err(format!("unknown member {unknown}"));
    }
    let entries = rows.into_iter().map(parse_entry).collect::<Result<_, _>>()?;
    Ok((revision, entries))
}

fn parse_entry<K: EntryKind>(mut row: Map<String, Value>) -> Result<RuntimeEntry<K>, String> {
    let (id, set_at) = (take_member(&mut row, "id")?, take_member(&mut row, "set_at")?);
    let fields = serde_json::from_value(Value::Object(row)).map_err(|error| error.to_string())?;
    let value = K::from_fields(fields).map_err(|diagnostics| {
        diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    })?;
    Ok(RuntimeEntry { id, set_at, value })
}

/// Removes a member and parses it; one that is missing is `null`.
fn take_member<T: DeserializeOwned>(
    object: &mut Map<String, Value>,
    name: &str,
) -> Result<T, String> {
    let value = object.remove(name).unwrap_or_default();
    serde_json::from_value(value).map_err(|error| format!("{name}: {error}"))
}
