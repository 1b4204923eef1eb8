//! L3 · The logins whose page was never fetched, by the network that they came from.
//!
//! Responsible for fairness when room is short, that is when less than a tenth of it is free: a newcomer takes the place of the
//! oldest unseen login of the network that holds most, and a newcomer of that network is refused. So no flood, from however
//! many networks, shuts out a network that holds less than the flooding ones.
//!
//! Must not know: requests, records. A network is kept in this process's memory alone, for [`UNSEEN_LIFE`] at most. Where
//! hubs share a store, each decides for the logins that it has admitted itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::client_network::ClientNetwork;
use crate::env::Timestamp;
use crate::ids::InteractionHash;
use crate::login::Ticket;
use crate::store::Usage;
use crate::telemetry::Metrics;

/// How long a login lives whose page nobody has fetched.
pub const UNSEEN_LIFE: Duration = Duration::from_secs(120);

/// Room is short below this part of the capacity.
const RESERVE: usize = 10;

/// Unseen logins that one newcomer takes the place of, at most: a large request may need the room of several small ones.
const MAX_DISPLACED: usize = 8;

/// In the metrics.
const LIMIT: &str = "unseen_logins";

/// Logins of this hub that wait for the first fetch of their page.
pub struct UnseenLogins {
    capacity: Usage,
    metrics: Arc<Metrics>,
    held: Mutex<Held>,
}

/// Refusal of a newcomer whose network holds more unseen logins than any other, while room is short.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("the network holds too many logins whose page was never fetched")]
pub struct NetworkCrowdedError;

#[derive(Default)]
struct Held {
    by_login: HashMap<InteractionHash, UnseenLogin>,
    by_network: HashMap<ClientNetwork, Holding>,
    /// Lightest first.
    by_weight: BTreeSet<(u128, ClientNetwork)>,
    /// In the order of admission, and so of their ends.
    by_number: BTreeMap<u64, (Timestamp, InteractionHash)>,
    next_number: u64,
}

struct UnseenLogin {
    number: u64,
    network: ClientNetwork,
    weight: u128,
}

#[derive(Default)]
struct Holding {
    weight: u128,
    numbers: BTreeSet<u64>,
}

/// Returns when a login ends whose page is never fetched.
pub fn unseen_end(ticket: &Ticket) -> Timestamp {
    (ticket.opened_at + UNSEEN_LIFE).min(ticket.expires_at)
}

impl UnseenLogins {
    /// `capacity`: the room for all logins.
    #[must_use]
    pub fn new(capacity: Usage, metrics: &Arc<Metrics>) -> Self {
        metrics.limited(LIMIT, 0);
        Self { capacity, metrics: Arc::clone(metrics), held: Mutex::default() }
    }

    /// Counts a login of so many bytes for its network. Returns the unseen logins of other networks that it takes the place
    /// of: the caller ends them.
    ///
    /// # Errors
    /// Room is short, and no network holds more than this one; nothing is counted.
    pub fn admit(
        &self,
        hash: &InteractionHash,
        (network, bytes): (ClientNetwork, usize),
        used: Usage,
        now: Timestamp,
    ) -> Result<Vec<InteractionHash>, NetworkCrowdedError> {
        let weight = self.weight(bytes);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.forget_ended(now);
        let mut displaced = Vec::new();
        if self.is_short(used) {
            let own = held.by_network.get(&network).map_or(0, |holding| holding.weight);
            held.displace_heavier_than(own + weight, weight, &mut displaced);
            // The last of the room is for networks that hold nothing yet.
            if displaced.is_empty() && own > 0 {
                drop(held);
                self.metrics.limited(LIMIT, 1);
                return Err(NetworkCrowdedError);
            }
        }
        held.insert(hash, (network, weight), now + UNSEEN_LIFE);
        Ok(displaced)
    }

    /// The page of the login was fetched, or the login was not stored: it counts for its network no longer.
    pub fn remove(&self, hash: &InteractionHash) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(hash);
    }

    fn is_short(&self, used: Usage) -> bool {
        let is_short = |used: usize, capacity: usize| capacity.saturating_sub(used) < capacity.div_ceil(RESERVE);
        is_short(used.records, self.capacity.records) || is_short(used.bytes, self.capacity.bytes)
    }

    /// The share of the room that a login takes: its part of the records and its part of the bytes, over one denominator.
    const fn weight(&self, bytes: usize) -> u128 {
        self.capacity.bytes as u128 + bytes as u128 * self.capacity.records as u128
    }
}

impl Held {
    fn insert(&mut self, hash: &InteractionHash, (network, weight): (ClientNetwork, u128), end: Timestamp) {
        self.remove(hash);
        let number = self.next_number;
        self.next_number += 1;
        self.by_number.insert(number, (end, hash.clone()));
        self.by_login.insert(hash.clone(), UnseenLogin { number, network, weight });
        let holding = self.by_network.entry(network).or_default();
        self.by_weight.remove(&(holding.weight, network));
        holding.weight += weight;
        holding.numbers.insert(number);
        self.by_weight.insert((holding.weight, network));
    }

    fn remove(&mut self, hash: &InteractionHash) -> Option<u128> {
        let UnseenLogin { number, network, weight } = self.by_login.remove(hash)?;
        self.by_number.remove(&number);
        let holding = self.by_network.get_mut(&network)?;
        self.by_weight.remove(&(holding.weight, network));
        holding.weight = holding.weight.saturating_sub(weight);
        holding.numbers.remove(&number);
        if holding.numbers.is_empty() {
            self.by_network.remove(&network);
        } else {
            self.by_weight.insert((holding.weight, network));
        }
        Some(weight)
    }

    fn forget_ended(&mut self, now: Timestamp) {
        while let Some((end, hash)) = self.by_number.first_key_value().map(|(_, ended)| ended.clone())
            && end <= now
        {
            self.remove(&hash);
        }
    }

    /// Takes the oldest logins of the heaviest networks out, until so much is free, or no network is heavier than that.
    fn displace_heavier_than(&mut self, limit: u128, needed: u128, displaced: &mut Vec<InteractionHash>) {
        let mut freed = 0;
        while freed < needed && displaced.len() < MAX_DISPLACED {
            let Some((_, network)) = self.by_weight.last().copied().filter(|(weight, _)| *weight > limit) else { return };
            let oldest = self.by_network.get(&network).and_then(|holding| holding.numbers.first());
            let Some((_, hash)) = oldest.and_then(|number| self.by_number.get(number)).cloned() else { return };
            freed += self.remove(&hash).unwrap_or_default();
            displaced.push(hash);
        }
    }
}

impl std::fmt::Debug for UnseenLogins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UnseenLogins")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: Usage = Usage { records: 1000, bytes: 1_000_000 };

    /// The room, and the sizes of the logins in it.
    struct Room {
        unseen: UnseenLogins,
        stored: HashMap<InteractionHash, usize>,
        begun: usize,
        now: Timestamp,
    }

    impl Room {
        fn new() -> Self {
            let unseen = UnseenLogins::new(CAPACITY, &Arc::new(Metrics::new(Timestamp::default()).unwrap()));
            Self { unseen, stored: HashMap::new(), begun: 0, now: Timestamp::from_seconds(1) }
        }

        fn used(&self) -> Usage {
            Usage { records: self.stored.len(), bytes: self.stored.values().sum() }
        }

        /// A login of the /24 that this number names. Returns whether it was admitted, and there was room for it.
        fn begin(&mut self, network: u16, bytes: usize) -> bool {
            self.begun += 1;
            let hash = InteractionHash::of_cookie(&self.begun.to_string());
            let [high, low] = network.to_be_bytes();
            let network = ClientNetwork::containing(std::net::Ipv4Addr::new(203, high, low, 7).into());
            let Ok(displaced) = self.unseen.admit(&hash, (network, bytes), self.used(), self.now) else { return false };
            for hash in displaced {
                self.stored.remove(&hash).unwrap();
            }
            let used = self.used();
            let has_room = used.records < CAPACITY.records && used.bytes + bytes <= CAPACITY.bytes;
            if has_room {
                self.stored.insert(hash, bytes);
            } else {
                self.unseen.remove(&hash);
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
            assert!((2..300).all(|network| room.begin(network, 1300)), "{bytes} bytes: a newcomer is refused");
        }
    }

    #[test]
    fn floods_one_after_the_other_from_forty_networks_shut_out_nobody() {
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
    fn what_was_seen_or_has_ended_counts_no_longer() {
        let mut room = Room::new();
        assert!((0..950).any(|_| !room.begin(1, 100)));
        assert!(!room.begin(1, 100));
        let hashes: Vec<InteractionHash> = room.stored.keys().cloned().collect();
        for hash in &hashes {
            room.unseen.remove(hash);
            room.unseen.remove(hash);
        }
        assert!(room.begin(1, 100), "a network whose logins were seen holds nothing");
        assert!(!room.begin(1, 100), "but room is still short");
        room.now = room.now + UNSEEN_LIFE;
        assert!(room.begin(1, 100));
        let held = room.unseen.held.lock().unwrap();
        let sizes = (held.by_login.len(), held.by_network.len(), held.by_weight.len(), held.by_number.len());
        assert_eq!(sizes, (1, 1, 1, 1), "nothing is kept for longer");
    }
}
