//! Counts one key of a rate limiter: its pace on this hub, and how often it was admitted in this
//! minute, on this hub and on others.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use passerelle_protocol::env::{Env, Timestamp};
use passerelle_store::counters::WINDOW_LENGTH;

/// A time at least this much before the last one means that the clock was set back; threads differ
/// by less.
const CLOCK_SET_BACK_TOLERANCE: Duration = Duration::from_secs(1);

/// Error returned when a rate limit is exceeded.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("rate limit exceeded; retry in {retry_after:?}")]
pub struct RateLimitError {
    /// Time until the next one is admitted, unless another takes its place.
    pub retry_after: Duration,
}

impl RateLimitError {
    /// Returns whole seconds for `Retry-After`, rounded up and at least 1.
    pub fn retry_after_seconds(self) -> u64 {
        self.retry_after.as_secs()
            + u64::from(self.retry_after.subsec_nanos() > 0)
                .max(u64::from(self.retry_after.is_zero()))
    }
}

/// Admissions of one key in the current minute.
pub(super) struct RateWindow {
    limit_per_minute: NonZeroU32,
    limiter: RateLimiter<NotKeyed, InMemoryState, EnvClock, NoOpMiddleware<Duration>>,
    window: u64,
    /// Admissions by this hub in this minute.
    local: u32,
    /// Admissions of `local` that other hubs know.
    reported: u32,
    /// Whether the key is queued for the next report.
    pub is_queued: bool,
    /// Admissions by other hubs in this minute, as last reported.
    remote: u64,
    /// When the key was last counted.
    last_used: Timestamp,
    refused_until: Timestamp,
}

/// Returns the number of the current minute since 1970.
pub(super) fn window_number(now: Timestamp) -> u64 {
    now.seconds() / WINDOW_LENGTH.as_secs()
}

impl RateWindow {
    /// Starts an empty window.
    pub(crate) fn new(limit: NonZeroU32, env: &Env, now: Timestamp) -> Self {
        let limiter =
            RateLimiter::direct_with_clock(Quota::per_minute(limit), EnvClock(env.clone()));
        Self {
            limit_per_minute: limit,
            limiter,
            window: window_number(now),
            local: 0,
            reported: 0,
            is_queued: false,
            remote: 0,
            last_used: now,
            refused_until: Timestamp::default(),
        }
    }

    /// Counts one more, unless the limit is reached.
    ///
    /// # Errors
    /// [`RateLimitError`] if it is reached; the refusal is not counted.
    pub(crate) fn take(
        &mut self,
        limit: NonZeroU32,
        env: &Env,
        now: Timestamp,
    ) -> Result<(), RateLimitError> {
        if self.limit_per_minute != limit || self.was_clock_set_back(now) {
            *self = Self { is_queued: self.is_queued, ..Self::new(limit, env, now) };
        }
        self.roll_over(now);
        self.last_used = now;
        let taken =
            if self.remote > 0 && u64::from(self.local) + self.remote >= u64::from(limit.get()) {
                Err(Timestamp::from_seconds((self.window + 1) * WINDOW_LENGTH.as_secs()).since(now))
            } else {
                self.limiter.check().map_err(|not_until| {
                    not_until.wait_time_from(Duration::from_millis(now.millis()))
                })
            };
        match taken {
            Ok(()) => {
                self.local = self.local.saturating_add(1);
                Ok(())
            }
            Err(wait) => {
                self.refused_until = now + wait;
                Err(RateLimitError { retry_after: wait })
            }
        }
    }

    /// Returns the last refusal while it lasts.
    pub(crate) fn refusal(&self, now: Timestamp) -> Option<RateLimitError> {
        let lasts = self.refused_until > now && !self.was_clock_set_back(now);
        lasts.then(|| RateLimitError { retry_after: self.refused_until.since(now) })
    }

    /// Returns whether the clock was set back: without a reset, the old counts would hold until it
    /// has caught up.
    fn was_clock_set_back(&self, now: Timestamp) -> bool {
        self.last_used.since(now) >= CLOCK_SET_BACK_TOLERANCE
    }

    /// Resets the counts if a new minute has begun.
    fn roll_over(&mut self, now: Timestamp) {
        let window = window_number(now);
        if self.window != window {
            (self.window, self.local, self.reported, self.remote) = (window, 0, 0, 0);
        }
    }

    /// Returns the admissions that other hubs don't know, and marks them as reported.
    pub(crate) fn drain_delta(&mut self, window: u64) -> Option<u32> {
        self.is_queued = false;
        let delta = self.local.saturating_sub(self.reported);
        if self.window != window || delta == 0 {
            return None;
        }
        self.reported = self.local;
        Some(delta)
    }

    /// Takes over the sum of all hubs, which includes all that this hub has reported.
    pub(crate) fn merge_sum(&mut self, window: u64, sum: u64) {
        if self.window == window {
            self.remote = sum.saturating_sub(u64::from(self.reported));
        }
    }

    /// Returns whether the window can be dropped without effect.
    pub(crate) fn is_idle(&self, now: Timestamp) -> bool {
        now.since(self.last_used) >= WINDOW_LENGTH || self.was_clock_set_back(now)
    }

    /// Returns whether the limit is exhausted, so that dropping the window would lift it.
    pub(crate) fn is_exhausted(&self, now: Timestamp) -> bool {
        self.refused_until > now
            || (self.window == window_number(now)
                && self.used() >= u64::from(self.limit_per_minute.get()))
    }

    /// Returns the admissions of this minute, on all hubs.
    pub(crate) fn used(&self) -> u64 {
        u64::from(self.local) + self.remote
    }
}

/// Adapts [`Env`]'s clock to the limiter: time since the epoch.
#[derive(Clone)]
struct EnvClock(Env);

impl Clock for EnvClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        Duration::from_millis(self.0.now().millis())
    }
}
