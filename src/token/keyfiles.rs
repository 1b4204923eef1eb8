//! The key folder: one JSON file for each signing key, and the library behind `passerelle keys new|list|rotate`.
//!
//! `{"created": 1790000000, "signs_from": 1790001200, "jwk": {private JWK}}`, times in Unix seconds; files 0600, the
//! folder 0700. Owns: the files' form, who may read them, what a rotation adds and removes. Must not know: when the
//! folder is read again, the command line.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::keyring::{HINT_LIFE, KeyState, Keyring, KeyringFault};
use super::signing_key::{self, KeyFault, PrivateJwk, SigningKey};
use crate::env::{Env, Timestamp};
use crate::ids::Secret;
use crate::protocol::alg::SigningAlg;
use crate::protocol::json::parse_object;

/// No key file is near this size; a larger one is something else.
const MAX_FILE: u64 = 64 * 1024;

/// What is wrong with a key folder, where, and how to mend it. Carries nothing of a key.
#[derive(thiserror::Error, Debug)]
pub enum KeyFileFault {
    #[error("{path}: the key folder can't be read ({cause}); create signing keys with `passerelle keys new`")]
    Folder { path: PathBuf, cause: io::Error },
    #[error("{path}: can't be read ({cause}); give it to the user that runs the hub")]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error(
        "{path}: can be read by others (mode {mode:04o}); run `chmod 600 {path}`, and if others may have read it, `passerelle keys rotate`"
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error("{path}: {what}; restore the file from a backup, or remove it and run `passerelle keys new`")]
    Malformed { path: PathBuf, what: &'static str },
    #[error("{path}: {fault}; restore the file from a backup, or remove it and run `passerelle keys new`")]
    Key { path: PathBuf, fault: KeyFault },
    #[error("{path}: holds the key of {expected}; rename it, or remove it if it is a copy")]
    Misnamed { path: PathBuf, expected: String },
    #[error("{path}: no {} key in this folder signs now; run `passerelle keys new`", alg.as_str())]
    NoCurrent { path: PathBuf, alg: SigningAlg },
    #[error("{path}: there are signing keys already; to change them run `passerelle keys rotate`")]
    Exists { path: PathBuf },
    #[error("{path}: the key {kid} is waiting for its turn; rotate again when it signs, in {seconds} s")]
    Waiting { path: PathBuf, kid: String, seconds: u64 },
    #[error("{path}: can't be written ({cause}); check that the user that runs this command owns the folder")]
    Unwritable { path: PathBuf, cause: io::Error },
    #[error("{path}: another run is writing this file, or one was cut short; if none is running, remove {temporary}")]
    Busy { path: PathBuf, temporary: PathBuf },
    #[error("a new key could not be made: {0}")]
    Generation(KeyFault),
}

/// One line of `passerelle keys list`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRow {
    pub kid: String,
    pub alg: SigningAlg,
    pub state: KeyState,
    /// When it entered this state: for `Next`, when it was created.
    pub since: Timestamp,
    /// When it leaves it: `Next` begins to sign, `Current` hands over (if a successor waits), `Retired` is removed.
    pub until: Option<Timestamp>,
}

/// What a rotation did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rotation {
    pub added: Vec<String>,
    /// When the added keys begin to sign.
    pub signs_from: Timestamp,
    /// Keys retired for over 30 days, whose files are gone now.
    pub removed: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubjectKey {
    Created,
    /// There was one; it was left as it is, for a subject key must never change.
    Kept,
}

/// Reads the whole folder. Blocks: not for a web worker.
///
/// # Errors
/// Any fault of a file, and `NoCurrent` unless an EC and an RSA key can sign at `now`.
pub fn load(dir: &Path, now: Timestamp) -> Result<Keyring, KeyFileFault> {
    Keyring::new(read_keys(dir)?, now).map_err(|fault| match fault {
        KeyringFault::NoCurrent(alg) => KeyFileFault::NoCurrent { path: dir.into(), alg },
        KeyringFault::Key(fault) => KeyFileFault::Key { path: dir.into(), fault },
    })
}

/// Makes the first EC and RSA keys, which sign at once; in a folder that lost one of the two, the missing one. Returns
/// the new `kid`s.
///
/// # Errors
/// `Exists` when nothing is missing; faults of the files that are there; `Unwritable`, `Busy`, `Generation`.
pub fn create(dir: &Path, env: &Env) -> Result<Vec<String>, KeyFileFault> {
    let now = env.now();
    create_folder(dir)?;
    let ring = Keyring::unchecked(read_keys(dir)?);
    let missing: Vec<_> = BOTH.into_iter().filter(|alg| ring.current(*alg, now).is_none()).collect();
    if missing.is_empty() {
        return Err(KeyFileFault::Exists { path: dir.into() });
    }
    add(dir, &missing, now, now)
}

/// Adds the next EC and RSA keys, published at once and signing after `lead` ([`super::keyring::LEAD`] unless a key was
/// stolen), and removes what has been retired for over 30 days.
///
/// # Errors
/// `Waiting` while a next key has not had its turn; `NoCurrent`; faults of the files; `Unwritable`, `Generation`.
pub fn rotate(dir: &Path, env: &Env, lead: Duration) -> Result<Rotation, KeyFileFault> {
    let now = env.now();
    let ring = load(dir, now)?;
    let states = ring.states(now);
    if let Some((key, _)) = states.iter().find(|(_, state)| *state == KeyState::Next) {
        let seconds = key.signs_from.since(now).as_millis().div_ceil(1000);
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        return Err(KeyFileFault::Waiting { path: dir.into(), kid: key.kid.clone(), seconds });
    }
    // Up to the next whole second: a key never signs before its time.
    let signs_from = Timestamp::from_seconds((now + lead + Duration::from_millis(999)).seconds());
    let added = add(dir, &BOTH, now, signs_from)?;
    let mut removed = Vec::new();
    for (key, state) in states {
        if let KeyState::Retired { since } = state
            && since + HINT_LIFE < now
        {
            let path = dir.join(file_name(key.alg, &key.kid));
            fs::remove_file(&path).map_err(|cause| KeyFileFault::Unwritable { path, cause })?;
            removed.push(key.kid.clone());
        }
    }
    Ok(Rotation { added, signs_from, removed })
}

/// The folder's keys in the order of the key set, whatever is missing.
///
/// # Errors
/// Faults of the folder and its files.
pub fn list(dir: &Path, now: Timestamp) -> Result<Vec<KeyRow>, KeyFileFault> {
    let ring = Keyring::unchecked(read_keys(dir)?);
    let row = |(key, state): (&SigningKey, KeyState)| {
        let (since, until) = match state {
            KeyState::Current => (key.signs_from, ring.successor(key).map(|next| next.signs_from)),
            KeyState::Next => (key.created, Some(key.signs_from)),
            KeyState::Retired { since } => (since, Some(since + HINT_LIFE)),
        };
        KeyRow { kid: key.kid.clone(), alg: key.alg, state, since, until }
    };
    Ok(ring.states(now).into_iter().map(row).collect())
}

/// Writes the key of the pairwise subjects, 256 random bits as 43 base64url characters, unless the file is there.
///
/// # Errors
/// `Unwritable`, and `Busy` if a temporary file is in the way.
pub fn create_subject_key(path: &Path, env: &Env) -> Result<SubjectKey, KeyFileFault> {
    // A link that leads nowhere counts as a key: what it should lead to may only be missing for the moment.
    let exists = || path.symlink_metadata().is_ok();
    if exists() {
        return Ok(SubjectKey::Kept);
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_folder(folder)?;
    }
    let temporary = Temporary::create(path)?;
    // Another run may have finished since the first look; while the temporary file is ours, none can.
    if exists() {
        return Ok(SubjectKey::Kept);
    }
    temporary.finish(env.entropy().token().as_bytes())?;
    Ok(SubjectKey::Created)
}

const BOTH: [SigningAlg; 2] = [SigningAlg::ES256, SigningAlg::RS256];

fn read_keys(dir: &Path) -> Result<Vec<SigningKey>, KeyFileFault> {
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
    paths.iter().map(|path| read_key(path)).collect()
}

fn read_key(path: &Path) -> Result<SigningKey, KeyFileFault> {
    let malformed = |what| KeyFileFault::Malformed { path: path.into(), what };
    let text = read_private(path)?;
    let mut members = parse_object(&text).map_err(|_| malformed("not a JSON object in which each member stands once"))?;
    let mut seconds = |name, what| {
        let value: Option<Value> = members.remove(name);
        value.as_ref().and_then(Value::as_u64).map(Timestamp::from_seconds).ok_or_else(|| malformed(what))
    };
    let created = seconds("created", "`created` must be a time in Unix seconds")?;
    let signs_from = seconds("signs_from", "`signs_from` must be a time in Unix seconds")?;
    let Some(Value::Object(jwk)) = members.remove("jwk") else {
        return Err(malformed("`jwk` must be a private JWK"));
    };
    if !members.is_empty() {
        return Err(malformed("it has members other than `created`, `signs_from` and `jwk`"));
    }
    let key = SigningKey::parse(&Secret::new(jwk), created, signs_from)
        .map_err(|fault| KeyFileFault::Key { path: path.into(), fault })?;
    // A copy would publish one kid twice, and readers of the key set would trust neither.
    let expected = file_name(key.alg, &key.kid);
    if path.file_name().is_some_and(|name| name != expected.as_str()) {
        return Err(KeyFileFault::Misnamed { path: path.into(), expected });
    }
    Ok(key)
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

fn add(dir: &Path, algs: &[SigningAlg], created: Timestamp, signs_from: Timestamp) -> Result<Vec<String>, KeyFileFault> {
    // All keys are made before the first is written, so that a failure leaves the folder as it was.
    let fresh = |alg: &SigningAlg| -> Result<(PrivateJwk, SigningKey), KeyFault> {
        let jwk = signing_key::generate(*alg)?;
        let key = SigningKey::parse(&jwk, created, signs_from)?;
        Ok((jwk, key))
    };
    let keys = algs.iter().map(fresh).collect::<Result<Vec<_>, _>>().map_err(KeyFileFault::Generation)?;
    let mut kids = Vec::new();
    for (jwk, key) in keys {
        let file = json!({ "created": created.seconds(), "signs_from": signs_from.seconds(), "jwk": jwk.reveal() });
        let path = dir.join(file_name(key.alg, &key.kid));
        Temporary::create(&path)?.finish(file.to_string().as_bytes())?;
        kids.push(key.kid);
    }
    Ok(kids)
}

fn file_name(alg: SigningAlg, kid: &str) -> String {
    format!("{}-{kid}.json", alg.as_str().to_ascii_lowercase())
}

fn create_folder(path: &Path) -> Result<(), KeyFileFault> {
    let unwritable = |cause| KeyFileFault::Unwritable { path: path.into(), cause };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unwritable)
}

/// A file being written beside its final name, so that nobody ever reads half of it. Dropped unfinished, it is removed.
struct Temporary<'a> {
    file: File,
    temporary: PathBuf,
    path: &'a Path,
}

impl<'a> Temporary<'a> {
    fn create(path: &'a Path) -> Result<Self, KeyFileFault> {
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
    fn finish(mut self, content: &[u8]) -> Result<(), KeyFileFault> {
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

#[cfg(test)]
#[path = "keyfiles_tests.rs"]
mod tests;
