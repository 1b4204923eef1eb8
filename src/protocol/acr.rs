//! Levels of assurance on the wire (`acr`, `acr_values`), and the platform that accepts them.

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
    /// All levels, lowest first.
    pub const ALL: [Self; 3] = [Self::Eidas1, Self::Eidas2, Self::Eidas3];

    /// Returns the value on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Eidas1 => "eidas1",
            Self::Eidas2 => "eidas2",
            Self::Eidas3 => "eidas3",
        }
    }
}

/// What a request needs from an identity provider before the browser is sent there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuthenticationRequirement {
    /// Minimum level.
    pub level: Level,
    /// Whether the user must authenticate again (`prompt=login`), or the time of the authentication
    /// matters (`max_age`).
    pub reauthentication: bool,
}

impl AuthenticationRequirement {
    /// Creates a requirement of this level, regardless of when the user authenticated.
    #[must_use]
    pub const fn for_level(level: Level) -> Self {
        Self { level, reauthentication: false }
    }
}

/// Platform of the federation; one process serves one platform.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    Standard,
    High,
}

impl Platform {
    /// Returns the levels that a service provider may request, lowest first (R003).
    #[must_use]
    pub const fn levels(self) -> &'static [Level] {
        match self {
            Self::Standard => &[Level::Eidas1],
            Self::High => &[Level::Eidas2, Level::Eidas3],
        }
    }
}
