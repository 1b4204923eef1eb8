//! Encodes families and their members as they are stored on the server.

use super::record::{FAMILY_HASH_BYTES, InsertionId};
use crate::Family;
use passerelle_protocol::digest;

/// Member of a family: the location of a record, and which insertion it is.
pub struct FamilyMember {
    /// Letter of the record's kind.
    pub letter: u8,
    pub hash: [u8; 32],
    pub insertion_id: InsertionId,
}

impl FamilyMember {
    /// Parses a member; `None` if it is malformed.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (letter, rest) = bytes.split_first()?;
        let (hash, rest) = rest.split_first_chunk()?;
        Some(Self { letter: *letter, hash: *hash, insertion_id: rest.try_into().ok()? })
    }
}

/// Returns the hash that stands for a family in its key and in its members' records.
pub fn family_hash(family: &Family) -> [u8; FAMILY_HASH_BYTES] {
    digest::sha256(&[b"f", family.0.as_bytes()].concat()).first_chunk().copied().unwrap_or_default()
}
