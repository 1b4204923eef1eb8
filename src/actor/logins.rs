//! The typed handle to all logins: it admits them, finds or activates their actors, and bounds every wait.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::admission::Admission;
use super::audited;
use super::login::{LoginActor, Take};
use super::means::LoginServices;
use super::ongoing::Spot;
use super::steps::{self, BrowserStep};
use super::unauthenticated::unseen_end;
use crate::audit::Name;
use crate::client_network::ClientNetwork;
use crate::env::Timestamp;
use crate::grant::store_code;
use crate::ids::{ClientId, ConnectorId, InteractionHash, Secret, Subject, SupportId};
use crate::login::{Answer, Answered, Login, Request, Spent, State, Ticket};
use crate::protocol::acr::Demand;
use crate::protocol::authorize::AuthorizationRequest;
use crate::protocol::catalogue::ErrorCode;
use crate::store::{Draft, Kind, Record};
use crate::telemetry::trace;

/// Dead addresses are swept out each time this many actors have been started.
const SWEEP: usize = 256;

#[derive(Clone)]
pub struct Logins {
    means: Arc<LoginServices>,
    arbiters: Arc<[ArbiterHandle]>,
    actors: Arc<RwLock<HashMap<InteractionHash, Addr<LoginActor>>>>,
    started: Arc<AtomicUsize>,
    admission: Arc<Admission>,
    limits: Limits,
}

/// How much at once, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Steps worked on at once, all logins together; those that wait for an identity provider are not among them.
    pub steps_in_flight: usize,
    /// The longest that a browser waits for a step; the step itself goes on.
    pub patience: Duration,
}

/// What a step came to, and where its login now stands.
#[derive(Clone, Debug)]
pub struct Reply {
    pub answer: Answer,
    pub standing: Standing,
}

/// What a page must know of a login.
#[derive(Clone, Debug)]
pub struct Standing {
    pub client_id: ClientId,
    pub support_id: SupportId,
    pub demand: Demand,
    pub ui_locales: Vec<String>,
    pub opened_at: Timestamp,
    pub expires_at: Timestamp,
    /// The service provider has its answer; the login's cookie may go in a minute.
    pub over: bool,
    pub failed: bool,
    /// It was closed because too many younger ones are open in its browser.
    pub displaced: bool,
    /// The connector through which somebody authenticated, once the service provider has its code.
    pub finished_with: Option<ConnectorId>,
}

impl Standing {
    pub(super) fn of(login: &Login) -> Self {
        let ticket = &login.ticket;
        Self {
            client_id: ticket.request.client_id.clone(),
            support_id: ticket.support_id.clone(),
            demand: ticket.request.demand(),
            ui_locales: ticket.request.ui_locales.clone(),
            opened_at: ticket.opened_at,
            expires_at: ticket.expires_at,
            over: login.is_over(),
            failed: matches!(login.state, State::Failed(_)),
            displaced: matches!(&login.state, State::Failed(failed) if failed.code() == ErrorCode::TooManyLogins),
            finished_with: match &login.state {
                State::Answered(Answered::Granted { connector, .. }) => Some(connector.clone()),
                _ => None,
            },
        }
    }
}

/// A login as the store has it, without a step.
pub struct StoredLogin(Login);

impl StoredLogin {
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing::of(&self.0)
    }

    /// Returns whether the login waits for a callback with this `state`, or has accepted it last.
    #[must_use]
    pub fn expects_state(&self, state: &str) -> bool {
        self.0.expects_state(state)
    }

    /// Returns whether the login can still go on.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.0.ticket.expires_at
            && !self.0.is_over()
            && !matches!(self.0.state, State::Failed(_))
    }
}

impl std::fmt::Debug for StoredLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoredLogin(***)")
    }
}

/// Why a login could not take a step at all.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    #[error("there is no such login, or its time is over")]
    Unknown,
    #[error("the step was interrupted")]
    Interrupted,
    #[error("the hub could not take the step: {}", .0.entry().code)]
    Hub(ErrorCode),
}

/// Why a login could not be opened: the hub's trouble, told to the service provider (decisions, architecture 5).
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("the login was not admitted: {}", .0.entry().code)]
pub struct Unserved(pub ErrorCode);

/// A login that was just admitted.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Value of the login cookie.
    pub cookie: Secret<String>,
    pub hash: InteractionHash,
    pub expires_at: Timestamp,
}

impl Logins {
    /// `arbiters` must not be web workers: those die first when the hub stops.
    #[must_use]
    pub fn new(means: Arc<LoginServices>, arbiters: Vec<ArbiterHandle>, limits: Limits) -> Self {
        Self {
            means,
            arbiters: arbiters.into(),
            actors: Arc::default(),
            started: Arc::default(),
            admission: Arc::new(Admission::new(limits.steps_in_flight)),
            limits,
        }
    }

    /// Admits a login: its record is stored, its actor wakes with the first step.
    ///
    /// # Errors
    /// `NetworkCrowded`, `StoreFull`, `StoreUnavailable`, `AuditUnwritable`; nothing is left behind.
    pub async fn open(
        &self,
        mut request: AuthorizationRequest,
        wanted: Vec<Subject>,
        network: Option<ClientNetwork>,
    ) -> Result<Opened, Unserved> {
        let means = &self.means;
        means.grants.audit.admits().map_err(Unserved)?;
        let now = means.env.now();
        let cookie = means.env.entropy().token();
        let hash = InteractionHash::of_cookie(&cookie);
        // It has told whom it wants; the token itself is nobody's business any more.
        request.id_token_hint = None;
        let support_id = SupportId::fresh(means.env.entropy());
        let ticket = Ticket {
            trace: trace::begin_login(&support_id),
            hash: hash.clone(),
            support_id,
            request,
            wanted,
            opened_at: now,
            expires_at: now + means.login_life,
            hint_followed: false,
            returned: None,
            spent: Spent::default(),
        };
        let expires_at = ticket.expires_at;
        let login = Login::open(ticket);
        let value = serde_json::to_vec(&login).map_err(|_| Unserved(ErrorCode::Internal))?;
        if let Some(network) = network {
            let used = means.store.usage(Kind::Login);
            let admitted = means.unauthenticated.admit(&hash, (network, value.len()), used, now);
            for (displaced, version) in admitted.map_err(|_| Unserved(ErrorCode::NetworkCrowded))? {
                // If the store is away, the insertion says so.
                let _removed =
                    means.store.remove_version(&steps::key(&displaced), version, now).await;
            }
        }
        // The page is fetched at once: a login that nobody looks at ends soon.
        let unread_until = Some(unseen_end(&login.ticket));
        let stored_until = steps::keep_until(&login, now);
        let draft =
            Draft { value, expires_at: stored_until, unread_until, families: Arc::default() };
        if let Err(fault) = means.store.insert(steps::key(&hash), draft, now).await {
            means.unauthenticated.remove(&hash);
            return Err(Unserved(store_code(&fault)));
        }
        means.metrics.login_reached(login.state.name());
        means.ongoing.sweep(now, &means.metrics);
        means.ongoing.moved(unseen_end(&login.ticket), None, Spot::of(&login));
        let audit = &means.grants.audit;
        audit.tell(|| {
            audited::of(Name::AuthorizationReceived, &login).level(login.ticket.request.level)
        });
        Ok(Opened { cookie: Secret::new(cookie), hash, expires_at })
    }

    /// Takes a step. It is brought to its end even if the browser goes away meanwhile.
    ///
    /// # Errors
    /// `Unknown` for a login that never was or is over; `Interrupted` when waiting took too long; the hub's own.
    pub async fn step(
        &self,
        hash: &InteractionHash,
        request: Request,
        session: Option<Secret<String>>,
    ) -> Result<Reply, Ended> {
        let place = self.admission.enter().map_err(Ended::Hub)?;
        let (logins, hash) = (self.clone(), hash.clone());
        let (reply, outcome) = oneshot::channel();
        let scope = trace::current();
        // A requester that goes away cancels a message that is still queued, and a web worker dies before the actors
        // do: so the asking is a task of its own, where the actor lives.
        let arbiter = self.arbiter(&hash).cloned();
        let asking = async move {
            let step = BrowserStep { request, session, place, scope };
            let _gone = reply.send(logins.ask(&hash, step).await);
        };
        match arbiter {
            Some(arbiter) => drop(arbiter.spawn(asking)),
            None => drop(actix::spawn(asking)),
        }
        match tokio::time::timeout(self.limits.patience, outcome).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Err(Ended::Interrupted),
        }
    }

    /// Takes no more steps, and waits until those under way are done, `limit` at most. The last thing before the
    /// arbiters stop.
    pub async fn rest(&self, limit: Duration) {
        if !self.admission.close(limit).await {
            tracing::warn!(
                "some login steps were still under way at the end; their browsers can take them again"
            );
        }
    }

    /// Where a login stands, without a step: for the way back on a page of a browser that can't prove it is its own.
    ///
    /// # Errors
    /// `StoreUnavailable`: it can't be told whether there is such a login.
    pub async fn glance(&self, hash: &InteractionHash) -> Result<Option<Standing>, ErrorCode> {
        let found = self
            .means
            .store
            .load(&steps::key(hash), self.means.env.now())
            .await
            .map_err(|fault| store_code(&fault))?;
        Ok(found.map(stored_login).transpose()?.map(|login| login.standing()))
    }

    /// Loads several logins in one store call, in the order of `hashes`; `None` for one that is unknown, expired or written by
    /// a newer release.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn load_many(
        &self,
        hashes: &[InteractionHash],
    ) -> Result<Vec<Option<StoredLogin>>, ErrorCode> {
        let keys: Vec<_> = hashes.iter().map(steps::key).collect();
        let found = self
            .means
            .store
            .load_many(&keys, self.means.env.now())
            .await
            .map_err(|fault| store_code(&fault))?;
        Ok(found.into_iter().map(|record| stored_login(record?).ok()).collect())
    }

    async fn ask(&self, hash: &InteractionHash, step: BrowserStep) -> Result<Reply, Ended> {
        // An actor that has just passivated leaves its address behind; the second try starts a new one.
        if let Ok(outcome) =
            self.actor(hash).send(Take { step: step.clone(), sent: Instant::now() }).await
        {
            return outcome;
        }
        self.forget(hash);
        self.actor(hash)
            .send(Take { step, sent: Instant::now() })
            .await
            .unwrap_or(Err(Ended::Interrupted))
    }

    fn actor(&self, hash: &InteractionHash) -> Addr<LoginActor> {
        if let Some(address) = self.actors.read().unwrap_or_else(PoisonError::into_inner).get(hash)
            && address.connected()
        {
            return address.clone();
        }
        let mut actors = self.actors.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = actors.get(hash)
            && address.connected()
        {
            return address.clone();
        }
        let count = self.started.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(SWEEP) {
            actors.retain(|_, address| address.connected());
        }
        let address = self.start(hash);
        actors.insert(hash.clone(), address.clone());
        address
    }

    /// Where a login lives: always the same place, so that its steps need not cross threads.
    fn arbiter(&self, hash: &InteractionHash) -> Option<&ArbiterHandle> {
        let spread = hash.as_str().bytes().map(usize::from).sum::<usize>();
        self.arbiters.get(spread % self.arbiters.len().max(1))
    }

    fn start(&self, hash: &InteractionHash) -> Addr<LoginActor> {
        let actor = LoginActor::new(hash.clone(), Arc::clone(&self.means));
        match self.arbiter(hash) {
            Some(arbiter) => LoginActor::start_in_arbiter(arbiter, |_| actor),
            None => actor.start(),
        }
    }

    fn forget(&self, hash: &InteractionHash) {
        let mut actors = self.actors.write().unwrap_or_else(PoisonError::into_inner);
        if actors.get(hash).is_some_and(|address| !address.connected()) {
            actors.remove(hash);
        }
    }
}

fn stored_login(record: Record) -> Result<StoredLogin, ErrorCode> {
    serde_json::from_slice(&record.value).map(StoredLogin).map_err(|_| ErrorCode::Internal)
}

impl std::fmt::Debug for Logins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Logins")
    }
}
