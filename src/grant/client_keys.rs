//! The public keys of every service provider and data provider: those of its file, or those that it publishes at its
//! `jwks_uri`.
//!
//! Owns: fetching them in the background, refreshing them before they are old, keeping the last good copy while their
//! server is down (decisions 6, 10). Must not know: what is verified or sealed with them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;

use crate::config::{Federation, JwksUri, KeySource};
use crate::egress::guard::{CallLimits, Guard, GuardFault, Schemes};
use crate::egress::kept::{Fetched, Kept, Standing, life_of};
use crate::env::Env;
use crate::ids::ClientId;
use crate::protocol::alg::EncryptionAlg;
use crate::telemetry::Metrics;
use crate::token::ClientKeys;
use crate::token::client_keys::ClientKeysFault;

/// How often it is looked whether any key set is missing or old.
const ROUND: Duration = Duration::from_secs(10);
/// Calls at once; a hundred slow servers must not delay the hundred and first for long.
const CALLS: usize = 16;
/// A key set of a hundred keys with their certificates fits twice.
const LIMITS: CallLimits = CallLimits { body: 256 * 1024, ..CallLimits::DEFAULT };

/// Where every client's keys are looked up. One for the program: ids of service providers and data providers are unique
/// together.
pub struct KeyDirectory {
    sets: BTreeMap<ClientId, Set>,
}

enum Set {
    Inline(Arc<ClientKeys>),
    Published(Arc<Published>),
}

struct Published {
    client_id: ClientId,
    uri: String,
    guard: Guard,
    kept: Kept<ClientKeys, FetchFault>,
    metrics: Arc<Metrics>,
}

/// A `jwks_uri` that could never be called.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("the jwks_uri of {client_id} can't be called: {fault}")]
pub struct DirectoryFault {
    client_id: ClientId,
    fault: GuardFault,
}

/// Why a key set was not had. Names the host at most, nothing of the answer.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum FetchFault {
    #[error(transparent)]
    Guard(#[from] GuardFault),
    #[error("it was answered with status {0}")]
    Status(u16),
    #[error("what came {0}")]
    Set(#[from] ClientKeysFault),
    #[error("what came holds no key with a kid that {} can encrypt to", .0.as_str())]
    Unfit(EncryptionAlg),
}

impl FetchFault {
    /// For the metric.
    const fn label(&self) -> &'static str {
        match self {
            Self::Guard(_) => "no_answer",
            Self::Status(_) => "bad_status",
            Self::Set(_) | Self::Unfit(_) => "bad_keys",
        }
    }
}

impl KeyDirectory {
    /// Nothing is fetched yet: see [`KeyDirectory::follow`].
    ///
    /// # Errors
    /// An address that must not be called.
    pub fn new(federation: &Federation, metrics: &Arc<Metrics>) -> Result<Self, DirectoryFault> {
        // A client keeps roots and connections of its own, so those of the same rules share one.
        let mut guards: Vec<((Schemes, &[String]), Guard)> = Vec::new();
        let mut sets = BTreeMap::new();
        for owner in federation.key_owners() {
            let client_id = owner.client_id.clone();
            // One that is switched off is served nothing, so nothing is asked of it.
            if !owner.active {
                continue;
            }
            let set = match owner.keys {
                KeySource::None => continue,
                KeySource::Inline(keys) => Set::Inline(Arc::clone(keys)),
                KeySource::Uri(address) => {
                    let published = Published::new(&client_id, address, &mut guards, metrics);
                    Set::Published(Arc::new(published.map_err(|fault| DirectoryFault { client_id: client_id.clone(), fault })?))
                }
            };
            sets.insert(client_id, set);
        }
        Ok(Self { sets })
    }

    /// The keys as they are known now, parsed; the last good copy where they are published. `None`: the client
    /// has none, or they have never been fetched.
    #[must_use]
    pub fn keys(&self, client_id: &ClientId) -> Option<Arc<ClientKeys>> {
        match self.sets.get(client_id)? {
            Set::Inline(keys) => Some(Arc::clone(keys)),
            Set::Published(published) => published.kept.latest(),
        }
    }

    /// `lacking`, as [`KeyDirectory::keys`] gave it, lacks what is needed (a signature by an unknown `kid`): fetches
    /// anew, at most once a minute. Gives what is there afterwards, which may be `lacking` again.
    ///
    /// The fetch is a task of its own: a request dies with its connection, and a stranger who hangs up early each minute
    /// would otherwise keep a client's new key from ever being fetched.
    pub async fn keys_anew(&self, client_id: &ClientId, lacking: &Arc<ClientKeys>, env: &Env) -> Arc<ClientKeys> {
        let Some(Set::Published(published)) = self.sets.get(client_id) else { return Arc::clone(lacking) };
        let (published, env, known) = (Arc::clone(published), env.clone(), Arc::clone(lacking));
        let fetching = tokio::spawn(async move { published.fetch_ahead(&known, &env).await });
        fetching.await.unwrap_or_else(|_| Arc::clone(lacking))
    }

    /// Fetches what is missing or getting old, now and for ever. Ends at once where nothing is published.
    pub async fn follow(self: Arc<Self>, env: Env) {
        if self.published().next().is_none() {
            return;
        }
        let mut round = tokio::time::interval(ROUND);
        loop {
            round.tick().await;
            self.refresh(&env).await;
        }
    }

    /// One round: fetches every key set that is missing or getting old, and waits for the outcome.
    pub async fn refresh(&self, env: &Env) {
        let calls = self.published().map(|published| published.refresh(env));
        stream::iter(calls).buffer_unordered(CALLS).collect::<()>().await;
    }

    /// Fetches every published key set once, and says whether its owner could be answered with it.
    pub async fn probe(&self, federation: &Federation) -> Vec<(ClientId, Result<(), FetchFault>)> {
        let mut findings = Vec::new();
        for published in self.published() {
            let owner = federation.key_owners().find(|owner| *owner.client_id == published.client_id);
            let algs = owner.map(|owner| owner.encryption).unwrap_or_default();
            let fits = published.ask().await.and_then(|Fetched { value, .. }| {
                let lacking = algs.into_iter().find(|alg| value.encryption.choose(*alg).is_none());
                lacking.map_or(Ok(()), |alg| Err(FetchFault::Unfit(alg)))
            });
            findings.push((published.client_id.clone(), fits));
        }
        findings
    }

    fn published(&self) -> impl Iterator<Item = &Published> {
        self.sets.values().filter_map(|set| match set {
            Set::Published(published) => Some(published.as_ref()),
            Set::Inline(_) => None,
        })
    }
}

impl Published {
    fn new<'a>(
        client_id: &ClientId,
        address: &'a JwksUri,
        guards: &mut Vec<((Schemes, &'a [String]), Guard)>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, GuardFault> {
        let rules = (address.schemes, address.internal_hosts.as_slice());
        let guard = match guards.iter().find(|(known, _)| *known == rules) {
            Some((_, guard)) => guard.clone(),
            None => {
                let guard = Guard::new(address.schemes, &address.internal_hosts, LIMITS)?;
                guards.push((rules, guard.clone()));
                guard
            }
        };
        guard.admit(&address.uri)?;
        // Shown from the start: what has never been fetched is what an operator looks for.
        metrics.client_keys_fetched(client_id, None);
        let (client_id, uri, metrics) = (client_id.clone(), address.uri.to_string(), Arc::clone(metrics));
        Ok(Self { client_id, uri, guard, kept: Kept::default(), metrics })
    }

    async fn refresh(&self, env: &Env) {
        match self.kept.standing(env.now()) {
            Standing::Fresh(_) => return,
            Standing::Aging(_) | Standing::Stale(_) | Standing::Absent => {}
        }
        // What it came to has been told where it was fetched.
        let _outcome = self.kept.fetch(env, self.fetch(env)).await;
    }

    async fn fetch_ahead(&self, lacking: &Arc<ClientKeys>, env: &Env) -> Arc<ClientKeys> {
        let newer = self.kept.fetch_ahead(lacking, env, self.fetch(env)).await;
        newer.unwrap_or_else(|_| self.kept.latest().unwrap_or_else(|| Arc::clone(lacking)))
    }

    /// Asks, counts what came, and tells of a fault in one line.
    async fn fetch(&self, env: &Env) -> Result<Fetched<ClientKeys>, FetchFault> {
        let outcome = self.ask().await;
        self.metrics.client_keys_asked(&self.client_id, outcome.as_ref().map_or_else(FetchFault::label, |_| "ok"));
        match &outcome {
            Ok(_) => self.metrics.client_keys_fetched(&self.client_id, Some(env.now())),
            Err(fault) => {
                let copy = if self.kept.latest().is_some() { "the last good copy serves" } else { "there is none yet" };
                tracing::warn!(client_id = %self.client_id, %fault, "the keys of a client can't be had; {copy}");
            }
        }
        outcome
    }

    async fn ask(&self) -> Result<Fetched<ClientKeys>, FetchFault> {
        let unusable = || GuardFault::AddressForbidden("the jwks_uri is no address that can be called".into());
        let request = http::Request::get(&self.uri).header(http::header::ACCEPT, "application/jwk-set+json, application/json");
        let answer = self.guard.send(request.body(Vec::new()).map_err(|_| unusable())?).await?;
        match answer.status().as_u16() {
            200 => Ok(Fetched { value: ClientKeys::from_jwks(answer.body())?, life: life_of(answer.headers()) }),
            status => Err(FetchFault::Status(status)),
        }
    }
}

impl std::fmt::Debug for KeyDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.sets.keys()).finish()
    }
}

#[cfg(test)]
#[path = "client_keys_tests.rs"]
mod tests;
