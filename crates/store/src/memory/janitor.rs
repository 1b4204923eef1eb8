//! Frees the memory of expired records in a background thread.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use super::kind_cache::KindCache;
use crate::by_kind::ByKind;

const JANITOR_INTERVAL: Duration = Duration::from_secs(1);

/// Starts the thread that runs moka's pending tasks, until the returned value is dropped. Without
/// it, memory would stay allocated without traffic, and one request would free a hundred thousand
/// records that expire together.
pub(super) fn start_janitor(caches: Arc<ByKind<KindCache>>) -> Sender<()> {
    let (alive, until_dropped) = mpsc::channel();
    let rounds = move || {
        while until_dropped.recv_timeout(JANITOR_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            for cache in caches.iter() {
                cache.records.run_pending_tasks();
            }
        }
    };
    let thread = std::thread::Builder::new().name("store-janitor".into()).spawn(rounds);
    if let Err(error) = thread {
        tracing::error!(%error, "the store's janitor thread can't be started: only traffic frees expired records");
    }
    alive
}
