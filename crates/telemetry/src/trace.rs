//! Traces requests and logins: the [`TraceScope`] of a request follows its future across tasks and
//! actors, with its spans and the support id of its login.
//!
//! A request finds out only while it runs which login it belongs to. Its spans are buffered until
//! it ends, then get the trace id of the login or are discarded. Does not export spans
//! (`export.rs`).
//!
//! Span attributes are constants, registered ids and numbers ([`Span`]'s methods), so that no
//! identity, token or free text can reach a trace.

#[cfg(feature = "otlp")]
mod recording;
#[cfg(not(feature = "otlp"))]
mod recording_stub;
mod span;

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::task::futures::TaskLocalFuture;

use passerelle_protocol::ids::SupportId;
use passerelle_protocol::trace_context::{SpanId, TraceContext, TraceId};
use recording::{SpanKind, SpanRecording, TracerConfig};
#[cfg(not(feature = "otlp"))]
use recording_stub as recording;
pub use span::Span;

tokio::task_local! {
    static CURRENT: TraceScope;
}

/// Peers that receive a `traceparent` header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Propagation {
    Disabled,
    RegisterOnly,
    AllPeers,
}

impl Propagation {
    /// Returns whether `peer` receives the header.
    const fn includes(self, peer: TracePeer) -> bool {
        match self {
            Self::Disabled => false,
            Self::RegisterOnly => matches!(peer, TracePeer::Register),
            Self::AllPeers => true,
        }
    }
}

/// What decides whether a trace is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// The hub's sampling ratio alone, so that a client can't enable tracing at the hub's
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

impl Tracer {
    /// Creates a tracer that records no spans.
    pub const fn disabled() -> Self {
        Self(None)
    }

    /// Starts the span of a request. `traceparent` is the header of its caller.
    pub fn start_request(&self, traceparent: Option<&str>) -> Span {
        let recording = self.0.as_ref().and_then(|config| {
            SpanRecording::start(config, traceparent.and_then(TraceContext::parse))
        });
        let active = recording.as_ref().map(SpanRecording::start_root);
        let span = active.as_ref().map(|active| active.id());
        let request = Arc::new(RequestTrace { support_id: OnceLock::new(), recording });
        Span { scope: TraceScope { request: Some(request), span, peer: None }, active }
    }

    /// Waits until every finished span was sent once to the collector, or until `limit`.
    pub async fn flush(&self, limit: Duration) {
        if let Some(config) = &self.0 {
            config.flush(limit).await;
        }
    }

    /// Returns the scope of a request without traces; its log lines still carry the support id.
    pub fn untraced_scope() -> TraceScope {
        TraceScope { request: Some(Arc::default()), span: None, peer: None }
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

/// Support id and trace of a log line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOrigin {
    pub support_id: Option<SupportId>,
    /// Ids of a recorded trace.
    pub trace: Option<(TraceId, SpanId)>,
}

/// Returns the scope of the running future.
pub fn current_scope() -> TraceScope {
    CURRENT.try_with(Clone::clone).unwrap_or_default()
}

/// Returns the support id and trace for log lines of the running future.
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
pub fn start_login_trace(support_id: &SupportId) -> Option<TraceContext> {
    CURRENT.try_with(|scope| scope.start_login(support_id)).ok().flatten()
}

/// Returns the trace context of the running request's login, as stored with its code and tokens.
pub fn login_context() -> Option<TraceContext> {
    CURRENT.try_with(|scope| scope.recording()?.login()).ok().flatten()
}

/// Starts a span within the running one.
pub fn start_span(name: &'static str) -> Span {
    current_scope().start_child(name, SpanKind::Internal)
}

/// Starts the span of a call to another server.
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
        let active = self.recording().and_then(|to| to.start_span(self.span, kind, name));
        let span = active.as_ref().map_or(self.span, |active| Some(active.id()));
        Span { scope: Self { span, ..self }, active }
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
            recording.join_login(*login);
        }
    }

    fn start_login(&self, support_id: &SupportId) -> Option<TraceContext> {
        let request = self.request.as_ref()?;
        let _first = request.support_id.set(support_id.clone());
        request.recording.as_ref().map(SpanRecording::start_login)
    }

    fn origin(&self) -> LogOrigin {
        let Some(request) = &self.request else { return LogOrigin::default() };
        let trace = request.recording.as_ref().and_then(SpanRecording::exported_trace);
        LogOrigin { support_id: request.support_id.get().cloned(), trace: trace.zip(self.span) }
    }
}

impl Drop for RequestTrace {
    fn drop(&mut self) {
        if let Some(recording) = self.recording.take() {
            recording.finish(self.support_id.take());
        }
    }
}

#[cfg(test)]
#[cfg(feature = "otlp")]
mod tests;
