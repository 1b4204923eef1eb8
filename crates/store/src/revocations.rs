//! Tracks revoked families for the in-memory store.
//!
//! Responsible for the order of admissions and revocations, and for how long a revocation is kept.
//! A revocation applies to the records admitted before it. It is kept for as long as any such
//! record can live, also after `until`, when the family accepts new records again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::Family;
use crate::compact_name::CompactName;
use passerelle_protocol::env::Timestamp;

/// Number of revocations above which expired ones are pruned. After pruning, the next threshold is
/// twice the number that remained.
const MIN_REVOCATIONS_TO_PRUNE: usize = 1024;

/// Position in the order of admissions and revocations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SequenceNumber(u64);

/// The families of a record, if it has any. Eight bytes, because there can be a million waiting
/// logins, which have none.
#[derive(Clone, Default)]
pub(crate) struct Membership(Option<Arc<JoinedFamilies>>);

struct JoinedFamilies {
    families: Box<[CompactName]>,
    admitted_at: SequenceNumber,
}

impl Membership {
    /// Returns the families.
    pub(crate) fn families(&self) -> &[CompactName] {
        self.0.as_ref().map_or(&[], |joined| &joined.families)
    }
}

/// Revoked families, and the order of admissions and revocations.
#[derive(Default)]
pub(crate) struct Revocations {
    table: RwLock<RevocationTable>,
    next_seq: AtomicU64,
    /// Latest expiry of any record that belongs to a family, in milliseconds.
    latest_expiry: AtomicU64,
}

#[derive(Default)]
struct RevocationTable {
    revocations: HashMap<CompactName, Revocation>,
    prune_above: usize,
}

struct Revocation {
    revoked_at: SequenceNumber,
    /// Until then the family admits no record.
    until: Timestamp,
    /// Latest expiry of any record that this revocation applies to.
    keep_until: Timestamp,
}

impl Revocations {
    /// Lets a record join families now. Returns `None` if one of them is revoked.
    pub(crate) fn admit(
        &self,
        families: &[Family],
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Option<Membership> {
        if families.is_empty() {
            return Some(Membership::default());
        }
        // Drawn first: a revocation between here and the insertion of the record still applies to
        // it.
        let admitted_at = self.draw_sequence_number();
        self.latest_expiry.fetch_max(expires_at.millis(), Ordering::SeqCst);
        let families: Box<[_]> = families.iter().map(CompactName::from).collect();
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let is_closed = |family: &CompactName| {
            table.revocations.get(family).is_some_and(|revocation| now < revocation.until)
        };
        let admitted = !families.iter().any(is_closed);
        admitted.then(|| Membership(Some(Arc::new(JoinedFamilies { families, admitted_at }))))
    }

    /// Records that the record of these families, if any, may live until `expires_at`.
    pub(crate) fn extend_latest_expiry(&self, membership: &Membership, expires_at: Timestamp) {
        if membership.0.is_some() {
            self.latest_expiry.fetch_max(expires_at.millis(), Ordering::SeqCst);
        }
    }

    /// Returns whether one of the families was revoked after the record joined it.
    pub(crate) fn is_revoked(&self, membership: &Membership) -> bool {
        let Some(joined) = &membership.0 else { return false };
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        joined.families.iter().any(|family| {
            let revocation = table.revocations.get(family);
            revocation.is_some_and(|revocation| joined.admitted_at < revocation.revoked_at)
        })
    }

    /// Revokes a family; it admits no record until `until`.
    pub(crate) fn revoke(&self, family: CompactName, until: Timestamp, now: Timestamp) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let keep_until =
            until.max(Timestamp::from_millis(self.latest_expiry.load(Ordering::SeqCst)));
        let revoked_at = self.draw_sequence_number();
        let revocation = match table.revocations.remove(&family) {
            Some(old) => Revocation {
                revoked_at,
                until: old.until.max(until),
                keep_until: old.keep_until.max(keep_until),
            },
            None => Revocation { revoked_at, until, keep_until },
        };
        table.revocations.insert(family, revocation);
        table.prune(now);
    }

    /// Returns the families that admit no record at `now`, and until when. A snapshot needs no
    /// positions: it does not contain the revoked records.
    pub(crate) fn closed_families(&self, now: Timestamp) -> Vec<(CompactName, Timestamp)> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let closed = table.revocations.iter().filter(|(_, revocation)| now < revocation.until);
        closed.map(|(family, revocation)| (family.clone(), revocation.until)).collect()
    }

    fn draw_sequence_number(&self) -> SequenceNumber {
        SequenceNumber(self.next_seq.fetch_add(1, Ordering::SeqCst))
    }
}

impl RevocationTable {
    fn prune(&mut self, now: Timestamp) {
        if self.revocations.len() > self.prune_above.max(MIN_REVOCATIONS_TO_PRUNE) {
            self.revocations.retain(|_, revocation| now < revocation.keep_until);
            self.prune_above = self.revocations.len().saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    #[test]
    fn old_revocations_are_forgotten_and_young_ones_are_not() {
        let revocations = Revocations::default();
        let family = |n: u64| Family(n.to_string().into());
        let record = revocations.admit(&[family(0)], at(500), at(1)).unwrap();
        for n in 0..=1024 {
            revocations.revoke((&family(n)).into(), at(10), at(1));
        }
        revocations.revoke((&family(0)).into(), at(10), at(499));
        assert!(revocations.is_revoked(&record), "its record lives until 500");
        for n in 2000..=4100 {
            revocations.revoke((&family(n)).into(), at(10), at(500));
        }
        assert!(revocations.table.read().unwrap().revocations.len() < 1100);
    }

    #[test]
    fn a_revocation_is_kept_for_the_lifetime_of_records_with_families_alone() {
        let revocations = Revocations::default();
        let family = Family("a".into());
        let kept_until = |n: u64| {
            let name = CompactName::from(&Family(n.to_string().into()));
            revocations.revoke(name.clone(), at(10), at(1));
            revocations.table.read().unwrap().revocations[&name].keep_until
        };
        revocations.extend_latest_expiry(&Membership::default(), at(900));
        assert_eq!(kept_until(1), at(10));
        let record = revocations.admit(&[family], at(500), at(1)).unwrap();
        assert_eq!(kept_until(2), at(500));
        revocations.extend_latest_expiry(&record, at(700));
        assert_eq!(kept_until(3), at(700));
    }
}
