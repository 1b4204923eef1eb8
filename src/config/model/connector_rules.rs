//! Defines the `[connectors]` table of a service provider.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::ids::ConnectorId;
use crate::protocol::registration::IdpHintPolicy;

/// Which identity providers this service provider may use, and how they are shown. Default: all.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectorRules {
    /// Only these connectors can be used. Not together with `deny`.
    pub allow: Option<Vec<ConnectorId>>,
    /// All connectors except these can be used, including connectors added later.
    pub deny: Vec<ConnectorId>,
    /// Its own order on the choice page. Connectors not listed follow in the hub's order.
    pub order: Vec<ConnectorId>,
    /// Which `idp_hint` of its requests is followed: `"any"`, `"none"`, or a list of connectors.
    /// Others are ignored.
    pub idp_hint: IdpHintPolicy,
}
