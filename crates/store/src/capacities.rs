//! Which kinds of records a store holds, and how many records and bytes of each.

use std::collections::BTreeMap;

use super::{RecordKind, Usage};

/// The kinds of records that a store holds, and the maximum number of records and bytes of each,
/// tombstones included. A store has no room for other kinds.
#[derive(Clone, Default, Debug)]
pub struct Capacities {
    kinds: Vec<&'static RecordKind>,
    pools: BTreeMap<&'static str, Usage>,
}

impl Capacities {
    /// Sets how many records of a kind and of those that share its capacity there may be, and
    /// gives them the bytes of as many average ones.
    #[must_use]
    pub fn with_records(self, kind: &'static RecordKind, records: usize) -> Self {
        self.with_usage(kind, kind.usage_of(records))
    }

    /// Sets how many records and bytes of a kind and of those that share its capacity there may
    /// be.
    #[must_use]
    pub fn with_usage(mut self, kind: &'static RecordKind, maximum: Usage) -> Self {
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
        self.pools.insert(kind.pool, maximum);
        self
    }

    /// Returns the capacity that applies to a kind.
    pub fn for_kind(&self, kind: &RecordKind) -> Usage {
        self.pools.get(kind.pool).copied().unwrap_or_default()
    }

    /// Returns the kinds.
    pub fn kinds(&self) -> &[&'static RecordKind] {
        &self.kinds
    }

    /// Returns the label of each capacity, with the kinds that share it.
    pub fn pools(
        &self,
    ) -> impl Iterator<Item = (&'static str, Usage, impl Iterator<Item = &'static RecordKind>)>
    {
        self.pools.iter().map(|(pool, maximum)| {
            let kinds = self.kinds.iter().copied().filter(|kind| kind.pool == *pool);
            (*pool, *maximum, kinds)
        })
    }
}
