//! L1 · What a finished authentication allows next: its reuse (single sign-on), and the gate (decisions 1 and 5).
//!
//! Owns: how long a session lives, what it remembers, when it answers a request without asking anybody. Must not know:
//! cookies, stores, pages, clocks. All of it is plain functions over plain data.
//! A session exists only after a login has finished, so there is nothing here for an unauthenticated browser to fixate.

pub mod gate;
pub mod logout;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::assurance::amr::Evidence;
use crate::assurance::{At, Level, Platform, acr};
use crate::env::Timestamp;
use crate::identity::{Claim, Identity};
use crate::ids::{ClientId, ConnectorId, Secret, Subject};

/// A finished authentication that one browser may use again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    pub connector: ConnectorId,
    /// The identity provider's own `sub`, for `subject = "provider"`. Never leaves the hub.
    pub upstream_subject: Secret<String>,
    /// The level obtained.
    pub level: Level,
    pub evidence: Evidence,
    pub auth_time: Timestamp,
    /// The delivered identity: the register's on standard, the identity provider's on high.
    pub identity: Identity,
    /// The identity provider's ID token, for the logout that may follow (`id_token_hint`).
    pub id_token: Option<Secret<String>>,
    pub started_at: Timestamp,
    pub last_used_at: Timestamp,
    /// Names what was issued in this session, and in those before it that it continues: a logout ends all of it.
    pub lineage: String,
    /// Marks the encrypted ID tokens that are issued in this session, so that a logout recognizes them; absent while none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint_key: Option<Secret<String>>,
    /// The service providers that took part, each with the sets of claims to which this user said yes there.
    participants: BTreeMap<ClientId, Vec<BTreeSet<Claim>>>,
}

/// What a login leaves behind when it finishes; a [`Session`] without its history.
#[derive(Clone, Debug)]
pub struct Finished {
    pub connector: ConnectorId,
    pub upstream_subject: Secret<String>,
    pub level: Level,
    pub evidence: Evidence,
    pub auth_time: Timestamp,
    pub identity: Identity,
    pub id_token: Option<Secret<String>>,
}

impl Session {
    /// `lineage` is a name that no other session has, and that opens nothing.
    #[must_use]
    pub fn start(finished: Finished, lineage: &str, now: Timestamp) -> Self {
        let Finished {
            connector,
            upstream_subject,
            level,
            evidence,
            auth_time,
            identity,
            id_token,
        } = finished;
        Self {
            connector,
            upstream_subject,
            level,
            evidence,
            auth_time,
            identity,
            id_token,
            started_at: now,
            last_used_at: now,
            lineage: lineage.to_owned(),
            hint_key: None,
            participants: BTreeMap::new(),
        }
    }

    /// The moment at which the session is over if it isn't used before; over means `expires_at <= now`.
    #[must_use]
    pub fn expires_at(&self, limits: &Limits) -> Timestamp {
        let begin = match limits.life_begins {
            LifeBegins::WithSession => self.started_at,
            // An identity provider's clock that runs ahead must not lengthen the session.
            LifeBegins::WithAuthentication => self.auth_time.min(self.started_at),
        };
        (begin + limits.life).min(self.last_used_at + limits.idle)
    }

    /// Notes a use: idle time begins anew, the whole life doesn't. Time never goes back.
    pub fn touch(&mut self, now: Timestamp) {
        self.last_used_at = self.last_used_at.max(now);
    }

    /// Returns true if both are of one account at one identity provider.
    #[must_use]
    pub fn is_same_account(&self, other: &Self) -> bool {
        self.connector == other.connector && self.upstream_subject == other.upstream_subject
    }

    /// Takes over what the session before it knew: the same person has authenticated again in the same browser.
    pub fn continue_from(&mut self, former: Self) {
        self.participants = former.participants;
        self.lineage = former.lineage;
        self.hint_key = former.hint_key;
    }

    /// Notes that this service provider got an answer out of this session.
    pub fn take_part(&mut self, service_provider: &ClientId) {
        self.participants.entry(service_provider.clone()).or_default();
    }

    /// The service providers that took part.
    pub fn participants(&self) -> impl Iterator<Item = &ClientId> {
        self.participants.keys()
    }

    #[must_use]
    pub fn took_part(&self, service_provider: &ClientId) -> bool {
        self.participants.contains_key(service_provider)
    }

    /// Remembers this user's yes, for as long as the session lives.
    pub fn remember_consent(&mut self, service_provider: &ClientId, claims: BTreeSet<Claim>) {
        let given = self.participants.entry(service_provider.clone()).or_default();
        given.retain(|earlier| !earlier.is_subset(&claims));
        if !given.iter().any(|earlier| claims.is_subset(earlier)) {
            given.push(claims);
        }
    }

    /// True if one yes covers all these claims. Two that cover them only together don't: the user never saw that page.
    #[must_use]
    pub fn consented(&self, service_provider: &ClientId, claims: &BTreeSet<Claim>) -> bool {
        self.participants
            .get(service_provider)
            .is_some_and(|given| given.iter().any(|yes| claims.is_subset(yes)))
    }
}

/// How long a session may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Since the last use.
    pub idle: Duration,
    /// Since its beginning, however much it is used.
    pub life: Duration,
    pub life_begins: LifeBegins,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LifeBegins {
    WithSession,
    WithAuthentication,
}

impl Limits {
    /// Decisions 5: standard 30 min idle and 8 h at most, high 10 min from the authentication.
    #[must_use]
    pub fn of(platform: Platform) -> Self {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        match platform {
            Platform::Standard => {
                Self { idle: minutes(30), life: minutes(480), life_begins: LifeBegins::WithSession }
            }
            Platform::High => Self {
                idle: minutes(10),
                life: minutes(10),
                life_begins: LifeBegins::WithAuthentication,
            },
        }
    }
}

/// What a request asks of a session.
#[derive(Clone, Debug)]
pub struct Asked {
    pub platform: Platform,
    pub prompt_login: PromptLogin,
    /// Seconds; zero is as `prompt=login` (OpenID Connect Core 3.1.2.1).
    pub max_age: Option<u64>,
    /// The minimum that was asked.
    pub level: Level,
    /// The connector that `idp_hint` names; a hint that the gate refuses is ignored, so it isn't here.
    pub idp_hint: Option<ConnectorId>,
    /// Whoever `id_token_hint` and the `claims` member `sub` name: each of them must be the session's user.
    pub wanted: Vec<Subject>,
    /// The `sub` of the session's user at the service provider that asks.
    pub holder: Subject,
}

/// Whether the effective `prompt` has `login`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PromptLogin {
    Asked,
    NotAsked,
}

/// Why a session can't answer a request; the first reason of this order.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NotReused {
    #[error("the session is over")]
    Expired,
    #[error("prompt=login asks for a new authentication")]
    LoginAsked,
    #[error("the authentication is older than max_age")]
    TooOld,
    #[error("the level held is lower than the one asked")]
    LevelTooLow,
    #[error("idp_hint names another connector")]
    OtherConnector,
    #[error("another user is wanted")]
    OtherUser,
    #[error("the gate is closed: {0}")]
    Gate(gate::Closed),
}

/// May this session answer this request? Yes carries the level that the answer counts as, never eidas3; identity,
/// `auth_time` and evidence are the session's. `facts` are those of the service provider that asks and the session's
/// connector, read now.
///
/// # Errors
/// The first reason against it.
pub fn reuse(
    session: &Session,
    asked: &Asked,
    limits: &Limits,
    facts: &gate::Facts,
    now: Timestamp,
) -> Result<Level, NotReused> {
    let held = acr::reused(session.level, asked.level, asked.platform);
    let too_old =
        |max_age: u64| max_age == 0 || now.since(session.auth_time) > Duration::from_secs(max_age);
    let reasons = [
        (session.expires_at(limits) <= now, NotReused::Expired),
        (asked.prompt_login == PromptLogin::Asked, NotReused::LoginAsked),
        (asked.max_age.is_some_and(too_old), NotReused::TooOld),
        (held.is_none(), NotReused::LevelTooLow),
        (
            asked.idp_hint.as_ref().is_some_and(|hint| *hint != session.connector),
            NotReused::OtherConnector,
        ),
        (asked.wanted.iter().any(|subject| *subject != asked.holder), NotReused::OtherUser),
    ];
    if let Some((_, reason)) = reasons.into_iter().find(|(holds, _)| *holds) {
        return Err(reason);
    }
    // The gate judges the level that was obtained: the connector's range is about what it proves, not what we count.
    gate::may(facts, At::Obtained(session.level)).map_err(NotReused::Gate)?;
    // A time that nothing proves is not compared with an age.
    if asked.max_age.is_some() && !facts.reauthenticates() {
        return Err(NotReused::Gate(gate::Closed::ReauthenticationUnproven));
    }
    held.ok_or(NotReused::LevelTooLow)
}

#[cfg(test)]
mod tests;
