//! Reads referenced secrets. Messages name the reference, never the secret.

use std::path::Path;

use crate::digest;
use crate::env::Timestamp;
use crate::ids::Secret;

use super::diagnostic::Diagnostic;
use super::model::{ClientSecret, SecretRef};
use super::safe_read;
use super::secret_rules::{SecretAccessError, SecretContext, SecretOwner};
use super::source_file::SourceFile;
use super::validity::Validity;

/// Minimum length of a client secret in characters.
const MIN_CLIENT_SECRET_CHARS: usize = 32;

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

/// Hash of a client secret with its validity.
#[derive(Clone, PartialEq, Eq)]
pub struct DatedSecret {
    /// SHA-256 of the secret.
    pub sha256: [u8; 32],
    /// When it is valid.
    pub validity: Validity,
}

impl DatedSecret {
    /// Returns when the last secret expires; `None` if one never expires, or there is none.
    #[must_use]
    pub fn last_expiry(secrets: &[Self]) -> Option<Timestamp> {
        secrets
            .iter()
            .map(|secret| secret.validity.not_after)
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .max()
    }
}

/// Omits the hash.
impl std::fmt::Debug for DatedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatedSecret").field("validity", &self.validity).finish_non_exhaustive()
    }
}

/// Reads a client secret, given by reference or as a hash, and its validity.
///
/// # Errors
/// Returns a diagnostic if the secret is missing or too short, or a date is invalid.
pub fn read_dated_secret(
    source: &SourceFile,
    key: &str,
    secret: &ClientSecret,
    context: &SecretContext<'_>,
) -> Result<DatedSecret, Diagnostic> {
    let sha256 = secret_digest(source, key, secret, context)?;
    let validity = Validity::parse_dates(
        source,
        key,
        secret.not_before.as_deref(),
        secret.not_after.as_deref(),
    )?;
    Ok(DatedSecret { sha256, validity })
}

fn secret_digest(
    source: &SourceFile,
    key: &str,
    secret: &ClientSecret,
    context: &SecretContext<'_>,
) -> Result<[u8; 32], Diagnostic> {
    let Some(hex) = &secret.sha256 else {
        let reference = SecretRef { file: secret.file.clone(), env: secret.env.clone() };
        let plain = resolve_secret(source, key, &reference, context)?;
        if plain.reveal().chars().count() < MIN_CLIENT_SECRET_CHARS {
            let fix = "use at least 32 random characters, for example from `openssl rand -hex 32`";
            return Err(source.diagnostic(key, "references a secret that is too short", fix));
        }
        return Ok(digest::sha256(plain.reveal().as_bytes()));
    };
    if secret.file.is_some() || secret.env.is_some() {
        return Err(source.diagnostic(
            key,
            "contains both a hash and a reference",
            "write exactly one of file, env and sha256",
        ));
    }
    parse_sha256(hex).ok_or_else(|| {
        source.diagnostic(
            &format!("{key}.sha256"),
            "is not 64 hex digits",
            "write the first word of the output of `printf %s \"$SECRET\" | sha256sum`",
        )
    })
}

fn read_from_file(
    source: &SourceFile,
    key: &str,
    file: &Path,
    context: &SecretContext<'_>,
) -> Result<Secret<String>, Diagnostic> {
    let problem =
        |message: &str| source.diagnostic(key, message, context.secrets.file_advice(context.owner));
    let opened = context.secrets.open_secret(context, file).map_err(|refused| {
        problem(match refused {
            SecretAccessError::Outside => "references a file that this file may not reference",
            SecretAccessError::OwnedBySettings => {
                "references a file that only passerelle.toml may reference"
            }
            SecretAccessError::Unreadable { exists: true } => {
                "references a file that can't be read"
            }
            SecretAccessError::Unreadable { exists: false } => "references a file that is missing",
        })
    })?;
    let bytes = safe_read::read_open_file(opened)
        .map_err(|_| problem("references a file that can't be read"))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| problem("references a file that is not UTF-8 text"))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
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
    match context.environment.var(name) {
        Some(value) => require_non_empty(source, key, value),
        None => {
            let name =
                if may_be_logged(name, context.owner) { format!(" {name}") } else { String::new() };
            Err(source.diagnostic(
                key,
                format!("references an environment variable{name} that is not set"),
                "set the variable, or correct the name",
            ))
        }
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

fn parse_sha256(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 {
        return None;
    }
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let bytes: Vec<u8> = digits?
        .chunks_exact(2)
        .filter_map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        })
        .collect();
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(not_after: Option<u64>) -> DatedSecret {
        let validity =
            Validity { not_before: None, not_after: not_after.map(Timestamp::from_seconds) };
        DatedSecret { sha256: [0; 32], validity }
    }

    #[test]
    fn last_expiry_is_that_of_the_last_secret() {
        assert_eq!(
            DatedSecret::last_expiry(&[secret(Some(5)), secret(Some(9))]),
            Some(Timestamp::from_seconds(9))
        );
        assert_eq!(DatedSecret::last_expiry(&[secret(Some(5)), secret(None)]), None);
        assert_eq!(DatedSecret::last_expiry(&[]), None);
    }
}
