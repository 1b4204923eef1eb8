//! Public keys of service providers and data providers: inline in their files, or published at
//! their `jwks_uri`.
//!
//! Responsible for fetching them in the background, refreshing them before they expire, and serving
//! the last good copy while their server is down. Does not depend on what they verify or encrypt.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::StreamExt as _;
use futures_util::stream;

use passerelle_egress::cached_document::{
    CachedDocument, FetchedDocument, Freshness, cache_lifetime,
};
use passerelle_egress::safe_http_client::{CallLimits, EgressError, SafeHttpClient};
use passerelle_federation::Federation;
use passerelle_federation::client_keys::{JwksUri, KeySource};
use passerelle_jose::ClientKeys;
use passerelle_jose::client_keys::ClientKeysError;
use passerelle_jose::encrypt::EncryptionKey;
use passerelle_protocol::alg::EncryptionAlg;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::ClientId;
use passerelle_telemetry::Metrics;

/// Interval between checks for missing or expiring key sets.
const REFRESH_CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum number of concurrent fetches, so that slow servers do not delay the others.
const MAX_CONCURRENT_FETCHES: usize = 16;
/// Limits of one fetch. The body limit holds twice a set of one hundred keys with certificates.
const FETCH_LIMITS: CallLimits = CallLimits { max_body_bytes: 256 * 1024, ..CallLimits::DEFAULT };

/// Directory of all clients' keys; one per process.
///
/// Ids are unique across service providers and data providers. The caller supplies the key source
/// from the federation in force.
pub struct KeyDirectory {
    /// A client has two entries while its changed file takes effect.
    sets: ArcSwap<BTreeMap<ClientId, Vec<Arc<PublishedKeySet>>>>,
    metrics: Arc<Metrics>,
}

struct PublishedKeySet {
    client_id: ClientId,
    address: JwksUri,
    http: SafeHttpClient,
    cached: CachedDocument<ClientKeys, KeyFetchError>,
    metrics: Arc<Metrics>,
}

/// Error for a `jwks_uri` that must not be called.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("the jwks_uri of {client_id} can't be called: {error}")]
pub struct KeyDirectoryError {
    client_id: ClientId,
    error: EgressError,
}

/// Why fetching a key set failed. Contains at most the host, nothing of the response.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum KeyFetchError {
    #[error(transparent)]
    Guard(#[from] EgressError),
    #[error("the server responded with status {0}")]
    Status(u16),
    #[error("the response {0}")]
    Set(#[from] ClientKeysError),
    #[error("the key set has no key with a kid for encryption with {}", .0.as_str())]
    NoEncryptionKey(EncryptionAlg),
}

impl KeyFetchError {
    /// Returns the metric label.
    const fn label(&self) -> &'static str {
        match self {
            Self::Guard(_) => "no_answer",
            Self::Status(_) => "bad_status",
            Self::Set(_) | Self::NoEncryptionKey(_) => "bad_keys",
        }
    }
}

impl KeyDirectory {
    /// Creates a directory; [`KeyDirectory::run`] starts fetching.
    ///
    /// # Errors
    /// An address that must not be called.
    pub fn new(federation: &Federation, metrics: &Arc<Metrics>) -> Result<Self, KeyDirectoryError> {
        let directory = Self { sets: ArcSwap::default(), metrics: Arc::clone(metrics) };
        directory.prepare(federation)?;
        Ok(directory)
    }

    /// Adds entries for the keys of a federation that is about to take effect. Existing entries
    /// stay.
    ///
    /// # Errors
    /// An address that must not be called; nothing has changed then.
    pub fn prepare(&self, federation: &Federation) -> Result<(), KeyDirectoryError> {
        let mut sets = BTreeMap::clone(&self.sets.load());
        for (client_id, address) in key_publishers(federation) {
            if sets
                .get(client_id)
                .is_some_and(|known| known.iter().any(|published| published.address == *address))
            {
                continue;
            }
            // An HTTP client owns its roots and connections; key sets under the same rules share
            // one.
            let alike = sets
                .values()
                .flatten()
                .find(|known| known.address.egress_rules() == address.egress_rules());
            let http = alike.map(|known| known.http.clone());
            let published = PublishedKeySet::new(client_id, address, http, &self.metrics);
            let published = published
                .map_err(|error| KeyDirectoryError { client_id: client_id.clone(), error })?;
            sets.entry(client_id.clone()).or_default().push(Arc::new(published));
        }
        self.sets.store(Arc::new(sets));
        Ok(())
    }

    /// Removes the entries that the federation in force does not use.
    pub fn retain(&self, federation: &Federation) {
        let used: BTreeMap<&ClientId, &JwksUri> = key_publishers(federation).collect();
        let mut sets = BTreeMap::clone(&self.sets.load());
        sets.retain(|client_id, known| {
            known.retain(|published| {
                used.get(client_id).is_some_and(|address| published.address == **address)
            });
            !known.is_empty()
        });
        self.sets.store(Arc::new(sets));
    }

    /// Sets the gauges of the last fetch of each key set, including those that were never fetched.
    pub fn record_fetch_times(&self) {
        let sets = self.sets.load();
        let fetched = sets.iter().flat_map(|(id, known)| {
            known.iter().map(|known| (id.clone(), known.cached.fetched_at()))
        });
        self.metrics.set_client_keys_fetched(fetched);
    }

    /// Returns the parsed keys as of now; for a `jwks_uri`, the last good copy. `None` if the
    /// client has none, or they were never fetched.
    pub fn keys(&self, client_id: &ClientId, source: &KeySource) -> Option<Arc<ClientKeys>> {
        match source {
            KeySource::None => None,
            KeySource::Inline(keys) => Some(Arc::clone(keys)),
            KeySource::Uri(address) => self.published_set(client_id, address)?.cached.latest(),
        }
    }

    /// Returns when the keys of a `jwks_uri` were last fetched; `None` for any other source.
    pub fn fetched_at(&self, client_id: &ClientId, source: &KeySource) -> Option<Timestamp> {
        let KeySource::Uri(address) = source else { return None };
        self.published_set(client_id, address)?.cached.fetched_at()
    }

    /// Returns the client's best key to encrypt with; `None` if no key for `alg` is known.
    pub fn encryption_key(
        &self,
        client_id: &ClientId,
        source: &KeySource,
        alg: EncryptionAlg,
    ) -> Option<Arc<EncryptionKey>> {
        self.keys(client_id, source)?.encryption.select(alg).cloned()
    }

    /// Fetches the keys again when `lacking` does not contain the needed one (an unknown `kid`); at
    /// most once a minute. Returns the keys known afterwards, which may be `lacking` again.
    ///
    /// The fetch is a separate task: a request ends with its connection, and a client that
    /// disconnects early every minute could otherwise keep another client's new key from being
    /// fetched.
    pub async fn refetch_keys(
        &self,
        client_id: &ClientId,
        source: &KeySource,
        lacking: &Arc<ClientKeys>,
        env: &Env,
    ) -> Arc<ClientKeys> {
        let KeySource::Uri(address) = source else { return Arc::clone(lacking) };
        let Some(published) = self.published_set(client_id, address) else {
            return Arc::clone(lacking);
        };
        let (env, known) = (env.clone(), Arc::clone(lacking));
        let fetching = tokio::spawn(async move { published.fetch_ahead(&known, &env).await });
        fetching.await.unwrap_or_else(|_| Arc::clone(lacking))
    }

    fn published_set(
        &self,
        client_id: &ClientId,
        address: &JwksUri,
    ) -> Option<Arc<PublishedKeySet>> {
        self.sets
            .load()
            .get(client_id)?
            .iter()
            .find(|published| published.address == *address)
            .cloned()
    }

    /// Fetches missing and expiring key sets, forever; also those added later.
    pub async fn run(self: Arc<Self>, env: Env) {
        let mut round = tokio::time::interval(REFRESH_CHECK_INTERVAL);
        loop {
            round.tick().await;
            self.refresh(&env).await;
        }
    }

    /// Fetches all missing and expiring key sets once, and waits for the results.
    pub async fn refresh(&self, env: &Env) {
        let calls = self.published().into_iter().map(|published| {
            let env = env.clone();
            async move { published.refresh(&env).await }
        });
        stream::iter(calls).buffer_unordered(MAX_CONCURRENT_FETCHES).collect::<()>().await;
    }

    /// Fetches every published key set once, and reports whether the hub could encrypt to its
    /// owner.
    pub async fn check_published_keys(
        &self,
        federation: &Federation,
        fetched: &dyn Fn(),
    ) -> Vec<(ClientId, Result<(), KeyFetchError>)> {
        let mut findings = Vec::new();
        for published in self.published() {
            let owner =
                federation.key_owners().find(|owner| *owner.client_id == published.client_id);
            let algs = owner.map(|owner| owner.encryption).unwrap_or_default();
            let fits = published.request().await.and_then(|FetchedDocument { value, .. }| {
                let lacking = algs.into_iter().find(|alg| value.encryption.select(*alg).is_none());
                lacking.map_or(Ok(()), |alg| Err(KeyFetchError::NoEncryptionKey(alg)))
            });
            findings.push((published.client_id.clone(), fits));
            fetched();
        }
        findings
    }

    fn published(&self) -> Vec<Arc<PublishedKeySet>> {
        self.sets.load().values().flatten().cloned().collect()
    }
}

/// Returns the clients whose keys are fetched, with their addresses. Inactive clients are skipped.
fn key_publishers(federation: &Federation) -> impl Iterator<Item = (&ClientId, &JwksUri)> {
    federation.key_owners().filter(|owner| owner.active).filter_map(|owner| match owner.keys {
        KeySource::Uri(address) => Some((owner.client_id, address)),
        KeySource::None | KeySource::Inline(_) => None,
    })
}

impl PublishedKeySet {
    fn new(
        client_id: &ClientId,
        address: &JwksUri,
        http: Option<SafeHttpClient>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, EgressError> {
        let http = match http {
            Some(http) => http,
            None => SafeHttpClient::new(address.schemes, &address.internal_hosts, FETCH_LIMITS)?,
        };
        http.check_url(&address.uri)?;
        let (client_id, address, metrics) =
            (client_id.clone(), address.clone(), Arc::clone(metrics));
        Ok(Self { client_id, address, http, cached: CachedDocument::default(), metrics })
    }

    async fn refresh(&self, env: &Env) {
        match self.cached.freshness(env.now()) {
            Freshness::Fresh(_) => return,
            Freshness::RefreshDue(_) | Freshness::Stale(_) | Freshness::Missing => {}
        }
        // `fetch` has already counted and logged the outcome.
        let _outcome = self.cached.fetch(env, self.fetch()).await;
    }

    async fn fetch_ahead(&self, lacking: &Arc<ClientKeys>, env: &Env) -> Arc<ClientKeys> {
        let newer = self.cached.fetch_early(lacking, env, self.fetch()).await;
        newer.unwrap_or_else(|_| self.cached.latest().unwrap_or_else(|| Arc::clone(lacking)))
    }

    /// Fetches the key set, counts the outcome, and logs an error.
    async fn fetch(&self) -> Result<FetchedDocument<ClientKeys>, KeyFetchError> {
        let outcome = self.request().await;
        self.metrics.record_client_key_fetch(
            &self.client_id,
            outcome.as_ref().map_or_else(KeyFetchError::label, |_| "ok"),
        );
        if let Err(error) = &outcome {
            let copy = if self.cached.latest().is_some() {
                "using the last good copy"
            } else {
                "no copy yet"
            };
            tracing::warn!(client_id = %self.client_id, %error, "client keys could not be fetched; {copy}");
        }
        outcome
    }

    async fn request(&self) -> Result<FetchedDocument<ClientKeys>, KeyFetchError> {
        let unusable =
            || EgressError::AddressForbidden("the jwks_uri is not a callable address".into());
        let request = http::Request::get(self.address.uri.as_str())
            .header(http::header::ACCEPT, "application/jwk-set+json, application/json");
        let response = self.http.send(request.body(Vec::new()).map_err(|_| unusable())?).await?;
        match response.status().as_u16() {
            200 => Ok(FetchedDocument {
                value: ClientKeys::from_jwks(response.body())?,
                lifetime: cache_lifetime(response.headers()),
            }),
            status => Err(KeyFetchError::Status(status)),
        }
    }
}

#[cfg(test)]
mod tests;
