//! Reads the secrets of clients with their validity.

use schemars::JsonSchema;
use serde::Deserialize;

use super::validity::Validity;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_settings::secrets::resolve_secret;
use passerelle_settings::{Diagnostic, SecretContext, SecretPath, SecretRef, SourceFile};

/// Minimum length of a client secret in characters.
const MIN_CLIENT_SECRET_CHARS: usize = 32;

/// A client secret of 32 characters or more: by reference, or as its SHA-256 in hex.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientSecret {
    /// Path, relative to the configuration folder. A trailing line end is removed.
    #[serde(default)]
    pub file: Option<SecretPath>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
    /// SHA-256 of the secret: 64 hex digits.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Start of its validity, inclusive, for example `2027-03-01T00:00:00Z`. Default: no start.
    #[serde(default)]
    pub not_before: Option<String>,
    /// End of its validity, exclusive. Default: no end.
    #[serde(default)]
    pub not_after: Option<String>,
}

/// Hash of a client secret with its validity.
/// `Debug` omits the hash.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("DatedSecret {{ validity: {validity:?}, .. }}")]
pub struct DatedSecret {
    /// SHA-256 of the secret.
    pub sha256: [u8; 32],
    /// When it is valid.
    pub validity: Validity,
}

impl DatedSecret {
    /// Returns when the last secret expires; `None` if one never expires, or there is none.
    pub fn last_expiry(secrets: &[Self]) -> Option<Timestamp> {
        secrets
            .iter()
            .map(|secret| secret.validity.not_after)
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .max()
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
