//! Traces requests and logins: the [`TraceScope`] of a request follows its future across tasks and
//! actors, with its spans and the support id of its login.
//!
//! A request finds out only while it runs which login it belongs to. Its spans are buffered until
//! it ends, then get the trace id of the login or are discarded. Does not export spans
//! ([`super::export`]).
//!
//! Span attributes are constants, registered ids and numbers ([`Span`]'s methods), so that no
//! identity, token or free text can reach a trace.

mod span;

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::task::futures::TaskLocalFuture;
use tokio::time::Instant;

pub use self::span::Span;
use super::export::SpanQueue;
use super::finished_span::{FinishedSpan, SpanBatch, SpanKind};
use crate::env::{Env, Timestamp};
use crate::ids::SupportId;
use crate::protocol::trace_context::{SpanId, TraceContext, TraceId};

tokio::task_local! {
    static CURRENT: TraceScope;
}

/// Maximum of spans recorded for one request; the rest are counted as dropped.
const MAX_SPANS_PER_REQUEST: usize = 128;

/// Peers that receive a `traceparent` header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Propagation {
    Disabled,
    RegisterOnly,
    AllPeers,
}

/// What decides whether a trace is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// The hub's sampling ratio alone, so that a stranger can't enable tracing at the hub's
    /// expense.
    HubRatio,
    /// The sampled flag of the caller's `traceparent`, if there is one.
    CallerFlag,
}

/// Peer of an outgoing call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TracePeer {
    IdentityProvider,
    Register,
}

/// Creates the trace scopes of requests. Cheap to clone.
#[derive(Clone, Default)]
pub struct Tracer(Option<Arc<TracerConfig>>);

struct TracerConfig {
    env: Env,
    /// A trace is recorded if 64 random bits are below this.
    sample_threshold: u128,
    sampling: Sampling,
    propagation: Propagation,
    queue: SpanQueue,
}

impl Tracer {
    /// Creates a tracer that records no spans.
    #[must_use]
    pub const fn disabled() -> Self {
        Self(None)
    }

    /// Creates a tracer that records the share `ratio` of logins, from 0 to 1.
    #[must_use]
    pub fn new(
        ratio: f64,
        sampling: Sampling,
        propagation: Propagation,
        queue: SpanQueue,
        env: Env,
    ) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to 2^64 after the clamp"
        )]
        let below = (ratio.clamp(0.0, 1.0) * 2_f64.powi(64)) as u128;
        Self(Some(Arc::new(TracerConfig {
            env,
            sample_threshold: below,
            sampling,
            propagation,
            queue,
        })))
    }

    /// Starts the span of a request. `traceparent` is the header of its caller.
    #[must_use]
    pub fn start_request(&self, traceparent: Option<&str>) -> Span {
        let recording = self.0.as_ref().and_then(|rules| {
            SpanRecording::start(rules, traceparent.and_then(TraceContext::parse))
        });
        let id = recording.as_ref().map(|recording| recording.root);
        let request = Arc::new(RequestTrace { support_id: OnceLock::new(), recording });
        let scope = TraceScope { request: Some(request), span: id, peer: None };
        Span::start(scope, id, None, "", SpanKind::Server)
    }

    /// Returns the scope of a request without traces; its log lines still carry the support id.
    #[must_use]
    pub fn untraced_scope() -> TraceScope {
        TraceScope { request: Some(Arc::default()), span: None, peer: None }
    }
}

impl std::fmt::Debug for Tracer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Tracer(on)" } else { "Tracer(off)" })
    }
}

/// Position of running work in the trace of a request. Pass it with messages and to spawned tasks.
/// The default belongs to no request.
#[derive(Clone, Default)]
pub struct TraceScope {
    request: Option<Arc<RequestTrace>>,
    span: Option<SpanId>,
    peer: Option<TracePeer>,
}

#[derive(Default)]
struct RequestTrace {
    support_id: OnceLock<SupportId>,
    recording: Option<SpanRecording>,
}

/// Spans of a request, until the last scope of it is dropped.
struct SpanRecording {
    rules: Arc<TracerConfig>,
    /// The request's own span.
    root: SpanId,
    began: (Timestamp, Instant),
    state: Mutex<RecordingState>,
}

struct RecordingState {
    trace_id: TraceId,
    /// Parent of the request's own span.
    parent: Option<SpanId>,
    linked: Option<TraceContext>,
    sampled: bool,
    /// Set once the login is known: the trace id is final.
    login: Option<TraceContext>,
    /// The last span id that was assigned.
    last_span_id: u64,
    spans: Vec<FinishedSpan>,
    dropped: usize,
}

/// Support id and trace of a log line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOrigin {
    pub support_id: Option<SupportId>,
    /// Ids of a recorded trace.
    pub trace: Option<(TraceId, SpanId)>,
}

/// Returns the scope of the running future.
#[must_use]
pub fn current_scope() -> TraceScope {
    CURRENT.try_with(Clone::clone).unwrap_or_default()
}

/// Returns the support id and trace for log lines of the running future.
#[must_use]
pub fn log_origin() -> LogOrigin {
    CURRENT.try_with(TraceScope::origin).unwrap_or_default()
}

/// Attaches the running request to a login: its log lines carry `support_id` from now on, and its
/// spans join the login's trace. Only the first login of a request counts: see [`detached`].
pub fn attach_login(support_id: &SupportId, login: Option<&TraceContext>) {
    let _outside = CURRENT.try_with(|scope| scope.attach_login(support_id, login));
}

/// Starts a login in the running request. Store the returned context, so that later requests can
/// join the trace.
#[must_use]
pub fn start_login_trace(support_id: &SupportId) -> Option<TraceContext> {
    CURRENT.try_with(|scope| scope.start_login(support_id)).ok().flatten()
}

/// Returns the trace context of the running request's login, as stored with its code and tokens.
#[must_use]
pub fn login_context() -> Option<TraceContext> {
    CURRENT.try_with(|scope| scope.recording()?.state().login).ok().flatten()
}

/// Starts a span within the running one.
#[must_use]
pub fn start_span(name: &'static str) -> Span {
    current_scope().start_child(name, SpanKind::Internal)
}

/// Starts the span of a call to another server.
#[must_use]
pub fn start_call(method: &'static str) -> Span {
    current_scope().start_child(method, SpanKind::Client)
}

/// Runs `work` on another login than the request's own.
pub async fn detached<T>(work: impl Future<Output = T>) -> T {
    Tracer::untraced_scope().run(work).await
}

impl TraceScope {
    /// Runs `work` within this scope.
    pub fn run<W: Future>(self, work: W) -> TaskLocalFuture<Self, W> {
        CURRENT.scope(self, work)
    }

    /// Returns true if the running future belongs to the same request.
    fn is_running(&self) -> bool {
        let is_same = |now: &Self| match (&now.request, &self.request) {
            (Some(now), Some(own)) => Arc::ptr_eq(now, own),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        CURRENT.try_with(is_same).unwrap_or(self.request.is_none())
    }

    fn start_child(self, name: &'static str, kind: SpanKind) -> Span {
        let (id, parent) = (self.recording().and_then(SpanRecording::next_id), self.span);
        match id {
            Some(_) => Span::start(Self { span: id, ..self }, id, parent, name, kind),
            None => Span { scope: self, active: None },
        }
    }

    fn recording(&self) -> Option<&SpanRecording> {
        self.request.as_ref()?.recording.as_ref()
    }

    fn attach_login(&self, support_id: &SupportId, login: Option<&TraceContext>) {
        let Some(request) = &self.request else { return };
        if request.support_id.set(support_id.clone()).is_err() {
            return;
        }
        if let (Some(recording), Some(login)) = (&request.recording, login) {
            recording.join_login(login);
        }
    }

    fn start_login(&self, support_id: &SupportId) -> Option<TraceContext> {
        let request = self.request.as_ref()?;
        let _first = request.support_id.set(support_id.clone());
        let recording = request.recording.as_ref()?;
        let mut state = recording.state();
        let login = TraceContext {
            trace_id: state.trace_id,
            span_id: recording.root,
            sampled: state.sampled,
        };
        Some(*state.login.get_or_insert(login))
    }

    fn origin(&self) -> LogOrigin {
        let Some(request) = &self.request else { return LogOrigin::default() };
        let trace = request.recording.as_ref().zip(self.span).and_then(|(recording, span)| {
            let state = recording.state();
            (state.login.is_some() && state.sampled).then_some((state.trace_id, span))
        });
        LogOrigin { support_id: request.support_id.get().cloned(), trace }
    }
}

impl std::fmt::Debug for TraceScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.origin().fmt(f)
    }
}

impl SpanRecording {
    /// Starts the recording; returns `None` for an all-zero id, which is invalid.
    fn start(rules: &Arc<TracerConfig>, caller: Option<TraceContext>) -> Option<Self> {
        let bits = rules.env.entropy().bits256();
        let (trace, rest) = bits.split_first_chunk::<16>()?;
        let (span, rest) = rest.split_first_chunk::<8>()?;
        let draw = u128::from(u64::from_be_bytes(*rest.first_chunk()?));
        // Not a function of the trace id, which the caller may choose.
        let drawn = draw < rules.sample_threshold;
        let sampled = match (rules.sampling, caller) {
            (Sampling::CallerFlag, Some(caller)) => caller.sampled,
            (Sampling::HubRatio, _) | (Sampling::CallerFlag, None) => drawn,
        };
        let state = RecordingState {
            trace_id: caller.map_or(TraceId::new(*trace), |caller| Some(caller.trace_id))?,
            parent: caller.map(|caller| caller.span_id),
            linked: None,
            sampled,
            login: None,
            last_span_id: u64::from_be_bytes(*span),
            spans: Vec::new(),
            dropped: 0,
        };
        let began = (rules.env.now(), Instant::now());
        Some(Self {
            rules: Arc::clone(rules),
            root: SpanId::new(*span)?,
            began,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, RecordingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next span id, counting from a random start: random ids would cost more than the
    /// rest of a span. Returns `None` if nothing is recorded.
    fn next_id(&self) -> Option<SpanId> {
        let mut state = self.state();
        if state.is_discarded() {
            return None;
        }
        state.last_span_id = state.last_span_id.wrapping_add(1);
        SpanId::new(state.last_span_id.to_be_bytes())
    }

    /// Moves the request into the login's trace; the caller's trace becomes a link.
    fn join_login(&self, login: &TraceContext) {
        let mut state = self.state();
        if state.login.is_some() {
            return;
        }
        state.linked = state.parent.map(|span_id| TraceContext {
            trace_id: state.trace_id,
            span_id,
            sampled: state.sampled,
        });
        state.trace_id = login.trace_id;
        state.parent = Some(login.span_id);
        state.sampled = login.sampled;
        state.login = Some(*login);
        if !state.sampled {
            state.spans = Vec::new();
        }
    }

    fn record(&self, span: FinishedSpan) {
        let mut state = self.state();
        if state.is_discarded() {
            return;
        }
        if state.spans.len() < MAX_SPANS_PER_REQUEST {
            state.spans.push(span);
        } else {
            state.dropped += 1;
        }
    }

    fn unix_nanos(&self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.began.1);
        self.began
            .0
            .millis()
            .saturating_mul(1_000_000)
            .saturating_add(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl RecordingState {
    /// Returns true once it is known that no span will be exported.
    const fn is_discarded(&self) -> bool {
        self.login.is_some() && !self.sampled
    }
}

impl Drop for RequestTrace {
    fn drop(&mut self) {
        let Some(recording) = &self.recording else { return };
        let mut state = recording.state();
        if !state.sampled || state.spans.is_empty() {
            return;
        }
        let (parent, link) =
            (state.parent, state.linked.filter(|link| link.trace_id != state.trace_id));
        let batch = SpanBatch {
            trace_id: state.trace_id,
            root: recording.root,
            parent,
            link,
            support_id: self.support_id.take(),
            spans: std::mem::take(&mut state.spans),
        };
        recording.rules.queue.enqueue(batch, state.dropped);
    }
}

#[cfg(test)]
mod tests;
