//! Tests that failures long after one another are not attributed to the hub's network.

use super::super::tests::{Mode, ProberHub, pass};
use super::super::*;
use passerelle_egress::circuit_breaker::CircuitState;

const DAYS: Duration = Duration::from_secs(3 * 86_400);

/// Returns a hub with this many identity providers, the first of which has been dead for days.
async fn hub_with_a_long_dead_one(count: usize) -> ProberHub {
    let hub = ProberHub::alone(count);
    pass(&hub.clock, 70).await;
    hub.idps[0].set(Mode::Refuses);
    hub.until(0, CircuitState::Open, 90).await;
    hub.clock.advance(DAYS);
    pass(&hub.clock, 70).await;
    assert!((1..count).all(|number| hub.circuit(number) == CircuitState::Closed));
    hub
}

#[actix::test]
async fn the_last_one_that_dies_days_after_the_others_is_disabled() {
    tokio::time::pause();
    let hub = hub_with_a_long_dead_one(2).await;
    hub.idps[1].set(Mode::Refuses);
    for _ in 0..300 {
        pass(&hub.clock, 1).await;
        assert_eq!(hub.circuit(0), CircuitState::Open);
        assert_eq!(hub.connectors.outbound_warning(), None);
    }
    assert_eq!(hub.circuit(1), CircuitState::Open);
    // Each recovers on its own.
    hub.idps[0].set(Mode::Works);
    hub.until(0, CircuitState::Closed, 90).await;
    assert_eq!(hub.circuit(1), CircuitState::Open);
    hub.idps[1].set(Mode::Works);
    hub.until(1, CircuitState::Closed, 90).await;
}

#[actix::test]
async fn an_identity_provider_that_failed_before_a_network_outage_stays_disabled_after_it() {
    tokio::time::pause();
    let hub = hub_with_a_long_dead_one(3).await;
    (1..3).for_each(|number| hub.idps[number].set(Mode::Refuses));
    let availabilities = || [0, 1, 2].map(|number| hub.circuit(number));
    for second in 0..420 {
        if second == 180 {
            assert!(hub.connectors.outbound_warning().is_some());
            (1..3).for_each(|number| hub.idps[number].set(Mode::Works));
        }
        pass(&hub.clock, 1).await;
        assert_eq!(
            availabilities(),
            [CircuitState::Open, CircuitState::Closed, CircuitState::Closed],
            "{second}"
        );
    }
    assert_eq!(hub.connectors.outbound_warning(), None);
}
