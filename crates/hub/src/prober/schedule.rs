//! Schedules the probes: spread evenly over the interval by rank, so that hundreds make no burst.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::health::{Health, ProbeFailures, ProbeRequests};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ConnectorId;

/// Interval between two probes of an identity provider that logins use.
pub(super) const IN_USE_INTERVAL: Duration = Duration::from_secs(10);
/// Interval between two probes of any other.
pub(super) const IDLE_INTERVAL: Duration = Duration::from_secs(60);
/// Time from a failed probe to the one that confirms it.
const CONFIRM_AFTER: Duration = Duration::from_secs(1);
/// Fewest probes allowed in one round, where few connectors would allow fewer.
const MIN_PROBES_PER_ROUND: usize = 8;

/// The next probe of each identity provider.
#[derive(Default)]
pub(super) struct Schedule {
    entries: BTreeMap<ConnectorId, Entry>,
}

struct Entry {
    /// Position among all, by id.
    rank: usize,
    begun_at: Timestamp,
    is_running: bool,
    /// Pause after the next failed probe of the first ones; `None` after a success, or when the
    /// pauses have reached the interval.
    startup_pause: Option<Duration>,
    /// Time of a probe ahead of the interval.
    early_at: Option<Timestamp>,
}

impl Schedule {
    /// Adds and removes entries so that there is one for each of `ids`, which are sorted.
    pub(super) fn sync_entries(&mut self, ids: &[ConnectorId], now: Timestamp) {
        if self.entries.len() != ids.len() || !self.entries.keys().eq(ids.iter()) {
            self.entries.retain(|id, _| ids.contains(id));
            for (rank, id) in ids.iter().enumerate() {
                let entry = self.entries.entry(id.clone()).or_insert(Entry {
                    rank,
                    begun_at: now,
                    is_running: false,
                    startup_pause: Some(CONFIRM_AFTER),
                    early_at: None,
                });
                entry.rank = rank;
            }
        }
        for entry in self.entries.values_mut() {
            // The clock was set back.
            entry.begun_at = entry.begun_at.min(now);
        }
    }

    /// Returns the most probes of one round, so that a pause of the process is not followed by a
    /// burst.
    pub(super) fn max_probes_per_round(&self) -> usize {
        let per_round =
            self.entries.len().div_ceil(usize::try_from(IN_USE_INTERVAL.as_secs()).unwrap_or(1));
        (2 * per_round).max(MIN_PROBES_PER_ROUND)
    }

    /// Restarts the intervals, because another hub probes.
    pub(super) fn postpone_all(&mut self, now: Timestamp) {
        for entry in self.entries.values_mut() {
            (entry.begun_at, entry.early_at) = (now, None);
        }
    }

    /// Takes and schedules the probes that logins and operators request. Without an entry, the
    /// requests stay.
    pub(super) fn take_requests(&mut self, id: &ConnectorId, health: &mut Health, now: Timestamp) {
        if !self.entries.contains_key(id) {
            return;
        }
        let ProbeRequests { documents_suspected, probe_requested } = health.take_probe_requests();
        if documents_suspected {
            self.probe_soon(id, now);
        }
        if probe_requested && let Some(entry) = self.entries.get_mut(id) {
            entry.early_at = Some(now);
        }
    }

    /// Schedules a probe for the next round, or for a later one if the last began just now.
    pub(super) fn probe_soon(&mut self, id: &ConnectorId, now: Timestamp) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.early_at = Some(now.max(entry.begun_at + CONFIRM_AFTER));
        }
    }

    /// Returns whether a probe was started since, or is due early.
    pub(super) fn was_probed_since(&self, id: &ConnectorId, since: Timestamp) -> bool {
        self.entries
            .get(id)
            .is_some_and(|entry| entry.begun_at >= since || entry.early_at.is_some())
    }

    /// Returns whether the documents are to be probed now; if so, the caller probes them.
    pub(super) fn begin_documents(
        &mut self,
        id: &ConnectorId,
        is_in_use: bool,
        now: Timestamp,
    ) -> bool {
        let count = self.entries.len();
        let Some(entry) = self.entries.get_mut(id) else { return false };
        let interval = if is_in_use { IN_USE_INTERVAL } else { IDLE_INTERVAL };
        let is_due = now >= next_slot(entry.begun_at, interval, entry.rank, count)
            || entry.early_at.is_some_and(|at| now >= at);
        if !is_due || entry.is_running {
            return false;
        }
        (entry.begun_at, entry.is_running, entry.early_at) = (now, true, None);
        true
    }

    /// Records that a probe of the documents has finished; `failing` has its failures so far.
    /// Confirms a failure soon. An identity provider that has not worked since the start, as when
    /// all machines start together, is probed after 1, 2, 4 … seconds.
    pub(super) fn finish_documents(
        &mut self,
        id: &ConnectorId,
        failing: Option<&ProbeFailures>,
        now: Timestamp,
    ) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        entry.is_running = false;
        entry.startup_pause = entry.startup_pause.filter(|_| failing.is_some());
        entry.early_at = match (failing, entry.startup_pause) {
            (None, _) => None,
            (Some(_), Some(pause)) => {
                entry.startup_pause = Some(pause * 2).filter(|next| *next < IDLE_INTERVAL);
                Some(now + pause)
            }
            (Some(failing), None) => (!failing.reaches_threshold()).then(|| now + CONFIRM_AFTER),
        };
    }
}

/// Returns the first time after `begun_at` that belongs to this rank: `rank / count` into an
/// interval.
fn next_slot(begun_at: Timestamp, interval: Duration, rank: usize, count: usize) -> Timestamp {
    let interval = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX).max(1);
    let (rank, count) =
        (u64::try_from(rank).unwrap_or_default(), u64::try_from(count).unwrap_or(1).max(1));
    let phase = interval.saturating_mul(rank) / count;
    let begun = begun_at.millis();
    let passed = begun.saturating_sub(phase) / interval;
    let slot = passed.saturating_mul(interval).saturating_add(phase);
    Timestamp::from_millis(if slot > begun { slot } else { slot.saturating_add(interval) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_protocol::catalogue::ErrorCode;

    const START: u64 = 1_700_000_000;

    fn one_entry() -> (Schedule, ConnectorId, Timestamp) {
        let (mut schedule, id) = (Schedule::default(), ConnectorId::from("idp"));
        let now = Timestamp::from_seconds(START);
        schedule.sync_entries(std::slice::from_ref(&id), now);
        (schedule, id, now)
    }

    #[test]
    fn a_failure_right_after_the_start_is_probed_within_a_second() {
        let (mut schedule, id, start) = one_entry();
        schedule.probe_soon(&id, start);
        assert!(!schedule.begin_documents(&id, false, start));
        assert!(schedule.begin_documents(&id, false, start + CONFIRM_AFTER));
    }

    #[test]
    fn an_identity_provider_that_starts_after_the_hub_is_probed_ever_less_often_until_it_works() {
        let (mut schedule, id, start) = one_entry();
        let failing = ProbeFailures { since: start, points: 6, code: ErrorCode::IdpUnreachable };
        schedule.probe_soon(&id, start);
        let mut probed_after = Vec::new();
        for second in 1..=140 {
            let now = start + Duration::from_secs(second);
            if schedule.begin_documents(&id, false, now) {
                probed_after.push(second);
                schedule.finish_documents(&id, Some(&failing), now);
            }
        }
        assert_eq!(probed_after[..6], [1, 2, 4, 8, 16, 32]);
        assert!(probed_after.len() <= 9, "{probed_after:?}");

        let (mut schedule, id, start) = one_entry();
        let mut probes = 0;
        for second in 1..=61 {
            let now = start + Duration::from_secs(second);
            if schedule.begin_documents(&id, false, now) {
                probes += 1;
                schedule.finish_documents(&id, None, now);
            }
        }
        assert!(probes <= 3, "one that works is probed at its interval: {probes}");
    }
}
