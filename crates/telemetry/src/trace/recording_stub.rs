//! Stands in for `recording.rs` in builds without the Cargo feature `otlp`: no tracer has a
//! configuration, so no span is recorded and nothing here can be called.
#![expect(
    clippy::unnecessary_box_returns,
    clippy::unused_async,
    reason = "the signatures are those of recording.rs"
)]

use std::sync::Arc;
use std::time::Duration;

use super::Propagation;
use passerelle_protocol::ids::SupportId;
use passerelle_protocol::trace_context::{SpanId, TraceContext, TraceId};

/// Stand-in for the configuration of a tracer; has no value.
pub(super) enum TracerConfig {}

/// Stand-in for the spans of a request; has no value.
pub(super) enum SpanRecording {}

/// Stand-in for a span that has not ended; has no value.
pub(super) enum ActiveSpan {}

/// Stand-in for the span kind of OpenTelemetry.
pub(super) enum SpanKind {
    Internal,
    Client,
}

macro_rules! uncallable {
    ($type:ident { $(fn $name:ident($($argument:ty),*) $(-> $output:ty)?;)* }) => {
        impl $type {
            $(pub(super) fn $name(&self, $(_: $argument),*) $(-> $output)? {
                match *self {}
            })*
        }
    };
}

impl TracerConfig {
    /// Never called: the configuration has no value.
    pub(super) async fn flush(&self, _: Duration) {
        match *self {}
    }
}

impl SpanRecording {
    /// Never called: the configuration has no value.
    pub(super) fn start(config: &Arc<TracerConfig>, _: Option<TraceContext>) -> Option<Self> {
        match **config {}
    }
}

uncallable!(SpanRecording {
    fn join_login(TraceContext);
    fn start_login() -> TraceContext;
    fn login() -> Option<TraceContext>;
    fn exported_trace() -> Option<TraceId>;
    fn propagation() -> Propagation;
    fn start_root() -> Box<ActiveSpan>;
    fn start_span(Option<SpanId>, SpanKind, &'static str) -> Option<Box<ActiveSpan>>;
    fn end(ActiveSpan);
    fn finish(Option<SupportId>);
});

uncallable!(ActiveSpan {
    fn id() -> SpanId;
    fn set_name(impl Sized);
    fn set_attribute(&'static str, impl Sized);
    fn set_failed();
    fn is_client() -> bool;
});
