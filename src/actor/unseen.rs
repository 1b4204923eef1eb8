//! L3 · The logins whose page was never fetched, by the network that they came from.
//!
//! Responsible for fairness when room is short: a network may hold as much of the room by unseen logins as is still free. So
//! the network that holds most is refused first, and however many networks flood, some room stays free for the others (the
//! dynamic threshold of Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998).
//!
//! Must not know: requests, records. A network is kept in this process's memory alone, for [`UNSEEN_LIFE`] at most. Where
//! hubs share a store, each decides for the logins that it has admitted itself.

use std::collections::{HashMap, VecDeque};
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

/// In the metrics.
const LIMIT: &str = "unseen_logins";

/// Characters of an interactionHash that tell logins apart: 96 random bits.
const KEY: usize = 16;

type LoginKey = [u8; KEY];

/// Logins of this hub that wait for the first fetch of their page.
pub struct UnseenLogins {
    capacity: Usage,
    metrics: Arc<Metrics>,
    held: Mutex<Held>,
}

/// Refusal of a network that holds more unseen logins than there is room left.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("the network holds too many logins whose page was never fetched")]
pub struct NetworkCrowdedError;

#[derive(Default)]
struct Held {
    by_login: HashMap<LoginKey, UnseenLogin>,
    by_network: HashMap<ClientNetwork, Usage>,
    /// In the order of their ends, those that were seen meanwhile included.
    ends: VecDeque<(Timestamp, LoginKey)>,
}

struct UnseenLogin {
    network: ClientNetwork,
    bytes: usize,
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

    /// Counts a login of this size for its network.
    ///
    /// # Errors
    /// The network holds more of the room than is free; nothing is counted.
    pub fn admit(
        &self,
        hash: &InteractionHash,
        (network, bytes): (ClientNetwork, usize),
        used: Usage,
        now: Timestamp,
    ) -> Result<(), NetworkCrowdedError> {
        let Some(key) = key_of(hash) else { return Ok(()) };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.forget_ended(now);
        let holds = held.by_network.get(&network).copied().unwrap_or_default();
        let is_over = |holds: usize, used: usize, capacity: usize| holds > capacity.saturating_sub(used);
        if is_over(holds.records, used.records, self.capacity.records) || is_over(holds.bytes, used.bytes, self.capacity.bytes) {
            drop(held);
            self.metrics.limited(LIMIT, 1);
            return Err(NetworkCrowdedError);
        }
        held.by_network.insert(network, Usage { records: holds.records + 1, bytes: holds.bytes + bytes });
        held.by_login.insert(key, UnseenLogin { network, bytes });
        held.ends.push_back((now + UNSEEN_LIFE, key));
        Ok(())
    }

    /// The page of the login was fetched, or the login was not stored: it counts for its network no longer.
    pub fn remove(&self, hash: &InteractionHash) {
        if let Some(key) = key_of(hash) {
            self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        }
    }
}

impl Held {
    fn forget_ended(&mut self, now: Timestamp) {
        while let Some((end, key)) = self.ends.front().copied()
            && end <= now
        {
            self.ends.pop_front();
            self.remove(key);
        }
    }

    fn remove(&mut self, key: LoginKey) {
        let Some(UnseenLogin { network, bytes }) = self.by_login.remove(&key) else { return };
        let Some(holds) = self.by_network.get_mut(&network) else { return };
        *holds = Usage { records: holds.records.saturating_sub(1), bytes: holds.bytes.saturating_sub(bytes) };
        if holds.records == 0 {
            self.by_network.remove(&network);
        }
    }
}

fn key_of(hash: &InteractionHash) -> Option<LoginKey> {
    hash.as_str().as_bytes().first_chunk().copied()
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

    fn network(n: u8) -> ClientNetwork {
        ClientNetwork::containing(std::net::Ipv4Addr::new(203, 0, n, 7).into())
    }

    fn hash(n: usize) -> InteractionHash {
        InteractionHash::of_cookie(&n.to_string())
    }

    fn unseen() -> UnseenLogins {
        UnseenLogins::new(CAPACITY, &Arc::new(Metrics::new(Timestamp::default()).unwrap()))
    }

    /// Admits one after the other, as many as there is room for. Returns how many were.
    fn flood(unseen: &UnseenLogins, attackers: &[u8], bytes: usize, used: &mut Usage, now: Timestamp) -> usize {
        let mut admitted = 0;
        for n in 0..20_000 {
            let attacker = attackers[n % attackers.len()];
            let login = hash(n * 256 + usize::from(attacker) + used.records * 10_000_000);
            if unseen.admit(&login, (network(attacker), bytes), *used, now).is_ok() {
                admitted += 1;
                *used = Usage { records: used.records + 1, bytes: used.bytes + bytes };
            }
        }
        admitted
    }

    #[test]
    fn a_flood_from_one_network_leaves_half_of_the_room_to_others() {
        for (bytes, most) in [(100, 501), (12_700, 40)] {
            let (unseen, mut used, now) = (unseen(), Usage::default(), Timestamp::from_seconds(1));
            let admitted = flood(&unseen, &[1], bytes, &mut used, now);
            assert!((most - 1..=most).contains(&admitted), "{admitted} of {bytes} bytes");
            assert_eq!(unseen.admit(&hash(1), (network(1), bytes), used, now), Err(NetworkCrowdedError));
            assert_eq!(unseen.admit(&hash(2), (network(2), bytes), used, now), Ok(()), "a newcomer of another network");
        }
    }

    #[test]
    fn a_flood_from_twenty_networks_leaves_room_to_a_newcomer() {
        let (unseen, mut used, now) = (unseen(), Usage::default(), Timestamp::from_seconds(1));
        let attackers: Vec<u8> = (1..=20).collect();
        let admitted = flood(&unseen, &attackers, 100, &mut used, now);
        assert!(admitted < 970, "{admitted} of 1000 places");
        assert_eq!(unseen.admit(&hash(1), (network(99), 100), used, now), Ok(()));
    }

    #[test]
    fn what_was_seen_or_has_ended_counts_no_longer() {
        let (unseen, now) = (unseen(), Timestamp::from_seconds(1));
        let nearly_full = Usage { records: 998, bytes: 0 };
        for n in 0..3 {
            unseen.admit(&hash(n), (network(1), 100), Usage::default(), now).unwrap();
        }
        assert_eq!(unseen.admit(&hash(9), (network(1), 100), nearly_full, now), Err(NetworkCrowdedError));
        unseen.remove(&hash(0));
        unseen.remove(&hash(0));
        assert_eq!(unseen.admit(&hash(9), (network(1), 100), nearly_full, now), Ok(()));
        assert_eq!(unseen.admit(&hash(10), (network(1), 100), nearly_full, now), Err(NetworkCrowdedError));
        let later = now + UNSEEN_LIFE;
        assert_eq!(unseen.admit(&hash(10), (network(1), 100), nearly_full, later), Ok(()));
        let held = unseen.held.lock().unwrap();
        assert_eq!((held.by_login.len(), held.by_network.len(), held.ends.len()), (1, 1, 1), "nothing is kept for longer");
    }
}
