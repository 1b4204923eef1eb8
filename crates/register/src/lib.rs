//! Queries the national register of natural persons with a pivot identity.
//!
//! Responsible for how a register is queried and what its answers mean. Does not know logins or
//! service providers. Begin with [`Register`].

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod file;
pub mod http;
pub mod kind;
#[cfg(test)]
mod testing;

use std::time::Duration;

use async_trait::async_trait;

use passerelle_federation::identity::{Identity, IdentityError};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::SupportId;
use passerelle_settings::TableKind;
use passerelle_telemetry::CheckFinding;

/// The kinds of registers of this program.
pub const KINDS: &[TableKind] = &[file::KIND, http::KIND];

/// Maximum time that a register may take to answer, retries included.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(6);

/// Answer of a register about one person.
#[derive(Clone, PartialEq, Debug)]
pub enum RegisterAnswer {
    /// The data of the register, which the service provider gets.
    Found(Box<Identity>),
    /// Like `Found`, but the register writes some of the queried data differently.
    Corrected(Box<Identity>),
    /// The register has no such person.
    NotFound,
    /// Several persons share the pivot identity.
    MultipleMatches,
    /// The person has died.
    Deceased,
    /// The register does not release the person's data.
    Refused,
}

impl RegisterAnswer {
    /// Returns the label for metrics and logs.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Found(_) => "found",
            Self::Corrected(_) => "corrected",
            Self::NotFound => "not_found",
            Self::MultipleMatches => "several",
            Self::Deceased => "deceased",
            Self::Refused => "refused",
        }
    }

    /// Returns the identity, or the code under which the login ends.
    ///
    /// # Errors
    /// Every answer but `Found` and `Corrected`. The code is for the log. The page shows the
    /// general `RegisterAnswer`, so that it does not disclose who is deceased or refused.
    pub fn into_identity(self) -> Result<Identity, ErrorCode> {
        match self {
            Self::Found(identity) | Self::Corrected(identity) => Ok(*identity),
            Self::NotFound => Err(ErrorCode::RegisterNotFound),
            Self::MultipleMatches => Err(ErrorCode::RegisterSeveral),
            Self::Deceased => Err(ErrorCode::RegisterDeceased),
            Self::Refused => Err(ErrorCode::RegisterRefused),
        }
    }
}

/// Error of a query. It has no personal data, so it can be logged.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum RegisterError {
    /// The register can't be reached, or answers with an error status.
    #[error("the register does not answer: {0}")]
    Unavailable(String),
    /// The circuit breaker is open.
    #[error("the register is not queried: the circuit is open after several failures")]
    CircuitOpen,
    /// Too many queries are running.
    #[error("the register is not queried: too many queries are running (see register.http.calls)")]
    Busy,
    /// The answer breaks docs/register.openapi.yaml.
    #[error("the register's answer breaks its contract: {0}")]
    Contract(String),
    /// The answer breaks the rules of identity claims.
    #[error("the register's answer breaks the rules of an identity: {0}")]
    Identity(#[from] IdentityError),
}

impl RegisterError {
    /// Returns the label for metrics and logs.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::CircuitOpen => "circuit_open",
            Self::Busy => "busy",
            Self::Contract(_) => "contract",
            Self::Identity(_) => "identity",
        }
    }

    /// Returns the error code of the login.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Unavailable(_) | Self::CircuitOpen => ErrorCode::RegisterUnavailable,
            Self::Busy => ErrorCode::RegisterBusy,
            Self::Contract(_) => ErrorCode::RegisterContract,
            Self::Identity(_) => ErrorCode::RegisterIdentity,
        }
    }

    /// Returns whether a query was sent.
    pub const fn was_sent(&self) -> bool {
        match self {
            Self::CircuitOpen | Self::Busy => false,
            Self::Unavailable(_) | Self::Contract(_) | Self::Identity(_) => true,
        }
    }
}

/// Register of natural persons.
#[async_trait]
pub trait Register: Send + Sync {
    /// Looks up one person, within [`ANSWER_TIMEOUT`]. Sends `support_id` along, for both logs.
    ///
    /// # Errors
    /// Any [`RegisterError`].
    async fn identify(
        &self,
        pivot: &Identity,
        support_id: &SupportId,
    ) -> Result<RegisterAnswer, RegisterError>;

    /// Returns a problem and its fix for the operator, without a call.
    fn warning(&self) -> Option<CheckFinding> {
        None
    }

    /// Takes over changes of what the register was loaded from. Called at each reload of the
    /// configuration.
    async fn refresh(&self) {}

    /// Checks that the register answers, without querying a person; for `check --online`.
    ///
    /// # Errors
    /// Any [`RegisterError`].
    async fn probe(&self) -> Result<(), RegisterError> {
        Ok(())
    }
}
