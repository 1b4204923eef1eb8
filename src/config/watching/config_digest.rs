//! Summarizes the files of a federation: a fingerprint of the value of each key, and in clear text
//! only what is never secret. Used to compare two federations, also across processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use figment::value::Value;
use serde::{Deserialize, Serialize};

use crate::config::model::ServiceProviderFile;
use crate::digest;
use crate::federation::connector_metadata::ConnectorMetadata;
use crate::federation::connector_rules::AllowedConnectors;
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::acr::Level;
use crate::settings::SourceFile;

/// Pseudo-key for the content of referenced files.
const REFERENCED_FILES_KEY: &str = "(files that it refers to)";

/// Fingerprints of a file's values by top-level key.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FieldDigests(BTreeMap<String, String>);

impl FieldDigests {
    /// Fingerprints the values of a file and the hashes of the files that it references.
    pub(in crate::config) fn from_source(
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
    pub(in crate::config) fn from_hashes(files: impl Iterator<Item = (String, [u8; 32])>) -> Self {
        Self(files.map(|(name, hash)| (name, fingerprint(&hash))).collect())
    }

    /// Returns the keys whose fingerprints differ.
    #[must_use]
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

/// Summary of all active files.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ConfigDigest {
    /// The connectors.
    pub connectors: BTreeMap<ConnectorId, ConnectorDigest>,
    /// The service providers.
    pub service_providers: BTreeMap<ClientId, ServiceProviderDigest>,
    /// The data providers.
    pub data_providers: BTreeMap<ClientId, DataProviderDigest>,
    /// The fingerprints of `scopes.toml`.
    pub scopes: Arc<FieldDigests>,
    /// The fingerprints of `notices.toml`.
    #[serde(default)]
    pub notices: Arc<FieldDigests>,
    /// The fingerprints of the tables of place names.
    #[serde(default)]
    pub places: Arc<FieldDigests>,
    /// The messages of the pages, by file.
    #[serde(default)]
    pub languages: BTreeMap<String, Arc<FieldDigests>>,
}

/// Summary of a connector.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ConnectorDigest {
    /// True if it is enabled.
    pub enabled: bool,
    /// The lowest level.
    pub lowest: Level,
    /// The highest level.
    pub highest: Level,
    /// Fingerprints of its file.
    pub fields: Arc<FieldDigests>,
}

/// Summary of a service provider.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ServiceProviderDigest {
    /// True if it is active.
    pub active: bool,
    /// The connectors that it can use.
    #[serde(rename = "admitted")]
    pub allowed_connectors: AllowedConnectors,
    /// Fingerprints of its file.
    pub fields: Arc<FieldDigests>,
}

/// Summary of a data provider.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DataProviderDigest {
    /// Fingerprints of its file.
    pub fields: Arc<FieldDigests>,
}

impl ConnectorDigest {
    /// Summarizes a connector.
    pub(in crate::config) fn new(metadata: &ConnectorMetadata, fields: &Arc<FieldDigests>) -> Self {
        let ConnectorMetadata { enabled, levels, .. } = metadata;
        Self {
            enabled: *enabled,
            lowest: levels.lowest,
            highest: levels.highest,
            fields: Arc::clone(fields),
        }
    }
}

impl ServiceProviderDigest {
    /// Summarizes a service provider.
    pub(in crate::config) fn new(file: &ServiceProviderFile, fields: &Arc<FieldDigests>) -> Self {
        Self {
            active: file.active,
            allowed_connectors: file.connectors.allowed_connectors(),
            fields: Arc::clone(fields),
        }
    }
}
