//! The secret that opens a device: the PIN of a PKCS#11 token, or the token of a Vault server. Read
//! again where it is used, so that a corrected or renewed one needs no restart.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use passerelle_protocol::ids::Secret;

/// No PIN and no token is near this size.
const MAX_CREDENTIAL_BYTES: usize = 16 * 1024;

/// Why the file of a secret gives none.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum CredentialFileError {
    #[error("{path} can't be read ({cause})")]
    Unreadable { path: PathBuf, cause: io::ErrorKind },
    #[error("{path} is empty")]
    Empty { path: PathBuf },
}

/// The secret that a setting references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceCredential {
    /// The file that it was read from; `None` for a variable, which can't change.
    file: Option<PathBuf>,
    /// The secret as it was at the start.
    initial: Secret<String>,
}

impl DeviceCredential {
    /// Creates a credential from the file that holds it, if one does, and its current value.
    #[must_use]
    pub const fn new(file: Option<PathBuf>, initial: Secret<String>) -> Self {
        Self { file, initial }
    }

    /// Returns true if the credential can change while the hub runs.
    pub const fn is_in_file(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the secret as it was at the start.
    pub const fn initial(&self) -> &Secret<String> {
        &self.initial
    }

    /// Reads the secret; returns the initial one if it is not in a file. Removes one trailing line
    /// end. Blocks.
    ///
    /// # Errors
    /// `Unreadable`, `Empty`.
    pub fn read_file(&self) -> Result<Secret<String>, CredentialFileError> {
        let Some(path) = &self.file else { return Ok(self.initial.clone()) };
        let unreadable = |cause: io::Error| CredentialFileError::Unreadable {
            path: path.clone(),
            cause: cause.kind(),
        };
        // A text that grows leaves its former buffers behind.
        let mut text = String::with_capacity(MAX_CREDENTIAL_BYTES);
        let file = File::open(path).map_err(unreadable)?;
        let outcome = file.take(MAX_CREDENTIAL_BYTES as u64).read_to_string(&mut text);
        let text = Secret::new(text);
        outcome.map_err(unreadable)?;
        let secret = text.reveal().strip_suffix('\n').unwrap_or(text.reveal());
        let secret = secret.strip_suffix('\r').unwrap_or(secret);
        if secret.is_empty() {
            return Err(CredentialFileError::Empty { path: path.clone() });
        }
        Ok(Secret::new(secret.to_owned()))
    }
}
