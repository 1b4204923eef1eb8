//! Writes the audit log: one JSON line per business event, chained by hashes and signed
//! checkpoints.
//!
//! Responsible for the events and their fields ([`event`]), the chain ([`chain`]), its verification
//! ([`verify`]), the comparison at a start ([`last_checkpoint`], [`continuity`]), and the one
//! thread that writes ([`writer`]) to a rotated file ([`mod@file`]) or standard output. See
//! docs/audit.md.
//!
//! ```text
//! web, hub, grants, server ── Audit::record ──▶ bounded queue ──▶ writer: seq, prev, line ──▶ sink
//!                                               each minute: signed checkpoint ──▶
//! ```
//!
//! Does not know requests, pages, or who records. Begin with [`event`], then [`chain`].
//!
//! No request waits for a disk: [`Audit::record`] queues the event. Switched off, it costs one
//! comparison, because the event is not even built.

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod chain;
pub mod continuity;
pub mod event;
pub mod file;
pub mod last_checkpoint;
mod lines;
mod log_end;
pub mod merkle;
pub mod proof;
mod queue;
pub mod recent;
pub mod report;
mod schema;
pub mod search;
pub mod settings;
mod signed_checkpoint;
mod sink;
pub mod statistics;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod verify;
pub mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use event::{Event, EventKind, ExtensionEvent};
pub use queue::WhenFull;
pub use recent::RecentEvents;
pub use schema::{SCHEMA, rendered_schema, schema, write_schema};
pub use writer::{Sink, WriterConfig};

use passerelle_protocol::catalogue::ErrorCode;
use passerelle_telemetry::CheckFinding;
use queue::AuditQueue;

/// Version of the line format. It changes when a field is removed or changes its meaning.
pub const LINE_VERSION: u32 = 1;

/// Error that keeps the audit log from starting.
#[derive(thiserror::Error, Debug)]
pub enum AuditError {
    #[error(
        "{path}: the audit log can't be written there: {cause}; fix: let this user write to the folder (the setting `audit.path`)"
    )]
    Unwritable { path: String, cause: std::io::Error },
    #[error(
        "{path}: another process writes this audit log; fix: give each process its own path (the setting `audit.path`)"
    )]
    Locked { path: String },
    #[error(
        "{path}: the last lines are not audit log of this version, so its chain can't continue; \
         fix: move the file away and keep it, or name another one (the setting `audit.path`)"
    )]
    NotAnAuditLog { path: String },
    #[error("the audit log's thread can't be started: {0}")]
    Thread(std::io::Error),
}

/// Handle to the audit log and the recent events. Cheap to clone; does nothing if neither exists.
#[derive(Clone, Default)]
pub struct Audit {
    log: Option<Arc<AuditQueue>>,
    recent: Option<Arc<RecentEvents>>,
}

impl Audit {
    /// Returns a handle that does nothing.
    pub const fn off() -> Self {
        Self { log: None, recent: None }
    }

    /// Returns a handle that also keeps events in `recent`, with or without a log.
    #[must_use]
    pub fn with_recent(self, recent: &Arc<RecentEvents>) -> Self {
        Self { recent: Some(Arc::clone(recent)), ..self }
    }

    /// Queues an event for the log. Never waits: an event that finds no room is counted as lost.
    pub fn record(&self, event: impl FnOnce() -> Event) {
        self.record_if_some(|| Some(event()));
    }

    /// Like [`Self::record`], for an event that may not exist.
    pub fn record_if_some(&self, event: impl FnOnce() -> Option<Event>) {
        if self.log.is_none() && self.recent.is_none() {
            return;
        }
        let Some(event) = event() else { return };
        if let Some(recent) = &self.recent {
            recent.record(&event);
        }
        if let Some(queue) = &self.log {
            // A loss is counted.
            let _is_queued = queue.enqueue(event);
        }
    }

    /// Queues an event that an action requires, for the log alone. Returns whether it was queued for
    /// a log that can be written; otherwise the action must not happen.
    pub fn record_required(&self, event: Event) -> bool {
        self.log.as_ref().is_some_and(|log| log.is_writable() && log.enqueue(event))
    }

    /// Keeps an event only in the recent events: it is not a business event, but an operator may need
    /// it.
    pub fn remember_if_some(&self, event: impl FnOnce() -> Option<Event>) {
        if let Some(recent) = &self.recent
            && let Some(event) = event()
        {
            recent.record(&event);
        }
    }

    /// Checks whether a login may begin. With `when_full = "stop"` it needs a writable audit log.
    ///
    /// # Errors
    /// `AuditUnwritable`.
    pub fn check_admission(&self) -> Result<(), ErrorCode> {
        match &self.log {
            Some(queue) if !queue.admits_logins() => Err(ErrorCode::AuditUnwritable),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns why no login may begin, with the fix.
    pub fn admission_problem(&self) -> Option<CheckFinding> {
        self.log.as_ref().and_then(|queue| queue.admission_problem())
    }

    /// Returns the problems that an operator should solve, one line each.
    pub fn warnings(&self) -> Vec<CheckFinding> {
        self.log.as_ref().map(|queue| queue.warnings()).unwrap_or_default()
    }

    /// Blocks until all queued events are with the operating system, or can't be written.
    pub fn flush(&self) {
        if let Some(queue) = &self.log {
            queue.flush();
        }
    }

    /// Writes `stop` and a checkpoint, and syncs the log. Later events are lost.
    pub async fn stop(&self) {
        if let Some(queue) = &self.log {
            queue.stop().await;
        }
    }
}
