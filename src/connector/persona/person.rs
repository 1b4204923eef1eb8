//! Defines the persons of a persons file, and the failures that a user can pick.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Failure that the page can simulate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SimulatedFailure {
    /// The user cancels: `access_denied`.
    Cancel,
    /// The identity provider fails: `server_error`.
    Error,
    /// The identity has no birthdate.
    MissingClaim,
    /// The identity is valid, but not in the register.
    UnknownPerson,
    /// The achieved level is lower than the requested one.
    LevelTooLow,
}

impl SimulatedFailure {
    /// All failures, in display order.
    pub const ALL: &'static [Self] =
        &[Self::Cancel, Self::Error, Self::MissingClaim, Self::UnknownPerson, Self::LevelTooLow];

    /// Returns the value of the form field, which is also the last part of the text key.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Error => "error",
            Self::MissingClaim => "missing-claim",
            Self::UnknownPerson => "unknown-person",
            Self::LevelTooLow => "level-too-low",
        }
    }
}

/// Fictional person of the persons file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Persona {
    /// The `sub` of the person.
    pub id: String,
    /// Name shown on the page.
    pub label: String,
    /// Remark shown on the page, by language (`fr`, `en`).
    #[serde(default)]
    pub hint: BTreeMap<String, String>,
    pub given_name: Option<String>,
    pub family_name: Option<String>,
    pub birthdate: Option<String>,
    pub gender: Option<String>,
    pub birthplace: Option<String>,
    pub birthcountry: Option<String>,
    pub email: Option<String>,
    pub preferred_username: Option<String>,
}
