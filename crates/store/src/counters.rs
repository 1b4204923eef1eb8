//! Sums counts over all hubs, for rate limits that apply to a whole deployment (docs/limits.md).
//!
//! Responsible for exact sums per minute, however often a batch is repeated. Does not depend on
//! what is counted. No request waits for these calls.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;

/// Length of a counting window. Sums are kept for two windows.
pub const WINDOW_LENGTH: Duration = Duration::from_secs(60);

/// Maximum number of additions in one [`CounterBatch`].
pub const MAX_ADDITIONS_PER_BATCH: usize = 4096;

/// Key of a count: a limit and a hashed subject, which may be a network address. Never printed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CounterKey {
    pub limit: &'static str,
    pub subject: [u8; 16],
}

/// Counts of one hub since its last call.
pub struct CounterBatch {
    /// Minutes since the Unix epoch, by the clock of the hub.
    pub window: u64,
    /// Random id of the hub process.
    pub hub: [u8; 8],
    /// Increases with each batch of a hub. A batch with a known number adds nothing.
    pub number: u64,
    pub additions: Vec<(CounterKey, u32)>,
}

/// Counters shared by several hubs.
#[async_trait]
pub trait Counters: Send + Sync {
    /// Adds the counts and returns the sum of each key over all hubs, in the order of the
    /// additions.
    ///
    /// # Errors
    /// `Unavailable`: the batch may have been added; sending it again is safe.
    async fn add(&self, batch: &CounterBatch) -> Result<Vec<u64>, StoreError>;
}

/// Counters in the memory of one process.
#[derive(Default)]
pub struct MemoryCounters(Mutex<HashMap<u64, Window>>);

#[derive(Default)]
struct Window {
    sums: HashMap<CounterKey, u64>,
    last_batch_numbers: HashMap<[u8; 8], u64>,
}

#[async_trait]
impl Counters for MemoryCounters {
    async fn add(&self, batch: &CounterBatch) -> Result<Vec<u64>, StoreError> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Hubs' clocks differ: the window before may still be in use.
        windows.retain(|window, _| window.saturating_add(1) >= batch.window);
        let Window { sums, last_batch_numbers } = windows.entry(batch.window).or_default();
        let is_new = last_batch_numbers.get(&batch.hub).is_none_or(|last| *last < batch.number);
        last_batch_numbers.insert(batch.hub, batch.number);
        let added = batch.additions.iter().map(|(counted, count)| {
            let sum = sums.entry(*counted).or_default();
            *sum += if is_new { u64::from(*count) } else { 0 };
            *sum
        });
        Ok(added.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::counter_conformance::{batch, check_counters};

    #[tokio::test]
    async fn in_memory() {
        check_counters(Arc::new(MemoryCounters::default())).await;
    }

    #[tokio::test]
    async fn old_windows_take_no_memory() {
        let counters = MemoryCounters::default();
        for window in 0..100 {
            counters.add(&batch(window, 0, window, &[("a", 1, 1)])).await.unwrap();
        }
        assert_eq!(counters.0.lock().unwrap().len(), 2);
    }
}
