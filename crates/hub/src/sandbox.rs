//! Sandbox pages for the web layer: what they offer, and the user's choice.

use super::registry::Connectors;
use passerelle_connector::sandbox_form::{SandboxChoiceError, SandboxOffer};
use passerelle_protocol::ids::ConnectorId;
use passerelle_store::StoreError;

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
    /// Returns the content of the page; `None` for a connector that is not a sandbox.
    pub fn sandbox_offer(&self, id: &ConnectorId) -> Option<SandboxOffer> {
        Some(self.connector(id)?.sandbox_form()?.offer())
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
        let sandbox = connector.sandbox_form().ok_or(SandboxError::Unknown)?;
        sandbox.submit_choice(form).await.map_err(|error| match error {
            SandboxChoiceError::InvalidField(_) => SandboxError::Malformed,
            SandboxChoiceError::Store(StoreError::Full) => SandboxError::Full,
            SandboxChoiceError::Store(_) => SandboxError::NotSaved,
        })
    }
}
