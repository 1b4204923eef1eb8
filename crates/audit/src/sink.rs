//! The destination of the lines, and what it held when it was opened.

use std::io;

use super::chain::ChainPosition;
use super::merkle::MerkleTree;
use passerelle_protocol::env::Timestamp;

/// Destination of lines. Calls may block: only the writer's thread makes them.
pub trait Sink: Send {
    /// Writes like [`io::Write::write`]: it may take some of the bytes; on an error it took none.
    ///
    /// # Errors
    /// Returns an error if nothing can be written now.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Syncs written lines to the disk.
    ///
    /// # Errors
    /// Returns an error if they may not be on the disk.
    fn sync(&mut self) -> io::Result<()>;

    /// Returns whether the next line should be the first of a new file.
    fn needs_rotation(&self, now: Timestamp) -> bool;

    /// Starts a new file.
    ///
    /// # Errors
    /// Returns an error if no new file can be created; the old one stays in use.
    fn rotate(&mut self, now: Timestamp) -> io::Result<()>;

    /// Removes expired files. The writer calls it about twice a second.
    fn maintain(&mut self, _now: Timestamp) {}
}

/// End of the log when its sink was opened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogEnd {
    pub chain: ChainPosition,
    /// Tree of the last checkpoint and the lines after it.
    pub tree: MerkleTree,
    /// The last line has no end: its process was killed.
    pub unfinished: bool,
    /// Number of lines after the last checkpoint.
    pub unsigned_lines: u64,
}
