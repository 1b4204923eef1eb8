//! L2 · The national register of natural persons, asked with a pivot identity (decisions 7).
//!
//! Owns: how a register is asked and what its answers mean. Must not know: actors, stores, pages.

use async_trait::async_trait;

use crate::identity::Identity;

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

#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum RegisterFault {
    #[error("the register does not answer: {0}")]
    Unavailable(String),
    #[error("the register's answer breaks its contract: {0}")]
    Contract(String),
}

#[async_trait]
pub trait Register: Send + Sync {
    /// # Errors
    /// The register can't be asked, or answers nonsense.
    async fn identify(&self, pivot: &Identity) -> Result<Answer, RegisterFault>;
}
