//! Tests outages of the token endpoint alone, which only logins show.

use super::*;

#[actix::test]
async fn an_outage_of_the_token_endpoint_alone_is_found_within_a_minute() {
    tokio::time::pause();
    // One login a second, from different networks, and all from one.
    for networks in [200, 1] {
        let hub = ProberHub::alone(2);
        for second in 0..30 {
            hub.login(0, second % networks, Ok(()));
            pass(&hub.clock, 1).await;
        }
        assert_eq!(
            hub.idps[0].codes.load(Ordering::SeqCst),
            1,
            "the answer of a working token endpoint is learnt once"
        );
        hub.idps[0].set(Mode::NoTokens);
        let mut found = None;
        for second in 0..60 {
            hub.login(0, second % networks, Err(ErrorCode::IdpStatus));
            pass(&hub.clock, 1).await;
            found = found.or((hub.availability(0) == Availability::Unavailable).then_some(second));
        }
        eprintln!("{networks} networks: found after {found:?} s");
        assert!(found.is_some(), "{networks} networks");
        hub.idps[0].set(Mode::Works);
        for second in 0..40 {
            if hub.availability(0) != Availability::Unavailable {
                hub.login(0, second % networks, Ok(()));
            }
            pass(&hub.clock, 1).await;
        }
        assert_eq!(hub.availability(0), Availability::Available, "{networks} networks");
    }
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
        assert_eq!(hub.availability(0), Availability::Available, "{second}");
    }
    assert!(
        hub.idps[0].codes.load(Ordering::SeqCst) <= 8,
        "the attacker's calls to the token endpoint are few"
    );
}
