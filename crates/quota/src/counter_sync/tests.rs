use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;

use super::*;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_store::StoreError;
use passerelle_store::testing::memory_counters::MemoryCounters;

/// Loses some answers, before or after it has added the counts.
#[derive(Default)]
struct FlakyCounters {
    inner: MemoryCounters,
    loses: AtomicU32,
    calls: AtomicU32,
}

#[async_trait]
impl Counters for FlakyCounters {
    async fn add(&self, batch: &CounterBatch) -> Result<Vec<u64>, StoreError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let sums = self.inner.add(batch).await;
        if self
            .loses
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_ok()
        {
            return Err(StoreError::Unavailable("down".into()));
        }
        sums
    }
}

struct Hub {
    limiter: Arc<KeyedRateLimiter>,
    sync: CounterSync,
}

impl Hub {
    fn takes(&self, times: u32) -> u32 {
        let taken = (0..times)
            .map(|_| self.limiter.take(LimitKey::from_id("bakery"), NonZeroU32::new(10).unwrap()));
        taken.map(|taken| u32::from(taken.is_ok())).sum()
    }
}

fn hubs() -> ([Hub; 2], Arc<FlakyCounters>, Arc<ManualClock>) {
    // The start of a minute.
    let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_800_000_000)));
    let counters = Arc::new(FlakyCounters::default());
    let hub = |seed| {
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(seed)));
        let limiter = Arc::new(KeyedRateLimiter::new("tests", 100, &env));
        Hub {
            sync: CounterSync::new(vec![Arc::clone(&limiter)], Arc::clone(&counters) as _, &env),
            limiter,
        }
    };
    ([hub(1), hub(2)], counters, clock)
}

#[tokio::test]
async fn using_another_hub_gives_no_second_allowance() {
    let ([one, two], _, clock) = hubs();
    assert_eq!((one.takes(6), two.takes(3)), (6, 3));
    one.sync.sync_once().await;
    two.sync.sync_once().await;
    assert_eq!(two.takes(9), 1, "6 there and 3 here leave one");
    two.sync.sync_once().await;
    assert_eq!(one.takes(1), 1, "it has not synchronized since: this is the overshoot");
    one.sync.sync_once().await;
    assert_eq!((one.takes(9), two.takes(9)), (0, 0));
    clock.advance(Duration::from_secs(60));
    assert_eq!(one.takes(20), 10, "a new minute");
}

#[tokio::test]
async fn retry_after_reaches_to_the_end_of_the_minute() {
    let ([one, two], _, clock) = hubs();
    clock.advance(Duration::from_millis(15_500));
    assert_eq!((one.takes(10), two.takes(1)), (10, 1));
    one.sync.sync_once().await;
    two.sync.sync_once().await;
    let error =
        two.limiter.take(LimitKey::from_id("bakery"), NonZeroU32::new(10).unwrap()).unwrap_err();
    assert_eq!(error.retry_after_seconds(), 45);
}

#[tokio::test]
async fn a_batch_whose_answer_is_lost_is_sent_again_and_counted_once() {
    let ([one, two], counters, _) = hubs();
    assert_eq!((one.takes(4), two.takes(1)), (4, 1));
    counters.loses.store(2, Ordering::Relaxed);
    for _ in 0..3 {
        one.sync.sync_once().await;
    }
    two.sync.sync_once().await;
    assert_eq!(two.takes(9), 5);
}

#[tokio::test]
async fn while_the_store_is_unavailable_each_hub_counts_locally_and_warns() {
    let ([one, two], counters, _) = hubs();
    counters.loses.store(u32::MAX, Ordering::Relaxed);
    for hub in [&one, &two] {
        hub.takes(1);
        hub.sync.sync_once().await;
        assert_eq!(hub.takes(20), 9);
    }
    assert!(one.sync.warning().unwrap().message.contains("down"), "{:?}", one.sync.warning());
    counters.loses.store(0, Ordering::Relaxed);
    one.sync.sync_once().await;
    assert_eq!(one.sync.warning(), None);
}

#[tokio::test]
async fn a_warning_is_withdrawn_without_a_request() {
    let ([one, _], counters, clock) = hubs();
    counters.loses.store(1, Ordering::Relaxed);
    one.takes(1);
    one.sync.sync_once().await;
    clock.advance(Duration::from_secs(120));
    assert!(one.sync.warning().is_some());
    one.sync.sync_once().await;
    assert_eq!(one.sync.warning(), None);
}

#[tokio::test]
async fn a_hub_without_counts_makes_no_call() {
    let ([one, _], counters, clock) = hubs();
    one.sync.sync_once().await;
    one.takes(1);
    one.sync.sync_once().await;
    for _ in 0..5 {
        one.sync.sync_once().await;
    }
    clock.advance(Duration::from_secs(60));
    one.takes(1);
    one.sync.sync_once().await;
    assert_eq!(counters.calls.load(Ordering::Relaxed), 2);
}
