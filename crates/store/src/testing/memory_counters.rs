//! Counters in the memory of one process.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use crate::StoreError;
use crate::counters::{CounterBatch, CounterKey, Counters};

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
