//! L2 · How a record is written: a head that the server's scripts read, then what only the hubs read.
//!
//! ```text
//! live       head, families, sealed value
//! tombstone  head, u32 length, sealed tombstone, the record that was taken (for a taker whose answer was lost)
//! revoked    head
//!
//! head      format 1 byte, state 1, version 8, expires_at 8 (ms), birth 8
//! families  count 1 byte; if not 0: horizon 8 (ms, until when the families know of it), 16 bytes for each
//! ```
//! Numbers are big-endian. Sealed are the value, and bound to it the record's place and the first 18 bytes of the head.
//!
//! **Rolling upgrades.** `format` says how the rest is laid out. A release that changes it must read the format before,
//! and write that one until every node reads the new one. Values are JSON objects as serde writes them: a field that
//! an older release doesn't know is ignored, one that it didn't write takes its default. That is why they are no
//! positional encoding (postcard, bincode), which would have to be versioned field by field; deflated with a dictionary
//! ([`super::pack`]), they are smaller than those would be.

use crate::env::Timestamp;
use crate::store::Version;

pub const FORMAT: u8 = 1;
/// The bytes of a head that a seal is bound to.
pub const BOUND: usize = 18;
pub const HEAD: usize = 26;
pub const FAMILY: usize = 16;
/// The largest number that a script counts exactly.
const MOST: u64 = (1 << 53) - 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Live,
    Tombstone,
    Revoked,
}

impl State {
    const fn byte(self) -> u8 {
        match self {
            Self::Live => b'L',
            Self::Tombstone => b'T',
            Self::Revoked => b'R',
        }
    }
}

/// Which insertion a record comes from: four bytes for the store that inserted it, four random ones.
pub type Birth = [u8; 8];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    pub state: State,
    pub version: Version,
    pub expires_at: Timestamp,
    pub birth: Birth,
}

#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    #[error("a record is written in a format that a newer release knows")]
    Newer,
    #[error("a record is malformed")]
    Broken,
}

pub fn bound(state: State, version: Version, expires_at: Timestamp) -> [u8; BOUND] {
    let mut bytes = [0; BOUND];
    let numbers = version.0.to_be_bytes().into_iter().chain(millis(expires_at).to_be_bytes());
    for (place, byte) in bytes.iter_mut().zip([FORMAT, state.byte()].into_iter().chain(numbers)) {
        *place = byte;
    }
    bytes
}

/// Milliseconds, as a script can count them.
pub fn millis(moment: Timestamp) -> u64 {
    moment.millis().min(MOST)
}

impl Head {
    /// The head, and what follows.
    pub fn read(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (head, rest) = bytes.split_at_checked(HEAD).ok_or(Malformed::Broken)?;
        let [format, state, numbers @ ..] = head else { return Err(Malformed::Broken) };
        if *format != FORMAT {
            return Err(if *format > FORMAT { Malformed::Newer } else { Malformed::Broken });
        }
        let state = match state {
            b'L' => State::Live,
            b'T' => State::Tombstone,
            b'R' => State::Revoked,
            _ => return Err(Malformed::Broken),
        };
        let ([version, expires_at, birth], _) = numbers.as_chunks::<8>() else {
            return Err(Malformed::Broken);
        };
        let (version, expires_at) = (u64::from_be_bytes(*version), u64::from_be_bytes(*expires_at));
        let head = Self {
            state,
            version: Version(version),
            expires_at: Timestamp::from_millis(expires_at),
            birth: *birth,
        };
        Ok((head, rest))
    }

    pub fn bound(&self) -> [u8; BOUND] {
        bound(self.state, self.version, self.expires_at)
    }
}

/// What follows a live record's head up to its sealed value.
pub fn families(names: &[[u8; FAMILY]], horizon: Timestamp) -> Vec<u8> {
    let count = u8::try_from(names.len()).unwrap_or(u8::MAX);
    let mut bytes = vec![count];
    if count > 0 {
        bytes.extend_from_slice(&millis(horizon).to_be_bytes());
        names.iter().for_each(|name| bytes.extend_from_slice(name));
    }
    bytes
}

/// The sealed value of a live record, of what follows its head.
pub fn sealed_value(rest: &[u8]) -> Result<&[u8], Malformed> {
    let (count, rest) = rest.split_first().ok_or(Malformed::Broken)?;
    let skipped = if *count == 0 { 0 } else { 8 + usize::from(*count) * FAMILY };
    rest.get(skipped..).ok_or(Malformed::Broken)
}
