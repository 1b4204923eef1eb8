//! The secret that opens a device: the PIN of a PKCS#11 token, or the token of a Vault server. Read
//! again where it is used, so that a corrected or renewed one needs no restart.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use crate::ids::Secret;

/// No PIN and no token is near this size.
const MAX_CREDENTIAL_BYTES: usize = 16 * 1024;

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
    #[must_use]
    pub const fn is_in_file(&self) -> bool {
        self.file.is_some()
    }

    /// Reads the secret; returns the initial one if its file can't be read or is empty. Removes one
    /// trailing line end. Blocks.
    #[must_use]
    pub fn read(&self) -> Secret<String> {
        let read = |file: &PathBuf| {
            // A text that grows leaves its former buffers behind.
            let mut text = String::with_capacity(MAX_CREDENTIAL_BYTES);
            let mut file = File::open(file).ok()?.take(MAX_CREDENTIAL_BYTES as u64);
            let outcome = file.read_to_string(&mut text);
            let text = Secret::new(text);
            outcome.ok().map(|_| text)
        };
        let Some(text) = self.file.as_ref().and_then(read) else { return self.initial.clone() };
        let secret = text.reveal().strip_suffix('\n').unwrap_or(text.reveal());
        let secret = secret.strip_suffix('\r').unwrap_or(secret);
        if secret.is_empty() { self.initial.clone() } else { Secret::new(secret.to_owned()) }
    }
}
