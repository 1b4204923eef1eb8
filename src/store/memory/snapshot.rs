//! L2 · What a store's successor must know, as bytes that only the hub's own can open.
//!
//! ```text
//! head     "PASSNAP", format 1 byte, created_at 8 (ms), id 16 (random)
//! chunks   u32 length, sealed entries; bound to each: the head, its number 8, whether it is the last 1
//! entries  'L' or 'T', kind 1, version 8, expires_at 8, name, count of families 4, each, value      live, or a tombstone
//!          'R', until 8, family                                                                     revoked, and closed
//! ```
//! Numbers are big-endian; names, families and values come behind their length (4). Revocations come first, so that what
//! comes after them is judged by them. Nothing is used before the last chunk has been opened: a snapshot counts whole, or
//! not at all. Its keys are derived from the ring's and its own random id, so none ever seals more than one snapshot.
//!
//! Owns: the layout, and that nobody can change, cut, extend or swap anything in it. Must not know: files; what a record
//! means. A release that changes the layout counts `FORMAT` up, and still reads the format before.

use std::io::{self, Read, Write};
use std::sync::Arc;

use crate::env::{Entropy, Timestamp};
use crate::store::seal::{Ring, SealFault};
use crate::store::{Family, Key, Kind, Version};

use super::shelves::State;

const MAGIC: &[u8; 7] = b"PASSNAP";
const FORMAT: u8 = 1;
const HEAD: usize = 32;
/// A chunk is closed above this: large enough that sealing costs nothing, small enough that no memory is doubled.
const CHUNK: usize = 256 << 10;
/// Nothing larger is written, so nothing larger is read.
const LONGEST_ENTRY: usize = 1 << 20;
const LONGEST_CHUNK: usize = CHUNK + LONGEST_ENTRY + 64;

/// One thing that a successor must know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Nothing is admitted into it before that.
    Revoked { family: Family, until: Timestamp },
    Record {
        key: Key,
        state: State,
        version: Version,
        value: Arc<[u8]>,
        expires_at: Timestamp,
        families: Arc<[Family]>,
    },
}

/// Why a snapshot is not taken up.
#[derive(thiserror::Error, Debug)]
pub enum Refused {
    #[error("it is no snapshot of a hub")]
    Foreign,
    #[error("a newer release has written it (format {0})")]
    Newer(u8),
    #[error(transparent)]
    Sealed(#[from] SealFault),
    #[error("it is cut, or was changed")]
    Broken,
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    #[error("it can't be read: {0}")]
    Io(#[from] io::Error),
}

/// Writes all entries; `owner` must be the same when it is read. How many were left out, being larger than any record.
///
/// # Errors
/// The place can't be written to, or OpenSSL fails.
pub fn write(
    mut to: impl Write,
    entries: impl Iterator<Item = Entry>,
    (ring, owner): (&Ring, &str),
    (created_at, entropy): (Timestamp, &dyn Entropy),
) -> io::Result<Written> {
    let head = head(created_at, entropy);
    to.write_all(&head)?;
    let sealing = Sealing { ring, place: place(owner, &head), head };
    let (mut number, mut chunk, mut written) =
        (0, Vec::with_capacity(LONGEST_CHUNK), Written::default());
    for entry in entries {
        if chunk.len() > CHUNK {
            sealing.put(&mut to, (number, Position::Inside), &chunk, entropy)?;
            number += 1;
            chunk.clear();
        }
        let before = chunk.len();
        entry.put(&mut chunk);
        if chunk.len() - before > LONGEST_ENTRY {
            chunk.truncate(before);
            written.left_out += 1;
        } else if matches!(entry, Entry::Record { .. }) {
            written.records += 1;
        }
    }
    sealing.put(&mut to, (number, Position::Last), &chunk, entropy)?;
    Ok(written)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    pub records: usize,
    /// Larger than any record that a hub means to keep.
    pub left_out: usize,
}

/// Everything in it, and when it was written. `length`: how many bytes `from` holds.
///
/// # Errors
/// Nothing of it counts then.
pub fn read(
    mut from: impl Read,
    length: u64,
    (ring, owner): (&Ring, &str),
) -> Result<(Vec<Entry>, Timestamp), Refused> {
    let mut head = [0; HEAD];
    fill(&mut from, &mut head)
        .map_err(|fault| if matches!(fault, Refused::Broken) { Refused::Foreign } else { fault })?;
    let format = *head.strip_prefix(MAGIC).and_then(<[u8]>::first).ok_or(Refused::Foreign)?;
    if format != FORMAT {
        return Err(if format > FORMAT { Refused::Newer(format) } else { Refused::Foreign });
    }
    let created_at = head.get(8..16).and_then(<[u8]>::first_chunk).ok_or(Refused::Broken)?;
    let created_at = Timestamp::from_millis(u64::from_be_bytes(*created_at));
    let sealing = Sealing { ring, place: place(owner, &head), head };
    let mut left = length.checked_sub(HEAD as u64).ok_or(Refused::Foreign)?;
    let (mut number, mut entries) = (0, Vec::new());
    loop {
        let mut size = [0; 4];
        fill(&mut from, &mut size)?;
        let size = u32::from_be_bytes(size);
        left = left.checked_sub(4 + u64::from(size)).ok_or(Refused::Broken)?;
        let size = usize::try_from(size)
            .ok()
            .filter(|size| *size <= LONGEST_CHUNK)
            .ok_or(Refused::Broken)?;
        let mut sealed = vec![0; size];
        fill(&mut from, &mut sealed)?;
        // Where the file ends, there must be the chunk that was the last: so none can be cut off, and none added.
        let position = if left == 0 { Position::Last } else { Position::Inside };
        let chunk = ring.open(&sealing.place, &sealing.bound(number, position), &sealed)?;
        let mut rest = Rest(&chunk);
        while !rest.0.is_empty() {
            entries.push(rest.entry().ok_or(Refused::Broken)?);
        }
        if position == Position::Last {
            return Ok((entries, created_at));
        }
        number += 1;
    }
}

fn fill(from: &mut impl Read, bytes: &mut [u8]) -> Result<(), Refused> {
    from.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Refused::Broken,
        _ => Refused::Io(error),
    })
}

fn head(created_at: Timestamp, entropy: &dyn Entropy) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    let id = entropy.bits256();
    let bytes =
        MAGIC.iter().chain([&FORMAT]).copied().chain(created_at.millis().to_be_bytes()).chain(id);
    head.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    head
}

fn place(owner: &str, head: &[u8; HEAD]) -> Vec<u8> {
    [b"snapshot of ", owner.as_bytes(), b"\0", head].concat()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Inside,
    Last,
}

struct Sealing<'a> {
    ring: &'a Ring,
    place: Vec<u8>,
    head: [u8; HEAD],
}

impl Sealing<'_> {
    fn bound(&self, number: u64, position: Position) -> Vec<u8> {
        [&self.head[..], &number.to_be_bytes(), &[u8::from(position == Position::Last)]].concat()
    }

    fn put(
        &self,
        to: &mut impl Write,
        (number, at): (u64, Position),
        chunk: &[u8],
        entropy: &dyn Entropy,
    ) -> io::Result<()> {
        let bits = entropy.bits256();
        let nonce = bits.first_chunk().ok_or(io::ErrorKind::InvalidData)?;
        let sealed = self
            .ring
            .seal(&self.place, &self.bound(number, at), nonce, chunk)
            .map_err(io::Error::other)?;
        to.write_all(&length(&sealed))?;
        to.write_all(&sealed)
    }
}

fn length(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes()
}

impl Entry {
    fn put(&self, to: &mut Vec<u8>) {
        let text = |to: &mut Vec<u8>, bytes: &[u8]| {
            to.extend_from_slice(&length(bytes));
            to.extend_from_slice(bytes);
        };
        match self {
            Self::Revoked { family, until } => {
                to.push(b'R');
                to.extend_from_slice(&until.millis().to_be_bytes());
                text(to, family.0.as_bytes());
            }
            Self::Record { key, state, version, value, expires_at, families } => {
                let state = match state {
                    State::Live => b'L',
                    State::Tombstone => b'T',
                };
                to.extend_from_slice(&[state, key.kind.letter()]);
                to.extend_from_slice(&version.0.to_be_bytes());
                to.extend_from_slice(&expires_at.millis().to_be_bytes());
                text(to, key.name.as_bytes());
                to.extend_from_slice(
                    &u32::try_from(families.len()).unwrap_or(u32::MAX).to_be_bytes(),
                );
                families.iter().for_each(|family| text(to, family.0.as_bytes()));
                text(to, value);
            }
        }
    }
}

/// What is still to be read of a chunk.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn entry(&mut self) -> Option<Entry> {
        let [kind] = self.array()?;
        let state = match kind {
            b'R' => {
                let until = self.moment()?;
                return Some(Entry::Revoked { until, family: Family(self.text()?) });
            }
            b'L' => State::Live,
            b'T' => State::Tombstone,
            _ => return None,
        };
        let [letter] = self.array()?;
        let version = Version(u64::from_be_bytes(self.array()?));
        let expires_at = self.moment()?;
        let key = Key { kind: Kind::of_letter(letter)?, name: self.text()? };
        let count = u32::from_be_bytes(self.array()?);
        let families = (0..count).map(|_| self.text().map(Family)).collect::<Option<_>>()?;
        Some(Entry::Record {
            key,
            state,
            version,
            value: self.bytes()?.into(),
            expires_at,
            families,
        })
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn moment(&mut self) -> Option<Timestamp> {
        self.array().map(u64::from_be_bytes).map(Timestamp::from_millis)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(u32::from_be_bytes(self.array()?)).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<Arc<str>> {
        Some(std::str::from_utf8(self.bytes()?).ok()?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::SeededEntropy;
    use crate::ids::Secret;
    use crate::store::conformance::{at, code};

    fn ring(keys: &[&str]) -> Ring {
        Ring::new(&keys.iter().map(|key| Secret::new((*key).to_owned())).collect::<Vec<_>>())
    }

    /// A snapshot of a few records in one chunk, or of many in several.
    fn bytes(records: usize, keys: &[&str]) -> Vec<u8> {
        let entry = |n: usize| Entry::Record {
            key: code(&n.to_string()),
            state: State::Live,
            version: Version(1),
            value: "x".repeat(10_000).into_bytes().into(),
            expires_at: at(90),
            families: [Family("f".into())].into(),
        };
        let (mut bytes, ring) = (Vec::new(), ring(keys));
        let entropy = SeededEntropy::new(3);
        write(&mut bytes, (0..records).map(entry), (&ring, "hub"), (at(0), &entropy)).unwrap();
        bytes
    }

    fn opened(bytes: &[u8], keys: &[&str], owner: &str) -> Result<usize, Refused> {
        read(bytes, bytes.len() as u64, (&ring(keys), owner)).map(|(entries, _)| entries.len())
    }

    #[test]
    fn a_tampered_snapshot_is_refused_whatever_byte_it_is() {
        let good = bytes(1, &["key"]);
        assert_eq!(opened(&good, &["key"], "hub").unwrap(), 1);
        let heads =
            (0..200).chain((200..good.len()).step_by(97)).chain(good.len() - 40..good.len());
        for at in heads {
            for bit in [1, 0x80] {
                let mut bad = good.clone();
                bad[at] ^= bit;
                assert!(opened(&bad, &["key"], "hub").is_err(), "byte {at}");
            }
        }
    }

    #[test]
    fn a_snapshot_cut_anywhere_or_extended_is_refused() {
        let good = bytes(60, &["key"]);
        assert_eq!(opened(&good, &["key"], "hub").unwrap(), 60);
        // Also at the very end of each chunk, where what is left is a row of good ones.
        let (mut ends, mut end) = (vec![32], 32);
        while let Some(size) = good.get(end..end + 4) {
            end += 4 + u32::from_be_bytes(size.try_into().unwrap()) as usize;
            ends.push(end);
        }
        assert!(ends.len() > 3 && ends.last() == Some(&good.len()), "{ends:?}");
        let cuts = (0..200)
            .chain((200..good.len()).step_by(4999))
            .chain(ends[..ends.len() - 1].iter().copied());
        for at in cuts {
            assert!(opened(&good[..at], &["key"], "hub").is_err(), "cut at {at}");
        }
        for more in [&b"x"[..], &good[ends[0]..ends[1]], &[0, 0, 0, 0], &good] {
            assert!(opened(&[&good, more].concat(), &["key"], "hub").is_err());
        }
        let [head, first, second] = [&good[..32], &good[ends[0]..ends[1]], &good[ends[1]..ends[2]]];
        let swapped = [head, second, first, &good[ends[2]..]].concat();
        assert!(opened(&swapped, &["key"], "hub").is_err(), "chunks in another order");
        let left_out = [head, second, &good[ends[2]..]].concat();
        assert!(opened(&left_out, &["key"], "hub").is_err(), "a chunk is missing");
    }

    #[test]
    fn only_the_hub_and_its_ring_open_a_snapshot() {
        let old = bytes(1, &["old"]);
        assert_eq!(opened(&old, &["new", "old"], "hub").unwrap(), 1);
        assert_eq!(opened(&bytes(1, &["new", "old"]), &["new"], "hub").unwrap(), 1);
        assert!(matches!(
            opened(&old, &["new"], "hub"),
            Err(Refused::Sealed(SealFault::UnknownKey))
        ));
        assert!(
            matches!(opened(&old, &["old"], "other"), Err(Refused::Sealed(SealFault::Broken))),
            "of another hub"
        );
        assert!(!String::from_utf8_lossy(&old).contains("xxx"));
    }
}
