//! Keeps the codes of the hub's own login pages, and the requests of its wallet pages, in its store.
//!
//! Connectors are built before the store is opened; until then no code can be saved.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;

use passerelle_connector::one_time_code::{CodeStore, CodeStoreError};
use passerelle_connector::wallet_request_store::{StoredWalletRequest, WalletRequestStore};
use passerelle_protocol::env::Timestamp;
use passerelle_store::{
    NewRecord, RecordKey, RecordKind, RecordVersion, Store, StoreError, TakeOutcome,
};

/// How long a used code is remembered, so that a repeated store call finds its own result.
const SPENT_CODE_RETENTION: Duration = Duration::from_secs(10);

/// A presentation request that was sent to a wallet, until its login continues.
pub(super) const WALLET_REQUEST: &RecordKind =
    &RecordKind::new("wallet_request", b'v', "wallet_requests", 2048);

/// Code store on top of the hub's [`Store`].
#[derive(Clone, Default)]
pub(super) struct StoreBackedPageState(Arc<OnceLock<Arc<dyn Store>>>);

impl StoreBackedPageState {
    /// Sets the store for all clones. A second call has no effect.
    pub fn set_store(&self, store: &Arc<dyn Store>) {
        let _already_set = self.0.set(Arc::clone(store));
    }

    fn store(&self) -> Result<&dyn Store, CodeStoreError> {
        self.0
            .get()
            .map(Arc::as_ref)
            .ok_or_else(|| CodeStoreError::Unavailable("the hub has not started".to_owned()))
    }
}

#[async_trait]
impl CodeStore for StoreBackedPageState {
    async fn insert(
        &self,
        name: &str,
        value: Vec<u8>,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), CodeStoreError> {
        let draft = NewRecord::new(value, until);
        self.store()?.insert(key(name), draft, now).await.map(drop).map_err(code_error)
    }

    async fn take(&self, name: &str, now: Timestamp) -> Result<Option<Vec<u8>>, CodeStoreError> {
        let (store, key) = (self.store()?, key(name));
        let taken = store.take(&key, Vec::new(), now + SPENT_CODE_RETENTION, now).await;
        match taken.map_err(code_error)? {
            TakeOutcome::Taken(record) => {
                // Redis keeps the taken record behind the tombstone, and it contains an identity.
                // If the removal fails, it expires.
                let _removed = store.remove(&key).await;
                Ok(Some(record.value.to_vec()))
            }
            TakeOutcome::AlreadyTaken(_) | TakeOutcome::Gone => Ok(None),
        }
    }
}

#[async_trait]
impl WalletRequestStore for StoreBackedPageState {
    async fn insert_request(
        &self,
        id: &str,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<(), CodeStoreError> {
        let draft = NewRecord::new(value, expires_at);
        match self.store()?.insert(request_key(id), draft, now).await {
            Ok(_) | Err(StoreError::Exists) => Ok(()),
            Err(error) => Err(code_error(error)),
        }
    }

    async fn load(
        &self,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<StoredWalletRequest>, CodeStoreError> {
        let record = self.store()?.load(&request_key(id), now).await.map_err(code_error)?;
        Ok(record.map(|record| StoredWalletRequest {
            value: record.value.to_vec(),
            version: record.version.0,
            expires_at: record.expires_at,
        }))
    }

    async fn replace(
        &self,
        id: &str,
        loaded: &StoredWalletRequest,
        value: Vec<u8>,
        now: Timestamp,
    ) -> Result<bool, CodeStoreError> {
        let version = RecordVersion(loaded.version);
        self.store()?
            .compare_and_set(&request_key(id), Some(version), value, loaded.expires_at, now)
            .await
            .map_err(code_error)
    }

    async fn remove(&self, id: &str) -> Result<(), CodeStoreError> {
        self.store()?.remove(&request_key(id)).await.map_err(code_error)
    }
}

fn request_key(id: &str) -> RecordKey {
    RecordKey { kind: WALLET_REQUEST, name: id.into() }
}

fn key(name: &str) -> RecordKey {
    RecordKey { kind: RecordKind::LOGIN_PAGE_CODE, name: name.into() }
}

fn code_error(error: StoreError) -> CodeStoreError {
    match error {
        StoreError::Full => CodeStoreError::Full,
        StoreError::Unavailable(why) => CodeStoreError::Unavailable(why),
        // Names are hashes of 256 fresh bits.
        StoreError::Exists | StoreError::Revoked => CodeStoreError::Unavailable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use passerelle_store::memory::MemoryStore;
    use passerelle_store::testing::store_conformance::{ample_capacities, at};

    fn opened(own_codes: usize) -> StoreBackedPageState {
        let codes = StoreBackedPageState::default();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(
            ample_capacities().with_records(RecordKind::LOGIN_PAGE_CODE, own_codes),
        ));
        codes.set_store(&store);
        codes
    }

    #[tokio::test]
    async fn a_code_presented_to_two_hubs_at_once_is_used_at_one() {
        let codes = opened(1000);
        for round in 0..500 {
            let name = round.to_string();
            codes.insert(&name, b"angela".to_vec(), at(60), at(0)).await.unwrap();
            let start = Arc::new(Barrier::new(2));
            let taking = || {
                let (codes, name, runtime) =
                    (codes.clone(), name.clone(), tokio::runtime::Handle::current());
                let start = Arc::clone(&start);
                tokio::task::spawn_blocking(move || {
                    start.wait();
                    runtime.block_on(codes.take(&name, at(1))).unwrap()
                })
            };
            let (one, other) = (taking(), taking());
            let won = [one.await.unwrap(), other.await.unwrap()].into_iter().flatten().count();
            assert_eq!(won, 1, "round {round}");
        }
    }

    #[tokio::test]
    async fn without_a_store_codes_fail_and_unused_codes_take_bounded_memory() {
        let away = StoreBackedPageState::default();
        assert!(matches!(
            away.insert("a", Vec::new(), at(60), at(0)).await,
            Err(CodeStoreError::Unavailable(_))
        ));
        assert!(matches!(away.take("a", at(0)).await, Err(CodeStoreError::Unavailable(_))));
        let codes = opened(1);
        codes.insert("a", Vec::new(), at(60), at(0)).await.unwrap();
        assert_eq!(codes.insert("b", Vec::new(), at(60), at(1)).await, Err(CodeStoreError::Full));
        assert_eq!(codes.take("a", at(1)).await, Ok(Some(Vec::new())));
        assert_eq!(
            codes.insert("b", Vec::new(), at(71), at(11)).await,
            Ok(()),
            "its capacity is free again"
        );
        assert_eq!(codes.take("b", at(71)).await, Ok(None), "the code has expired");
    }
}
