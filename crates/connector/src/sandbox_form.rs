//! Interface between the hub's sandbox page and its connector, for kinds where anyone can sign in
//! as anyone.

use std::collections::BTreeMap;

use async_trait::async_trait;

use passerelle_federation::assurance::Level;
use passerelle_store::StoreError;

/// Model of the sandbox page at `{base_url}/sandbox/{connector}`.
#[async_trait]
pub trait SandboxForm: Send + Sync {
    /// Returns the content of the page.
    fn offer(&self) -> SandboxOffer;

    /// Converts the submitted form to the query (without `?`) for the connector's callback. The
    /// fields are `state` (from the query of the page), `person` (an ID), `level` (`eidas1` …),
    /// `method` (repeatable) and `failure` (absent or empty for none). Other fields are ignored.
    ///
    /// # Errors
    /// `InvalidField` if a field is missing or not among the options, `Store` if the choice
    /// can't be stored.
    async fn submit_choice(&self, form: &[(String, String)]) -> Result<String, SandboxChoiceError>;
}

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

/// Error of a submitted choice.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum SandboxChoiceError {
    #[error("the field {0} is missing, or its value is not one of the options")]
    InvalidField(&'static str),
    #[error("the choice can't be stored: {0}")]
    Store(#[from] StoreError),
}
