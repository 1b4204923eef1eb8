use super::*;

const CAPACITY: Usage = Usage { records: 1000, bytes: 1_000_000 };

/// The room, and the sizes of the logins in it.
struct Room {
    logins: UnauthenticatedLogins,
    stored: HashMap<InteractionHash, usize>,
    begun: usize,
    now: Timestamp,
}

impl Room {
    fn new() -> Self {
        let logins = UnauthenticatedLogins::new(CAPACITY, &Arc::new(Metrics::new().unwrap()));
        Self { logins, stored: HashMap::new(), begun: 0, now: Timestamp::from_seconds(1) }
    }

    fn used(&self) -> Usage {
        Usage { records: self.stored.len(), bytes: self.stored.values().sum() }
    }

    /// Begins a login of the /24 that this number names. Returns whether it was admitted and
    /// stored.
    fn begin(&mut self, network: u16, bytes: usize) -> bool {
        self.begun += 1;
        let hash = InteractionHash::from_cookie(&self.begun.to_string());
        let [high, low] = network.to_be_bytes();
        let network = ClientNetwork::containing(std::net::Ipv4Addr::new(203, high, low, 7).into());
        let Ok(displaced) = self.logins.admit(&hash, (network, bytes), self.used(), self.now)
        else {
            return false;
        };
        for (hash, _) in displaced {
            self.stored.remove(&hash).unwrap();
        }
        let used = self.used();
        let has_room = used.records < CAPACITY.records && used.bytes + bytes <= CAPACITY.bytes;
        if has_room {
            self.stored.insert(hash, bytes);
        } else {
            self.logins.remove(&hash);
        }
        has_room
    }
}

#[test]
fn a_flood_takes_no_more_than_nine_tenths_and_newcomers_of_other_networks_get_in() {
    for bytes in [100, 12_700] {
        let mut room = Room::new();
        let admitted = (0..2000).filter(|_| room.begin(1, bytes)).count();
        assert!(admitted * 10 <= CAPACITY.records * 9 + 10, "{admitted} of {bytes} bytes");
        assert!(!room.begin(1, bytes));
        assert!(
            (2..300).all(|network| room.begin(network, 1300)),
            "{bytes} bytes: a newcomer is refused"
        );
    }
}

#[test]
fn consecutive_floods_from_forty_networks_shut_out_no_other_network() {
    let mut room = Room::new();
    for network in 1..=40 {
        let bytes = if network % 2 == 0 { 12_700 } else { 1300 };
        for _ in 0..500 {
            room.begin(network, bytes);
        }
    }
    let admitted = (100..130).filter(|network| room.begin(*network, 1300)).count();
    assert_eq!(admitted, 30, "newcomers of other networks");
    assert!(!room.begin(1, 1300) || !room.begin(2, 12_700), "while the floods are refused");
}

#[test]
fn fetching_pages_takes_no_login_of_a_flood_out_of_the_count() {
    let mut room = Room::new();
    for _ in 0..2000 {
        if room.begin(1, 12_700) {
            let (begun, end) = (
                InteractionHash::from_cookie(&room.begun.to_string()),
                room.now + Duration::from_secs(1860),
            );
            room.logins.update(&begun, RecordVersion(2), end);
        }
    }
    assert!(!room.begin(1, 12_700), "the flood is refused");
    room.now = room.now + UNREAD_LOGIN_LIFETIME + FREEING_TIME;
    assert!((2..100).all(|network| room.begin(network, 1300)), "a newcomer is refused");
    assert!(
        (2..100).all(|network| room.begin(network, 1300)),
        "a second login of a network that holds little is refused"
    );
}

#[test]
fn logins_that_have_ended_give_way_before_a_network_is_refused() {
    let mut room = Room::new();
    assert!((0..950).any(|_| !room.begin(1, 100)));
    assert!(room.begin(2, 100));
    room.now = room.now + UNREAD_LOGIN_LIFETIME - Duration::from_secs(1);
    assert!(room.begin(3, 100));
    room.now = room.now + Duration::from_secs(1);
    // The store has not given the room back yet.
    assert!((0..100).all(|_| room.begin(3, 100)), "a network with a waiting login is refused");
}

#[test]
fn logins_with_an_authentication_and_ended_ones_count_no_longer() {
    let mut room = Room::new();
    assert!((0..950).any(|_| !room.begin(1, 100)));
    assert!(!room.begin(1, 100));
    let hashes: Vec<InteractionHash> = room.stored.keys().cloned().collect();
    for hash in &hashes {
        room.logins.remove(hash);
        room.logins.remove(hash);
        room.logins.update(hash, RecordVersion(2), room.now);
    }
    assert!(room.begin(1, 100), "logins with an authentication count no longer");
    assert!(!room.begin(1, 100), "but room is still short");
    room.now = room.now + UNREAD_LOGIN_LIFETIME + FREEING_TIME;
    assert!(room.begin(1, 100));
    let held = room.logins.held.lock().unwrap();
    let sizes = (
        held.by_login.len(),
        held.by_network.len(),
        held.by_weight.len(),
        held.by_number.len(),
        held.by_end.len(),
    );
    assert_eq!(sizes, (1, 1, 1, 1, 1), "ended logins are still held");
}
