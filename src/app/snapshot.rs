//! What this process's memory holds, taken from the process before and left to the one after (docs/deploying.md).

use std::sync::Arc;

use tokio::time::Instant;

use super::BuildFault;
use crate::config::Loaded;
use crate::config::model::MemoryConfig;
use crate::env::Env;
use crate::grant::Grants;
use crate::store::Reach;
use crate::store::memory::MemoryStore;
use crate::store::memory::keeping::{Found, Snapshots};

/// What a store knows of the time before its process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Memory {
    /// All that the process before it knew.
    Continued,
    /// Nothing.
    Empty,
}

/// The process that comes after this one.
pub(super) struct Successor {
    snapshots: Arc<Snapshots>,
    store: Arc<MemoryStore>,
    env: Env,
}

/// Takes up what the process before has left, where anything was left. A store of this process alone that begins empty knows
/// no client assertion that was used before.
///
/// # Errors
/// Those of `Successor::take_up`.
pub(super) fn take_up(successor: Option<&Successor>, grants: &Grants) -> Result<(), BuildFault> {
    let memory = successor.map_or(Ok(Memory::Empty), Successor::take_up)?;
    if grants.store.reach() == Reach::Process && memory == Memory::Empty {
        grants.assertion_room.forgot_before(grants.env.now());
    }
    Ok(())
}

impl Successor {
    /// # Errors
    /// No snapshot could be kept at the end.
    pub fn new(
        config: &MemoryConfig,
        loaded: &Loaded,
        store: &Arc<MemoryStore>,
        env: &Env,
    ) -> Result<Self, BuildFault> {
        Snapshots::examine(&config.snapshot)?;
        let snapshots = Snapshots::new(&config.snapshot, &loaded.store.seal_keys, &loaded.issuer);
        Ok(Self { snapshots: Arc::new(snapshots), store: Arc::clone(store), env: env.clone() })
    }

    /// Takes up what the process before has left, once nothing else can keep this one from starting, and before anybody is
    /// served. It waits for the disk.
    ///
    /// # Errors
    /// The snapshot would be taken up a second time. One that can't be opened is no fault: a hub does not stay away for the
    /// sessions it has lost.
    fn take_up(&self) -> Result<Memory, BuildFault> {
        let begun = Instant::now();
        let found = self.snapshots.load(&self.store, self.env.now())?;
        let memory =
            if matches!(found, Found::Taken { .. }) { Memory::Continued } else { Memory::Empty };
        match found {
            Found::Nothing => tracing::info!("there is no snapshot of the store; it is empty"),
            Found::Taken { restored, age } => {
                let (records, expired, left_out) =
                    (restored.records, restored.expired, restored.left_out);
                let (milliseconds, age_seconds) = (begun.elapsed().as_millis(), age.as_secs());
                tracing::info!(
                    records,
                    expired,
                    left_out,
                    age_seconds,
                    milliseconds,
                    "the store goes on from its snapshot"
                );
                if left_out > 0 {
                    tracing::warn!(
                        left_out,
                        "the snapshot held more records than [limits] admits; these are lost"
                    );
                }
            }
            Found::SetAside { why, lies } => tracing::error!(
                %why, set_aside = %lies.display(),
                "the snapshot of the store can't be used: logins and sessions of before are lost, and the store is empty"
            ),
        }
        Ok(memory)
    }

    /// Leaves everything to it; nothing is stored here any more. A failure is told and keeps nobody from going down.
    pub async fn tell(self) {
        let Self { snapshots, store, env } = self;
        let begun = Instant::now();
        let saving = tokio::task::spawn_blocking(move || snapshots.save(&store, &env));
        match saving.await.map_err(std::io::Error::from).and_then(|saved| saved) {
            Ok(saved) => {
                let (records, milliseconds) = (saved.written.records, begun.elapsed().as_millis());
                tracing::info!(
                    records,
                    bytes = saved.bytes,
                    milliseconds,
                    "the store is kept for the next start"
                );
                if saved.written.left_out > 0 {
                    tracing::error!(
                        left_out = saved.written.left_out,
                        "records were too large for the snapshot; these are lost"
                    );
                }
            }
            Err(error) => {
                tracing::error!(%error, "the snapshot of the store can't be written: its logins and sessions end with this process");
            }
        }
    }
}
