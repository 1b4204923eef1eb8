//! Provides the handle to all logins: it admits them, finds or starts their actors, and bounds
//! every wait.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::live_login_counter::LoginPosition;
use super::login_actor::{LoginActor, RunStep};
use super::login_services::LoginServices;
use super::login_summary::{LoginSummary, Reply, StepError, StoredLogin};
use super::step_admission::StepAdmission;
use super::step_audit;
use super::steps::{self, BrowserStep};
use super::unauthenticated_logins::unread_expiry;
use passerelle_audit::EventKind;
use passerelle_federation::login::{Login, LoginContext, LoginRequest, TimeBreakdown};
use passerelle_protocol::authorize::AuthorizationRequest;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{InteractionHash, Secret, Subject, SupportId};
use passerelle_store::{NewRecord, RecordKind};
use passerelle_telemetry::trace;

/// Addresses of stopped actors are removed each time this many actors have been started.
const STARTS_BETWEEN_SWEEPS: usize = 256;

/// Handle to all logins. Cheap to clone.
#[derive(Clone)]
pub struct Logins {
    services: Arc<LoginServices>,
    actors: Arc<RwLock<HashMap<InteractionHash, Addr<LoginActor>>>>,
    started: Arc<AtomicUsize>,
    admission: Arc<StepAdmission>,
    limits: LoginLimits,
}

/// Limits on concurrency and waiting.
#[derive(Clone, Copy, Debug)]
pub struct LoginLimits {
    /// Concurrent steps of all logins, except those that wait for an identity provider.
    pub steps_in_flight: usize,
    /// Longest time that a browser waits for a step; the step itself continues.
    pub response_timeout: Duration,
}

/// Error returned when a login could not be opened. The service provider gets it.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("the login was not admitted: {}", .0.entry().code)]
pub struct LoginAdmissionError(pub ErrorCode);

/// A login that was just admitted.
#[derive(Clone, Debug)]
pub struct OpenedLogin {
    /// Value of the login cookie.
    pub cookie: Secret<String>,
    pub hash: InteractionHash,
    pub expires_at: Timestamp,
}

impl Logins {
    /// Returns true if the hub sends one-time codes by mail.
    pub fn sends_mail_codes(&self) -> bool {
        self.services.mail_codes.is_some()
    }

    /// Creates the handle.
    pub fn new(services: Arc<LoginServices>, limits: LoginLimits) -> Self {
        Self {
            services,
            actors: Arc::default(),
            started: Arc::default(),
            admission: Arc::new(StepAdmission::new(limits.steps_in_flight)),
            limits,
        }
    }

    /// Admits a login: stores its record. Its actor starts with the first step.
    ///
    /// # Errors
    /// `NetworkLoginsExceeded`, `StoreFull`, `StoreUnavailable`, `AuditUnwritable`; nothing is
    /// stored.
    pub async fn admit(
        &self,
        mut request: AuthorizationRequest,
        required_subjects: Vec<Subject>,
        network: Option<ClientNetwork>,
    ) -> Result<OpenedLogin, LoginAdmissionError> {
        let services = &self.services;
        services.core.audit.check_admission().map_err(LoginAdmissionError)?;
        let now = services.core.env.now();
        let cookie = services.core.env.entropy().token();
        let hash = InteractionHash::from_cookie(&cookie);
        // Its user is in `required_subjects`; the token itself is no longer needed.
        request.id_token_hint = None;
        let support_id = SupportId::generate(services.core.env.entropy());
        let login = Login::new(LoginContext {
            trace: trace::start_login_trace(&support_id),
            hash: hash.clone(),
            support_id,
            request,
            required_subjects,
            opened_at: now,
            expires_at: now + services.login_lifetime,
            hint_followed: false,
            accepted_state: None,
            time_spent: TimeBreakdown::default(),
        });
        self.store_new_login(&login, network, now).await?;
        services.core.metrics.record_login_transition(login.state.name());
        services.live_logins.count_abandoned_logins(now, &services.core.metrics);
        services.live_logins.record_move(
            unread_expiry(&login.context),
            None,
            LoginPosition::from_login(&login),
        );
        services.core.audit.record(|| {
            step_audit::login_event(EventKind::AuthorizationReceived, &login)
                .level(login.context.request.level)
        });
        let expires_at = login.context.expires_at;
        Ok(OpenedLogin { cookie: Secret::new(cookie), hash, expires_at })
    }

    /// Stores a new login, in place of older ones of its network where that has too many.
    async fn store_new_login(
        &self,
        login: &Login,
        network: Option<ClientNetwork>,
        now: Timestamp,
    ) -> Result<(), LoginAdmissionError> {
        let (services, hash) = (&self.services, &login.context.hash);
        let value =
            serde_json::to_vec(login).map_err(|_| LoginAdmissionError(ErrorCode::Internal))?;
        if let Some(network) = network {
            let used = services.store.usage(RecordKind::LOGIN);
            let admitted = services.unauthenticated.admit(hash, network, value.len(), used, now);
            for (displaced, version) in
                admitted.map_err(|_| LoginAdmissionError(ErrorCode::NetworkLoginsExceeded))?
            {
                // If the store is unavailable, the insertion fails.
                let _removed = services
                    .store
                    .remove_version(&steps::login_key(&displaced), version, now)
                    .await;
            }
        }
        let draft = NewRecord {
            value,
            expires_at: steps::record_expiry(login, now),
            // Browsers fetch the page at once: a login whose page is not fetched expires early.
            expires_unread_at: Some(unread_expiry(&login.context)),
            families: Arc::default(),
        };
        if let Err(error) = services.store.insert(steps::login_key(hash), draft, now).await {
            services.unauthenticated.remove(hash);
            return Err(LoginAdmissionError(error.into()));
        }
        Ok(())
    }

    /// Runs a step, to its end even if the browser disconnects. Must be called on an arbiter that
    /// runs until [`Self::drain`] has returned.
    ///
    /// # Errors
    /// `Unknown` for a login that does not exist or has expired; `Interrupted` after a timeout;
    /// `Hub` for errors of the hub.
    pub async fn run_step(
        &self,
        hash: &InteractionHash,
        request: LoginRequest,
        session: Option<Secret<String>>,
    ) -> Result<Reply, StepError> {
        let permit = self.admission.admit().map_err(StepError::Hub)?;
        let (logins, hash) = (self.clone(), hash.clone());
        let (reply, outcome) = oneshot::channel();
        let scope = trace::current_scope();
        // A requester that disconnects cancels a message that is still queued. So a task sends it.
        actix::spawn(async move {
            let step = BrowserStep { request, session, permit, scope };
            let message = || RunStep { step: step.clone(), sent: Instant::now() };
            let mut outcome = logins.actor_for(&hash).send(message()).await;
            if outcome.is_err() {
                // An actor that has just passivated left its address behind.
                logins.forget_dead_actor(&hash);
                outcome = logins.actor_for(&hash).send(message()).await;
            }
            let _gone = reply.send(outcome.unwrap_or(Err(StepError::Interrupted)));
        });
        match tokio::time::timeout(self.limits.response_timeout, outcome).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Err(StepError::Interrupted),
        }
    }

    /// Returns how many logins without an authentication the network that holds most has begun.
    pub fn most_of_one_network(&self) -> usize {
        self.services.unauthenticated.most_of_one_network()
    }

    /// Refuses new steps, and waits up to `limit` for the running ones. To be called last before
    /// the arbiters stop.
    pub async fn drain(&self, limit: Duration) {
        if !self.admission.close(limit).await {
            tracing::warn!(
                "shutdown: some login steps did not finish in time; browsers can repeat them"
            );
        }
    }

    /// Returns a summary of a login without running a step, for the link on an error page of a
    /// browser that can't prove that the login is its own.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn peek(&self, hash: &InteractionHash) -> Result<Option<LoginSummary>, ErrorCode> {
        let found =
            self.services.store.load(&steps::login_key(hash), self.services.core.env.now()).await?;
        let login = found.map(|record| StoredLogin::parse(hash, &record)).transpose()?;
        Ok(login.map(|login| login.summary()))
    }

    /// Loads several logins in one store call, in the order of `hashes`; `None` for one that is
    /// unknown, expired or written by a newer release.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn load_many(
        &self,
        hashes: &[InteractionHash],
    ) -> Result<Vec<Option<StoredLogin>>, ErrorCode> {
        let keys: Vec<_> = hashes.iter().map(steps::login_key).collect();
        let found = self.services.store.load_many(&keys, self.services.core.env.now()).await?;
        let records = hashes.iter().zip(found);
        Ok(records.map(|(hash, record)| StoredLogin::parse(hash, &record?).ok()).collect())
    }

    fn actor_for(&self, hash: &InteractionHash) -> Addr<LoginActor> {
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
        if count.is_multiple_of(STARTS_BETWEEN_SWEEPS) {
            actors.retain(|_, address| address.connected());
        }
        // On the arbiter that serves this request: the others of the browser mostly arrive there.
        let address = LoginActor::new(hash.clone(), Arc::clone(&self.services)).start();
        actors.insert(hash.clone(), address.clone());
        address
    }

    fn forget_dead_actor(&self, hash: &InteractionHash) {
        let mut actors = self.actors.write().unwrap_or_else(PoisonError::into_inner);
        if actors.get(hash).is_some_and(|address| !address.connected()) {
            actors.remove(hash);
        }
    }
}
