//! Interface between the sandbox's page and its connector, and the persons that the page offers.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::assurance::Level;
use crate::connector::one_time_code::CodeStoreError;

/// Model of the sandbox's login page.
#[async_trait]
pub trait PersonaPage: Send + Sync {
    /// Returns the options of the page.
    fn options(&self) -> PersonaOptions<'_>;

    /// Converts the submitted form to the query (without `?`) for the connector's callback. The
    /// fields are `state` (from the query of the page), `person` (an ID), `level` (`eidas1` …),
    /// `method` (repeatable) and `failure` (absent or empty for none). Other fields are ignored.
    ///
    /// # Errors
    /// `InvalidField` if a field is missing or not among the options, `CodeStore` if the choice
    /// can't be stored.
    async fn submit_choice(&self, form: &[(String, String)]) -> Result<String, PersonaChoiceError>;
}

/// Options of the page, in display order.
pub struct PersonaOptions<'a> {
    pub personas: &'a [Persona],
    /// Lowest first.
    pub levels: Vec<Level>,
    pub methods: &'static [&'static str],
    pub failures: &'static [SimulatedFailure],
}

/// Error of a submitted choice.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum PersonaChoiceError {
    #[error("the field {0} is missing, or its value is not one of the options")]
    InvalidField(&'static str),
    #[error("the choice can't be stored: {0}")]
    CodeStore(#[from] CodeStoreError),
}

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
