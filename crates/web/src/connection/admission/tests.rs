use super::*;

fn admission(
    total: usize,
    per_peer: Option<usize>,
    counts_local_peers: bool,
) -> Arc<ConnectionLimiter> {
    let trusted_proxies = vec!["198.51.100.0/24".parse().unwrap()];
    ConnectionLimiter::new(
        ConnectionLimits {
            total,
            per_peer,
            per_network: Some(8),
            counts_local_peers,
            trusted_proxies,
        },
        2,
    )
}

fn peer(address: &str) -> SocketAddr {
    SocketAddr::new(address.parse().unwrap(), 4711)
}

#[test]
fn an_idle_connection_is_evicted_and_the_older_ones_first() {
    let admission = admission(3, None, false);
    let held: Vec<_> = (0..3).map(|_| admission.admit(peer("192.0.2.1")).unwrap()).collect();
    held[0].slot.set_busy();
    let _new = admission.admit(peer("192.0.2.2")).unwrap();
    assert_eq!(
        held.iter().map(|permit| permit.slot.is_evicted()).collect::<Vec<_>>(),
        [false, true, false]
    );
    // One more than the total until the evicted one has closed.
    assert_eq!(admission.open_count(), 4);
    drop(held);
    assert_eq!(admission.open_count(), 1);
}

#[test]
fn a_busy_connection_stays_and_one_whose_peer_never_reads_is_evicted() {
    let admission = admission(2, None, false);
    let held: Vec<_> = (0..2).map(|_| admission.admit(peer("192.0.2.1")).unwrap()).collect();
    for permit in held.iter() {
        permit.slot.set_busy();
    }
    assert_eq!(admission.admit(peer("192.0.2.2")).err(), Some(AdmissionError::Full));
    held[1].slot.set_write_blocked(true);
    let _new = admission.admit(peer("192.0.2.2")).unwrap();
    assert!(held[1].slot.is_evicted());
}

#[test]
fn a_connection_whose_request_body_does_not_arrive_is_evicted() {
    let admission = admission(2, None, false);
    let held: Vec<_> = (0..2).map(|_| admission.admit(peer("192.0.2.1")).unwrap()).collect();
    held[0].slot.set_busy_until(Instant::now() + std::time::Duration::from_secs(600));
    held[1].slot.set_busy();
    assert_eq!(admission.admit(peer("192.0.2.2")).err(), Some(AdmissionError::Full));
    held[0].slot.set_busy_until(Instant::now());
    let _new = admission.admit(peer("192.0.2.2")).unwrap();
    assert!(held[0].slot.is_evicted());
}

#[test]
fn the_number_of_closing_connections_is_bounded() {
    let admission = admission(4, None, false);
    let mut held: Vec<_> = (0..4).map(|_| admission.admit(peer("192.0.2.1")).unwrap()).collect();
    held.extend((0..2).map(|_| admission.admit(peer("192.0.2.1")).unwrap()));
    assert_eq!(admission.admit(peer("192.0.2.1")).err(), Some(AdmissionError::Full));
    assert_eq!(admission.open_count(), 6);
}

#[test]
fn a_peer_is_limited_and_a_proxy_is_not() {
    let admission_default = admission(100, Some(2), false);
    let counts = |admission: &Arc<ConnectionLimiter>, addresses: [&str; 3]| {
        let held: Vec<_> = addresses.iter().map(|address| admission.admit(peer(address))).collect();
        held.iter().filter(|admitted| admitted.is_ok()).count()
    };
    assert_eq!(counts(&admission_default, ["192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1"]), 2);
    assert_eq!(counts(&admission_default, ["2001:db8::1", "2001:db8::2", "2001:db8::3"]), 2);
    assert_eq!(
        counts(&admission_default, ["2001:db8::1", "2001:db8:0:1::2", "2001:db8:0:2::3"]),
        3
    );
    assert_eq!(counts(&admission_default, ["198.51.100.7"; 3]), 3, "a trusted proxy");
    for local in ["127.0.0.1", "10.1.2.3", "fd00::1", "fe80::1", "::1"] {
        assert_eq!(counts(&admission_default, [local; 3]), 3, "{local}");
    }
    let chosen = admission(100, Some(2), true);
    assert_eq!(counts(&chosen, ["127.0.0.1"; 3]), 2);
    assert_eq!(counts(&chosen, ["198.51.100.7"; 3]), 3, "a trusted proxy");
    assert!(chosen.state().peers.0.is_empty(), "what closed is not counted");
}

#[test]
fn the_peers_of_one_network_share_its_limit() {
    let admission = admission(100, Some(2), true);
    let admitted = |address: &dyn Fn(u8) -> String| {
        let held: Vec<_> = (0..20).map(|host| admission.admit(peer(&address(host)))).collect();
        held.iter().filter(|admitted| admitted.is_ok()).count()
    };
    assert_eq!(admitted(&|host| format!("2001:db8:0:{host:x}::1")), 8, "each of a /64 of its own");
    assert_eq!(admitted(&|host| format!("2001:db8:{host:x}::1")), 20, "each of a /48 of its own");
    assert_eq!(admitted(&|host| format!("192.0.2.{host}")), 8);
    assert_eq!(admitted(&|host| format!("10.0.0.{host}")), 20, "a private network");
    assert_eq!(admitted(&|host| format!("198.51.100.{host}")), 20, "trusted proxies");
    assert!(admission.state().networks.0.is_empty(), "what closed is not counted");
}
