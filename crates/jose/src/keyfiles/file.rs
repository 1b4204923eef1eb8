//! Reads and writes key files: their form, their permissions, atomic writing. Does not know what
//! the keys are for.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::folder::{KeyFileError, KeyFolder};
use super::temporary_file::TemporaryFile;
use crate::block_on::block_on_thread;
use crate::decryption_key::DecryptionKey;
use crate::device_key_uri::DeviceKeyUri;
use crate::key_device::{DeviceKey, KeyLocation};
use crate::key_passphrase::KeyPassphrase;
use crate::signing_key::{KeyError, PrivateJwk, SigningKey};
use passerelle_protocol::alg::EncryptionAlg;
use passerelle_protocol::atomic_file::create_private_folder;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{Erase as _, Secret};
use passerelle_protocol::json::parse_object;

/// No key file is near this size.
const MAX_KEY_FILE_BYTES: usize = 64 * 1024;

/// Half of a key that its file has.
pub(super) enum StoredHalf<'a> {
    Private(&'a PrivateJwk),
    /// The public one; the private half is in a device.
    Public(&'a Map<String, Value>, DeviceKey),
}

/// A key that is stored in a file of the key folder.
pub(super) trait StoredKey: Sized {
    /// Creates the key; takes its members other than `created`, and those that name its half.
    fn read(
        created: Timestamp,
        half: StoredHalf<'_>,
        members: &mut KeyFileMembers<'_>,
    ) -> Result<Self, KeyFileError>;

    /// Has the device use the private half; does nothing for a local key. Blocks.
    ///
    /// # Errors
    /// Returns why the device did not show that it has the private half.
    fn prove_private_half(&self) -> Result<(), String>;

    /// Returns the name of the file that stores the key.
    fn file_name(&self) -> String;
}

/// Members of a key file besides `created` and `jwk`. Dropping them overwrites a key that was not
/// taken.
pub(super) struct KeyFileMembers<'a> {
    path: &'a Path,
    members: Map<String, Value>,
}

impl Drop for KeyFileMembers<'_> {
    fn drop(&mut self) {
        self.members.erase();
    }
}

impl KeyFileMembers<'_> {
    /// Takes a time in Unix seconds.
    ///
    /// # Errors
    /// `Malformed`, with this text.
    pub(super) fn take_time(
        &mut self,
        name: &str,
        what: &'static str,
    ) -> Result<Timestamp, KeyFileError> {
        let value = self.members.remove(name);
        value
            .as_ref()
            .and_then(Value::as_u64)
            .map(Timestamp::from_seconds)
            .ok_or_else(|| self.malformed(what))
    }

    /// Takes the URI of a key in a device; `None` if the private key is in the file.
    fn take_uri(&mut self) -> Result<Option<DeviceKeyUri>, KeyFileError> {
        let mut take = |location: KeyLocation, what| {
            let Some(value) = self.members.remove(location.as_str()) else { return Ok(None) };
            let uri = value.as_str().and_then(|text| DeviceKeyUri::parse(location, text));
            uri.map(Some).ok_or_else(|| self.malformed(what))
        };
        let token = "`pkcs11` must be a URI as pkcs11:id=%01%02;type=private";
        let server = "`vault_transit` must be a URI as vault-transit:key=NAME;version=1";
        let token = take(KeyLocation::Pkcs11, token)?;
        match (token, take(KeyLocation::VaultTransit, server)?) {
            (Some(_), Some(_)) => Err(self.malformed("its private key can't be in two devices")),
            (uri, None) | (None, uri) => Ok(uri),
        }
    }

    /// Takes the JWK, which may be encrypted.
    fn take_jwk(&mut self, source: &KeyFolder<'_>) -> Result<PrivateJwk, KeyFileError> {
        let either = "it must have either a JWK in `jwk`, or a JWE in `encrypted_jwk`";
        match (self.members.contains_key("jwk"), self.members.remove("encrypted_jwk")) {
            (true, None) => match self.members.remove("jwk") {
                Some(Value::Object(jwk)) => Ok(Secret::new(jwk)),
                _ => Err(self.malformed(either)),
            },
            (false, Some(Value::String(encrypted))) => {
                let path = || self.path.to_owned();
                let missing = || KeyFileError::NoPassphrase { path: path() };
                let passphrase = source.passphrase.as_ref().ok_or_else(missing)?;
                passphrase
                    .decrypt(&encrypted)
                    .map_err(|_| KeyFileError::Undecryptable { path: path() })
            }
            _ => Err(self.malformed(either)),
        }
    }

    /// Takes the algorithms of a decryption key in a device.
    fn take_algorithms(&mut self) -> Result<Vec<EncryptionAlg>, KeyFileError> {
        let value = self.members.remove("algorithms").unwrap_or_default();
        let what = "`algorithms` must list JWE algorithms, for example [\"ECDH-ES\"]";
        serde_json::from_value(value).map_err(|_| self.malformed(what))
    }

    fn malformed(&self, what: &'static str) -> KeyFileError {
        KeyFileError::Malformed { path: self.path.into(), what }
    }

    /// Returns the error of an unusable key in this file.
    pub(super) fn key_error(&self, error: KeyError) -> KeyFileError {
        KeyFileError::Key { path: self.path.into(), error }
    }
}

/// Reads every key of a folder. Hidden files and files not named `*.json` are skipped.
///
/// # Errors
/// `Folder`; `Unreadable`, `Exposed`, `Malformed`, `Key` or `Misnamed` for the first unusable file.
pub(super) fn read_keys<K: StoredKey>(
    dir: &Path,
    source: &KeyFolder<'_>,
) -> Result<Vec<K>, KeyFileError> {
    let paths = key_paths(dir).map_err(|cause| KeyFileError::Folder { path: dir.into(), cause })?;
    paths.iter().map(|path| read_key(path, source)).collect()
}

pub(super) fn key_paths(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !hidden && path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Counts the files of a folder that contain an unencrypted private key; 0 if the folder can't be read.
pub(super) fn count_plaintext_keys(dir: &Path) -> usize {
    let is_plaintext = |path: &PathBuf| {
        let text = read_private(path).ok();
        let members = text.and_then(|text| parse_object(text.reveal()).ok()).map(Secret::new);
        members.is_some_and(|members| has_plain_key(&members))
    };
    key_paths(dir).unwrap_or_default().iter().filter(|path| is_plaintext(path)).count()
}

/// Returns true if a key file has a private key that is not encrypted.
pub(super) fn has_plain_key(members: &PrivateJwk) -> bool {
    has_private_jwk(members.reveal())
}

/// The `jwk` of a key in a device is its public half.
fn has_private_jwk(members: &Map<String, Value>) -> bool {
    members.get("jwk").is_some_and(|jwk| jwk.get("d").is_some())
}

fn read_key<K: StoredKey>(path: &Path, source: &KeyFolder<'_>) -> Result<K, KeyFileError> {
    let text = read_private(path)?;
    let members = parse_object(text.reveal()).map_err(|_| KeyFileError::Malformed {
        path: path.into(),
        what: "it is not a JSON object without repeated members",
    })?;
    let mut key_file = KeyFileMembers { path, members };
    let created = key_file.take_time("created", "`created` must be a time in Unix seconds")?;
    let uri = key_file.take_uri()?;
    if source.refuses_plain_keys && has_private_jwk(&key_file.members) {
        return Err(KeyFileError::PlainKey { path: path.into() });
    }
    let jwk = key_file.take_jwk(source)?;
    let key = match uri {
        None => K::read(created, StoredHalf::Private(&jwk), &mut key_file)?,
        Some(uri) => {
            let location = uri.location();
            let missing = || KeyFileError::NoDevice { path: path.into(), location };
            let device = source.device(location).ok_or_else(missing)?;
            let key = DeviceKey { device, uri };
            let half = StoredHalf::Public(jwk.reveal(), key);
            let key = K::read(created, half, &mut key_file)?;
            if source.refuses_plain_keys {
                let unproven = |why| KeyFileError::Unproven { path: path.into(), why };
                key.prove_private_half().map_err(unproven)?;
            }
            key
        }
    };
    if !key_file.members.is_empty() {
        return Err(key_file.malformed("it has members that a key of this folder does not have"));
    }
    // A copy would publish one kid twice, and readers of the key set could reject both.
    let expected = key.file_name();
    if path.file_name().is_some_and(|name| name != expected.as_str()) {
        return Err(KeyFileError::Misnamed { path: path.into(), expected });
    }
    Ok(key)
}

/// A generated key that is not written yet.
pub(super) struct NewKeyFile {
    pub file_name: String,
    /// `signs_from` of a signing key.
    pub signs_from: Option<Timestamp>,
    pub created: Timestamp,
    /// The private JWK; the public one of a key in a device.
    pub jwk: PrivateJwk,
    /// A key in a device, and the algorithms of a decryption key.
    pub device: Option<(DeviceKeyUri, Vec<Value>)>,
}

impl NewKeyFile {
    /// Writes the file under a temporary name. A private key is encrypted if there is a passphrase.
    ///
    /// # Errors
    /// `Busy`, `Unwritable`, `Encryption`, `Generation`.
    pub(super) fn stage<'p>(
        &self,
        path: &'p Path,
        passphrase: Option<&KeyPassphrase>,
    ) -> Result<TemporaryFile<'p>, KeyFileError> {
        let (name, jwk) = match passphrase.filter(|_| self.device.is_none()) {
            None => ("jwk", Value::Object(self.jwk.reveal().clone())),
            Some(passphrase) => {
                let encrypted = passphrase.encrypt(&self.jwk);
                let encrypted =
                    encrypted.map_err(|_| KeyFileError::Encryption { path: path.into() })?;
                ("encrypted_jwk", encrypted.into())
            }
        };
        let mut members = Map::new();
        members.insert("created".into(), self.created.seconds().into());
        if let Some(at) = self.signs_from {
            members.insert("signs_from".into(), at.seconds().into());
        }
        if let Some((uri, algorithms)) = &self.device {
            members.insert(uri.location().as_str().into(), uri.to_string().into());
            if !algorithms.is_empty() {
                members.insert("algorithms".into(), algorithms.clone().into());
            }
        }
        members.insert(name.into(), jwk);
        stage_members(path, &Secret::new(members))
    }
}

pub(super) fn write_members(path: &Path, members: &PrivateJwk) -> Result<(), KeyFileError> {
    stage_members(path, members)?.publish()
}

fn stage_members<'p>(
    path: &'p Path,
    members: &PrivateJwk,
) -> Result<TemporaryFile<'p>, KeyFileError> {
    let text = members.to_json().map_err(|_| KeyFileError::Generation(KeyError::Generation))?;
    let mut staged = TemporaryFile::create(path)?;
    staged.write(text.reveal())?;
    Ok(staged)
}

pub(super) fn read_private(path: &Path) -> Result<Secret<Vec<u8>>, KeyFileError> {
    let unreadable = |cause| KeyFileError::Unreadable { path: path.into(), cause };
    let file = File::open(path).map_err(unreadable)?;
    // Read from the open file: the name could lead elsewhere by now.
    let metadata = file.metadata().map_err(unreadable)?;
    // A mounted secret belongs to root and is readable through the group; any other file must be
    // private to its owner.
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    let mode = metadata.mode() & 0o7777;
    if mode & forbidden != 0 {
        return Err(KeyFileError::Exposed { path: path.into(), mode });
    }
    // A text that grows leaves its former buffers behind.
    let mut text = Vec::with_capacity(MAX_KEY_FILE_BYTES);
    let outcome = file.take(MAX_KEY_FILE_BYTES as u64).read_to_end(&mut text);
    let text = Secret::new(text);
    outcome.map(|_| text).map_err(unreadable)
}

/// Creates a key folder that only its owner can read.
///
/// # Errors
/// `Unwritable`.
pub(super) fn create_folder(path: &Path) -> Result<(), KeyFileError> {
    let unwritable = |cause| KeyFileError::Unwritable { path: path.into(), cause };
    create_private_folder(path).map_err(unwritable)
}

impl StoredKey for SigningKey {
    fn read(
        created: Timestamp,
        half: StoredHalf<'_>,
        members: &mut KeyFileMembers<'_>,
    ) -> Result<Self, KeyFileError> {
        let signs_from =
            members.take_time("signs_from", "`signs_from` must be a time in Unix seconds")?;
        let key = match half {
            StoredHalf::Private(jwk) => Self::parse(jwk, created, signs_from),
            StoredHalf::Public(jwk, key) => Self::in_device(jwk, key, created, signs_from),
        };
        key.map_err(|error| members.key_error(error))
    }

    fn prove_private_half(&self) -> Result<(), String> {
        if self.device_key().is_none() {
            return Ok(());
        }
        // The device's answer is verified by the public half.
        let outcome =
            block_on_thread(self.sign(b"passerelle")).map_err(|error| error.to_string())?;
        outcome.map(|_| ()).map_err(|error| error.to_string())
    }

    fn file_name(&self) -> String {
        signing_file_name(self.alg.as_str(), &self.kid)
    }
}

impl StoredKey for DecryptionKey {
    fn read(
        created: Timestamp,
        half: StoredHalf<'_>,
        members: &mut KeyFileMembers<'_>,
    ) -> Result<Self, KeyFileError> {
        let key = match half {
            StoredHalf::Private(jwk) => Self::parse(jwk, created),
            StoredHalf::Public(jwk, key) => {
                Self::in_device(jwk, &members.take_algorithms()?, &key, created)
            }
        };
        key.map_err(|error| members.key_error(error))
    }

    fn prove_private_half(&self) -> Result<(), String> {
        let outcome = block_on_thread(self.try_in_device());
        outcome.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    fn file_name(&self) -> String {
        decryption_file_name(&self.kid)
    }
}

/// Returns the file name of a signing key.
pub(super) fn signing_file_name(alg: &str, kid: &str) -> String {
    format!("{}-{kid}.json", alg.to_ascii_lowercase())
}

/// Returns the file name of a decryption key.
pub(super) fn decryption_file_name(kid: &str) -> String {
    format!("enc-{kid}.json")
}
