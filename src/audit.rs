//! L1 · The audit log: one JSON line for each business event, chained by hashes and sealed by signatures.
//!
//! Owns: which events there are and what may stand in them ([`event`]), the chain and its seals ([`chain`]), what proves
//! them ([`verify`]), what a start knows of the log before it ([`last_seal`], [`descent`]), and the one thread that writes ([`writer`]) to a
//! file that it rotates ([`mod@file`]) or to standard output. Must not know: why something happened, or who reads it. docs/audit.md is its page.
//!
//! ```text
//! web, actor, grant, app ── Audit::tell(|| Event) ──▶ bounded queue ──▶ writer: seq, prev, line ──▶ sink
//!                                                                         └─ each minute: checkpoint, signed
//! ```
//!
//! Nobody who serves a request waits for a disk: [`Audit::tell`] puts the event into a queue and goes on. Off, it costs
//! one comparison, for the event is not even made.

pub mod chain;
pub mod descent;
pub mod event;
pub mod file;
pub mod last_seal;
pub mod memory;
mod queue;
pub mod recent;
pub mod report;
mod schema;
pub mod verify;
pub mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use event::{Event, Name};
pub use queue::WhenFull;
pub use recent::Recent;
pub use schema::{SCHEMA, schema, write_schema};
pub use writer::{WriterConfig, Sink};

use crate::protocol::catalogue::ErrorCode;
use queue::Shared;

/// Of the line's shape. A field that is added does not change it; one that changes its meaning, or goes, does.
pub const VERSION: u32 = 1;

/// Why the audit log can't begin.
#[derive(thiserror::Error, Debug)]
pub enum AuditFault {
    #[error(
        "{path}: the audit log can't be written there: {cause}; mend: let this user write to the folder (the setting `audit.path`)"
    )]
    Unwritable { path: String, cause: std::io::Error },
    #[error(
        "{path}: another process writes this audit log; mend: give each process a path of its own (the setting `audit.path`)"
    )]
    Taken { path: String },
    #[error(
        "{path}: the last lines are no audit log of this version, so its chain can't go on; \
         mend: move the file away and keep it, or name another one (the setting `audit.path`)"
    )]
    Foreign { path: String },
    #[error("the audit log's thread can't be started: {0}")]
    Thread(std::io::Error),
}

/// The way to the audit log: cheap to clone, and nothing where there is none.
#[derive(Clone, Default)]
pub struct Audit {
    log: Option<Arc<Shared>>,
    recent: Option<Arc<Recent>>,
}

impl Audit {
    /// Nothing is written, nothing is made to be written.
    #[must_use]
    pub const fn off() -> Self {
        Self { log: None, recent: None }
    }

    /// What is told of a login is remembered as well, whether or not there is a log.
    #[must_use]
    pub fn remembered(self, recent: &Arc<Recent>) -> Self {
        Self { recent: Some(Arc::clone(recent)), ..self }
    }

    /// Has an event written. It never waits: what finds no place is counted as lost, and the log says so.
    pub fn tell(&self, event: impl FnOnce() -> Event) {
        self.tell_some(|| Some(event()));
    }

    /// The same, where it is yet to be seen whether there is an event.
    pub fn tell_some(&self, event: impl FnOnce() -> Option<Event>) {
        if self.log.is_none() && self.recent.is_none() {
            return;
        }
        let Some(event) = event() else { return };
        if let Some(recent) = &self.recent {
            recent.note(&event);
        }
        if let Some(shared) = &self.log {
            shared.take(event);
        }
    }

    /// Remembered alone: what is no business event, and somebody may ask about.
    pub fn remember_some(&self, event: impl FnOnce() -> Option<Event>) {
        if let Some(recent) = &self.recent
            && let Some(event) = event()
        {
            recent.note(&event);
        }
    }

    /// Whether a login may begin: not without an audit log that can be written, where the operator wants it so.
    ///
    /// # Errors
    /// `AuditUnwritable`.
    pub fn admits(&self) -> Result<(), ErrorCode> {
        match &self.log {
            Some(shared) if !shared.admits() => Err(ErrorCode::AuditUnwritable),
            Some(_) | None => Ok(()),
        }
    }

    /// What an operator should mend, a line each.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        self.log.as_ref().map(|shared| shared.complaints()).unwrap_or_default()
    }

    /// Comes back when all that was told before is with the operating system, or can't be written now. It blocks.
    pub fn flush(&self) {
        if let Some(shared) = &self.log {
            shared.flush();
        }
    }

    /// The last words: `stop`, a checkpoint, and all of it on the disk. What is told afterwards is lost.
    pub async fn stop(&self) {
        if let Some(shared) = &self.log {
            shared.stop().await;
        }
    }
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.log.is_some() { "Audit(on)" } else { "Audit(off)" })
    }
}
