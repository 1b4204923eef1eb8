//! Settings of private keys in files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the hub accepts private keys in files that are not encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlainKeyFiles {
    /// It is used.
    #[default]
    Accepted,
    /// It is an error: a person who can only write to the folder can't add a key.
    Refused,
}
