//! L2 · The store of a single process, over moka (architecture 5).
//!
//! Owns: atomic verbs in memory, admission, the freeing of memory, what a successor is told. Must not know: what a record
//! means.
//! Nothing here is decided by moka's clock: a record is gone by its own `expires_at` and the `now` of the verb. moka's
//! time to live only frees memory: a minute later, or at the earlier end of a record that was never read.

mod janitor;
pub mod keeping;
mod shelves;
pub mod snapshot;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use async_trait::async_trait;
use moka::ops::compute::Op;

use crate::env::Timestamp;
use crate::store::revocations::{Born, Revocations};
use crate::store::{
    Capacities, Draft, Family, Key, Kind, Loaded, Reach, Record, Replaced, Store, StoreFault,
    Taken, Usage, Version,
};

use janitor::Janitor;
use shelves::{Pool, Shelves, Slot, State, kept_for};
use snapshot::Entry;

/// A full store that found too few dead records looks again only after this, so that refusing stays cheap in a flood.
const SWEEP_PERIOD: Duration = Duration::from_secs(1);
/// One sweep frees no more than this: somebody waits for it.
const SWEEP_BATCH: usize = 256;

/// Records in this process's memory: fast, and gone with the process unless a successor is told.
pub struct MemoryStore {
    /// Held by every verb that changes something, for as long as it does.
    gate: RwLock<Gate>,
    shelves: Arc<Shelves>,
    revocations: Revocations,
    janitor: Janitor,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    Closed,
}

/// What a store has taken up of its predecessor's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Restored {
    pub records: usize,
    /// Expired since.
    pub expired: usize,
    /// Found no place: the capacities are smaller than they were.
    pub left_out: usize,
}

impl MemoryStore {
    /// An empty store, and the thread that frees its memory until the store is dropped.
    #[must_use]
    pub fn new(capacities: Capacities) -> Self {
        let shelves = Arc::new(Shelves::new(capacities));
        let janitor = Janitor::start(Arc::clone(&shelves));
        Self {
            gate: RwLock::new(Gate::Open),
            shelves,
            revocations: Revocations::default(),
            janitor,
        }
    }

    /// From now on nothing changes here, whoever still tries: it is told that the store does not answer. Comes back once what
    /// was under way is done.
    pub fn close(&self) {
        *self.gate.write().unwrap_or_else(PoisonError::into_inner) = Gate::Closed;
    }

    fn enter(&self) -> Result<RwLockReadGuard<'_, Gate>, StoreFault> {
        let gate = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        match *gate {
            Gate::Open => Ok(gate),
            Gate::Closed => Err(StoreFault::Unavailable("the hub goes down".to_owned())),
        }
    }

    /// What a successor must know, revocations first. Of a closed store: what changes meanwhile may be told or not. Blocks
    /// are not among it: a hub that is alone has them in a file of their own.
    pub fn entries(&self, now: Timestamp) -> impl Iterator<Item = Entry> {
        let revoked = self
            .revocations
            .closed(now)
            .into_iter()
            .map(|(family, until)| Entry::Revoked { family, until });
        let shelves = self.shelves.iter().filter(|shelf| !shelf.kind.is_watched());
        let records = shelves.flat_map(move |shelf| {
            // What is written a moment ago may still wait to be found by an iteration.
            shelf.records.run_pending_tasks();
            let there = shelf.records.iter().filter(move |(_, slot)| !self.is_dead(slot, now));
            there.map(|(name, slot)| Entry::Record {
                key: Key { kind: shelf.kind, name: Arc::clone(&name) },
                state: slot.state,
                version: slot.version,
                value: slot.value,
                expires_at: slot.expires_at,
                families: slot.families,
            })
        });
        revoked.chain(records)
    }

    /// Takes up what a predecessor has told. For a new store, that nobody uses yet.
    pub fn restore(&self, entries: Vec<Entry>, now: Timestamp) -> Restored {
        let mut restored = Restored::default();
        for entry in entries {
            match entry {
                Entry::Revoked { family, until } if now < until => {
                    self.revocations.revoke(&family, until, now)
                }
                Entry::Revoked { .. } => {}
                Entry::Record { expires_at, .. } if expires_at <= now => restored.expired += 1,
                Entry::Record { key, state, version, value, expires_at, families } => {
                    let born = match state {
                        // Into a family that is closed nothing comes back, whatever was written.
                        State::Live => self.revocations.admit(&families, expires_at, now),
                        State::Tombstone => Some(Born::default()),
                    };
                    let Some(born) = born else { continue };
                    let shelf = self.shelves.of(key.kind);
                    if protects_from_replay(key.kind, state) {
                        shelf.occupy(value.len());
                    } else if !shelf.admit(value.len()) {
                        restored.left_out += 1;
                        continue;
                    }
                    let kept_for = kept_for(expires_at, now);
                    let unread_until = None;
                    let slot = Slot {
                        version,
                        state,
                        value,
                        expires_at,
                        unread_until,
                        kept_for,
                        families,
                        born,
                    };
                    shelf.records.insert(key.name, slot);
                    restored.records += 1;
                }
            }
        }
        restored
    }

    /// Makes room in a full pool by dropping some of what is dead at `now`; true if there may be room afterwards.
    fn sweep(&self, pool: &Pool, now: Timestamp) -> bool {
        // Whoever comes while another sweeps is refused: waiting here would block a web worker.
        let Ok(mut last_exhausted) = pool.last_exhausted.try_lock() else { return false };
        if now.since(*last_exhausted) < SWEEP_PERIOD {
            return false;
        }
        let mut freed = 0;
        for shelf in self.shelves.iter().filter(|shelf| std::ptr::eq(&raw const *shelf.pool, pool))
        {
            let dead = shelf.records.iter().filter(|(_, slot)| self.is_dead(slot, now));
            for (name, _) in dead.take(SWEEP_BATCH - freed) {
                shelf.compute(&name, |found| match found {
                    Some(slot) if self.is_dead(&slot, now) => Op::Remove,
                    _ => Op::Nop,
                });
                freed += 1;
            }
        }
        if freed < SWEEP_BATCH {
            *last_exhausted = now;
        }
        pool.has_room()
    }

    fn is_dead(&self, slot: &Slot, now: Timestamp) -> bool {
        slot.expires_at <= now
            || slot.unread_until.is_some_and(|end| end <= now)
            || (slot.state == State::Live && self.is_revoked(slot))
    }

    fn is_revoked(&self, slot: &Slot) -> bool {
        self.revocations.reach(&slot.families, slot.born)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("janitor", &self.janitor.thread.is_some())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn insert(&self, key: Key, draft: Draft, now: Timestamp) -> Result<Version, StoreFault> {
        let _open = self.enter()?;
        let shelf = self.shelves.of(key.kind);
        let born = self
            .revocations
            .admit(&draft.families, draft.expires_at, now)
            .ok_or(StoreFault::Revoked)?;
        let kept_for = match draft.unread_until {
            // Without the grace: the room for logins is counted by what lies here, and a flood's logins end so.
            Some(unread_until) if unread_until < draft.expires_at => unread_until.since(now),
            _ => kept_for(draft.expires_at, now),
        };
        let slot = Slot {
            version: Version(1),
            state: State::Live,
            value: draft.value.into(),
            expires_at: draft.expires_at,
            unread_until: draft.unread_until,
            kept_for,
            families: draft.families,
            born,
        };
        let attempt = || {
            let mut answer = Ok(Version(1));
            shelf.compute(&key.name, |found| {
                match found {
                    Some(there) if !self.is_dead(&there, now) => answer = Err(StoreFault::Exists),
                    Some(_) => shelf.occupy(slot.value.len()),
                    None if shelf.admit(slot.value.len()) => {}
                    None => answer = Err(StoreFault::Full),
                }
                if answer.is_ok() { Op::Put(slot.clone()) } else { Op::Nop }
            });
            answer
        };
        match attempt() {
            Err(StoreFault::Full) if self.sweep(&shelf.pool, now) => attempt(),
            answer => answer,
        }
    }

    async fn load(&self, key: &Key, now: Timestamp) -> Result<Option<Record>, StoreFault> {
        let slot = self.shelves.of(key.kind).records.get(&key.name);
        let live = slot.filter(|slot| slot.state == State::Live && !self.is_dead(slot, now));
        Ok(live.map(Slot::into_record))
    }

    async fn load_and_keep(&self, key: &Key, now: Timestamp) -> Result<Option<Loaded>, StoreFault> {
        let shelf = self.shelves.of(key.kind);
        let slot = shelf.records.get(&key.name);
        let Some(slot) = slot.filter(|slot| slot.state == State::Live && !self.is_dead(slot, now))
        else {
            return Ok(None);
        };
        if slot.unread_until.is_none() {
            return Ok(Some(Loaded { record: slot.into_record(), is_first: false }));
        }
        let _open = self.enter()?;
        let mut loaded = None;
        shelf.compute(&key.name, |found| match found {
            Some(old) if old.state == State::Live && !self.is_dead(&old, now) => {
                let is_first = old.unread_until.is_some();
                loaded = Some(Loaded { record: old.clone().into_record(), is_first });
                if !is_first {
                    return Op::Nop;
                }
                shelf.occupy(old.value.len());
                Op::Put(Slot { unread_until: None, kept_for: kept_for(old.expires_at, now), ..old })
            }
            _ => Op::Nop,
        });
        Ok(loaded)
    }

    async fn replace(
        &self,
        key: &Key,
        expected: Version,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Replaced, StoreFault> {
        let _open = self.enter()?;
        let shelf = self.shelves.of(key.kind);
        self.revocations.outlive(expires_at);
        let mut answer = Replaced::Gone;
        shelf.compute(&key.name, |found| match found {
            Some(old) if old.state == State::Live && !self.is_dead(&old, now) => {
                if old.version != expected {
                    answer = Replaced::Stale;
                    return Op::Nop;
                }
                let version = Version(old.version.0.saturating_add(1));
                answer = Replaced::Done(version);
                shelf.occupy(value.len());
                let kept_for = kept_for(expires_at, now);
                Op::Put(Slot {
                    version,
                    value: value.into(),
                    expires_at,
                    unread_until: None,
                    kept_for,
                    ..old
                })
            }
            _ => Op::Nop,
        });
        Ok(answer)
    }

    async fn take(
        &self,
        key: &Key,
        tombstone: Vec<u8>,
        tombstone_until: Timestamp,
        now: Timestamp,
    ) -> Result<Taken, StoreFault> {
        let _open = self.enter()?;
        let shelf = self.shelves.of(key.kind);
        let mut answer = Taken::Gone;
        // One computation, not a load and a removal: two redeemers of one code must not both win (RFC 6749, 4.1.2).
        // And not moka's `remove`, which also hands out what has expired.
        shelf.compute(&key.name, |found| match found {
            Some(old) if !self.is_dead(&old, now) => match old.state {
                State::Tombstone => {
                    answer = Taken::Spent(old.value);
                    Op::Nop
                }
                State::Live => {
                    let kept_for = kept_for(tombstone_until, now);
                    let left = Slot {
                        state: State::Tombstone,
                        value: tombstone.into(),
                        expires_at: tombstone_until,
                        unread_until: None,
                        kept_for,
                        ..old.clone()
                    };
                    answer = Taken::Won(old.into_record());
                    shelf.occupy(left.value.len());
                    Op::Put(left)
                }
            },
            _ => Op::Nop,
        });
        Ok(answer)
    }

    async fn remove(&self, key: &Key) -> Result<(), StoreFault> {
        let _open = self.enter()?;
        self.shelves.of(key.kind).compute(&key.name, |_| Op::Remove);
        Ok(())
    }

    async fn remove_version(
        &self,
        key: &Key,
        version: Version,
        now: Timestamp,
    ) -> Result<bool, StoreFault> {
        let _open = self.enter()?;
        let mut is_removed = false;
        self.shelves.of(key.kind).compute(&key.name, |found| match found {
            Some(slot) if slot.state == State::Live && slot.version == version => {
                is_removed = !self.is_dead(&slot, now);
                Op::Remove
            }
            _ => Op::Nop,
        });
        Ok(is_removed)
    }

    async fn revoke(
        &self,
        family: &Family,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreFault> {
        let _open = self.enter()?;
        self.revocations.revoke(family, until, now);
        Ok(())
    }

    fn reach(&self) -> Reach {
        Reach::Process
    }

    fn count(&self, kind: Kind) -> usize {
        self.shelves.of(kind).used()
    }

    fn usage(&self, kind: Kind) -> Usage {
        let shelf = self.shelves.of(kind);
        Usage { records: shelf.used(), bytes: shelf.pool.used_bytes() }
    }
}

/// Without these, what was used could be used again: they find a place also where there is none, and are gone in minutes.
fn protects_from_replay(kind: Kind, state: State) -> bool {
    state == State::Tombstone || kind == Kind::Assertion
}
