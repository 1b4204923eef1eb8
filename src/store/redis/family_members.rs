//! L2 · What families and members are called on the server.

use super::record::{Birth, FAMILY};
use crate::digest;
use crate::store::{Family, Kind};

/// What a family keeps of a record: where it lies, and which insertion it is.
pub struct Member {
    pub kind: Kind,
    pub hash: [u8; 32],
    pub birth: Birth,
}

impl Member {
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (hash, rest) = rest.split_first_chunk()?;
        Some(Self { kind: Kind::of_letter(*kind)?, hash: *hash, birth: rest.try_into().ok()? })
    }
}

/// A family, in its key and in its members' records.
pub fn hash_of(family: &Family) -> [u8; FAMILY] {
    digest::sha256(&[b"f", family.0.as_bytes()].concat()).first_chunk().copied().unwrap_or_default()
}
