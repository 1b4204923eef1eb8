//! The callers' side of the audit log: a bounded queue, and what both sides know of how it goes.
//!
//! Owns: that nobody waits here, and what happens at the queue's end. Must not know: lines, sinks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::oneshot;

use super::Event;
pub use crate::config::audit::WhenFull;
use crate::env::{Env, Timestamp};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::Metrics;

/// Events that may wait for the thread: a third of a second of a hub at its limit.
pub(super) const QUEUE: usize = 4096;
/// With more than this waiting no new login begins, so that those under way find a place.
const CROWDED: usize = QUEUE / 2;
/// With more than this waiting, what strangers bring about finds no place: a flood of bad requests neither stops logins nor
/// drives their events out.
const FLOODED: usize = QUEUE / 4;
/// The longest that going down waits for the disk.
const LAST_WORDS: Duration = Duration::from_secs(5);

pub(super) enum Message {
    Tell(Event, Timestamp),
    Flush(SyncSender<()>),
    Stop(oneshot::Sender<()>),
}

/// The callers' side.
pub(super) struct Shared {
    queue: SyncSender<Message>,
    env: Env,
    state: Arc<State>,
}

/// What both sides know.
pub(super) struct State {
    pub when_full: WhenFull,
    metrics: Arc<Metrics>,
    pub waiting: AtomicUsize,
    /// Not told in the log yet.
    pub lost: AtomicU64,
    pub stopped: AtomicBool,
    /// Why nothing can be written now.
    pub trouble: ArcSwapOption<String>,
    /// Why the last checkpoint is missing.
    pub unsealed: ArcSwapOption<String>,
    /// Why the last checkpoint is kept nowhere else.
    pub unkept: ArcSwapOption<String>,
    /// What the start has found wrong with the log.
    pub finding: ArcSwapOption<String>,
}

impl Shared {
    pub(super) fn new(
        env: &Env,
        metrics: &Arc<Metrics>,
        when_full: WhenFull,
    ) -> (Self, Receiver<Message>, Arc<State>) {
        let (queue, messages) = sync_channel(QUEUE);
        let state = Arc::new(State {
            when_full,
            metrics: Arc::clone(metrics),
            waiting: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            trouble: ArcSwapOption::empty(),
            unsealed: ArcSwapOption::empty(),
            unkept: ArcSwapOption::empty(),
            finding: ArcSwapOption::empty(),
        });
        (Self { queue, env: env.clone(), state: Arc::clone(&state) }, messages, state)
    }

    pub(super) fn take(&self, event: Event) {
        if event.is_strangers() && self.state.waiting.load(Ordering::Relaxed) >= FLOODED {
            return self.state.lose();
        }
        // Counted before it is there, so that the other side never counts below nothing.
        self.state.waiting.fetch_add(1, Ordering::Relaxed);
        match self.queue.try_send(Message::Tell(event, self.env.now())) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.state.waiting.fetch_sub(1, Ordering::Relaxed);
                self.state.lose();
            }
        }
    }

    pub(super) fn admits(&self) -> bool {
        let is_well = || {
            self.state.trouble.load().is_none()
                && self.state.waiting.load(Ordering::Relaxed) <= CROWDED
        };
        self.state.when_full == WhenFull::GoOn || is_well()
    }

    pub(super) fn complaints(&self) -> Vec<String> {
        let crowded = self.state.waiting.load(Ordering::Relaxed) > CROWDED;
        let crowded =
            crowded.then(|| "the audit log is written more slowly than events happen".to_owned());
        let told = |of: &ArcSwapOption<String>| of.load_full().map(|why| String::clone(&why));
        [
            told(&self.state.finding),
            told(&self.state.trouble),
            told(&self.state.unsealed),
            told(&self.state.unkept),
            crowded,
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    pub(super) fn flush(&self) {
        let (done, is_done) = sync_channel(1);
        if self.queue.send(Message::Flush(done)).is_ok() {
            // An error means that the thread has ended: there is nothing to wait for.
            let _gone = is_done.recv();
        }
    }

    pub(super) async fn stop(&self) {
        let (done, is_done) = oneshot::channel();
        // A queue that is full belongs to a disk that hangs.
        if self.queue.try_send(Message::Stop(done)).is_err()
            || tokio::time::timeout(LAST_WORDS, is_done).await.is_err()
        {
            tracing::error!(
                "the audit log could not be brought to its end: its last lines are not sealed"
            );
        }
    }
}

impl State {
    pub(super) fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        self.metrics.audit_lost();
    }
}

/// Says that the thread is gone, should it die.
pub(super) struct Alarm(pub Arc<State>);

impl Drop for Alarm {
    fn drop(&mut self) {
        if !self.0.stopped.load(Ordering::SeqCst) {
            self.0.trouble.store(Some(Arc::new(
                "the audit log's thread has died; restart the hub".to_owned(),
            )));
            tracing::error!(
                code = ErrorCode::AuditUnwritable.entry().code,
                "the audit log's thread has died"
            );
        }
    }
}
