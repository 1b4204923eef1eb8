//! L2 · The national register of natural persons, asked with a pivot identity (decisions 7).
//!
//! Owns: how a register is asked and what its answers mean. Must not know: actors, stores, pages.

pub mod file;

use async_trait::async_trait;

use crate::identity::Identity;
use crate::protocol::catalogue::ErrorCode;

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

#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum RegisterFault {
    #[error("the register does not answer: {0}")]
    Unavailable(String),
    #[error("the register's answer breaks its contract: {0}")]
    Contract(String),
}

impl RegisterFault {
    /// For metrics and logs.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::Contract(_) => "contract",
        }
    }

    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Unavailable(_) => ErrorCode::RegisterUnavailable,
            Self::Contract(_) => ErrorCode::RegisterContract,
        }
    }
}

#[async_trait]
pub trait Register: Send + Sync {
    /// # Errors
    /// The register can't be asked, or answers nonsense.
    async fn identify(&self, pivot: &Identity) -> Result<Answer, RegisterFault>;
}
