//! Checks whether a credential is revoked or suspended (Token Status List).
//!
//! Responsible for fetching, verifying and caching the lists that issuers publish. The list covers
//! many credentials, so that its issuer doesn't learn which one is checked.

pub mod token;

use std::sync::Arc;

use moka::sync::Cache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::credential::StatusReference;
use super::document_fetcher::DocumentFetcher;
use super::trust::TrustAnchors;
use passerelle_egress::cached_document::{CachedDocument, FetchedDocument, Freshness};
use passerelle_protocol::env::Env;
use token::StatusList;
pub use token::StatusListError;

/// Media type of a list (Token Status List §8.1).
const MEDIA_TYPE: &str = "application/statuslist+jwt";
/// Maximum number of lists in the cache.
const MAX_LISTS: u64 = 32;

/// What happens to a login if the status list of its credential can't be fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnreachableStatusPolicy {
    /// The login fails.
    #[default]
    Refuse,
    /// The login continues, and a warning is logged.
    Accept,
}

/// Why a credential is not known to be valid.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum StatusError {
    #[error("the credential is revoked")]
    Revoked,
    #[error("the credential is suspended")]
    Suspended,
    #[error("the credential has a status that is not known")]
    UnknownStatus,
    #[error("the status list has no entry for the credential")]
    OutOfRange,
    #[error("the status list can't be fetched: {0}")]
    Unreachable(String),
    #[error("the status list can't be used: {0}")]
    Unusable(StatusListError),
}

impl StatusError {
    /// Returns the label value for metrics.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::Suspended => "suspended",
            Self::UnknownStatus => "unknown_status",
            Self::OutOfRange => "out_of_range",
            Self::Unreachable(_) => "unreachable",
            Self::Unusable(_) => "unusable",
        }
    }
}

/// Status lists of issuers, cached for the time that they state.
pub struct StatusLists {
    fetcher: Arc<dyn DocumentFetcher>,
    env: Env,
    on_unreachable: UnreachableStatusPolicy,
    lists: Cache<String, Arc<CachedDocument<StatusList, StatusError>>>,
}

impl StatusLists {
    /// Returns an empty cache.
    pub fn new(
        fetcher: Arc<dyn DocumentFetcher>,
        env: Env,
        on_unreachable: UnreachableStatusPolicy,
    ) -> Self {
        Self { fetcher, env, on_unreachable, lists: Cache::new(MAX_LISTS) }
    }

    /// Succeeds if the entry of the list says that the credential is valid. `anchors` must have
    /// issued the certificate of the list.
    ///
    /// # Errors
    /// Reason: another status in the list, or why the list can't be used.
    pub async fn check_status(
        &self,
        reference: &StatusReference,
        anchors: &TrustAnchors,
    ) -> Result<(), StatusError> {
        match self.list(&reference.uri, anchors).await {
            Ok(list) => list.check(reference.index),
            Err(StatusError::Unreachable(reason))
                if self.on_unreachable == UnreachableStatusPolicy::Accept =>
            {
                tracing::warn!(uri = reference.uri, reason, "credential accepted without status");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns a list that is still valid; a copy due for a refresh serves if the refresh fails.
    async fn list(
        &self,
        uri: &str,
        anchors: &TrustAnchors,
    ) -> Result<Arc<StatusList>, StatusError> {
        // A list that other anchors vouch for is another list.
        let key = format!("{} {uri}", anchors.digest());
        let cached = self.lists.get_with(key, Arc::default);
        let fetch = || cached.fetch(&self.env, self.fetch(uri, anchors));
        let now = self.env.now();
        // After a failed fetch, a copy counts as fresh for a while whatever its age.
        let is_usable = |list: &StatusList| {
            let fetched_at = cached.fetched_at();
            list.is_valid(now) && fetched_at.is_some_and(|at| now < at + list.max_age())
        };
        match cached.freshness(now) {
            Freshness::Fresh(list) if is_usable(&list) => Ok(list),
            Freshness::RefreshDue(list) => Ok(fetch().await.unwrap_or(list)),
            Freshness::Fresh(_) | Freshness::Stale(_) | Freshness::Missing => fetch().await,
        }
    }

    async fn fetch(
        &self,
        uri: &str,
        anchors: &TrustAnchors,
    ) -> Result<FetchedDocument<StatusList>, StatusError> {
        let fetched = self.fetcher.fetch_document(uri, MEDIA_TYPE).await;
        let body = fetched.map_err(|error| StatusError::Unreachable(error.to_string()))?;
        let list = StatusList::verify(&body, uri, anchors, self.env.now())
            .map_err(StatusError::Unusable)?;
        Ok(FetchedDocument { lifetime: list.lifetime(self.env.now()), value: list })
    }
}
