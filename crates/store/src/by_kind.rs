//! Holds one value for each kind of record.

use std::collections::BTreeMap;

use super::{Capacities, RecordKind, Usage};

/// Stands for every kind that a store doesn't hold.
const UNLISTED: &RecordKind = &RecordKind::new("unlisted", b'?', "unlisted", 0);

/// One value for each kind of record, and one for all kinds that the store doesn't hold.
pub(crate) struct ByKind<T> {
    /// In the order of the capacities, which begin with what every login uses.
    values: Vec<(&'static RecordKind, T)>,
    unlisted: T,
}

impl<T> ByKind<T> {
    /// Makes the value of each kind.
    pub(crate) fn new(
        capacities: &Capacities,
        mut make: impl FnMut(&'static RecordKind) -> T,
    ) -> Self {
        let values = capacities.kinds().iter().map(|kind| (*kind, make(kind))).collect();
        Self { values, unlisted: make(UNLISTED) }
    }

    /// Makes the value of each capacity, which the kinds that share it have in common.
    pub(crate) fn for_pools(capacities: &Capacities, make: impl Fn(Usage) -> T) -> Self
    where
        T: Clone,
    {
        let mut pools = BTreeMap::new();
        Self::new(capacities, |kind| {
            pools.entry(kind.pool).or_insert_with(|| make(capacities.for_kind(kind))).clone()
        })
    }

    /// Returns the value of a kind.
    pub(crate) fn get(&self, kind: &RecordKind) -> &T {
        let found = self.values.iter().find(|(listed, _)| *listed == kind);
        found.map_or(&self.unlisted, |(_, value)| value)
    }

    /// Returns the kind that has this letter.
    pub(crate) fn kind_of_letter(&self, letter: u8) -> Option<&'static RecordKind> {
        self.values.iter().map(|(kind, _)| *kind).find(|kind| kind.letter == letter)
    }

    /// Iterates over the values of all kinds.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.values.iter().map(|(_, value)| value)
    }
}
