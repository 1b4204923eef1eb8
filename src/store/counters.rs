//! L2 · What several hubs count together: a port with one verb, for limits that hold for all of them (docs/limits.md).
//!
//! Owns: sums of a window of time, exact however often a call is repeated. Must not know: what is counted, or what follows
//! from it. Nothing here is asked while a request waits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use super::StoreFault;

/// Sums are of one minute, and are kept for two.
pub const WINDOW: Duration = Duration::from_secs(60);

/// Additions of one call; an adapter may be asked for so many at once and no more.
pub const MOST_ADDITIONS: usize = 4096;

/// Whose count it is: of a limit, and of a subject that may be a person's address, so it is never printed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Counted {
    pub limit: &'static str,
    pub subject: [u8; 16],
}

/// What one hub has counted since its last call.
pub struct Batch {
    /// Minutes since 1970, as the hub's clock has it.
    pub window: u64,
    /// Of the hub that counts: drawn at its start.
    pub hub: [u8; 8],
    /// Grows with each batch of a hub: one that comes a second time adds nothing.
    pub number: u64,
    pub additions: Vec<(Counted, u32)>,
}

/// The port.
#[async_trait]
pub trait Counters: Send + Sync {
    /// Adds, and gives each subject's sum over all hubs in that window, in the order of the additions.
    ///
    /// # Errors
    /// `Unavailable`: it may have been added or not; the same batch can be sent again.
    async fn add(&self, batch: &Batch) -> Result<Vec<u64>, StoreFault>;
}

/// For hubs of one process.
#[derive(Default)]
pub struct MemoryCounters(Mutex<HashMap<u64, Window>>);

#[derive(Default)]
struct Window {
    sums: HashMap<Counted, u64>,
    last: HashMap<[u8; 8], u64>,
}

#[async_trait]
impl Counters for MemoryCounters {
    async fn add(&self, batch: &Batch) -> Result<Vec<u64>, StoreFault> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Hubs' clocks differ: the window before may still be somebody's.
        windows.retain(|window, _| window.saturating_add(1) >= batch.window);
        let Window { sums, last } = windows.entry(batch.window).or_default();
        let is_new = last.get(&batch.hub).is_none_or(|last| *last < batch.number);
        last.insert(batch.hub, batch.number);
        let added = batch.additions.iter().map(|(counted, count)| {
            let sum = sums.entry(*counted).or_default();
            *sum += if is_new { u64::from(*count) } else { 0 };
            *sum
        });
        Ok(added.collect())
    }
}

#[cfg(test)]
pub mod conformance {
    use std::sync::Arc;

    use super::*;

    pub const HUBS: [[u8; 8]; 2] = [*b"hub one!", *b"hub two!"];

    pub fn batch(
        window: u64,
        hub: usize,
        number: u64,
        additions: &[(&'static str, u8, u32)],
    ) -> Batch {
        let additions = additions
            .iter()
            .map(|(limit, subject, count)| (counted(limit, *subject), *count))
            .collect();
        Batch { window, hub: HUBS[hub], number, additions }
    }

    fn counted(limit: &'static str, subject: u8) -> Counted {
        Counted { limit, subject: [subject; 16] }
    }

    /// What every adapter must do.
    pub async fn check(counters: Arc<dyn Counters>) {
        let add = async |batch: Batch| counters.add(&batch).await.unwrap();
        assert_eq!(add(batch(7, 0, 1, &[("a", 1, 3), ("a", 2, 1)])).await, [3, 1]);
        assert_eq!(add(batch(7, 1, 1, &[("a", 1, 4)])).await, [7], "the sum of both hubs");
        assert_eq!(
            add(batch(7, 0, 2, &[("b", 1, 1), ("a", 1, 2)])).await,
            [1, 9],
            "limits don't mix"
        );
        assert_eq!(
            add(batch(7, 0, 2, &[("b", 1, 1), ("a", 1, 2)])).await,
            [1, 9],
            "a repeated batch adds nothing"
        );
        assert_eq!(add(batch(8, 0, 3, &[("a", 1, 1)])).await, [1], "windows don't mix");
        assert_eq!(add(batch(7, 1, 2, &[("a", 1, 1)])).await, [10], "a hub whose clock is behind");
        assert_eq!(add(batch(8, 1, 3, &[])).await, [0; 0]);
        let many: Vec<_> = (0..MOST_ADDITIONS)
            .map(|n| {
                let mut subject = [0; 16];
                subject[..8].copy_from_slice(&n.to_be_bytes());
                (Counted { limit: "many", subject }, 2)
            })
            .collect();
        let sums = counters
            .add(&Batch { window: 8, hub: HUBS[0], number: 4, additions: many })
            .await
            .unwrap();
        assert!(sums.len() == MOST_ADDITIONS && sums.iter().all(|sum| *sum == 2));
    }

    #[tokio::test]
    async fn in_memory() {
        check(Arc::new(MemoryCounters::default())).await;
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
