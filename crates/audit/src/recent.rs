//! Keeps the recent audit events of each support id in memory, for the admin console.
//!
//! Responsible for which logins are kept and for how long, and for deriving the stage of a login.
//! An entry has the parties, the time, error codes, and why a call to an identity provider failed:
//! no subject, no session, no personal data.
//!
//! Memory is bounded: a login is kept until a number of later ones have begun, and for a number of
//! days. Logins with a refusal have their own limit, because operators ask about them. So have
//! requests that never became a login, which anyone can send. An event costs a short lock and about
//! sixty bytes, an explanation up to 300 more.

pub mod failures;

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use self::failures::{FailureFilter, FailureSummary, RecentFailures};
use super::event::{Event, EventKind};
use passerelle_federation::assurance::Level;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::{ClientId, ConnectorId, SupportId};
use passerelle_telemetry::printable_ascii;

/// Number of locks, so that threads seldom contend.
const SHARDS: usize = 16;
/// Maximum number of entries of one timeline. Above it, entries in the middle are dropped.
const MAX_TIMELINE_ENTRIES: usize = 48;
/// Number of first entries that are never dropped.
const FIRST_ENTRIES_KEPT: usize = 16;
/// Maximum number of explanations of one login; the last ones stay.
const MAX_DETAILS: usize = 4;
/// Maximum number of characters of an explanation.
const MAX_DETAIL_CHARS: usize = 300;

/// Maximum numbers and age of timelines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetentionLimits {
    /// Maximum number of logins without a refusal, and of logins with one.
    pub logins: usize,
    /// Requests that never became a login, and tokens of logins that are no longer kept.
    pub without_login: usize,
    /// Time from the first event of a timeline to its removal.
    pub max_age: Duration,
}

/// Recent events by support id; one instance per process.
pub struct RecentEvents {
    env: Env,
    limits: RetentionLimits,
    shards: [Mutex<Shard>; SHARDS],
    failures: RecentFailures,
}

/// Stage of a login, derived from its events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LoginStage {
    Choosing,
    AwaitingCallback,
    Identifying,
    Consenting,
    Granted,
    Refused,
    /// Ended on an error page; the service provider has no response yet.
    Failed,
    /// The request never became a login.
    NoLogin,
}

impl LoginStage {
    /// Returns the name; that of [`passerelle_federation::login::LoginState::name`] where it exists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Choosing => "choosing",
            Self::AwaitingCallback => "awaiting_callback",
            Self::Identifying => "identifying",
            Self::Consenting => "consenting",
            Self::Granted => "granted",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::NoLogin => "no_login",
        }
    }

    /// Returns whether the login is in progress.
    pub const fn is_in_progress(self) -> bool {
        matches!(
            self,
            Self::Choosing | Self::AwaitingCallback | Self::Identifying | Self::Consenting
        )
    }

    const fn next(self, kind: EventKind, is_refusal: bool) -> Self {
        match (self, kind) {
            (Self::Granted | Self::Refused | Self::NoLogin, _) => self,
            (_, EventKind::LoginRefused) => Self::Refused,
            (Self::Failed, _) => self,
            (_, EventKind::LoginFailed) => Self::Failed,
            (_, EventKind::CodeIssued) => Self::Granted,
            (
                _,
                EventKind::AuthorizationReceived
                | EventKind::ChoiceShown
                | EventKind::CallbackRefused,
            ) => Self::Choosing,
            (_, EventKind::IdpChosen) if is_refusal => Self::Choosing,
            (_, EventKind::IdpChosen) => Self::AwaitingCallback,
            (_, EventKind::CallbackAccepted | EventKind::RegisterQueried) => Self::Identifying,
            (
                _,
                EventKind::ConsentShown
                | EventKind::InformationShown
                | EventKind::ConsentGiven
                | EventKind::InformationContinued,
            ) => Self::Consenting,
            _ => self,
        }
    }
}

/// Kept part of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimelineEntry {
    pub at: Timestamp,
    pub kind: EventKind,
    pub party: Party,
    pub level: Option<Level>,
    pub code: Option<ErrorCode>,
    /// Why a call to the identity provider failed, in printable ASCII.
    pub detail: Option<Box<str>>,
}

/// Party that an event concerns, besides the service provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Party {
    Unspecified,
    IdentityProvider(ConnectorId),
    DataProvider(ClientId),
}

/// Events of one support id.
#[derive(Clone, Debug)]
pub struct Timeline {
    pub service_provider: Option<ClientId>,
    pub stage: LoginStage,
    pub entries: Vec<TimelineEntry>,
    /// Number of entries dropped in the middle.
    pub omitted: u32,
    retention_class: RetentionClass,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RetentionClass {
    WithoutRefusal,
    WithRefusal,
    WithoutLogin,
}

impl RetentionClass {
    const ALL: [Self; 3] = [Self::WithoutRefusal, Self::WithRefusal, Self::WithoutLogin];
}

#[derive(Default)]
struct Shard {
    timelines: HashMap<u64, Timeline>,
    /// In order of their first event.
    without_refusal: VecDeque<u64>,
    /// In order of their first refusal.
    with_refusal: VecDeque<u64>,
    without_login: VecDeque<u64>,
}

impl RecentEvents {
    /// Creates an empty collection with these limits.
    pub fn new(limits: RetentionLimits, env: &Env) -> Self {
        Self {
            env: env.clone(),
            limits,
            shards: Default::default(),
            failures: RecentFailures::default(),
        }
    }

    /// Keeps an event that has a support id.
    pub fn record(&self, event: &Event) {
        let Some(id) = &event.support_id else { return };
        let Some(key) = id.number() else { return };
        let party = match (&event.idp, &event.dp) {
            (Some(idp), _) => Party::IdentityProvider(idp.clone()),
            (None, Some(dp)) => Party::DataProvider(dp.clone()),
            (None, None) => Party::Unspecified,
        };
        let detail = event.detail.as_deref().map(printable_detail);
        let entry = TimelineEntry {
            at: self.env.now(),
            kind: event.kind,
            party,
            level: event.level,
            code: event.code,
            detail,
        };
        if let Some(shard) = self.shard(key) {
            let per_shard = |all: usize| all.div_ceil(SHARDS);
            let limits = RetentionLimits {
                logins: per_shard(self.limits.logins),
                without_login: per_shard(self.limits.without_login),
                ..self.limits
            };
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.add(key, entry, event.sp.as_ref(), limits);
            if let Some(timeline) = shard.timelines.get(&key)
                && let Some(entry) = timeline.entries.last()
            {
                self.failures.record(id, timeline, entry);
            }
        }
    }

    /// Summarizes the logins that failed in the last hour.
    pub fn summarize_failures(&self, filter: &FailureFilter) -> FailureSummary {
        self.failures.summarize(filter, self.env.now())
    }

    /// Returns the timeline of a support id.
    pub fn find(&self, id: &SupportId) -> Option<Timeline> {
        let key = id.number()?;
        let shard = self.shard(key)?;
        let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, max_age) = (self.env.now(), self.limits.max_age);
        shard.timelines.get(&key).filter(|timeline| !timeline.is_expired(max_age, now)).cloned()
    }

    /// Removes the timelines that are too old. To be called from time to time.
    pub fn remove_expired(&self) {
        let (now, max_age) = (self.env.now(), self.limits.max_age);
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).remove_expired(max_age, now);
        }
    }

    /// Keys are random, so any bits select a shard.
    fn shard(&self, key: u64) -> Option<&Mutex<Shard>> {
        self.shards.get(usize::try_from(key % SHARDS as u64).unwrap_or_default())
    }
}

impl Timeline {
    /// Returns whether the timeline has the first event of its login.
    pub fn is_whole(&self) -> bool {
        self.stage == LoginStage::NoLogin
            || self
                .entries
                .first()
                .is_some_and(|first| first.kind == EventKind::AuthorizationReceived)
    }

    fn is_expired(&self, max_age: Duration, now: Timestamp) -> bool {
        self.entries.first().is_some_and(|first| now >= first.at + max_age)
    }

    /// Returns the last refusal.
    pub fn refusal(&self) -> Option<&TimelineEntry> {
        self.entries.iter().rev().find(|entry| entry.code.is_some())
    }

    /// Returns the identity provider that was chosen last.
    pub fn identity_provider(&self) -> Option<&ConnectorId> {
        self.entries.iter().rev().find_map(|entry| match &entry.party {
            Party::IdentityProvider(id) => Some(id),
            Party::Unspecified | Party::DataProvider(_) => None,
        })
    }

    /// Builds the timeline of one login from its events, oldest first; `None` without any.
    pub fn from_entries(
        entries: impl IntoIterator<Item = (Option<ClientId>, TimelineEntry)>,
    ) -> Option<Self> {
        let mut timeline: Option<Self> = None;
        for (service_provider, entry) in entries {
            let timeline = timeline.get_or_insert_with(|| Self::new(&entry));
            timeline.service_provider = timeline.service_provider.take().or(service_provider);
            timeline.push(entry);
        }
        timeline
    }

    fn new(first: &TimelineEntry) -> Self {
        // A refusal without a login before it: the request never became one, or it is no longer
        // kept.
        let is_without_login = first.code.is_some()
            && !matches!(
                first.kind,
                EventKind::LoginFailed
                    | EventKind::LoginRefused
                    | EventKind::RegisterAnswered
                    | EventKind::LogoutTokenUndelivered
            );
        let (stage, retention_class) = match first.kind {
            _ if is_without_login => (LoginStage::NoLogin, RetentionClass::WithoutLogin),
            // A login that is no longer kept, or another process's: its tokens live for hours.
            EventKind::TokenIssued
            | EventKind::UserinfoReleased
            | EventKind::IntrospectionActive
            | EventKind::LogoutTokenDelivered
            | EventKind::LogoutTokenUndelivered
            | EventKind::TokenRevoked => (LoginStage::Granted, RetentionClass::WithoutLogin),
            _ => (LoginStage::Choosing, RetentionClass::WithoutRefusal),
        };
        Self {
            service_provider: None,
            stage,
            entries: Vec::with_capacity(if is_without_login { 1 } else { 13 }),
            omitted: 0,
            retention_class,
        }
    }

    fn push(&mut self, entry: TimelineEntry) {
        self.stage = self.stage.next(entry.kind, entry.code.is_some());
        if entry.detail.is_some() {
            let mut explained =
                self.entries.iter_mut().rev().filter(|earlier| earlier.detail.is_some());
            if let Some(oldest) = explained.nth(MAX_DETAILS - 1) {
                oldest.detail = None;
            }
        }
        if self.entries.len() >= MAX_TIMELINE_ENTRIES {
            self.entries.remove(FIRST_ENTRIES_KEPT);
            self.omitted = self.omitted.saturating_add(1);
        }
        self.entries.push(entry);
    }
}

/// Makes an explanation printable and bounded, because parts of it may come from upstream.
pub fn printable_detail(detail: &str) -> Box<str> {
    printable_ascii(detail, MAX_DETAIL_CHARS).into_boxed_str()
}

impl Shard {
    fn add(
        &mut self,
        key: u64,
        entry: TimelineEntry,
        service_provider: Option<&ClientId>,
        limits: RetentionLimits,
    ) {
        let is_refusal = entry.code.is_some();
        let mut new = None;
        let timeline = self.timelines.entry(key).or_insert_with(|| {
            let begun = Timeline::new(&entry);
            new = Some(begun.retention_class);
            begun
        });
        if timeline.service_provider.is_none() {
            timeline.service_provider = service_provider.cloned();
        }
        timeline.push(entry);
        if is_refusal && timeline.retention_class == RetentionClass::WithoutRefusal {
            // It stays in the other queue too, which skips it.
            timeline.retention_class = RetentionClass::WithRefusal;
            self.with_refusal.push_back(key);
        }
        match new {
            Some(RetentionClass::WithoutLogin) => self.without_login.push_back(key),
            Some(RetentionClass::WithoutRefusal | RetentionClass::WithRefusal) => {
                self.without_refusal.push_back(key);
            }
            None => {}
        }
        self.evict(RetentionClass::WithoutRefusal, limits.logins);
        self.evict(RetentionClass::WithRefusal, limits.logins);
        self.evict(RetentionClass::WithoutLogin, limits.without_login);
    }

    fn evict(&mut self, retention_class: RetentionClass, max: usize) {
        while self.queue(retention_class).len() > max {
            self.remove_oldest(retention_class);
        }
    }

    fn remove_expired(&mut self, max_age: Duration, now: Timestamp) {
        for retention_class in RetentionClass::ALL {
            while let Some(oldest) = self.queue(retention_class).front().copied()
                && self.timelines.get(&oldest).is_none_or(|found| found.is_expired(max_age, now))
            {
                self.remove_oldest(retention_class);
            }
        }
    }

    const fn queue(&mut self, retention_class: RetentionClass) -> &mut VecDeque<u64> {
        match retention_class {
            RetentionClass::WithoutRefusal => &mut self.without_refusal,
            RetentionClass::WithRefusal => &mut self.with_refusal,
            RetentionClass::WithoutLogin => &mut self.without_login,
        }
    }

    fn remove_oldest(&mut self, retention_class: RetentionClass) {
        let Some(oldest) = self.queue(retention_class).pop_front() else { return };
        if self
            .timelines
            .get(&oldest)
            .is_some_and(|timeline| timeline.retention_class == retention_class)
        {
            self.timelines.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests;
