//! Fingerprints the values of a file by key, to compare two versions without their content.

use std::collections::BTreeMap;

use figment::value::Value;
use serde::{Deserialize, Serialize};

use super::SourceFile;
use passerelle_protocol::digest;

/// Pseudo-key for the content of referenced files.
const REFERENCED_FILES_KEY: &str = "(files that it refers to)";

/// Fingerprints of a file's values by top-level key.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FieldDigests(BTreeMap<String, String>);

impl FieldDigests {
    /// Fingerprints the values of a file and the hashes of the files that it references.
    pub fn from_source(
        source: &SourceFile,
        named_files: impl Iterator<Item = Option<[u8; 32]>>,
    ) -> Self {
        let mut fields: BTreeMap<String, String> = source
            .values()
            .iter()
            .map(|(key, value)| (key.clone(), value_fingerprint(value)))
            .collect();
        let named_files: Vec<u8> = named_files.flat_map(Option::unwrap_or_default).collect();
        if !named_files.is_empty() {
            fields.insert(REFERENCED_FILES_KEY.to_owned(), fingerprint(&named_files));
        }
        Self(fields)
    }

    /// Creates the fingerprints of files that are not TOML, by name.
    pub fn from_hashes(files: impl Iterator<Item = (String, [u8; 32])>) -> Self {
        Self(files.map(|(name, hash)| (name, fingerprint(&hash))).collect())
    }

    /// Returns the keys whose fingerprints differ.
    pub fn differing_keys(&self, other: &Self) -> Vec<String> {
        let keys: std::collections::BTreeSet<&String> =
            self.0.keys().chain(other.0.keys()).collect();
        keys.into_iter().filter(|key| self.0.get(*key) != other.0.get(*key)).cloned().collect()
    }
}

fn value_fingerprint(value: &Value) -> String {
    // Deterministic for tables, since figment keeps their keys sorted.
    fingerprint(&serde_json::to_vec(value).unwrap_or_default())
}

fn fingerprint(bytes: &[u8]) -> String {
    digest::base64url(digest::sha256(bytes).get(..12).unwrap_or_default())
}
