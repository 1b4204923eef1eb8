//! Limits how many login steps run at once.
//!
//! A slot is for the hub's own work. A step that waits for an identity provider, or behind another
//! step of its login, gives its slot up: a slow identity provider, and users who reload their
//! pages, take no slot from other logins. Each connector's limits and each login's queue bound how
//! many wait so.
//!
//! Does not depend on what a step is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use passerelle_protocol::catalogue::ErrorCode;

/// More than the steps that can ever run.
const ALL_PERMITS: u32 = u32::MAX;

/// Slots for login steps.
pub(super) struct StepAdmission {
    slots: Arc<Semaphore>,
    /// One permit per step until its end, with or without a slot.
    running: Arc<Semaphore>,
}

/// Permit of one step.
pub(super) struct StepPermit {
    slot: Mutex<Option<OwnedSemaphorePermit>>,
    _running: OwnedSemaphorePermit,
}

impl StepAdmission {
    /// Creates this many slots.
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(slots)),
            running: Arc::new(Semaphore::new(ALL_PERMITS as usize)),
        }
    }

    /// Admits a step.
    ///
    /// # Errors
    /// `Busy`, or `ShuttingDown` after [`Self::close`].
    pub(crate) fn admit(&self) -> Result<Arc<StepPermit>, ErrorCode> {
        let held = Arc::clone(&self.slots).try_acquire_owned().map_err(|error| match error {
            TryAcquireError::NoPermits => ErrorCode::Busy,
            TryAcquireError::Closed => ErrorCode::ShuttingDown,
        })?;
        let running =
            Arc::clone(&self.running).try_acquire_owned().map_err(|_| ErrorCode::ShuttingDown)?;
        Ok(Arc::new(StepPermit { slot: Mutex::new(Some(held)), _running: running }))
    }

    /// Admits no more steps, and waits up to `limit` for the running ones. Returns whether all have
    /// ended.
    pub(crate) async fn close(&self, limit: Duration) -> bool {
        let all_ended =
            tokio::time::timeout(limit, self.running.acquire_many(ALL_PERMITS)).await.is_ok();
        self.slots.close();
        self.running.close();
        all_ended
    }
}

impl StepPermit {
    /// Releases the slot while the step waits for another party. The step does not acquire it
    /// again: the connector's limits and the login's queue bound the number of such steps.
    pub(crate) fn release_slot(&self) {
        drop(self.slot.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_waiting_step_takes_no_slot_and_is_awaited_at_shutdown() {
        let admission = StepAdmission::new(1);
        let waiting = admission.admit().unwrap();
        assert_eq!(admission.admit().err(), Some(ErrorCode::Busy));
        waiting.release_slot();
        let working = admission.admit().unwrap();
        assert_eq!(admission.admit().err(), Some(ErrorCode::Busy));
        waiting.release_slot();
        assert_eq!(admission.admit().err(), Some(ErrorCode::Busy), "a slot was released twice");
        drop(working);
        let limit = Duration::from_secs(1);
        let (ended, ()) = tokio::join!(admission.close(limit), async {
            tokio::task::yield_now().await;
            assert_eq!(
                admission.admit().err(),
                Some(ErrorCode::ShuttingDown),
                "while the last steps end"
            );
            drop(waiting);
        });
        assert!(ended);
        assert_eq!(admission.admit().err(), Some(ErrorCode::ShuttingDown));
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_does_not_wait_for_ever() {
        let admission = StepAdmission::new(1);
        let hanging = admission.admit().unwrap();
        hanging.release_slot();
        assert!(!admission.close(Duration::from_secs(1)).await);
    }
}
