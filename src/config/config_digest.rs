//! What a federation's files say, in short: by each key a fingerprint of its value, and in words only what is nobody's
//! secret. Enough to say what differs between two federations, and to carry over the private listener.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use figment::value::Value;
use serde::{Deserialize, Serialize};

use super::ConnectorFacts;
use super::connector_rules::Admitted;
use super::model::ServiceProvider;
use super::source::Source;
use crate::digest;
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::acr::Level;

/// The key under which the files that a file refers to are compared.
const REFERRED: &str = "(files that it refers to)";

/// By each key of a file's first level, a fingerprint of what it holds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fields(BTreeMap<String, String>);

impl Fields {
    pub(super) fn of(source: &Source, referred: &[(PathBuf, Option<[u8; 32]>)]) -> Self {
        let mut fields: BTreeMap<String, String> =
            source.values().iter().map(|(key, value)| (key.clone(), print(value))).collect();
        if !referred.is_empty() {
            let all: Vec<u8> =
                referred.iter().flat_map(|(_, hash)| hash.unwrap_or_default()).collect();
            fields.insert(REFERRED.to_owned(), fingerprint(&all));
        }
        Self(fields)
    }

    /// Names of the keys in which the two differ.
    #[must_use]
    pub fn differing(&self, other: &Self) -> Vec<String> {
        let keys: std::collections::BTreeSet<&String> =
            self.0.keys().chain(other.0.keys()).collect();
        keys.into_iter().filter(|key| self.0.get(*key) != other.0.get(*key)).cloned().collect()
    }
}

fn print(value: &Value) -> String {
    // Of tables too: figment keeps their keys in order. What can't be written is not told apart, and can't be read either.
    fingerprint(&serde_json::to_vec(value).unwrap_or_default())
}

fn fingerprint(bytes: &[u8]) -> String {
    digest::base64url(digest::sha256(bytes).get(..12).unwrap_or_default())
}

/// Everything that counts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Outline {
    pub connectors: BTreeMap<ConnectorId, ConnectorOutline>,
    pub service_providers: BTreeMap<ClientId, ServiceOutline>,
    pub data_providers: BTreeMap<ClientId, DataProviderOutline>,
    pub scopes: Arc<Fields>,
    #[serde(default)]
    pub notices: Arc<Fields>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ConnectorOutline {
    pub enabled: bool,
    pub lowest: Level,
    pub highest: Level,
    pub fields: Arc<Fields>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ServiceOutline {
    pub active: bool,
    pub admitted: Admitted,
    pub fields: Arc<Fields>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DataProviderOutline {
    pub fields: Arc<Fields>,
}

impl ConnectorOutline {
    pub(super) fn of(facts: &ConnectorFacts, fields: &Arc<Fields>) -> Self {
        let ConnectorFacts { enabled, levels, .. } = facts;
        Self {
            enabled: *enabled,
            lowest: levels.lowest,
            highest: levels.highest,
            fields: Arc::clone(fields),
        }
    }
}

impl ServiceOutline {
    pub(super) fn of(file: &ServiceProvider, fields: &Arc<Fields>) -> Self {
        Self {
            active: file.active,
            admitted: file.connectors.admitted(),
            fields: Arc::clone(fields),
        }
    }
}
