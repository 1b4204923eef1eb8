//! Holds the blocks that an operator has set on the running hub, beside those of the connectors'
//! files.
//!
//! Responsible for the set of blocks, and for applying each change before it is confirmed. Does not
//! depend on HTTP, or what a block does to a login: the gate reads the blocks at every step.

mod file;
mod store_sync;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;

pub use file::BlocksFileError;
use store_sync::SharedReadStatus;

use passerelle_federation::blocks::Block;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::SupportId;
use passerelle_store::Store;

/// Maximum number of blocks by operators. Every call of the gate scans them.
const MAX_BLOCKS: usize = 500;

/// A block set by an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorBlock {
    /// 12 characters; used to lift it.
    pub id: String,
    pub set_at: Timestamp,
    pub block: Block,
}

/// The operators' blocks: a handle, cheap to clone.
#[derive(Clone)]
pub struct Blocks(Arc<Inner>);

struct Inner {
    env: Env,
    current: ArcSwap<BlockSet>,
    path: PathBuf,
    /// Held while a change is read, applied and written, so that no concurrent change is lost in
    /// memory or in the file.
    write_lock: Mutex<()>,
    /// Set if several hubs share the blocks.
    store: OnceLock<Arc<dyn Store>>,
    read_status: Mutex<SharedReadStatus>,
}

/// The blocks as this hub knows them.
#[derive(Default)]
struct BlockSet {
    /// Increases with each shared change; 0 for blocks from the file, or of a hub that shares no
    /// store.
    revision: u64,
    blocks: Arc<Vec<OperatorBlock>>,
}

/// Whether a change outlives this process and reaches the other hubs. It is in force in any case.
#[derive(Debug)]
pub enum Persistence {
    Persisted,
    /// The file could not be written.
    NotPersisted(BlocksFileError),
}

/// Error returned when there are too many blocks.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("there are {MAX_BLOCKS} blocks already")]
pub struct TooManyBlocksError;

/// Error returned when a change is not confirmed.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum BlockUpdateError {
    #[error(transparent)]
    TooMany(#[from] TooManyBlocksError),
    /// The shared store can't be used. The change may have taken effect.
    #[error("{0}")]
    StoreUnavailable(String),
    /// The change may have taken effect.
    #[error("the change was interrupted")]
    Interrupted,
}

impl Blocks {
    /// Loads the blocks from `folder`. Nothing is written before a change.
    ///
    /// # Errors
    /// [`BlocksFileError`] if the file exists and can't be read or parsed: a block must not get
    /// lost.
    pub fn load(folder: &Path, env: &Env) -> Result<Self, BlocksFileError> {
        let path = folder.join(file::FILE_NAME);
        let blocks = file::read(&path)?;
        Ok(Self::new(blocks, path, env))
    }

    fn new(blocks: Vec<OperatorBlock>, path: PathBuf, env: &Env) -> Self {
        Self(Arc::new(Inner {
            env: env.clone(),
            current: ArcSwap::from_pointee(BlockSet { revision: 0, blocks: Arc::new(blocks) }),
            path,
            write_lock: Mutex::default(),
            store: OnceLock::new(),
            read_status: Mutex::default(),
        }))
    }

    /// Returns all blocks.
    pub fn all(&self) -> Arc<Vec<OperatorBlock>> {
        Arc::clone(&self.0.current.load().blocks)
    }

    /// Returns the time by which blocks start and end.
    pub fn now(&self) -> Timestamp {
        self.0.env.now()
    }

    /// Adds a block, which is in force when this returns. Waits for the disk or the store.
    ///
    /// # Errors
    /// [`BlockUpdateError`].
    pub async fn add(
        &self,
        block: Block,
    ) -> Result<(OperatorBlock, Persistence), BlockUpdateError> {
        let added = OperatorBlock {
            id: SupportId::generate(self.0.env.entropy()).to_string(),
            set_at: self.now(),
            block,
        };
        let one = added.clone();
        let done = self
            .update(move |blocks| (blocks.len() < MAX_BLOCKS).then(|| blocks.push(one.clone())))
            .await?;
        done.map(|((), persistence)| (added, persistence))
            .ok_or(BlockUpdateError::TooMany(TooManyBlocksError))
    }

    /// Lifts a block, which has no effect any more when this returns. Waits for the disk or the
    /// store. `None`: no block has this id.
    ///
    /// # Errors
    /// [`BlockUpdateError`].
    pub async fn remove(
        &self,
        id: &str,
    ) -> Result<Option<(OperatorBlock, Persistence)>, BlockUpdateError> {
        let id = id.to_owned();
        self.update(move |blocks| {
            blocks.iter().position(|one| one.id == id).map(|at| blocks.remove(at))
        })
        .await
    }

    /// Applies a change; `None` if `change` returns `None`.
    async fn update<T: Send + 'static>(
        &self,
        change: impl Fn(&mut Vec<OperatorBlock>) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Option<(T, Persistence)>, BlockUpdateError> {
        if let Some(store) = self.0.store.get() {
            return self.update_shared(store.as_ref(), change).await;
        }
        let blocks = self.clone();
        tokio::task::spawn_blocking(move || blocks.update_local(change))
            .await
            .map_err(|_| BlockUpdateError::Interrupted)
    }

    fn update_local<T>(
        &self,
        change: impl FnOnce(&mut Vec<OperatorBlock>) -> Option<T>,
    ) -> Option<(T, Persistence)> {
        let inner = &self.0;
        let _alone = inner.write_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut blocks = Vec::clone(&self.all());
        let now = self.now();
        // Expired blocks have no effect, and the file need not hold them.
        blocks.retain(|one| !one.block.has_ended(now));
        let made = change(&mut blocks)?;
        let blocks = Arc::new(blocks);
        // The change takes effect before the write, because the disk may be slow or full.
        inner.current.store(Arc::new(BlockSet { revision: 0, blocks: Arc::clone(&blocks) }));
        let persistence = file::write(&inner.path, &blocks)
            .map_or_else(Persistence::NotPersisted, |()| Persistence::Persisted);
        Some((made, persistence))
    }
}

#[cfg(test)]
pub(crate) mod tests;
