//! Checks and reads the `encryption_keys` of a store.

use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;
use passerelle_settings::{KindTable, SecretRef};

/// Minimum length of an encryption key in characters.
const MIN_ENCRYPTION_KEY_CHARS: usize = 32;

/// Reads the keys at `encryption_keys` of a table. Reports none at all, one that is too short, and
/// one that is listed twice.
pub(crate) fn read_encryption_keys(
    table: &mut KindTable<'_>,
    references: &[SecretRef],
) -> Vec<Secret<String>> {
    if references.is_empty() {
        let fix = "write encryption_keys = [{ file = \"store.key\" }], with a file of 32 random characters or more";
        table.report("encryption_keys", "is empty, but records must be encrypted", fix);
    }
    let mut keys: Vec<Secret<String>> = Vec::new();
    for (index, reference) in references.iter().enumerate() {
        let at = format!("encryption_keys[{index}]");
        let Some(key) = table.resolve_secret(&at, Some(reference)) else { continue };
        let is_repeated = keys.iter().any(|other| {
            digest::constant_time_eq(other.reveal().as_bytes(), key.reveal().as_bytes())
        });
        if key.reveal().chars().count() < MIN_ENCRYPTION_KEY_CHARS {
            let fix = "use at least 32 random characters, for example from `openssl rand -hex 32`";
            table.report(&at, "references a secret that is too short", fix);
        } else if is_repeated {
            table.report(&at, "references the same key as another entry", "remove one of the two");
        } else {
            keys.push(key);
        }
    }
    keys
}
