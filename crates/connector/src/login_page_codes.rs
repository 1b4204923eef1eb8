//! One-time codes for kinds whose login page the hub serves: they carry the login result to the
//! callback, like an authorization code (RFC 6749 §4.1.2; RFC 9700 §4.5).
//!
//! A code works once, within a minute, for one attempt at one connector. The callback may arrive at
//! another node, so values are in the hub's store, which encrypts those that leave the process. Keys reveal
//! nothing.

use std::marker::PhantomData;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::ConnectorError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::ConnectorId;
use passerelle_store::{LateStore, NewRecord, RecordKey, RecordKind, StoreError, TakeOutcome};

const CODE_LIFETIME: Duration = Duration::from_secs(60);

/// How long a used code is remembered, so that a repeated store call finds its own result.
const SPENT_CODE_RETENTION: Duration = Duration::from_secs(10);

impl From<StoreError> for ConnectorError {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::Full => ErrorCode::IdpBusy,
            StoreError::Exists | StoreError::Revoked | StoreError::Unavailable(_) => {
                ErrorCode::StoreUnavailable
            }
        };
        Self::new(code, format!("the result of the login can't be stored: {error}"))
    }
}

/// One-time codes of one connector.
pub struct LoginPageCodes<T> {
    connector: ConnectorId,
    store: LateStore,
    record_kind: &'static RecordKind,
    values: PhantomData<fn(T) -> T>,
}

#[derive(Serialize, Deserialize)]
struct StoredCode<S, T> {
    /// `state` of the attempt for which the code was issued.
    state: S,
    value: T,
}

impl<T: Serialize + DeserializeOwned> LoginPageCodes<T> {
    /// Returns the codes of `connector`, kept in `store`.
    pub fn new(connector: &ConnectorId, store: LateStore) -> Self {
        Self::with_record_kind(RecordKind::LOGIN_PAGE_CODE, connector, store)
    }

    /// Returns the codes of `connector`, in records with a capacity of their own: for values that
    /// anyone can send, or that are large.
    pub fn with_record_kind(
        record_kind: &'static RecordKind,
        connector: &ConnectorId,
        store: LateStore,
    ) -> Self {
        Self { connector: connector.clone(), store, record_kind, values: PhantomData }
    }

    /// Stores a value for the attempt with this `state`, and returns its code.
    ///
    /// # Errors
    /// Returns an error if the value was not stored.
    pub async fn issue(&self, state: &str, value: &T, env: &Env) -> Result<String, StoreError> {
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
    ) -> Result<String, StoreError> {
        let (code, now) = (env.entropy().token(), env.now());
        let bytes = serde_json::to_vec(&StoredCode { state, value })
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let draft = NewRecord::new(bytes, now + lifetime);
        self.store.get()?.insert(self.record_key(&code), draft, now).await?;
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
        let (store, key) = (self.store.get()?, self.record_key(code));
        let taken = store.take(&key, Vec::new(), now + SPENT_CODE_RETENTION, now).await?;
        let TakeOutcome::Taken(record) = taken else { return Err(rejected()) };
        // Redis keeps the taken record behind the tombstone, and it contains an identity. If the
        // removal fails, it expires.
        let _removed = store.remove(&key).await;
        let stored: StoredCode<String, T> =
            serde_json::from_slice(&record.value).map_err(|_| rejected())?;
        if stored.state == state { Ok(stored.value) } else { Err(rejected()) }
    }

    /// Includes the connector, as all connectors share the store: a code must not work at a
    /// connector with a higher level.
    fn record_key(&self, code: &str) -> RecordKey {
        let name = digest::sha256_base64url(&format!("{}\n{code}", self.connector));
        RecordKey { kind: self.record_kind, name: name.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};

    use super::*;
    use crate::testing::connectors::store_with;
    use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
    use passerelle_store::testing::store_conformance::ample_capacities;

    fn env() -> (Arc<ManualClock>, Env) {
        let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1000)));
        (Arc::clone(&clock), Env::new(clock as _, Arc::new(SeededEntropy::new(1))))
    }

    const REJECTED: Result<u32, ErrorCode> = Err(ErrorCode::IdpCodeRefused);

    async fn redeem(
        codes: &LoginPageCodes<u32>,
        code: &str,
        state: &str,
        env: &Env,
    ) -> Result<u32, ErrorCode> {
        codes.redeem(code, state, env.now()).await.map_err(|error| error.code)
    }

    #[tokio::test]
    async fn a_code_works_once_in_its_minute_for_its_own_attempt() {
        let (clock, env) = env();
        let codes = LoginPageCodes::new(&"one".into(), store_with(ample_capacities()));
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
        let store = store_with(ample_capacities());
        let (low, high) = (
            LoginPageCodes::new(&"low".into(), store.clone()),
            LoginPageCodes::new(&"high".into(), store),
        );
        let code = low.issue("s1", &1, &env).await.unwrap();
        assert_eq!(redeem(&high, &code, "s1", &env).await, REJECTED);
        assert_eq!(
            redeem(&low, &code, "s1", &env).await,
            Ok(1),
            "an attempt elsewhere does not use up the code"
        );
    }

    #[tokio::test]
    async fn a_code_presented_to_two_hubs_at_once_is_used_at_one() {
        let (_, env) = env();
        let codes = Arc::new(LoginPageCodes::new(&"one".into(), store_with(ample_capacities())));
        for round in 0..500 {
            let code = codes.issue("s1", &1_u32, &env).await.unwrap();
            let start = Arc::new(Barrier::new(2));
            let redeeming = || {
                let runtime = tokio::runtime::Handle::current();
                let (codes, code, env) = (Arc::clone(&codes), code.clone(), env.clone());
                let start = Arc::clone(&start);
                tokio::task::spawn_blocking(move || {
                    start.wait();
                    runtime.block_on(redeem(&codes, &code, "s1", &env)).is_ok()
                })
            };
            let (one, other) = (redeeming(), redeeming());
            let won = [one.await.unwrap(), other.await.unwrap()].into_iter().filter(|won| *won);
            assert_eq!(won.count(), 1, "round {round}");
        }
    }

    #[tokio::test]
    async fn without_a_store_codes_fail_and_unused_codes_take_bounded_memory() {
        let (clock, env) = env();
        let away = LoginPageCodes::new(&"one".into(), LateStore::default());
        assert!(matches!(away.issue("s1", &1_u32, &env).await, Err(StoreError::Unavailable(_))));
        assert_eq!(redeem(&away, "code", "s1", &env).await, Err(ErrorCode::StoreUnavailable));
        let one_code = ample_capacities().with_records(RecordKind::LOGIN_PAGE_CODE, 1);
        let codes = LoginPageCodes::new(&"one".into(), store_with(one_code));
        let code = codes.issue("s1", &1, &env).await.unwrap();
        assert_eq!(codes.issue("s1", &2, &env).await, Err(StoreError::Full));
        assert_eq!(redeem(&codes, &code, "s1", &env).await, Ok(1));
        clock.advance(SPENT_CODE_RETENTION);
        codes.issue("s1", &2, &env).await.expect("its capacity is free again");
    }
}
