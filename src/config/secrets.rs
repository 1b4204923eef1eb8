//! Secrets, read from where a file says they are. Only the reference is ever named, never what it leads to.

use std::path::Path;

use crate::digest;
use crate::env::Timestamp;
use crate::ids::Secret;

use super::model::{ClientSecret, SecretRef};
use super::problem::Problem;
use super::regular;
use super::secret_rules::{Context, Owner, Refused};
use super::source::Source;
use super::validity::Validity;

/// Client secrets are at least this long (decisions 6).
const CLIENT_SECRET_CHARACTERS: usize = 32;

/// The secret behind a reference; a trailing line end of a file is cut.
pub fn resolve(
    source: &Source,
    key: &str,
    reference: &SecretRef,
    context: &Context<'_>,
) -> Result<Secret<String>, Problem> {
    let one = "give exactly one: { file = \"…\" } or { env = \"…\" }";
    match (&reference.file, &reference.env) {
        (Some(file), None) => from_file(source, &format!("{key}.file"), file, context),
        (None, Some(name)) => from_variable(source, &format!("{key}.env"), name, context),
        (None, None) => Err(source.problem(key, "leads to no secret", one)),
        (Some(_), Some(_)) => Err(source.problem(key, "leads to two secrets", one)),
    }
}

/// A client secret as the hub keeps it.
#[derive(Clone, PartialEq, Eq)]
pub struct DatedSecret {
    pub sha256: [u8; 32],
    pub validity: Validity,
}

impl DatedSecret {
    /// When the last of them is over; `None` if one has no end, or there is none.
    #[must_use]
    pub fn last_end(secrets: &[Self]) -> Option<Timestamp> {
        secrets
            .iter()
            .map(|secret| secret.validity.not_after)
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .max()
    }
}

/// The hash of a secret is as good as nothing to a thief, and still nobody's to read.
impl std::fmt::Debug for DatedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatedSecret").field("validity", &self.validity).finish_non_exhaustive()
    }
}

/// A client secret with its dates, given by reference or as its hash.
pub fn dated(
    source: &Source,
    key: &str,
    secret: &ClientSecret,
    context: &Context<'_>,
) -> Result<DatedSecret, Problem> {
    let sha256 = digest(source, key, secret, context)?;
    let validity =
        Validity::read(source, key, secret.not_before.as_deref(), secret.not_after.as_deref())?;
    Ok(DatedSecret { sha256, validity })
}

fn digest(
    source: &Source,
    key: &str,
    secret: &ClientSecret,
    context: &Context<'_>,
) -> Result<[u8; 32], Problem> {
    let Some(hex) = &secret.sha256 else {
        let reference = SecretRef { file: secret.file.clone(), env: secret.env.clone() };
        let plain = resolve(source, key, &reference, context)?;
        if plain.reveal().chars().count() < CLIENT_SECRET_CHARACTERS {
            let mend =
                "use at least 32 random characters, for instance from `openssl rand -hex 32`";
            return Err(source.problem(key, "leads to a secret that is too short", mend));
        }
        return Ok(digest::sha256(plain.reveal().as_bytes()));
    };
    if secret.file.is_some() || secret.env.is_some() {
        return Err(source.problem(
            key,
            "gives a hash and a reference",
            "give exactly one of file, env and sha256",
        ));
    }
    from_hex(hex).ok_or_else(|| {
        source.problem(
            &format!("{key}.sha256"),
            "is not 64 hex digits",
            "write `printf %s \"$SECRET\" | sha256sum`'s first word",
        )
    })
}

fn from_file(
    source: &Source,
    key: &str,
    file: &Path,
    context: &Context<'_>,
) -> Result<Secret<String>, Problem> {
    let refuse = |what: &str| source.problem(key, what, context.secrets.file_advice(context.owner));
    let opened = context.secrets.open(context, file).map_err(|refused| {
        refuse(match refused {
            Refused::Outside => "names a file outside those that this file may refer to",
            Refused::OfSettings => {
                "names a file that passerelle.toml refers to, which no other file may"
            }
            Refused::Unreadable { exists: true } => "names a file that can't be read",
            Refused::Unreadable { exists: false } => "names a file that is missing",
        })
    })?;
    let bytes =
        regular::read_open(opened).map_err(|_| refuse("names a file that can't be read"))?;
    let text =
        String::from_utf8(bytes).map_err(|_| refuse("names a file that is not UTF-8 text"))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    not_empty(source, key, text.strip_suffix('\r').unwrap_or(text))
}

fn from_variable(
    source: &Source,
    key: &str,
    name: &str,
    context: &Context<'_>,
) -> Result<Secret<String>, Problem> {
    let refuse =
        |what: String| source.problem(key, what, context.secrets.variable_advice(context.owner));
    if !context.secrets.allows_variable(context.owner, name) {
        return Err(refuse("names an environment variable that this file may not refer to".into()));
    }
    match context.environment.var(name) {
        Some(value) => not_empty(source, key, value),
        None => {
            let name =
                if is_speakable(name, context.owner) { format!(" {name}") } else { String::new() };
            Err(source.problem(
                key,
                format!("names an environment variable{name} that is not set"),
                "set the variable, or correct the name",
            ))
        }
    }
}

/// Whether a reference is a variable's name beyond doubt: the secret itself, written there by mistake, must not reach a log.
fn is_speakable(name: &str, owner: Owner<'_>) -> bool {
    let charset = |c: u8| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_';
    let is_name = name.len() <= 128
        && name.bytes().all(charset)
        && name.starts_with(|c: char| c.is_ascii_uppercase());
    // Any other than a file's own is refused before; in passerelle.toml a word of capitals alone could be a password.
    is_name && (matches!(owner, Owner::File { .. }) || name.contains('_'))
}

fn not_empty(source: &Source, key: &str, value: &str) -> Result<Secret<String>, Problem> {
    if value.is_empty() {
        return Err(source.problem(key, "leads to an empty secret", "put the secret there"));
    }
    Ok(Secret::new(value.to_owned()))
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
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
    fn a_client_is_locked_out_when_its_last_secret_ends() {
        assert_eq!(
            DatedSecret::last_end(&[secret(Some(5)), secret(Some(9))]),
            Some(Timestamp::from_seconds(9))
        );
        assert_eq!(DatedSecret::last_end(&[secret(Some(5)), secret(None)]), None);
        assert_eq!(DatedSecret::last_end(&[]), None);
    }
}
