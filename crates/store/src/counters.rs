//! Sums counts over all hubs, for rate limits that apply to a whole deployment (docs/limits.md).
//!
//! Responsible for exact sums per minute, however often a batch is repeated. Does not depend on
//! what is counted. No request waits for these calls.

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
