//! Verifies signed checkpoints, and collects those that were stored outside of the log.

use std::collections::BTreeMap;

use super::chain::{CHECKPOINT_TYPE, CheckpointClaims};
use passerelle_jose::verify::{JwsError, VerificationKeys, verify_jws};
use passerelle_protocol::alg::SigningAlg;

/// Checkpoints that were stored outside of the log: hash by line number.
#[derive(Clone, Default, Debug)]
pub struct TrustedCheckpoints(pub(super) BTreeMap<u64, String>);

impl TrustedCheckpoints {
    /// Extracts every checkpoint from a text, such as the program's log. Ignores those that none of
    /// the keys has signed.
    pub fn from_text(text: &str, keys: &VerificationKeys) -> Self {
        let words =
            text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')));
        let checkpoints = words
            .filter(|word| word.matches('.').count() == 2)
            .filter_map(|word| verify_checkpoint(word, keys).ok());
        Self(checkpoints.map(|checkpoint| (checkpoint.seq, checkpoint.hash)).collect())
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Why a checkpoint is not valid.
pub(super) enum CheckpointError {
    UnknownKey(String),
    Invalid(String),
}

/// Verifies the signature and type of a checkpoint.
///
/// # Errors
/// `UnknownKey` if `keys` lacks the key that the header names; `Invalid` if the signature, the type
/// or the claims are invalid.
pub(super) fn verify_checkpoint(
    jws: &str,
    keys: &VerificationKeys,
) -> Result<CheckpointClaims, CheckpointError> {
    let verified = verify_jws(jws, SigningAlg::ES256, keys).map_err(|error| match error {
        JwsError::UnknownKey => CheckpointError::UnknownKey(unverified_kid(jws)),
        error => CheckpointError::Invalid(error.to_string()),
    })?;
    if verified.header.get("typ").and_then(serde_json::Value::as_str) != Some(CHECKPOINT_TYPE) {
        return Err(CheckpointError::Invalid("it is signed, but is not a checkpoint".to_owned()));
    }
    serde_json::from_value(serde_json::Value::Object(verified.claims))
        .map_err(|_| CheckpointError::Invalid("it is not a checkpoint".to_owned()))
}

/// Returns the `kid` that the header claims.
fn unverified_kid(jws: &str) -> String {
    let header = jws
        .split('.')
        .next()
        .and_then(passerelle_protocol::digest::from_base64url)
        .unwrap_or_default();
    let header: serde_json::Value = serde_json::from_slice(&header).unwrap_or_default();
    header
        .get("kid")
        .and_then(serde_json::Value::as_str)
        .unwrap_or("(none)")
        .chars()
        .take(64)
        .collect()
}
