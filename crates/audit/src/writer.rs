//! Runs the one thread that writes the log: it numbers, chains and signs lines, and buffers those
//! that the sink does not take.
//!
//! Responsible for when checkpoints are due, and for completing a line that was begun, however
//! often the sink fails.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use tokio::sync::oneshot;

use super::chain::{CHECKPOINT_TYPE, ChainPosition, CheckpointClaims};
use super::last_checkpoint::{CheckpointStore, LastCheckpoint};
use super::merkle::MerkleTree;
use super::queue::{AuditQueue, Message, QUEUE_CAPACITY, QueueState, ThreadDeathGuard, WRITE_FIX};
pub use super::sink::{LogEnd, Sink};
use super::{Audit, AuditError, Event, EventKind, WhenFull};
use passerelle_jose::Signer;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_telemetry::{CheckFinding, Metrics};

/// Maximum bytes of lines that wait for a failing sink.
const MAX_PENDING_BYTES: usize = 4 << 20;
/// Maximum of these for events of unauthenticated clients, so that the rest is there for logins.
const MAX_UNAUTHENTICATED_PENDING_BYTES: usize = MAX_PENDING_BYTES / 4;
/// Interval between checkpoints.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(60);
/// Interval at which the thread checks the clock and retries a failing sink.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// Interval between attempts to save the last checkpoint. An unreachable store blocks for seconds.
const SAVE_RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Dependencies and settings of the writer.
pub struct WriterConfig {
    pub env: Env,
    pub signer: Arc<dyn Signer>,
    pub metrics: Arc<Metrics>,
    pub issuer: String,
    pub node: String,
    pub when_full: WhenFull,
    /// Path of the log; identifies its saved checkpoints.
    pub log: String,
    /// Places besides the log that save its last checkpoint.
    pub checkpoint_stores: Vec<Box<dyn CheckpointStore>>,
    /// Mismatch between the log and its last checkpoint, found at the start.
    pub startup_finding: Option<CheckFinding>,
    /// Time that the thread waits for more events, to write them at once. A crash loses this much.
    pub batch_delay: Duration,
}

/// Starts the thread. It first writes `begin`, the `start` event, and a checkpoint.
///
/// # Errors
/// `Thread`: the operating system can't start the thread.
pub fn start(
    sink: Box<dyn Sink>,
    found: LogEnd,
    begin: Event,
    mut config: WriterConfig,
) -> Result<Audit, AuditError> {
    let (queue, messages, state) = AuditQueue::new(&config.env, &config.metrics, config.when_full);
    state.startup_finding.store(config.startup_finding.take().map(Arc::new));
    config.metrics.init_audit();
    // Signing may call an HSM over the network; only this thread waits for it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(AuditError::Thread)?;
    let started_at = config.env.now();
    let mut writer = Writer {
        sink,
        chain: found.chain,
        inherited_leaves: found.tree.size(),
        tree: found.tree,
        pending: Vec::new(),
        checkpoint_at: started_at,
        checkpoint_seq: 0,
        unsaved_checkpoint: None,
        save_failed_at: None,
        unsynced: false,
        state,
        runtime,
        config,
    };
    if found.unfinished {
        // End the partial line. `start` has its hash, so it can't be changed afterwards.
        writer.pending.push(b'\n');
    }
    let run = move || {
        let alarm = ThreadDeathGuard(Arc::clone(&writer.state));
        let stopping = writer.run(&messages, &begin);
        // Close the sink before replying: another process may open it at once.
        drop((writer, alarm));
        if let Some(stopping) = stopping {
            // The caller may have stopped waiting.
            let _gone = stopping.send(());
        }
    };
    std::thread::Builder::new().name("audit".to_owned()).spawn(run).map_err(AuditError::Thread)?;
    Ok(Audit { log: Some(Arc::new(queue)), recent: None })
}

struct Writer {
    sink: Box<dyn Sink>,
    chain: ChainPosition,
    /// Tree of the lines that the next checkpoint covers.
    tree: MerkleTree,
    /// Leaves of the tree that this process found in the file.
    inherited_leaves: u64,
    /// Lines that the sink has not taken yet; the first one may be partial.
    pending: Vec<u8>,
    checkpoint_at: Timestamp,
    /// Line number of the last checkpoint.
    checkpoint_seq: u64,
    /// The last checkpoint, until it is saved outside of the log.
    unsaved_checkpoint: Option<LastCheckpoint>,
    save_failed_at: Option<Timestamp>,
    unsynced: bool,
    state: Arc<QueueState>,
    runtime: tokio::runtime::Runtime,
    config: WriterConfig,
}

impl Writer {
    /// Runs until a stop or until all handles are dropped. Returns the requester of the stop.
    fn run(&mut self, messages: &Receiver<Message>, begin: &Event) -> Option<oneshot::Sender<()>> {
        self.append(begin, self.config.env.now());
        self.write_checkpoint();
        self.write();
        self.sync();
        loop {
            let mut flush_requests = Vec::new();
            match messages.recv_timeout(RETRY_INTERVAL) {
                Ok(message) => {
                    if !self.config.batch_delay.is_zero() {
                        std::thread::sleep(self.config.batch_delay);
                    }
                    if let Some(stopping) = self.drain_queue(message, messages, &mut flush_requests)
                    {
                        self.finish();
                        return Some(stopping);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // All handles were dropped, as tests do: write what is queued, without `stop`.
                    self.write();
                    self.state.stopped.store(true, Ordering::SeqCst);
                    return None;
                }
            }
            if self.is_checkpoint_due() {
                self.write_checkpoint();
            }
            self.write();
            self.rotate();
            self.sink.maintain(self.config.env.now());
            if self.unsynced && self.pending.is_empty() {
                self.sync();
            } else if !self.unsynced && self.is_save_retry_due() {
                self.save_checkpoint();
            }
            for done in flush_requests {
                // The caller may have stopped waiting.
                let _gone = done.send(());
            }
        }
    }

    /// Handles up to a queue's length of messages. Returns the requester of a stop.
    fn drain_queue(
        &mut self,
        first: Message,
        messages: &Receiver<Message>,
        flush_requests: &mut Vec<SyncSender<()>>,
    ) -> Option<oneshot::Sender<()>> {
        for message in std::iter::once(first).chain(messages.try_iter()).take(QUEUE_CAPACITY) {
            match message {
                Message::Record(event, at) => {
                    self.state.waiting.fetch_sub(1, Ordering::Relaxed);
                    self.append(&event, at);
                }
                Message::Flush(done) => flush_requests.push(done),
                Message::Stop(done) => return Some(done),
            }
        }
        None
    }

    /// Appends an event to the chain, or counts it as lost if too many lines are pending.
    fn append(&mut self, event: &Event, at: Timestamp) {
        // After a sleep or a clock change: no line may be a minute after the checkpoint before it.
        if at >= self.checkpoint_at + CHECKPOINT_INTERVAL {
            self.write_checkpoint();
        }
        let room = if event.is_unauthenticated() {
            MAX_UNAUTHENTICATED_PENDING_BYTES
        } else {
            MAX_PENDING_BYTES
        };
        // Checkpoints always have room, or `verify` would report the lines after an outage.
        if event.kind != EventKind::Checkpoint && self.pending.len() > room {
            return self.state.count_lost();
        }
        let event = event.salted(self.config.env.entropy());
        self.tree.push(self.chain.append(&mut self.pending, &event, at, &self.config.node));
        self.config.metrics.record_audit_event(event.kind.as_str());
    }

    /// Returns whether a checkpoint is due. A clock that was set back makes it due at once.
    fn is_checkpoint_due(&self) -> bool {
        let now = self.config.env.now();
        now < self.checkpoint_at || now.since(self.checkpoint_at) >= CHECKPOINT_INTERVAL
    }

    /// Appends a checkpoint over the line before. Retries a failed signature a minute later.
    fn write_checkpoint(&mut self) {
        let now = self.config.env.now();
        self.checkpoint_at = now;
        let (seq, hash) = (self.chain.seq, self.chain.hash.clone());
        let checkpoint = CheckpointClaims {
            iss: self.config.issuer.clone(),
            iat: now.seconds(),
            node: self.config.node.clone(),
            seq,
            hash: hash.clone(),
            tree_size: self.tree.size(),
            root_hash: hex::encode(self.tree.root()),
            inherited_leaves: self.inherited_leaves,
        };
        let payload = serde_json::to_vec(&checkpoint).unwrap_or_default();
        let signed = self.config.signer.sign(SigningAlg::ES256, CHECKPOINT_TYPE, &payload, now);
        match self.runtime.block_on(signed) {
            Ok(jws) => {
                // A copy of the program's log on another machine then proves a truncated end.
                tracing::info!(seq, hash, jws, "audit checkpoint");
                (self.tree, self.inherited_leaves) = (MerkleTree::default(), 0);
                self.append(&Event::new(EventKind::Checkpoint).jws(jws.clone()), now);
                (self.checkpoint_seq, self.unsynced) = (self.chain.seq, true);
                self.unsaved_checkpoint = Some(LastCheckpoint {
                    log: self.config.log.clone(),
                    seq: self.chain.seq,
                    hash: self.chain.hash.clone(),
                    jws,
                });
                self.state.signing_error.store(None);
                self.config.metrics.set_last_audit_checkpoint(now);
            }
            Err(error) => {
                tracing::error!(%error, "an audit checkpoint can't be signed");
                let message = format!("the audit log can't be signed: {error}");
                let fix = "see `passerelle keys list`, and check the device that holds the key (docs/audit.md)";
                let finding = CheckFinding::new(message, fix);
                self.state.signing_error.store(Some(Arc::new(finding)));
            }
        }
    }

    /// Writes pending lines. Reports lost events as soon as there is room.
    fn write(&mut self) {
        while self.flush_pending() {
            let lost = self.state.lost.swap(0, Ordering::Relaxed);
            if lost == 0 {
                return;
            }
            self.append(&Event::new(EventKind::EventsLost).lost(lost), self.config.env.now());
        }
    }

    /// Writes pending bytes. Returns true if all are written.
    fn flush_pending(&mut self) -> bool {
        let mut taken = 0;
        let error = loop {
            let rest = self.pending.get(taken..).unwrap_or_default();
            if rest.is_empty() {
                break None;
            }
            match self.sink.write(rest) {
                Ok(0) => break Some(io::Error::from(io::ErrorKind::WriteZero)),
                Ok(count) => taken += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Some(error),
            }
        };
        // The rest of a partly written line follows later; the line is never repeated.
        self.pending.drain(..taken.min(self.pending.len()));
        match error {
            None => self.report_recovery(),
            Some(error) => self.report_failure(&error),
        }
        self.pending.is_empty()
    }

    fn report_failure(&self, error: &io::Error) {
        self.config.metrics.record_audit_write_error();
        let message = format!("the audit log can't be written: {error}");
        let finding = CheckFinding::new(message, WRITE_FIX);
        let previous = self.state.write_error.swap(Some(Arc::new(finding)));
        if previous.is_none() {
            let consequence = match self.config.when_full {
                WhenFull::Stop => "no new login begins",
                WhenFull::GoOn => "logins continue, and events without room are lost",
            };
            tracing::error!(code = ErrorCode::AuditUnwritable.entry().code, %error, consequence, "the audit log can't be written");
        }
    }

    fn report_recovery(&self) {
        if self.state.write_error.swap(None).is_some() {
            tracing::warn!("the audit log can be written again");
        }
    }

    fn sync(&mut self) {
        if !self.pending.is_empty() {
            // Writing has just failed.
            return;
        }
        match self.sink.sync() {
            Ok(()) => {
                self.unsynced = false;
                self.save_checkpoint();
            }
            Err(error) => self.report_failure(&error),
        }
    }

    fn is_save_retry_due(&self) -> bool {
        let now = self.config.env.now();
        self.save_failed_at.is_some_and(|at| now < at || now.since(at) >= SAVE_RETRY_INTERVAL)
    }

    /// Saves the last checkpoint outside of the log, once it is on the disk. Keeps it after a
    /// failure.
    fn save_checkpoint(&mut self) {
        let Some(checkpoint) = &self.unsaved_checkpoint else { return };
        let mut error = None;
        for place in &mut self.config.checkpoint_stores {
            error = place.save(checkpoint).err().or(error);
        }
        self.save_failed_at = error.is_some().then(|| self.config.env.now());
        if error.is_none() {
            self.unsaved_checkpoint = None;
        }
        let reason = error.map(|error| {
            Arc::new(CheckFinding::new(
                format!(
                    "the last checkpoint of the audit log can't be saved outside of it: {error}"
                ),
                "let this user write to the state folder, and check that the store answers",
            ))
        });
        if let (Some(why), None) = (&reason, &*self.state.save_error.load()) {
            tracing::error!(%why, "the next start can't detect whether the audit log was changed");
        }
        self.state.save_error.store(reason);
    }

    /// Starts a new file if the current one is full. Ends and begins files with a checkpoint, so
    /// that truncated files show.
    fn rotate(&mut self) {
        let now = self.config.env.now();
        if !self.pending.is_empty() || !self.sink.needs_rotation(now) {
            return;
        }
        if self.checkpoint_seq != self.chain.seq {
            self.write_checkpoint();
            self.write();
        }
        if !self.pending.is_empty() {
            return;
        }
        self.sync();
        match self.sink.rotate(now) {
            Ok(()) => {
                self.write_checkpoint();
                self.write();
                self.sync();
            }
            Err(error) => {
                self.config.metrics.record_audit_write_error();
                tracing::error!(%error, "can't start a new audit file; the old one keeps growing");
            }
        }
    }

    fn finish(&mut self) {
        self.append(&Event::new(EventKind::Stop), self.config.env.now());
        self.write_checkpoint();
        self.write();
        self.sync();
        self.state.stopped.store(true, Ordering::SeqCst);
    }
}
