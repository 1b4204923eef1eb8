//! Records whose values are JSON: read, and changed atomically.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{MAX_UPDATE_ATTEMPTS, RecordKey, Store, StoreError};
use passerelle_protocol::env::Timestamp;

/// Value of a record.
pub trait StoredValue: Serialize + DeserializeOwned + Default + PartialEq + Clone {
    /// Returns when nothing of the value matters any more.
    fn expires_at(&self, now: Timestamp) -> Timestamp;
}

/// Loads a value; the default one if there is none.
///
/// # Errors
/// `Unavailable`.
pub async fn load<T: StoredValue>(
    store: &dyn Store,
    key: &RecordKey,
    now: Timestamp,
) -> Result<T, StoreError> {
    let Some(record) = store.load(key, now).await? else { return Ok(T::default()) };
    decode(&record.value)
}

/// Changes a value atomically, and returns what `change` returns of the value that was written.
///
/// # Errors
/// `Full`, `Unavailable`.
pub async fn update<T: StoredValue, R>(
    store: &dyn Store,
    key: &RecordKey,
    now: Timestamp,
    change: impl Fn(&mut T) -> R,
) -> Result<R, StoreError> {
    for _ in 0..MAX_UPDATE_ATTEMPTS {
        let found = store.load(key, now).await?;
        let before: T = found.as_ref().map_or(Ok(T::default()), |found| decode(&found.value))?;
        let mut after = before.clone();
        let result = change(&mut after);
        // A record with an outdated key is written again.
        if after == before && !found.as_ref().is_some_and(|found| found.has_outdated_key) {
            return Ok(result);
        }
        let version = found.map(|found| found.version);
        let value = serde_json::to_vec(&after).unwrap_or_default();
        let until = after.expires_at(now);
        if store.compare_and_set(key, version, value, until, now).await? {
            return Ok(result);
        }
    }
    Err(StoreError::Unavailable("the record changes too often".to_owned()))
}

/// Reads a value.
///
/// # Errors
/// `Unavailable` if another release has written it in another format.
pub fn decode<T: DeserializeOwned>(value: &[u8]) -> Result<T, StoreError> {
    let unreadable = |_| StoreError::Unavailable("the record has another format".to_owned());
    serde_json::from_slice(value).map_err(unreadable)
}
