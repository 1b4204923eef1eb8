use super::*;

const CAPACITY: Usage = Usage { records: 1000, bytes: 1_000_000 };

/// A store of limited capacity, and the sizes of the logins in it.
struct BoundedStore {
    logins: UnauthenticatedLogins,
    stored: HashMap<InteractionHash, usize>,
    begun: usize,
    now: Timestamp,
}

impl BoundedStore {
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
        let Ok(displaced) = self.logins.admit(&hash, network, bytes, self.used(), self.now) else {
            return false;
        };
        for (hash, _) in displaced {
            self.stored.remove(&hash).unwrap();
        }
        let used = self.used();
        let has_capacity = used.records < CAPACITY.records && used.bytes + bytes <= CAPACITY.bytes;
        if has_capacity {
            self.stored.insert(hash, bytes);
        } else {
            self.logins.remove(&hash);
        }
        has_capacity
    }
}

#[test]
fn a_flood_takes_no_more_than_nine_tenths_and_newcomers_of_other_networks_get_in() {
    for bytes in [100, 12_700] {
        let mut store = BoundedStore::new();
        let admitted = (0..2000).filter(|_| store.begin(1, bytes)).count();
        assert!(admitted * 10 <= CAPACITY.records * 9 + 10, "{admitted} of {bytes} bytes");
        assert!(!store.begin(1, bytes));
        assert!(
            (2..300).all(|network| store.begin(network, 1300)),
            "{bytes} bytes: a newcomer is refused"
        );
    }
}

#[test]
fn consecutive_floods_from_forty_networks_shut_out_no_other_network() {
    let mut store = BoundedStore::new();
    for network in 1..=40 {
        let bytes = if network % 2 == 0 { 12_700 } else { 1300 };
        for _ in 0..500 {
            store.begin(network, bytes);
        }
    }
    let admitted = (100..130).filter(|network| store.begin(*network, 1300)).count();
    assert_eq!(admitted, 30, "newcomers of other networks");
    assert!(!store.begin(1, 1300) || !store.begin(2, 12_700), "while the floods are refused");
}

#[test]
fn fetching_pages_takes_no_login_of_a_flood_out_of_the_count() {
    let mut store = BoundedStore::new();
    for _ in 0..2000 {
        if store.begin(1, 12_700) {
            let (begun, end) = (
                InteractionHash::from_cookie(&store.begun.to_string()),
                store.now + Duration::from_secs(1860),
            );
            store.logins.update(&begun, RecordVersion(2), end);
        }
    }
    assert!(!store.begin(1, 12_700), "the flood is refused");
    store.now = store.now + UNREAD_LOGIN_LIFETIME + FREEING_TIME;
    assert!((2..100).all(|network| store.begin(network, 1300)), "a newcomer is refused");
    assert!(
        (2..100).all(|network| store.begin(network, 1300)),
        "a second login of a network that holds little is refused"
    );
}

#[test]
fn logins_that_have_ended_give_way_before_a_network_is_refused() {
    let mut store = BoundedStore::new();
    assert!((0..950).any(|_| !store.begin(1, 100)));
    assert!(store.begin(2, 100));
    store.now = store.now + UNREAD_LOGIN_LIFETIME - Duration::from_secs(1);
    assert!(store.begin(3, 100));
    store.now = store.now + Duration::from_secs(1);
    // The store has not freed the capacity yet.
    assert!((0..100).all(|_| store.begin(3, 100)), "a network with a waiting login is refused");
}

#[test]
fn logins_with_an_authentication_and_ended_ones_count_no_longer() {
    let mut store = BoundedStore::new();
    assert!((0..950).any(|_| !store.begin(1, 100)));
    assert!(!store.begin(1, 100));
    let hashes: Vec<InteractionHash> = store.stored.keys().cloned().collect();
    for hash in &hashes {
        store.logins.remove(hash);
        store.logins.remove(hash);
        store.logins.update(hash, RecordVersion(2), store.now);
    }
    assert!(store.begin(1, 100), "logins with an authentication count no longer");
    assert!(!store.begin(1, 100), "but capacity is still scarce");
    store.now = store.now + UNREAD_LOGIN_LIFETIME + FREEING_TIME;
    assert!(store.begin(1, 100));
    let held = store.logins.held.lock().unwrap();
    let sizes = (
        held.by_login.len(),
        held.by_network.len(),
        held.by_weight.len(),
        held.by_number.len(),
        held.by_end.len(),
    );
    assert_eq!(sizes, (1, 1, 1, 1, 1), "ended logins are still held");
}
