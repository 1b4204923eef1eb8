//! Counts the actors in memory, for the metrics.

use std::sync::Arc;

use passerelle_telemetry::Metrics;

/// Guard that counts an actor as live until it is dropped. A panic and a stopped arbiter drop it as
/// well, without a call of `stopped`.
pub(super) struct LiveActor {
    metrics: Arc<Metrics>,
    actor: &'static str,
    end: ActorEnd,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ActorEnd {
    /// The actor passivated.
    Passivated,
    /// The actor was stopped or panicked.
    Stopped,
}

impl LiveActor {
    /// Counts an actor as live.
    pub(crate) fn new(metrics: &Arc<Metrics>, actor: &'static str) -> Self {
        metrics.record_actor_activation(actor);
        Self { metrics: Arc::clone(metrics), actor, end: ActorEnd::Stopped }
    }

    /// Records that the actor will end by passivation.
    pub(crate) fn mark_passivated(&mut self) {
        self.end = ActorEnd::Passivated;
    }
}

impl Drop for LiveActor {
    fn drop(&mut self) {
        match self.end {
            ActorEnd::Passivated => self.metrics.record_actor_passivation(self.actor),
            ActorEnd::Stopped => self.metrics.record_actor_stop(self.actor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_that_panics_is_not_counted_as_live() {
        let metrics = Arc::new(Metrics::new().unwrap());
        let (held, mut asleep) =
            (LiveActor::new(&metrics, "login"), LiveActor::new(&metrics, "login"));
        asleep.mark_passivated();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _live = held;
            panic!("in a step");
        }));
        assert!(panicked.is_err());
        drop(asleep);
        let text = metrics.render();
        assert!(text.contains("passerelle_actors_active{actor=\"login\"} 0"), "{text}");
        assert!(text.contains("passerelle_actors_passivated_total{actor=\"login\"} 1"), "{text}");
    }
}
