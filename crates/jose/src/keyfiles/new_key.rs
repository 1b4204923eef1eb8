//! Generates keys and writes their files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::file::{NewKeyFile, StoredKey as _};
use super::folder::{CreatedKey, KeyFileError, KeyFolder, KeyPurpose};
use crate::block_on::block_on_thread;
use crate::decryption_key::{DecryptionKey, DecryptionTrialError};
use crate::device_key_uri::DeviceKeyUri;
use crate::key_device::{
    DeviceKey, DeviceKeyGenerator, DeviceKeySpec, DeviceKeyUsage, KeyDeviceError,
    KeyGenerationError,
};
use crate::key_type::KeyType;
use crate::signing_key::{self, KeyError, SigningKey};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;

/// Length of the random id of a key in a device.
const DEVICE_KEY_ID_BYTES: usize = 16;

/// A key to create.
pub(super) enum KeySpec {
    Signing { purpose: KeyPurpose, alg: SigningAlg, from: Timestamp },
    Decryption { key_type: KeyType, from: Timestamp },
}

/// Why a key was not generated.
enum GenerationError {
    Key(KeyError),
    Device(KeyDeviceError),
    Trial(DecryptionTrialError),
}

impl From<KeyError> for GenerationError {
    fn from(error: KeyError) -> Self {
        Self::Key(error)
    }
}

impl KeySpec {
    fn purpose(&self) -> KeyPurpose {
        match self {
            Self::Signing { purpose, .. } => *purpose,
            Self::Decryption { .. } => KeyPurpose::Encryption,
        }
    }

    fn key_type(&self) -> KeyType {
        match self {
            Self::Signing { alg, .. } => KeyType::from_signing_alg(*alg),
            Self::Decryption { key_type, .. } => *key_type,
        }
    }

    const fn usage(&self) -> DeviceKeyUsage {
        match self {
            Self::Signing { .. } => DeviceKeyUsage::Sign,
            Self::Decryption { .. } => DeviceKeyUsage::Decrypt,
        }
    }

    fn created_key(&self, kid: &str) -> CreatedKey {
        let from = match self {
            Self::Signing { from, .. } | Self::Decryption { from, .. } => *from,
        };
        CreatedKey { purpose: self.purpose(), kid: kid.to_owned(), from }
    }

    fn generate(&self, created: Timestamp) -> Result<(CreatedKey, NewKeyFile), GenerationError> {
        let jwk = signing_key::generate(self.key_type().signing_alg())?;
        let (kid, file_name, signs_from) = match self {
            Self::Signing { from, .. } => {
                let key = SigningKey::parse(&jwk, created, *from)?;
                (key.kid.clone(), key.file_name(), Some(*from))
            }
            Self::Decryption { .. } => {
                let key = DecryptionKey::parse(&jwk, created)?;
                (key.kid.clone(), key.file_name(), None)
            }
        };
        let file = NewKeyFile { file_name, signs_from, created, jwk, device: None };
        Ok((self.created_key(&kid), file))
    }

    fn generate_in_device(
        &self,
        generator: &dyn DeviceKeyGenerator,
        source: &KeyFolder<'_>,
        env: &Env,
        uris: &mut Vec<DeviceKeyUri>,
    ) -> Result<(CreatedKey, NewKeyFile), GenerationError> {
        let (created, usage) = (env.now(), self.usage());
        let id = env.entropy().bits256().into_iter().take(DEVICE_KEY_ID_BYTES).collect();
        let label = format!("passerelle {} {}", self.purpose().as_str(), created.seconds());
        let spec = DeviceKeySpec { id, label, key_type: self.key_type(), usage };
        let generated =
            generator.generate(&spec).map_err(|KeyGenerationError { error, uri }| {
                uris.extend(uri);
                GenerationError::Device(error)
            })?;
        uris.push(generated.uri.clone());
        let device = source.device(generated.uri.location()).ok_or(KeyError::Unusable)?;
        let key = DeviceKey { device, uri: generated.uri.clone() };
        let (kid, file_name, signs_from) = match self {
            Self::Signing { from, .. } => {
                let key = SigningKey::in_device(&generated.public, key, created, *from)?;
                (key.kid.clone(), key.file_name(), Some(*from))
            }
            Self::Decryption { .. } => {
                let algorithms = &generated.algorithms;
                let key = DecryptionKey::in_device(&generated.public, algorithms, &key, created)?;
                let trial = block_on_thread(key.try_in_device());
                trial
                    .map_err(|error| KeyDeviceError::Unavailable(error.to_string()).into())
                    .and_then(|outcome| outcome)
                    .map_err(GenerationError::Trial)?;
                (key.kid.clone(), key.file_name(), None)
            }
        };
        let algorithms = generated.algorithms.iter().map(|alg| Value::from(alg.as_str())).collect();
        let jwk = Secret::new(generated.public);
        let device = Some((generated.uri, algorithms));
        let file = NewKeyFile { file_name, signs_from, created, jwk, device };
        Ok((self.created_key(&kid), file))
    }
}

/// Generates keys and writes their files: all, or none.
///
/// # Errors
/// `NoEncryption`, `Generation`, `Device`, `Trial`, `Busy`, `Unwritable`, `NotRemoved`; inside
/// `Orphaned` if keys were generated in a device before the failure.
pub(super) fn add_keys(
    source: &KeyFolder<'_>,
    specs: &[KeySpec],
    env: &Env,
) -> Result<Vec<CreatedKey>, KeyFileError> {
    let mut uris = Vec::new();
    let keys = generate_keys(source, specs, env, &mut uris);
    keys.and_then(|keys| write_files(source, keys)).map_err(|error| {
        if uris.is_empty() {
            error
        } else {
            KeyFileError::Orphaned { error: Box::new(error), uris }
        }
    })
}

/// Checks that no new key would be in a file that is not encrypted, if such files are refused.
///
/// # Errors
/// `NoEncryption`.
pub(super) fn check_encryption(
    source: &KeyFolder<'_>,
    specs: &[KeySpec],
) -> Result<(), KeyFileError> {
    let is_in_file =
        |spec: &KeySpec| source.generator(spec.purpose(), spec.usage(), spec.key_type()).is_none();
    let is_encrypted = source.passphrase.is_some();
    if source.refuses_plain_keys && !is_encrypted && specs.iter().any(is_in_file) {
        return Err(KeyFileError::NoEncryption { path: source.folder.into() });
    }
    Ok(())
}

/// Generates keys, and adds those in a device to `uris`, also if a later one fails.
fn generate_keys(
    source: &KeyFolder<'_>,
    specs: &[KeySpec],
    env: &Env,
    uris: &mut Vec<DeviceKeyUri>,
) -> Result<Vec<(CreatedKey, NewKeyFile)>, KeyFileError> {
    let created = env.now();
    check_encryption(source, specs)?;
    let generate =
        |spec: &KeySpec| match source.generator(spec.purpose(), spec.usage(), spec.key_type()) {
            Some(generator) => spec.generate_in_device(generator, source, env, uris),
            None => spec.generate(created),
        };
    let keys: Result<Vec<_>, _> = specs.iter().map(generate).collect();
    keys.map_err(|error| match error {
        GenerationError::Key(error) => KeyFileError::Generation(error),
        GenerationError::Device(error) => KeyFileError::Device(error),
        GenerationError::Trial(error) => KeyFileError::Trial(error),
    })
}

/// Writes all files under temporary names, and then renames them, so that a failure leaves the
/// folder unchanged.
fn write_files(
    source: &KeyFolder<'_>,
    keys: Vec<(CreatedKey, NewKeyFile)>,
) -> Result<Vec<CreatedKey>, KeyFileError> {
    let path = |(created, file): &(CreatedKey, NewKeyFile)| {
        created.purpose.folder(source.folder).join(&file.file_name)
    };
    let paths: Vec<PathBuf> = keys.iter().map(path).collect();
    let staged: Result<Vec<_>, _> = keys
        .iter()
        .zip(&paths)
        .map(|((_, file), path)| file.stage(path, source.passphrase.as_deref()))
        .collect();
    let mut published = Vec::new();
    for file in staged? {
        // Also the one that fails: it may have its name already.
        published.push(file.path());
        if let Err(error) = file.publish() {
            return Err(remove_key_files(published, error));
        }
    }
    Ok(keys.into_iter().map(|(created, _)| created).collect())
}

/// Removes key files after a failure. Returns its error, with the files that can't be removed.
pub(super) fn remove_key_files(published: Vec<&Path>, error: KeyFileError) -> KeyFileError {
    // The failed file may be missing, or a folder may have its name.
    let is_left = |path: &&Path| {
        fs::remove_file(path).is_err_and(|error| {
            !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory)
        })
    };
    let paths: Vec<PathBuf> = published.into_iter().filter(is_left).map(Path::to_owned).collect();
    if paths.is_empty() {
        error
    } else {
        KeyFileError::NotRemoved { error: Box::new(error), paths }
    }
}
