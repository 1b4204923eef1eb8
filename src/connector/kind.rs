//! The trait [`ConnectorKind`], which a connector kind implements for the type of its `[kind.…]`
//! table.

use std::sync::Arc;

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::ConfiguredConnector;
use super::ConnectorFile;
use super::diagnostic::{HubEndpoints, RegistrationParameter};
use super::error::ConnectorConfigError;
use super::kind_settings::{ConnectorKindFormat, KindSettings};
use super::port::{Connector, ConnectorContext};
use crate::assurance::acr::AcrPolicy;

/// A connector kind: settings from a connector file, from which connectors are built.
pub trait ConnectorKind: KindSettings {
    /// Builds the connector. Calls nothing, so that an unavailable identity provider does not
    /// prevent the start. `configured` has these settings as its kind.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    fn build(
        &self,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Arc<dyn Connector>, ConnectorConfigError>;

    /// Returns the `acr` policy. The default is what the file says.
    fn acr_policy(&self, file: &ConnectorFile) -> AcrPolicy {
        acr_policy_from_file(file)
    }

    /// Returns what to register at the identity provider.
    fn registration(&self, _: &HubEndpoints) -> Vec<RegistrationParameter> {
        Vec::new()
    }
}

/// Returns the `acr` policy that a connector file describes.
#[must_use]
pub fn acr_policy_from_file(file: &ConnectorFile) -> AcrPolicy {
    AcrPolicy {
        lowest: file.levels.lowest,
        highest: file.levels.highest,
        values: file.acr.values_by_level(),
        names: file.acr.names.clone(),
        assumed: file.assumed_level,
        sends_acr_values: file.acr.send,
        ignores_acr: file.ignore_acr,
    }
}

/// Returns the format of the kind with the table `[kind.{name}]`. `summary` describes it in the
/// schema.
#[must_use]
pub const fn connector_kind<K>(name: &'static str, summary: &'static str) -> ConnectorKindFormat
where
    K: ConnectorKind + DeserializeOwned + JsonSchema,
{
    ConnectorKindFormat {
        name,
        summary,
        schema: SchemaGenerator::subschema_for::<K>,
        parse: |table, problems| table.parse::<K>(problems),
    }
}
