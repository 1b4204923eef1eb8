//! How many login steps are worked on at once.
//!
//! Owns: the places, and the wait for those who hold one or have left it. Must not know: what a step is.
//!
//! A place is for the hub's own work. A step that waits for an identity provider, or behind another step of its login,
//! leaves its place: an identity provider that hangs, and people who reload their pages meanwhile, take no place from
//! the logins of others. How many may wait so is bounded by each connector's limits, and by the queue of each login.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use crate::protocol::catalogue::ErrorCode;

/// More steps than there will ever be under way.
const ALL: u32 = u32::MAX;

pub(super) struct Admission {
    places: Arc<Semaphore>,
    /// Every step to its end, with a place or without.
    under_way: Arc<Semaphore>,
}

/// One step's.
pub(super) struct Place {
    held: Mutex<Option<OwnedSemaphorePermit>>,
    _under_way: OwnedSemaphorePermit,
}

impl Admission {
    pub fn new(places: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            under_way: Arc::new(Semaphore::new(ALL as usize)),
        }
    }

    /// # Errors
    /// `Busy`, or `ShuttingDown` once nothing is admitted any more.
    pub fn enter(&self) -> Result<Arc<Place>, ErrorCode> {
        let held =
            Arc::clone(&self.places).try_acquire_owned().map_err(|refusal| match refusal {
                TryAcquireError::NoPermits => ErrorCode::Busy,
                TryAcquireError::Closed => ErrorCode::ShuttingDown,
            })?;
        let under_way =
            Arc::clone(&self.under_way).try_acquire_owned().map_err(|_| ErrorCode::ShuttingDown)?;
        Ok(Arc::new(Place { held: Mutex::new(Some(held)), _under_way: under_way }))
    }

    /// Admits nobody any more, and waits for those under way, `limit` at most. False if some still are.
    pub async fn close(&self, limit: Duration) -> bool {
        let all_ended = tokio::time::timeout(limit, self.under_way.acquire_many(ALL)).await.is_ok();
        self.places.close();
        self.under_way.close();
        all_ended
    }
}

impl Place {
    /// The step waits for somebody else, and takes nobody's place meanwhile. It does not need it back: what is left to do
    /// then is little.
    pub fn leave(&self) {
        drop(self.held.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Place")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_somebody_else_takes_no_place_and_is_waited_for_at_the_end() {
        let admission = Admission::new(1);
        let waiting = admission.enter().unwrap();
        assert_eq!(admission.enter().err(), Some(ErrorCode::Busy));
        waiting.leave();
        let working = admission.enter().unwrap();
        assert_eq!(admission.enter().err(), Some(ErrorCode::Busy));
        waiting.leave();
        assert_eq!(admission.enter().err(), Some(ErrorCode::Busy), "a place is left once");
        drop(working);
        let limit = Duration::from_secs(1);
        let (ended, ()) = tokio::join!(admission.close(limit), async {
            tokio::task::yield_now().await;
            assert_eq!(
                admission.enter().err(),
                Some(ErrorCode::ShuttingDown),
                "while the last ones end"
            );
            drop(waiting);
        });
        assert!(ended);
        assert_eq!(admission.enter().err(), Some(ErrorCode::ShuttingDown));
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_does_not_wait_for_ever() {
        let admission = Admission::new(1);
        let hanging = admission.enter().unwrap();
        hanging.leave();
        assert!(!admission.close(Duration::from_secs(1)).await);
    }
}
