//! L2 · The national register of natural persons, asked with a pivot identity (decisions 7).
//!
//! Owns: how a register is asked and what its answers mean. Must not know: actors, stores, pages.

pub mod file;
pub mod http;

#[cfg(test)]
mod conformance;

use std::time::Duration;

use async_trait::async_trait;

use crate::identity::Identity;
use crate::identity::rules::IdentityFault;
use crate::ids::SupportId;
use crate::protocol::catalogue::ErrorCode;

/// The longest that a register may take to answer, whatever it needs to do for that (decisions 7).
pub const LIMIT: Duration = Duration::from_secs(6);

/// A register's word on one person.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// The register's own data; what the service provider gets.
    Found(Box<Identity>),
    /// As `Found`, but something asked was written differently there.
    Corrected(Box<Identity>),
    NotFound,
    Several,
    Deceased,
    Refused,
}

impl Answer {
    /// For metrics and logs.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Found(_) => "found",
            Self::Corrected(_) => "corrected",
            Self::NotFound => "not_found",
            Self::Several => "several",
            Self::Deceased => "deceased",
            Self::Refused => "refused",
        }
    }

    /// The register's identity, or the code under which the login ends.
    ///
    /// # Errors
    /// Every answer but `Found` and `Corrected`. The precise code is for the log: the page shows the family's
    /// `RegisterAnswer`, so that nobody learns there who is deceased or refused.
    pub fn into_identity(self) -> Result<Identity, ErrorCode> {
        match self {
            Self::Found(identity) | Self::Corrected(identity) => Ok(*identity),
            Self::NotFound => Err(ErrorCode::RegisterNotFound),
            Self::Several => Err(ErrorCode::RegisterSeveral),
            Self::Deceased => Err(ErrorCode::RegisterDeceased),
            Self::Refused => Err(ErrorCode::RegisterRefused),
        }
    }
}

/// Why there is no answer. Holds no value of a person's, so it can be logged.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum RegisterFault {
    #[error("the register does not answer: {0}")]
    Unavailable(String),
    #[error("the register is not asked, for it has not answered for a while")]
    BreakerOpen,
    #[error(
        "the register is not asked, for too many questions wait for it: see register.http.calls"
    )]
    Busy,
    #[error("the register's answer breaks its contract: {0}")]
    Contract(String),
    #[error("the register's answer breaks the rules of an identity: {0}")]
    Identity(#[from] IdentityFault),
}

impl RegisterFault {
    /// For metrics and logs.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::BreakerOpen => "breaker_open",
            Self::Busy => "busy",
            Self::Contract(_) => "contract",
            Self::Identity(_) => "identity",
        }
    }

    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Unavailable(_) | Self::BreakerOpen => ErrorCode::RegisterUnavailable,
            Self::Busy => ErrorCode::RegisterBusy,
            Self::Contract(_) => ErrorCode::RegisterContract,
            Self::Identity(_) => ErrorCode::RegisterIdentity,
        }
    }

    /// Whether a question went out at all.
    #[must_use]
    pub const fn was_asked(&self) -> bool {
        match self {
            Self::BreakerOpen | Self::Busy => false,
            Self::Unavailable(_) | Self::Contract(_) | Self::Identity(_) => true,
        }
    }
}

#[async_trait]
pub trait Register: Send + Sync {
    /// Answers within [`LIMIT`]. `support_id` goes with the question, so that both sides' logs speak of the same.
    ///
    /// # Errors
    /// The register can't be asked, or answers nonsense.
    async fn identify(
        &self,
        pivot: &Identity,
        support_id: &SupportId,
    ) -> Result<Answer, RegisterFault>;

    /// What an operator should know of it now, with the mend; it is known already, and nothing is waited for.
    fn complaint(&self) -> Option<String> {
        None
    }

    /// Whether the register can be asked, without asking about anybody: for `check --online`.
    ///
    /// # Errors
    /// As `identify`.
    async fn probe(&self) -> Result<(), RegisterFault> {
        Ok(())
    }
}
