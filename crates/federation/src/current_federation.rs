//! Shares the current federation. A decision takes one snapshot and uses only that.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::{Federation, RegisteredClients};

/// A handle to the current federation. Cheap to clone; all clones see a replacement immediately.
#[derive(Clone)]
pub struct CurrentFederation(Arc<ArcSwap<Federation>>);

impl CurrentFederation {
    /// Creates a handle to `federation`.
    #[must_use]
    pub fn new(federation: Federation) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(federation)))
    }

    /// Returns an immutable snapshot. Two calls may return different snapshots.
    #[must_use]
    pub fn load(&self) -> Arc<Federation> {
        self.0.load_full()
    }

    /// Replaces the federation for all later calls of [`Self::load`], except its registered clients.
    pub fn replace(&self, next: Federation) {
        self.0.rcu(|current| next.clone().with_registered(Arc::clone(current.registered())));
    }

    /// Replaces the registered clients.
    pub fn replace_registered(&self, registered: &Arc<RegisteredClients>) {
        self.0.rcu(|current| Federation::clone(current).with_registered(Arc::clone(registered)));
    }
}

impl From<Federation> for CurrentFederation {
    fn from(federation: Federation) -> Self {
        Self::new(federation)
    }
}
