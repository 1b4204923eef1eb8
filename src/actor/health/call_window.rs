//! The last minute of calls, in a fixed amount of memory: ten slots of six seconds, each of which is used again.

use std::time::Duration;

use super::circuit::Call;
use crate::env::Timestamp;
use crate::protocol::catalogue::ErrorCode;

const SLOTS: u64 = 10;
const SLOT_MILLIS: u64 = 6_000;
/// Two for each doubling, from half a millisecond to half a minute.
const BUCKETS: usize = 34;
/// Kinds of failure that are told apart in one slot.
const REASONS: usize = 6;

pub struct Window {
    slots: [Slot; SLOTS as usize],
}

#[derive(Clone, Copy)]
struct Slot {
    /// Which six seconds since the epoch; a slot of another time is as good as empty.
    tick: u64,
    tally: Tally,
    reasons: [Option<(ErrorCode, u32)>; REASONS],
    latency: [u32; BUCKETS],
}

/// How many calls came to what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    pub well: u32,
    pub ill: u32,
    /// Of `well`: logins.
    pub login_successes: u32,
}

/// Times that so many of all calls stayed within, at most half too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quantiles {
    pub p50: Duration,
    pub p95: Duration,
    pub p99: Duration,
}

impl Tally {
    /// From 0 to 1; 0 where nothing was called.
    #[must_use]
    pub fn failure_ratio(&self) -> f64 {
        let all = self.well.saturating_add(self.ill);
        if all == 0 { 0.0 } else { f64::from(self.ill) / f64::from(all) }
    }
}

impl Default for Slot {
    fn default() -> Self {
        Self { tick: 0, tally: Tally::default(), reasons: [None; REASONS], latency: [0; BUCKETS] }
    }
}

impl Default for Window {
    fn default() -> Self {
        Self { slots: [Slot::default(); SLOTS as usize] }
    }
}

const fn tick(now: Timestamp) -> u64 {
    // Never 0, which is the tick of an unused slot.
    now.millis() / SLOT_MILLIS + 1
}

impl Window {
    pub fn record(
        &mut self,
        now: Timestamp,
        call: Call,
        outcome: Result<(), ErrorCode>,
        took: Duration,
    ) {
        let tick = tick(now);
        let Some(slot) = self.slots.get_mut(usize::try_from(tick % SLOTS).unwrap_or_default())
        else {
            return;
        };
        if slot.tick != tick {
            *slot = Slot { tick, ..Slot::default() };
        }
        if let Some(count) = slot.latency.get_mut(bucket(took)) {
            *count = count.saturating_add(1);
        }
        match outcome {
            Ok(()) => {
                slot.tally.well = slot.tally.well.saturating_add(1);
                slot.tally.login_successes =
                    slot.tally.login_successes.saturating_add(u32::from(call.is_a_login()));
            }
            Err(code) => {
                slot.tally.ill = slot.tally.ill.saturating_add(1);
                count(&mut slot.reasons, code);
            }
        }
    }

    pub fn tally(&self, now: Timestamp) -> Tally {
        self.live(now).fold(Tally::default(), |sum, slot| Tally {
            well: sum.well.saturating_add(slot.tally.well),
            ill: sum.ill.saturating_add(slot.tally.ill),
            login_successes: sum.login_successes.saturating_add(slot.tally.login_successes),
        })
    }

    /// The most frequent first.
    pub fn reasons(&self, now: Timestamp) -> Vec<(ErrorCode, u32)> {
        let mut all: Vec<(ErrorCode, u32)> = Vec::new();
        for (code, times) in self.live(now).flat_map(|slot| slot.reasons).flatten() {
            match all.iter_mut().find(|(known, _)| *known == code) {
                Some((_, sum)) => *sum = sum.saturating_add(times),
                None => all.push((code, times)),
            }
        }
        all.sort_by_key(|(code, times)| (std::cmp::Reverse(*times), code.entry().code));
        all
    }

    pub fn latency(&self, now: Timestamp) -> Option<Quantiles> {
        let mut counts = [0_u64; BUCKETS];
        for slot in self.live(now) {
            counts.iter_mut().zip(slot.latency).for_each(|(sum, count)| *sum += u64::from(count));
        }
        let all: u64 = counts.iter().sum();
        let within = |percent: u64| {
            let rank = (all * percent).div_ceil(100).max(1);
            let mut seen = 0;
            let place = counts.iter().position(|count| {
                seen += count;
                seen >= rank
            });
            bound(place.unwrap_or(BUCKETS - 1))
        };
        (all > 0).then(|| Quantiles { p50: within(50), p95: within(95), p99: within(99) })
    }

    /// Old failures are no reason to shut it again; how long calls took stays known.
    pub fn forgive(&mut self) {
        for slot in &mut self.slots {
            (slot.tally, slot.reasons) = (Tally::default(), [None; REASONS]);
        }
    }

    fn live(&self, now: Timestamp) -> impl Iterator<Item = &Slot> {
        let now = tick(now);
        self.slots.iter().filter(move |slot| slot.tick <= now && slot.tick + SLOTS > now)
    }
}

fn count(reasons: &mut [Option<(ErrorCode, u32)>; REASONS], code: ErrorCode) {
    let is_place =
        |place: &&mut Option<(ErrorCode, u32)>| place.is_none_or(|(known, _)| known == code);
    if let Some(place) = reasons.iter_mut().find(is_place) {
        *place = Some((code, place.map_or(0, |(_, times)| times).saturating_add(1)));
    }
}

/// Which bucket a time falls into: those of `bound` from the one before up to its own, excluded.
fn bucket(took: Duration) -> usize {
    let halves = u64::try_from(took.as_micros() / 500).unwrap_or(u64::MAX).max(1);
    let doublings = halves.ilog2() as usize;
    let upper = usize::from(halves - (1 << doublings) >= (1 << doublings) / 2 && doublings > 0);
    (2 * doublings + upper).min(BUCKETS - 1)
}

/// The upper end of a bucket.
fn bound(bucket: usize) -> Duration {
    let halves: u64 = 1 << (bucket / 2);
    let end = if bucket.is_multiple_of(2) && bucket > 0 { halves + halves / 2 } else { 2 * halves };
    Duration::from_micros(500 * end)
}
