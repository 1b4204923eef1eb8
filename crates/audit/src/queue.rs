//! Queues events for the writer's thread, and holds the state that both sides share.
//!
//! Responsible for never making a caller wait, and for which events are dropped when the queue
//! fills.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::oneshot;

use super::Event;
pub use super::settings::WhenFull;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_telemetry::{CheckFinding, Metrics};

/// Maximum number of queued events: those of a third of a second at full load.
pub(super) const QUEUE_CAPACITY: usize = 4096;
/// Number of queued events above which no new login begins, so that running ones find room.
const MAX_QUEUED_EVENTS_FOR_NEW_LOGINS: usize = QUEUE_CAPACITY / 2;
/// Number of queued events above which events of unauthenticated clients are dropped, so that a
/// flood of bad requests neither stops logins nor displaces their events.
const MAX_QUEUED_EVENTS_FOR_UNAUTHENTICATED: usize = QUEUE_CAPACITY / 4;
/// What is wrong if events wait for the disk.
const CROWDED: &str = "the audit log is written more slowly than events happen";

/// How to fix a log that can't be written, or not fast enough.
pub(super) const WRITE_FIX: &str = "free space on its disk, or correct its permissions; the hub then continues by itself (docs/runbooks.md). With audit.when_full = \"go_on\" logins continue without an audit log";
/// Maximum time that a shutdown waits for the disk.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Message to the writer's thread.
pub(super) enum Message {
    Record(Event, Timestamp),
    Flush(SyncSender<()>),
    Stop(oneshot::Sender<()>),
}

/// Sending end of the queue.
pub(super) struct AuditQueue {
    queue: SyncSender<Message>,
    env: Env,
    state: Arc<QueueState>,
}

/// State shared by callers and writer.
pub(super) struct QueueState {
    pub when_full: WhenFull,
    metrics: Arc<Metrics>,
    pub waiting: AtomicUsize,
    /// Lost events that no `events_lost` line reports yet.
    pub lost: AtomicU64,
    pub stopped: AtomicBool,
    /// Why the log can't be written now.
    pub write_error: ArcSwapOption<CheckFinding>,
    /// Why the last checkpoint could not be signed.
    pub signing_error: ArcSwapOption<CheckFinding>,
    /// Why the last checkpoint could not be saved outside of the log.
    pub save_error: ArcSwapOption<CheckFinding>,
    /// Mismatch between the log and its last checkpoint, found at the start.
    pub startup_finding: ArcSwapOption<CheckFinding>,
}

impl AuditQueue {
    /// Creates the queue. Returns both ends and the shared state.
    pub(super) fn new(
        env: &Env,
        metrics: &Arc<Metrics>,
        when_full: WhenFull,
    ) -> (Self, Receiver<Message>, Arc<QueueState>) {
        let (queue, messages) = sync_channel(QUEUE_CAPACITY);
        let state = Arc::new(QueueState {
            when_full,
            metrics: Arc::clone(metrics),
            waiting: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            write_error: ArcSwapOption::empty(),
            signing_error: ArcSwapOption::empty(),
            save_error: ArcSwapOption::empty(),
            startup_finding: ArcSwapOption::empty(),
        });
        (Self { queue, env: env.clone(), state: Arc::clone(&state) }, messages, state)
    }

    /// Queues an event, or counts it as lost. Returns whether it was queued.
    pub(super) fn enqueue(&self, event: Event) -> bool {
        if event.is_unauthenticated()
            && self.state.waiting.load(Ordering::Relaxed) >= MAX_QUEUED_EVENTS_FOR_UNAUTHENTICATED
        {
            self.state.count_lost();
            return false;
        }
        // Counted before it is queued, so that the writer's count never goes below zero.
        self.state.waiting.fetch_add(1, Ordering::Relaxed);
        match self.queue.try_send(Message::Record(event, self.env.now())) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.state.waiting.fetch_sub(1, Ordering::Relaxed);
                self.state.count_lost();
                false
            }
        }
    }

    /// Returns whether the last write succeeded.
    pub(super) fn is_writable(&self) -> bool {
        self.state.write_error.load().is_none()
    }

    /// Returns whether a new login may begin.
    pub(super) fn admits_logins(&self) -> bool {
        self.state.when_full == WhenFull::GoOn || (self.is_writable() && !self.is_crowded())
    }

    fn is_crowded(&self) -> bool {
        self.state.waiting.load(Ordering::Relaxed) > MAX_QUEUED_EVENTS_FOR_NEW_LOGINS
    }

    /// Returns why no new login may begin, with the fix.
    pub(super) fn admission_problem(&self) -> Option<CheckFinding> {
        if self.admits_logins() {
            return None;
        }
        Some(match self.state.write_error.load_full() {
            Some(error) => CheckFinding::no_login_admitted(&error.message, &error.fix),
            None => CheckFinding::no_login_admitted(CROWDED, WRITE_FIX),
        })
    }

    /// Returns the problems of the log.
    pub(super) fn warnings(&self) -> Vec<CheckFinding> {
        let crowded = self.is_crowded().then(|| CheckFinding::new(CROWDED, WRITE_FIX));
        let QueueState { startup_finding, write_error, signing_error, save_error, .. } =
            &*self.state;
        [startup_finding, write_error, signing_error, save_error]
            .into_iter()
            .filter_map(ArcSwapOption::load_full)
            .map(|finding| CheckFinding::clone(&finding))
            .chain(crowded)
            .collect()
    }

    /// Blocks until the writer has handled all earlier messages.
    pub(super) fn flush(&self) {
        let (done, is_done) = sync_channel(1);
        if self.queue.send(Message::Flush(done)).is_ok() {
            // An error means that the thread has ended.
            let _gone = is_done.recv();
        }
    }

    /// Stops the writer; waits at most [`STOP_TIMEOUT`].
    pub(super) async fn stop(&self) {
        let (done, is_done) = oneshot::channel();
        // A full queue means that the disk hangs.
        if self.queue.try_send(Message::Stop(done)).is_err()
            || tokio::time::timeout(STOP_TIMEOUT, is_done).await.is_err()
        {
            tracing::error!(
                "the audit log could not be completed: its last lines have no checkpoint"
            );
        }
    }
}

impl QueueState {
    /// Counts an event as lost.
    pub(super) fn count_lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        self.metrics.record_lost_audit_event();
    }
}

/// Guard that reports the death of the writer's thread.
pub(super) struct ThreadDeathGuard(pub Arc<QueueState>);

impl Drop for ThreadDeathGuard {
    fn drop(&mut self) {
        if !self.0.stopped.load(Ordering::SeqCst) {
            self.0.write_error.store(Some(Arc::new(CheckFinding::new(
                "the audit log's thread has died",
                "restart the hub",
            ))));
            tracing::error!(
                code = ErrorCode::AuditUnwritable.entry().code,
                "the audit log's thread has died"
            );
        }
    }
}
