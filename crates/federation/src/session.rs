//! Implements sessions: how long they live, what they remember, and when they answer a request
//! without a new authentication (single sign-on).
//!
//! Plain functions over plain data. Does not depend on cookies, stores, pages or clocks. A session
//! exists only after a login has completed, so an unauthenticated browser has nothing to fixate.

pub mod gate;
pub mod logout;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::assurance::amr::AmrEvidence;
use crate::assurance::{AcrCheck, Level, Platform, acr};
use crate::identity::{ClaimName, Identity};
use crate::login::upstream::ElectronicRecord;
use gate::{PermittedConnector, UnavailableReason};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId, Scope, Secret, Subject, SupportId};

/// A completed authentication that one browser may reuse.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    #[serde(flatten)]
    pub login: FinishedLogin,
    pub started_at: Timestamp,
    pub last_used_at: Timestamp,
    /// Identifies what was issued in this session and in those that it continues. A logout ends all
    /// of it.
    pub lineage: String,
    /// Key that marks the encrypted ID tokens of this session, so that a logout recognizes them.
    /// Absent while there is none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "passerelle_protocol::ids::stored_secret"
    )]
    pub hint_key: Option<Secret<String>>,
    /// The login that led to each service provider last, for those that receive logout tokens.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    support_ids: BTreeMap<ClientId, SupportId>,
    /// The service providers of this session, each with the sets of claims that the user consented
    /// to.
    participants: BTreeMap<ClientId, Vec<BTreeSet<ClaimName>>>,
    /// The scopes that the user consented to: one without a value about the user leaves no claim.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    consented_scopes: BTreeMap<ClientId, BTreeSet<Scope>>,
    /// What information pages have shown the user, by service provider.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    information: BTreeMap<ClientId, Vec<ShownRelease>>,
}

/// What an information page has shown: who continued there has seen these scopes and claims.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct ShownRelease {
    scopes: BTreeSet<Scope>,
    claims: BTreeSet<ClaimName>,
}

impl ShownRelease {
    fn covers(&self, scopes: &[Scope], claims: &BTreeSet<ClaimName>) -> bool {
        scopes.iter().all(|scope| self.scopes.contains(scope)) && claims.is_subset(&self.claims)
    }
}

/// Result of a completed login: a [`Session`] without its history.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FinishedLogin {
    pub connector: ConnectorId,
    /// The identity provider's own `sub`, for `subject = "provider"`. Never leaves the hub.
    #[serde(with = "passerelle_protocol::ids::stored_secret")]
    pub upstream_subject: Secret<String>,
    /// The achieved level.
    pub level: Level,
    pub evidence: AmrEvidence,
    /// When the user authenticated, if that is known.
    pub auth_time: Option<Timestamp>,
    /// As in [`Authentication`](crate::login::upstream::Authentication).
    pub session_ends_at: Option<Timestamp>,
    /// The delivered identity: the register's on standard, the identity provider's on high.
    pub identity: Identity,
    /// When the register confirmed the identity, where verified claims are in use.
    pub confirmed_at: Option<Timestamp>,
    /// As in [`Authentication`](crate::login::upstream::Authentication), where verified claims may
    /// name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub electronic_records: Vec<ElectronicRecord>,
    /// As in [`Authentication`](crate::login::upstream::Authentication).
    #[serde(rename = "id_token", default, with = "passerelle_protocol::ids::stored_secret")]
    pub session_hint: Option<Secret<String>>,
}

impl Session {
    /// Starts a session. `lineage` identifies it, is unique, and is not a credential.
    pub fn start(login: FinishedLogin, lineage: &str, now: Timestamp) -> Self {
        Self {
            login,
            started_at: now,
            last_used_at: now,
            lineage: lineage.to_owned(),
            hint_key: None,
            support_ids: BTreeMap::new(),
            participants: BTreeMap::new(),
            consented_scopes: BTreeMap::new(),
            information: BTreeMap::new(),
        }
    }

    /// Returns when the session expires if it is not used before. It is expired from that moment
    /// on.
    pub fn expires_at(&self, limits: &SessionLimits) -> Timestamp {
        let begin = match limits.lifetime_start {
            LifetimeStart::SessionStart => self.started_at,
            // An identity provider's clock that runs ahead must not lengthen the session.
            LifetimeStart::AuthTime => {
                self.login.auth_time.map_or(self.started_at, |at| at.min(self.started_at))
            }
        };
        let end = (begin + limits.lifetime).min(self.last_used_at + limits.idle);
        self.login.session_ends_at.map_or(end, |ends_at| ends_at.min(end))
    }

    /// Records a use, which restarts the idle time but not the lifetime. Never goes back in time.
    pub fn record_use(&mut self, now: Timestamp) {
        self.last_used_at = self.last_used_at.max(now);
    }

    /// Returns whether both belong to one account at one identity provider.
    pub fn is_same_account(&self, other: &Self) -> bool {
        self.login.connector == other.login.connector
            && self.login.upstream_subject == other.login.upstream_subject
    }

    /// Takes over the history of the previous session: the same user has authenticated again in the
    /// same browser. What the user was shown counts only for the same identity: another e-mail
    /// address was on no page.
    pub fn continue_from(&mut self, previous: Self) {
        let is_shown = self.login.identity == previous.login.identity;
        self.participants = previous.participants;
        if is_shown {
            self.consented_scopes = previous.consented_scopes;
            self.information = previous.information;
        } else {
            self.participants.values_mut().for_each(Vec::clear);
        }
        self.support_ids = previous.support_ids;
        self.lineage = previous.lineage;
        self.hint_key = previous.hint_key;
    }

    /// Records that this service provider got an answer from this session.
    pub fn add_participant(&mut self, service_provider: &ClientId) {
        self.participants.entry(service_provider.clone()).or_default();
    }

    /// Records the login that led to a service provider.
    pub fn set_support_id(&mut self, service_provider: &ClientId, support_id: &SupportId) {
        self.support_ids.insert(service_provider.clone(), support_id.clone());
    }

    /// Returns the login that led to a service provider last, if it was recorded.
    pub fn support_id(&self, service_provider: &ClientId) -> Option<&SupportId> {
        self.support_ids.get(service_provider)
    }

    /// Returns the service providers of this session.
    pub fn participants(&self) -> impl Iterator<Item = &ClientId> {
        self.participants.keys()
    }

    /// Returns whether this service provider got an answer from this session.
    pub fn has_participant(&self, service_provider: &ClientId) -> bool {
        self.participants.contains_key(service_provider)
    }

    /// Remembers the user's consent for as long as the session lives.
    pub fn remember_consent(
        &mut self,
        service_provider: &ClientId,
        scopes: &[Scope],
        claims: BTreeSet<ClaimName>,
    ) {
        self.consented_scopes
            .entry(service_provider.clone())
            .or_default()
            .extend(scopes.iter().cloned());
        let given = self.participants.entry(service_provider.clone()).or_default();
        given.retain(|earlier| !earlier.is_subset(&claims));
        if !given.iter().any(|earlier| claims.is_subset(earlier)) {
            given.push(claims);
        }
    }

    /// Remembers for as long as the session lives that a page has shown this to the user.
    pub fn remember_information(
        &mut self,
        service_provider: &ClientId,
        scopes: &[Scope],
        claims: BTreeSet<ClaimName>,
    ) {
        let shown = self.information.entry(service_provider.clone()).or_default();
        if shown.iter().any(|earlier| earlier.covers(scopes, &claims)) {
            return;
        }
        let new = ShownRelease { scopes: scopes.iter().cloned().collect(), claims };
        shown.retain(|earlier| {
            !(earlier.scopes.is_subset(&new.scopes) && earlier.claims.is_subset(&new.claims))
        });
        shown.push(new);
    }

    /// Returns whether one page of this service provider has shown the user all these scopes and
    /// claims.
    pub fn has_been_informed(
        &self,
        service_provider: &ClientId,
        scopes: &[Scope],
        claims: &BTreeSet<ClaimName>,
    ) -> bool {
        let shown = self.information.get(service_provider);
        shown.is_some_and(|shown| shown.iter().any(|page| page.covers(scopes, claims)))
    }

    /// Returns whether the user has consented to all these scopes, and one consent covers all these
    /// claims. Two that cover the claims only together do not: the user never saw that page.
    pub fn has_consented(
        &self,
        service_provider: &ClientId,
        scopes: &[Scope],
        claims: &BTreeSet<ClaimName>,
    ) -> bool {
        let consented = self.consented_scopes.get(service_provider);
        consented.is_some_and(|consented| scopes.iter().all(|scope| consented.contains(scope)))
            && self
                .participants
                .get(service_provider)
                .is_some_and(|given| given.iter().any(|yes| claims.is_subset(yes)))
    }
}

/// Limits of a session's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionLimits {
    /// Longest time since the last use.
    pub idle: Duration,
    /// Longest time since `lifetime_start`, however much the session is used.
    pub lifetime: Duration,
    pub lifetime_start: LifetimeStart,
}

/// When the lifetime of a session starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LifetimeStart {
    SessionStart,
    AuthTime,
}

impl SessionLimits {
    /// Returns the limits of a platform: standard 30 min idle and 8 h in total, high 10 min from
    /// the authentication.
    pub fn for_platform(platform: Platform) -> Self {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        match platform {
            Platform::Standard => Self {
                idle: minutes(30),
                lifetime: minutes(480),
                lifetime_start: LifetimeStart::SessionStart,
            },
            Platform::High => Self {
                idle: minutes(10),
                lifetime: minutes(10),
                lifetime_start: LifetimeStart::AuthTime,
            },
        }
    }
}

/// What a request demands of a session.
#[derive(Clone, Debug)]
pub struct ReuseRequest {
    pub platform: Platform,
    pub prompt_login: PromptLogin,
    /// In seconds. Zero means `prompt=login` (OpenID Connect Core 1.0 §3.1.2.1).
    pub max_age: Option<u64>,
    /// The requested minimum level.
    pub level: Level,
    /// The connectors that `idp_hint` names, without those that the gate refuses: such a hint is
    /// ignored.
    pub idp_hints: Vec<ConnectorId>,
    /// The users that `id_token_hint` and the `claims` member `sub` name. The session's user must
    /// be each of them.
    pub required_subjects: Vec<Subject>,
    /// The `sub` of the session's user at the requesting service provider.
    pub session_subject: Subject,
}

/// Whether the effective `prompt` contains `login`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PromptLogin {
    Requested,
    NotRequested,
}

/// Error returned when a session can't answer a request: the first reason in this order.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReuseError {
    #[error("the session has expired")]
    Expired,
    #[error("prompt=login requests a new authentication")]
    LoginRequested,
    #[error("the authentication is older than max_age")]
    TooOld,
    #[error("the session's level is lower than the requested one")]
    LevelTooLow,
    #[error("idp_hint names another connector")]
    OtherConnector,
    #[error("the request names another user")]
    OtherUser,
    #[error("the gate refuses: {0}")]
    Gate(UnavailableReason),
}

/// Checks whether this session may answer this request. Returns the level of the answer, never
/// eidas3; identity, `auth_time` and evidence are the session's. `connector` is what the session's
/// connector can prove to the requesting service provider now.
///
/// # Errors
/// The first reason against it.
pub fn check_reuse(
    session: &Session,
    request: &ReuseRequest,
    limits: &SessionLimits,
    connector: Result<PermittedConnector, UnavailableReason>,
    now: Timestamp,
) -> Result<Level, ReuseError> {
    let held = acr::level_if_reusable(session.login.level, request.level, request.platform);
    let too_old = |max_age: u64| {
        let is_recent = |at| now.since(at) <= Duration::from_secs(max_age);
        max_age == 0 || !session.login.auth_time.is_some_and(is_recent)
    };
    let reasons = [
        (session.expires_at(limits) <= now, ReuseError::Expired),
        (request.prompt_login == PromptLogin::Requested, ReuseError::LoginRequested),
        (request.max_age.is_some_and(too_old), ReuseError::TooOld),
        (held.is_none(), ReuseError::LevelTooLow),
        (
            !request.idp_hints.is_empty() && !request.idp_hints.contains(&session.login.connector),
            ReuseError::OtherConnector,
        ),
        (
            request.required_subjects.iter().any(|subject| *subject != request.session_subject),
            ReuseError::OtherUser,
        ),
    ];
    if let Some((_, reason)) = reasons.into_iter().find(|(holds, _)| *holds) {
        return Err(reason);
    }
    // The gate checks the level that was achieved: the connector's range bounds what it proves, not
    // what the hub counts it as.
    let connector = connector.map_err(ReuseError::Gate)?;
    let achieved = AcrCheck::Achieved(session.login.level);
    connector.check_level(achieved).map_err(ReuseError::Gate)?;
    // An authentication time that is not proven is not compared with `max_age`.
    if request.max_age.is_some() && !connector.reauthenticates {
        return Err(ReuseError::Gate(UnavailableReason::ReauthenticationUnproven));
    }
    held.ok_or(ReuseError::LevelTooLow)
}

#[cfg(test)]
mod tests;
