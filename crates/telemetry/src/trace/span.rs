//! A span and its attributes: constants, registered ids, numbers and host names. No method takes
//! arbitrary text.

use std::future::Future;

use futures_util::future::Either;
use tokio::task::futures::TaskLocalFuture;

use super::recording::ActiveSpan;
use super::{TracePeer, TraceScope};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_protocol::trace_context::TraceContext;

/// An open span. It ends when dropped, also by a panic or a cancelled future.
pub struct Span {
    pub(super) scope: TraceScope,
    pub(super) active: Option<Box<ActiveSpan>>,
}

impl Span {
    /// Runs `work` within this span. Box a large future first: it is moved by value.
    pub fn run<W: Future>(&self, work: W) -> Either<W, TaskLocalFuture<TraceScope, W>> {
        // An unrecorded span can use the running scope if it belongs to the same request.
        if self.active.is_none() && self.scope.is_running() {
            return Either::Left(work);
        }
        Either::Right(self.scope.clone().run(work))
    }

    /// Returns whether attributes of the span are recorded.
    pub const fn is_recorded(&self) -> bool {
        self.active.is_some()
    }

    /// Returns the scope of this span, for a message or a task.
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
    pub fn traceparent(&self) -> Option<String> {
        let (active, recording) = (self.active.as_ref()?, self.scope.recording()?);
        let trace_id = recording.exported_trace()?;
        let is_allowed = recording.propagation().includes(self.scope.peer?);
        let context = TraceContext { trace_id, span_id: active.id(), sampled: true };
        is_allowed.then(|| context.to_string())
    }

    /// Names the span `{method} {route}`, with the pattern of the route, never the path.
    pub fn set_route(&mut self, method: &'static str, route: Option<String>) {
        let Some(active) = &mut self.active else { return };
        active.set_attribute("http.request.method", method);
        let Some(route) = route else { return active.set_name(method) };
        active.set_name(format!("{method} {route}"));
        active.set_attribute("http.route", route);
    }

    /// Sets the HTTP status.
    pub fn set_status(&mut self, status: u16) {
        let Some(active) = &mut self.active else { return };
        active.set_attribute("http.response.status_code", i64::from(status));
        // OpenTelemetry HTTP conventions: 4xx is an error of client spans only.
        if status >= if active.is_client() { 400 } else { 500 } {
            active.set_failed();
        }
    }

    /// Sets the method and the server of an outgoing call.
    pub fn set_server(&mut self, method: &'static str, host: &str, port: Option<u16>) {
        let Some(active) = &mut self.active else { return };
        active.set_attribute("http.request.method", method);
        active.set_attribute("server.address", host.to_owned());
        if let Some(port) = port {
            active.set_attribute("server.port", i64::from(port));
        }
    }

    /// Sets the service provider or data provider.
    pub fn set_client(&mut self, client_id: &ClientId) {
        if let Some(active) = &mut self.active {
            active.set_attribute("passerelle.client_id", client_id.to_string());
        }
    }

    /// Sets the connector.
    pub fn set_connector(&mut self, connector: &ConnectorId) {
        if let Some(active) = &mut self.active {
            active.set_attribute("passerelle.connector", connector.to_string());
        }
    }

    /// Sets the state of the login.
    pub fn set_login_state(&mut self, state: &'static str) {
        if let Some(active) = &mut self.active {
            active.set_attribute("passerelle.login.state", state);
        }
    }

    /// Sets the outcome, one of a few constants.
    pub fn set_outcome(&mut self, outcome: &'static str) {
        if let Some(active) = &mut self.active {
            active.set_attribute("passerelle.outcome", outcome);
        }
    }

    /// Marks the span as failed with a code of the catalogue.
    pub fn fail_with_code(&mut self, code: ErrorCode) {
        self.fail_with(code.entry().code);
    }

    /// Marks the span as failed for a reason without a code.
    pub fn fail_with(&mut self, reason: &'static str) {
        if let Some(active) = &mut self.active {
            active.set_attribute("error.type", reason);
            active.set_failed();
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let (Some(active), Some(recording)) = (self.active.take(), self.scope.recording()) {
            recording.end(*active);
        }
    }
}
