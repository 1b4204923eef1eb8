//! Stands in for `recording.rs` in builds without the Cargo feature `otlp`: no span is recorded.

use std::sync::Arc;
use std::time::Duration;

use super::Propagation;
use crate::ids::SupportId;
use crate::protocol::trace_context::{SpanId, TraceContext, TraceId};

pub(super) enum TracerConfig {}

pub(super) enum SpanRecording {}

pub(super) struct ActiveSpan {
    pub id: SpanId,
    never: std::convert::Infallible,
}

#[derive(Clone, Copy)]
pub(super) enum SpanKind {
    Internal,
    Client,
}

impl TracerConfig {
    pub(super) async fn flush(&self, _: Duration) {
        match *self {}
    }
}

impl SpanRecording {
    pub(super) fn start(config: &Arc<TracerConfig>, _: Option<TraceContext>) -> Option<Self> {
        match **config {}
    }

    pub(super) const fn join_login(&self, _: TraceContext) {
        match *self {}
    }

    pub(super) const fn start_login(&self) -> TraceContext {
        match *self {}
    }

    pub(super) const fn login(&self) -> Option<TraceContext> {
        match *self {}
    }

    pub(super) const fn exported_trace(&self) -> Option<TraceId> {
        match *self {}
    }

    pub(super) const fn propagation(&self) -> Propagation {
        match *self {}
    }

    pub(super) const fn start_root(&self) -> Box<ActiveSpan> {
        match *self {}
    }

    pub(super) fn start_span(
        &self,
        _: Option<SpanId>,
        _: SpanKind,
        _: &'static str,
    ) -> Option<Box<ActiveSpan>> {
        match *self {}
    }

    pub(super) fn end(&self, _: ActiveSpan) {
        match *self {}
    }

    pub(super) fn finish(self, _: Option<SupportId>) {
        match self {}
    }
}

impl ActiveSpan {
    pub(super) fn set_name<T>(&mut self, _: T) {
        match self.never {}
    }

    pub(super) fn set_attribute<T>(&mut self, _: &'static str, _: T) {
        match self.never {}
    }

    pub(super) const fn set_failed(&mut self) {
        match self.never {}
    }

    pub(super) const fn is_client(&self) -> bool {
        match self.never {}
    }
}
