//! Encrypts the unencrypted private keys in files: `passerelle keys encrypt`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::file::{has_plain_key, key_paths, read_private, write_members};
use super::folder::{KeyFileError, KeyFolder, KeyPurpose};
use crate::key_passphrase::KeyPassphrase;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::json::parse_object;

/// Encrypts each private key of a folder in its file, with the folder's passphrase. Passes each file
/// that was changed to `proceed`, which returns whether to go on; each file is complete. Returns the
/// files that were changed.
///
/// # Errors
/// `NothingToEncryptWith`; `Folder`, `Unreadable`, `Exposed`, `Busy`, `Unwritable`, `Encryption`,
/// `Generation`. Files before the named one are encrypted.
pub fn encrypt_keys(
    source: &KeyFolder<'_>,
    proceed: &mut dyn FnMut(&Path) -> bool,
) -> Result<Vec<PathBuf>, KeyFileError> {
    let passphrase = source.passphrase.as_deref().ok_or(KeyFileError::NothingToEncryptWith)?;
    let mut encrypted = Vec::new();
    for purpose in [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption] {
        let dir = purpose.folder(source.folder);
        let paths = key_paths(&dir).map_err(|cause| KeyFileError::Folder { path: dir, cause })?;
        for path in paths {
            if !encrypt_key(&path, passphrase)? {
                continue;
            }
            let is_to_end = !proceed(&path);
            encrypted.push(path);
            if is_to_end {
                return Ok(encrypted);
            }
        }
    }
    Ok(encrypted)
}

/// Encrypts the key in the file itself, also if `path` is a link to it. Returns true if it contained an
/// unencrypted private key.
fn encrypt_key(path: &Path, passphrase: &KeyPassphrase) -> Result<bool, KeyFileError> {
    let text = read_private(path)?;
    let Ok(members) = parse_object(text.reveal()).map(Secret::new) else { return Ok(false) };
    let Some(Value::Object(jwk)) = members.reveal().get("jwk").filter(|_| has_plain_key(&members))
    else {
        return Ok(false);
    };
    let jwk = passphrase.encrypt(&Secret::new(jwk.clone()));
    let jwk = jwk.map_err(|_| KeyFileError::Encryption { path: path.into() })?;
    let others = members.reveal().iter().filter(|(name, _)| *name != "jwk");
    let others = others.map(|(name, value)| (name.clone(), value.clone()));
    let file = others.chain([("encrypted_jwk".to_owned(), jwk.into())]).collect();
    let target = fs::canonicalize(path);
    let target = target.map_err(|cause| KeyFileError::Unreadable { path: path.into(), cause })?;
    write_members(&target, &Secret::new(file))?;
    Ok(true)
}
