//! The key folder: one JSON file per key; implements `passerelle keys new|list|rotate|encrypt`.
//!
//! | folder | keys | file |
//! |---|---|---|
//! | the folder itself | sign the hub's tokens | `{"created": 1790000000, "signs_from": 1790001200, "jwk": {private JWK}}` |
//! | `assertion/` | authenticate the hub to identity providers | the same |
//! | `encryption/` | decrypt what identity providers encrypt to the hub | without `signs_from` |
//!
//! If a device holds the private half, `jwk` is the public JWK, and `pkcs11` or `vault_transit` is
//! the key's URI; `algorithms` lists what a decryption key can do. If the folder has a passphrase,
//! new files have `encrypted_jwk`, a JWE of the private JWK, instead of `jwk`.
//!
//! Times are Unix seconds; files have mode 0600, folders 0700. Does not know when the folder is
//! read again, or the command line.

mod encrypting;
mod file;
mod folder;
mod new_key;
mod rows;
mod temporary_file;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::encrypting::encrypt_keys;
use self::file::{StoredKey, create_folder, decryption_file_name, read_keys, signing_file_name};
pub use self::folder::{CreatedKey, KeyFileError, KeyFolder, KeyPurpose, NewDeviceKeys};
use self::new_key::{KeySpec, add_keys, check_encryption};
pub use self::rows::{KeyRow, is_rotation_due, key_rows, rotation_due_at};
use self::temporary_file::TemporaryFile;
use super::decryption_key::DecryptionKey;
use super::key_type::KeyType;
use super::keyring::{KeyState, Keyring, KeyringError};
use super::relying_party_keys::{PUBLICATION_DELAY, RelyingPartyKeys};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::atomic_file::{check_folder_writable, parent_folder};
use passerelle_protocol::env::{Env, Timestamp};

/// Result of a rotation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRotation {
    pub added: Vec<CreatedKey>,
    /// Keys whose files were removed: retired for over 30 days.
    pub removed: Vec<RemovedKey>,
    /// Files of such keys that could not be removed, and why.
    pub not_removed: Vec<(PathBuf, io::ErrorKind)>,
}

/// A key whose file was removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemovedKey {
    pub kid: String,
    /// Its private key in a device, which the operator removes.
    pub uri: Option<String>,
}

/// Result of [`create_subject_key`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubjectKeyOutcome {
    Created,
    /// The file existed. It was not touched: a subject key must never change.
    AlreadyExists,
}

/// Reads the keys that sign tokens. Blocks; don't call it on an arbiter.
///
/// # Errors
/// Any error of a file, and `NoCurrent` unless an EC and an RSA key can sign at `now`.
pub fn load_keyring<'a>(
    source: impl Into<KeyFolder<'a>>,
    now: Timestamp,
) -> Result<Keyring, KeyFileError> {
    let source = source.into();
    load_keyring_for(&source, KeyPurpose::Tokens, now)
}

fn load_keyring_for(
    source: &KeyFolder<'_>,
    purpose: KeyPurpose,
    now: Timestamp,
) -> Result<Keyring, KeyFileError> {
    let dir = &purpose.folder(source.folder);
    Keyring::new(read_keys(dir, source)?, now).map_err(|error| match error {
        KeyringError::NoCurrent(alg) => KeyFileError::NoCurrent { path: dir.into(), alg },
        KeyringError::Key(error) => KeyFileError::Key { path: dir.into(), error },
    })
}

/// Reads the hub's keys as a client of identity providers. Blocks; don't call it on an arbiter.
///
/// # Errors
/// As [`load_keyring`], and `NoDecryption` unless there is an EC and an RSA key.
pub fn load_upstream_keys<'a>(
    source: impl Into<KeyFolder<'a>>,
    now: Timestamp,
) -> Result<RelyingPartyKeys, KeyFileError> {
    let source = source.into();
    let assertion = load_keyring_for(&source, KeyPurpose::Assertion, now)?;
    let path = KeyPurpose::Encryption.folder(source.folder);
    RelyingPartyKeys::new(read_keys(&path, &source)?, assertion)
        .map_err(|key_type| KeyFileError::NoDecryption { path, key_type })
}

/// Creates the first keys, which are in use immediately; in a folder with some keys, the missing
/// ones.
///
/// # Errors
/// `Exists` if no key is missing; errors of existing files; `Unwritable`, `Busy`, `Generation`,
/// `Device`, `Trial`, `Orphaned`.
pub fn create_keys<'a>(
    source: impl Into<KeyFolder<'a>>,
    env: &Env,
) -> Result<Vec<CreatedKey>, KeyFileError> {
    let (source, now) = (source.into(), env.now());
    let dir = source.folder;
    for purpose in [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption] {
        create_folder(&purpose.folder(dir))?;
    }
    let mut missing = Vec::new();
    for purpose in SIGNING_PURPOSES {
        let ring = Keyring::new_unchecked(read_keys(&purpose.folder(dir), &source)?);
        let lacks = SigningAlg::ALL.into_iter().filter(|alg| ring.current(*alg, now).is_none());
        missing.extend(lacks.map(|alg| KeySpec::Signing { purpose, alg, from: now }));
    }
    let decryption: Vec<DecryptionKey> = read_keys(&KeyPurpose::Encryption.folder(dir), &source)?;
    let lacks = KeyType::ALL
        .into_iter()
        .filter(|key_type| !decryption.iter().any(|key| key.key_type == *key_type));
    missing.extend(lacks.map(|key_type| KeySpec::Decryption { key_type, from: now }));
    if missing.is_empty() {
        return Err(KeyFileError::Exists { path: dir.into() });
    }
    add_keys(&source, &missing, env)
}

/// Adds the next key of each kind, and removes keys retired for over 30 days. The next signing keys
/// are published immediately and sign after `lead` ([`super::keyring::DEFAULT_ROTATION_LEAD`]
/// unless a key was stolen). The next encryption keys are published, and their predecessors
/// withdrawn, after [`PUBLICATION_DELAY`].
///
/// # Errors
/// `Waiting` while a next key is not in use yet; `Rotating`; `NoCurrent`; errors of the files;
/// `NoEncryption`, `Unwritable`, `Generation`, `Device`, `Trial`, `Orphaned`.
pub fn rotate_keys<'a>(
    source: impl Into<KeyFolder<'a>>,
    env: &Env,
    lead: Duration,
) -> Result<KeyRotation, KeyFileError> {
    let source = source.into();
    let _locked = lock_folder(source.folder)?;
    let rows = load_rows(&source, env.now())?;
    add_next_keys(&source, rows, env, lead)
}

/// Rotates the keys as [`rotate_keys`] if they are `period` old; returns `None` if they are not,
/// for example because another hub has just rotated them.
///
/// # Errors
/// As [`rotate_keys`], except `Waiting`.
pub fn rotate_due_keys<'a>(
    source: impl Into<KeyFolder<'a>>,
    env: &Env,
    lead: Duration,
    period: Duration,
) -> Result<Option<KeyRotation>, KeyFileError> {
    let source = source.into();
    let _locked = lock_folder(source.folder)?;
    let rows = load_rows(&source, env.now())?;
    if !is_rotation_due(&rows, period, env.now()) {
        return Ok(None);
    }
    add_next_keys(&source, rows, env, lead).map(Some)
}

/// Checks that new keys can be written: before a device generates keys that no file would name.
///
/// # Errors
/// `NoEncryption`, `Unwritable`.
pub fn check_rotation(source: &KeyFolder<'_>) -> Result<(), KeyFileError> {
    check_encryption(source, &next_keys(Timestamp::default(), Timestamp::default()))?;
    for purpose in [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption] {
        let path = purpose.folder(source.folder);
        check_folder_writable(&path).map_err(|cause| KeyFileError::Unwritable { path, cause })?;
    }
    Ok(())
}

/// Locks a key folder until the value is dropped or the process ends. A file system without locks
/// has none: there the hubs agree by their store.
fn lock_folder(dir: &Path) -> Result<File, KeyFileError> {
    let folder =
        File::open(dir).map_err(|cause| KeyFileError::Folder { path: dir.into(), cause })?;
    match folder.try_lock() {
        Ok(()) | Err(TryLockError::Error(_)) => Ok(folder),
        Err(TryLockError::WouldBlock) => Err(KeyFileError::Rotating { path: dir.into() }),
    }
}

fn load_rows(source: &KeyFolder<'_>, now: Timestamp) -> Result<Vec<KeyRow>, KeyFileError> {
    let tokens = load_keyring(source.clone(), now)?;
    Ok(key_rows(&tokens, &load_upstream_keys(source.clone(), now)?, now))
}

/// The keys of a rotation: signing keys that sign from `signs_from`, and decryption keys.
fn next_keys(signs_from: Timestamp, published_from: Timestamp) -> Vec<KeySpec> {
    let signing = SIGNING_PURPOSES.into_iter().flat_map(|purpose| {
        SigningAlg::ALL.map(|alg| KeySpec::Signing { purpose, alg, from: signs_from })
    });
    let decryption =
        KeyType::ALL.map(|key_type| KeySpec::Decryption { key_type, from: published_from });
    signing.chain(decryption).collect()
}

fn add_next_keys(
    source: &KeyFolder<'_>,
    rows: Vec<KeyRow>,
    env: &Env,
    lead: Duration,
) -> Result<KeyRotation, KeyFileError> {
    let (dir, now) = (source.folder, env.now());
    if let Some(KeyRow { purpose, kid, until, .. }) =
        rows.iter().find(|row| row.state == KeyState::Next)
    {
        let seconds = until.unwrap_or(now).since(now).as_millis().div_ceil(1000);
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        return Err(KeyFileError::Waiting { path: purpose.folder(dir), kid: kid.clone(), seconds });
    }
    check_rotation(source)?;
    // Rounded up to a whole second: a key never signs early.
    let from = Timestamp::from_seconds((now + lead + Duration::from_millis(999)).seconds());
    let added = add_keys(source, &next_keys(from, now + PUBLICATION_DELAY), env)?;
    let (mut removed, mut not_removed) = (Vec::new(), Vec::new());
    for row in rows {
        if let (KeyState::Retired { .. }, Some(until)) = (row.state, row.until)
            && until < now
        {
            let name = match row.purpose {
                KeyPurpose::Tokens | KeyPurpose::Assertion => signing_file_name(row.alg, &row.kid),
                KeyPurpose::Encryption => decryption_file_name(&row.kid),
            };
            let path = row.purpose.folder(dir).join(name);
            match fs::remove_file(&path) {
                Ok(()) => removed.push(RemovedKey { kid: row.kid, uri: row.uri }),
                Err(error) => not_removed.push((path, error.kind())),
            }
        }
    }
    Ok(KeyRotation { added, removed, not_removed })
}

/// Lists the folder's keys in the order of the key sets, even if some are missing.
///
/// # Errors
/// Errors of the folder and its files.
pub fn list_keys<'a>(
    source: impl Into<KeyFolder<'a>>,
    now: Timestamp,
) -> Result<Vec<KeyRow>, KeyFileError> {
    let source = source.into();
    let dir = source.folder;
    let tokens = Keyring::new_unchecked(read_keys(dir, &source)?);
    let assertion =
        Keyring::new_unchecked(read_keys_if_exists(&KeyPurpose::Assertion.folder(dir), &source)?);
    let decryption = read_keys_if_exists(&KeyPurpose::Encryption.folder(dir), &source)?;
    Ok(key_rows(&tokens, &RelyingPartyKeys::new_unchecked(decryption, assertion), now))
}

/// Counts the unencrypted private keys in the files of a folder.
pub fn count_plaintext_keys(dir: &Path) -> usize {
    let purposes = [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption];
    purposes.iter().map(|purpose| file::count_plaintext_keys(&purpose.folder(dir))).sum()
}

/// Creates the key of the pairwise subjects unless the file exists: 256 random bits as 43 base64url
/// characters.
///
/// # Errors
/// `Unwritable`, and `Busy` if a temporary file exists.
pub fn create_subject_key(path: &Path, env: &Env) -> Result<SubjectKeyOutcome, KeyFileError> {
    // A dangling link counts as a key: its target may be missing only temporarily.
    let exists = || path.symlink_metadata().is_ok();
    if exists() {
        return Ok(SubjectKeyOutcome::AlreadyExists);
    }
    create_folder(parent_folder(path))?;
    let mut temporary = TemporaryFile::create(path)?;
    // Another run may have finished since the first check; none can while the temporary file is
    // ours.
    if exists() {
        return Ok(SubjectKeyOutcome::AlreadyExists);
    }
    temporary.write(env.entropy().token().as_bytes())?;
    temporary.publish()?;
    Ok(SubjectKeyOutcome::Created)
}

const SIGNING_PURPOSES: [KeyPurpose; 2] = [KeyPurpose::Tokens, KeyPurpose::Assertion];

/// Reads the keys of a folder that earlier versions did not have.
fn read_keys_if_exists<K: StoredKey>(
    dir: &Path,
    source: &KeyFolder<'_>,
) -> Result<Vec<K>, KeyFileError> {
    match read_keys(dir, source) {
        Err(KeyFileError::Folder { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
            Ok(Vec::new())
        }
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests;
