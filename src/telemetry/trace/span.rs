//! One piece of work, and what it may say of itself: words of the program, registered ids, numbers, names of hosts. There is no
//! method that takes a text as it came.

use std::borrow::Cow;
use std::future::Future;
use std::time::Duration;

use futures_util::future::Either;
use tokio::task::futures::TaskLocalFuture;
use tokio::time::Instant;

use super::{Party, Propagation, Scope};
use crate::ids::{ClientId, ConnectorId, SupportId};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::trace_context::{SpanId, TraceContext, TraceId};

/// The spans of one request, whose trace id is known now.
pub struct Batch {
    pub trace_id: TraceId,
    pub root: SpanId,
    /// Of the request's own span.
    pub parent: Option<SpanId>,
    /// The caller's trace, where it is another one.
    pub link: Option<TraceContext>,
    pub support_id: Option<SupportId>,
    pub spans: Vec<Finished>,
}

/// A span that is over.
pub struct Finished {
    pub id: SpanId,
    /// Absent for the request's own span.
    pub parent: Option<SpanId>,
    pub name: Cow<'static, str>,
    pub kind: Kind,
    /// Nanoseconds since the Unix epoch.
    pub began: u64,
    pub ended: u64,
    pub failed: bool,
    pub attributes: Vec<(&'static str, Value)>,
}

/// As OTLP numbers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// What an attribute may hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A word of the program.
    Word(&'static str),
    /// The id of something that is configured, or the name of a host.
    Id(String),
    Number(i64),
}

/// A piece of work under way. It is over when this is dropped, also by a panic or because nobody waits any more.
pub struct Span {
    pub(super) scope: Scope,
    pub(super) live: Option<Box<Live>>,
}

pub(super) struct Live {
    finished: Finished,
    since: Instant,
}

impl Span {
    pub(super) fn begin(
        scope: Scope,
        id: Option<SpanId>,
        parent: Option<SpanId>,
        name: &'static str,
        kind: Kind,
    ) -> Self {
        let live = id.zip(scope.recording()).map(|(id, recording)| {
            let since = if parent.is_none() { recording.began.1 } else { Instant::now() };
            let began = recording.at(since);
            let (name, attributes) = (Cow::Borrowed(name), Vec::new());
            let finished =
                Finished { id, parent, name, kind, began, ended: began, failed: false, attributes };
            Box::new(Live { finished, since })
        });
        Self { scope, live }
    }

    /// Does `work` as this. A large future is best boxed by the caller: it is handed on by value.
    pub fn run<W: Future>(&self, work: W) -> Either<W, TaskLocalFuture<Scope, W>> {
        // Of a span that is not kept the running scope is good enough, if it is the same request's.
        if self.live.is_none() && self.scope.is_running() {
            return Either::Left(work);
        }
        Either::Right(self.scope.clone().run(work))
    }

    /// This, for a message or a task.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope.clone()
    }

    /// Calls within this go to `party`.
    #[must_use]
    pub const fn to(mut self, party: Party) -> Self {
        self.scope.party = Some(party);
        self
    }

    /// What to send along with a call, if its party may hear of the trace.
    #[must_use]
    pub fn traceparent(&self) -> Option<String> {
        let (live, party, recording) =
            (self.live.as_ref()?, self.scope.party?, self.scope.recording()?);
        match (recording.rules.propagation, party) {
            (Propagation::Everybody, _) | (Propagation::Register, Party::Register) => {}
            (Propagation::Nobody, _) | (Propagation::Register, Party::IdentityProvider) => {
                return None;
            }
        }
        let state = recording.state();
        let context = TraceContext {
            trace_id: state.trace_id,
            span_id: live.finished.id,
            sampled: state.sampled,
        };
        (state.login.is_some() && state.sampled).then(|| context.to_string())
    }

    /// `{method} {route}`: the route's pattern, never the path.
    pub fn route(&mut self, method: &'static str, route: Option<String>) {
        let Some(live) = &mut self.live else { return };
        live.finished.name = match &route {
            Some(route) => Cow::Owned(format!("{method} {route}")),
            None => Cow::Borrowed(method),
        };
        live.finished.attributes.push(("http.request.method", Value::Word(method)));
        if let Some(route) = route {
            live.finished.attributes.push(("http.route", Value::Id(route)));
        }
    }

    pub fn status(&mut self, status: u16) {
        self.set("http.response.status_code", || Value::Number(status.into()));
        if let Some(live) = &mut self.live {
            // Of a server's spans, 4xx is the caller's fault; of a client's, it is an error like another.
            live.finished.failed |=
                status >= if live.finished.kind == Kind::Client { 400 } else { 500 };
        }
    }

    pub fn host(&mut self, method: &'static str, host: &str, port: Option<u16>) {
        self.set("http.request.method", || Value::Word(method));
        self.set("server.address", || Value::Id(host.to_owned()));
        if let Some(port) = port {
            self.set("server.port", || Value::Number(port.into()));
        }
    }

    pub fn client(&mut self, client_id: &ClientId) {
        self.set("passerelle.client_id", || Value::Id(client_id.to_string()));
    }

    pub fn connector(&mut self, connector: &ConnectorId) {
        self.set("passerelle.connector", || Value::Id(connector.to_string()));
    }

    /// As the login machine calls it.
    pub fn state(&mut self, state: &'static str) {
        self.set("passerelle.login.state", || Value::Word(state));
    }

    /// One of a few words of ours for how it went.
    pub fn outcome(&mut self, outcome: &'static str) {
        self.set("passerelle.outcome", || Value::Word(outcome));
    }

    /// It did not succeed, and this is why.
    pub fn refused(&mut self, code: ErrorCode) {
        self.failed(code.entry().code);
    }

    /// The same, where the reason is no code of the catalogue but a word of ours.
    pub fn failed(&mut self, word: &'static str) {
        self.set("error.type", || Value::Word(word));
        if let Some(live) = &mut self.live {
            live.finished.failed = true;
        }
    }

    fn set(&mut self, key: &'static str, value: impl FnOnce() -> Value) {
        if let Some(live) = &mut self.live {
            live.finished.attributes.push((key, value()));
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let (Some(live), Some(recording)) = (self.live.take(), self.scope.recording()) else {
            return;
        };
        let Live { mut finished, since } = *live;
        let took: Duration = since.elapsed();
        finished.ended =
            finished.began.saturating_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        recording.keep(finished);
    }
}
