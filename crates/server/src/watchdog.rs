//! Checks that every worker thread still runs its event loop, for the watchdog of the service
//! manager.
//!
//! No other check notices a blocked thread: the listeners of the other threads still answer probes.

use std::sync::{Arc, Mutex, PoisonError};

use actix::Arbiter;
use futures_util::future::join_all;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

type Ping = oneshot::Sender<()>;

/// Heartbeat of the registered threads. Cheap to clone.
#[derive(Clone, Default, Debug)]
pub(super) struct Heartbeat(Arc<Mutex<Vec<mpsc::Sender<Ping>>>>);

impl Heartbeat {
    /// Creates a heartbeat with these threads registered.
    pub(crate) fn for_arbiters(arbiters: &[Arbiter]) -> Self {
        let heartbeat = Self::default();
        for arbiter in arbiters {
            let clone = heartbeat.clone();
            // A thread that has ended is not registered.
            let _alive = arbiter.spawn_fn(move || clone.register_current_thread());
        }
        heartbeat
    }

    /// Registers the current thread. Must be called inside an actix system.
    pub(crate) fn register_current_thread(&self) {
        // One ping at a time: a full channel means that the last ping is unanswered.
        let (ask, mut asked) = mpsc::channel::<Ping>(1);
        actix::spawn(async move {
            while let Some(question) = asked.recv().await {
                // The receiver may have timed out.
                let _given_up = question.send(());
            }
        });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(ask);
    }

    /// Returns true when every thread has answered, and false at once if a thread left the previous
    /// ping unanswered. A thread that newly hangs makes this wait: use a timeout. Ended threads are
    /// ignored.
    pub(crate) async fn all_responsive(&self) -> bool {
        let asked: Result<Vec<_>, ()> = {
            let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            threads.retain(|thread| !thread.is_closed());
            let asked = threads.iter().map(|thread| {
                let (question, answer) = oneshot::channel();
                match thread.try_send(question) {
                    Err(TrySendError::Full(_)) => Err(()),
                    Ok(()) | Err(TrySendError::Closed(_)) => Ok(answer),
                }
            });
            asked.collect()
        };
        match asked {
            Ok(answers) => {
                // An error means that the thread has ended.
                let _answers = join_all(answers).await;
                true
            }
            Err(()) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_thread_that_hangs_is_missed_and_one_that_has_ended_is_not() {
        actix::System::new().block_on(async {
            let arbiters = [Arbiter::new(), Arbiter::new(), Arbiter::new()];
            let heartbeat = Heartbeat::for_arbiters(&arbiters);
            let (up, is_up) = oneshot::channel();
            arbiters[2].spawn_fn(move || up.send(()).unwrap());
            is_up.await.unwrap();
            assert!(heartbeat.all_responsive().await);

            let (go_on, hanging) = channel::<()>();
            let (hangs, does_hang) = oneshot::channel();
            arbiters[1].spawn_fn(move || {
                hangs.send(()).unwrap();
                hanging.recv().unwrap();
            });
            does_hang.await.unwrap();
            let timeout = Duration::from_millis(1);
            assert!(
                tokio::time::timeout(timeout, heartbeat.all_responsive()).await.is_err(),
                "the blocked thread has not answered yet"
            );
            assert!(!heartbeat.all_responsive().await, "the previous ping is unanswered");

            go_on.send(()).unwrap();
            while !tokio::time::timeout(timeout, heartbeat.all_responsive()).await.unwrap_or(false)
            {
            }
            for arbiter in arbiters {
                arbiter.stop();
                arbiter.join().unwrap();
            }
            assert!(heartbeat.all_responsive().await);
        });
    }
}
