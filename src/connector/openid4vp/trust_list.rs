//! Lists of trusted entities (ETSI TS 119 602, JSON) as a source of trust anchors.
//!
//! Responsible for fetching, verifying and caching the lists. A list that can't be refreshed serves
//! until its `NextUpdate`. Pointers to other lists are not followed: the operator names each list.

pub(crate) mod document;

use std::sync::Arc;
use std::time::Duration;

use super::document_fetcher::DocumentFetcher;
use super::trust::TrustAnchors;
use crate::egress::cached_document::{CachedDocument, FetchedDocument, Freshness};
use crate::env::{Env, Timestamp};
use document::TrustList;
pub use document::TrustListError;

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
    pinned: TrustAnchors,
    lists: Vec<CachedList>,
    fetcher: Arc<dyn DocumentFetcher>,
    env: Env,
}

impl TrustSources {
    /// Returns the sources; nothing is fetched yet.
    #[must_use]
    pub fn new(
        pinned: TrustAnchors,
        sources: Vec<TrustListSource>,
        fetcher: Arc<dyn DocumentFetcher>,
        env: Env,
    ) -> Self {
        let cached = |source| CachedList { source, cached: CachedDocument::default() };
        Self { pinned, lists: sources.into_iter().map(cached).collect(), fetcher, env }
    }

    /// Returns the pinned anchors and those of every list that is usable now.
    pub async fn current_trust(&self) -> CurrentTrust {
        let mut trust = CurrentTrust { anchors: self.pinned.clone(), is_incomplete: false };
        for list in &self.lists {
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
    #[must_use]
    pub fn states(&self) -> Vec<TrustListState> {
        let state = |list: &CachedList| Some(list.state(&*list.cached.latest()?));
        self.lists.iter().filter_map(state).collect()
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
