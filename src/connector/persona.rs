//! The sandbox kind: an identity provider without passwords, where one picks a person, a level, methods, or a
//! failure. It refuses to exist unless the hub's settings say `sandbox = true`.
//!
//! Owns: the persons, what may be picked, and single-use codes for what was. Must not know: HTML or HTTP; the web
//! layer draws the page at `{base_url}/sandbox/{connector}` through [`SandboxPage`].

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::form_urlencoded::Serializer;

use super::finding::{Examination, Finding};
use super::one_time::{CodeFault, OneTimeCodes};
use super::{Connector, ConnectorFault, ConnectorRefused, ConnectorContext, Sandbox, own_page};
use crate::assurance::Level;
use crate::assurance::acr::Agreement;
use crate::assurance::amr::{self, Told};
use crate::config::model::{ConnectorFile, PersonaKind};
use crate::env::{Env, Timestamp};
use crate::ids::{ConnectorId, Secret};
use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, AuthorizationRedirect};
use crate::protocol::catalogue::ErrorCode;

/// The sandbox's own login page: what it offers, and what becomes of a choice.
#[async_trait]
pub trait SandboxPage: Send + Sync {
    fn offer(&self) -> Offer<'_>;

    /// Turns the posted form into the query (without `?`) for the connector's callback. Fields, in any order:
    /// `state` (from the page's own query), `person` (an id), `level` (`eidas1` …), `method` (any number of times),
    /// `failure` (absent or empty for none). Other fields are ignored.
    ///
    /// # Errors
    /// Which field is missing or not among what is offered; or the choice can't be kept until its callback.
    async fn choose(&self, form: &[(String, String)]) -> Result<String, ChoiceFault>;
}

/// What the page offers, in the order to show it.
pub struct Offer<'a> {
    pub persons: &'a [Person],
    /// Lowest first.
    pub levels: Vec<Level>,
    pub methods: &'static [&'static str],
    pub failures: &'static [Failure],
}

#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum ChoiceFault {
    #[error("the field {0} is missing, or its value is not one of those offered")]
    Field(&'static str),
    #[error("the choice can not be kept: {0}")]
    Unkept(#[from] CodeFault),
}

/// What can be made to go wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The person gives up: `access_denied`.
    Cancel,
    /// The identity provider breaks: `server_error`.
    Error,
    /// The identity comes without a birthdate.
    MissingClaim,
    /// The identity is well formed, but of nobody whom the register knows.
    UnknownPerson,
    /// The level proven is lower than the one asked.
    LevelTooLow,
}

impl Failure {
    pub const ALL: &'static [Self] =
        &[Self::Cancel, Self::Error, Self::MissingClaim, Self::UnknownPerson, Self::LevelTooLow];

    /// The value of the form's field, and the last part of the text's key.
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

/// A fictional person, as the persons file writes them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Person {
    /// Their `sub` here.
    pub id: String,
    /// As the page shows them.
    pub label: String,
    /// What is particular about them, by language (`fr`, `en`).
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PersonsFile {
    person: Vec<Person>,
}

const BUILT_IN: &str = include_str!("persona/persons.toml");
const LONGEST_STATE: usize = 1024;

pub struct PersonaConnector {
    id: ConnectorId,
    /// No address: nothing of the sandbox is called.
    issuer: String,
    env: Env,
    persons: Vec<Person>,
    agreement: Agreement,
    picked: OneTimeCodes<Picked>,
}

/// What a form asks for.
enum Choice {
    /// OAuth's word for a failure that is an answer without a code.
    Error(&'static str),
    Picked(Box<Picked>),
}

/// What a code stands for.
#[derive(Serialize, Deserialize)]
struct Picked {
    /// As they are here: other nodes may have another persons file.
    person: Person,
    level: Level,
    methods: Vec<String>,
    failure: Option<Failure>,
    at: Timestamp,
}

impl PersonaConnector {
    /// # Errors
    /// The sandbox is off, or the persons file can't be used.
    pub fn new(
        id: ConnectorId,
        file: &ConnectorFile,
        kind: &PersonaKind,
        means: ConnectorContext,
    ) -> Result<Self, ConnectorRefused> {
        let ConnectorContext { env, sandbox, codes, .. } = means;
        if sandbox == Sandbox::Off {
            let mend = "anybody can be anybody here; remove this file, or set sandbox = true in passerelle.toml (never in production)";
            return Err(ConnectorRefused::new("kind.persona", mend));
        }
        if file.levels.lowest > file.levels.highest {
            return Err(ConnectorRefused::new("levels", "lowest is above highest; exchange them"));
        }
        Ok(Self {
            issuer: format!("urn:passerelle:sandbox:{id}"),
            picked: OneTimeCodes::new(&id, codes),
            id,
            env,
            persons: persons(kind)?,
            agreement: super::agreement(file),
        })
    }

    fn offered_levels(&self) -> impl Iterator<Item = Level> {
        self.agreement.values.keys().copied()
    }
}

/// By line alone: the parser's own words may repeat a value, and the path may have led to a file of another kind.
fn unreadable(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = 1 + before.matches('\n').count();
    format!(
        "line {line} is no TOML, or no part of a person: write [[person]] tables with the keys of docs/configuration.md"
    )
}

fn persons(kind: &PersonaKind) -> Result<Vec<Person>, ConnectorRefused> {
    let refused = |mend: String| ConnectorRefused::new("kind.persona.persons", mend);
    let text = match &kind.persons {
        None => BUILT_IN.to_owned(),
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| refused(format!("{} can not be read: {error}", path.display())))?,
    };
    let PersonsFile { person: persons } =
        toml::from_str(&text).map_err(|error| refused(unreadable(&text, &error)))?;
    let mut ids = std::collections::HashSet::new();
    if let Some(twice) =
        persons.iter().find(|person| person.id.is_empty() || !ids.insert(person.id.as_str()))
    {
        return Err(refused(format!(
            "the id {:?} is empty or stands twice; give each person one of their own",
            twice.id
        )));
    }
    if persons.is_empty() {
        return Err(refused(
            "it holds no [[person]]; add one, or remove the key to use the built-in ones".into(),
        ));
    }
    Ok(persons)
}

#[async_trait]
impl SandboxPage for PersonaConnector {
    fn offer(&self) -> Offer<'_> {
        Offer {
            persons: &self.persons,
            levels: self.offered_levels().collect(),
            methods: amr::METHODS,
            failures: Failure::ALL,
        }
    }

    async fn choose(&self, form: &[(String, String)]) -> Result<String, ChoiceFault> {
        let state = field(form, "state")?;
        if state.len() > LONGEST_STATE {
            return Err(ChoiceFault::Field("state"));
        }
        let (name, value) = match self.choice(form)? {
            Choice::Error(error) => ("error", error.to_owned()),
            Choice::Picked(picked) => ("code", self.picked.keep(state, &picked, &self.env).await?),
        };
        let mut query = Serializer::new(String::new());
        Ok(query
            .append_pair(name, &value)
            .append_pair("state", state)
            .append_pair("iss", &self.issuer)
            .finish())
    }
}

fn field<'f>(form: &'f [(String, String)], name: &'static str) -> Result<&'f str, ChoiceFault> {
    let value = form.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
    value.filter(|value| !value.is_empty()).ok_or(ChoiceFault::Field(name))
}

impl PersonaConnector {
    fn choice(&self, form: &[(String, String)]) -> Result<Choice, ChoiceFault> {
        let failure = match field(form, "failure") {
            Ok(name) => Some(
                Failure::ALL
                    .iter()
                    .find(|failure| failure.as_str() == name)
                    .copied()
                    .ok_or(ChoiceFault::Field("failure"))?,
            ),
            Err(_) => None,
        };
        match failure {
            Some(Failure::Cancel) => Ok(Choice::Error("access_denied")),
            Some(Failure::Error) => Ok(Choice::Error("server_error")),
            _ => Ok(Choice::Picked(Box::new(self.picked(form, failure)?))),
        }
    }

    fn picked(
        &self,
        form: &[(String, String)],
        failure: Option<Failure>,
    ) -> Result<Picked, ChoiceFault> {
        let id = field(form, "person")?;
        let level = field(form, "level")?;
        let methods: Vec<String> = form
            .iter()
            .filter(|(name, value)| name == "method" && !value.is_empty())
            .map(|(_, value)| value.clone())
            .collect();
        if methods.len() > amr::METHODS.len()
            || methods.iter().any(|method| !amr::registered(method))
        {
            return Err(ChoiceFault::Field("method"));
        }
        Ok(Picked {
            person: self
                .persons
                .iter()
                .find(|person| person.id == id)
                .ok_or(ChoiceFault::Field("person"))?
                .clone(),
            level: self
                .offered_levels()
                .find(|offered| offered.as_str() == level)
                .ok_or(ChoiceFault::Field("level"))?,
            methods,
            failure,
            at: self.env.now(),
        })
    }
}

#[async_trait]
impl Connector for PersonaConnector {
    async fn begin(&self, departure: Departure) -> Result<AuthorizationRedirect, ConnectorFault> {
        let mut url = own_page::address(&departure, &self.id, &format!("/sandbox/{}", self.id))?;
        let level = self.agreement.to_ask(departure.level);
        url.query_pairs_mut()
            .append_pair("state", &departure.state)
            .append_pair("level", level.as_str());
        Ok(AuthorizationRedirect {
            token_endpoint: self.issuer.clone(),
            issuer: self.issuer.clone(),
            client_id: "passerelle".into(),
            url: url.into(),
            iss_expected: true,
        })
    }

    async fn complete(
        &self,
        attempt: Attempt,
        arrival: Arrival,
    ) -> Result<Authentication, ConnectorFault> {
        match arrival.iss.as_deref() {
            None => return Err(ConnectorFault::new(ErrorCode::IdpIssMissing, "iss is missing")),
            Some(iss) if iss != self.issuer || iss != attempt.left.issuer => {
                return Err(ConnectorFault::new(
                    ErrorCode::IdpIssWrong,
                    "iss is not the sandbox's",
                ));
            }
            Some(_) => {}
        }
        match arrival.error.as_deref() {
            Some("access_denied") => {
                return Err(ConnectorFault::new(
                    ErrorCode::IdpDenied,
                    "cancel was picked in the sandbox",
                ));
            }
            Some(_) => {
                return Err(ConnectorFault::new(
                    ErrorCode::IdpError,
                    "an error was picked in the sandbox",
                ));
            }
            None => {}
        }
        let code = arrival.code.ok_or_else(|| {
            ConnectorFault::new(ErrorCode::IdpCallbackMalformed, "neither code nor error is there")
        })?;
        let picked = self.picked.take(code.reveal(), &attempt.state, self.env.now()).await?;
        if picked.failure == Some(Failure::LevelTooLow) {
            return Err(ConnectorFault::new(
                ErrorCode::AcrTooLow,
                "too low a level was picked in the sandbox",
            ));
        }
        let judged =
            self.agreement.judge(Some(picked.level.as_str()), self.agreement.to_ask(attempt.level));
        let level = judged.map_err(|fault| ConnectorFault::new(fault.code(), fault.to_string()))?;
        Ok(Authentication {
            connector: self.id.clone(),
            upstream_subject: Secret::new(picked.person.id.clone()),
            level,
            amr: if picked.methods.is_empty() {
                Told::Nothing
            } else {
                Told::these(&picked.methods)
            },
            auth_time: picked.at,
            claims: claims(picked.person, picked.failure),
            id_token: None,
        })
    }

    async fn warm(&self) -> Result<(), ConnectorFault> {
        Ok(())
    }

    fn is_remote(&self) -> bool {
        false
    }

    async fn examine(&self, _: &Examination) -> Vec<Finding> {
        vec![Finding::ok(
            "reachable",
            "there is nothing to ask: the sandbox is a page of the hub itself",
        )]
    }

    fn sandbox(&self) -> Option<&dyn SandboxPage> {
        Some(self)
    }
}

fn claims(person: Person, failure: Option<Failure>) -> Map<String, Value> {
    let family_name = match failure {
        Some(Failure::UnknownPerson) => Some("INCONNU AU REPERTOIRE".to_owned()),
        _ => person.family_name,
    };
    let all = [
        ("given_name", person.given_name),
        ("family_name", family_name),
        ("birthdate", person.birthdate.filter(|_| failure != Some(Failure::MissingClaim))),
        ("gender", person.gender),
        ("birthplace", person.birthplace),
        ("birthcountry", person.birthcountry),
        ("email", person.email),
        ("preferred_username", person.preferred_username),
    ];
    all.into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), Value::String(value?))))
        .collect()
}

#[cfg(test)]
mod tests;
