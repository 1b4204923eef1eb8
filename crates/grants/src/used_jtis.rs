//! Remembers the `jti` of each assertion, DPoP proof and request object that was used, until the
//! token has expired, so that an intercepted one can't be replayed on any hub.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::store_quota::ClientStoreQuota;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;
use passerelle_store::{NewRecord, RecordKey, Store, StoreError, Usage};

/// Records of used `jti`, and the share that each client has of them: a client that floods the hub
/// with valid tokens must not exhaust the store.
pub struct UsedJtis {
    store: Arc<dyn Store>,
    quota: ClientStoreQuota,
    /// Unix milliseconds since which the store knows every used token.
    known_since: AtomicU64,
}

/// The `jti` of a token that is being used.
#[derive(Clone, Debug)]
pub(super) struct UsedJti {
    pub key: RecordKey,
    /// Afterwards the token is rejected as expired.
    pub until: Timestamp,
}

impl UsedJtis {
    /// Creates the records. A client has half of the store's capacity, and all registered clients
    /// together have the same.
    pub fn new(store: Arc<dyn Store>, capacity: usize) -> Self {
        let half = Usage { records: capacity.div_ceil(2), bytes: usize::MAX };
        Self { store, quota: ClientStoreQuota::new(half), known_since: AtomicU64::new(0) }
    }

    /// Records that the store was empty at `start`: a token issued earlier may have been used
    /// before (RFC 7523 §3, replay).
    pub fn set_known_since(&self, start: Timestamp) {
        self.known_since.store(start.millis(), Ordering::Relaxed);
    }

    /// Returns true if a token of this time may have been used before the store knew of it.
    pub(super) fn may_have_forgotten(&self, issued_at: Timestamp) -> bool {
        let known_since = Timestamp::from_millis(self.known_since.load(Ordering::Relaxed));
        issued_at.seconds() < known_since.seconds()
    }

    /// Returns whether the client may use another token. Checked before the store, whose capacity
    /// is shared by all clients.
    pub(super) fn has_capacity(&self, client_id: &ClientId, now: Timestamp) -> bool {
        self.quota.has_capacity(client_id, 0, now)
    }

    /// Records a use, with a value that [`Self::find`] returns.
    ///
    /// # Errors
    /// `Exists` if the token was used before; otherwise the error of the store.
    pub(super) async fn insert(
        &self,
        client_id: &ClientId,
        used: &UsedJti,
        value: Vec<u8>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.store.insert(used.key.clone(), NewRecord::new(value, used.until), now).await?;
        self.quota.reserve(client_id, 0, used.until, now);
        Ok(())
    }

    /// Returns the value of a use; `None` if the token was not used.
    ///
    /// # Errors
    /// `Unavailable`.
    pub(super) async fn find(
        &self,
        used: &UsedJti,
        now: Timestamp,
    ) -> Result<Option<Arc<[u8]>>, StoreError> {
        Ok(self.store.load(&used.key, now).await?.map(|record| record.value))
    }
}
