//! Interface to the store of the requests that wallets have. A wallet may fetch a request from one
//! node and answer it at another, so they are in a store that all nodes share.

use async_trait::async_trait;

use super::one_time_code::{CodeStoreError, NoCodeStore};
use passerelle_protocol::env::Timestamp;

/// Store of requests, shared by all hubs. Values contain private keys and identities, so a store
/// encrypts those that leave the process. Ids reveal nothing.
#[async_trait]
pub trait WalletRequestStore: Send + Sync {
    /// Stores a request until `expires_at`. Has no effect if the id is stored already.
    ///
    /// # Errors
    /// Returns an error if the request was not stored, as far as the store can know.
    async fn insert_request(
        &self,
        id: &str,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<(), CodeStoreError>;

    /// Returns a request; `None` if it is unknown or expired.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn load(
        &self,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<StoredWalletRequest>, CodeStoreError>;

    /// Replaces a request if it has not changed since it was loaded. Of several concurrent callers
    /// at most one gets true.
    ///
    /// # Errors
    /// `Unavailable`. The value may have been replaced nevertheless.
    async fn replace(
        &self,
        id: &str,
        loaded: &StoredWalletRequest,
        value: Vec<u8>,
        now: Timestamp,
    ) -> Result<bool, CodeStoreError>;

    /// Removes a request, if there is one.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn remove(&self, id: &str) -> Result<(), CodeStoreError>;
}

/// A stored request.
#[derive(Clone, Debug)]
pub struct StoredWalletRequest {
    pub value: Vec<u8>,
    pub version: u64,
    pub expires_at: Timestamp,
}

/// For connectors that are only checked.
#[async_trait]
impl WalletRequestStore for NoCodeStore {
    async fn insert_request(
        &self,
        _: &str,
        _: Vec<u8>,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<(), CodeStoreError> {
        Err(CodeStoreError::Unavailable("logins are not possible in a check".to_owned()))
    }

    async fn load(
        &self,
        _: &str,
        _: Timestamp,
    ) -> Result<Option<StoredWalletRequest>, CodeStoreError> {
        Ok(None)
    }

    async fn replace(
        &self,
        _: &str,
        _: &StoredWalletRequest,
        _: Vec<u8>,
        _: Timestamp,
    ) -> Result<bool, CodeStoreError> {
        Ok(false)
    }

    async fn remove(&self, _: &str) -> Result<(), CodeStoreError> {
        Ok(())
    }
}
