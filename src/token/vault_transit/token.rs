//! The token of the hub at the Vault server, which an agent renews in its file.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::ids::Secret;
use crate::token::device_credential::DeviceCredential;

/// How old a reading of the file may be.
const MAX_AGE: Duration = Duration::from_secs(5);

/// A token that is read again while the hub runs.
pub(super) struct RenewedToken {
    credential: DeviceCredential,
    last_reading: Mutex<Option<(Instant, Secret<String>)>>,
}

impl RenewedToken {
    pub fn new(credential: DeviceCredential) -> Self {
        Self { credential, last_reading: Mutex::default() }
    }

    /// Returns the token, which is read again if the last reading is old.
    pub async fn current(&self) -> Secret<String> {
        let last = self.last_reading.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match last {
            Some((at, token)) if !self.credential.is_in_file() || at.elapsed() < MAX_AGE => token,
            Some(_) | None => self.read_again().await,
        }
    }

    /// Reads the token, on a thread that may block.
    pub async fn read_again(&self) -> Secret<String> {
        let credential = self.credential.clone();
        let reading = tokio::task::spawn_blocking(move || credential.read()).await;
        // Fails only while the runtime ends.
        let token = reading.unwrap_or_else(|_| Secret::new(String::new()));
        let mut last = self.last_reading.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((Instant::now(), token.clone()));
        token
    }
}
