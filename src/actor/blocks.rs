//! The kill switches that an operator has set on the running hub, beside those of the connectors' files.
//!
//! Owns: which of them there are, and that a change is in force before anybody hears that it was made. Must not know:
//! HTTP, or what a block does to a login: the gate asks at every step, and keeps nothing of the answer.

mod file;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

pub use file::BlocksFault;

use crate::config::Block;
use crate::env::{Env, Timestamp};
use crate::ids::SupportId;

/// More than any night needs; each is looked at whenever the gate is asked.
const MOST: usize = 500;

/// A block that was set by command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commanded {
    /// 12 characters, to lift it by.
    pub id: String,
    pub set_at: Timestamp,
    pub block: Block,
}

/// The hub's blocks by command: a handle, cheap to clone.
#[derive(Clone)]
pub struct Blocks(Arc<Shared>);

struct Shared {
    env: Env,
    current: ArcSwap<Vec<Commanded>>,
    path: PathBuf,
    /// Held over reading, changing and writing: of two changes at once none is lost, in memory or in the file.
    writing: Mutex<()>,
}

/// Whether a change outlives this process. It is in force in any case.
#[derive(Debug)]
pub enum Survival {
    Kept,
    /// The file could not be written.
    Lost(BlocksFault),
}

/// There are too many blocks already.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("there are {MOST} blocks already")]
pub struct TooMany;

impl Blocks {
    /// Takes up what was kept in `folder`; nothing is written before something changes.
    ///
    /// # Errors
    /// The file is there and can't be read, or makes no sense: whom it keeps away must not slip in.
    pub fn load(folder: &Path, env: &Env) -> Result<Self, BlocksFault> {
        let path = folder.join(file::NAME);
        let kept = file::read(&path)?;
        let shared = Shared { env: env.clone(), current: ArcSwap::from_pointee(kept), path, writing: Mutex::default() };
        Ok(Self(Arc::new(shared)))
    }

    #[must_use]
    pub fn all(&self) -> Arc<Vec<Commanded>> {
        self.0.current.load_full()
    }

    /// The clock that blocks begin and end by.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.env.now()
    }

    /// In force when this returns. It waits for the disk.
    ///
    /// # Errors
    /// `TooMany`; nothing has changed then.
    pub fn add(&self, block: Block) -> Result<(Commanded, Survival), TooMany> {
        let added = Commanded { id: SupportId::fresh(self.0.env.entropy()).to_string(), set_at: self.now(), block };
        let done = self.change(|blocks| (blocks.len() < MOST).then(|| blocks.push(added.clone())));
        done.map(|((), survival)| (added, survival)).ok_or(TooMany)
    }

    /// Lifts a block; it has no effect any more when this returns. It waits for the disk. `None`: there is none of this id.
    #[must_use]
    pub fn remove(&self, id: &str) -> Option<(Commanded, Survival)> {
        self.change(|blocks| blocks.iter().position(|one| one.id == id).map(|at| blocks.remove(at)))
    }

    /// `None`, where `change` makes none.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Commanded>) -> Option<T>) -> Option<(T, Survival)> {
        let shared = &self.0;
        let _alone = shared.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut blocks = Vec::clone(&shared.current.load());
        let now = self.now();
        // What is over has no effect any more, and the file need not keep it.
        blocks.retain(|one| !one.block.is_over(now));
        let made = change(&mut blocks)?;
        let blocks = Arc::new(blocks);
        // First the effect, then the disk, which may be slow, or full.
        shared.current.store(Arc::clone(&blocks));
        let survival = file::write(&shared.path, &blocks).map_or_else(Survival::Lost, |()| Survival::Kept);
        Some((made, survival))
    }
}

impl std::fmt::Debug for Blocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocks").field("path", &self.0.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
