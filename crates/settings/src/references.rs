//! Reads the PEM files that a value names.

use std::io::ErrorKind;
use std::path::Path;

use super::ValueError;

/// Reads a PEM file of certificates.
///
/// # Errors
/// Returns an error if the file can't be read or contains no certificate.
pub(crate) fn read_pem(file: &Path) -> Result<String, ValueError> {
    let fix = "create a PEM file of certificates; the path is relative to the configuration folder";
    let message = match std::fs::read_to_string(file) {
        Ok(text) if text.contains("-----BEGIN CERTIFICATE-----") => return Ok(text),
        Ok(_) => "names a file without a PEM certificate",
        Err(error) => match error.kind() {
            ErrorKind::NotFound => "names a file that is missing",
            ErrorKind::InvalidData => "names a file that is not text",
            _ => "names a file that can't be read",
        },
    };
    Err(ValueError::new(message, fix))
}
