//! The public keys of every service provider and data provider: those of its file, or those that it publishes at its
//! `jwks_uri`.
//!
//! Owns: fetching them in the background, refreshing them before they are old, keeping the last good copy while their
//! server is down (decisions 6, 10). Must not know: what is verified or sealed with them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::StreamExt as _;
use futures_util::stream;

use crate::config::{Federation, JwksUri, KeySource};
use crate::egress::guard::{CallLimits, Guard, GuardFault};
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
/// together. Which keys are whose is the federation's to say: whoever asks brings the source that counts for them.
pub struct KeyDirectory {
    /// A client has two for the moment in which its file changes.
    sets: ArcSwap<BTreeMap<ClientId, Vec<Arc<Published>>>>,
    metrics: Arc<Metrics>,
}

struct Published {
    client_id: ClientId,
    address: JwksUri,
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
        let directory = Self { sets: ArcSwap::default(), metrics: Arc::clone(metrics) };
        directory.prepare(federation)?;
        Ok(directory)
    }

    /// Makes room for the keys of a federation that is about to count. Those that are known stay as they are.
    ///
    /// # Errors
    /// An address that must not be called; nothing has changed then.
    pub fn prepare(&self, federation: &Federation) -> Result<(), DirectoryFault> {
        let mut sets = BTreeMap::clone(&self.sets.load());
        for (client_id, address) in publishers(federation) {
            if sets
                .get(client_id)
                .is_some_and(|known| known.iter().any(|published| published.address == *address))
            {
                continue;
            }
            // A guard keeps roots and connections of its own, so those of the same rules share one.
            let alike =
                sets.values().flatten().find(|known| known.address.rules() == address.rules());
            let guard = alike.map(|known| known.guard.clone());
            let published = Published::new(client_id, address, guard, &self.metrics);
            let published = published
                .map_err(|fault| DirectoryFault { client_id: client_id.clone(), fault })?;
            sets.entry(client_id.clone()).or_default().push(Arc::new(published));
        }
        self.sets.store(Arc::new(sets));
        Ok(())
    }

    /// Forgets the keys that a federation has no use for, now that it counts.
    pub fn retain(&self, federation: &Federation) {
        let wanted: BTreeMap<&ClientId, &JwksUri> = publishers(federation).collect();
        let mut sets = BTreeMap::clone(&self.sets.load());
        sets.retain(|client_id, known| {
            known.retain(|published| {
                wanted.get(client_id).is_some_and(|address| published.address == **address)
            });
            !known.is_empty()
        });
        self.sets.store(Arc::new(sets));
    }

    /// Sets the gauges of when keys were fetched. What has never been is what an operator looks for.
    pub fn report(&self) {
        let sets = self.sets.load();
        let fetched = sets.iter().flat_map(|(id, known)| {
            known.iter().map(|known| (id.clone(), known.kept.fetched_at()))
        });
        self.metrics.client_keys_fetched(fetched);
    }

    /// The keys as they are known now, parsed; the last good copy where they are published. `None`: the client
    /// has none, or they have never been fetched.
    #[must_use]
    pub fn keys(&self, client_id: &ClientId, source: &KeySource) -> Option<Arc<ClientKeys>> {
        match source {
            KeySource::None => None,
            KeySource::Inline(keys) => Some(Arc::clone(keys)),
            KeySource::Uri(address) => self.known(client_id, address)?.kept.latest(),
        }
    }

    /// `lacking`, as [`KeyDirectory::keys`] gave it, lacks what is needed (a signature by an unknown `kid`): fetches
    /// anew, at most once a minute. Gives what is there afterwards, which may be `lacking` again.
    ///
    /// The fetch is a task of its own: a request dies with its connection, and a stranger who hangs up early each minute
    /// would otherwise keep a client's new key from ever being fetched.
    pub async fn keys_anew(
        &self,
        client_id: &ClientId,
        source: &KeySource,
        lacking: &Arc<ClientKeys>,
        env: &Env,
    ) -> Arc<ClientKeys> {
        let KeySource::Uri(address) = source else { return Arc::clone(lacking) };
        let Some(published) = self.known(client_id, address) else { return Arc::clone(lacking) };
        let (env, known) = (env.clone(), Arc::clone(lacking));
        let fetching = tokio::spawn(async move { published.fetch_ahead(&known, &env).await });
        fetching.await.unwrap_or_else(|_| Arc::clone(lacking))
    }

    fn known(&self, client_id: &ClientId, address: &JwksUri) -> Option<Arc<Published>> {
        self.sets
            .load()
            .get(client_id)?
            .iter()
            .find(|published| published.address == *address)
            .cloned()
    }

    /// Fetches what is missing or getting old, now and for ever; also for those that come later.
    pub async fn follow(self: Arc<Self>, env: Env) {
        let mut round = tokio::time::interval(ROUND);
        loop {
            round.tick().await;
            self.refresh(&env).await;
        }
    }

    /// One round: fetches every key set that is missing or getting old, and waits for the outcome.
    pub async fn refresh(&self, env: &Env) {
        let published = self.published();
        let calls = published.iter().map(|published| published.refresh(env));
        stream::iter(calls).buffer_unordered(CALLS).collect::<()>().await;
    }

    /// Fetches every published key set once, and says whether its owner could be answered with it.
    pub async fn probe(&self, federation: &Federation) -> Vec<(ClientId, Result<(), FetchFault>)> {
        let mut findings = Vec::new();
        for published in self.published() {
            let owner =
                federation.key_owners().find(|owner| *owner.client_id == published.client_id);
            let algs = owner.map(|owner| owner.encryption).unwrap_or_default();
            let fits = published.ask().await.and_then(|Fetched { value, .. }| {
                let lacking = algs.into_iter().find(|alg| value.encryption.choose(*alg).is_none());
                lacking.map_or(Ok(()), |alg| Err(FetchFault::Unfit(alg)))
            });
            findings.push((published.client_id.clone(), fits));
        }
        findings
    }

    fn published(&self) -> Vec<Arc<Published>> {
        self.sets.load().values().flatten().cloned().collect()
    }
}

/// Whose keys are fetched, and from where. One that is switched off is served nothing, so nothing is asked of it.
fn publishers(federation: &Federation) -> impl Iterator<Item = (&ClientId, &JwksUri)> {
    federation.key_owners().filter(|owner| owner.active).filter_map(|owner| match owner.keys {
        KeySource::Uri(address) => Some((owner.client_id, address)),
        KeySource::None | KeySource::Inline(_) => None,
    })
}

impl Published {
    fn new(
        client_id: &ClientId,
        address: &JwksUri,
        guard: Option<Guard>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, GuardFault> {
        let guard = match guard {
            Some(guard) => guard,
            None => Guard::new(address.schemes, &address.internal_hosts, LIMITS)?,
        };
        guard.admit(&address.uri)?;
        let (client_id, address, metrics) =
            (client_id.clone(), address.clone(), Arc::clone(metrics));
        Ok(Self { client_id, address, guard, kept: Kept::default(), metrics })
    }

    async fn refresh(&self, env: &Env) {
        match self.kept.standing(env.now()) {
            Standing::Fresh(_) => return,
            Standing::Aging(_) | Standing::Stale(_) | Standing::Absent => {}
        }
        // What it came to has been told where it was fetched.
        let _outcome = self.kept.fetch(env, self.fetch()).await;
    }

    async fn fetch_ahead(&self, lacking: &Arc<ClientKeys>, env: &Env) -> Arc<ClientKeys> {
        let newer = self.kept.fetch_ahead(lacking, env, self.fetch()).await;
        newer.unwrap_or_else(|_| self.kept.latest().unwrap_or_else(|| Arc::clone(lacking)))
    }

    /// Asks, counts what came, and tells of a fault in one line.
    async fn fetch(&self) -> Result<Fetched<ClientKeys>, FetchFault> {
        let outcome = self.ask().await;
        self.metrics.client_keys_asked(
            &self.client_id,
            outcome.as_ref().map_or_else(FetchFault::label, |_| "ok"),
        );
        if let Err(fault) = &outcome {
            let copy = if self.kept.latest().is_some() {
                "the last good copy serves"
            } else {
                "there is none yet"
            };
            tracing::warn!(client_id = %self.client_id, %fault, "the keys of a client can't be had; {copy}");
        }
        outcome
    }

    async fn ask(&self) -> Result<Fetched<ClientKeys>, FetchFault> {
        let unusable =
            || GuardFault::AddressForbidden("the jwks_uri is no address that can be called".into());
        let request = http::Request::get(self.address.uri.as_str())
            .header(http::header::ACCEPT, "application/jwk-set+json, application/json");
        let answer = self.guard.send(request.body(Vec::new()).map_err(|_| unusable())?).await?;
        match answer.status().as_u16() {
            200 => Ok(Fetched {
                value: ClientKeys::from_jwks(answer.body())?,
                life: life_of(answer.headers()),
            }),
            status => Err(FetchFault::Status(status)),
        }
    }
}

impl std::fmt::Debug for KeyDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.sets.load().keys()).finish()
    }
}

#[cfg(test)]
mod tests;
