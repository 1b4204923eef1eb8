//! Limits the number of connections of a listener and evicts idle ones in favour of new ones.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

use crate::proxies::Network;
use passerelle_protocol::client_network::{ClientNetwork, is_private, mask_address};

/// Number of connections searched for an idle one when the limit is reached: so many of the oldest,
/// and as many of the others in rotation.
const MAX_SLOTS_SEARCHED: usize = 64;

/// Prefix length that identifies an IPv6 peer: one machine normally has a whole /64.
const IPV6_PEER_PREFIX_BITS: u8 = 64;

/// Maximum numbers of connections of a listener.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    pub total: usize,
    /// Maximum for one IPv4 address or one IPv6 /64.
    pub per_peer: Option<usize>,
    /// Maximum for one IPv4 /24 or one IPv6 /48. Loopback and private addresses are not limited.
    pub per_network: Option<usize>,
    /// Whether `per_peer` also limits loopback and private addresses: true if the operator set it.
    /// By default such an address is assumed to be an unlisted proxy.
    pub counts_local_peers: bool,
    /// Proxies, whose connections carry many clients and are not limited.
    pub trusted_proxies: Vec<Network>,
}

/// Admits the connections of one listener. It is shared by the listener's threads and used when a
/// connection opens or closes.
pub struct ConnectionLimiter {
    limits: ConnectionLimits,
    /// Connections allowed above the total while evicted ones are closing.
    surplus: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    slots: BTreeMap<u64, Arc<ConnectionSlot>>,
    peers: Counts<[u8; 16]>,
    networks: Counts<ClientNetwork>,
    /// Connections that are evicted and have not closed yet.
    closing: usize,
    /// The connection where the last rotating search ended.
    last_searched: u64,
}

/// Number of connections by key.
struct Counts<K>(HashMap<K, usize>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Counts<K> {
    fn is_full(&self, key: Option<&K>, limit: Option<usize>) -> bool {
        let held = key.and_then(|key| self.0.get(key));
        held.zip(limit).is_some_and(|(held, limit)| *held >= limit)
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

/// State of a connection that other threads read, and its eviction flag.
pub(super) struct ConnectionSlot {
    opened: Instant,
    /// Milliseconds after `opened` until which the connection is not evicted; `u64::MAX` while its
    /// handler works on a whole request.
    busy_until: AtomicU64,
    /// The peer does not read what was written.
    write_blocked: AtomicBool,
    evicted: AtomicBool,
    waker: AtomicWaker,
}

impl ConnectionSlot {
    fn new() -> Self {
        Self {
            opened: Instant::now(),
            busy_until: AtomicU64::new(0),
            write_blocked: AtomicBool::new(false),
            evicted: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        }
    }

    /// Protects the connection from eviction.
    pub(super) fn set_busy(&self) {
        self.busy_until.store(u64::MAX, Ordering::Relaxed);
    }

    /// Protects the connection from eviction until a time.
    pub(super) fn set_busy_until(&self, until: Instant) {
        self.busy_until.store(self.millis_since_open(until), Ordering::Relaxed);
    }

    /// Allows the eviction of the connection.
    pub(super) fn set_idle(&self) {
        self.busy_until.store(0, Ordering::Relaxed);
    }

    fn millis_since_open(&self, instant: Instant) -> u64 {
        u64::try_from(instant.saturating_duration_since(self.opened).as_millis())
            .unwrap_or(u64::MAX)
    }

    /// Sets whether the peer does not read what was written.
    pub(super) fn set_write_blocked(&self, is_stuck: bool) {
        self.write_blocked.store(is_stuck, Ordering::Relaxed);
    }

    /// Returns whether the connection is evicted and must close.
    pub(super) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Registers the waker of the connection.
    pub(super) fn register_waker(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    /// Wakes the connection.
    pub(super) fn wake(&self) {
        self.waker.wake();
    }

    fn is_idle(&self, now: Instant) -> bool {
        let is_busy = self.millis_since_open(now) < self.busy_until.load(Ordering::Relaxed);
        let waits = !is_busy || self.write_blocked.load(Ordering::Relaxed);
        waits && !self.is_evicted()
    }

    fn mark_evicted(&self) {
        self.evicted.store(true, Ordering::Relaxed);
        self.wake();
    }
}

/// Why a connection is not admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AdmissionError {
    #[error("the listener has reached its connection limit, and no connection is idle")]
    Full,
    #[error("the peer or its network has reached its connection limit")]
    PeerFull,
}

/// Permit of one connection, returned when it is dropped.
pub(super) struct Permit {
    admission: Arc<ConnectionLimiter>,
    id: u64,
    peer: Option<[u8; 16]>,
    network: Option<ClientNetwork>,
    pub slot: Arc<ConnectionSlot>,
}

impl ConnectionLimiter {
    /// Creates the limiter.
    pub fn new(limits: ConnectionLimits, surplus: usize) -> Arc<Self> {
        Arc::new(Self { limits, surplus, state: Mutex::default() })
    }

    /// Returns the limits.
    pub const fn limits(&self) -> &ConnectionLimits {
        &self.limits
    }

    /// Returns the number of open connections.
    pub fn open_count(&self) -> usize {
        self.state().slots.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection. If the limit is reached, an idle connection is evicted, the oldest
    /// first.
    ///
    /// # Errors
    /// `PeerFull` if the peer or its network has reached its limit; `Full` if the listener has and
    /// no connection is idle.
    pub(super) fn admit(self: &Arc<Self>, peer: SocketAddr) -> Result<Permit, AdmissionError> {
        let (peer, network) = self.limit_keys(peer.ip());
        let mut state = self.state();
        let is_peer_full = state.peers.is_full(peer.as_ref(), self.limits.per_peer);
        if is_peer_full || state.networks.is_full(network.as_ref(), self.limits.per_network) {
            return Err(AdmissionError::PeerFull);
        }
        let remaining = state.slots.len().saturating_sub(state.closing);
        let is_full = remaining >= self.limits.total;
        if is_full && (state.slots.len() >= self.limits.total + self.surplus || !state.evict_idle())
        {
            return Err(AdmissionError::Full);
        }
        state.next += 1;
        let (id, slot) = (state.next, Arc::new(ConnectionSlot::new()));
        state.slots.insert(id, Arc::clone(&slot));
        state.peers.add(peer);
        state.networks.add(network);
        drop(state);
        Ok(Permit { admission: Arc::clone(self), id, peer, network, slot })
    }

    /// Returns the keys that limit a peer and its network; `None` where they are not limited.
    fn limit_keys(&self, address: IpAddr) -> (Option<[u8; 16]>, Option<ClientNetwork>) {
        let address = address.to_canonical();
        if self.limits.trusted_proxies.iter().any(|network| network.contains(address)) {
            return (None, None);
        }
        let is_local = is_private(address);
        let counts_peer =
            self.limits.per_peer.is_some() && (!is_local || self.limits.counts_local_peers);
        let counts_network = self.limits.per_network.is_some() && !is_local;
        (
            counts_peer.then(|| mask_address(address, 32, IPV6_PEER_PREFIX_BITS)),
            counts_network.then(|| ClientNetwork::containing(address)),
        )
    }
}

impl State {
    /// Evicts an idle connection. Returns false if none was found among those searched.
    fn evict_idle(&mut self) -> bool {
        let now = Instant::now();
        let oldest = self.slots.values().take(MAX_SLOTS_SEARCHED).find(|slot| slot.is_idle(now));
        let mut searched = 0;
        let found = oldest.or_else(|| {
            let others = self
                .slots
                .range((Bound::Excluded(self.last_searched), Bound::Unbounded))
                .take(MAX_SLOTS_SEARCHED);
            let mut others = others.inspect(|(id, _)| searched = **id);
            others.find(|(_, slot)| slot.is_idle(now)).map(|(_, slot)| slot)
        });
        let is_found = found.is_some();
        if let Some(slot) = found {
            slot.mark_evicted();
            self.closing += 1;
        }
        self.last_searched = searched;
        is_found
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.admission.state();
        state.slots.remove(&self.id);
        if self.slot.is_evicted() {
            state.closing = state.closing.saturating_sub(1);
        }
        state.peers.remove(self.peer.as_ref());
        state.networks.remove(self.network.as_ref());
    }
}

#[cfg(test)]
mod tests;
