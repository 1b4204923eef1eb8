//! What happened lately, by support id: the events that the audit log is told of, kept for a while without a disk.
//!
//! Owns: which logins are remembered and for how long, what is kept of an event, and where a login stands by its events.
//! Must not know: who looks. It keeps who the parties were, when, the catalogue's codes, and why a call to an identity
//! provider failed: no subject, no session, nothing of a person.
//!
//! Memory has a bound: a login is remembered until so many later ones have come. Those that met a refusal have places of
//! their own, for they are asked about; and so have requests that never became a login, which anybody can send. One event
//! costs a short lock and some sixty bytes; an explanation up to 300 more.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use super::event::{Event, Name};
use crate::assurance::Level;
use crate::env::{Env, Timestamp};
use crate::ids::{ClientId, ConnectorId, SupportId};
use crate::protocol::catalogue::ErrorCode;

/// Locks, so that the threads that serve seldom meet.
const SHARDS: usize = 16;
/// Events of one login; of more the first ones and the last ones stay.
const MOMENTS: usize = 48;
const FIRST: usize = 16;
/// Explanations of one login, and the characters of each: of more explanations the last ones stay.
const MAX_DETAILS: usize = 4;
const MAX_DETAIL_CHARS: usize = 300;

/// How many are remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Logins that met no refusal; and as many that did.
    pub logins: usize,
    /// Requests that never became a login, and tokens of logins that are forgotten.
    pub strays: usize,
}

/// One for the program.
pub struct Recent {
    env: Env,
    room: Room,
    shards: [Mutex<Shard>; SHARDS],
}

/// Where a login stands, by what was told of it last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    Choosing,
    Away,
    Identifying,
    Consenting,
    Granted,
    Refused,
    /// On a page that says why; the service provider does not know yet.
    Failed,
    /// It never became a login.
    Stray,
}

impl Stage {
    /// As [`crate::login::State::name`] has it, where that has a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Choosing => "choosing",
            Self::Away => "away",
            Self::Identifying => "identifying",
            Self::Consenting => "consenting",
            Self::Granted => "granted",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Stray => "no login",
        }
    }

    /// A person is on the way.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Choosing | Self::Away | Self::Identifying | Self::Consenting)
    }

    const fn after(self, name: Name, refused: bool) -> Self {
        match (self, name) {
            (Self::Granted | Self::Refused | Self::Stray, _) => self,
            (_, Name::LoginRefused) => Self::Refused,
            (Self::Failed, _) => self,
            (_, Name::LoginFailed) => Self::Failed,
            (_, Name::CodeIssued) => Self::Granted,
            (_, Name::AuthorizationReceived | Name::ChoiceShown | Name::CallbackRefused) => {
                Self::Choosing
            }
            (_, Name::IdpChosen) if refused => Self::Choosing,
            (_, Name::IdpChosen) => Self::Away,
            (_, Name::CallbackAccepted | Name::RegisterAsked) => Self::Identifying,
            (
                _,
                Name::ConsentShown
                | Name::InformationShown
                | Name::ConsentGiven
                | Name::InformationContinued,
            ) => Self::Consenting,
            _ => self,
        }
    }
}

/// One event, as far as it is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    pub at: Timestamp,
    pub name: Name,
    pub whom: Whom,
    pub level: Option<Level>,
    pub code: Option<ErrorCode>,
    /// Why a call to the identity provider failed, in printable ASCII.
    pub detail: Option<Box<str>>,
}

/// Who an event concerns, beside the service provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Whom {
    Nobody,
    IdentityProvider(ConnectorId),
    DataProvider(ClientId),
}

/// What is known of one support id.
#[derive(Clone, Debug)]
pub struct Timeline {
    pub service_provider: Option<ClientId>,
    pub stage: Stage,
    pub moments: Vec<Moment>,
    /// Events that were left out in the middle.
    pub left_out: u32,
    shelf: Shelf,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shelf {
    Well,
    Trouble,
    Stray,
}

#[derive(Default)]
struct Shard {
    timelines: HashMap<u64, Timeline>,
    /// In the order of their beginning.
    well: VecDeque<u64>,
    /// In the order of their first refusal.
    trouble: VecDeque<u64>,
    strays: VecDeque<u64>,
}

impl Recent {
    #[must_use]
    pub fn new(room: Room, env: &Env) -> Self {
        Self { env: env.clone(), room, shards: Default::default() }
    }

    #[must_use]
    pub const fn room(&self) -> Room {
        self.room
    }

    /// Keeps what `event` says of a login, if it says of which.
    pub fn note(&self, event: &Event) {
        let Some(key) = event.support_id.as_ref().and_then(SupportId::number) else { return };
        let whom = match (&event.idp, &event.dp) {
            (Some(idp), _) => Whom::IdentityProvider(idp.clone()),
            (None, Some(dp)) => Whom::DataProvider(dp.clone()),
            (None, None) => Whom::Nobody,
        };
        let detail = event.detail.as_deref().map(printable_detail);
        let moment = Moment {
            at: self.env.now(),
            name: event.name,
            whom,
            level: event.level,
            code: event.code,
            detail,
        };
        if let Some(shard) = self.shard(key) {
            let room = |all: usize| all.div_ceil(SHARDS);
            let room = Room { logins: room(self.room.logins), strays: room(self.room.strays) };
            shard.lock().unwrap_or_else(PoisonError::into_inner).keep(
                key,
                moment,
                event.sp.as_ref(),
                room,
            );
        }
    }

    /// All that is known of a support id.
    #[must_use]
    pub fn find(&self, id: &SupportId) -> Option<Timeline> {
        let key = id.number()?;
        let shard = self.shard(key)?;
        shard.lock().unwrap_or_else(PoisonError::into_inner).timelines.get(&key).cloned()
    }

    /// Keys are random: any bits will do.
    fn shard(&self, key: u64) -> Option<&Mutex<Shard>> {
        self.shards.get(usize::try_from(key % SHARDS as u64).unwrap_or_default())
    }
}

impl std::fmt::Debug for Recent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recent").field("room", &self.room).finish_non_exhaustive()
    }
}

impl Timeline {
    /// True if the first event is the first that there was.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.stage == Stage::Stray
            || self.moments.first().is_some_and(|first| first.name == Name::AuthorizationReceived)
    }

    /// The last refusal.
    #[must_use]
    pub fn refusal(&self) -> Option<&Moment> {
        self.moments.iter().rev().find(|moment| moment.code.is_some())
    }

    /// The identity provider that was asked last.
    #[must_use]
    pub fn identity_provider(&self) -> Option<&ConnectorId> {
        self.moments.iter().rev().find_map(|moment| match &moment.whom {
            Whom::IdentityProvider(id) => Some(id),
            Whom::Nobody | Whom::DataProvider(_) => None,
        })
    }

    fn begin(first: &Moment) -> Self {
        // A refusal without a login before it: the request never became one, or its login is forgotten.
        let is_stray = first.code.is_some()
            && !matches!(
                first.name,
                Name::LoginFailed | Name::LoginRefused | Name::RegisterAnswered
            );
        let (stage, shelf) = match first.name {
            _ if is_stray => (Stage::Stray, Shelf::Stray),
            // A login that is forgotten, or another process' own: its tokens live for hours, and nobody is on the way.
            Name::TokenIssued
            | Name::UserinfoTold
            | Name::IntrospectionActive
            | Name::TokenRevoked => (Stage::Granted, Shelf::Stray),
            _ => (Stage::Choosing, Shelf::Well),
        };
        Self {
            service_provider: None,
            stage,
            moments: Vec::with_capacity(if is_stray { 1 } else { 10 }),
            left_out: 0,
            shelf,
        }
    }

    fn push(&mut self, moment: Moment) {
        self.stage = self.stage.after(moment.name, moment.code.is_some());
        if moment.detail.is_some() {
            let mut explained =
                self.moments.iter_mut().rev().filter(|earlier| earlier.detail.is_some());
            if let Some(oldest) = explained.nth(MAX_DETAILS - 1) {
                oldest.detail = None;
            }
        }
        if self.moments.len() >= MOMENTS {
            self.moments.remove(FIRST);
            self.left_out = self.left_out.saturating_add(1);
        }
        self.moments.push(moment);
    }
}

/// Parts of an explanation may come from upstream: no control characters, and a bounded length.
fn printable_detail(detail: &str) -> Box<str> {
    let printable = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
    detail.chars().take(MAX_DETAIL_CHARS).map(printable).collect::<String>().into_boxed_str()
}

impl Shard {
    fn keep(&mut self, key: u64, moment: Moment, service_provider: Option<&ClientId>, room: Room) {
        let refused = moment.code.is_some();
        let mut new = None;
        let timeline = self.timelines.entry(key).or_insert_with(|| {
            let begun = Timeline::begin(&moment);
            new = Some(begun.shelf);
            begun
        });
        if timeline.service_provider.is_none() {
            timeline.service_provider = service_provider.cloned();
        }
        timeline.push(moment);
        if refused && timeline.shelf == Shelf::Well {
            // It stays in the other queue too, which passes over it.
            timeline.shelf = Shelf::Trouble;
            self.trouble.push_back(key);
        }
        match new {
            Some(Shelf::Stray) => self.strays.push_back(key),
            Some(Shelf::Well | Shelf::Trouble) => self.well.push_back(key),
            None => {}
        }
        self.forget(Shelf::Well, room.logins);
        self.forget(Shelf::Trouble, room.logins);
        self.forget(Shelf::Stray, room.strays);
    }

    fn forget(&mut self, shelf: Shelf, room: usize) {
        let queue = match shelf {
            Shelf::Well => &mut self.well,
            Shelf::Trouble => &mut self.trouble,
            Shelf::Stray => &mut self.strays,
        };
        while queue.len() > room {
            let Some(oldest) = queue.pop_front() else { return };
            if self.timelines.get(&oldest).is_some_and(|timeline| timeline.shelf == shelf) {
                self.timelines.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests;
