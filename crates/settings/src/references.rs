//! Reads the files and secrets that a value references.

use std::path::Path;

use super::{Diagnostic, SecretContext, SecretRef, SourceFile, secrets};
use passerelle_protocol::ids::Secret;

/// Resolves a reference to a secret. Returns `None` and reports a problem if that fails.
pub fn resolve_or_report(
    source: &SourceFile,
    key: &str,
    reference: &SecretRef,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Secret<String>> {
    secrets::resolve_secret(source, key, reference, context)
        .map_err(|problem| problems.push(problem))
        .ok()
}

/// Reads a PEM file of certificates.
///
/// # Errors
/// Returns a diagnostic if the file can't be read or contains no certificate.
pub fn read_pem(
    source: &SourceFile,
    key: &str,
    file: &Path,
    folder: &Path,
) -> Result<String, Diagnostic> {
    let fix = "create a PEM file of certificates; the path is relative to the configuration folder";
    match std::fs::read_to_string(folder.join(file)) {
        Ok(text) if text.contains("-----BEGIN CERTIFICATE-----") => Ok(text),
        Ok(_) => Err(source.diagnostic(key, "names a file without a PEM certificate", fix)),
        Err(error) => Err(source.diagnostic(
            key,
            match error.kind() {
                std::io::ErrorKind::NotFound => "names a file that is missing",
                std::io::ErrorKind::InvalidData => "names a file that is not text",
                _ => "names a file that can't be read",
            },
            fix,
        )),
    }
}
