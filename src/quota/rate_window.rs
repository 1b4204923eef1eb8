//! What is known of one subject of a limit: how fast it goes here, and how often it was admitted this minute, here and
//! elsewhere.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use super::Over;
use crate::env::{Env, Timestamp};
use crate::store::counters::WINDOW;

/// Threads that read the clock one after the other may come in another order; by so much none does.
const SET_BACK: Duration = Duration::from_secs(1);

pub(super) struct RateWindow {
    most: NonZeroU32,
    pace: RateLimiter<NotKeyed, InMemoryState, EnvClock, NoOpMiddleware<Duration>>,
    window: u64,
    /// Admitted by this hub.
    here: u32,
    /// Of those, what other hubs are told.
    told: u32,
    /// It waits for its turn to be told.
    pub is_queued: bool,
    /// Admitted by all others, as far as was heard.
    elsewhere: u64,
    /// When it was last asked for.
    last: Timestamp,
    refused_until: Timestamp,
}

/// Minutes since 1970.
pub(super) fn window(now: Timestamp) -> u64 {
    now.seconds() / WINDOW.as_secs()
}

impl RateWindow {
    pub fn new(most: NonZeroU32, env: &Env, now: Timestamp) -> Self {
        let pace = RateLimiter::direct_with_clock(Quota::per_minute(most), EnvClock(env.clone()));
        Self {
            most,
            pace,
            window: window(now),
            here: 0,
            told: 0,
            is_queued: false,
            elsewhere: 0,
            last: now,
            refused_until: Timestamp::default(),
        }
    }

    /// # Errors
    /// It has had its share. What is turned away is not counted.
    pub fn take(&mut self, most: NonZeroU32, env: &Env, now: Timestamp) -> Result<(), Over> {
        if self.most != most || self.is_ahead(now) {
            *self = Self { is_queued: self.is_queued, ..Self::new(most, env, now) };
        }
        self.turn(now);
        self.last = now;
        let taken = if self.elsewhere > 0
            && u64::from(self.here) + self.elsewhere >= u64::from(most.get())
        {
            Err(Timestamp::from_seconds((self.window + 1) * WINDOW.as_secs()).since(now))
        } else {
            self.pace
                .check()
                .map_err(|not_until| not_until.wait_time_from(Duration::from_millis(now.millis())))
        };
        match taken {
            Ok(()) => {
                self.here = self.here.saturating_add(1);
                Ok(())
            }
            Err(wait) => {
                self.refused_until = now + wait;
                Err(Over { wait })
            }
        }
    }

    /// The clock was set back: what was counted by it would be held against its subject until it is there again.
    fn is_ahead(&self, now: Timestamp) -> bool {
        self.last.since(now) >= SET_BACK
    }

    /// Begins the current minute, if it has not begun.
    fn turn(&mut self, now: Timestamp) {
        let window = window(now);
        if self.window != window {
            (self.window, self.here, self.told, self.elsewhere) = (window, 0, 0, 0);
        }
    }

    /// What others don't know of yet; from now on they do.
    pub fn tell(&mut self, window: u64) -> Option<u32> {
        self.is_queued = false;
        let untold = self.here.saturating_sub(self.told);
        if self.window != window || untold == 0 {
            return None;
        }
        self.told = self.here;
        Some(untold)
    }

    /// The sum of all hubs, in which all is that was told.
    pub fn hear(&mut self, window: u64, sum: u64) {
        if self.window == window {
            self.elsewhere = sum.saturating_sub(u64::from(self.told));
        }
    }

    /// As good as new: it can be forgotten without anybody's profit.
    pub fn is_idle(&self, now: Timestamp) -> bool {
        now.since(self.last) >= WINDOW || self.is_ahead(now)
    }

    /// Whoever makes the hub forget it would gain by it.
    pub fn is_used_up(&self, now: Timestamp) -> bool {
        self.refused_until > now
            || (self.window == window(now) && self.used() >= u64::from(self.most.get()))
    }

    pub fn used(&self) -> u64 {
        u64::from(self.here) + self.elsewhere
    }
}

/// The program's clock, as the limiter reads it: time since the epoch.
#[derive(Clone)]
struct EnvClock(Env);

impl Clock for EnvClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        Duration::from_millis(self.0.now().millis())
    }
}
