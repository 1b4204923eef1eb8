//! Exchanges counts between hubs that share a store: once a second, all limiters in one call, and
//! no call if nothing was counted.
//!
//! A hub decides by what it knows. Between two calls it does not know what others admit;
//! docs/limits.md states by how much a limit can be exceeded. While the store is unavailable, each
//! hub counts alone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::limit_key::LimitKey;
use super::rate_limiter::KeyedRateLimiter;
use super::rate_window::window_number;
use passerelle_protocol::env::Env;
use passerelle_store::counters::{CounterBatch, CounterKey, Counters, MAX_ADDITIONS_PER_BATCH};
use passerelle_telemetry::CheckFinding;

const SYNC_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of calls in one round; the rest is sent in the next.
const MAX_CALLS_PER_ROUND: usize = 16;

/// Synchronizes the counts of all limiters. One per program, if its store is shared.
pub struct CounterSync {
    limiters: Vec<Arc<KeyedRateLimiter>>,
    counters: Arc<dyn Counters>,
    hub: [u8; 8],
    env: Env,
    state: tokio::sync::Mutex<SyncState>,
    last_error: Mutex<Option<String>>,
}

#[derive(Default)]
struct SyncState {
    number: u64,
    /// A batch that was sent and not acknowledged. It is sent again unchanged, so that nothing is
    /// counted twice.
    pending: Option<Pending>,
}

struct Pending {
    batch: CounterBatch,
    /// The limiter of each addition, in the same order.
    limiters: Vec<Arc<KeyedRateLimiter>>,
}

impl CounterSync {
    /// Creates the synchronization, and marks the limiters as shared.
    pub fn new(
        limiters: Vec<Arc<KeyedRateLimiter>>,
        counters: Arc<dyn Counters>,
        env: &Env,
    ) -> Self {
        for limiter in &limiters {
            limiter.enable_sync();
        }
        let [a, b, c, d, e, f, g, h, ..] = env.entropy().bits256();
        let hub = [a, b, c, d, e, f, g, h];
        Self {
            limiters,
            counters,
            hub,
            env: env.clone(),
            state: tokio::sync::Mutex::default(),
            last_error: Mutex::default(),
        }
    }

    /// Synchronizes the counters at intervals. Never returns.
    pub async fn run(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(SYNC_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.sync_once().await;
        }
    }

    /// Synchronizes once.
    pub async fn sync_once(&self) {
        let mut state = self.state.lock().await;
        for _ in 0..MAX_CALLS_PER_ROUND {
            let window = window_number(self.env.now());
            // Counts of a past minute are dropped.
            let pending = state.pending.take().filter(|pending| pending.batch.window == window);
            let Some(pending) = pending.or_else(|| self.collect_batch(&mut state, window)) else {
                return;
            };
            match self.counters.add(&pending.batch).await {
                Ok(sums) => {
                    self.set_error(None);
                    for ((limiter, (counted, _)), sum) in
                        pending.limiters.iter().zip(&pending.batch.additions).zip(sums)
                    {
                        limiter.merge_sum(LimitKey(counted.subject), window, sum);
                    }
                }
                Err(error) => {
                    self.set_error(Some(error.to_string()));
                    state.pending = Some(pending);
                    return;
                }
            }
        }
    }

    fn collect_batch(&self, state: &mut SyncState, window: u64) -> Option<Pending> {
        let (mut additions, mut limiters) = (Vec::new(), Vec::new());
        for limiter in &self.limiters {
            for (LimitKey(key), count) in
                limiter.drain_deltas(window, MAX_ADDITIONS_PER_BATCH - additions.len())
            {
                additions.push((CounterKey { limit: limiter.name, subject: key }, count));
                limiters.push(Arc::clone(limiter));
            }
        }
        // After an error, an empty call finds out whether the store is back.
        if additions.is_empty() && self.warning().is_none() {
            return None;
        }
        state.number += 1;
        Some(Pending {
            batch: CounterBatch { window, hub: self.hub, number: state.number, additions },
            limiters,
        })
    }

    fn set_error(&self, error: Option<String>) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// Returns what degrades the limits, with the fix.
    pub fn warning(&self) -> Option<CheckFinding> {
        let last_error = self.last_error.lock().unwrap_or_else(PoisonError::into_inner);
        last_error.as_ref().map(|error| {
            CheckFinding::new(
                format!(
                    "the counts of other hubs are unknown ({error}), so each hub admits up to the whole limit"
                ),
                "restore the store (docs/redis.md)",
            )
        })
    }
}

#[cfg(test)]
mod tests;
