//! Bounds the deliveries at once: of all service providers, and of each, so that one that never
//! answers delays only itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use passerelle_protocol::ids::ClientId;

/// Maximum number of deliveries at once.
const MAX_DELIVERIES: usize = 64;
/// Maximum number of deliveries at once to one service provider.
const MAX_DELIVERIES_PER_CLIENT: usize = 4;

/// Deliveries in flight, by service provider.
#[derive(Default)]
pub(super) struct DeliverySlots(Mutex<HashMap<ClientId, usize>>);

/// Permit for one delivery; released when it is dropped.
pub(super) struct DeliverySlot {
    slots: Arc<DeliverySlots>,
    client_id: ClientId,
}

impl DeliverySlots {
    /// Returns a permit, unless too many deliveries are in flight.
    pub(super) fn reserve(self: &Arc<Self>, client_id: &ClientId) -> Option<DeliverySlot> {
        let mut in_flight = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = in_flight.get(client_id).copied().unwrap_or_default();
        if own >= MAX_DELIVERIES_PER_CLIENT || in_flight.values().sum::<usize>() >= MAX_DELIVERIES {
            return None;
        }
        in_flight.insert(client_id.clone(), own + 1);
        Some(DeliverySlot { slots: Arc::clone(self), client_id: client_id.clone() })
    }
}

impl Drop for DeliverySlot {
    fn drop(&mut self) {
        let mut in_flight = self.slots.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = in_flight.get(&self.client_id).map_or(0, |count| count.saturating_sub(1));
        if left == 0 {
            in_flight.remove(&self.client_id);
        } else {
            in_flight.insert(self.client_id.clone(), left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_receiver_fills_its_own_slots_only() {
        let slots: Arc<DeliverySlots> = Arc::default();
        let client = ClientId::from("slow");
        let held: Vec<_> = (0..10).filter_map(|_| slots.reserve(&client)).collect();
        assert_eq!(held.len(), MAX_DELIVERIES_PER_CLIENT);
        assert!(slots.reserve(&"other".into()).is_some());
        drop(held);
        assert!(slots.reserve(&client).is_some());
        assert!(slots.0.lock().unwrap().is_empty());
        let ids = (0..100).map(|n| ClientId::from(n.to_string().as_str()));
        let all: Vec<_> = ids.filter_map(|id| slots.reserve(&id)).collect();
        assert_eq!(all.len(), MAX_DELIVERIES);
    }
}
