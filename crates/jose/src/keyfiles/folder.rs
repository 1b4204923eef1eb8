//! A key folder, what its keys are for, and why it is unusable.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::decryption_key::DecryptionTrialError;
use crate::device_key_uri::DeviceKeyUri;
use crate::key_device::{
    DeviceKeyGenerator, DeviceKeyUsage, KeyDevice, KeyDeviceError, KeyLocation, UnusedKeyDevice,
};
use crate::key_passphrase::KeyPassphrase;
use crate::key_type::KeyType;
use crate::signing_key::KeyError;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::env::Timestamp;

/// Why a key folder is unusable, where, and how to fix it. Contains nothing of a key.
#[derive(thiserror::Error, Debug)]
pub enum KeyFileError {
    #[error(
        "{path}: the key folder can't be read ({cause}); create what is missing with `passerelle keys new`"
    )]
    Folder { path: PathBuf, cause: io::Error },
    #[error("{path}: can't be read ({cause}); give it to the user that runs the hub")]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error(
        "{path}: can be read by others (mode {mode:04o}); run `chmod 600 {path}`, and if others may have read it, `passerelle keys rotate`"
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error(
        "{path}: {what}; restore the file from a backup, or remove it and run `passerelle keys new`"
    )]
    Malformed { path: PathBuf, what: &'static str },
    #[error(
        "{path}: {error}; restore the file from a backup, or remove it and run `passerelle keys new`"
    )]
    Key { path: PathBuf, error: KeyError },
    #[error("{path}: contains the key of {expected}; rename it, or remove it if it is a copy")]
    Misnamed { path: PathBuf, expected: String },
    #[error("{path}: no {} key in this folder signs now; run `passerelle keys new`", alg.as_str())]
    NoCurrent { path: PathBuf, alg: SigningAlg },
    #[error("{path}: no key in this folder is for {}; run `passerelle keys new`", key_type.encryption_alg_names())]
    NoDecryption { path: PathBuf, key_type: KeyType },
    #[error("{path}: no key is missing; to change keys run `passerelle keys rotate`")]
    Exists { path: PathBuf },
    #[error("{path}: the key {kid} is not in use yet; rotate again in {seconds} s")]
    Waiting { path: PathBuf, kid: String, seconds: u64 },
    #[error("{path}: these keys are being rotated; see the result by `passerelle keys list`")]
    Rotating { path: PathBuf },
    #[error(
        "{path}: can't be written ({cause}); check that the user that runs this command owns the folder"
    )]
    Unwritable { path: PathBuf, cause: io::Error },
    #[error(
        "{path}: another run is writing this file, or one was interrupted; if none is running, remove {temporary}"
    )]
    Busy { path: PathBuf, temporary: PathBuf },
    #[error("a new key could not be generated: {0}")]
    Generation(KeyError),
    #[error("{path}: the key could not be encrypted: OpenSSL failed; run the command again")]
    Encryption { path: PathBuf },
    #[error("a new key could not be generated: {0}")]
    Device(KeyDeviceError),
    #[error("the new decryption key can't be used: {0}")]
    Trial(DecryptionTrialError),
    #[error(
        "{error}; the new keys were discarded, so remove them from the device: {}",
        list_with_removal(uris)
    )]
    Orphaned { error: Box<Self>, uris: Vec<DeviceKeyUri> },
    #[error(
        "{error}; the new keys were discarded, but these files of them can't be removed, so remove them: {}",
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    NotRemoved { error: Box<Self>, paths: Vec<PathBuf> },
    #[error(
        "{path}: the key is encrypted; set key_passphrase in passerelle.toml, and name its folder with --config"
    )]
    NoPassphrase { path: PathBuf },
    #[error(
        "key_passphrase is not set, so there is nothing to encrypt the keys with; set it in passerelle.toml, and name its folder with --config"
    )]
    NothingToEncryptWith,
    #[error(
        "{path}: the key can't be decrypted: key_passphrase leads to another passphrase, or the file was modified; correct key_passphrase, or restore the file from a backup"
    )]
    Undecryptable { path: PathBuf },
    #[error(
        "{path}: a private key that is not encrypted, which `plain_key_files = \"refused\"` refuses; if the file is yours, run `passerelle keys encrypt`, else remove it and find out who can write there"
    )]
    PlainKey { path: PathBuf },
    #[error(
        "{path}: the device did not show that it has the private key, which `plain_key_files = \"refused\"` requires: {why}; if the file is yours, see that the device works, else remove the file and find out who can write there"
    )]
    Unproven { path: PathBuf, why: String },
    #[error(
        "{path}: a new key would not be encrypted, which `plain_key_files = \"refused\"` refuses; set key_passphrase, or let a device generate every key"
    )]
    NoEncryption { path: PathBuf },
    #[error(
        "{path}: its private key is in a device; add the table [{}] to passerelle.toml (docs/keys-in-hardware.md)", location.as_str()
    )]
    NoDevice { path: PathBuf, location: KeyLocation },
}

/// Names each key in a device, and the command that removes it.
fn list_with_removal(uris: &[DeviceKeyUri]) -> String {
    let line = |uri: &DeviceKeyUri| format!("{uri} (remove it by `{}`)", uri.removal_command());
    uris.iter().map(line).collect::<Vec<_>>().join(", ")
}

/// A key folder, what opens the private keys in it, and the devices that hold the others.
#[derive(Clone)]
pub struct KeyFolder<'a> {
    pub folder: &'a Path,
    /// Encrypts new private keys in files. `None` writes them unencrypted, and rejects encrypted
    /// ones.
    pub passphrase: Option<Arc<KeyPassphrase>>,
    /// Whether a private key in a file that is not encrypted is an error.
    pub refuses_plain_keys: bool,
    /// One of each kind at most. Keys in another device are rejected.
    pub devices: Vec<Arc<dyn KeyDevice>>,
    /// Where new keys are generated: in the first device that takes the purpose, else in the
    /// folder.
    pub new_keys: Vec<NewDeviceKeys<'a>>,
}

impl<'a> KeyFolder<'a> {
    /// Returns the device of this kind.
    pub(super) fn device(&self, location: KeyLocation) -> Option<Arc<dyn KeyDevice>> {
        self.devices.iter().find(|device| device.location() == location).cloned()
    }

    /// Returns what generates keys for a purpose; `None` for keys in files.
    pub(super) fn generator(
        &self,
        purpose: KeyPurpose,
        usage: DeviceKeyUsage,
        key_type: KeyType,
    ) -> Option<&'a dyn DeviceKeyGenerator> {
        let takes = |new: &&NewDeviceKeys<'a>| {
            new.purposes.contains(&purpose) && new.generator.supports(usage, key_type)
        };
        self.new_keys.iter().find(takes).map(|new| new.generator)
    }
}

/// Which new keys are generated in a device.
#[derive(Clone, Copy)]
pub struct NewDeviceKeys<'a> {
    pub generator: &'a dyn DeviceKeyGenerator,
    pub purposes: &'a [KeyPurpose],
}

/// A folder whose keys are listed, published or verified with: keys in a device don't sign.
impl<'a> From<&'a Path> for KeyFolder<'a> {
    fn from(folder: &'a Path) -> Self {
        let unused = |location| Arc::new(UnusedKeyDevice(location)) as Arc<dyn KeyDevice>;
        let devices = KeyLocation::ALL.map(unused).into();
        Self { folder, passphrase: None, refuses_plain_keys: false, devices, new_keys: Vec::new() }
    }
}

impl<'a> From<&'a PathBuf> for KeyFolder<'a> {
    fn from(folder: &'a PathBuf) -> Self {
        Self::from(folder.as_path())
    }
}

/// What a key of the folder is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeyPurpose {
    /// Signs the hub's own tokens: `/api/v2/jwks`.
    Tokens,
    /// Signs the hub's client assertions: `/api/v2/client/jwks`, `use: sig`.
    Assertion,
    /// Decrypts what identity providers send: `/api/v2/client/jwks`, `use: enc`.
    Encryption,
}

impl KeyPurpose {
    /// Returns the name that `passerelle keys list` shows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Assertion => "assertion",
            Self::Encryption => "encryption",
        }
    }

    pub(super) fn folder(self, dir: &Path) -> PathBuf {
        match self {
            Self::Tokens => dir.to_owned(),
            Self::Assertion | Self::Encryption => dir.join(self.as_str()),
        }
    }
}

/// A key that was created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreatedKey {
    pub purpose: KeyPurpose,
    pub kid: String,
    /// When the key begins to sign, or is published for encryption.
    pub from: Timestamp,
}
