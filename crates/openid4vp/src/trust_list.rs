//! Lists of trusted entities (ETSI TS 119 602, JSON) as a source of trust anchors.
//!
//! Responsible for fetching, verifying and caching the lists. A list that can't be refreshed serves
//! until its `NextUpdate`. Pointers to other lists are not followed: the operator names each list.

pub mod document;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::document_fetcher::DocumentFetcher;
use super::trust::TrustAnchors;
use document::TrustList;
pub use document::TrustListError;
use passerelle_egress::cached_document::{CachedDocument, FetchedDocument, Freshness};
use passerelle_protocol::env::{Env, Timestamp};

/// Media types of a signed list.
const MEDIA_TYPES: &str = "application/jose, application/jwt, application/json;q=0.5";
/// How long a list is used before it is fetched again: an issuer that is removed from it is trusted
/// for this long.
const LIFETIME: Duration = Duration::from_secs(3600);

/// A list that the operator trusts.
#[derive(Clone)]
pub struct TrustListSource {
    pub url: String,
    /// Who may sign the list.
    pub signers: TrustAnchors,
    /// Accepted `ServiceTypeIdentifier` values; empty for all.
    pub service_types: Vec<String>,
    /// The credentials whose issuers it has; empty for those without anchors of their own.
    pub credentials: Vec<String>,
}

/// The anchors of the files.
#[derive(Clone, Default, Debug)]
pub struct PinnedAnchors {
    /// Anchors of the credentials without their own.
    pub shared: TrustAnchors,
    /// Anchors of single credentials, by `id`.
    pub by_credential: BTreeMap<String, TrustAnchors>,
}

impl PinnedAnchors {
    /// Returns the anchors of a credential.
    pub fn for_credential(&self, credential: &str) -> &TrustAnchors {
        self.by_credential.get(credential).unwrap_or(&self.shared)
    }

    /// Returns the earliest expiry among all anchors.
    pub fn earliest_expiry(&self) -> Option<Timestamp> {
        let all = std::iter::once(&self.shared).chain(self.by_credential.values());
        all.filter_map(TrustAnchors::earliest_expiry).min()
    }
}

impl From<TrustAnchors> for PinnedAnchors {
    fn from(shared: TrustAnchors) -> Self {
        Self { shared, by_credential: BTreeMap::new() }
    }
}

/// State of one list, for checks and metrics.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrustListState {
    pub url: String,
    /// Number of trust anchors.
    pub anchors: usize,
    /// Number of certificates that can't be parsed.
    pub skipped: usize,
    /// The list is not used from this time on.
    pub next_update: Timestamp,
}

struct CachedList {
    source: TrustListSource,
    cached: CachedDocument<TrustList, TrustListError>,
}

/// The anchors at one time.
pub struct CurrentTrust {
    pub anchors: TrustAnchors,
    /// Whether a list can't be used now, so that a trusted issuer may be missing.
    pub is_incomplete: bool,
}

/// Pinned trust anchors, and those of the lists.
pub struct TrustSources {
    pinned: PinnedAnchors,
    lists: Vec<CachedList>,
    fetcher: Arc<dyn DocumentFetcher>,
    env: Env,
}

impl TrustSources {
    /// Returns the sources; nothing is fetched yet.
    pub fn new(
        pinned: PinnedAnchors,
        sources: Vec<TrustListSource>,
        fetcher: Arc<dyn DocumentFetcher>,
        env: Env,
    ) -> Self {
        let cached = |source| CachedList { source, cached: CachedDocument::default() };
        Self { pinned, lists: sources.into_iter().map(cached).collect(), fetcher, env }
    }

    /// Returns the anchors of the files.
    pub const fn pinned(&self) -> &PinnedAnchors {
        &self.pinned
    }

    /// Returns the pinned anchors of a credential, as long as no list is fetched.
    pub fn offline_trust(&self, credential: &str) -> CurrentTrust {
        CurrentTrust {
            anchors: self.pinned.for_credential(credential).clone(),
            is_incomplete: self.lists_for_credential(credential).next().is_some(),
        }
    }

    /// Returns the pinned anchors of a credential, and those of its lists that are usable now.
    pub async fn current_trust(&self, credential: &str) -> CurrentTrust {
        let mut trust = self.offline_trust(credential);
        trust.is_incomplete = false;
        for list in self.lists_for_credential(credential) {
            match self.current_list(list).await {
                Ok(current) => trust.anchors = trust.anchors.union(&current.anchors),
                Err(error) => {
                    tracing::warn!(url = list.source.url, %error, "trust list not used");
                    trust.is_incomplete = true;
                }
            }
        }
        trust
    }

    /// Fetches every list, and returns its state, or its URL and why it gives no anchors. For
    /// checks.
    pub async fn refresh(&self) -> Vec<Result<TrustListState, (String, TrustListError)>> {
        let mut states = Vec::new();
        for list in &self.lists {
            let fetched = self.fetch(list).await;
            let state = fetched.map(|fetched| list.state(&fetched));
            states.push(state.map_err(|error| (list.source.url.clone(), error)));
        }
        states
    }

    /// Returns the state of the lists that were fetched. For metrics.
    pub fn states(&self) -> Vec<TrustListState> {
        let state = |list: &CachedList| Some(list.state(&*list.cached.latest()?));
        self.lists.iter().filter_map(state).collect()
    }

    fn lists_for_credential(&self, credential: &str) -> impl Iterator<Item = &CachedList> {
        let has_own_anchors = self.pinned.by_credential.contains_key(credential);
        self.lists.iter().filter(move |list| match list.source.credentials.as_slice() {
            [] => !has_own_anchors,
            named => named.iter().any(|id| id == credential),
        })
    }

    async fn current_list(&self, list: &CachedList) -> Result<Arc<TrustList>, TrustListError> {
        let now = self.env.now();
        let usable = |copy: Arc<TrustList>, error| {
            if now < copy.next_update { Ok(copy) } else { Err(error) }
        };
        match list.cached.freshness(now) {
            Freshness::Fresh(copy) => usable(copy, TrustListError::Expired),
            Freshness::RefreshDue(copy) | Freshness::Stale(copy) => match self.fetch(list).await {
                Ok(fetched) => Ok(fetched),
                Err(error) => {
                    tracing::warn!(url = list.source.url, %error, "trust list not refreshed");
                    usable(copy, error)
                }
            },
            Freshness::Missing => self.fetch(list).await,
        }
    }

    async fn fetch(&self, list: &CachedList) -> Result<Arc<TrustList>, TrustListError> {
        let fetch = async {
            let fetched = self.fetcher.fetch_document(&list.source.url, MEDIA_TYPES).await;
            let body = fetched.map_err(|error| TrustListError::Unreachable(error.to_string()))?;
            let value = TrustList::verify(&body, &list.source, self.env.now())?;
            // Stops the replay of an older list that still names a removed issuer.
            if list.cached.latest().is_some_and(|copy| value.sequence_number < copy.sequence_number)
            {
                return Err(TrustListError::RolledBack);
            }
            if value.skipped > 0 {
                let (url, skipped) = (&list.source.url, value.skipped);
                tracing::warn!(url, skipped, "trust list has certificates that can't be parsed");
            }
            Ok(FetchedDocument { value, lifetime: LIFETIME })
        };
        list.cached.fetch(&self.env, fetch).await
    }
}

impl CachedList {
    fn state(&self, list: &TrustList) -> TrustListState {
        TrustListState {
            url: self.source.url.clone(),
            anchors: list.anchors.len(),
            skipped: list.skipped,
            next_update: list.next_update,
        }
    }
}
