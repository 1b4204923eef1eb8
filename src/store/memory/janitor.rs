//! L2 · The thread that frees the memory of expired records.
//!
//! Responsible for when moka runs its pending tasks. Must not know: records.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::shelves::Shelves;

const JANITOR_PERIOD: Duration = Duration::from_secs(1);

/// The thread that lets moka free what has expired. Without it nothing is freed where there is no traffic, and a
/// hundred thousand records that expire at once would be freed on one user's time.
pub struct Janitor {
    pub thread: Option<JoinHandle<()>>,
    /// Dropped with the store: that ends the thread.
    _alive: Sender<()>,
}

impl Janitor {
    pub fn start(shelves: Arc<Shelves>) -> Self {
        let (alive, until_dropped) = mpsc::channel();
        let rounds = move || {
            while until_dropped.recv_timeout(JANITOR_PERIOD) == Err(RecvTimeoutError::Timeout) {
                shelves.iter().for_each(|shelf| shelf.records.run_pending_tasks());
            }
        };
        let thread = std::thread::Builder::new().name("store-janitor".into()).spawn(rounds);
        if let Err(error) = &thread {
            tracing::error!(%error, "no thread for the store's janitor: expired records are freed by traffic alone");
        }
        Self { thread: thread.ok(), _alive: alive }
    }
}
