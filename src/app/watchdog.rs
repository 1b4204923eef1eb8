//! Whether each thread that does the hub's work still gets round to it: what a watchdog wants to know.
//!
//! A thread that hangs answers nobody, and nobody else notices: the listeners of the others still answer probes.

use std::sync::{Arc, Mutex, PoisonError};

use actix::Arbiter;
use futures_util::future::join_all;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

type Question = oneshot::Sender<()>;

/// Cheap to clone.
#[derive(Clone, Default, Debug)]
pub(super) struct Pulse(Arc<Mutex<Vec<mpsc::Sender<Question>>>>);

impl Pulse {
    /// Of these threads, and of those that [`beat_here`](Self::beat_here) adds.
    pub fn of(arbiters: &[Arbiter]) -> Self {
        let pulse = Self::default();
        for arbiter in arbiters {
            let beating = pulse.clone();
            // A thread that is gone already is somebody else's news.
            let _alive = arbiter.spawn_fn(move || beating.beat_here());
        }
        pulse
    }

    /// Has the current thread answer from now on. Must be called inside an actix system.
    pub fn beat_here(&self) {
        // One question at a time: a second one unanswered is an answer.
        let (ask, mut asked) = mpsc::channel::<Question>(1);
        actix::spawn(async move {
            while let Some(question) = asked.recv().await {
                // Who asked may have given up.
                let _given_up = question.send(());
            }
        });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(ask);
    }

    /// Comes back with true when every thread has answered; with false, at once, if one has left the last question. A
    /// thread that hangs for the first time keeps this waiting: give it a time limit. Threads that have ended don't count.
    pub async fn is_felt(&self) -> bool {
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
                // An error is a thread that has ended meanwhile.
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
            let pulse = Pulse::of(&arbiters);
            let (up, is_up) = oneshot::channel();
            arbiters[2].spawn_fn(move || up.send(()).unwrap());
            is_up.await.unwrap();
            assert!(pulse.is_felt().await);

            let (go_on, hanging) = channel::<()>();
            let (hangs, does_hang) = oneshot::channel();
            arbiters[1].spawn_fn(move || {
                hangs.send(()).unwrap();
                hanging.recv().unwrap();
            });
            does_hang.await.unwrap();
            let patience = Duration::from_millis(1);
            assert!(
                tokio::time::timeout(patience, pulse.is_felt()).await.is_err(),
                "it has not answered yet"
            );
            assert!(!pulse.is_felt().await, "it has left a question");

            go_on.send(()).unwrap();
            while !tokio::time::timeout(patience, pulse.is_felt()).await.unwrap_or(false) {}
            for arbiter in arbiters {
                arbiter.stop();
                arbiter.join().unwrap();
            }
            assert!(pulse.is_felt().await);
        });
    }
}
