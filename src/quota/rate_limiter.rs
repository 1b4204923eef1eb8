//! One limit: so many in a minute for each of its subjects, however many subjects come.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::cell::RateWindow;
use super::{Over, Subject};
use crate::env::{Env, Timestamp};
use crate::telemetry::Metrics;

/// How often a table that gave little is looked through: whoever fills it must not make that costly.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(1);

/// Counts by subject, and says when it is too often.
pub struct Limit {
    /// In metrics, and on the shared store.
    pub name: &'static str,
    places: usize,
    env: Env,
    metrics: Option<Arc<Metrics>>,
    /// Whether anybody else wants to know.
    is_shared: AtomicBool,
    cells: Mutex<Cells>,
}

#[derive(Default)]
struct Cells {
    known: HashMap<Subject, RateWindow>,
    /// Shared by those who come when every place is taken by somebody who has had their share.
    crowd: Option<RateWindow>,
    /// Of whom others have not heard all.
    untold: Vec<Subject>,
    /// No sweep before: the last one gave little.
    sweep_after: Timestamp,
}

impl Limit {
    /// `places`: subjects that are known at once, 200 bytes each.
    #[must_use]
    pub fn new(name: &'static str, places: usize, env: &Env) -> Self {
        Self {
            name,
            places,
            env: env.clone(),
            metrics: None,
            is_shared: AtomicBool::new(false),
            cells: Mutex::default(),
        }
    }

    /// With what is turned away counted.
    #[must_use]
    pub fn counted(self, metrics: &Arc<Metrics>) -> Self {
        metrics.limited(self.name, 0);
        Self { metrics: Some(Arc::clone(metrics)), ..self }
    }

    /// One more of this subject's.
    ///
    /// # Errors
    /// It is one too many, and was not counted.
    pub fn take(&self, subject: Subject, most: NonZeroU32) -> Result<(), Over> {
        let taken = self.with(|cells, now| {
            let is_shared = self.is_shared.load(Ordering::Relaxed);
            let cell = cells.of(subject, (most, self.places), &self.env, now);
            cell.take(most, &self.env, now)?;
            if is_shared && !std::mem::replace(&mut cell.is_queued, true) {
                cells.untold.push(subject);
            }
            Ok(())
        });
        if let (Err(_), Some(metrics)) = (&taken, &self.metrics) {
            metrics.limited(self.name, 1);
        }
        taken
    }

    pub(super) fn share(&self) {
        self.is_shared.store(true, Ordering::Relaxed);
    }

    /// What others have not heard of, of `most` subjects; the others' turn is the next time.
    pub(super) fn tell(&self, window: u64, most: usize) -> Vec<(Subject, u32)> {
        self.with(|cells, _| {
            let rest = cells.untold.split_off(cells.untold.len().min(most));
            let now = std::mem::replace(&mut cells.untold, rest);
            now.into_iter()
                .filter_map(|subject| Some((subject, cells.known.get_mut(&subject)?.tell(window)?)))
                .collect()
        })
    }

    pub(super) fn hear(&self, subject: Subject, window: u64, sum: u64) {
        self.with(|cells, _| {
            if let Some(cell) = cells.known.get_mut(&subject) {
                cell.hear(window, sum);
            }
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut Cells, Timestamp) -> T) -> T {
        let now = self.env.now();
        act(&mut self.cells.lock().unwrap_or_else(PoisonError::into_inner), now)
    }
}

impl Cells {
    fn of(
        &mut self,
        subject: Subject,
        (most, places): (NonZeroU32, usize),
        env: &Env,
        now: Timestamp,
    ) -> &mut RateWindow {
        if self.known.len() >= places
            && !self.known.contains_key(&subject)
            && !self.make_room(places, now)
        {
            return self.crowd.get_or_insert_with(|| RateWindow::new(most, env, now));
        }
        self.known.entry(subject).or_insert_with(|| RateWindow::new(most, env, now))
    }

    /// Forgets who has not come for a minute; if that is too few, who has used the least, and never who has had their
    /// share: a flood of subjects would otherwise give it back to them.
    fn make_room(&mut self, places: usize, now: Timestamp) -> bool {
        let spared = self.sweep_after.since(now);
        // One that lies further ahead is of a clock that was set back.
        if !spared.is_zero() && spared <= BETWEEN_SWEEPS {
            return false;
        }
        self.known.retain(|_, cell| !cell.is_idle(now));
        let wanted = places.div_ceil(4);
        if places.saturating_sub(self.known.len()) < wanted {
            let light = self.known.iter().filter(|(_, cell)| !cell.is_used_up(now));
            let mut light: Vec<_> = light.map(|(subject, cell)| (cell.used(), *subject)).collect();
            light.sort_unstable_by_key(|(used, _)| *used);
            for (_, subject) in light.into_iter().take(wanted) {
                self.known.remove(&subject);
            }
        }
        let known = &self.known;
        self.untold.retain(|subject| known.contains_key(subject));
        let room = places.saturating_sub(self.known.len());
        if room < wanted {
            self.sweep_after = now + BETWEEN_SWEEPS;
        }
        room > 0
    }
}

impl std::fmt::Debug for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limit").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
