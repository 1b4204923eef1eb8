//! Threads that own one session each, and one bounded queue of calls for all of them.
//!
//! They are no threads of tokio: a call that never returns would keep a runtime from ending.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::session::{SessionError, TokenSession};
use super::token::{Pkcs11ModuleError, SessionAccess, SharedToken};
use crate::guarded_device::DeviceOperation;
use crate::key_device::KeyDeviceError;
use passerelle_protocol::ids::Secret;

/// Calls that may wait, for each session.
const QUEUED_CALLS_PER_SESSION: usize = 16;

type CallResult = Result<Secret<Vec<u8>>, KeyDeviceError>;

struct Call {
    operation: DeviceOperation,
    /// Sent when a session begins the call.
    begun: oneshot::Sender<()>,
    reply: oneshot::Sender<CallResult>,
}

/// How often the pool looks whether its threads have ended.
const END_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The queue to the session threads, which end when it is closed or dropped.
pub struct SessionPool {
    /// `None` after [`Self::close`].
    calls: Mutex<Option<SyncSender<Call>>>,
    /// Empty after [`Self::close`].
    threads: Mutex<Vec<JoinHandle<()>>>,
    queue_limit: Duration,
    /// Number of calls that may wait.
    max_waiting: usize,
    /// Number of calls that have ended.
    ended: Arc<AtomicU64>,
}

impl SessionPool {
    /// Starts the threads. They connect at their first call.
    ///
    /// # Errors
    /// `Threads`.
    pub(super) fn start(
        token: &SharedToken,
        sessions: usize,
        queue_limit: Duration,
    ) -> Result<Self, Pkcs11ModuleError> {
        let max_waiting = sessions.saturating_mul(QUEUED_CALLS_PER_SESSION);
        let (calls, queue) = sync_channel(max_waiting);
        let queue = Arc::new(Mutex::new(queue));
        let ended = Arc::new(AtomicU64::new(0));
        let start = |number| {
            let (token, queue, ended) = (Arc::clone(token), Arc::clone(&queue), Arc::clone(&ended));
            thread::Builder::new()
                .name(format!("pkcs11-{number}"))
                .spawn(move || serve_calls(&token, &queue, &ended))
                .map_err(Pkcs11ModuleError::Threads)
        };
        let threads = (0..sessions).map(start).collect::<Result<_, _>>()?;
        let (calls, threads) = (Mutex::new(Some(calls)), Mutex::new(threads));
        Ok(Self { calls, threads, queue_limit, max_waiting, ended })
    }

    /// Returns the number of calls that may wait.
    pub(super) const fn max_calls(&self) -> usize {
        self.max_waiting
    }

    /// Returns the number of calls that have ended.
    pub(super) fn ended_calls(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Returns how long a call may wait until it begins.
    pub(super) const fn queue_limit(&self) -> Duration {
        self.queue_limit
    }

    /// Takes no further calls, and waits until those under way have returned: at the end of the
    /// process the module's destructors run, and a thread inside the module could crash it. A
    /// module that does not return is left after the limit. Blocks.
    pub(super) fn close(&self, limit: Duration) {
        drop(self.calls.lock().unwrap_or_else(PoisonError::into_inner).take());
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let began = Instant::now();
        while !threads.iter().all(JoinHandle::is_finished) && began.elapsed() < limit {
            thread::sleep(END_POLL_INTERVAL);
        }
        for ended in threads.into_iter().filter(JoinHandle::is_finished) {
            // The module may have destructors for each thread, which still run.
            let _panicked = ended.join();
        }
    }

    /// Queues a call, and returns when it begins and when it ends. Dropping the first receiver
    /// cancels a call that has not begun.
    ///
    /// # Errors
    /// `Busy` if the queue is full.
    pub(super) fn call(
        &self,
        operation: DeviceOperation,
    ) -> Result<(oneshot::Receiver<()>, oneshot::Receiver<CallResult>), KeyDeviceError> {
        let ((begun, beginning), (reply, answer)) = (oneshot::channel(), oneshot::channel());
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = calls.as_ref().map(|calls| calls.try_send(Call { operation, begun, reply }));
        match sent {
            Some(Ok(())) => Ok((beginning, answer)),
            Some(Err(TrySendError::Full(_))) => Err(KeyDeviceError::Busy),
            Some(Err(TrySendError::Disconnected(_))) | None => {
                Err(KeyDeviceError::Unavailable("its threads have ended".to_owned()))
            }
        }
    }
}

impl Drop for SessionPool {
    /// Closes the pool, for commands that end as soon as they no longer need the token.
    fn drop(&mut self) {
        self.close(self.queue_limit);
    }
}

fn serve_calls(token: &SharedToken, queue: &Mutex<Receiver<Call>>, ended: &AtomicU64) {
    let mut session = None;
    loop {
        // One thread waits for the next call, the others for the lock.
        let call = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Call { operation, begun, reply }) = call else { return };
        if begun.send(()).is_ok() {
            // The caller may have gone meanwhile.
            let _gone = reply.send(run(token, &mut session, &operation));
            ended.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Runs an operation; once more in a new session if the first one is lost.
fn run(
    token: &SharedToken,
    session: &mut Option<TokenSession>,
    operation: &DeviceOperation,
) -> CallResult {
    let was_connected = session.is_some();
    match run_once(token, session, operation) {
        Err(SessionError::Lost(_)) if was_connected => {
            Ok(run_once(token, session, operation).map(Secret::new)?)
        }
        outcome => Ok(outcome.map(Secret::new)?),
    }
}

/// Runs an operation, and drops the session if it is lost.
fn run_once(
    token: &SharedToken,
    session: &mut Option<TokenSession>,
    operation: &DeviceOperation,
) -> Result<Vec<u8>, SessionError> {
    let mut connected = match session.take() {
        Some(connected) => connected,
        None => token.connect(SessionAccess::ReadOnly).map_err(|error| match error {
            KeyDeviceError::Unavailable(why) => SessionError::Lost(why),
            error => SessionError::Lost(error.to_string()),
        })?,
    };
    let outcome = connected.run(operation);
    if !matches!(outcome, Err(SessionError::Lost(_))) {
        *session = Some(connected);
    }
    outcome
}
