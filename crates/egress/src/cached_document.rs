//! Caches a remote document (metadata, keys): fetched on first use, refreshed before it expires,
//! and served from the last good copy while the remote server is down.
//!
//! Responsible for when to fetch, and for sharing one fetch among concurrent callers. Does not
//! depend on what is fetched; the caller logs a failed fetch.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use http::HeaderMap;

use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::field_value::trim_ows;

const DEFAULT_LIFETIME: Duration = Duration::from_secs(600);
const MIN_LIFETIME: Duration = Duration::from_secs(60);
const MAX_LIFETIME: Duration = Duration::from_secs(86_400);
/// Delay before a failed refresh is repeated, while an older copy serves.
const RETRY_DELAY: Duration = Duration::from_secs(30);
/// Shortest time between two early fetches.
const EARLY_FETCH_INTERVAL: Duration = Duration::from_secs(60);

/// Result of a successful fetch.
pub struct FetchedDocument<T> {
    pub value: T,
    /// How long the value may be used.
    pub lifetime: Duration,
}

/// Freshness of the cached copy, and what the caller must do.
pub enum Freshness<T> {
    /// To be used without a fetch: it is not due, another caller refreshes it, or the last fetch
    /// failed less than half a minute ago. In the last case the copy may have expired.
    Fresh(Arc<T>),
    /// Usable, and the caller must refresh it in the background. Returned to one caller per
    /// refresh.
    RefreshDue(Arc<T>),
    /// Expired: the caller fetches first, and uses this copy if the fetch fails.
    Stale(Arc<T>),
    Missing,
}

/// Cached copy of a remote document. `E` is the error type of a fetch.
pub struct CachedDocument<T, E> {
    copy: ArcSwapOption<CachedCopy<T>>,
    /// Earliest time of the next refresh, in milliseconds since the Unix epoch.
    retry_at: AtomicU64,
    refreshing: AtomicBool,
    /// Held during a fetch.
    fetch_lock: tokio::sync::Mutex<FetchState>,
    /// Number of finished fetches. A waiting caller sees from it that a fetch has finished.
    fetch_count: AtomicU64,
    last_outcome: Mutex<Option<Result<Arc<T>, E>>>,
}

struct CachedCopy<T> {
    value: Arc<T>,
    fetched_at: Timestamp,
    refresh_at: Timestamp,
    stale_at: Timestamp,
}

#[derive(Default)]
struct FetchState {
    early_fetch_at: Option<Timestamp>,
}

impl<T, E> Default for CachedDocument<T, E> {
    fn default() -> Self {
        Self {
            copy: ArcSwapOption::empty(),
            retry_at: AtomicU64::default(),
            refreshing: AtomicBool::default(),
            fetch_lock: tokio::sync::Mutex::default(),
            fetch_count: AtomicU64::default(),
            last_outcome: Mutex::default(),
        }
    }
}

impl<T: Send + Sync + 'static> Freshness<T> {
    /// Returns the copy to use. One due for a refresh is used while it is refreshed in the
    /// background; an expired one only if its refresh fails.
    ///
    /// # Errors
    /// Returns the error of `refresh` if no copy is cached.
    pub async fn or_refresh<E, F>(self, refresh: impl FnOnce() -> F) -> Result<Arc<T>, E>
    where
        F: Future<Output = Result<Arc<T>, E>> + Send + 'static,
    {
        match self {
            Self::Fresh(copy) => Ok(copy),
            Self::RefreshDue(copy) => {
                let refreshed = refresh();
                // An error is logged, and the cached copy continues to serve.
                tokio::spawn(async move { refreshed.await.is_ok() });
                Ok(copy)
            }
            Self::Stale(copy) => Ok(Box::pin(refresh()).await.unwrap_or(copy)),
            Self::Missing => Box::pin(refresh()).await,
        }
    }
}

impl<T, E: Clone> CachedDocument<T, E> {
    /// Returns the cached copy with its freshness.
    pub fn freshness(&self, now: Timestamp) -> Freshness<T> {
        let Some(copy) = self.copy.load_full() else { return Freshness::Missing };
        let value = Arc::clone(&copy.value);
        if now < copy.refresh_at || now.millis() < self.retry_at.load(Ordering::SeqCst) {
            Freshness::Fresh(value)
        } else if now >= copy.stale_at {
            Freshness::Stale(value)
        } else if self.refreshing.swap(true, Ordering::SeqCst) {
            Freshness::Fresh(value)
        } else {
            Freshness::RefreshDue(value)
        }
    }

    /// Returns the last good copy, regardless of its age.
    pub fn latest(&self) -> Option<Arc<T>> {
        self.copy.load().as_ref().map(|copy| Arc::clone(&copy.value))
    }

    /// Returns the time at which the last good copy was fetched.
    pub fn fetched_at(&self) -> Option<Timestamp> {
        self.copy.load().as_ref().map(|copy| copy.fetched_at)
    }

    /// Fetches the document, or waits for the running fetch and returns its outcome.
    ///
    /// # Errors
    /// Returns the error of the fetch. An older copy stays cached.
    pub async fn fetch(
        &self,
        env: &Env,
        fetch: impl Future<Output = Result<FetchedDocument<T>, E>>,
    ) -> Result<Arc<T>, E> {
        let seen = self.fetch_count.load(Ordering::SeqCst);
        let _turn = self.fetch_lock.lock().await;
        if self.fetch_count.load(Ordering::SeqCst) != seen
            && let Some(outcome) =
                self.last_outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
        {
            return outcome;
        }
        self.store_outcome(fetch.await, env.now())
    }

    /// Fetches the document before it is due, because the copy `lacking` misses an entry such as a
    /// `kid`. Returns the current copy instead if a newer one is cached, or if the last early fetch
    /// was less than a minute ago.
    ///
    /// # Errors
    /// Returns the error of the fetch.
    pub async fn fetch_early(
        &self,
        lacking: &Arc<T>,
        env: &Env,
        fetch: impl Future<Output = Result<FetchedDocument<T>, E>>,
    ) -> Result<Arc<T>, E> {
        let mut state = self.fetch_lock.lock().await;
        let now = env.now();
        match self.copy.load_full() {
            Some(copy) if !Arc::ptr_eq(&copy.value, lacking) => return Ok(Arc::clone(&copy.value)),
            _ if state
                .early_fetch_at
                .is_some_and(|last| now.since(last) < EARLY_FETCH_INTERVAL) =>
            {
                return Ok(Arc::clone(lacking));
            }
            _ => {}
        }
        state.early_fetch_at = Some(now);
        self.store_outcome(fetch.await, env.now())
    }

    fn store_outcome(
        &self,
        outcome: Result<FetchedDocument<T>, E>,
        now: Timestamp,
    ) -> Result<Arc<T>, E> {
        let outcome = outcome.map(|FetchedDocument { value, lifetime }| {
            let value = Arc::new(value);
            let copy = CachedCopy {
                value: Arc::clone(&value),
                fetched_at: now,
                refresh_at: now + lifetime * 3 / 4,
                stale_at: now + lifetime,
            };
            self.copy.store(Some(Arc::new(copy)));
            value
        });
        if outcome.is_err() {
            self.retry_at.store((now + RETRY_DELAY).millis(), Ordering::SeqCst);
        }
        *self.last_outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome.clone());
        self.refreshing.store(false, Ordering::SeqCst);
        self.fetch_count.fetch_add(1, Ordering::SeqCst);
        outcome
    }
}

/// Returns the `max-age` of `Cache-Control`, clamped to between one minute and one day; ten minutes
/// if it is absent.
pub fn cache_lifetime(headers: &HeaderMap) -> Duration {
    let Some(control) =
        headers.get(http::header::CACHE_CONTROL).and_then(|value| value.to_str().ok())
    else {
        return DEFAULT_LIFETIME;
    };
    let directives =
        || control.split(',').map(|directive| trim_ows(directive).to_ascii_lowercase());
    if directives().any(|directive| directive == "no-store" || directive == "no-cache") {
        return MIN_LIFETIME;
    }
    let max_age = directives()
        .find_map(|directive| directive.strip_prefix("max-age=")?.trim_matches('"').parse().ok());
    max_age.map_or(DEFAULT_LIFETIME, Duration::from_secs).clamp(MIN_LIFETIME, MAX_LIFETIME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

    fn clock_and_env() -> (Arc<ManualClock>, Env) {
        let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_000_000)));
        (Arc::clone(&clock), Env::new(clock, Arc::new(SeededEntropy::new(1))))
    }

    fn fetch_success(value: u32) -> Result<FetchedDocument<u32>, &'static str> {
        Ok(FetchedDocument { value, lifetime: Duration::from_secs(600) })
    }

    fn fetch_failure() -> Result<FetchedDocument<u32>, &'static str> {
        Err("down")
    }

    #[tokio::test]
    async fn a_copy_is_refreshed_once_and_serves_while_the_provider_is_down() {
        let (clock, env) = clock_and_env();
        let document = CachedDocument::default();
        assert!(matches!(document.freshness(env.now()), Freshness::Missing));
        document.fetch(&env, async { fetch_success(1) }).await.unwrap();
        assert!(matches!(document.freshness(env.now()), Freshness::Fresh(_)));
        clock.advance(Duration::from_secs(451));
        assert!(matches!(document.freshness(env.now()), Freshness::RefreshDue(_)));
        assert!(
            matches!(document.freshness(env.now()), Freshness::Fresh(_)),
            "one caller refreshes, not all"
        );
        assert!(document.fetch(&env, async { fetch_failure() }).await.is_err());
        assert!(
            matches!(document.freshness(env.now()), Freshness::Fresh(_)),
            "a failed refresh is not repeated at once"
        );
        clock.advance(Duration::from_secs(31));
        assert!(matches!(document.freshness(env.now()), Freshness::RefreshDue(_)));
        clock.advance(Duration::from_secs(200));
        assert!(matches!(document.freshness(env.now()), Freshness::Stale(value) if *value == 1));
    }

    #[tokio::test]
    async fn those_who_wait_share_one_fetch_and_its_outcome() {
        let (_, env) = clock_and_env();
        let (document, calls) = (CachedDocument::default(), AtomicU64::new(0));
        let slow = |outcome: Result<FetchedDocument<u32>, &'static str>| {
            let calls = &calls;
            async move {
                tokio::task::yield_now().await;
                calls.fetch_add(1, Ordering::SeqCst);
                outcome
            }
        };
        let both = tokio::join!(
            document.fetch(&env, slow(fetch_failure())),
            document.fetch(&env, slow(fetch_success(2)))
        );
        assert!(both.0.is_err() && both.1.is_err());
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert_eq!(
            *document.fetch(&env, slow(fetch_success(3))).await.unwrap(),
            3,
            "a later fetch tries again"
        );
    }

    #[tokio::test]
    async fn an_unknown_kid_can_not_make_the_hub_fetch_more_than_once_a_minute() {
        let (clock, env) = clock_and_env();
        let document = CachedDocument::default();
        let first = document.fetch(&env, async { fetch_success(1) }).await.unwrap();
        let second = document.fetch_early(&first, &env, async { fetch_success(2) }).await.unwrap();
        assert_eq!(*second, 2);
        assert_eq!(
            *document.fetch_early(&first, &env, async { fetch_success(3) }).await.unwrap(),
            2,
            "a newer copy is already cached"
        );
        assert_eq!(
            *document.fetch_early(&second, &env, async { fetch_success(4) }).await.unwrap(),
            2,
            "within the minute"
        );
        clock.advance(Duration::from_secs(60));
        assert_eq!(
            *document.fetch_early(&second, &env, async { fetch_success(5) }).await.unwrap(),
            5
        );
    }

    #[test]
    fn max_age_is_clamped() {
        let table = [
            ("max-age=5", 60),
            ("public, max-age=3600", 3600),
            ("max-age=99999999", 86_400),
            ("no-store", 60),
            ("private", 600),
            ("max-age=x", 600),
        ];
        for (control, seconds) in table {
            let headers =
                HeaderMap::from_iter([(http::header::CACHE_CONTROL, control.parse().unwrap())]);
            assert_eq!(cache_lifetime(&headers).as_secs(), seconds, "{control}");
        }
        assert_eq!(cache_lifetime(&HeaderMap::new()), DEFAULT_LIFETIME);
    }
}
