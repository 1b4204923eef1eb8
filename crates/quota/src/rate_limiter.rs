//! Implements one rate limiter: so many per minute for each key, in bounded memory.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::limit_key::LimitKey;
use super::rate_window::{RateLimitError, RateWindow};
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_telemetry::Metrics;

/// Time between two sweeps of a full table: filling it must not make each request costly.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// A rate limiter with one `RateWindow` per key.
pub struct KeyedRateLimiter {
    /// Name of the limiter in metrics and in the shared store.
    pub name: &'static str,
    capacity: usize,
    env: Env,
    metrics: Option<Arc<Metrics>>,
    /// Whether other hubs share the counts.
    is_shared: AtomicBool,
    windows: Mutex<Windows>,
}

#[derive(Default)]
struct Windows {
    by_key: HashMap<LimitKey, RateWindow>,
    /// Shared by new keys while the table is full of exhausted ones.
    overflow: Option<RateWindow>,
    /// Keys with counts that other hubs don't know.
    unreported: Vec<LimitKey>,
    /// Earliest next sweep, after one that freed little.
    sweep_after: Timestamp,
}

impl KeyedRateLimiter {
    /// Creates a limiter. `capacity`: keys that are remembered at once, 200 bytes each.
    pub fn new(name: &'static str, capacity: usize, env: &Env) -> Self {
        Self {
            name,
            capacity,
            env: env.clone(),
            metrics: None,
            is_shared: AtomicBool::new(false),
            windows: Mutex::default(),
        }
    }

    /// Counts refusals in the metrics.
    #[must_use]
    pub fn with_metrics(self, metrics: &Arc<Metrics>) -> Self {
        metrics.record_rate_limited(self.name, 0);
        Self { metrics: Some(Arc::clone(metrics)), ..self }
    }

    /// Counts one event for this key.
    ///
    /// # Errors
    /// [`RateLimitError`] if the key is over its limit; the refusal is not counted.
    pub fn take(&self, key: LimitKey, limit: NonZeroU32) -> Result<(), RateLimitError> {
        let taken = self.with(|windows, now| {
            let is_shared = self.is_shared.load(Ordering::Relaxed);
            let window = windows.window_for(key, limit, self.capacity, &self.env, now);
            window.take(limit, &self.env, now)?;
            if is_shared && !std::mem::replace(&mut window.is_queued, true) {
                windows.unreported.push(key);
            }
            Ok(())
        });
        if let (Err(_), Some(metrics)) = (&taken, &self.metrics) {
            metrics.record_rate_limited(self.name, 1);
        }
        taken
    }

    /// Checks without counting whether [`Self::take`] has just refused this key.
    ///
    /// # Errors
    /// [`RateLimitError`] until the key may be counted again.
    pub fn check(&self, key: LimitKey) -> Result<(), RateLimitError> {
        let refused = self.with(|windows, now| {
            let window = windows.by_key.get(&key).or(windows.overflow.as_ref())?;
            window.refusal(now)
        });
        if let (Some(_), Some(metrics)) = (&refused, &self.metrics) {
            metrics.record_rate_limited(self.name, 1);
        }
        refused.map_or(Ok(()), Err)
    }

    /// Queues counts for other hubs from now on.
    pub(super) fn enable_sync(&self) {
        self.is_shared.store(true, Ordering::Relaxed);
    }

    /// Returns the counts of at most `max_keys` keys that other hubs don't know. The rest follows
    /// next time.
    pub(super) fn drain_deltas(&self, window: u64, max_keys: usize) -> Vec<(LimitKey, u32)> {
        self.with(|windows, _| {
            let rest = windows.unreported.split_off(windows.unreported.len().min(max_keys));
            let keys = std::mem::replace(&mut windows.unreported, rest);
            keys.into_iter()
                .filter_map(|key| Some((key, windows.by_key.get_mut(&key)?.drain_delta(window)?)))
                .collect()
        })
    }

    /// Takes over the sum of all hubs for a key.
    pub(super) fn merge_sum(&self, key: LimitKey, window: u64, sum: u64) {
        self.with(|windows, _| {
            if let Some(counts) = windows.by_key.get_mut(&key) {
                counts.merge_sum(window, sum);
            }
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut Windows, Timestamp) -> T) -> T {
        let now = self.env.now();
        act(&mut self.windows.lock().unwrap_or_else(PoisonError::into_inner), now)
    }
}

impl Windows {
    fn window_for(
        &mut self,
        key: LimitKey,
        most: NonZeroU32,
        capacity: usize,
        env: &Env,
        now: Timestamp,
    ) -> &mut RateWindow {
        if self.by_key.len() >= capacity
            && !self.by_key.contains_key(&key)
            && !self.make_room(capacity, now)
        {
            return self.overflow.get_or_insert_with(|| RateWindow::new(most, env, now));
        }
        self.by_key.entry(key).or_insert_with(|| RateWindow::new(most, env, now))
    }

    /// Makes room by dropping windows that are idle for a minute, then the least used ones. Never
    /// drops an exhausted window: a flood of keys would otherwise lift its limit.
    fn make_room(&mut self, capacity: usize, now: Timestamp) -> bool {
        let until_sweep = self.sweep_after.since(now);
        // A value further ahead is from a clock that was set back.
        if !until_sweep.is_zero() && until_sweep <= SWEEP_INTERVAL {
            return false;
        }
        self.by_key.retain(|_, window| !window.is_idle(now));
        let min_free = capacity.div_ceil(4);
        if capacity.saturating_sub(self.by_key.len()) < min_free {
            let candidates = self.by_key.iter().filter(|(_, window)| !window.is_exhausted(now));
            let mut candidates: Vec<_> =
                candidates.map(|(key, window)| (window.used(), *key)).collect();
            candidates.sort_unstable_by_key(|(used, _)| *used);
            for (_, key) in candidates.into_iter().take(min_free) {
                self.by_key.remove(&key);
            }
        }
        let known = &self.by_key;
        self.unreported.retain(|key| known.contains_key(key));
        let free = capacity.saturating_sub(self.by_key.len());
        if free < min_free {
            self.sweep_after = now + SWEEP_INTERVAL;
        }
        free > 0
    }
}

#[cfg(test)]
mod tests;
