//! `[acr]` of a connector's file: what the hub's levels are called at its identity provider.
//!
//! Owns: the shape of the table. Must not know: what a value proves ([`crate::assurance::acr`]).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::acr::Level;

/// Hub level → the identity provider's `acr` values.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AcrTable {
    /// Sends `acr_values`. `false` is for an identity provider that asks for the password again at every `acr_values`; the
    /// `acr` that it returns is judged all the same.
    pub send: bool,
    /// This identity provider's own value(s): the first is sent, any is accepted.
    pub eidas1: Option<Vec<String>>,
    /// This identity provider's own value(s): the first is sent, any is accepted.
    pub eidas2: Option<Vec<String>>,
    /// This identity provider's own value(s): the first is sent, any is accepted.
    pub eidas3: Option<Vec<String>>,
}

impl Default for AcrTable {
    fn default() -> Self {
        Self { send: true, eidas1: None, eidas2: None, eidas3: None }
    }
}

impl AcrTable {
    /// The levels that the table lists, lowest first, each with its values.
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
    #[must_use]
    pub fn lists_nothing(&self) -> bool {
        self.levels().next().is_none()
    }

    /// The values by their level.
    #[must_use]
    pub fn values(&self) -> BTreeMap<Level, Vec<String>> {
        self.levels().map(|(level, values)| (level, values.to_vec())).collect()
    }
}
