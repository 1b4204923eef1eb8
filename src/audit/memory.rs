//! A sink that keeps what it is given, and refuses what it is told to: for tests.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::writer::Sink;
use crate::env::Timestamp;

#[derive(Clone, Default, Debug)]
pub struct Memory(Arc<Mutex<Kept>>);

#[derive(Default, Debug)]
struct Kept {
    bytes: Vec<u8>,
    /// Bytes that it still takes; `None`: any number.
    room: Option<usize>,
}

impl Memory {
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept().bytes).into_owned()
    }

    /// From now on this many bytes are taken.
    pub fn limit(&self, room: Option<usize>) {
        self.kept().room = room;
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.kept();
        let count = kept.room.unwrap_or(usize::MAX).min(bytes.len());
        if count == 0 && !bytes.is_empty() {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        kept.room = kept.room.map(|room| room - count);
        kept.bytes.extend(bytes.iter().take(count));
        Ok(count)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn is_full(&self, _: Timestamp) -> bool {
        false
    }

    fn rotate(&mut self, _: Timestamp) -> io::Result<()> {
        Ok(())
    }
}
