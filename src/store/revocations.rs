//! L2 · Which families have been revoked, for a store that lives in one process.
//!
//! Owns: the order of admissions and revocations, and how long a revocation must be remembered. Must not know: records.
//! A revocation reaches what was admitted before it. It is kept for as long as any such record could live, also
//! beyond the `until` after which the family is open again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use crate::env::Timestamp;
use crate::store::Family;

/// Forgetting starts above this number, and then at each doubling of what had to stay.
const FEW: usize = 1024;

/// A record's place in the order of admissions and revocations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Born(u64);

#[derive(Default)]
pub struct Revocations {
    ledger: RwLock<Ledger>,
    order: AtomicU64,
    /// The latest expiry, in milliseconds, of any record that belongs to a family.
    horizon: AtomicU64,
}

#[derive(Default)]
struct Ledger {
    marks: HashMap<Family, Mark>,
    forget_above: usize,
}

struct Mark {
    at: Born,
    /// Nothing is admitted before.
    until: Timestamp,
    /// Nothing that this reaches lives longer.
    remember_until: Timestamp,
}

impl Revocations {
    /// The place of a record that joins these families now; `None` while one of them is closed.
    pub fn admit(
        &self,
        families: &[Family],
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Option<Born> {
        if families.is_empty() {
            return Some(Born::default());
        }
        // The place is drawn first: a revocation that comes between here and the record's insertion still reaches it.
        let born = self.draw();
        self.outlive(expires_at);
        let ledger = self.ledger.read().unwrap_or_else(PoisonError::into_inner);
        let closed =
            |family: &Family| ledger.marks.get(family).is_some_and(|mark| now < mark.until);
        (!families.iter().any(closed)).then_some(born)
    }

    /// Some record may now live until then.
    pub fn outlive(&self, expires_at: Timestamp) {
        self.horizon.fetch_max(expires_at.millis(), Ordering::SeqCst);
    }

    /// True if one of the families has been revoked since that place was drawn.
    pub fn reach(&self, families: &[Family], born: Born) -> bool {
        if families.is_empty() {
            return false;
        }
        let ledger = self.ledger.read().unwrap_or_else(PoisonError::into_inner);
        families.iter().any(|family| ledger.marks.get(family).is_some_and(|mark| born < mark.at))
    }

    pub fn revoke(&self, family: &Family, until: Timestamp, now: Timestamp) {
        let mut ledger = self.ledger.write().unwrap_or_else(PoisonError::into_inner);
        let remember_until = until.max(Timestamp::from_millis(self.horizon.load(Ordering::SeqCst)));
        let mark = Mark { at: self.draw(), until, remember_until };
        let mark = match ledger.marks.remove(family) {
            Some(old) => Mark {
                until: old.until.max(until),
                remember_until: old.remember_until.max(remember_until),
                ..mark
            },
            None => mark,
        };
        ledger.marks.insert(family.clone(), mark);
        ledger.forget(now);
    }

    /// Into which families nothing is admitted at that moment, and until when. What they reached is dead, and comes back
    /// nowhere: so their places in the order are no successor's business.
    pub fn closed(&self, now: Timestamp) -> Vec<(Family, Timestamp)> {
        let ledger = self.ledger.read().unwrap_or_else(PoisonError::into_inner);
        let closed = ledger.marks.iter().filter(|(_, mark)| now < mark.until);
        closed.map(|(family, mark)| (family.clone(), mark.until)).collect()
    }

    fn draw(&self) -> Born {
        Born(self.order.fetch_add(1, Ordering::SeqCst))
    }
}

impl Ledger {
    fn forget(&mut self, now: Timestamp) {
        if self.marks.len() > self.forget_above.max(FEW) {
            self.marks.retain(|_, mark| now < mark.remember_until);
            self.forget_above = self.marks.len().saturating_mul(2);
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
            revocations.revoke(&family(n), at(10), at(1));
        }
        revocations.revoke(&family(0), at(10), at(499));
        assert!(revocations.reach(&[family(0)], record), "its record lives until 500");
        for n in 2000..=4100 {
            revocations.revoke(&family(n), at(10), at(500));
        }
        assert!(revocations.ledger.read().unwrap().marks.len() < 1100);
    }
}
