//! Sandbox pages for the web layer: what they offer, and the user's choice.

use std::collections::BTreeMap;

use super::registry::Connectors;
use crate::assurance::Level;
use crate::connector::one_time_code::CodeStoreError;
use crate::connector::persona::{Persona, PersonaChoiceError};
use crate::ids::ConnectorId;

/// Content of the page, in the order to show it.
#[derive(Clone, Debug)]
pub struct SandboxOffer {
    pub users: Vec<SandboxUser>,
    /// Lowest first.
    pub levels: Vec<Level>,
    pub methods: &'static [&'static str],
    /// Names of the failures that can be simulated.
    pub failures: Vec<&'static str>,
}

/// A user to log in as.
#[derive(Clone, Debug)]
pub struct SandboxUser {
    pub id: String,
    pub label: String,
    /// A hint by language; may be empty.
    pub hint: BTreeMap<String, String>,
}

/// Error returned for a choice that can't be used.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum SandboxError {
    #[error("no such sandbox")]
    Unknown,
    #[error("a field is missing or invalid")]
    Malformed,
    #[error("too many choices are pending")]
    Full,
    #[error("the choice can't be stored")]
    NotSaved,
}

impl Connectors {
    /// Returns the content of the page; `None` for a connector that is no sandbox.
    #[must_use]
    pub fn sandbox_offer(&self, id: &ConnectorId) -> Option<SandboxOffer> {
        let connector = self.connector(id)?;
        let offer = connector.persona_page()?.options();
        let shown = |Persona { id, label, hint, .. }: &Persona| SandboxUser {
            id: id.clone(),
            label: label.clone(),
            hint: hint.clone(),
        };
        Some(SandboxOffer {
            users: offer.personas.iter().map(shown).collect(),
            levels: offer.levels,
            methods: offer.methods,
            failures: offer.failures.iter().map(|failure| failure.as_str()).collect(),
        })
    }

    /// Returns the query for the connector's callback that follows from the submitted form.
    ///
    /// # Errors
    /// [`SandboxError`] if the form is invalid or its code can't be stored.
    pub async fn choose_sandbox_user(
        &self,
        id: &ConnectorId,
        form: &[(String, String)],
    ) -> Result<String, SandboxError> {
        let connector = self.connector(id).ok_or(SandboxError::Unknown)?;
        let sandbox = connector.persona_page().ok_or(SandboxError::Unknown)?;
        sandbox.submit_choice(form).await.map_err(|error| match error {
            PersonaChoiceError::InvalidField(_) => SandboxError::Malformed,
            PersonaChoiceError::CodeStore(CodeStoreError::Full) => SandboxError::Full,
            PersonaChoiceError::CodeStore(CodeStoreError::Unavailable(_)) => SandboxError::NotSaved,
        })
    }
}
