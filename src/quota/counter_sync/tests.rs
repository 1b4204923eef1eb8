use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;

use super::*;
use crate::env::{HandClock, SeededEntropy, Timestamp};
use crate::store::StoreFault;
use crate::store::counters::MemoryCounters;

/// Loses some answers, before or after what was asked is done.
#[derive(Default)]
struct Flaky {
    inner: MemoryCounters,
    loses: AtomicU32,
    calls: AtomicU32,
}

#[async_trait]
impl Counters for Flaky {
    async fn add(&self, batch: &Batch) -> Result<Vec<u64>, StoreFault> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let sums = self.inner.add(batch).await;
        if self
            .loses
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_ok()
        {
            return Err(StoreFault::Unavailable("it is away".into()));
        }
        sums
    }
}

struct Hub {
    limit: Arc<Limit>,
    exchange: Exchange,
}

impl Hub {
    fn takes(&self, times: u32) -> u32 {
        let taken = (0..times)
            .map(|_| self.limit.take(Subject::named("bakery"), NonZeroU32::new(10).unwrap()));
        taken.map(|taken| u32::from(taken.is_ok())).sum()
    }
}

fn hubs() -> ([Hub; 2], Arc<Flaky>, Arc<HandClock>) {
    // At a minute's beginning.
    let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1_800_000_000)));
    let counters = Arc::new(Flaky::default());
    let hub = |seed| {
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(seed)));
        let limit = Arc::new(Limit::new("tests", 100, &env));
        Hub {
            exchange: Exchange::new(vec![Arc::clone(&limit)], Arc::clone(&counters) as _, &env),
            limit,
        }
    };
    ([hub(1), hub(2)], counters, clock)
}

#[tokio::test]
async fn going_to_another_hub_gives_no_second_share() {
    let ([one, two], _, clock) = hubs();
    assert_eq!((one.takes(6), two.takes(3)), (6, 3));
    one.exchange.now().await;
    two.exchange.now().await;
    assert_eq!(two.takes(9), 1, "6 there and 3 here leave one");
    two.exchange.now().await;
    assert_eq!(one.takes(1), 1, "it has not asked since: this is the overshoot");
    one.exchange.now().await;
    assert_eq!((one.takes(9), two.takes(9)), (0, 0));
    clock.advance(Duration::from_secs(60));
    assert_eq!(one.takes(20), 10, "a new minute");
}

#[tokio::test]
async fn whoever_has_to_wait_for_the_minutes_end_is_told_so() {
    let ([one, two], _, clock) = hubs();
    clock.advance(Duration::from_millis(15_500));
    assert_eq!((one.takes(10), two.takes(1)), (10, 1));
    one.exchange.now().await;
    two.exchange.now().await;
    let over = two.limit.take(Subject::named("bakery"), NonZeroU32::new(10).unwrap()).unwrap_err();
    assert_eq!(over.retry_after(), 45);
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_and_counts_nothing_twice() {
    let ([one, two], counters, _) = hubs();
    assert_eq!((one.takes(4), two.takes(1)), (4, 1));
    counters.loses.store(2, Ordering::Relaxed);
    for _ in 0..3 {
        one.exchange.now().await;
    }
    two.exchange.now().await;
    assert_eq!(two.takes(9), 5);
}

#[tokio::test]
async fn while_the_store_is_away_each_hub_counts_for_itself_and_says_so() {
    let ([one, two], counters, _) = hubs();
    counters.loses.store(u32::MAX, Ordering::Relaxed);
    for hub in [&one, &two] {
        hub.takes(1);
        hub.exchange.now().await;
        assert_eq!(hub.takes(20), 9);
    }
    assert!(one.exchange.complaints()[0].contains("it is away"), "{:?}", one.exchange.complaints());
    counters.loses.store(0, Ordering::Relaxed);
    one.exchange.now().await;
    assert_eq!(one.exchange.complaints(), [] as [String; 0]);
}

#[tokio::test]
async fn what_was_said_in_trouble_is_taken_back_without_anybodys_request() {
    let ([one, _], counters, clock) = hubs();
    counters.loses.store(1, Ordering::Relaxed);
    one.takes(1);
    one.exchange.now().await;
    clock.advance(Duration::from_secs(120));
    assert_eq!(one.exchange.complaints().len(), 1);
    one.exchange.now().await;
    assert_eq!(one.exchange.complaints().len(), 0);
}

#[tokio::test]
async fn a_hub_that_counts_nothing_asks_nothing() {
    let ([one, _], counters, clock) = hubs();
    one.exchange.now().await;
    one.takes(1);
    one.exchange.now().await;
    for _ in 0..5 {
        one.exchange.now().await;
    }
    clock.advance(Duration::from_secs(60));
    one.takes(1);
    one.exchange.now().await;
    assert_eq!(counters.calls.load(Ordering::Relaxed), 2);
}
