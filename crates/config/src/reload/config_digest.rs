//! Summarizes the files of a federation: a fingerprint of the value of each key, and in clear text
//! only what is never secret. Used to compare two federations, also across processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::ServiceProviderFile;
use passerelle_connector::ConnectorFile;
use passerelle_federation::connector_rules::AllowedConnectors;
use passerelle_protocol::acr::Level;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_settings::FieldDigests;

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
    /// The fingerprint of the file of e-mail domains.
    #[serde(default)]
    pub email_domains: Arc<FieldDigests>,
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
    pub(crate) fn new(file: &ConnectorFile, fields: &Arc<FieldDigests>) -> Self {
        Self {
            enabled: file.enabled,
            lowest: file.levels.lowest,
            highest: file.levels.highest,
            fields: Arc::clone(fields),
        }
    }
}

impl ServiceProviderDigest {
    /// Summarizes a service provider.
    pub(crate) fn new(file: &ServiceProviderFile, fields: &Arc<FieldDigests>) -> Self {
        Self {
            active: file.active,
            allowed_connectors: file.connectors.allowed_connectors(),
            fields: Arc::clone(fields),
        }
    }
}
