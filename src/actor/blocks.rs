//! The kill switches that an operator has set on the running hub, beside those of the connectors' files.
//!
//! Owns: which of them there are, and that a change is in force before anybody hears that it was made. Must not know:
//! HTTP, or what a block does to a login: the gate asks at every step, and keeps nothing of the answer.

mod file;
mod shared;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;

pub use file::BlocksFault;
use shared::Reading;

use crate::config::Block;
use crate::env::{Env, Timestamp};
use crate::ids::SupportId;
use crate::store::Store;

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
pub struct Blocks(Arc<Inner>);

struct Inner {
    env: Env,
    current: ArcSwap<Known>,
    path: PathBuf,
    /// Held over reading, changing and writing: of two changes at once none is lost, in memory or in the file.
    writing: Mutex<()>,
    /// Set where several hubs have the same blocks.
    store: OnceLock<Arc<dyn Store>>,
    reading: Mutex<Reading>,
}

/// The blocks as this hub knows them.
#[derive(Default)]
struct Known {
    /// Grows with each change that hubs share; 0: from the file, or alone.
    revision: u64,
    blocks: Arc<Vec<Commanded>>,
}

/// Whether a change outlives this process, and reaches the other hubs. It is in force in any case.
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

/// Why nothing has changed, as far as can be known.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum Unchanged {
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// The store that hubs share can't be asked.
    #[error("{0}")]
    Away(String),
    #[error("the change was interrupted")]
    Interrupted,
}

impl Blocks {
    /// Takes up what was kept in `folder`; nothing is written before something changes.
    ///
    /// # Errors
    /// The file is there and can't be read, or makes no sense: whom it keeps away must not slip in.
    pub fn load(folder: &Path, env: &Env) -> Result<Self, BlocksFault> {
        let path = folder.join(file::NAME);
        let kept = file::read(&path)?;
        Ok(Self::of(kept, path, env))
    }

    fn of(kept: Vec<Commanded>, path: PathBuf, env: &Env) -> Self {
        Self(Arc::new(Inner {
            env: env.clone(),
            current: ArcSwap::from_pointee(Known { revision: 0, blocks: Arc::new(kept) }),
            path,
            writing: Mutex::default(),
            store: OnceLock::new(),
            reading: Mutex::default(),
        }))
    }

    #[must_use]
    pub fn all(&self) -> Arc<Vec<Commanded>> {
        Arc::clone(&self.0.current.load().blocks)
    }

    /// The clock that blocks begin and end by.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.env.now()
    }

    /// In force when this returns. It waits for the disk, or for the store.
    ///
    /// # Errors
    /// Nothing has changed then.
    pub async fn add(&self, block: Block) -> Result<(Commanded, Survival), Unchanged> {
        let added = Commanded {
            id: SupportId::fresh(self.0.env.entropy()).to_string(),
            set_at: self.now(),
            block,
        };
        let one = added.clone();
        let done = self
            .change(move |blocks| (blocks.len() < MOST).then(|| blocks.push(one.clone())))
            .await?;
        done.map(|((), survival)| (added, survival)).ok_or(Unchanged::TooMany(TooMany))
    }

    /// Lifts a block; it has no effect any more when this returns. It waits for the disk, or for the store. `None`: there is
    /// none of this id.
    ///
    /// # Errors
    /// Nothing has changed then.
    pub async fn remove(&self, id: &str) -> Result<Option<(Commanded, Survival)>, Unchanged> {
        let id = id.to_owned();
        self.change(move |blocks| {
            blocks.iter().position(|one| one.id == id).map(|at| blocks.remove(at))
        })
        .await
    }

    /// `None`, where `change` makes none.
    async fn change<T: Send + 'static>(
        &self,
        change: impl Fn(&mut Vec<Commanded>) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Option<(T, Survival)>, Unchanged> {
        if let Some(store) = self.0.store.get() {
            return self.change_shared(store.as_ref(), change).await;
        }
        let blocks = self.clone();
        tokio::task::spawn_blocking(move || blocks.change_alone(change))
            .await
            .map_err(|_| Unchanged::Interrupted)
    }

    fn change_alone<T>(
        &self,
        change: impl FnOnce(&mut Vec<Commanded>) -> Option<T>,
    ) -> Option<(T, Survival)> {
        let inner = &self.0;
        let _alone = inner.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut blocks = Vec::clone(&self.all());
        let now = self.now();
        // What is over has no effect any more, and the file need not keep it.
        blocks.retain(|one| !one.block.is_over(now));
        let made = change(&mut blocks)?;
        let blocks = Arc::new(blocks);
        // First the effect, then the disk, which may be slow, or full.
        inner.current.store(Arc::new(Known { revision: 0, blocks: Arc::clone(&blocks) }));
        let survival =
            file::write(&inner.path, &blocks).map_or_else(Survival::Lost, |()| Survival::Kept);
        Some((made, survival))
    }
}

impl std::fmt::Debug for Blocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocks").field("path", &self.0.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests;
