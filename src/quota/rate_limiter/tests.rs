use std::sync::Arc;

use super::*;
use crate::env::{HandClock, SeededEntropy};

const PLACES: usize = 64;

fn limit() -> (Limit, Arc<HandClock>) {
    let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1_800_000_000)));
    let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
    (Limit::new("tests", PLACES, &env), clock)
}

fn most(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

fn subject(number: usize) -> Subject {
    Subject::named(&number.to_string())
}

#[test]
fn so_many_and_then_one_for_each_wait() {
    let (limit, clock) = limit();
    let take = || limit.take(subject(1), most(3)).map_err(Over::retry_after);
    assert_eq!(
        [take(), take(), take(), take(), take()],
        [Ok(()), Ok(()), Ok(()), Err(20), Err(20)]
    );
    assert_eq!(limit.take(subject(2), most(3)), Ok(()), "each for itself");
    clock.advance(Duration::from_millis(19_001));
    assert_eq!(take(), Err(1));
    clock.advance(Duration::from_millis(999));
    assert_eq!([take(), take()], [Ok(()), Err(20)]);
    assert_eq!(limit.take(subject(1), most(4)), Ok(()), "a changed rate counts at once");
}

#[test]
fn a_flood_of_subjects_takes_no_memory_without_end() {
    let (limit, _) = limit();
    limit.share();
    for number in 0..100 * PLACES {
        assert_eq!(limit.take(subject(number), most(2)), Ok(()), "and turns no stranger away");
    }
    let cells = limit.cells.lock().unwrap();
    assert!(
        cells.known.len() <= PLACES && cells.untold.len() <= PLACES,
        "{} {}",
        cells.known.len(),
        cells.untold.len()
    );
}

#[test]
fn a_flood_of_subjects_gives_nobody_their_share_back() {
    let (limit, clock) = limit();
    for _ in 0..3 {
        let _third_is_refused = limit.take(subject(0), most(2));
    }
    for number in 1..100 * PLACES {
        let _taken = limit.take(subject(number), most(2));
        clock.advance(Duration::from_millis(1));
    }
    assert!(limit.take(subject(0), most(2)).is_err());
}

#[test]
fn when_all_have_had_their_share_newcomers_share_one() {
    let (limit, clock) = limit();
    (0..PLACES).for_each(|number| limit.take(subject(number), most(1)).unwrap());
    assert_eq!(limit.take(subject(1000), most(1)), Ok(()));
    assert!(limit.take(subject(1001), most(1)).is_err());
    assert!(
        (0..PLACES).all(|number| limit.take(subject(number), most(1)).is_err()),
        "and nobody is forgotten"
    );
    assert_eq!(limit.cells.lock().unwrap().known.len(), PLACES);
    clock.advance(Duration::from_secs(61));
    assert!(
        (2000..2000 + PLACES).all(|number| limit.take(subject(number), most(1)).is_ok()),
        "the idle make room"
    );
}

/// Nobody has come too often in a time that is still ahead.
#[test]
fn a_clock_that_is_set_back_turns_nobody_away_until_it_is_there_again() {
    let (limit, clock) = limit();
    for number in 0..PLACES {
        for _ in 0..3 {
            let _third_is_refused = limit.take(subject(number), most(2));
        }
    }
    assert_eq!(limit.take(subject(1000), most(1)), Ok(()), "the crowd's");
    clock.set_back(Duration::from_secs(3600));
    assert_eq!(limit.take(subject(1), most(2)), Ok(()));
    assert_eq!(limit.take(subject(2), most(2)), Ok(()));
    assert!(
        (2000..2000 + PLACES - 2).all(|number| limit.take(subject(number), most(1)).is_ok()),
        "and the idle make room"
    );
}
