use std::sync::Arc;

use super::*;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

const CAPACITY: usize = 64;

fn limiter() -> (KeyedRateLimiter, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_800_000_000)));
    let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
    (KeyedRateLimiter::new("tests", CAPACITY, &env), clock)
}

fn per_minute(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

fn key(number: usize) -> LimitKey {
    LimitKey::from_id(&number.to_string())
}

#[test]
fn after_the_limit_one_is_admitted_per_interval() {
    let (limiter, clock) = limiter();
    let take = || limiter.take(key(1), per_minute(3)).map_err(RateLimitError::retry_after_seconds);
    assert_eq!(
        [take(), take(), take(), take(), take()],
        [Ok(()), Ok(()), Ok(()), Err(20), Err(20)]
    );
    assert_eq!(limiter.take(key(2), per_minute(3)), Ok(()), "keys are independent");
    clock.advance(Duration::from_millis(19_001));
    assert_eq!(take(), Err(1));
    clock.advance(Duration::from_millis(999));
    assert_eq!([take(), take()], [Ok(()), Err(20)]);
    assert_eq!(limiter.take(key(1), per_minute(4)), Ok(()), "a changed rate applies at once");
}

#[test]
fn a_flood_of_keys_takes_bounded_memory() {
    let (limiter, _) = limiter();
    limiter.enable_sync();
    for number in 0..100 * CAPACITY {
        assert_eq!(limiter.take(key(number), per_minute(2)), Ok(()), "a new key is refused");
    }
    let windows = limiter.windows.lock().unwrap();
    assert!(
        windows.by_key.len() <= CAPACITY && windows.unreported.len() <= CAPACITY,
        "{} {}",
        windows.by_key.len(),
        windows.unreported.len()
    );
}

#[test]
fn a_flood_of_keys_resets_no_exhausted_limit() {
    let (limiter, clock) = limiter();
    for _ in 0..3 {
        let _third_is_refused = limiter.take(key(0), per_minute(2));
    }
    for number in 1..100 * CAPACITY {
        let _taken = limiter.take(key(number), per_minute(2));
        clock.advance(Duration::from_millis(1));
    }
    assert!(limiter.take(key(0), per_minute(2)).is_err());
}

#[test]
fn when_all_limits_are_exhausted_new_keys_share_one() {
    let (limiter, clock) = limiter();
    (0..CAPACITY).for_each(|number| limiter.take(key(number), per_minute(1)).unwrap());
    assert_eq!(limiter.take(key(1000), per_minute(1)), Ok(()));
    assert!(limiter.take(key(1001), per_minute(1)).is_err());
    assert!(
        (0..CAPACITY).all(|number| limiter.take(key(number), per_minute(1)).is_err()),
        "an exhausted key was dropped"
    );
    assert_eq!(limiter.windows.lock().unwrap().by_key.len(), CAPACITY);
    clock.advance(Duration::from_secs(61));
    assert!(
        (2000..2000 + CAPACITY).all(|number| limiter.take(key(number), per_minute(1)).is_ok()),
        "idle keys make room"
    );
}

/// Counts from a time that is still to come refuse nothing.
#[test]
fn a_clock_that_is_set_back_refuses_nothing() {
    let (limiter, clock) = limiter();
    for number in 0..CAPACITY {
        for _ in 0..3 {
            let _third_is_refused = limiter.take(key(number), per_minute(2));
        }
    }
    assert_eq!(limiter.take(key(1000), per_minute(1)), Ok(()), "the shared window");
    clock.set_back(Duration::from_secs(3600));
    assert_eq!(limiter.take(key(1), per_minute(2)), Ok(()));
    assert_eq!(limiter.take(key(2), per_minute(2)), Ok(()));
    assert!(
        (2000..2000 + CAPACITY - 2).all(|number| limiter.take(key(number), per_minute(1)).is_ok()),
        "idle keys make room"
    );
}
