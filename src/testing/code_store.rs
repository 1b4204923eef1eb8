//! A store of login page codes in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use crate::connector::one_time_code::{CodeStore, CodeStoreError};
use crate::env::Timestamp;

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
