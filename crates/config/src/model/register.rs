//! Defines the `[register]` table of `passerelle.toml`, without the tables of its kinds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The register of persons.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RegisterConfig(pub Map<String, Value>);
