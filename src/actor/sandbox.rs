//! The sandbox identity provider's page, as the web layer may see it: plain data, and one question.

use std::collections::BTreeMap;

use super::registry::Connectors;
use crate::assurance::Level;
use crate::connector::one_time::CodeFault;
use crate::connector::persona::{ChoiceFault, Person};
use crate::ids::ConnectorId;

/// What the page offers, in the order to show it.
#[derive(Clone, Debug)]
pub struct SandboxOffer {
    pub persons: Vec<SandboxPerson>,
    /// Lowest first.
    pub levels: Vec<Level>,
    pub methods: &'static [&'static str],
    /// Names of what can be made to go wrong.
    pub failures: Vec<&'static str>,
}

/// One person to be.
#[derive(Clone, Debug)]
pub struct SandboxPerson {
    pub id: String,
    pub label: String,
    /// What is particular about them, by language; may be empty.
    pub hint: BTreeMap<String, String>,
}

/// Why a choice leads nowhere.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum SandboxRefusal {
    #[error("no such sandbox")]
    Unknown,
    #[error("a field is missing, or not one of those offered")]
    Malformed,
    #[error("too many choices wait to be used")]
    Full,
    #[error("the choice can not be kept")]
    Unkept,
}

impl Connectors {
    /// `None` for a connector that is no sandbox.
    #[must_use]
    pub fn sandbox_offer(&self, id: &ConnectorId) -> Option<SandboxOffer> {
        let connector = self.connector(id)?;
        let offer = connector.sandbox()?.offer();
        let shown = |Person { id, label, hint, .. }: &Person| SandboxPerson {
            id: id.clone(),
            label: label.clone(),
            hint: hint.clone(),
        };
        Some(SandboxOffer {
            persons: offer.persons.iter().map(shown).collect(),
            levels: offer.levels,
            methods: offer.methods,
            failures: offer.failures.iter().map(|failure| failure.as_str()).collect(),
        })
    }

    /// The query for the connector's callback that follows from the posted form.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn sandbox_choose(
        &self,
        id: &ConnectorId,
        form: &[(String, String)],
    ) -> Result<String, SandboxRefusal> {
        let connector = self.connector(id).ok_or(SandboxRefusal::Unknown)?;
        let sandbox = connector.sandbox().ok_or(SandboxRefusal::Unknown)?;
        sandbox.choose(form).await.map_err(|fault| match fault {
            ChoiceFault::Field(_) => SandboxRefusal::Malformed,
            ChoiceFault::Unkept(CodeFault::Full) => SandboxRefusal::Full,
            ChoiceFault::Unkept(CodeFault::Away(_)) => SandboxRefusal::Unkept,
        })
    }
}
