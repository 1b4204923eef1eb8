//! Reads the keys that `sub` is derived from.

use std::collections::BTreeMap;

use crate::model::{Settings, SubjectKeyRef};
use passerelle_federation::identity::pivot::DERIVATION;
use passerelle_federation::identity::sub::SubjectKey;
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;
use passerelle_settings::{Diagnostic, FileCheck, SecretContext, SecretRef, SourceFile, secrets};

/// The subject keys by version: at least one, each of at least 32 bytes.
pub type SubjectKeysByVersion = BTreeMap<u32, SubjectKey>;

/// Minimum length of a subject key, which is an HMAC key, in bytes.
const MIN_SUBJECT_KEY_BYTES: usize = 32;

/// Reads the subject keys: `subject_key` is version 1, or `subject_keys` lists all versions.
pub(crate) fn read_subject_keys(
    check: &mut FileCheck<'_>,
    settings: &Settings,
    context: &SecretContext<'_>,
) -> Option<SubjectKeysByVersion> {
    let versioned = settings.subject_keys.iter().enumerate().map(|(index, key)| {
        let reference = SubjectKeyRef {
            file: key.file.clone(),
            env: key.env.clone(),
            derivation: key.derivation,
        };
        (format!("subject_keys[{index}]"), key.version, reference)
    });
    let named: Vec<_> = match &settings.subject_key {
        Some(reference) => [("subject_key".to_owned(), 1, reference.clone())]
            .into_iter()
            .chain(versioned)
            .collect(),
        None => versioned.collect(),
    };
    let before = check.problems.len();
    if named.is_empty() {
        let fix = "add it: { env = \"NAME\" } or { file = \"path\" } of at least 32 random bytes, which must never change";
        check.report("subject_key", "is missing", fix);
    }
    if settings.subject_key.is_some() && !settings.subject_keys.is_empty() {
        let fix = "move it to subject_keys, as { version = 1, … }, and remove subject_key";
        check.report("subject_key", "can't be combined with subject_keys", fix);
        return None;
    }
    let mut keys = SubjectKeysByVersion::new();
    for (at, version, reference) in named {
        let key = match read_subject_key(check.source, &at, &reference, context) {
            Ok(key) => key,
            Err(problem) => {
                check.problems.push(problem);
                continue;
            }
        };
        if version == 0 {
            let (key, fix) = (format!("{at}.version"), "start versions at 1");
            check.report(&key, "is 0", fix);
        }
        let is_same = |other: &SubjectKey| digest::constant_time_eq(other.reveal(), key.reveal());
        if keys.values().any(is_same) {
            let fix = "create a new key for the newer version";
            let message = "references the same key as another version";
            check.report(&at, message, fix);
        }
        if keys.insert(version, key).is_some() {
            let fix = "give each key its own version, and never reuse a version";
            let message = "is also the version of another key";
            check.report(&format!("{at}.version"), message, fix);
        }
    }
    (check.problems.len() == before).then_some(keys)
}

fn read_subject_key(
    source: &SourceFile,
    at: &str,
    reference: &SubjectKeyRef,
    context: &SecretContext<'_>,
) -> Result<SubjectKey, Diagnostic> {
    let secret = SecretRef { file: reference.file.clone(), env: reference.env.clone() };
    let text = secrets::resolve_secret(source, at, &secret, context)?.into_inner();
    if text.len() < MIN_SUBJECT_KEY_BYTES {
        let fix = "use at least 32 random bytes, for example from `openssl rand -hex 32`, and never change them";
        return Err(source.diagnostic(at, "references a key that is too short", fix));
    }
    if reference.derivation.is_some_and(|number| number != DERIVATION) {
        let key = format!("{at}.derivation");
        let fix = format!("write {DERIVATION}, the only one, or remove it (docs/subject.md)");
        return Err(source.diagnostic(&key, "is not a version of the derivation", &fix));
    }
    Ok(Secret::new(text.into_bytes()))
}
