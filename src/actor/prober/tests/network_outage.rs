//! Failures that come long after one another are not taken for a failure of the hub's way out.

use super::super::tests::{Mode, TestHub, pass};
use super::super::*;
use crate::actor::health::Standing;

const DAYS: Duration = Duration::from_secs(3 * 86_400);

/// A hub of so many identity providers, the first of which has been dead for days.
async fn hub_with_a_long_dead_one(count: usize) -> TestHub {
    let hub = TestHub::alone(count);
    pass(&hub.clock, 70).await;
    hub.idps[0].set(Mode::Refuses);
    hub.until(0, Standing::Failing, 90).await;
    hub.clock.advance(DAYS);
    pass(&hub.clock, 70).await;
    assert!((1..count).all(|number| hub.standing(number) == Standing::Well));
    hub
}

#[actix::test]
async fn the_last_one_that_dies_days_after_the_others_is_greyed() {
    tokio::time::pause();
    let hub = hub_with_a_long_dead_one(2).await;
    hub.idps[1].set(Mode::Refuses);
    for _ in 0..300 {
        pass(&hub.clock, 1).await;
        assert_eq!(hub.standing(0), Standing::Failing);
        assert_eq!(hub.connectors.way_out_complaint(), None);
    }
    assert_eq!(hub.standing(1), Standing::Failing);
    // Each comes back by itself.
    hub.idps[0].set(Mode::Works);
    hub.until(0, Standing::Well, 90).await;
    assert_eq!(hub.standing(1), Standing::Failing);
    hub.idps[1].set(Mode::Works);
    hub.until(1, Standing::Well, 90).await;
}

#[actix::test]
async fn a_long_dead_one_stays_greyed_while_the_way_out_is_down_and_afterwards() {
    tokio::time::pause();
    let hub = hub_with_a_long_dead_one(3).await;
    (1..3).for_each(|number| hub.idps[number].set(Mode::Refuses));
    let standings = || [0, 1, 2].map(|number| hub.standing(number));
    for second in 0..420 {
        if second == 180 {
            assert!(hub.connectors.way_out_complaint().is_some());
            (1..3).for_each(|number| hub.idps[number].set(Mode::Works));
        }
        pass(&hub.clock, 1).await;
        assert_eq!(standings(), [Standing::Failing, Standing::Well, Standing::Well], "{second}");
    }
    assert_eq!(hub.connectors.way_out_complaint(), None);
}
