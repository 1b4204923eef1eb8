//! Keeps the logins that failed lately, and how many logins failed in the last hour and why.
//!
//! Responsible for counting each reason of a login once, and for its bounds: a number of failed
//! logins, and of counters. Knows ids and error codes, and nothing about any person.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{LoginStage, RetentionClass, Timeline, TimelineEntry};
use crate::event::EventKind;
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId, SupportId};

/// Failed logins that are kept, and as many requests that never became a login, so that a flood of
/// those evicts no login.
const KEPT_FAILURES: usize = 1000;
/// Failed logins, and refused requests, of one summary.
const SHOWN_FAILURES: usize = 50;
/// Counters of one summary, the highest ones.
const MAX_COUNTS_SHOWN: usize = 500;
/// Counters of one interval. Above it, failures are counted without their parties.
const MAX_COUNTERS: usize = 2000;
const INTERVAL: Duration = Duration::from_secs(300);
/// Intervals of an hour.
const KEPT_INTERVALS: usize = 12;

/// A login that failed, or a request that never became one.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailedLogin {
    /// RFC 3339.
    pub time: String,
    pub support_id: SupportId,
    pub service_provider: Option<ClientId>,
    pub identity_provider: Option<ConnectorId>,
    /// `Y` and six digits.
    pub code: String,
}

/// Number of failures of the last hour with these parties and this reason.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailureCount {
    /// `Y` and six digits.
    pub code: String,
    pub service_provider: Option<ClientId>,
    pub identity_provider: Option<ConnectorId>,
    pub count: u64,
}

/// How the logins of the last hour, or of some party, ended.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FailureSummary {
    /// Logins that succeeded.
    pub granted: u64,
    /// The most frequent first.
    pub counts: Vec<FailureCount>,
    /// The last failed logins, the latest first.
    pub failed_logins: Vec<FailedLogin>,
    /// The last requests that never became a login, the latest first.
    pub refused_requests: Vec<FailedLogin>,
}

/// The party whose logins are summarized; all without one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FailureFilter {
    pub service_provider: Option<ClientId>,
    pub identity_provider: Option<ConnectorId>,
}

impl FailureFilter {
    fn matches(&self, sp: Option<&ClientId>, idp: Option<&ConnectorId>) -> bool {
        self.service_provider.as_ref().is_none_or(|wanted| sp == Some(wanted))
            && self.identity_provider.as_ref().is_none_or(|wanted| idp == Some(wanted))
    }
}

#[derive(Default)]
pub(super) struct RecentFailures(Mutex<FailureState>);

#[derive(Default)]
struct FailureState {
    failed_logins: VecDeque<Failure>,
    refused_requests: VecDeque<Failure>,
    /// Oldest first.
    intervals: VecDeque<CountedInterval>,
}

#[derive(Clone)]
struct Failure {
    support_id: SupportId,
    at: Timestamp,
    code: ErrorCode,
    parties: Parties,
}

type Parties = (Option<ClientId>, Option<ConnectorId>);

struct CountedInterval {
    start: Timestamp,
    failed: HashMap<(ErrorCode, Parties), u64>,
    granted: HashMap<Parties, u64>,
}

impl RecentFailures {
    /// Counts an event that has just been added to its timeline.
    pub(super) fn record(&self, id: &SupportId, timeline: &Timeline, entry: &TimelineEntry) {
        let is_granted = entry.kind == EventKind::CodeIssued;
        let code = entry.code.filter(|_| ends_attempt(entry.kind));
        if code.is_none() && !is_granted {
            return;
        }
        let parties = (timeline.service_provider.clone(), timeline.identity_provider().cloned());
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(code) = code else {
            if timeline.retention_class == RetentionClass::WithRefusal {
                // The person has signed in after all.
                state.failed_logins.retain(|failure| failure.support_id != *id);
            }
            state.count(entry.at, |interval| interval.count_granted(parties));
            return;
        };
        let failures = if timeline.stage == LoginStage::NoLogin {
            &mut state.refused_requests
        } else {
            &mut state.failed_logins
        };
        let earlier = failures.iter().position(|failure| failure.support_id == *id);
        let earlier = earlier.and_then(|index| failures.remove(index));
        // A refused response and the end of its login are one failure.
        let is_new = earlier.is_none_or(|earlier| earlier.code != code);
        failures.push_back(Failure {
            support_id: id.clone(),
            at: entry.at,
            code,
            parties: parties.clone(),
        });
        if failures.len() > KEPT_FAILURES {
            failures.pop_front();
        }
        if is_new {
            state.count(entry.at, |interval| interval.count_failed(code, parties));
        }
    }

    /// Summarizes the last hour.
    pub(super) fn summarize(&self, filter: &FailureFilter, now: Timestamp) -> FailureSummary {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hour = INTERVAL * u32::try_from(KEPT_INTERVALS).unwrap_or_default();
        let intervals =
            || state.intervals.iter().filter(|interval| now.since(interval.start) < hour);
        let mut counts: HashMap<&(ErrorCode, Parties), u64> = HashMap::new();
        for (key, count) in intervals().flat_map(|interval| &interval.failed) {
            let (_, (sp, idp)) = key;
            if filter.matches(sp.as_ref(), idp.as_ref()) {
                *counts.entry(key).or_default() += count;
            }
        }
        let mut counts: Vec<FailureCount> = counts
            .into_iter()
            .map(|((code, parties), count)| to_failure_count(*code, parties, count))
            .collect();
        counts.sort_by(|one, other| {
            other.count.cmp(&one.count).then_with(|| one.code.cmp(&other.code))
        });
        counts.truncate(MAX_COUNTS_SHOWN);
        let granted = intervals().flat_map(|interval| &interval.granted);
        let granted = granted.filter(|((sp, idp), _)| filter.matches(sp.as_ref(), idp.as_ref()));
        let latest = |failures: &VecDeque<Failure>| {
            let matching = failures.iter().rev().filter(|failure| {
                filter.matches(failure.parties.0.as_ref(), failure.parties.1.as_ref())
            });
            matching.take(SHOWN_FAILURES).map(to_failed_login).collect()
        };
        FailureSummary {
            granted: granted.map(|(_, count)| *count).sum(),
            counts,
            failed_logins: latest(&state.failed_logins),
            refused_requests: latest(&state.refused_requests),
        }
    }
}

/// Returns whether a code on such an event says why an attempt to sign in has failed.
const fn ends_attempt(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::AuthorizationRefused
            | EventKind::IdpChosen
            | EventKind::CallbackRefused
            | EventKind::LoginRefused
            | EventKind::LoginFailed
    )
}

fn to_failure_count(code: ErrorCode, parties: &Parties, count: u64) -> FailureCount {
    let (service_provider, identity_provider) = parties;
    FailureCount {
        code: code.entry().code.to_owned(),
        service_provider: service_provider.clone(),
        identity_provider: identity_provider.clone(),
        count,
    }
}

fn to_failed_login(failure: &Failure) -> FailedLogin {
    let (service_provider, identity_provider) = failure.parties.clone();
    FailedLogin {
        time: format_rfc3339(failure.at),
        support_id: failure.support_id.clone(),
        service_provider,
        identity_provider,
        code: failure.code.entry().code.to_owned(),
    }
}

impl FailureState {
    /// Counts in the current interval.
    fn count(&mut self, now: Timestamp, count: impl FnOnce(&mut CountedInterval)) {
        if self.intervals.back().is_none_or(|last| now.since(last.start) >= INTERVAL) {
            self.intervals.push_back(CountedInterval::begin(now));
            if self.intervals.len() > KEPT_INTERVALS {
                self.intervals.pop_front();
            }
        }
        if let Some(current) = self.intervals.back_mut() {
            count(current);
        }
    }
}

impl CountedInterval {
    fn begin(start: Timestamp) -> Self {
        Self { start, failed: HashMap::new(), granted: HashMap::new() }
    }

    fn count_failed(&mut self, code: ErrorCode, parties: Parties) {
        let is_full = self.failed.len() >= MAX_COUNTERS;
        let key = (code, parties);
        let key =
            if is_full && !self.failed.contains_key(&key) { (code, (None, None)) } else { key };
        *self.failed.entry(key).or_default() += 1;
    }

    fn count_granted(&mut self, parties: Parties) {
        let is_full = self.granted.len() >= MAX_COUNTERS;
        let parties =
            if is_full && !self.granted.contains_key(&parties) { (None, None) } else { parties };
        *self.granted.entry(parties).or_default() += 1;
    }
}

#[cfg(test)]
mod tests;
