//! Persona kind: a sandbox identity provider without passwords, whose page offers fictional
//! persons, levels, methods and failures. It can be built only with `sandbox = true` in the hub's
//! settings.
//!
//! Does not depend on HTML or HTTP: the web layer serves `{base_url}/sandbox/{connector}` through
//! [`SandboxForm`].

mod person;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use url::form_urlencoded::Serializer;

use super::diagnostic::{CheckDiagnostic, DiagnosisContext};
use super::error::ConnectorError;
use super::kind_settings::{ConnectorKind, ConnectorKindFormat, connector_kind};
use super::login_page_codes::LoginPageCodes;
use super::port::{Connector, ConnectorContext};
use super::sandbox_form::{SandboxChoiceError, SandboxForm, SandboxOffer};
use super::{ConfiguredConnector, ConnectorFile, SandboxMode, code_flow, hub_page};
use passerelle_federation::assurance::Level;
use passerelle_federation::assurance::acr::AcrPolicy;
use passerelle_federation::assurance::amr::{self, UpstreamAmr};
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_settings::FieldDiagnostic;
pub use person::{Persona, SimulatedFailure, offer_persons};
pub use settings::PersonaKind;

const MAX_STATE_BYTES: usize = 1024;

/// The kind of `[kind.persona]`.
pub const KIND: ConnectorKindFormat = connector_kind::<PersonaKind>("persona", "A sandbox.");

impl ConnectorKind for PersonaKind {
    fn build(
        &self,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Arc<dyn Connector>, FieldDiagnostic> {
        Ok(Arc::new(PersonaConnector::new(self, configured, context)?))
    }

    /// The sandbox uses the hub's own level names as `acr` values.
    fn acr_policy(&self, file: &ConnectorFile) -> AcrPolicy {
        let (lowest, highest) = (file.levels.lowest, file.levels.highest);
        let served = Level::ALL.into_iter().filter(|level| (lowest..=highest).contains(level));
        AcrPolicy {
            lowest,
            highest,
            values: served.map(|level| (level, vec![level.as_str().to_owned()])).collect(),
            names: BTreeMap::new(),
            assumed: None,
            sends_acr_values: true,
            ignores_acr: false,
        }
    }
}

/// Connector of the sandbox.
pub struct PersonaConnector {
    id: ConnectorId,
    /// A URN, because this issuer has no address.
    issuer: String,
    env: Env,
    personas: Vec<Persona>,
    acr_policy: AcrPolicy,
    codes: LoginPageCodes<PickedPersona>,
}

/// Choice of a submitted form.
enum FormChoice {
    /// OAuth error code of a response without a code.
    Error(&'static str),
    Picked(Box<PickedPersona>),
}

/// Picked person and options, stored under a one-time code.
#[derive(Serialize, Deserialize)]
struct PickedPersona {
    /// A copy, as other hubs may have another persons file.
    person: Persona,
    level: Level,
    methods: Vec<String>,
    failure: Option<SimulatedFailure>,
    at: Timestamp,
}

impl PersonaConnector {
    /// Returns a connector.
    ///
    /// # Errors
    /// Returns an error if the sandbox is off, or the persons file is invalid.
    pub fn new(
        kind: &PersonaKind,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Self, FieldDiagnostic> {
        let ConnectorContext { env, sandbox, store, .. } = context;
        let ConfiguredConnector { id, file, .. } = configured;
        if sandbox == SandboxMode::Off {
            let message = "is a sandbox, where anyone can sign in as anyone, but sandbox is off";
            let fix =
                "remove this file, or set sandbox = true in passerelle.toml (never in production)";
            return Err(FieldDiagnostic::new("kind.persona", message, fix));
        }
        if file.levels.lowest > file.levels.highest {
            let message = "has a lowest level above the highest";
            return Err(FieldDiagnostic::new("levels", message, "swap the two"));
        }
        Ok(Self {
            issuer: format!("urn:passerelle:sandbox:{id}"),
            codes: LoginPageCodes::new(id, store),
            id: id.clone(),
            env,
            personas: person::read_persons(kind.persons.as_deref())?,
            acr_policy: kind.acr_policy(file),
        })
    }

    /// Returns the person that `login_hint` names by an id, or by an address that begins with it.
    fn hinted_person(&self, login_hint: Option<&str>) -> Option<&Persona> {
        let id = login_hint?.split('@').next()?;
        self.personas.iter().find(|person| person.id == id)
    }

    fn offered_levels(&self) -> impl Iterator<Item = Level> {
        self.acr_policy.values.keys().copied()
    }
}

#[async_trait]
impl SandboxForm for PersonaConnector {
    fn offer(&self) -> SandboxOffer {
        SandboxOffer {
            levels: self.offered_levels().collect(),
            methods: amr::METHODS,
            ..offer_persons(&self.personas)
        }
    }

    async fn submit_choice(&self, form: &[(String, String)]) -> Result<String, SandboxChoiceError> {
        let state = form_field(form, "state")?;
        if state.len() > MAX_STATE_BYTES {
            return Err(SandboxChoiceError::InvalidField("state"));
        }
        let (name, value) = match self.parse_choice(form)? {
            FormChoice::Error(error) => ("error", error.to_owned()),
            FormChoice::Picked(picked) => {
                ("code", self.codes.issue(state, &picked, &self.env).await?)
            }
        };
        let mut query = Serializer::new(String::new());
        Ok(query
            .append_pair(name, &value)
            .append_pair("state", state)
            .append_pair("iss", &self.issuer)
            .finish())
    }
}

fn form_field<'f>(
    form: &'f [(String, String)],
    name: &'static str,
) -> Result<&'f str, SandboxChoiceError> {
    let value = form.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
    value.filter(|value| !value.is_empty()).ok_or(SandboxChoiceError::InvalidField(name))
}

impl PersonaConnector {
    fn parse_choice(&self, form: &[(String, String)]) -> Result<FormChoice, SandboxChoiceError> {
        let failure = match form_field(form, "failure") {
            Ok(name) => Some(
                SimulatedFailure::from_name(name)
                    .ok_or(SandboxChoiceError::InvalidField("failure"))?,
            ),
            Err(_) => None,
        };
        match failure {
            Some(SimulatedFailure::Cancel) => Ok(FormChoice::Error("access_denied")),
            Some(SimulatedFailure::Error) => Ok(FormChoice::Error("server_error")),
            _ => Ok(FormChoice::Picked(Box::new(self.parse_picked_persona(form, failure)?))),
        }
    }

    fn parse_picked_persona(
        &self,
        form: &[(String, String)],
        failure: Option<SimulatedFailure>,
    ) -> Result<PickedPersona, SandboxChoiceError> {
        let id = form_field(form, "person")?;
        let level = form_field(form, "level")?;
        let methods: Vec<String> = form
            .iter()
            .filter(|(name, value)| name == "method" && !value.is_empty())
            .map(|(_, value)| value.clone())
            .collect();
        if methods.len() > amr::METHODS.len()
            || methods.iter().any(|method| !amr::is_known_method(method))
        {
            return Err(SandboxChoiceError::InvalidField("method"));
        }
        Ok(PickedPersona {
            person: self
                .personas
                .iter()
                .find(|person| person.id == id)
                .ok_or(SandboxChoiceError::InvalidField("person"))?
                .clone(),
            level: self
                .offered_levels()
                .find(|offered| offered.as_str() == level)
                .ok_or(SandboxChoiceError::InvalidField("level"))?,
            methods,
            failure,
            at: self.env.now(),
        })
    }
}

#[async_trait]
impl Connector for PersonaConnector {
    async fn begin_login(
        &self,
        request: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        let mut url = hub_page::hub_page_url(&request, &self.id, &format!("/sandbox/{}", self.id))?;
        let level = self.acr_policy.level_to_request(request.level);
        url.query_pairs_mut()
            .append_pair("state", &request.state)
            .append_pair("level", level.as_str());
        if let Some(person) = self.hinted_person(request.login_hint.as_deref()) {
            url.query_pairs_mut().append_pair("person", &person.id);
        }
        Ok(AuthorizationRedirect {
            token_endpoint: self.issuer.clone(),
            issuer: self.issuer.clone(),
            client_id: "passerelle".into(),
            url: url.into(),
            iss_expected: true,
            dpop_key: None,
        })
    }

    async fn complete_login(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        match callback.iss.as_deref() {
            None => return Err(ConnectorError::new(ErrorCode::IdpIssMissing, "iss is missing")),
            Some(iss) if iss != self.issuer || iss != attempt.redirect.issuer => {
                return Err(ConnectorError::new(
                    ErrorCode::IdpIssWrong,
                    "iss is not that of the sandbox",
                ));
            }
            Some(_) => {}
        }
        if let Some(error) = callback.error.as_deref() {
            return Err(code_flow::authorization_error(error));
        }
        let code = callback.code.ok_or_else(|| {
            ConnectorError::new(
                ErrorCode::IdpCallbackMalformed,
                "neither code nor error is present",
            )
        })?;
        let picked =
            self.codes.redeem(code.reveal(), &attempt.request.state, self.env.now()).await?;
        if picked.failure == Some(SimulatedFailure::LevelTooLow) {
            return Err(ConnectorError::new(
                ErrorCode::AcrTooLow,
                "a level that is too low was picked in the sandbox",
            ));
        }
        let level = self.acr_policy.evaluate(
            Some(picked.level.as_str()),
            self.acr_policy.level_to_request(attempt.request.level),
        );
        let level = level.map_err(|error| ConnectorError::new(error.code(), error.to_string()))?;
        let subject = Secret::new(picked.person.id.clone());
        Ok(Authentication {
            amr: if picked.methods.is_empty() {
                UpstreamAmr::Absent
            } else {
                UpstreamAmr::from_methods(&picked.methods)
            },
            auth_time: Some(picked.at),
            claims: picked.person.into_claims(picked.failure),
            ..Authentication::new(self.id.clone(), subject, level)
        })
    }

    async fn preload(&self) -> Result<(), ConnectorError> {
        Ok(())
    }

    fn is_remote(&self) -> bool {
        false
    }

    async fn diagnose(&self, _: &DiagnosisContext) -> Vec<CheckDiagnostic> {
        vec![CheckDiagnostic::ok(
            "reachable",
            "there is nothing to check: the sandbox is a page of the hub",
        )]
    }

    fn sandbox_form(&self) -> Option<&dyn SandboxForm> {
        Some(self)
    }
}

#[cfg(test)]
mod tests;
