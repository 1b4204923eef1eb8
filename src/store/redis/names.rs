//! L2 · What kinds, families and members are called on the server.

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
        Some(Self { kind: kind_of(*kind)?, hash: *hash, birth: rest.try_into().ok()? })
    }
}

const KINDS: [(Kind, u8); 9] = [
    (Kind::Login, b'l'),
    (Kind::Session, b's'),
    (Kind::Code, b'c'),
    (Kind::Token, b't'),
    (Kind::Logout, b'o'),
    (Kind::Parked, b'p'),
    (Kind::Assertion, b'a'),
    (Kind::OwnCode, b'i'),
    (Kind::Blocks, b'b'),
];

pub const fn letter(kind: Kind) -> u8 {
    match kind {
        Kind::Login => b'l',
        Kind::Session => b's',
        Kind::Code => b'c',
        Kind::Token => b't',
        Kind::Logout => b'o',
        Kind::Parked => b'p',
        Kind::Assertion => b'a',
        Kind::OwnCode => b'i',
        Kind::Blocks => b'b',
    }
}

fn kind_of(letter: u8) -> Option<Kind> {
    KINDS.into_iter().find(|(_, of)| *of == letter).map(|(kind, _)| kind)
}

/// A family, in its key and in its members' records.
pub fn hash_of(family: &Family) -> [u8; FAMILY] {
    digest::sha256(&[b"f", family.0.as_bytes()].concat()).first_chunk().copied().unwrap_or_default()
}
