//! Threads that own one session each, and one bounded queue of calls for all of them.
//!
//! They are no threads of tokio: a call that never returns would keep a runtime from ending.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use super::session::{Operation, SessionError, TokenSession};
use super::token::{Pkcs11ModuleError, SessionAccess, SharedToken};
use crate::ids::Secret;
use crate::token::key_device::KeyDeviceError;

/// Calls that may wait, for each session.
const QUEUED_CALLS_PER_SESSION: usize = 16;

type CallResult = Result<Secret<Vec<u8>>, KeyDeviceError>;

struct Call {
    operation: Operation,
    reply: oneshot::Sender<CallResult>,
}

/// The queue to the session threads, which end when it is dropped.
pub(super) struct SessionPool {
    calls: SyncSender<Call>,
}

impl SessionPool {
    /// Starts the threads. They connect at their first call.
    ///
    /// # Errors
    /// `Threads`.
    pub fn start(token: &SharedToken, sessions: usize) -> Result<Self, Pkcs11ModuleError> {
        let (calls, queue) = sync_channel(sessions.saturating_mul(QUEUED_CALLS_PER_SESSION));
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..sessions {
            let (token, queue) = (Arc::clone(token), Arc::clone(&queue));
            thread::Builder::new()
                .name(format!("pkcs11-{number}"))
                .spawn(move || serve_calls(&token, &queue))
                .map_err(Pkcs11ModuleError::Threads)?;
        }
        Ok(Self { calls })
    }

    /// Queues a call. Dropping the receiver cancels a call that has not begun.
    ///
    /// # Errors
    /// `Busy` if the queue is full.
    pub fn call(
        &self,
        operation: Operation,
    ) -> Result<oneshot::Receiver<CallResult>, KeyDeviceError> {
        let (reply, answer) = oneshot::channel();
        match self.calls.try_send(Call { operation, reply }) {
            Ok(()) => Ok(answer),
            Err(TrySendError::Full(_)) => Err(KeyDeviceError::Busy),
            Err(TrySendError::Disconnected(_)) => {
                Err(KeyDeviceError::Unavailable("its threads have ended".to_owned()))
            }
        }
    }
}

fn serve_calls(token: &SharedToken, queue: &Mutex<Receiver<Call>>) {
    let mut session = None;
    loop {
        // One thread waits for the next call, the others for the lock.
        let call = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Call { operation, reply }) = call else { return };
        if !reply.is_closed() {
            // The caller may have gone meanwhile.
            let _gone = reply.send(run(token, &mut session, &operation));
        }
    }
}

/// Runs an operation; once more in a new session if the first one is lost. All operations can be
/// repeated: none changes the token.
fn run(
    token: &SharedToken,
    session: &mut Option<TokenSession>,
    operation: &Operation,
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
    operation: &Operation,
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
