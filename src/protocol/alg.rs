//! The two signature algorithms the hub speaks, by their JOSE names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// RFC 7518, 3.1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum SigningAlg {
    #[default]
    ES256,
    RS256,
}

impl SigningAlg {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ES256 => "ES256",
            Self::RS256 => "RS256",
        }
    }
}
