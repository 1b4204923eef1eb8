//! How many connections a listener holds, and which one gives way to a newcomer.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

use crate::client_network::{ClientNetwork, masked};
use crate::config::proxies::Network;

/// Connections that are looked at for an idle one when a newcomer finds all places taken: so many of the oldest, and as
/// many of the others in turn.
const SEARCHED: usize = 64;

/// Bits of an IPv6 address that make a peer: what one machine has at its disposal at least.
const PEER_BITS_IPV6: u8 = 64;

/// How many connections a listener may hold.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    pub total: usize,
    /// For one IPv4 address or one IPv6 /64.
    pub per_peer: Option<usize>,
    /// For one IPv4 /24 or one IPv6 /48, which one subscriber may hold. Loopback and private addresses are not counted.
    pub per_network: Option<usize>,
    /// True where `per_peer` was chosen by the operator: it then holds for loopback and private addresses too, which by
    /// default are taken for a proxy that the settings do not name.
    pub counts_local_peers: bool,
    /// Peers whose connections carry many clients.
    pub trusted_proxies: Vec<Network>,
}

/// The connections of one listener. One for all of its threads, touched when a connection opens and when it closes.
pub struct Admission {
    limits: ConnectionLimits,
    /// Connections above the total while those that give way are being closed.
    surplus: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    slots: BTreeMap<u64, Arc<Slot>>,
    peers: Counts<[u8; 16]>,
    networks: Counts<ClientNetwork>,
    /// Connections that were asked to give way, and have not closed yet.
    leaving: usize,
    /// The connection at which the last search among those that are not the oldest ended.
    searched: u64,
}

/// The number of connections by key.
struct Counts<K>(HashMap<K, usize>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Counts<K> {
    fn is_full(&self, key: Option<&K>, most: Option<usize>) -> bool {
        let held = key.and_then(|key| self.0.get(key));
        held.zip(most).is_some_and(|(held, most)| *held >= most)
    }

    fn add(&mut self, key: Option<K>) {
        if let Some(key) = key {
            *self.0.entry(key).or_default() += 1;
        }
    }

    fn remove(&mut self, key: Option<&K>) {
        if let Some(key) = key
            && let Some(held) = self.0.get_mut(key)
        {
            *held -= 1;
            if *held == 0 {
                self.0.remove(key);
            }
        }
    }
}

/// What other threads may know and ask of a connection.
pub(super) struct Slot {
    opened: Instant,
    /// Milliseconds after `opened` until which the connection does not give way; `u64::MAX` while a whole request is with
    /// its handler.
    busy_until: AtomicU64,
    /// The peer does not take what was written.
    stuck: AtomicBool,
    evicted: AtomicBool,
    waker: AtomicWaker,
}

impl Slot {
    fn new() -> Self {
        Self {
            opened: Instant::now(),
            busy_until: AtomicU64::new(0),
            stuck: AtomicBool::new(false),
            evicted: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        }
    }

    pub fn set_busy(&self) {
        self.busy_until.store(u64::MAX, Ordering::Relaxed);
    }

    pub fn set_busy_until(&self, until: Instant) {
        self.busy_until.store(self.milliseconds(until), Ordering::Relaxed);
    }

    pub fn set_idle(&self) {
        self.busy_until.store(0, Ordering::Relaxed);
    }

    fn milliseconds(&self, instant: Instant) -> u64 {
        u64::try_from(instant.saturating_duration_since(self.opened).as_millis())
            .unwrap_or(u64::MAX)
    }

    pub fn set_stuck(&self, is_stuck: bool) {
        self.stuck.store(is_stuck, Ordering::Relaxed);
    }

    pub fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Relaxed)
    }

    pub fn register(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    pub fn wake(&self) {
        self.waker.wake();
    }

    fn is_idle(&self, now: Instant) -> bool {
        let is_busy = self.milliseconds(now) < self.busy_until.load(Ordering::Relaxed);
        let waits = !is_busy || self.stuck.load(Ordering::Relaxed);
        waits && !self.is_evicted()
    }

    fn evict(&self) {
        self.evicted.store(true, Ordering::Relaxed);
        self.wake();
    }
}

/// Why a connection is not admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AdmissionError {
    #[error("the listener holds as many connections as it may, and none is idle")]
    Full,
    #[error("the peer or its network holds as many connections as it may")]
    PeerFull,
}

/// A connection's place, given back when it is dropped.
pub(super) struct Permit {
    admission: Arc<Admission>,
    id: u64,
    peer: Option<[u8; 16]>,
    network: Option<ClientNetwork>,
    pub slot: Arc<Slot>,
}

impl Admission {
    #[must_use]
    pub fn new(limits: ConnectionLimits, surplus: usize) -> Arc<Self> {
        Arc::new(Self { limits, surplus, state: Mutex::default() })
    }

    #[must_use]
    pub const fn limits(&self) -> &ConnectionLimits {
        &self.limits
    }

    /// Returns the number of connections that are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.state().slots.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection. Where all places are taken, an idle connection gives way, the older ones first.
    ///
    /// # Errors
    /// `PeerFull`, `Full`.
    pub(super) fn admit(self: &Arc<Self>, peer: SocketAddr) -> Result<Permit, AdmissionError> {
        let (peer, network) = self.counted(peer.ip());
        let mut state = self.state();
        let is_peer_full = state.peers.is_full(peer.as_ref(), self.limits.per_peer);
        if is_peer_full || state.networks.is_full(network.as_ref(), self.limits.per_network) {
            return Err(AdmissionError::PeerFull);
        }
        let staying = state.slots.len().saturating_sub(state.leaving);
        let is_full = staying >= self.limits.total;
        if is_full && (state.slots.len() >= self.limits.total + self.surplus || !state.evict_idle())
        {
            return Err(AdmissionError::Full);
        }
        state.next += 1;
        let (id, slot) = (state.next, Arc::new(Slot::new()));
        state.slots.insert(id, Arc::clone(&slot));
        state.peers.add(peer);
        state.networks.add(network);
        drop(state);
        Ok(Permit { admission: Arc::clone(self), id, peer, network, slot })
    }

    /// Returns what a peer and its network are counted by, where they are counted.
    fn counted(&self, address: IpAddr) -> (Option<[u8; 16]>, Option<ClientNetwork>) {
        let address = address.to_canonical();
        if self.limits.trusted_proxies.iter().any(|network| network.contains(address)) {
            return (None, None);
        }
        let is_local = is_local(address);
        let counts_peer =
            self.limits.per_peer.is_some() && (!is_local || self.limits.counts_local_peers);
        let counts_network = self.limits.per_network.is_some() && !is_local;
        (
            counts_peer.then(|| masked(address, 32, PEER_BITS_IPV6)),
            counts_network.then(|| ClientNetwork::containing(address)),
        )
    }
}

/// Loopback, link-local and private addresses (RFC 1918, RFC 3927, RFC 4193), from which a proxy may speak for everyone.
const fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

impl State {
    /// Asks an idle connection to give way; false if none was found among those looked at.
    fn evict_idle(&mut self) -> bool {
        let now = Instant::now();
        let oldest = self.slots.values().take(SEARCHED).find(|slot| slot.is_idle(now));
        let mut searched = 0;
        let found = oldest.or_else(|| {
            let others =
                self.slots.range((Bound::Excluded(self.searched), Bound::Unbounded)).take(SEARCHED);
            let mut others = others.inspect(|(id, _)| searched = **id);
            others.find(|(_, slot)| slot.is_idle(now)).map(|(_, slot)| slot)
        });
        let is_found = found.is_some();
        if let Some(slot) = found {
            slot.evict();
            self.leaving += 1;
        }
        self.searched = searched;
        is_found
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.admission.state();
        state.slots.remove(&self.id);
        if self.slot.is_evicted() {
            state.leaving = state.leaving.saturating_sub(1);
        }
        state.peers.remove(self.peer.as_ref());
        state.networks.remove(self.network.as_ref());
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("limits", &self.limits).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(
        total: usize,
        per_peer: Option<usize>,
        counts_local_peers: bool,
    ) -> Arc<Admission> {
        let trusted_proxies = vec!["198.51.100.0/24".parse().unwrap()];
        Admission::new(
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
    fn an_idle_connection_gives_way_and_the_older_ones_first() {
        let admission = admission(3, None, false);
        let held: Vec<_> = (0..3).map(|_| admission.admit(peer("192.0.2.1")).unwrap()).collect();
        held[0].slot.set_busy();
        let _newcomer = admission.admit(peer("192.0.2.2")).unwrap();
        assert_eq!(
            held.iter().map(|permit| permit.slot.is_evicted()).collect::<Vec<_>>(),
            [false, true, false]
        );
        // One more than the total until the evicted one has closed.
        assert_eq!(admission.open(), 4);
        drop(held);
        assert_eq!(admission.open(), 1);
    }

    #[test]
    fn a_busy_connection_stays_and_a_peer_that_never_reads_gives_way() {
        let admission = admission(2, None, false);
        let held: Vec<_> = (0..2).map(|_| admission.admit(peer("192.0.2.1")).unwrap()).collect();
        held.iter().for_each(|permit| permit.slot.set_busy());
        assert_eq!(admission.admit(peer("192.0.2.2")).err(), Some(AdmissionError::Full));
        held[1].slot.set_stuck(true);
        let _newcomer = admission.admit(peer("192.0.2.2")).unwrap();
        assert!(held[1].slot.is_evicted());
    }

    #[test]
    fn a_connection_whose_request_body_does_not_arrive_gives_way() {
        let admission = admission(2, None, false);
        let held: Vec<_> = (0..2).map(|_| admission.admit(peer("192.0.2.1")).unwrap()).collect();
        held[0].slot.set_busy_until(Instant::now() + std::time::Duration::from_secs(600));
        held[1].slot.set_busy();
        assert_eq!(admission.admit(peer("192.0.2.2")).err(), Some(AdmissionError::Full));
        held[0].slot.set_busy_until(Instant::now());
        let _newcomer = admission.admit(peer("192.0.2.2")).unwrap();
        assert!(held[0].slot.is_evicted());
    }

    #[test]
    fn what_is_being_closed_is_bounded() {
        let admission = admission(4, None, false);
        let mut held: Vec<_> =
            (0..4).map(|_| admission.admit(peer("192.0.2.1")).unwrap()).collect();
        held.extend((0..2).map(|_| admission.admit(peer("192.0.2.1")).unwrap()));
        assert_eq!(admission.admit(peer("192.0.2.1")).err(), Some(AdmissionError::Full));
        assert_eq!(admission.open(), 6);
    }

    #[test]
    fn one_peer_has_its_share_and_a_proxy_has_none() {
        let admission_default = admission(100, Some(2), false);
        let counts = |admission: &Arc<Admission>, addresses: [&str; 3]| {
            let held: Vec<_> =
                addresses.iter().map(|address| admission.admit(peer(address))).collect();
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
    fn the_peers_of_one_network_share_what_it_may_hold() {
        let admission = admission(100, Some(2), true);
        let admitted = |address: &dyn Fn(u8) -> String| {
            let held: Vec<_> = (0..20).map(|host| admission.admit(peer(&address(host)))).collect();
            held.iter().filter(|admitted| admitted.is_ok()).count()
        };
        assert_eq!(
            admitted(&|host| format!("2001:db8:0:{host:x}::1")),
            8,
            "each of a /64 of its own"
        );
        assert_eq!(
            admitted(&|host| format!("2001:db8:{host:x}::1")),
            20,
            "each of a /48 of its own"
        );
        assert_eq!(admitted(&|host| format!("192.0.2.{host}")), 8);
        assert_eq!(admitted(&|host| format!("10.0.0.{host}")), 20, "a private network");
        assert_eq!(admitted(&|host| format!("198.51.100.{host}")), 20, "trusted proxies");
        assert!(admission.state().networks.0.is_empty(), "what closed is not counted");
    }
}
