//! Keeps the calls of the last minute in a fixed amount of memory: ten slots of six seconds, reused
//! in turn.

use std::time::Duration;

use super::circuit::CallKind;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;

const SLOTS: usize = 10;
const SLOT_MILLIS: u64 = 6_000;
/// Two latency buckets per doubling, with upper bounds of up to 65 seconds.
const BUCKETS: usize = 34;
/// Failures within a minute from which an identity provider may be degraded. Fewer may be caused by
/// one browser.
pub(crate) const MIN_FAILURES_TO_DEGRADE: u32 = 3;
/// Maximum number of kinds of failure that one slot distinguishes.
const MAX_REASONS_PER_SLOT: usize = 6;

/// Calls of the last minute.
#[derive(Clone)]
pub(crate) struct CallWindow {
    slots: [Slot; SLOTS],
}

#[derive(Clone, Copy)]
struct Slot {
    /// Number of its six seconds since the epoch. A slot of another time counts as empty.
    tick: u64,
    tally: Tally,
    reasons: [Option<(ErrorCode, u32)>; MAX_REASONS_PER_SLOT],
    latency: [u32; BUCKETS],
}

/// Counts of calls by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tally {
    pub successes: u32,
    pub failures: u32,
    /// Successes that are logins.
    pub login_successes: u32,
}

/// Quantiles of call durations. Each is the upper bound of its bucket: above a millisecond at most
/// 50 % too high.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quantiles {
    pub p50: Duration,
    pub p95: Duration,
    pub p99: Duration,
}

impl Tally {
    /// Returns the share of failures, from 0 to 1; 0 without calls. From three failures on, it is that
    /// among these and the successful logins, because probes succeed also where every login fails.
    pub(crate) fn failure_ratio(&self) -> f64 {
        let says_much = self.failures >= MIN_FAILURES_TO_DEGRADE;
        let successes = if says_much { self.login_successes } else { self.successes };
        let all = successes.saturating_add(self.failures);
        if all == 0 { 0.0 } else { f64::from(self.failures) / f64::from(all) }
    }
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            tick: 0,
            tally: Tally::default(),
            reasons: [None; MAX_REASONS_PER_SLOT],
            latency: [0; BUCKETS],
        }
    }
}

impl Default for CallWindow {
    fn default() -> Self {
        Self { slots: [Slot::default(); SLOTS] }
    }
}

const fn slot_number(now: Timestamp) -> u64 {
    // Never 0, which is the number of an unused slot.
    now.millis() / SLOT_MILLIS + 1
}

impl CallWindow {
    /// Records a call.
    pub(crate) fn record(
        &mut self,
        now: Timestamp,
        call: CallKind,
        outcome: Result<(), ErrorCode>,
        took: Duration,
    ) {
        let tick = slot_number(now);
        let Some(slot) = self.slots.get_mut(usize::try_from(tick).unwrap_or_default() % SLOTS)
        else {
            return;
        };
        if slot.tick != tick {
            *slot = Slot { tick, ..Slot::default() };
        }
        if call.waits_for_provider(took)
            && let Some(count) = slot.latency.get_mut(bucket_index(took))
        {
            *count = count.saturating_add(1);
        }
        match outcome {
            Ok(()) => {
                slot.tally.successes = slot.tally.successes.saturating_add(1);
                slot.tally.login_successes =
                    slot.tally.login_successes.saturating_add(u32::from(call.is_login()));
            }
            Err(code) => {
                slot.tally.failures = slot.tally.failures.saturating_add(1);
                count_reason(&mut slot.reasons, code);
            }
        }
    }

    /// Returns the counts of the last minute.
    pub(crate) fn tally(&self, now: Timestamp) -> Tally {
        self.current_slots(now).fold(Tally::default(), |sum, slot| Tally {
            successes: sum.successes.saturating_add(slot.tally.successes),
            failures: sum.failures.saturating_add(slot.tally.failures),
            login_successes: sum.login_successes.saturating_add(slot.tally.login_successes),
        })
    }

    /// Returns the reasons of failures, the most frequent first.
    pub(crate) fn reasons(&self, now: Timestamp) -> Vec<(ErrorCode, u32)> {
        let mut all: Vec<(ErrorCode, u32)> = Vec::new();
        for (code, times) in self.current_slots(now).flat_map(|slot| slot.reasons).flatten() {
            match all.iter_mut().find(|(known, _)| *known == code) {
                Some((_, sum)) => *sum = sum.saturating_add(times),
                None => all.push((code, times)),
            }
        }
        all.sort_by_key(|(code, times)| (std::cmp::Reverse(*times), code.entry().code));
        all
    }

    /// Returns the quantiles of the last minute; `None` without calls.
    pub(crate) fn latency(&self, now: Timestamp) -> Option<Quantiles> {
        let mut counts = [0_u64; BUCKETS];
        for slot in self.current_slots(now) {
            counts.iter_mut().zip(slot.latency).for_each(|(sum, count)| *sum += u64::from(count));
        }
        let all: u64 = counts.iter().sum();
        let within = |percent: u64| {
            let rank = (all * percent).div_ceil(100).max(1);
            let mut seen = 0;
            let bucket = counts.iter().position(|count| {
                seen += count;
                seen >= rank
            });
            bucket_upper_bound(bucket.unwrap_or(BUCKETS - 1))
        };
        (all > 0).then(|| Quantiles { p50: within(50), p95: within(95), p99: within(99) })
    }

    /// Forgets outcomes, so that old failures do not open the circuit again. Durations stay.
    pub(crate) fn forget_outcomes(&mut self) {
        for slot in &mut self.slots {
            (slot.tally, slot.reasons) = (Tally::default(), [None; MAX_REASONS_PER_SLOT]);
        }
    }

    fn current_slots(&self, now: Timestamp) -> impl Iterator<Item = &Slot> {
        let now = slot_number(now);
        self.slots.iter().filter(move |slot| slot.tick <= now && slot.tick + SLOTS as u64 > now)
    }
}

fn count_reason(reasons: &mut [Option<(ErrorCode, u32)>; MAX_REASONS_PER_SLOT], code: ErrorCode) {
    let is_free_or_same =
        |slot: &&mut Option<(ErrorCode, u32)>| slot.is_none_or(|(known, _)| known == code);
    if let Some(slot) = reasons.iter_mut().find(is_free_or_same) {
        *slot = Some((code, slot.map_or(0, |(_, times)| times).saturating_add(1)));
    }
}

/// Returns the bucket of a duration. A bucket's upper bound is exclusive.
fn bucket_index(took: Duration) -> usize {
    let halves = u64::try_from(took.as_micros() / 500).unwrap_or(u64::MAX).max(1);
    let doublings = halves.ilog2() as usize;
    let upper = usize::from(halves - (1 << doublings) >= (1 << doublings) / 2 && doublings > 0);
    (2 * doublings + upper).min(BUCKETS - 1)
}

/// Returns the upper bound of a bucket.
fn bucket_upper_bound(bucket: usize) -> Duration {
    let halves: u64 = 1 << (bucket / 2);
    let end = if bucket.is_multiple_of(2) && bucket > 0 { halves + halves / 2 } else { 2 * halves };
    Duration::from_micros(500 * end)
}
