//! Errors of store operations.

use passerelle_protocol::catalogue::ErrorCode;

/// Error of a store operation.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum StoreError {
    /// The capacity of the kind is reached. Stores never evict live records.
    #[error("the store is full")]
    Full,
    /// `insert` found a live record or a tombstone under this key.
    #[error("the key already exists")]
    Exists,
    /// `insert` named a revoked family.
    #[error("a family of the record is revoked")]
    Revoked,
    /// The store can't be reached, or its reply is unusable.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
}

/// Error of [`super::Store::insert_pair`].
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum InsertPairError {
    /// Neither record was inserted; after `Unavailable` both may exist.
    #[error("the first record: {0}")]
    First(StoreError),
    /// Only the first record was inserted.
    #[error("the second record: {0}")]
    Second(StoreError),
}

/// Error returned when a stored record can't be parsed.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordFormatError {
    /// The format is newer than this release.
    #[error("a record is written in the format of a newer release")]
    Newer,
    /// The bytes are not a record.
    #[error("a record is malformed")]
    Corrupted,
}

/// The code of a failed store operation.
impl From<StoreError> for ErrorCode {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::StoreFull,
            StoreError::Unavailable(_) => Self::StoreUnavailable,
            StoreError::Exists | StoreError::Revoked => Self::Internal,
        }
    }
}
