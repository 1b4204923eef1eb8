//! Codes of our own, for the kinds whose login page is the hub's: what was proven there waits for its callback, as behind
//! any identity provider's authorization code (RFC 6749, 4.1.2; RFC 9700, 4.5).
//!
//! Owns: that a code works once, within its minute, for the attempt and the connector that it was made for, and the port to
//! where it waits, for the callback may come to another node. Must not know: what it stands for; which store that is.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::ConnectorFault;
use crate::digest;
use crate::env::{Env, Timestamp};
use crate::ids::ConnectorId;
use crate::protocol::catalogue::ErrorCode;

const LIFE: Duration = Duration::from_secs(60);

/// Where the values of codes wait; nodes that serve the same logins share it. Values hold identities: what leaves the
/// process is sealed there. Names tell nothing.
#[async_trait]
pub trait CodeStore: Send + Sync {
    /// # Errors
    /// Nothing is kept, as far as can be known.
    async fn keep(
        &self,
        name: &str,
        value: Vec<u8>,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), CodeFault>;

    /// Of any number of callers at once, wherever, one gets it; the others `None`, as for what never was or is over.
    ///
    /// # Errors
    /// `Away`; it may be gone.
    async fn take(&self, name: &str, now: Timestamp) -> Result<Option<Vec<u8>>, CodeFault>;
}

/// For whoever builds connectors to look at them, and lets nobody log in.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

#[async_trait]
impl CodeStore for Nowhere {
    async fn keep(&self, _: &str, _: Vec<u8>, _: Timestamp, _: Timestamp) -> Result<(), CodeFault> {
        Err(CodeFault::Away("nobody logs in here".to_owned()))
    }

    async fn take(&self, _: &str, _: Timestamp) -> Result<Option<Vec<u8>>, CodeFault> {
        Ok(None)
    }
}

/// Why no code was made, or none can be looked up.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum CodeFault {
    /// No code is made while so many wait: try again in a minute.
    #[error("too many codes wait to be used")]
    Full,
    #[error("where codes wait can not be reached: {0}")]
    Away(String),
}

impl From<CodeFault> for ConnectorFault {
    fn from(fault: CodeFault) -> Self {
        let code = match fault {
            CodeFault::Full => ErrorCode::IdpBusy,
            CodeFault::Away(_) => ErrorCode::StoreUnavailable,
        };
        Self::new(code, fault.to_string())
    }
}

/// The codes of one connector.
pub struct OneTimeCodes<T> {
    connector: ConnectorId,
    store: Arc<dyn CodeStore>,
    values: PhantomData<fn(T) -> T>,
}

#[derive(Serialize, Deserialize)]
struct Waiting<S, T> {
    /// Of the attempt that the code was made for.
    state: S,
    value: T,
}

impl<T: Serialize + DeserializeOwned> OneTimeCodes<T> {
    pub fn new(connector: &ConnectorId, store: Arc<dyn CodeStore>) -> Self {
        Self { connector: connector.clone(), store, values: PhantomData }
    }

    /// Keeps a value under a fresh code, for the attempt with this `state`.
    ///
    /// # Errors
    /// Nothing is kept.
    pub async fn keep(&self, state: &str, value: &T, env: &Env) -> Result<String, CodeFault> {
        let (code, now) = (env.entropy().token(), env.now());
        let bytes = serde_json::to_vec(&Waiting { state, value })
            .map_err(|error| CodeFault::Away(error.to_string()))?;
        self.store.keep(&self.name(&code), bytes, now + LIFE, now).await?;
        Ok(code)
    }

    /// Takes what a code stands for; whatever it was worth, it is worth nothing afterwards.
    ///
    /// # Errors
    /// `IdpCodeRefused`: it stands for nothing. `StoreUnavailable`: nobody can tell.
    pub async fn take(&self, code: &str, state: &str, now: Timestamp) -> Result<T, ConnectorFault> {
        let refused = || {
            ConnectorFault::new(
                ErrorCode::IdpCodeRefused,
                "the code is unknown, used, expired or another attempt's",
            )
        };
        let bytes = self.store.take(&self.name(code), now).await?.ok_or_else(refused)?;
        let found: Waiting<String, T> = serde_json::from_slice(&bytes).map_err(|_| refused())?;
        if found.state == state { Ok(found.value) } else { Err(refused()) }
    }

    /// All connectors share the store: a code of one must be nothing at another, which may prove a higher level.
    fn name(&self, code: &str) -> String {
        digest::base64url(&digest::sha256(format!("{}\n{code}", self.connector).as_bytes()))
    }
}

#[cfg(test)]
pub mod in_memory {
    use std::collections::HashMap;
    use std::sync::Mutex;

    use super::*;

    /// For tests of connectors; those of the stores have their own.
    #[derive(Default)]
    pub struct InMemory(Mutex<HashMap<String, (Vec<u8>, Timestamp)>>);

    #[async_trait]
    impl CodeStore for InMemory {
        async fn keep(
            &self,
            name: &str,
            value: Vec<u8>,
            until: Timestamp,
            _: Timestamp,
        ) -> Result<(), CodeFault> {
            self.0.lock().unwrap().insert(name.to_owned(), (value, until));
            Ok(())
        }

        async fn take(&self, name: &str, now: Timestamp) -> Result<Option<Vec<u8>>, CodeFault> {
            let found = self.0.lock().unwrap().remove(name);
            Ok(found.filter(|(_, until)| now < *until).map(|(value, _)| value))
        }
    }

    pub fn codes() -> Arc<dyn CodeStore> {
        Arc::new(InMemory::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{HandClock, SeededEntropy};

    fn env() -> (Arc<HandClock>, Env) {
        let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1000)));
        (Arc::clone(&clock), Env::new(clock as _, Arc::new(SeededEntropy::new(1))))
    }

    const REFUSED: Result<u32, ErrorCode> = Err(ErrorCode::IdpCodeRefused);

    async fn taken(
        codes: &OneTimeCodes<u32>,
        code: &str,
        state: &str,
        env: &Env,
    ) -> Result<u32, ErrorCode> {
        codes.take(code, state, env.now()).await.map_err(|fault| fault.code)
    }

    #[tokio::test]
    async fn a_code_works_once_in_its_minute_for_its_own_attempt() {
        let (clock, env) = env();
        let codes = OneTimeCodes::new(&"one".into(), in_memory::codes());
        let code = codes.keep("s1", &1, &env).await.unwrap();
        assert_eq!(taken(&codes, "guess", "s1", &env).await, REFUSED);
        assert_eq!(
            (taken(&codes, &code, "s1", &env).await, taken(&codes, &code, "s1", &env).await),
            (Ok(1), REFUSED)
        );
        let stolen = codes.keep("s1", &2, &env).await.unwrap();
        assert_eq!(
            (taken(&codes, &stolen, "s2", &env).await, taken(&codes, &stolen, "s1", &env).await),
            (REFUSED, REFUSED)
        );
        let late = codes.keep("s1", &3, &env).await.unwrap();
        clock.advance(LIFE);
        assert_eq!(taken(&codes, &late, "s1", &env).await, REFUSED);
    }

    #[tokio::test]
    async fn a_code_of_one_provider_is_nothing_at_another_that_proves_more() {
        let (_, env) = env();
        let store = in_memory::codes();
        let (low, high) = (
            OneTimeCodes::new(&"low".into(), Arc::clone(&store)),
            OneTimeCodes::new(&"high".into(), store),
        );
        let code = low.keep("s1", &1, &env).await.unwrap();
        assert_eq!(taken(&high, &code, "s1", &env).await, REFUSED);
        assert_eq!(
            taken(&low, &code, "s1", &env).await,
            Ok(1),
            "somebody else's try costs the owner nothing"
        );
    }
}
