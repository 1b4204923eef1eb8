//! Finished spans, as they are queued and exported.

use std::borrow::Cow;

use crate::ids::SupportId;
use crate::protocol::trace_context::{SpanId, TraceContext, TraceId};

/// Finished spans of one request, whose trace id is final.
pub struct SpanBatch {
    pub trace_id: TraceId,
    pub root: SpanId,
    /// Parent of the request's own span.
    pub parent: Option<SpanId>,
    /// Trace of the caller, if it differs.
    pub link: Option<TraceContext>,
    pub support_id: Option<SupportId>,
    pub spans: Vec<FinishedSpan>,
}

/// A finished span.
pub struct FinishedSpan {
    pub id: SpanId,
    /// `None` for the request's own span.
    pub parent: Option<SpanId>,
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    /// Nanoseconds since the Unix epoch.
    pub start_nanos: u64,
    pub end_nanos: u64,
    pub failed: bool,
    pub attributes: Vec<(&'static str, AttributeValue)>,
}

/// Kind of a span, with its OTLP number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpanKind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// Value of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttributeValue {
    /// A constant of the program.
    Static(&'static str),
    /// A configured id, or a host name.
    Id(String),
    Number(i64),
}
