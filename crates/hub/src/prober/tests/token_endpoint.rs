//! Tests outages of the token endpoint alone, which only logins show.

use super::*;

#[actix::test]
async fn an_outage_of_the_token_endpoint_alone_is_found_within_a_minute() {
    tokio::time::pause();
    // One login a second, from different networks.
    let hub = ProberHub::alone(2);
    for second in 0..30 {
        hub.login(0, second, Ok(()));
        pass(&hub.clock, 1).await;
    }
    let mut found = None;
    for second in 0..60 {
        hub.login(0, second, Err(ErrorCode::IdpStatus));
        pass(&hub.clock, 1).await;
        found = found.or((hub.circuit(0) == CircuitState::Open).then_some(second));
    }
    assert!(found.is_some());
    for second in 0..70 {
        if hub.circuit(0) != CircuitState::Open {
            hub.login(0, second, Ok(()));
        }
        pass(&hub.clock, 1).await;
    }
    assert_eq!(hub.circuit(0), CircuitState::Closed);
}

#[actix::test]
async fn forged_callbacks_of_one_network_disable_no_identity_provider() {
    tokio::time::pause();
    let hub = ProberHub::alone(2);
    for second in 0..300_u16 {
        // Five at once, then one a minute; others log in now and then.
        if second < 5 || second % 60 == 0 {
            hub.login(0, 7, Err(ErrorCode::IdpStatus));
        }
        if second % 97 == 50 {
            hub.login(0, 8, Ok(()));
        }
        pass(&hub.clock, 1).await;
        assert_eq!(hub.circuit(0), CircuitState::Closed, "{second}");
    }
}
