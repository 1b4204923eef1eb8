//! Defines the persons of a persons file, and the failures that a user can pick.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use passerelle_settings::FieldDiagnostic;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::sandbox_form::{SandboxOffer, SandboxUser};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PersonsFile {
    person: Vec<Persona>,
}

const BUILT_IN_PERSONAS: &str = include_str!("persons.toml");

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
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Error => "error",
            Self::MissingClaim => "missing-claim",
            Self::UnknownPerson => "unknown-person",
            Self::LevelTooLow => "level-too-low",
        }
    }

    /// Returns the failure of a form field; `None` for any other value.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|failure| failure.as_str() == name).copied()
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
    /// Further claims, for example those that `[claims]` of the settings declares.
    #[serde(default)]
    pub claims: Map<String, Value>,
}

impl Persona {
    /// Returns the built-in persons.
    pub fn built_in() -> Vec<Self> {
        read_persons(None).unwrap_or_default()
    }

    /// Returns the claims of the person, changed by the simulated failure.
    pub fn into_claims(self, failure: Option<SimulatedFailure>) -> Map<String, Value> {
        let family_name = match failure {
            Some(SimulatedFailure::UnknownPerson) => Some("INCONNU AU REPERTOIRE".to_owned()),
            _ => self.family_name,
        };
        let birthdate = self.birthdate.filter(|_| failure != Some(SimulatedFailure::MissingClaim));
        let all = [
            ("given_name", self.given_name),
            ("family_name", family_name),
            ("birthdate", birthdate),
            ("gender", self.gender),
            ("birthplace", self.birthplace),
            ("birthcountry", self.birthcountry),
            ("email", self.email),
            ("preferred_username", self.preferred_username),
        ];
        all.into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), Value::String(value?))))
            .chain(self.claims)
            .collect()
    }
}

/// Returns what a sandbox of these persons offers, without levels and methods.
pub fn offer_persons(persons: &[Persona]) -> SandboxOffer {
    let user = |Persona { id, label, hint, .. }: &Persona| SandboxUser {
        id: id.clone(),
        label: label.clone(),
        hint: hint.clone(),
    };
    SandboxOffer {
        users: persons.iter().map(user).collect(),
        levels: Vec::new(),
        methods: &[],
        failures: SimulatedFailure::ALL.iter().map(|failure| failure.as_str()).collect(),
    }
}

/// Returns a message with the line only. The parser's message may contain values, and the file may
/// not be a persons file at all.
fn parse_error_message(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = 1 + before.matches('\n').count();
    format!("names a file whose line {line} is invalid TOML or not part of a person")
}

/// Reads a persons file; the built-in one without a path.
///
/// # Errors
/// Returns an error if the file can't be read, or is invalid.
pub(super) fn read_persons(path: Option<&Path>) -> Result<Vec<Persona>, FieldDiagnostic> {
    let key = "kind.persona.persons";
    let text = match path {
        None => BUILT_IN_PERSONAS.to_owned(),
        Some(path) => std::fs::read_to_string(path).map_err(|error| {
            let message = format!("names {}, which can't be read: {error}", path.display());
            FieldDiagnostic::new(key, message, "put a file of persons there, as UTF-8 text")
        })?,
    };
    let PersonsFile { person: persons } = toml::from_str(&text).map_err(|error| {
        let fix = "write [[person]] tables with the keys of docs/configuration.md";
        FieldDiagnostic::new(key, parse_error_message(&text, &error), fix)
    })?;
    let mut ids = HashSet::new();
    if let Some(duplicate) =
        persons.iter().find(|person| person.id.is_empty() || !ids.insert(person.id.as_str()))
    {
        let message = format!("names a file with an empty or repeated id: {:?}", duplicate.id);
        return Err(FieldDiagnostic::new(key, message, "give each person a unique id"));
    }
    if persons.is_empty() {
        let fix = "add one, or remove the key to use the built-in persons";
        return Err(FieldDiagnostic::new(key, "names a file without [[person]]", fix));
    }
    Ok(persons)
}
