//! The port to one-time codes by mail and to the addresses that persons have confirmed. An optional
//! crate implements it; a hub without the crate, or without its table, has none.

use async_trait::async_trait;

use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ConnectorId, Secret, Subject, SupportId};

/// A person at an identity provider: what a confirmed address is stored by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MailUser {
    pub connector: ConnectorId,
    /// Keyed digest of the account with `subject = "provider"`, otherwise of the person. No service
    /// provider receives it as `sub`.
    pub person: Subject,
}

/// A one-time code for one login.
#[derive(Clone, Debug)]
pub struct MailCode {
    pub user: MailUser,
    pub address: Secret<String>,
    /// Six digits.
    pub code: Secret<String>,
    /// Tag of a language of the hub.
    pub language: String,
    /// Display name of the service provider, in that language. Not trusted markup.
    pub service: String,
    /// When the code expires, at the latest with its login. It must not be sent later.
    pub expires_at: Timestamp,
    pub support_id: SupportId,
}

/// Error of a [`MailCodes`].
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum MailCodeError {
    /// The person or the address got too many mails, or the person entered too many wrong codes.
    #[error("the person gets no more codes for now")]
    Limited,
    /// Mail servers don't transport the address, for example because it is not ASCII (RFC 6531).
    #[error("no mail can be sent to the address")]
    AddressUnusable,
    /// The store does not answer or is full, or the queue is full.
    #[error("codes can't be sent or addresses can't be read now")]
    Unavailable,
}

/// Sends one-time codes, and remembers confirmed addresses.
#[async_trait]
pub trait MailCodes: Send + Sync {
    /// Checks that mail can be sent to the address.
    ///
    /// # Errors
    /// `AddressUnusable`.
    fn check_address(&self, address: &Secret<String>) -> Result<(), MailCodeError>;

    /// Returns the address to which this person's codes go, if one is stored.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn stored_address(
        &self,
        user: &MailUser,
    ) -> Result<Option<Secret<String>>, MailCodeError>;

    /// Stores the person's first address, or postpones the expiry of the same address. Another
    /// stored address stays: only an operator can remove it, so that a thief of the account at the
    /// identity provider can't replace it.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn store_address(
        &self,
        user: &MailUser,
        address: &Secret<String>,
    ) -> Result<(), MailCodeError>;

    /// Stores the address that the right code has confirmed, as [`Self::store_address`] does.
    ///
    /// # Errors
    /// `Limited` if the person has entered too many wrong codes, so that guesses in parallel logins
    /// gain nothing; `Unavailable`.
    async fn confirm_address(
        &self,
        user: &MailUser,
        address: &Secret<String>,
    ) -> Result<(), MailCodeError>;

    /// Queues the code. Returns before it is delivered.
    ///
    /// # Errors
    /// `Limited`, also if the person has entered too many wrong codes
    /// ([`Self::record_wrong_code`]); `AddressUnusable`; `Unavailable`.
    async fn send_code(&self, code: MailCode) -> Result<(), MailCodeError>;

    /// Counts a wrong code of this person, for all hubs, for a day. After
    /// [`MAX_WRONG_CODES_PER_DAY`] of them no code is sent and none is right until they are a day old.
    ///
    /// # Errors
    /// `Limited` for each one after those; `Unavailable`.
    async fn record_wrong_code(&self, user: &MailUser) -> Result<(), MailCodeError>;
}

/// Maximum number of wrong codes of one person in 24 hours, after which no code is sent or right. A million
/// codes exist, so that a day of guesses succeeds with a probability of 0.00005.
pub const MAX_WRONG_CODES_PER_DAY: u32 = 50;
