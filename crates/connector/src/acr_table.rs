//! Defines the `[acr]` table of a connector: the identity provider's `acr` values for the hub's
//! levels.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use passerelle_protocol::acr::Level;

/// The identity provider's `acr` values by the hub's level.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AcrTable {
    /// Sends `acr_values`. Set it to `false` for an identity provider that asks for the password
    /// again at every `acr_values`; the returned `acr` is checked nevertheless.
    pub send: bool,
    /// This identity provider's values. The first is sent, any is accepted.
    pub eidas1: Option<Vec<String>>,
    /// This identity provider's values. The first is sent, any is accepted.
    pub eidas2: Option<Vec<String>>,
    /// This identity provider's values. The first is sent, any is accepted.
    pub eidas3: Option<Vec<String>>,
    /// By level name of the hub (`[level_names]` of passerelle.toml): those values of the levels
    /// above that also prove it. The first is sent when a request has the name.
    pub names: BTreeMap<String, Vec<String>>,
}

impl Default for AcrTable {
    fn default() -> Self {
        Self { send: true, eidas1: None, eidas2: None, eidas3: None, names: BTreeMap::new() }
    }
}

impl AcrTable {
    /// Returns the listed levels, lowest first, each with its values.
    pub fn levels(&self) -> impl Iterator<Item = (Level, &[String])> {
        [
            (Level::Eidas1, &self.eidas1),
            (Level::Eidas2, &self.eidas2),
            (Level::Eidas3, &self.eidas3),
        ]
        .into_iter()
        .filter_map(|(level, values)| Some((level, values.as_deref()?)))
    }

    /// Returns true if no level is listed.
    pub fn is_empty(&self) -> bool {
        self.levels().next().is_none()
    }

    /// Returns the values by level.
    pub fn values_by_level(&self) -> BTreeMap<Level, Vec<String>> {
        self.levels().map(|(level, values)| (level, values.to_vec())).collect()
    }
}
