//! The federation that counts at this moment. Whoever decides takes one snapshot and decides by it alone.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::Federation;

/// A handle on the federation as it is now. Cheap to clone; all clones see the same switch, at once.
#[derive(Clone)]
pub struct Current(Arc<ArcSwap<Federation>>);

impl Current {
    #[must_use]
    pub fn new(federation: Federation) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(federation)))
    }

    /// The snapshot of this moment: whole, and never changed under its holder. Two calls may give two.
    #[must_use]
    pub fn load(&self) -> Arc<Federation> {
        self.0.load_full()
    }

    /// From now on everyone who asks gets `next`.
    pub fn switch(&self, next: Federation) {
        self.0.store(Arc::new(next));
    }
}

impl From<Federation> for Current {
    fn from(federation: Federation) -> Self {
        Self::new(federation)
    }
}

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.load().fmt(f)
    }
}
