//! Shares the current federation. A decision takes one snapshot and uses only that.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::{Federation, RegisteredClients};
use passerelle_protocol::ids::ConnectorId;

/// A handle to the current federation. Cheap to clone; all clones see a replacement immediately.
#[derive(Clone)]
pub struct CurrentFederation {
    federation: Arc<ArcSwap<Federation>>,
    /// Addresses that identity providers publish in their metadata.
    published_addresses: Arc<ArcSwap<BTreeMap<ConnectorId, Arc<[String]>>>>,
}

impl CurrentFederation {
    /// Creates a handle to `federation`.
    pub fn new(federation: Federation) -> Self {
        Self {
            federation: Arc::new(ArcSwap::from_pointee(federation)),
            published_addresses: Arc::default(),
        }
    }

    /// Returns an immutable snapshot. Two calls may return different snapshots.
    pub fn load(&self) -> Arc<Federation> {
        self.federation.load_full()
    }

    /// Replaces the federation for all later calls of [`Self::load`], except its registered clients.
    pub fn replace(&self, next: Federation) {
        self.federation
            .rcu(|current| next.clone().with_registered(Arc::clone(current.registered())));
    }

    /// Replaces the registered clients.
    pub fn replace_registered(&self, registered: &Arc<RegisteredClients>) {
        self.federation
            .rcu(|current| Federation::clone(current).with_registered(Arc::clone(registered)));
    }

    /// Returns the addresses of each identity provider: those of its connector's file, and those of
    /// its metadata once they have been fetched.
    pub fn identity_provider_addresses(&self) -> Vec<String> {
        let (federation, published) = (self.load(), self.published_addresses.load());
        let connectors = federation.connectors().iter();
        connectors
            .flat_map(|(id, connector)| {
                connector
                    .addresses
                    .iter()
                    .chain(published.get(id).into_iter().flat_map(|addresses| addresses.iter()))
            })
            .cloned()
            .collect()
    }

    /// Sets the addresses of an identity provider's metadata. Costs almost nothing with those that
    /// were set last, since each call of a connector sets them.
    pub fn set_published_addresses(&self, id: &ConnectorId, addresses: Arc<[String]>) {
        let published = self.published_addresses.load();
        let is_same = |current: &Arc<[String]>| Arc::ptr_eq(current, &addresses);
        if published.get(id).map_or(addresses.is_empty(), is_same) {
            return;
        }
        self.published_addresses.rcu(|current| {
            let mut next = BTreeMap::clone(current);
            next.insert(id.clone(), Arc::clone(&addresses));
            next
        });
    }
}

impl From<Federation> for CurrentFederation {
    fn from(federation: Federation) -> Self {
        Self::new(federation)
    }
}
