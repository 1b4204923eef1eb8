//! Levels of assurance as they are written on the wire (`acr`, `acr_values`), and the platform that accepts them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An eIDAS level of assurance; `Eidas1` is the lowest.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Eidas1,
    Eidas2,
    Eidas3,
}

impl Level {
    /// Lowest first.
    pub const ALL: [Self; 3] = [Self::Eidas1, Self::Eidas2, Self::Eidas3];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Eidas1 => "eidas1",
            Self::Eidas2 => "eidas2",
            Self::Eidas3 => "eidas3",
        }
    }
}

/// What a request needs of an identity provider before the browser is sent there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// The lowest level that suffices.
    pub level: Level,
    /// The user must authenticate again (`prompt=login`), or the time of the authentication counts (`max_age`).
    pub reauthentication: bool,
}

impl Demand {
    /// A demand for this level, however long ago the user authenticated.
    #[must_use]
    pub const fn level(level: Level) -> Self {
        Self { level, reauthentication: false }
    }
}

/// One process serves one platform (decisions 1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    Standard,
    High,
}

impl Platform {
    /// The levels a service provider may ask for, lowest first (R003).
    #[must_use]
    pub const fn levels(self) -> &'static [Level] {
        match self {
            Self::Standard => &[Level::Eidas1],
            Self::High => &[Level::Eidas2, Level::Eidas3],
        }
    }
}
