//! L1 · What belongs together: the support id of the login that a request is about, and its tree of spans.
//!
//! Owns: a request's [`Scope`], which follows its future from task to task and from actor to actor; what a span may say of
//! itself; whether a login's spans are kept. Must not know: where spans go ([`super::export`]), or what a login is.
//!
//! A request learns on its way which login it is about: its spans wait in its scope until its last part is done, and only
//! then get the login's trace id, or are let go. What a span may say is a closed list of words, registered ids and numbers
//! ([`Span`]'s methods): no identity value, token or free text has a way in.

mod span;

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::task::futures::TaskLocalFuture;
use tokio::time::Instant;

pub use self::span::{Batch, Finished, Kind, Span, Value};
use super::export::Queue;
use crate::env::{Env, Timestamp};
use crate::ids::SupportId;
use crate::protocol::trace_context::{SpanId, TraceContext, TraceId};

tokio::task_local! {
    static CURRENT: Scope;
}

/// Spans of one request that are kept; a request that makes more is in trouble, and the rest are counted as lost.
const MOST: usize = 128;

/// Who is told of a trace by `traceparent`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Propagation {
    Nobody,
    Register,
    Everybody,
}

/// Whether a caller's word counts for what is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// The hub's own ratio alone decides: a stranger can't switch tracing on for himself, and have us pay for it.
    Ours,
    /// A `traceparent` with a sampling flag decides where there is one.
    Callers,
}

/// Somebody who may be told of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Party {
    IdentityProvider,
    Register,
}

/// Makes the scopes of requests. Cheap to clone; [`Self::off`] makes scopes that keep no spans.
#[derive(Clone, Default)]
pub struct Tracer(Option<Arc<Rules>>);

struct Rules {
    env: Env,
    /// A trace is kept if 64 random bits are below this.
    below: u128,
    sampling: Sampling,
    propagation: Propagation,
    queue: Queue,
}

impl Tracer {
    #[must_use]
    pub const fn off() -> Self {
        Self(None)
    }

    /// `ratio`: the share of logins whose spans are kept, from 0 to 1.
    #[must_use]
    pub fn new(
        ratio: f64,
        sampling: Sampling,
        propagation: Propagation,
        queue: Queue,
        env: Env,
    ) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to 2^64 after the clamp"
        )]
        let below = (ratio.clamp(0.0, 1.0) * 2_f64.powi(64)) as u128;
        Self(Some(Arc::new(Rules { env, below, sampling, propagation, queue })))
    }

    /// The scope of a request whose spans may be kept, and its own span. `traceparent` is what its caller sent.
    #[must_use]
    pub fn request(&self, traceparent: Option<&str>) -> Span {
        let recording = self
            .0
            .as_ref()
            .and_then(|rules| Recording::begin(rules, traceparent.and_then(TraceContext::parse)));
        let id = recording.as_ref().map(|recording| recording.root);
        let request = Arc::new(Request { support_id: OnceLock::new(), recording });
        let scope = Scope { request: Some(request), span: id, party: None };
        Span::begin(scope, id, None, "", Kind::Server)
    }

    /// The scope of a request that is never traced: its log lines carry their login's support id all the same.
    #[must_use]
    pub fn untraced() -> Scope {
        Scope { request: Some(Arc::default()), span: None, party: None }
    }
}

impl std::fmt::Debug for Tracer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Tracer(on)" } else { "Tracer(off)" })
    }
}

/// Where in which request a piece of work belongs. Taken along wherever a future does not go by itself: into messages and
/// tasks. The default belongs nowhere.
#[derive(Clone, Default)]
pub struct Scope {
    request: Option<Arc<Request>>,
    span: Option<SpanId>,
    party: Option<Party>,
}

#[derive(Default)]
struct Request {
    support_id: OnceLock<SupportId>,
    recording: Option<Recording>,
}

/// A request's spans, until the last of those who work on it lets go.
struct Recording {
    rules: Arc<Rules>,
    /// The request's own span.
    root: SpanId,
    began: (Timestamp, Instant),
    state: Mutex<State>,
}

struct State {
    trace_id: TraceId,
    /// What the request's own span hangs from.
    parent: Option<SpanId>,
    linked: Option<TraceContext>,
    sampled: bool,
    /// Known: the trace id will not change any more.
    login: Option<TraceContext>,
    /// The span ids that were given away.
    given: u64,
    spans: Vec<Finished>,
    lost: usize,
}

/// What of a line's origin a log line tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    pub support_id: Option<SupportId>,
    /// Of a trace that is kept.
    pub trace: Option<(TraceId, SpanId)>,
}

/// Where the running future belongs.
#[must_use]
pub fn current() -> Scope {
    CURRENT.try_with(Clone::clone).unwrap_or_default()
}

/// What a log line of the running future is about.
#[must_use]
pub fn origin() -> Origin {
    CURRENT.try_with(Scope::origin).unwrap_or_default()
}

/// The request turns out to be about this login. Its log lines carry `support_id` from here on, and its spans hang from the
/// login's own, whichever requests come between. Only the first login of a request counts: see [`apart`].
pub fn about(support_id: &SupportId, login: Option<&TraceContext>) {
    let _outside = CURRENT.try_with(|scope| scope.about(support_id, login));
}

/// A login begins with this request; what of it must be kept, so that its later requests find the tree.
#[must_use]
pub fn begin_login(support_id: &SupportId) -> Option<TraceContext> {
    CURRENT.try_with(|scope| scope.begin_login(support_id)).ok().flatten()
}

/// The trace of the login that the running future is about, as its code and tokens carry it.
#[must_use]
pub fn of_login() -> Option<TraceContext> {
    CURRENT.try_with(|scope| scope.recording()?.state().login).ok().flatten()
}

/// A piece of work within the running one.
#[must_use]
pub fn span(name: &'static str) -> Span {
    current().child(name, Kind::Internal)
}

/// A call to somebody else's server.
#[must_use]
pub fn call(method: &'static str) -> Span {
    current().child(method, Kind::Client)
}

/// For work on another login than the request's own.
pub async fn apart<T>(work: impl Future<Output = T>) -> T {
    Tracer::untraced().run(work).await
}

impl Scope {
    /// Does `work` as a part of this.
    pub fn run<W: Future>(self, work: W) -> TaskLocalFuture<Self, W> {
        CURRENT.scope(self, work)
    }

    /// Whether the running future belongs to the same request.
    fn is_running(&self) -> bool {
        let is_same = |now: &Self| match (&now.request, &self.request) {
            (Some(now), Some(own)) => Arc::ptr_eq(now, own),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        CURRENT.try_with(is_same).unwrap_or(self.request.is_none())
    }

    fn child(self, name: &'static str, kind: Kind) -> Span {
        let (id, parent) = (self.recording().and_then(Recording::next_id), self.span);
        match id {
            Some(_) => Span::begin(Self { span: id, ..self }, id, parent, name, kind),
            None => Span { scope: self, live: None },
        }
    }

    fn recording(&self) -> Option<&Recording> {
        self.request.as_ref()?.recording.as_ref()
    }

    fn about(&self, support_id: &SupportId, login: Option<&TraceContext>) {
        let Some(request) = &self.request else { return };
        if request.support_id.set(support_id.clone()).is_err() {
            return;
        }
        if let (Some(recording), Some(login)) = (&request.recording, login) {
            recording.join(login);
        }
    }

    fn begin_login(&self, support_id: &SupportId) -> Option<TraceContext> {
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

    fn origin(&self) -> Origin {
        let Some(request) = &self.request else { return Origin::default() };
        let trace = request.recording.as_ref().zip(self.span).and_then(|(recording, span)| {
            let state = recording.state();
            (state.login.is_some() && state.sampled).then_some((state.trace_id, span))
        });
        Origin { support_id: request.support_id.get().cloned(), trace }
    }
}

impl std::fmt::Debug for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.origin().fmt(f)
    }
}

impl Recording {
    /// `None` if the operating system's randomness were all zeros, which is nobody's id.
    fn begin(rules: &Arc<Rules>, caller: Option<TraceContext>) -> Option<Self> {
        let bits = rules.env.entropy().bits256();
        let (trace, rest) = bits.split_first_chunk::<16>()?;
        let (span, rest) = rest.split_first_chunk::<8>()?;
        let draw = u128::from(u64::from_be_bytes(*rest.first_chunk()?));
        // Never a function of the trace id: a stranger may choose that.
        let drawn = draw < rules.below;
        let sampled = match (rules.sampling, caller) {
            (Sampling::Callers, Some(caller)) => caller.sampled,
            (Sampling::Ours, _) | (Sampling::Callers, None) => drawn,
        };
        let state = State {
            trace_id: caller.map_or(TraceId::new(*trace), |caller| Some(caller.trace_id))?,
            parent: caller.map(|caller| caller.span_id),
            linked: None,
            sampled,
            login: None,
            given: u64::from_be_bytes(*span),
            spans: Vec::new(),
            lost: 0,
        };
        let began = (rules.env.now(), Instant::now());
        Some(Self {
            rules: Arc::clone(rules),
            root: SpanId::new(*span)?,
            began,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One after the other from a random first: a draw for each span would be the dearest part of it. `None` where nothing
    /// is kept.
    fn next_id(&self) -> Option<SpanId> {
        let mut state = self.state();
        if state.is_let_go() {
            return None;
        }
        state.given = state.given.wrapping_add(1);
        SpanId::new(state.given.to_be_bytes())
    }

    /// The login's tree is worth more than the caller's, which is kept as a link.
    fn join(&self, login: &TraceContext) {
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

    fn keep(&self, span: Finished) {
        let mut state = self.state();
        if state.is_let_go() {
            return;
        }
        if state.spans.len() < MOST {
            state.spans.push(span);
        } else {
            state.lost += 1;
        }
    }

    fn at(&self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.began.1);
        self.began
            .0
            .millis()
            .saturating_mul(1_000_000)
            .saturating_add(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl State {
    /// It is known that nothing of this is kept.
    const fn is_let_go(&self) -> bool {
        self.login.is_some() && !self.sampled
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let Some(recording) = &self.recording else { return };
        let mut state = recording.state();
        if !state.sampled || state.spans.is_empty() {
            return;
        }
        let (parent, link) =
            (state.parent, state.linked.filter(|link| link.trace_id != state.trace_id));
        let batch = Batch {
            trace_id: state.trace_id,
            root: recording.root,
            parent,
            link,
            support_id: self.support_id.take(),
            spans: std::mem::take(&mut state.spans),
        };
        recording.rules.queue.offer(batch, state.lost);
    }
}

#[cfg(test)]
mod tests;
