//! Encodes records: a header that the server's scripts read, then a part that only hubs read.
//!
//! ```text
//! live       header, families, encrypted value
//! tombstone  header, u32 length, encrypted tombstone, the record that was taken (for a caller
//!            whose reply was lost)
//! revoked    header
//!
//! header     format 1 byte, state 1, version 8, expires_at 8 (ms), insertion id 8
//! families   count 1 byte; if not 0: horizon 8 (ms, expiry known to the families), 16 bytes each
//! ```
//! Numbers are big-endian. The value is encrypted; its associated data are the first 18 bytes of
//! the header, and its key is derived from the record's location.
//!
//! **Rolling upgrades.** `format` identifies the layout. A release that changes it must read the
//! previous format, and write it until every node reads the new one. Values are JSON objects: a
//! field unknown to an older release is ignored, and a missing one takes its default. A positional
//! encoding (postcard, bincode) would have to be versioned field by field, and is no smaller than
//! JSON compressed with a dictionary ([`crate::compression`]).

use crate::RecordVersion;
use crate::error::RecordFormatError;
use passerelle_protocol::env::Timestamp;

/// Format that this release writes.
pub const FORMAT: u8 = 1;
/// Number of leading header bytes that are authenticated with the value.
pub const AUTHENTICATED_BYTES: usize = 18;
/// Length of a header.
pub const HEADER_BYTES: usize = 26;
/// Length of the hash of a family.
pub const FAMILY_HASH_BYTES: usize = 16;
/// Largest integer that a Lua script represents exactly.
const MAX_EXACT_INTEGER: u64 = (1 << 53) - 1;

/// State of a stored record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoredState {
    Live,
    Tombstone,
    Revoked,
}

impl StoredState {
    const fn byte(self) -> u8 {
        match self {
            Self::Live => b'L',
            Self::Tombstone => b'T',
            Self::Revoked => b'R',
        }
    }
}

/// Id of an insertion: four bytes for the store instance, four random ones.
pub type InsertionId = [u8; 8];

/// Header of a stored record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordHeader {
    pub state: StoredState,
    pub version: RecordVersion,
    pub expires_at: Timestamp,
    pub insertion_id: InsertionId,
}

/// Encodes the authenticated part of a header.
pub fn authenticated_header(
    state: StoredState,
    version: RecordVersion,
    expires_at: Timestamp,
) -> [u8; AUTHENTICATED_BYTES] {
    let mut bytes = [0; AUTHENTICATED_BYTES];
    let numbers =
        version.0.to_be_bytes().into_iter().chain(script_millis(expires_at).to_be_bytes());
    for (location, byte) in bytes.iter_mut().zip([FORMAT, state.byte()].into_iter().chain(numbers))
    {
        *location = byte;
    }
    bytes
}

/// Returns milliseconds, limited to what a Lua script represents exactly.
pub fn script_millis(time: Timestamp) -> u64 {
    time.millis().min(MAX_EXACT_INTEGER)
}

impl RecordHeader {
    /// Parses the header. Returns it with the remaining bytes.
    ///
    /// # Errors
    /// `Newer`, `Corrupted`.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), RecordFormatError> {
        let (head, rest) =
            bytes.split_at_checked(HEADER_BYTES).ok_or(RecordFormatError::Corrupted)?;
        let [format, state, numbers @ ..] = head else { return Err(RecordFormatError::Corrupted) };
        if *format != FORMAT {
            return Err(if *format > FORMAT {
                RecordFormatError::Newer
            } else {
                RecordFormatError::Corrupted
            });
        }
        let state = match state {
            b'L' => StoredState::Live,
            b'T' => StoredState::Tombstone,
            b'R' => StoredState::Revoked,
            _ => return Err(RecordFormatError::Corrupted),
        };
        let ([version, expires_at, insertion_id], _) = numbers.as_chunks::<8>() else {
            return Err(RecordFormatError::Corrupted);
        };
        let (version, expires_at) = (u64::from_be_bytes(*version), u64::from_be_bytes(*expires_at));
        let head = Self {
            state,
            version: RecordVersion(version),
            expires_at: Timestamp::from_millis(expires_at),
            insertion_id: *insertion_id,
        };
        Ok((head, rest))
    }

    /// Encodes the authenticated part of this header.
    pub fn authenticated_bytes(&self) -> [u8; AUTHENTICATED_BYTES] {
        authenticated_header(self.state, self.version, self.expires_at)
    }
}

/// Encodes what stands between a live record's header and its encrypted value.
pub fn encode_families(names: &[[u8; FAMILY_HASH_BYTES]], horizon: Timestamp) -> Vec<u8> {
    let count = u8::try_from(names.len()).unwrap_or(u8::MAX);
    let mut bytes = vec![count];
    if count > 0 {
        bytes.extend_from_slice(&script_millis(horizon).to_be_bytes());
        for name in names {
            bytes.extend_from_slice(name);
        }
    }
    bytes
}

/// Returns the encrypted value from the bytes that follow a live record's header.
///
/// # Errors
/// `Corrupted`.
pub fn encrypted_value(rest: &[u8]) -> Result<&[u8], RecordFormatError> {
    let (count, rest) = rest.split_first().ok_or(RecordFormatError::Corrupted)?;
    let skipped = if *count == 0 { 0 } else { 8 + usize::from(*count) * FAMILY_HASH_BYTES };
    rest.get(skipped..).ok_or(RecordFormatError::Corrupted)
}
