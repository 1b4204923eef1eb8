//! A span and its attributes: constants, registered ids, numbers and host names. No method takes
//! arbitrary text.

use std::borrow::Cow;
use std::future::Future;
use std::time::Duration;

use futures_util::future::Either;
use tokio::task::futures::TaskLocalFuture;
use tokio::time::Instant;

use super::{Propagation, TracePeer, TraceScope};
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::trace_context::{SpanId, TraceContext};
use crate::telemetry::finished_span::{AttributeValue, FinishedSpan, SpanKind};

/// An open span. It ends when dropped, also by a panic or a cancelled future.
pub struct Span {
    pub(super) scope: TraceScope,
    pub(super) active: Option<Box<ActiveSpan>>,
}

/// Recorded span that has not ended.
pub(super) struct ActiveSpan {
    finished: FinishedSpan,
    started_at: Instant,
}

impl Span {
    /// Starts a span; without an id it is not recorded.
    pub(super) fn start(
        scope: TraceScope,
        id: Option<SpanId>,
        parent: Option<SpanId>,
        name: &'static str,
        kind: SpanKind,
    ) -> Self {
        let live = id.zip(scope.recording()).map(|(id, recording)| {
            let since = if parent.is_none() { recording.began.1 } else { Instant::now() };
            let began = recording.unix_nanos(since);
            let (name, attributes) = (Cow::Borrowed(name), Vec::new());
            let finished = FinishedSpan {
                id,
                parent,
                name,
                kind,
                start_nanos: began,
                end_nanos: began,
                failed: false,
                attributes,
            };
            Box::new(ActiveSpan { finished, started_at: since })
        });
        Self { scope, active: live }
    }

    /// Runs `work` within this span. Box a large future first: it is moved by value.
    pub fn run<W: Future>(&self, work: W) -> Either<W, TaskLocalFuture<TraceScope, W>> {
        // An unrecorded span can use the running scope if it belongs to the same request.
        if self.active.is_none() && self.scope.is_running() {
            return Either::Left(work);
        }
        Either::Right(self.scope.clone().run(work))
    }

    /// Returns the scope of this span, for a message or a task.
    #[must_use]
    pub fn scope(&self) -> TraceScope {
        self.scope.clone()
    }

    /// Sets the peer that calls within this span go to.
    #[must_use]
    pub const fn with_peer(mut self, party: TracePeer) -> Self {
        self.scope.peer = Some(party);
        self
    }

    /// Returns the `traceparent` header of a call, if its peer may receive it.
    #[must_use]
    pub fn traceparent(&self) -> Option<String> {
        let (live, party, recording) =
            (self.active.as_ref()?, self.scope.peer?, self.scope.recording()?);
        match (recording.rules.propagation, party) {
            (Propagation::AllPeers, _) | (Propagation::RegisterOnly, TracePeer::Register) => {}
            (Propagation::Disabled, _)
            | (Propagation::RegisterOnly, TracePeer::IdentityProvider) => {
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

    /// Names the span `{method} {route}`, with the pattern of the route, never the path.
    pub fn set_route(&mut self, method: &'static str, route: Option<String>) {
        let Some(live) = &mut self.active else { return };
        live.finished.name = match &route {
            Some(route) => Cow::Owned(format!("{method} {route}")),
            None => Cow::Borrowed(method),
        };
        live.finished.attributes.push(("http.request.method", AttributeValue::Static(method)));
        if let Some(route) = route {
            live.finished.attributes.push(("http.route", AttributeValue::Id(route)));
        }
    }

    /// Sets the HTTP status.
    pub fn set_status(&mut self, status: u16) {
        self.set_attribute("http.response.status_code", || AttributeValue::Number(status.into()));
        if let Some(live) = &mut self.active {
            // OpenTelemetry HTTP conventions: 4xx is an error of client spans only.
            live.finished.failed |=
                status >= if live.finished.kind == SpanKind::Client { 400 } else { 500 };
        }
    }

    /// Sets the method and the server of an outgoing call.
    pub fn set_server(&mut self, method: &'static str, host: &str, port: Option<u16>) {
        self.set_attribute("http.request.method", || AttributeValue::Static(method));
        self.set_attribute("server.address", || AttributeValue::Id(host.to_owned()));
        if let Some(port) = port {
            self.set_attribute("server.port", || AttributeValue::Number(port.into()));
        }
    }

    /// Sets the service provider or data provider.
    pub fn set_client(&mut self, client_id: &ClientId) {
        self.set_attribute("passerelle.client_id", || AttributeValue::Id(client_id.to_string()));
    }

    /// Sets the connector.
    pub fn set_connector(&mut self, connector: &ConnectorId) {
        self.set_attribute("passerelle.connector", || AttributeValue::Id(connector.to_string()));
    }

    /// Sets the state of the login.
    pub fn set_login_state(&mut self, state: &'static str) {
        self.set_attribute("passerelle.login.state", || AttributeValue::Static(state));
    }

    /// Sets the outcome, one of a few constants.
    pub fn set_outcome(&mut self, outcome: &'static str) {
        self.set_attribute("passerelle.outcome", || AttributeValue::Static(outcome));
    }

    /// Marks the span as failed with a code of the catalogue.
    pub fn fail_with_code(&mut self, code: ErrorCode) {
        self.fail_with(code.entry().code);
    }

    /// Marks the span as failed for a reason without a code.
    pub fn fail_with(&mut self, word: &'static str) {
        self.set_attribute("error.type", || AttributeValue::Static(word));
        if let Some(live) = &mut self.active {
            live.finished.failed = true;
        }
    }

    fn set_attribute(&mut self, key: &'static str, value: impl FnOnce() -> AttributeValue) {
        if let Some(live) = &mut self.active {
            live.finished.attributes.push((key, value()));
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let (Some(live), Some(recording)) = (self.active.take(), self.scope.recording()) else {
            return;
        };
        let ActiveSpan { mut finished, started_at: since } = *live;
        let took: Duration = since.elapsed();
        finished.end_nanos =
            finished.start_nanos.saturating_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        recording.record(finished);
    }
}
