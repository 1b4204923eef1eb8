//! A store for parts that are built before the store is opened.

use std::sync::{Arc, OnceLock};

use super::{Store, StoreError};

/// A store that is opened later. Until then nothing can be stored; that is also the case where a
/// configuration is only checked. All clones share the store.
#[derive(Clone, Default)]
pub struct LateStore(Arc<OnceLock<Arc<dyn Store>>>);

impl LateStore {
    /// Sets the store. A second call has no effect.
    pub fn set(&self, store: &Arc<dyn Store>) {
        let _already_set = self.0.set(Arc::clone(store));
    }

    /// Returns the store.
    ///
    /// # Errors
    /// `Unavailable` if it is not open yet.
    pub fn get(&self) -> Result<&dyn Store, StoreError> {
        let unavailable = || StoreError::Unavailable("the hub has not started".to_owned());
        self.0.get().map(Arc::as_ref).ok_or_else(unavailable)
    }
}

impl From<Arc<dyn Store>> for LateStore {
    fn from(store: Arc<dyn Store>) -> Self {
        Self(Arc::new(OnceLock::from(store)))
    }
}
