//! What hubs tell each other of their counts: once a second, all limits in one call, and nothing if nothing has happened.
//!
//! A hub decides by what it knows. Between two calls it does not know what others admit: docs/limits.md says by how much
//! a limit can be overshot. While the store is away each hub counts for itself alone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::cell::window;
use super::{Limit, Subject};
use crate::env::Env;
use crate::store::counters::{Batch, Counted, Counters, MOST_ADDITIONS};

const ROUND: Duration = Duration::from_secs(1);
/// Calls in one round; what is left is told in the next.
const MOST_CALLS: usize = 16;

/// One for the program, if its store is shared.
pub struct Exchange {
    limits: Vec<Arc<Limit>>,
    counters: Arc<dyn Counters>,
    hub: [u8; 8],
    env: Env,
    round: tokio::sync::Mutex<Round>,
    trouble: Mutex<Option<String>>,
}

#[derive(Default)]
struct Round {
    number: u64,
    /// Sent and not answered: sent again as it is, so that nothing is added twice.
    pending: Option<Pending>,
}

struct Pending {
    batch: Batch,
    /// Whose the additions are, in their order.
    limits: Vec<Arc<Limit>>,
}

impl Exchange {
    #[must_use]
    pub fn new(limits: Vec<Arc<Limit>>, counters: Arc<dyn Counters>, env: &Env) -> Self {
        limits.iter().for_each(|limit| limit.share());
        let [a, b, c, d, e, f, g, h, ..] = env.entropy().bits256();
        let hub = [a, b, c, d, e, f, g, h];
        Self {
            limits,
            counters,
            hub,
            env: env.clone(),
            round: tokio::sync::Mutex::default(),
            trouble: Mutex::default(),
        }
    }

    /// Tells and hears, for ever.
    pub async fn follow(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(ROUND);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.now().await;
        }
    }

    /// One round.
    pub async fn now(&self) {
        let mut round = self.round.lock().await;
        for _ in 0..MOST_CALLS {
            let window = window(self.env.now());
            // What was counted in a minute that is over is nobody's concern any more.
            let pending = round.pending.take().filter(|pending| pending.batch.window == window);
            let Some(pending) = pending.or_else(|| self.gather(&mut round, window)) else { return };
            match self.counters.add(&pending.batch).await {
                Ok(sums) => {
                    self.set_trouble(None);
                    for ((limit, (counted, _)), sum) in
                        pending.limits.iter().zip(&pending.batch.additions).zip(sums)
                    {
                        limit.hear(Subject(counted.subject), window, sum);
                    }
                }
                Err(fault) => {
                    self.set_trouble(Some(fault.to_string()));
                    round.pending = Some(pending);
                    return;
                }
            }
        }
    }

    fn gather(&self, round: &mut Round, window: u64) -> Option<Pending> {
        let (mut additions, mut limits) = (Vec::new(), Vec::new());
        for limit in &self.limits {
            for (Subject(subject), count) in limit.tell(window, MOST_ADDITIONS - additions.len()) {
                additions.push((Counted { limit: limit.name, subject }, count));
                limits.push(Arc::clone(limit));
            }
        }
        // After trouble an empty call finds out whether it is over.
        if additions.is_empty() && self.complaints().is_empty() {
            return None;
        }
        round.number += 1;
        Some(Pending {
            batch: Batch { window, hub: self.hub, number: round.number, additions },
            limits,
        })
    }

    fn set_trouble(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// What degrades the limits, with what to do.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let told = |trouble| {
            format!(
                "what other hubs count is not known ({trouble}), and each hub allows as much as all together may; \
                 mend: bring the store back (docs/redis.md)"
            )
        };
        trouble.map(told).into_iter().collect()
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Exchange")
    }
}

#[cfg(test)]
mod tests;
