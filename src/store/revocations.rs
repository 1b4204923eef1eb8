//! Tracks revoked families for the in-memory store.
//!
//! Responsible for the order of admissions and revocations, and for how long a revocation is kept.
//! A revocation applies to the records admitted before it. It is kept for as long as any such
//! record can live, also after `until`, when the family accepts new records again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use crate::env::Timestamp;
use crate::store::compact_name::CompactName;

/// Number of revocations above which expired ones are pruned. After pruning, the next threshold is
/// twice the number that remained.
const MIN_REVOCATIONS_TO_PRUNE: usize = 1024;

/// Position of a record in the order of admissions and revocations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct AdmissionSeq(u64);

/// Revoked families, and the order of admissions and revocations.
#[derive(Default)]
pub struct Revocations {
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
    seq: AdmissionSeq,
    /// Until then the family admits no record.
    until: Timestamp,
    /// Latest expiry of any record that this revocation applies to.
    keep_until: Timestamp,
}

impl Revocations {
    /// Returns the position of a record that joins these families now, or `None` if one is revoked.
    pub fn admit(
        &self,
        families: &[CompactName],
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Option<AdmissionSeq> {
        if families.is_empty() {
            return Some(AdmissionSeq::default());
        }
        // Drawn first: a revocation between here and the insertion of the record still applies to
        // it.
        let born = self.draw_seq();
        self.extend_latest_expiry(expires_at);
        let ledger = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let closed = |family: &CompactName| {
            ledger.revocations.get(family).is_some_and(|mark| now < mark.until)
        };
        (!families.iter().any(closed)).then_some(born)
    }

    /// Records that some record may live until `expires_at`.
    pub fn extend_latest_expiry(&self, expires_at: Timestamp) {
        self.latest_expiry.fetch_max(expires_at.millis(), Ordering::SeqCst);
    }

    /// Returns whether one of the families was revoked after that position.
    pub fn is_revoked(&self, families: &[CompactName], born: AdmissionSeq) -> bool {
        if families.is_empty() {
            return false;
        }
        let ledger = self.table.read().unwrap_or_else(PoisonError::into_inner);
        families
            .iter()
            .any(|family| ledger.revocations.get(family).is_some_and(|mark| born < mark.seq))
    }

    /// Revokes a family; it admits no record until `until`.
    pub fn revoke(&self, family: CompactName, until: Timestamp, now: Timestamp) {
        let mut ledger = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let remember_until =
            until.max(Timestamp::from_millis(self.latest_expiry.load(Ordering::SeqCst)));
        let mark = Revocation { seq: self.draw_seq(), until, keep_until: remember_until };
        let mark = match ledger.revocations.remove(&family) {
            Some(old) => Revocation {
                until: old.until.max(until),
                keep_until: old.keep_until.max(remember_until),
                ..mark
            },
            None => mark,
        };
        ledger.revocations.insert(family, mark);
        ledger.prune(now);
    }

    /// Returns the families that admit no record at `now`, and until when. A snapshot needs no
    /// positions: it does not contain the revoked records.
    pub fn closed_families(&self, now: Timestamp) -> Vec<(CompactName, Timestamp)> {
        let ledger = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let closed = ledger.revocations.iter().filter(|(_, mark)| now < mark.until);
        closed.map(|(family, mark)| (family.clone(), mark.until)).collect()
    }

    fn draw_seq(&self) -> AdmissionSeq {
        AdmissionSeq(self.next_seq.fetch_add(1, Ordering::SeqCst))
    }
}

impl RevocationTable {
    fn prune(&mut self, now: Timestamp) {
        if self.revocations.len() > self.prune_above.max(MIN_REVOCATIONS_TO_PRUNE) {
            self.revocations.retain(|_, mark| now < mark.keep_until);
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
        let family = |n: u64| CompactName::from(n.to_string().as_str());
        let record = revocations.admit(&[family(0)], at(500), at(1)).unwrap();
        for n in 0..=1024 {
            revocations.revoke(family(n), at(10), at(1));
        }
        revocations.revoke(family(0), at(10), at(499));
        assert!(revocations.is_revoked(&[family(0)], record), "its record lives until 500");
        for n in 2000..=4100 {
            revocations.revoke(family(n), at(10), at(500));
        }
        assert!(revocations.table.read().unwrap().revocations.len() < 1100);
    }
}
