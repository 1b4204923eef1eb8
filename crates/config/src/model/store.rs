//! Defines the `[store]` table of `passerelle.toml`, without the tables of its kinds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Store for logins, sessions, codes and tokens. Default: the memory of this process, lost at a
/// restart, for a single hub.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StoreConfig(pub Map<String, Value>);
