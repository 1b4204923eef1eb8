//! One-time codes for kinds whose login page the hub serves: they carry the login result to the
//! callback, like an authorization code (RFC 6749 §4.1.2; RFC 9700 §4.5).
//!
//! A code works once, within a minute, for one attempt at one connector. The callback may arrive at
//! another node, so values are in a shared store behind [`CodeStore`].

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::ConnectorError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::ConnectorId;

const CODE_LIFETIME: Duration = Duration::from_secs(60);

/// Store of the values behind codes, shared by all hubs. Values contain identities, so a store
/// encrypts those that leave the process. Keys reveal nothing.
#[async_trait]
pub trait CodeStore: Send + Sync {
    /// Stores a value until `until`.
    ///
    /// # Errors
    /// Returns an error if the value was not stored, as far as the store can know.
    async fn insert(
        &self,
        key: &str,
        value: Vec<u8>,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), CodeStoreError>;

    /// Removes and returns a value. At most one concurrent caller succeeds; returns `None` if the
    /// key is unknown, expired or already taken.
    ///
    /// # Errors
    /// `Unavailable`. The value may have been removed nevertheless.
    async fn take(&self, key: &str, now: Timestamp) -> Result<Option<Vec<u8>>, CodeStoreError>;
}

/// Code store that rejects every code, for connectors that are only checked.
#[derive(Clone, Copy, Debug)]
pub struct NoCodeStore;

#[async_trait]
impl CodeStore for NoCodeStore {
    async fn insert(
        &self,
        _: &str,
        _: Vec<u8>,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<(), CodeStoreError> {
        Err(CodeStoreError::Unavailable("logins are not possible in a check".to_owned()))
    }

    async fn take(&self, _: &str, _: Timestamp) -> Result<Option<Vec<u8>>, CodeStoreError> {
        Ok(None)
    }
}

/// Error of a code store.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum CodeStoreError {
    /// Too many codes are stored; a retry in a minute may succeed.
    #[error("too many unused one-time codes are stored")]
    Full,
    #[error("the store of one-time codes is unavailable: {0}")]
    Unavailable(String),
}

impl From<CodeStoreError> for ConnectorError {
    fn from(error: CodeStoreError) -> Self {
        let code = match error {
            CodeStoreError::Full => ErrorCode::IdpBusy,
            CodeStoreError::Unavailable(_) => ErrorCode::StoreUnavailable,
        };
        Self::new(code, error.to_string())
    }
}

/// One-time codes of one connector.
pub struct OneTimeCodes<T> {
    connector: ConnectorId,
    store: Arc<dyn CodeStore>,
    values: PhantomData<fn(T) -> T>,
}

#[derive(Serialize, Deserialize)]
struct StoredCode<S, T> {
    /// `state` of the attempt for which the code was issued.
    state: S,
    value: T,
}

impl<T: Serialize + DeserializeOwned> OneTimeCodes<T> {
    /// Returns the codes of `connector`, kept in `store`.
    pub fn new(connector: &ConnectorId, store: Arc<dyn CodeStore>) -> Self {
        Self { connector: connector.clone(), store, values: PhantomData }
    }

    /// Stores a value for the attempt with this `state`, and returns its code.
    ///
    /// # Errors
    /// Returns an error if the value was not stored.
    pub async fn issue(&self, state: &str, value: &T, env: &Env) -> Result<String, CodeStoreError> {
        self.issue_for(CODE_LIFETIME, state, value, env).await
    }

    /// Issues a code as [`Self::issue`], for another lifetime.
    ///
    /// # Errors
    /// Returns an error if the value was not stored.
    pub async fn issue_for(
        &self,
        lifetime: Duration,
        state: &str,
        value: &T,
        env: &Env,
    ) -> Result<String, CodeStoreError> {
        let (code, now) = (env.entropy().token(), env.now());
        let bytes = serde_json::to_vec(&StoredCode { state, value })
            .map_err(|error| CodeStoreError::Unavailable(error.to_string()))?;
        self.store.insert(&self.storage_key(&code), bytes, now + lifetime, now).await?;
        Ok(code)
    }

    /// Returns the value of a code, and invalidates the code.
    ///
    /// # Errors
    /// `IdpCodeRefused` if the code is invalid, `StoreUnavailable` if the store can't be reached.
    pub async fn redeem(
        &self,
        code: &str,
        state: &str,
        now: Timestamp,
    ) -> Result<T, ConnectorError> {
        let rejected = || {
            ConnectorError::new(
                ErrorCode::IdpCodeRefused,
                "the code is unknown, used, expired or from another attempt",
            )
        };
        let bytes = self.store.take(&self.storage_key(code), now).await?.ok_or_else(rejected)?;
        let stored: StoredCode<String, T> =
            serde_json::from_slice(&bytes).map_err(|_| rejected())?;
        if stored.state == state { Ok(stored.value) } else { Err(rejected()) }
    }

    /// Includes the connector, as all connectors share the store: a code must not work at a
    /// connector with a higher level.
    fn storage_key(&self, code: &str) -> String {
        digest::base64url(&digest::sha256(format!("{}\n{code}", self.connector).as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::code_store::code_store;
    use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

    fn env() -> (Arc<ManualClock>, Env) {
        let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1000)));
        (Arc::clone(&clock), Env::new(clock as _, Arc::new(SeededEntropy::new(1))))
    }

    const REJECTED: Result<u32, ErrorCode> = Err(ErrorCode::IdpCodeRefused);

    async fn redeem(
        codes: &OneTimeCodes<u32>,
        code: &str,
        state: &str,
        env: &Env,
    ) -> Result<u32, ErrorCode> {
        codes.redeem(code, state, env.now()).await.map_err(|error| error.code)
    }

    #[tokio::test]
    async fn a_code_works_once_in_its_minute_for_its_own_attempt() {
        let (clock, env) = env();
        let codes = OneTimeCodes::new(&"one".into(), code_store());
        let code = codes.issue("s1", &1, &env).await.unwrap();
        assert_eq!(redeem(&codes, "guess", "s1", &env).await, REJECTED);
        assert_eq!(
            (redeem(&codes, &code, "s1", &env).await, redeem(&codes, &code, "s1", &env).await),
            (Ok(1), REJECTED)
        );
        let stolen = codes.issue("s1", &2, &env).await.unwrap();
        assert_eq!(
            (redeem(&codes, &stolen, "s2", &env).await, redeem(&codes, &stolen, "s1", &env).await),
            (REJECTED, REJECTED)
        );
        let late = codes.issue("s1", &3, &env).await.unwrap();
        clock.advance(CODE_LIFETIME);
        assert_eq!(redeem(&codes, &late, "s1", &env).await, REJECTED);
    }

    #[tokio::test]
    async fn a_code_of_one_connector_is_rejected_at_another_with_a_higher_level() {
        let (_, env) = env();
        let store = code_store();
        let (low, high) = (
            OneTimeCodes::new(&"low".into(), Arc::clone(&store)),
            OneTimeCodes::new(&"high".into(), store),
        );
        let code = low.issue("s1", &1, &env).await.unwrap();
        assert_eq!(redeem(&high, &code, "s1", &env).await, REJECTED);
        assert_eq!(
            redeem(&low, &code, "s1", &env).await,
            Ok(1),
            "an attempt elsewhere does not use up the code"
        );
    }
}
