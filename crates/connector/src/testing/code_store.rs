//! Stores of login page codes and wallet requests in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use crate::one_time_code::{CodeStore, CodeStoreError};
use crate::wallet_request_store::{StoredWalletRequest, WalletRequestStore};
use passerelle_protocol::env::Timestamp;

/// Code store for tests of connectors.
#[derive(Default)]
pub struct InMemoryCodeStore(Mutex<HashMap<String, (Vec<u8>, Timestamp)>>);

#[async_trait]
impl CodeStore for InMemoryCodeStore {
    async fn insert(
        &self,
        key: &str,
        value: Vec<u8>,
        until: Timestamp,
        _: Timestamp,
    ) -> Result<(), CodeStoreError> {
        self.0.lock().unwrap().insert(key.to_owned(), (value, until));
        Ok(())
    }

    async fn take(&self, key: &str, now: Timestamp) -> Result<Option<Vec<u8>>, CodeStoreError> {
        let found = self.0.lock().unwrap().remove(key);
        Ok(found.filter(|(_, until)| now < *until).map(|(value, _)| value))
    }
}

pub fn code_store() -> Arc<dyn CodeStore> {
    Arc::new(InMemoryCodeStore::default())
}

/// Store of wallet requests for tests of connectors.
#[derive(Default)]
pub struct InMemoryWalletRequests(Mutex<HashMap<String, StoredWalletRequest>>);

#[async_trait]
impl WalletRequestStore for InMemoryWalletRequests {
    async fn insert_request(
        &self,
        id: &str,
        value: Vec<u8>,
        expires_at: Timestamp,
        _: Timestamp,
    ) -> Result<(), CodeStoreError> {
        let request = StoredWalletRequest { value, version: 1, expires_at };
        self.0.lock().unwrap().entry(id.to_owned()).or_insert(request);
        Ok(())
    }

    async fn load(
        &self,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<StoredWalletRequest>, CodeStoreError> {
        let found = self.0.lock().unwrap().get(id).cloned();
        Ok(found.filter(|request| now < request.expires_at))
    }

    async fn replace(
        &self,
        id: &str,
        stored: &StoredWalletRequest,
        value: Vec<u8>,
        _: Timestamp,
    ) -> Result<bool, CodeStoreError> {
        let mut requests = self.0.lock().unwrap();
        let Some(found) = requests.get_mut(id) else { return Ok(false) };
        if found.version != stored.version {
            return Ok(false);
        }
        (found.value, found.version) = (value, found.version + 1);
        Ok(true)
    }

    async fn remove(&self, id: &str) -> Result<(), CodeStoreError> {
        self.0.lock().unwrap().remove(id);
        Ok(())
    }
}
