//! A document of somebody else (metadata, keys): fetched when first needed, refreshed before it is old, and kept while
//! its server is down (decisions 10).
//!
//! Owns: when to fetch, and that one fetch serves all who wait. Must not know: what is fetched, or how; so it is for
//! whoever hands it a fetch to log that fetch's fault, with the name of whose document it was.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use http::HeaderMap;

use crate::env::{Env, Timestamp};

const DEFAULT_LIFE: Duration = Duration::from_secs(600);
const SHORTEST_LIFE: Duration = Duration::from_secs(60);
const LONGEST_LIFE: Duration = Duration::from_secs(86_400);
/// How long a failed refresh is not repeated while an older copy serves.
const RETRY: Duration = Duration::from_secs(30);
/// How often a copy that lacked something may be fetched anew ahead of time.
const FORCED: Duration = Duration::from_secs(60);

/// What a fetch brings: the value, and how long it may be believed.
pub struct Fetched<T> {
    pub value: T,
    pub life: Duration,
}

/// What there is, and what should be done about it.
pub enum Standing<T> {
    Fresh(Arc<T>),
    /// Good, and somebody should fetch again beside; told to one caller only until that is done.
    Aging(Arc<T>),
    /// Past its life: fetch first, and make do with it if that fails.
    Stale(Arc<T>),
    Absent,
}

/// `F` is the fault of a fetch.
pub struct Kept<T, F> {
    copy: ArcSwapOption<KeptCopy<T>>,
    /// Milliseconds: not to be refreshed before.
    retry_at: AtomicU64,
    refreshing: AtomicBool,
    /// Held by the one who fetches.
    turn: tokio::sync::Mutex<Turn>,
    /// How many fetches have finished, so that those who waited for one know.
    finished: AtomicU64,
    /// What the last finished fetch came to.
    last: Mutex<Option<Result<Arc<T>, F>>>,
}

struct KeptCopy<T> {
    value: Arc<T>,
    fetched_at: Timestamp,
    refresh_at: Timestamp,
    stale_at: Timestamp,
}

#[derive(Default)]
struct Turn {
    forced_at: Option<Timestamp>,
}

impl<T, F> Default for Kept<T, F> {
    fn default() -> Self {
        Self {
            copy: ArcSwapOption::empty(),
            retry_at: AtomicU64::default(),
            refreshing: AtomicBool::default(),
            turn: tokio::sync::Mutex::default(),
            finished: AtomicU64::default(),
            last: Mutex::default(),
        }
    }
}

impl<T, F: Clone> Kept<T, F> {
    pub fn standing(&self, now: Timestamp) -> Standing<T> {
        let Some(copy) = self.copy.load_full() else { return Standing::Absent };
        let value = Arc::clone(&copy.value);
        if now < copy.refresh_at || now.millis() < self.retry_at.load(Ordering::SeqCst) {
            Standing::Fresh(value)
        } else if now >= copy.stale_at {
            Standing::Stale(value)
        } else if self.refreshing.swap(true, Ordering::SeqCst) {
            Standing::Fresh(value)
        } else {
            Standing::Aging(value)
        }
    }

    /// The last good copy, however old. Asks nobody to do anything about it.
    pub fn latest(&self) -> Option<Arc<T>> {
        self.copy.load().as_ref().map(|copy| Arc::clone(&copy.value))
    }

    /// When the last good copy was fetched.
    pub fn fetched_at(&self) -> Option<Timestamp> {
        self.copy.load().as_ref().map(|copy| copy.fetched_at)
    }

    /// Fetches, or waits for the fetch that is under way and shares its outcome.
    ///
    /// # Errors
    /// The fetch's fault; an older copy stays.
    pub async fn fetch(
        &self,
        env: &Env,
        fetch: impl Future<Output = Result<Fetched<T>, F>>,
    ) -> Result<Arc<T>, F> {
        let seen = self.finished.load(Ordering::SeqCst);
        let _turn = self.turn.lock().await;
        if self.finished.load(Ordering::SeqCst) != seen
            && let Some(outcome) = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
        {
            return outcome;
        }
        self.settle(fetch.await, env.now())
    }

    /// The copy lacks what a login needs (an unknown `kid`): fetches it ahead of time, at most once a minute, and
    /// not if a newer copy is already here.
    ///
    /// # Errors
    /// The fetch's fault.
    pub async fn fetch_ahead(
        &self,
        lacking: &Arc<T>,
        env: &Env,
        fetch: impl Future<Output = Result<Fetched<T>, F>>,
    ) -> Result<Arc<T>, F> {
        let mut turn = self.turn.lock().await;
        let now = env.now();
        match self.copy.load_full() {
            Some(copy) if !Arc::ptr_eq(&copy.value, lacking) => return Ok(Arc::clone(&copy.value)),
            _ if turn.forced_at.is_some_and(|last| now.since(last) < FORCED) => {
                return Ok(Arc::clone(lacking));
            }
            _ => {}
        }
        turn.forced_at = Some(now);
        self.settle(fetch.await, env.now())
    }

    fn settle(&self, outcome: Result<Fetched<T>, F>, now: Timestamp) -> Result<Arc<T>, F> {
        let outcome = outcome.map(|Fetched { value, life }| {
            let value = Arc::new(value);
            let copy = KeptCopy {
                value: Arc::clone(&value),
                fetched_at: now,
                refresh_at: now + life * 3 / 4,
                stale_at: now + life,
            };
            self.copy.store(Some(Arc::new(copy)));
            value
        });
        if outcome.is_err() {
            self.retry_at.store((now + RETRY).millis(), Ordering::SeqCst);
        }
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome.clone());
        self.refreshing.store(false, Ordering::SeqCst);
        self.finished.fetch_add(1, Ordering::SeqCst);
        outcome
    }
}

/// How long an answer may be believed: its `cache-control: max-age`, from one minute to one day; ten minutes without.
pub fn life_of(headers: &HeaderMap) -> Duration {
    let Some(control) =
        headers.get(http::header::CACHE_CONTROL).and_then(|value| value.to_str().ok())
    else {
        return DEFAULT_LIFE;
    };
    let directives = || control.split(',').map(|directive| directive.trim().to_ascii_lowercase());
    if directives().any(|directive| directive == "no-store" || directive == "no-cache") {
        return SHORTEST_LIFE;
    }
    let max_age = directives()
        .find_map(|directive| directive.strip_prefix("max-age=")?.trim_matches('"').parse().ok());
    max_age.map_or(DEFAULT_LIFE, Duration::from_secs).clamp(SHORTEST_LIFE, LONGEST_LIFE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{HandClock, SeededEntropy};

    fn world() -> (Arc<HandClock>, Env) {
        let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1_000_000)));
        (Arc::clone(&clock), Env::new(clock, Arc::new(SeededEntropy::new(1))))
    }

    fn brings(value: u32) -> Result<Fetched<u32>, &'static str> {
        Ok(Fetched { value, life: Duration::from_secs(600) })
    }

    fn fails() -> Result<Fetched<u32>, &'static str> {
        Err("down")
    }

    #[tokio::test]
    async fn a_copy_ages_is_refreshed_once_beside_and_serves_while_the_provider_is_down() {
        let (clock, env) = world();
        let kept = Kept::default();
        assert!(matches!(kept.standing(env.now()), Standing::Absent));
        kept.fetch(&env, async { brings(1) }).await.unwrap();
        assert!(matches!(kept.standing(env.now()), Standing::Fresh(_)));
        clock.advance(Duration::from_secs(451));
        assert!(matches!(kept.standing(env.now()), Standing::Aging(_)));
        assert!(
            matches!(kept.standing(env.now()), Standing::Fresh(_)),
            "one caller refreshes, not all"
        );
        assert!(kept.fetch(&env, async { fails() }).await.is_err());
        assert!(
            matches!(kept.standing(env.now()), Standing::Fresh(_)),
            "a failed refresh is not repeated at once"
        );
        clock.advance(Duration::from_secs(31));
        assert!(matches!(kept.standing(env.now()), Standing::Aging(_)));
        clock.advance(Duration::from_secs(200));
        assert!(matches!(kept.standing(env.now()), Standing::Stale(value) if *value == 1));
    }

    #[tokio::test]
    async fn those_who_wait_share_one_fetch_and_its_outcome() {
        let (_, env) = world();
        let (kept, calls) = (Kept::default(), AtomicU64::new(0));
        let slow = |outcome: Result<Fetched<u32>, &'static str>| {
            let calls = &calls;
            async move {
                tokio::task::yield_now().await;
                calls.fetch_add(1, Ordering::SeqCst);
                outcome
            }
        };
        let both = tokio::join!(kept.fetch(&env, slow(fails())), kept.fetch(&env, slow(brings(2))));
        assert!(both.0.is_err() && both.1.is_err());
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert_eq!(*kept.fetch(&env, slow(brings(3))).await.unwrap(), 3, "a later one tries again");
    }

    #[tokio::test]
    async fn an_unknown_kid_can_not_make_the_hub_fetch_more_than_once_a_minute() {
        let (clock, env) = world();
        let kept = Kept::default();
        let first = kept.fetch(&env, async { brings(1) }).await.unwrap();
        let second = kept.fetch_ahead(&first, &env, async { brings(2) }).await.unwrap();
        assert_eq!(*second, 2);
        assert_eq!(
            *kept.fetch_ahead(&first, &env, async { brings(3) }).await.unwrap(),
            2,
            "a newer copy is already here"
        );
        assert_eq!(
            *kept.fetch_ahead(&second, &env, async { brings(4) }).await.unwrap(),
            2,
            "within the minute"
        );
        clock.advance(Duration::from_secs(60));
        assert_eq!(*kept.fetch_ahead(&second, &env, async { brings(5) }).await.unwrap(), 5);
    }

    #[test]
    fn cache_control_is_believed_within_bounds() {
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
            assert_eq!(life_of(&headers).as_secs(), seconds, "{control}");
        }
        assert_eq!(life_of(&HeaderMap::new()), DEFAULT_LIFE);
    }
}
