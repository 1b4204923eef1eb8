//! Collects lines in memory, with an optional size limit.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sink::Sink;
use passerelle_protocol::env::Timestamp;

/// Sink in memory; clones share the buffer.
#[derive(Clone, Default, Debug)]
pub struct MemorySink(Arc<Mutex<Buffer>>);

#[derive(Default, Debug)]
struct Buffer {
    bytes: Vec<u8>,
    /// Number of bytes that still fit; `None` means no limit.
    remaining_bytes: Option<usize>,
}

impl MemorySink {
    /// Returns everything that was written.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.buffer().bytes).into_owned()
    }

    /// Limits the number of bytes that are accepted from now on.
    pub fn limit(&self, room: Option<usize>) {
        self.buffer().remaining_bytes = room;
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for MemorySink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut buffer = self.buffer();
        let count = buffer.remaining_bytes.unwrap_or(usize::MAX).min(bytes.len());
        if count == 0 && !bytes.is_empty() {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        buffer.remaining_bytes = buffer.remaining_bytes.map(|room| room - count);
        buffer.bytes.extend(bytes.iter().take(count));
        Ok(count)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn needs_rotation(&self, _: Timestamp) -> bool {
        false
    }

    fn rotate(&mut self, _: Timestamp) -> io::Result<()> {
        Ok(())
    }
}
