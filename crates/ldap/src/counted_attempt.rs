//! One attempt at a password: the counters that it was counted in, and what the directory said.

use std::time::Duration;

use super::failed_bind_limiter::CountedBind;
use super::password_attempts::PasswordAttempts;
use passerelle_connector::error::ConnectorError;
use passerelle_protocol::env::Timestamp;

/// Reason why a password was not verified.
#[derive(derive_more::From)]
pub(super) enum PasswordCheckError {
    RateLimited(Duration),
    #[from]
    Connector(ConnectorError),
}

/// Counters under which one attempt was counted.
pub(super) struct CountedAttempt<'t> {
    pub at: Timestamp,
    pub attempts: Vec<(&'t PasswordAttempts, String)>,
    pub bind: CountedBind,
    /// The user's bind was sent, and has no response.
    pub is_unanswered: bool,
    /// The account is locked at the directory.
    pub is_locked: bool,
    /// Why the directory refuses the account, whatever the password is.
    pub account_refusal: Option<ConnectorError>,
}

impl<'t> CountedAttempt<'t> {
    pub(crate) fn count(
        &mut self,
        attempts: &'t PasswordAttempts,
        key: &str,
    ) -> Result<(), PasswordCheckError> {
        attempts.count(key, self.at).map_err(PasswordCheckError::RateLimited)?;
        self.attempts.push((attempts, key.to_owned()));
        Ok(())
    }

    /// Returns how many more attempts the counters allow.
    pub(crate) fn attempts_left(&self) -> usize {
        let left =
            |(attempts, key): &(&PasswordAttempts, String)| attempts.attempts_left(key, self.at);
        self.attempts.iter().map(left).min().unwrap_or(usize::MAX)
    }

    pub(crate) fn refund(&self) {
        for (attempts, key) in &self.attempts {
            attempts.refund(key);
        }
    }
}
