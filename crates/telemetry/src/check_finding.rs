//! A problem that a check of this process found, and its fix.

use std::fmt;

use serde::{Deserialize, Serialize};

use passerelle_protocol::ids::{ClientId, ConnectorId};

/// A problem that a check found, and its fix.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, derive_more::Display)]
#[display("{message}; fix: {fix}")]
pub struct CheckFinding {
    pub message: String,
    pub fix: String,
    /// Whether this hub refuses every login for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stops_logins: bool,
    /// The identity providers that users can't use, or hardly, for it, by their connectors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identity_providers: Vec<ConnectorId>,
    /// The service providers whose users can't sign in at all for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_providers: Vec<ClientId>,
    /// What stays the same while the message changes; `None` if the message does not change. A
    /// `Box` keeps a finding small enough to be the error of a `Result`.
    #[serde(skip)]
    kind: Option<Box<str>>,
}

impl CheckFinding {
    /// Creates a finding with its fix.
    pub fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            fix: fix.into(),
            stops_logins: false,
            identity_providers: Vec::new(),
            service_providers: Vec::new(),
            kind: None,
        }
    }

    /// Creates the finding that this hub refuses every login, with the reason and its fix.
    pub fn no_login_admitted(reason: impl fmt::Display, fix: impl Into<String>) -> Self {
        let finding = Self::new(format!("No login is admitted: {reason}"), fix);
        Self { stops_logins: true, ..finding }
    }

    /// Adds what stays the same while the message changes, for example with a count.
    #[must_use]
    pub fn with_kind(self, kind: impl Into<Box<str>>) -> Self {
        Self { kind: Some(kind.into()), ..self }
    }

    /// Adds the identity providers that users can't use, or hardly, for it.
    #[must_use]
    pub fn with_identity_providers(self, identity_providers: Vec<ConnectorId>) -> Self {
        Self { identity_providers, ..self }
    }

    /// Adds the service providers whose users can't sign in at all for it.
    #[must_use]
    pub fn with_service_providers(self, service_providers: Vec<ClientId>) -> Self {
        Self { service_providers, ..self }
    }

    /// Returns what stays the same while the problem lasts.
    pub fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or(&self.message)
    }
}
