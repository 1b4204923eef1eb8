//! One key file: how it is read, who may read it, how it is written.
//!
//! Owns: the form of a file, atomic writing. Must not know: what the keys are for, whose turn it is.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::KeyFileFault;
use crate::env::Timestamp;
use crate::ids::Secret;
use crate::protocol::json::parse_object;
use crate::token::signing_key::{KeyFault, PrivateJwk};

/// No key file is near this size; a larger one is something else.
const MAX_FILE: u64 = 64 * 1024;

/// A key that is read from a file of a folder.
pub(super) trait Filed: Sized {
    /// Takes the members that stand beside `created` and `jwk`.
    fn read(
        created: Timestamp,
        jwk: &PrivateJwk,
        rest: &mut Rest<'_>,
    ) -> Result<Self, KeyFileFault>;

    fn file_name(&self) -> String;
}

/// What a key file holds besides `created` and `jwk`.
pub(super) struct Rest<'a> {
    path: &'a Path,
    members: Map<String, Value>,
}

impl Rest<'_> {
    /// A time in Unix seconds.
    pub fn seconds(&mut self, name: &str, what: &'static str) -> Result<Timestamp, KeyFileFault> {
        let value = self.members.remove(name);
        value
            .as_ref()
            .and_then(Value::as_u64)
            .map(Timestamp::from_seconds)
            .ok_or_else(|| self.malformed(what))
    }

    fn malformed(&self, what: &'static str) -> KeyFileFault {
        KeyFileFault::Malformed { path: self.path.into(), what }
    }

    pub fn fault(&self, fault: KeyFault) -> KeyFileFault {
        KeyFileFault::Key { path: self.path.into(), fault }
    }
}

/// Every key of a folder. What is hidden, or not named `*.json`, is not one.
pub(super) fn read_all<K: Filed>(dir: &Path) -> Result<Vec<K>, KeyFileFault> {
    let folder = |cause| KeyFileFault::Folder { path: dir.into(), cause };
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(folder)? {
        let path = entry.map_err(folder)?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !hidden && path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read<K: Filed>(path: &Path) -> Result<K, KeyFileFault> {
    let text = read_private(path)?;
    let members = parse_object(&text).map_err(|_| KeyFileFault::Malformed {
        path: path.into(),
        what: "not a JSON object in which each member stands once",
    })?;
    let mut rest = Rest { path, members };
    let created = rest.seconds("created", "`created` must be a time in Unix seconds")?;
    let Some(Value::Object(jwk)) = rest.members.remove("jwk") else {
        return Err(rest.malformed("`jwk` must be a private JWK"));
    };
    let key = K::read(created, &Secret::new(jwk), &mut rest)?;
    if !rest.members.is_empty() {
        return Err(rest.malformed("it has members that a key of this folder has not"));
    }
    // A copy would publish one kid twice, and readers of the key set would trust neither.
    let expected = key.file_name();
    if path.file_name().is_some_and(|name| name != expected.as_str()) {
        return Err(KeyFileFault::Misnamed { path: path.into(), expected });
    }
    Ok(key)
}

/// A key that is made and not yet written.
pub(super) struct Fresh {
    pub file_name: String,
    /// `signs_from` of a signing key.
    pub signs_from: Option<Timestamp>,
    pub created: Timestamp,
    pub jwk: PrivateJwk,
}

impl Fresh {
    pub fn write(&self, dir: &Path) -> Result<(), KeyFileFault> {
        let mut file = json!({ "created": self.created.seconds(), "jwk": self.jwk.reveal() });
        if let (Some(at), Some(members)) = (self.signs_from, file.as_object_mut()) {
            members.insert("signs_from".into(), at.seconds().into());
        }
        Temporary::create(&dir.join(&self.file_name))?.finish(file.to_string().as_bytes())
    }
}

fn read_private(path: &Path) -> Result<Vec<u8>, KeyFileFault> {
    let unreadable = |cause| KeyFileFault::Unreadable { path: path.into(), cause };
    let file = File::open(path).map_err(unreadable)?;
    // Asked of the open file: a name could lead elsewhere by now.
    let metadata = file.metadata().map_err(unreadable)?;
    // A mounted secret belongs to root and reaches the hub through its group; any other file is its owner's alone.
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    let mode = metadata.mode() & 0o7777;
    if mode & forbidden != 0 {
        return Err(KeyFileFault::Exposed { path: path.into(), mode });
    }
    let mut text = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut text).map_err(unreadable)?;
    Ok(text)
}

pub(super) fn create_folder(path: &Path) -> Result<(), KeyFileFault> {
    let unwritable = |cause| KeyFileFault::Unwritable { path: path.into(), cause };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unwritable)
}

/// A file being written beside its final name, so that nobody ever reads half of it. Dropped unfinished, it is removed.
pub(super) struct Temporary<'a> {
    file: File,
    temporary: PathBuf,
    path: &'a Path,
}

impl<'a> Temporary<'a> {
    pub fn create(path: &'a Path) -> Result<Self, KeyFileFault> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.tmp"));
        // create_new: neither follows a planted link nor shares the file with another run.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary) {
            Ok(file) => Ok(Self { file, temporary, path }),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                Err(KeyFileFault::Busy { path: path.into(), temporary })
            }
            Err(cause) => Err(KeyFileFault::Unwritable { path: path.into(), cause }),
        }
    }

    /// On the disk, under its final name, before this returns.
    pub fn finish(mut self, content: &[u8]) -> Result<(), KeyFileFault> {
        let mut write = || -> io::Result<()> {
            self.file.write_all(content)?;
            self.file.sync_all()?;
            fs::rename(&self.temporary, self.path)?;
            let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        };
        write().map_err(|cause| KeyFileFault::Unwritable { path: self.path.into(), cause })
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // After a rename there is nothing of that name; after a fault there is nothing better to do.
        let _ = fs::remove_file(&self.temporary);
    }
}
