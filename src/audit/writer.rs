//! The one thread that writes: it numbers, chains, seals and hands to a sink, and keeps what the sink does not take.
//!
//! Owns: when a checkpoint is due; that a line which was begun is brought to
//! its end, however often the sink refuses. Must not know: where the sink leads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use tokio::sync::oneshot;

use super::chain::{CHECKPOINT_TYPE, Chain, Seal};
use super::last_seal::{LastSeal, SealStore};
use super::queue::{Alarm, Message, QUEUE, Shared, State, WhenFull};
use super::{Audit, AuditFault, Event, Name};
use crate::env::{Env, Timestamp};
use crate::protocol::alg::SigningAlg;
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::Metrics;
use crate::token::Signer;

/// Bytes of lines that wait for a sink which refuses them.
const PENDING: usize = 4 << 20;
/// The part of them that strangers can fill, so that the rest is there for logins.
const STRANGERS: usize = PENDING / 4;
/// Between two checkpoints.
const MINUTE: Duration = Duration::from_secs(60);
/// Between two looks at the clock, and two tries at a sink that refused.
const TICK: Duration = Duration::from_millis(500);
/// Between two tries to keep the last seal outside of the log: a store that is away holds the thread up for seconds.
const KEEP_SEAL_RETRY: Duration = Duration::from_secs(10);

/// Where lines go. Its calls may block: only the writer's thread makes them.
pub trait Sink: Send {
    /// As [`io::Write::write`]: some of the bytes may be taken, and an error means none.
    ///
    /// # Errors
    /// The sink takes nothing now.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Brings to the disk what was written.
    ///
    /// # Errors
    /// It can't be told whether it is there.
    fn sync(&mut self) -> io::Result<()>;

    /// Whether the next line should be the first of a new file.
    fn is_full(&self, now: Timestamp) -> bool;

    /// Begins a new file. The old one stays in use if that fails.
    ///
    /// # Errors
    /// There can be no new file.
    fn rotate(&mut self, now: Timestamp) -> io::Result<()>;
}

/// What the writer works with.
pub struct WriterConfig {
    pub env: Env,
    pub signer: Arc<dyn Signer>,
    pub metrics: Arc<Metrics>,
    pub issuer: String,
    pub node: String,
    pub when_full: WhenFull,
    /// Path of the log, by which its seals are kept.
    pub log: String,
    /// Where the last seal is kept besides the log.
    pub seals: Vec<Box<dyn SealStore>>,
    /// What the start has found wrong with the log.
    pub finding: Option<String>,
    /// How long the thread waits for more after it was woken: one write for all of it. The price of a crash.
    pub gather: Duration,
}

impl std::fmt::Debug for WriterConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Means").field("node", &self.node).finish_non_exhaustive()
    }
}

/// What a sink had when it was opened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    pub chain: Chain,
    /// The last line has no end: the process that wrote it was cut off.
    pub unfinished: bool,
}

/// Starts the thread. Its first line is `start`, naming by its `prev` the last that was found, and a checkpoint.
///
/// `begin` is the `start` event.
///
/// # Errors
/// `Thread`.
pub fn start(
    sink: Box<dyn Sink>,
    found: Found,
    begin: Event,
    mut means: WriterConfig,
) -> Result<Audit, AuditFault> {
    let (shared, messages, state) = Shared::new(&means.env, &means.metrics, means.when_full);
    state.finding.store(means.finding.take().map(Arc::new));
    means.metrics.audit_began();
    // Signing may ask a module behind a network: this thread is the one that waits for it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(AuditFault::Thread)?;
    let sealed_at = means.env.now();
    let mut writer = Writer {
        sink,
        chain: found.chain,
        pending: Vec::new(),
        sealed_at,
        sealed: 0,
        unkept: None,
        keep_failed_at: None,
        unsynced: false,
        state,
        runtime,
        means,
    };
    if found.unfinished {
        // The half line gets its end, and its hash stands in `start`: nobody can make more or less of it afterwards.
        writer.pending.push(b'\n');
    }
    let run = move || {
        let alarm = Alarm(Arc::clone(&writer.state));
        let stopping = writer.run(&messages, &begin);
        // The sink is closed before anybody hears of it: another process may take it up at once.
        drop((writer, alarm));
        if let Some(stopping) = stopping {
            // Going down may have stopped waiting.
            let _gone = stopping.send(());
        }
    };
    std::thread::Builder::new().name("audit".to_owned()).spawn(run).map_err(AuditFault::Thread)?;
    Ok(Audit { log: Some(Arc::new(shared)), recent: None })
}

struct Writer {
    sink: Box<dyn Sink>,
    chain: Chain,
    /// Lines, the first of them perhaps in part, that the sink has yet to take.
    pending: Vec<u8>,
    sealed_at: Timestamp,
    /// Number of the last checkpoint's line.
    sealed: u64,
    /// The last checkpoint, while it is kept nowhere else.
    unkept: Option<LastSeal>,
    keep_failed_at: Option<Timestamp>,
    unsynced: bool,
    state: Arc<State>,
    runtime: tokio::runtime::Runtime,
    means: WriterConfig,
}

impl Writer {
    /// Gives whoever asked it to stop.
    fn run(&mut self, messages: &Receiver<Message>, begin: &Event) -> Option<oneshot::Sender<()>> {
        self.append(begin, self.means.env.now());
        self.seal();
        self.write();
        self.sync();
        loop {
            let mut asked = Vec::new();
            match messages.recv_timeout(TICK) {
                Ok(message) => {
                    if !self.means.gather.is_zero() {
                        std::thread::sleep(self.means.gather);
                    }
                    if let Some(stopping) = self.read(message, messages, &mut asked) {
                        self.end();
                        return Some(stopping);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // The hub was dropped, as tests do: no last words, but nothing that was told is lost.
                    self.write();
                    self.state.stopped.store(true, Ordering::SeqCst);
                    return None;
                }
            }
            if self.is_time_to_seal() {
                self.seal();
            }
            self.write();
            self.rotate();
            if self.unsynced && self.pending.is_empty() {
                self.sync();
            } else if !self.unsynced && self.is_time_to_keep_again() {
                self.keep_seal();
            }
            for done in asked {
                // Whoever asked may have gone.
                let _gone = done.send(());
            }
        }
    }

    /// All that waits, but no more than a queue's length at once; gives whoever asked to stop.
    fn read(
        &mut self,
        first: Message,
        messages: &Receiver<Message>,
        asked: &mut Vec<SyncSender<()>>,
    ) -> Option<oneshot::Sender<()>> {
        for message in std::iter::once(first).chain(messages.try_iter()).take(QUEUE) {
            match message {
                Message::Tell(event, at) => {
                    self.state.waiting.fetch_sub(1, Ordering::Relaxed);
                    self.append(&event, at);
                }
                Message::Flush(done) => asked.push(done),
                Message::Stop(done) => return Some(done),
            }
        }
        None
    }

    /// Into the chain; or, where the sink has refused too much for too long, counted as lost before it has a number.
    fn append(&mut self, event: &Event, at: Timestamp) {
        // A machine that slept, or a clock that was set forward: no line stands a minute after the checkpoint before it.
        if at >= self.sealed_at + MINUTE {
            self.seal();
        }
        let room = if event.is_strangers() { STRANGERS } else { PENDING };
        // Checkpoints always have room, one a minute: without them, `verify` reports the lines after a long refusal.
        if event.name != Name::Checkpoint && self.pending.len() > room {
            return self.state.lose();
        }
        self.chain.append(&mut self.pending, event, at, &self.means.node);
        self.means.metrics.audit_written(event.name.as_str());
    }

    /// A clock that was set back must not leave the log unsealed until it is where it was.
    fn is_time_to_seal(&self) -> bool {
        let now = self.means.env.now();
        now < self.sealed_at || now.since(self.sealed_at) >= MINUTE
    }

    /// A checkpoint over the line before. Without a key the next try is a minute later.
    fn seal(&mut self) {
        let now = self.means.env.now();
        self.sealed_at = now;
        let (seq, hash) = (self.chain.seq, self.chain.hash.clone());
        let seal = Seal {
            iss: self.means.issuer.clone(),
            iat: now.seconds(),
            node: self.means.node.clone(),
            seq,
            hash: hash.clone(),
        };
        let payload = serde_json::to_vec(&seal).unwrap_or_default();
        let signed = self.means.signer.sign(SigningAlg::ES256, CHECKPOINT_TYPE, &payload, now);
        match self.runtime.block_on(signed) {
            Ok(jws) => {
                // Whoever collects the log elsewhere has what proves a cut end.
                tracing::info!(seq, hash, jws, "audit checkpoint");
                self.append(&Event::of(Name::Checkpoint).jws(jws.clone()), now);
                (self.sealed, self.unsynced) = (self.chain.seq, true);
                let log = self.means.log.clone();
                self.unkept =
                    Some(LastSeal { log, seq: self.chain.seq, hash: self.chain.hash.clone(), jws });
                self.state.unsealed.store(None);
                self.means.metrics.audit_sealed(now);
            }
            Err(fault) => {
                tracing::error!(%fault, "an audit checkpoint can't be signed");
                self.state
                    .unsealed
                    .store(Some(Arc::new(format!("the audit log can't be sealed: {fault}"))));
            }
        }
    }

    /// Hands over what is pending. What was lost meanwhile is told as soon as there is room.
    fn write(&mut self) {
        while self.hand_over() {
            let lost = self.state.lost.swap(0, Ordering::Relaxed);
            if lost == 0 {
                return;
            }
            self.append(&Event::of(Name::Lost).lost(lost), self.means.env.now());
        }
    }

    /// True when nothing is pending any more.
    fn hand_over(&mut self) -> bool {
        let mut taken = 0;
        let fault = loop {
            let rest = self.pending.get(taken..).unwrap_or_default();
            if rest.is_empty() {
                break None;
            }
            match self.sink.write(rest) {
                Ok(0) => break Some(io::Error::from(io::ErrorKind::WriteZero)),
                Ok(count) => taken += count,
                Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
                Err(fault) => break Some(fault),
            }
        };
        // What was taken stays taken: the rest of a line follows when there is room, and never the line once more.
        self.pending.drain(..taken.min(self.pending.len()));
        match fault {
            None => self.recovered(),
            Some(fault) => self.refused(&fault),
        }
        self.pending.is_empty()
    }

    fn refused(&self, fault: &io::Error) {
        self.means.metrics.audit_refused();
        let told = self
            .state
            .trouble
            .swap(Some(Arc::new(format!("the audit log can't be written: {fault}"))));
        if told.is_none() {
            let consequence = match self.means.when_full {
                WhenFull::Stop => "no new logins are taken",
                WhenFull::GoOn => "logins go on, and what finds no room is lost",
            };
            tracing::error!(code = ErrorCode::AuditUnwritable.entry().code, %fault, consequence, "the audit log can't be written");
        }
    }

    fn recovered(&self) {
        if self.state.trouble.swap(None).is_some() {
            tracing::warn!("the audit log is written again");
        }
    }

    fn sync(&mut self) {
        if !self.pending.is_empty() {
            // It has just been told that nothing can be written.
            return;
        }
        match self.sink.sync() {
            Ok(()) => {
                self.unsynced = false;
                self.keep_seal();
            }
            Err(fault) => self.refused(&fault),
        }
    }

    fn is_time_to_keep_again(&self) -> bool {
        let now = self.means.env.now();
        self.keep_failed_at.is_some_and(|at| now < at || now.since(at) >= KEEP_SEAL_RETRY)
    }

    /// Keeps the last seal outside of the log, now that the log has it on the disk. After a failure it stays to be kept.
    fn keep_seal(&mut self) {
        let Some(seal) = &self.unkept else { return };
        let mut fault = None;
        for place in &mut self.means.seals {
            fault = place.save(seal).err().or(fault);
        }
        self.keep_failed_at = fault.is_some().then(|| self.means.env.now());
        if fault.is_none() {
            self.unkept = None;
        }
        let reason = fault.map(|fault| {
            Arc::new(format!(
                "the last seal of the audit log can't be kept outside of it: {fault}; \
                 mend: let this user write to the state folder, and see that the store answers"
            ))
        });
        if let (Some(why), None) = (&reason, &*self.state.unkept.load()) {
            tracing::error!(%why, "the next start can't tell whether the audit log was changed");
        }
        self.state.unkept.store(reason);
    }

    /// The last line of a file and the first of the next are checkpoints, so that a file's ends can't be cut unseen.
    fn rotate(&mut self) {
        let now = self.means.env.now();
        if !self.pending.is_empty() || !self.sink.is_full(now) {
            return;
        }
        if self.sealed != self.chain.seq {
            self.seal();
            self.write();
        }
        if !self.pending.is_empty() {
            return;
        }
        self.sync();
        match self.sink.rotate(now) {
            Ok(()) => {
                self.seal();
                self.write();
                self.sync();
            }
            Err(fault) => {
                self.means.metrics.audit_refused();
                tracing::error!(%fault, "no new audit file can be begun; the old one grows on");
            }
        }
    }

    fn end(&mut self) {
        self.append(&Event::of(Name::Stop), self.means.env.now());
        self.seal();
        self.write();
        self.sync();
        self.state.stopped.store(true, Ordering::SeqCst);
    }
}
