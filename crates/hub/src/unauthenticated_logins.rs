//! Bounds logins in which no user has authenticated yet, by the network that they came from.
//!
//! Responsible for fairness when less than a tenth of the capacity is free: a new login replaces
//! one that has ended, or else the oldest login of the network that has most, and a new login of
//! that network is refused. So a flood, from any number of networks, shuts out no network that has
//! fewer logins than the flooding ones. Fetching pages and choosing identity providers costs a
//! flood nothing, so only an accepted authentication takes a login out of the count.
//!
//! Does not depend on requests or records. A network is stored in this process's memory only, for
//! as long as its login takes capacity. If hubs share a store, each decides for the logins that it
//! admitted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use passerelle_federation::login::LoginContext;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::InteractionHash;
use passerelle_store::{RecordVersion, Usage};
use passerelle_telemetry::Metrics;

/// Lifetime of a login whose page was never fetched.
pub const UNREAD_LOGIN_LIFETIME: Duration = Duration::from_secs(120);

/// Capacity is scarce when less than 1/`RESERVE_FRACTION` of it is free.
const RESERVE_FRACTION: usize = 10;

/// Maximum number of logins that a new one replaces: a large request may need the capacity of
/// several small ones.
const MAX_DISPLACED: usize = 8;

/// Time after which a store has freed the capacity of an ended login.
const FREEING_TIME: Duration = Duration::from_secs(65);

/// Maximum number of logins that one admission forgets, so that the lock is short.
const MAX_FORGOTTEN: usize = 256;

/// Label of this limit in the metrics.
const LIMIT_LABEL: &str = "unauthenticated_logins";

/// Logins of this hub without an authentication.
pub struct UnauthenticatedLogins {
    capacity: Usage,
    metrics: Arc<Metrics>,
    held: Mutex<UnauthenticatedLoginTable>,
}

/// A login that a new one replaces, and the version of its record.
pub(crate) type DisplacedLogin = (InteractionHash, RecordVersion);

/// Error returned while capacity is scarce, for a new login whose network holds more logins without
/// an authentication than any other.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("the network holds too many logins without an authentication")]
pub struct NetworkCrowdedError;

#[derive(Default)]
struct UnauthenticatedLoginTable {
    by_login: HashMap<InteractionHash, UnauthenticatedLogin>,
    by_network: HashMap<ClientNetwork, NetworkLogins>,
    /// In ascending order.
    by_weight: BTreeSet<(u128, ClientNetwork)>,
    /// In the order of admission.
    by_number: BTreeMap<u64, InteractionHash>,
    by_end: BTreeSet<(Timestamp, u64)>,
    next_number: u64,
}

struct UnauthenticatedLogin {
    number: u64,
    network: ClientNetwork,
    weight: u128,
    /// Version of the stored record, as this hub knows it.
    version: RecordVersion,
    end: Timestamp,
}

#[derive(Default)]
struct NetworkLogins {
    weight: u128,
    numbers: BTreeSet<u64>,
}

/// Returns when a login expires whose page is never fetched.
pub(crate) fn unread_expiry(context: &LoginContext) -> Timestamp {
    (context.opened_at + UNREAD_LOGIN_LIFETIME).min(context.expires_at)
}

impl UnauthenticatedLogins {
    /// Creates the count. `capacity`: that of the store, for all logins.
    pub fn new(capacity: Usage, metrics: &Arc<Metrics>) -> Self {
        metrics.record_rate_limited(LIMIT_LABEL, 0);
        Self { capacity, metrics: Arc::clone(metrics), held: Mutex::default() }
    }

    /// Counts a login of this size for its network. Returns the logins that it replaces: the caller
    /// removes them from the store.
    ///
    /// # Errors
    /// `NetworkCrowdedError` if capacity is scarce and no network holds more than this one; nothing
    /// is counted.
    pub fn admit(
        &self,
        hash: &InteractionHash,
        network: ClientNetwork,
        bytes: usize,
        used: Usage,
        now: Timestamp,
    ) -> Result<Vec<DisplacedLogin>, NetworkCrowdedError> {
        let weight = self.login_weight(bytes);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove_freed(now);
        let mut displaced = DisplacementPlan { logins: Vec::new(), needed: weight };
        if self.is_capacity_scarce(used) {
            held.displace_ended(now, &mut displaced);
            let own = held.by_network.get(&network).map_or(0, |holding| holding.weight);
            held.displace_heavier_than(own + weight, &mut displaced);
            // The last capacity is for networks that hold nothing yet.
            if displaced.logins.is_empty() && own > 0 {
                drop(held);
                self.metrics.record_rate_limited(LIMIT_LABEL, 1);
                return Err(NetworkCrowdedError);
            }
        }
        held.insert(hash, network, weight, now + UNREAD_LOGIN_LIFETIME);
        Ok(displaced.logins)
    }

    /// Records that the login's page was fetched or its state changed: the record has this version,
    /// and expires at `end`. Does nothing for a login that is not counted.
    pub fn update(&self, hash: &InteractionHash, version: RecordVersion, end: Timestamp) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).update(hash, version, end);
    }

    /// Removes the login from the count: a user has authenticated in it, or it was not stored.
    pub fn remove(&self, hash: &InteractionHash) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(hash);
    }

    /// Returns how many logins without an authentication the network that holds most has begun.
    pub fn most_of_one_network(&self) -> usize {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let heaviest = held.by_weight.last().and_then(|(_, network)| held.by_network.get(network));
        heaviest.map_or(0, |holding| holding.numbers.len())
    }

    fn is_capacity_scarce(&self, used: Usage) -> bool {
        let is_scarce = |used: usize, capacity: usize| {
            capacity.saturating_sub(used) < capacity.div_ceil(RESERVE_FRACTION)
        };
        is_scarce(used.records, self.capacity.records) || is_scarce(used.bytes, self.capacity.bytes)
    }

    /// Returns the share of the capacity that a login takes: its part of the records and its part of
    /// the bytes, over one denominator.
    const fn login_weight(&self, bytes: usize) -> u128 {
        self.capacity.bytes as u128 + bytes as u128 * self.capacity.records as u128
    }
}

/// The logins that a new one replaces, and the weight that it still needs.
struct DisplacementPlan {
    logins: Vec<DisplacedLogin>,
    needed: u128,
}

impl DisplacementPlan {
    fn is_enough(&self) -> bool {
        self.needed == 0 || self.logins.len() >= MAX_DISPLACED
    }
}

impl UnauthenticatedLoginTable {
    fn insert(
        &mut self,
        hash: &InteractionHash,
        network: ClientNetwork,
        weight: u128,
        end: Timestamp,
    ) {
        self.remove(hash);
        let number = self.next_number;
        self.next_number += 1;
        self.by_number.insert(number, hash.clone());
        self.by_end.insert((end, number));
        self.by_login.insert(
            hash.clone(),
            UnauthenticatedLogin { number, network, weight, version: RecordVersion(1), end },
        );
        let holding = self.by_network.entry(network).or_default();
        self.by_weight.remove(&(holding.weight, network));
        holding.weight += weight;
        holding.numbers.insert(number);
        self.by_weight.insert((holding.weight, network));
    }

    fn update(&mut self, hash: &InteractionHash, version: RecordVersion, end: Timestamp) {
        let Some(login) = self.by_login.get_mut(hash) else { return };
        login.version = version;
        if login.end != end {
            self.by_end.remove(&(login.end, login.number));
            login.end = end;
            self.by_end.insert((end, login.number));
        }
    }

    fn remove(&mut self, hash: &InteractionHash) -> Option<UnauthenticatedLogin> {
        let login = self.by_login.remove(hash)?;
        let (number, network) = (login.number, login.network);
        self.by_number.remove(&number);
        self.by_end.remove(&(login.end, number));
        let holding = self.by_network.get_mut(&network)?;
        self.by_weight.remove(&(holding.weight, network));
        holding.weight = holding.weight.saturating_sub(login.weight);
        holding.numbers.remove(&number);
        if holding.numbers.is_empty() {
            self.by_network.remove(&network);
        } else {
            self.by_weight.insert((holding.weight, network));
        }
        Some(login)
    }

    /// Returns the login that ends first, if it ends at or before `limit`.
    fn first_ended(&self, limit: Timestamp) -> Option<InteractionHash> {
        let (_, number) = self.by_end.first().filter(|(end, _)| *end <= limit)?;
        self.by_number.get(number).cloned()
    }

    /// Removes logins whose capacity the store has freed.
    fn remove_freed(&mut self, now: Timestamp) {
        for _ in 0..MAX_FORGOTTEN {
            let Some(hash) = self.first_ended(now - FREEING_TIME) else { return };
            self.remove(&hash);
        }
    }

    fn displace(&mut self, hash: InteractionHash, displaced: &mut DisplacementPlan) {
        let Some(login) = self.remove(&hash) else { return };
        displaced.needed = displaced.needed.saturating_sub(login.weight);
        displaced.logins.push((hash, login.version));
    }

    /// Removes logins that have ended, but whose capacity the store may not have freed.
    fn displace_ended(&mut self, now: Timestamp, displaced: &mut DisplacementPlan) {
        while !displaced.is_enough()
            && let Some(hash) = self.first_ended(now)
        {
            self.displace(hash, displaced);
        }
    }

    /// Removes the oldest logins of the heaviest networks, while a network is heavier than `limit`.
    fn displace_heavier_than(&mut self, limit: u128, displaced: &mut DisplacementPlan) {
        while !displaced.is_enough() {
            let Some((_, network)) =
                self.by_weight.last().copied().filter(|(weight, _)| *weight > limit)
            else {
                return;
            };
            let oldest = self.by_network.get(&network).and_then(|holding| holding.numbers.first());
            let Some(hash) = oldest.and_then(|number| self.by_number.get(number)).cloned() else {
                return;
            };
            self.displace(hash, displaced);
        }
    }
}

#[cfg(test)]
mod tests;
