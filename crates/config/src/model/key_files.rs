//! Settings of private keys in files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the hub accepts private keys in files that are not encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlainKeyFiles {
    /// The hub uses keys in unencrypted files.
    #[default]
    Accepted,
    /// A key in an unencrypted file is an error, so that a person who can only write to the folder
    /// can't add a key.
    Refused,
}
