//! L3 · Whether an actor is in memory, as the metrics tell it.

use std::sync::Arc;

use crate::telemetry::Metrics;

/// Counts an actor as live until it is dropped, which a panic and a stopped arbiter do as well: those call no `stopped`.
pub(super) struct Live {
    metrics: Arc<Metrics>,
    actor: &'static str,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It gave its memory back in peace.
    Asleep,
    /// It was cut off.
    Cut,
}

impl Live {
    pub fn new(metrics: &Arc<Metrics>, actor: &'static str) -> Self {
        metrics.actor_activated(actor);
        Self { metrics: Arc::clone(metrics), actor, end: End::Cut }
    }

    /// From now on its end is no accident.
    pub fn falls_asleep(&mut self) {
        self.end = End::Asleep;
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        match self.end {
            End::Asleep => self.metrics.actor_passivated(self.actor),
            End::Cut => self.metrics.actor_stopped(self.actor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Timestamp;

    #[test]
    fn an_actor_that_panics_is_not_counted_as_live() {
        let metrics = Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap());
        let (held, mut asleep) = (Live::new(&metrics, "login"), Live::new(&metrics, "login"));
        asleep.falls_asleep();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _live = held;
            panic!("in a step");
        }));
        assert!(panicked.is_err());
        drop(asleep);
        let text = metrics.render();
        assert!(text.contains("passerelle_actors_live{actor=\"login\"} 0"), "{text}");
        assert!(text.contains("passerelle_actors_passivated_total{actor=\"login\"} 1"), "{text}");
    }
}
