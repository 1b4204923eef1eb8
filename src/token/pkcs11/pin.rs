//! The PIN of a token, read again at each login, so that a corrected PIN needs no restart.

use std::fs;
use std::path::PathBuf;

use crate::ids::Secret;

/// The PIN that `pkcs11.pin` references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenPin {
    /// The file that it was read from; `None` for a variable, which can't change.
    file: Option<PathBuf>,
    /// The PIN as it was at the start.
    initial: Secret<String>,
}

impl TokenPin {
    /// Creates a PIN from the file that holds it, if one does, and its current value.
    #[must_use]
    pub const fn new(file: Option<PathBuf>, initial: Secret<String>) -> Self {
        Self { file, initial }
    }

    /// Reads the PIN; the initial one if its file can't be read. Removes one trailing line end.
    #[must_use]
    pub fn read(&self) -> Secret<String> {
        let text = self.file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let Some(text) = text else { return self.initial.clone() };
        let pin = text.strip_suffix('\n').unwrap_or(&text);
        let pin = pin.strip_suffix('\r').unwrap_or(pin);
        Secret::new(pin.to_owned())
    }
}
