//! Reads referenced secrets. Messages name the reference, never the secret.

use std::path::Path;

use super::diagnostic::Diagnostic;
use super::secret_rules::{SecretAccessError as E, SecretContext, SecretOwner};
use super::source_file::SourceFile;
use super::{SecretRef, safe_read};
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;

/// Reads the secret behind a reference. Removes one trailing line end of a file.
///
/// # Errors
/// Returns a diagnostic if the reference is invalid, not allowed, or leads to no secret.
pub fn resolve_secret(
    source: &SourceFile,
    key: &str,
    reference: &SecretRef,
    context: &SecretContext<'_>,
) -> Result<Secret<String>, Diagnostic> {
    let fix = "write exactly one: { file = \"…\" } or { env = \"…\" }";
    match (&reference.file, &reference.env) {
        (Some(file), None) => read_from_file(source, &format!("{key}.file"), file, context),
        (None, Some(name)) => read_from_variable(source, &format!("{key}.env"), name, context),
        (None, None) => Err(source.diagnostic(key, "references no secret", fix)),
        (Some(_), Some(_)) => Err(source.diagnostic(key, "references two secrets", fix)),
    }
}

fn read_from_file(
    source: &SourceFile,
    key: &str,
    file: &Path,
    context: &SecretContext<'_>,
) -> Result<Secret<String>, Diagnostic> {
    let problem =
        |message: &str| source.diagnostic(key, message, context.secrets.file_advice(context.owner));
    let opened = context.secrets.open_secret(context, file);
    let is_refused = |error| matches!(error, E::Outside | E::OwnedBySettings);
    if context.environment.is_without_secrets() && !opened.as_ref().is_err_and(|e| is_refused(*e)) {
        return Ok(placeholder(source, key));
    }
    let opened = opened.map_err(|error| match error {
        E::Outside => problem("references a file that this file may not reference"),
        E::OwnedBySettings => problem("references a file that only passerelle.toml may reference"),
        E::Missing => problem("references a file that is missing"),
        E::NotAFile => problem("references a folder or a device, not a file"),
        E::PermissionDenied => {
            let fix = "give the file to the user that runs the hub, with mode 0600, and let this user enter its folder";
            source.diagnostic(key, "references a file that can't be read", fix)
        }
    })?;
    let bytes = safe_read::read_open_file(opened)
        .map_err(|_| problem("references a file that can't be read"))?;
    let text = String::from_utf8(bytes)
        .map(Secret::new)
        .map_err(|_| problem("references a file that is not UTF-8 text"))?;
    let text = text.reveal().strip_suffix('\n').unwrap_or(text.reveal());
    require_non_empty(source, key, text.strip_suffix('\r').unwrap_or(text))
}

fn read_from_variable(
    source: &SourceFile,
    key: &str,
    name: &str,
    context: &SecretContext<'_>,
) -> Result<Secret<String>, Diagnostic> {
    let problem = |message: String| {
        source.diagnostic(key, message, context.secrets.variable_advice(context.owner))
    };
    if !context.secrets.allows_variable(context.owner, name) {
        return Err(problem(
            "references an environment variable that this file may not reference".into(),
        ));
    }
    if context.environment.is_without_secrets() {
        return Ok(placeholder(source, key));
    }
    if let Some(value) = context.environment.var(name) {
        require_non_empty(source, key, value)
    } else {
        let name =
            if may_be_logged(name, context.owner) { format!(" {name}") } else { String::new() };
        Err(source.diagnostic(
            key,
            format!("references an environment variable{name} that is not set"),
            "set the variable, or correct the name",
        ))
    }
}

/// Returns true if a reference is certainly a variable name. The secret itself may have been
/// written there by mistake, and must not be logged.
fn may_be_logged(name: &str, owner: SecretOwner<'_>) -> bool {
    let charset = |c: u8| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_';
    let is_name = name.len() <= 128
        && name.bytes().all(charset)
        && name.starts_with(|c: char| c.is_ascii_uppercase());
    // Other files may only reference their own prefix, checked before. In passerelle.toml, a word
    // of capitals alone may be a password.
    is_name && (matches!(owner, SecretOwner::File { .. }) || name.contains('_'))
}

/// Returns a placeholder for a secret that is not read: long enough, printable, and different for
/// each reference.
fn placeholder(source: &SourceFile, key: &str) -> Secret<String> {
    Secret::new(digest::sha256_base64url(&format!("{}\n{key}", source.path().display())))
}

fn require_non_empty(
    source: &SourceFile,
    key: &str,
    value: &str,
) -> Result<Secret<String>, Diagnostic> {
    if value.is_empty() {
        return Err(source.diagnostic(key, "references an empty secret", "write the secret there"));
    }
    Ok(Secret::new(value.to_owned()))
}
