//! Encodes and decodes snapshots of the in-memory store.
//!
//! ```text
//! header   "PASSNAP", format 1 byte, created_at 8 (ms), id 16 (random)
//! chunks   u32 length, encrypted entries; associated data: the header, chunk number 8, is_last 1
//! entries  'L' (live) or 'T' (tombstone), kind 1, version 8, expires_at 8, name,
//!          number of families 4, each family, value
//!          'R' (revoked family), until 8, family
//! ```
//! Numbers are big-endian. Names, families and values are preceded by their length (4 bytes).
//! Revocations come first, so that they apply to the records after them. Keys are derived from the
//! configured keys and the random id, so each snapshot has its own.
//!
//! Responsible for the layout and its integrity: a snapshot that was changed, truncated, extended
//! or reordered is rejected as a whole. A release that changes the layout increments `FORMAT` and
//! still reads the previous format.

use std::io::{self, Read, Write};
use std::sync::Arc;

use crate::encryption::{EncryptionError, StoreEncryptionKeys};
use crate::{Family, RecordVersion};
use passerelle_protocol::env::{Entropy, Timestamp};

use super::kind_cache::RecordState;

const MAGIC: &[u8; 7] = b"PASSNAP";
const FORMAT: u8 = 1;
const HEADER_BYTES: usize = 32;
/// Size above which a chunk is complete. Bounds the memory that encryption needs.
const CHUNK_BYTES: usize = 256 << 10;
/// Maximum size of an entry, on writing and reading.
const MAX_ENTRY_BYTES: usize = 1 << 20;
const MAX_CHUNK_BYTES: usize = CHUNK_BYTES + MAX_ENTRY_BYTES + 64;

/// Entry of a snapshot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SnapshotEntry {
    /// The family admits no record before `until`.
    RevokedFamily { family: Family, until: Timestamp },
    Record {
        /// Letter of the kind.
        letter: u8,
        name: Arc<str>,
        state: RecordState,
        version: RecordVersion,
        value: Arc<[u8]>,
        expires_at: Timestamp,
        families: Arc<[Family]>,
    },
}

/// Error returned when a snapshot can't be read.
#[derive(thiserror::Error, Debug)]
pub enum SnapshotReadError {
    #[error("it is not a snapshot of a hub")]
    NotASnapshot,
    #[error("it was written by a newer release (format {0})")]
    NewerFormat(u8),
    #[error(transparent)]
    Encryption(#[from] EncryptionError),
    #[error("it is truncated or was changed")]
    Corrupted,
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    #[error("it can't be read: {0}")]
    Io(#[from] io::Error),
}

/// What a snapshot is encrypted with. It can be read with the same issuer and one of the same keys.
#[derive(Clone, Copy)]
pub struct SnapshotProtection<'a> {
    pub keys: &'a StoreEncryptionKeys,
    pub issuer: &'a str,
}

/// Writes a snapshot.
///
/// # Errors
/// Returns an error if `to` can't be written or OpenSSL fails.
pub fn write(
    mut to: impl Write,
    entries: impl Iterator<Item = SnapshotEntry>,
    protection: SnapshotProtection<'_>,
    created_at: Timestamp,
    entropy: &dyn Entropy,
) -> io::Result<SnapshotStats> {
    let head = new_header(created_at, entropy);
    to.write_all(&head)?;
    let encryptor = ChunkEncryptor::new(protection, head);
    let (mut number, mut chunk, mut written) =
        (0, Vec::with_capacity(MAX_CHUNK_BYTES), SnapshotStats::default());
    for entry in entries {
        if chunk.len() > CHUNK_BYTES {
            encryptor.write_chunk(&mut to, number, Position::Inside, &chunk, entropy)?;
            number += 1;
            chunk.clear();
        }
        let before = chunk.len();
        entry.encode(&mut chunk);
        if chunk.len() - before > MAX_ENTRY_BYTES {
            chunk.truncate(before);
            written.too_large += 1;
        } else if matches!(entry, SnapshotEntry::Record { .. }) {
            written.records += 1;
        }
    }
    encryptor.write_chunk(&mut to, number, Position::Last, &chunk, entropy)?;
    Ok(written)
}

/// Numbers of records that were written and left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SnapshotStats {
    pub records: usize,
    /// Records larger than the maximum.
    pub too_large: usize,
}

/// Reads a snapshot of `length` bytes. Returns its entries and when it was written.
///
/// # Errors
/// Returns an error if any part of the snapshot is unusable.
pub fn read(
    mut from: impl Read,
    length: u64,
    protection: SnapshotProtection<'_>,
) -> Result<(Vec<SnapshotEntry>, Timestamp), SnapshotReadError> {
    let mut head = [0; HEADER_BYTES];
    read_exact(&mut from, &mut head).map_err(|error| {
        if matches!(error, SnapshotReadError::Corrupted) {
            SnapshotReadError::NotASnapshot
        } else {
            error
        }
    })?;
    let format =
        *head.strip_prefix(MAGIC).and_then(<[u8]>::first).ok_or(SnapshotReadError::NotASnapshot)?;
    if format != FORMAT {
        return Err(if format > FORMAT {
            SnapshotReadError::NewerFormat(format)
        } else {
            SnapshotReadError::NotASnapshot
        });
    }
    let created_at =
        head.get(8..16).and_then(<[u8]>::first_chunk).ok_or(SnapshotReadError::Corrupted)?;
    let created_at = Timestamp::from_millis(u64::from_be_bytes(*created_at));
    let encryptor = ChunkEncryptor::new(protection, head);
    let mut left =
        length.checked_sub(HEADER_BYTES as u64).ok_or(SnapshotReadError::NotASnapshot)?;
    let (mut number, mut entries) = (0, Vec::new());
    loop {
        let mut size = [0; 4];
        read_exact(&mut from, &mut size)?;
        let size = u32::from_be_bytes(size);
        left = left.checked_sub(4 + u64::from(size)).ok_or(SnapshotReadError::Corrupted)?;
        let size = usize::try_from(size)
            .ok()
            .filter(|size| *size <= MAX_CHUNK_BYTES)
            .ok_or(SnapshotReadError::Corrupted)?;
        let mut encrypted = vec![0; size];
        read_exact(&mut from, &mut encrypted)?;
        // The chunk at the end of the file must be marked as the last: none can be cut off or
        // added.
        let position = if left == 0 { Position::Last } else { Position::Inside };
        let chunk = encryptor.keys.decrypt(
            &encryptor.key_context,
            &encryptor.associated_data(number, position),
            &encrypted,
        )?;
        entries.extend(read_entries(&chunk).ok_or(SnapshotReadError::Corrupted)?);
        if position == Position::Last {
            return Ok((entries, created_at));
        }
        number += 1;
    }
}

fn read_exact(from: &mut impl Read, bytes: &mut [u8]) -> Result<(), SnapshotReadError> {
    from.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => SnapshotReadError::Corrupted,
        _ => SnapshotReadError::Io(error),
    })
}

fn new_header(created_at: Timestamp, entropy: &dyn Entropy) -> [u8; HEADER_BYTES] {
    let mut head = [0; HEADER_BYTES];
    let id = entropy.bits256();
    let bytes =
        MAGIC.iter().chain([&FORMAT]).copied().chain(created_at.millis().to_be_bytes()).chain(id);
    head.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    head
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Inside,
    Last,
}

struct ChunkEncryptor<'a> {
    keys: &'a StoreEncryptionKeys,
    key_context: Vec<u8>,
    header: [u8; HEADER_BYTES],
}

impl<'a> ChunkEncryptor<'a> {
    fn new(protection: SnapshotProtection<'a>, header: [u8; HEADER_BYTES]) -> Self {
        let SnapshotProtection { keys, issuer } = protection;
        let key_context = [b"snapshot of ", issuer.as_bytes(), b"\0", &header].concat();
        Self { keys, key_context, header }
    }

    fn associated_data(&self, number: u64, position: Position) -> Vec<u8> {
        [&self.header[..], &number.to_be_bytes(), &[u8::from(position == Position::Last)]].concat()
    }

    fn write_chunk(
        &self,
        to: &mut impl Write,
        number: u64,
        at: Position,
        chunk: &[u8],
        entropy: &dyn Entropy,
    ) -> io::Result<()> {
        let bits = entropy.bits256();
        let nonce = bits.first_chunk().ok_or(io::ErrorKind::InvalidData)?;
        let encrypted = self
            .keys
            .encrypt(&self.key_context, &self.associated_data(number, at), nonce, chunk)
            .map_err(io::Error::other)?;
        to.write_all(&length_prefix(&encrypted))?;
        to.write_all(&encrypted)
    }
}

fn length_prefix(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes()
}

impl SnapshotEntry {
    pub fn encode(&self, to: &mut Vec<u8>) {
        let text = |to: &mut Vec<u8>, bytes: &[u8]| {
            to.extend_from_slice(&length_prefix(bytes));
            to.extend_from_slice(bytes);
        };
        match self {
            Self::RevokedFamily { family, until } => {
                to.push(b'R');
                to.extend_from_slice(&until.millis().to_be_bytes());
                text(to, family.0.as_bytes());
            }
            Self::Record { letter, name, state, version, value, expires_at, families } => {
                let state = match state {
                    RecordState::Live => b'L',
                    RecordState::Tombstone => b'T',
                };
                to.extend_from_slice(&[state, *letter]);
                to.extend_from_slice(&version.0.to_be_bytes());
                to.extend_from_slice(&expires_at.millis().to_be_bytes());
                text(to, name.as_bytes());
                to.extend_from_slice(
                    &u32::try_from(families.len()).unwrap_or(u32::MAX).to_be_bytes(),
                );
                for family in families.iter() {
                    text(to, family.0.as_bytes());
                }
                text(to, value);
            }
        }
    }
}

/// Reads the entries of a decrypted chunk; `None` if it is malformed.
pub fn read_entries(chunk: &[u8]) -> Option<Vec<SnapshotEntry>> {
    let (mut cursor, mut entries) = (Cursor(chunk), Vec::new());
    while !cursor.0.is_empty() {
        entries.push(cursor.next_entry()?);
    }
    Some(entries)
}

/// Unread rest of a decrypted chunk.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn next_entry(&mut self) -> Option<SnapshotEntry> {
        let [kind] = self.array()?;
        let state = match kind {
            b'R' => {
                let until = self.timestamp()?;
                return Some(SnapshotEntry::RevokedFamily { until, family: Family(self.text()?) });
            }
            b'L' => RecordState::Live,
            b'T' => RecordState::Tombstone,
            _ => return None,
        };
        let [letter] = self.array()?;
        let version = RecordVersion(u64::from_be_bytes(self.array()?));
        let expires_at = self.timestamp()?;
        let name = self.text()?;
        let count = u32::from_be_bytes(self.array()?);
        let families = (0..count).map(|_| self.text().map(Family)).collect::<Option<_>>()?;
        Some(SnapshotEntry::Record {
            letter,
            name,
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

    fn timestamp(&mut self) -> Option<Timestamp> {
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
mod tests;
