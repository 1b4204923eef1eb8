//! L2 · Adapters to identity providers, one kind a file, behind one small trait.
//!
//! Owns: the upstream protocol and every check on what an identity provider says (decisions 10). Must not know:
//! actors, stores, service providers, pages.

pub mod guard;
pub mod persona;

#[cfg(test)]
mod fake;

use async_trait::async_trait;

use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, Left};
use crate::protocol::catalogue::ErrorCode;

/// An adapter to one identity provider. It is `Sync`: calls of several logins run side by side.
#[async_trait]
pub trait Connector: Send + Sync {
    /// Where to send the browser.
    /// # Errors
    /// The identity provider's metadata can't be had or used.
    async fn begin(&self, departure: Departure) -> Result<Left, ConnectorFault>;

    /// Turns a callback into a proven authentication: code exchange, every check, userinfo.
    /// # Errors
    /// One fault, with a code of its own for each failed check.
    async fn complete(&self, attempt: Attempt, arrival: Arrival) -> Result<Authentication, ConnectorFault>;

    /// Fetches what will be needed (discovery, keys) ahead of the first login; also what `check --online` calls.
    /// # Errors
    /// As for `begin`.
    async fn warm(&self) -> Result<(), ConnectorFault>;

    /// The sandbox's own page, for the one kind that has it.
    fn sandbox(&self) -> Option<&dyn crate::connector::persona::SandboxPage> {
        None
    }
}

/// Why an upstream step failed: the catalogue's code, and a line for the operator that holds no token, no secret
/// and no claim value.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{}: {detail}", code.entry().code)]
pub struct ConnectorFault {
    pub code: ErrorCode,
    pub detail: String,
}

impl ConnectorFault {
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }
}
