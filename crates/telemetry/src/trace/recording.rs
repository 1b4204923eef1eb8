//! Records the spans of a request until it ends: only then its login, and so its trace, is known.

use std::borrow::Cow;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{Link, SpanContext, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use tokio::time::Instant;

use super::{Propagation, Sampling, Tracer};
use crate::export::SpanQueue;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::SupportId;
use passerelle_protocol::trace_context::{SpanId, TraceContext, TraceId};

pub(super) use opentelemetry::trace::SpanKind;

/// Maximum number of spans recorded for one request; the rest are counted as dropped.
pub(super) const MAX_SPANS_PER_REQUEST: usize = 128;

/// Configuration of a [`Tracer`].
pub(super) struct TracerConfig {
    env: Env,
    /// A trace is recorded if 64 random bits are below this.
    sample_threshold: u128,
    sampling: Sampling,
    propagation: Propagation,
    queue: SpanQueue,
    instrumentation: InstrumentationScope,
}

/// Spans of a request, until the last scope of it is dropped.
pub(super) struct SpanRecording {
    config: Arc<TracerConfig>,
    caller: Option<TraceContext>,
    /// The request's own span, in the caller's trace if there is one.
    own: TraceContext,
    /// Set once the login is known. Equal to `own` if the login starts here.
    login: OnceLock<TraceContext>,
    started_at: (SystemTime, Instant),
    last_span_id: AtomicU64,
    spans: Mutex<RecordedSpans>,
}

#[derive(Default)]
struct RecordedSpans {
    finished: Vec<SpanData>,
    dropped: usize,
}

/// Recorded span that has not ended. Its trace is set when the request ends.
pub(super) struct ActiveSpan {
    id: SpanId,
    data: SpanData,
}

impl Tracer {
    /// Creates a tracer that records the share `ratio` of logins, from 0 to 1.
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
        let sample_threshold = (ratio.clamp(0.0, 1.0) * 2_f64.powi(64)) as u128;
        let instrumentation = InstrumentationScope::builder("passerelle")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        Self(Some(Arc::new(TracerConfig {
            env,
            sample_threshold,
            sampling,
            propagation,
            queue,
            instrumentation,
        })))
    }
}

impl TracerConfig {
    /// Waits until every finished span was sent once to the collector, or until `limit`.
    pub(super) async fn flush(&self, limit: Duration) {
        self.queue.flush(limit).await;
    }
}

impl SpanRecording {
    /// Starts the recording; returns `None` for an all-zero id, which is invalid.
    pub(super) fn start(config: &Arc<TracerConfig>, caller: Option<TraceContext>) -> Option<Self> {
        let bits = config.env.entropy().bits256();
        let (trace, rest) = bits.split_first_chunk()?;
        let (span, rest) = rest.split_first_chunk()?;
        let draw = u128::from(u64::from_be_bytes(*rest.first_chunk()?));
        // Not a function of the trace id, which the caller may choose.
        let drawn = draw < config.sample_threshold;
        let sampled = match (config.sampling, caller) {
            (Sampling::CallerFlag, Some(caller)) => caller.sampled,
            (Sampling::HubRatio, _) | (Sampling::CallerFlag, None) => drawn,
        };
        let random_id = TraceId(NonZero::new(u128::from_be_bytes(*trace))?);
        let trace_id = caller.map_or(random_id, |caller| caller.trace_id);
        let root = u64::from_be_bytes(*span);
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(config.env.now().millis());
        Some(Self {
            config: Arc::clone(config),
            caller,
            own: TraceContext { trace_id, span_id: SpanId(NonZero::new(root)?), sampled },
            login: OnceLock::new(),
            started_at: (now, Instant::now()),
            last_span_id: AtomicU64::new(root),
            spans: Mutex::default(),
        })
    }

    /// Moves the request into the login's trace; the caller's trace becomes a link.
    pub(super) fn join_login(&self, login: TraceContext) {
        let _first = self.login.set(login);
    }

    /// Makes the request's trace the one of a new login.
    pub(super) fn start_login(&self) -> TraceContext {
        *self.login.get_or_init(|| self.own)
    }

    /// Returns the login's trace, once it is known.
    pub(super) fn login(&self) -> Option<TraceContext> {
        self.login.get().copied()
    }

    /// Returns the trace that the spans belong to, once it is known that they are exported.
    pub(super) fn exported_trace(&self) -> Option<TraceId> {
        self.login().filter(|login| login.sampled).map(|login| login.trace_id)
    }

    /// Returns which peers receive a `traceparent` header.
    pub(super) fn propagation(&self) -> Propagation {
        self.config.propagation
    }

    /// Starts the request's own span.
    pub(super) fn start_root(&self) -> Box<ActiveSpan> {
        self.new_span(self.own.span_id, None, SpanKind::Server, "")
    }

    /// Starts a span, unless it is known that none is exported.
    pub(super) fn start_span(
        &self,
        parent: Option<SpanId>,
        kind: SpanKind,
        name: &'static str,
    ) -> Option<Box<ActiveSpan>> {
        if self.login().is_some_and(|login| !login.sampled) {
            return None;
        }
        // Ids count from a random start: random ones would cost more than the rest of a span.
        let id = self.last_span_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        Some(self.new_span(SpanId(NonZero::new(id)?), parent, kind, name))
    }

    fn new_span(
        &self,
        id: SpanId,
        parent: Option<SpanId>,
        span_kind: SpanKind,
        name: &'static str,
    ) -> Box<ActiveSpan> {
        let start_time = self.system_time();
        let data = SpanData {
            span_context: otel_context(self.own, otel_span_id(Some(id))),
            parent_span_id: otel_span_id(parent),
            parent_span_is_remote: false,
            span_kind,
            name: Cow::Borrowed(name),
            start_time,
            end_time: start_time,
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: self.config.instrumentation.clone(),
        };
        Box::new(ActiveSpan { id, data })
    }

    /// Ends a span.
    pub(super) fn end(&self, span: ActiveSpan) {
        let ActiveSpan { mut data, .. } = span;
        data.end_time = self.system_time();
        let mut spans = self.spans();
        if spans.finished.len() < MAX_SPANS_PER_REQUEST {
            spans.finished.push(data);
        } else {
            spans.dropped += 1;
        }
    }

    /// Passes the spans to the exporter, if the trace is sampled.
    pub(super) fn finish(self, support_id: Option<SupportId>) {
        let trace = self.login().unwrap_or(self.own);
        let RecordedSpans { mut finished, dropped } = std::mem::take(&mut *self.spans());
        if !trace.sampled || finished.is_empty() {
            return;
        }
        let root = otel_span_id(Some(self.own.span_id));
        for span in &mut finished {
            let id = span.span_context.span_id();
            span.span_context = otel_context(trace, id);
            if id == root {
                self.finish_root(span, support_id.as_ref());
            }
        }
        self.config.queue.enqueue(finished, dropped);
    }

    fn finish_root(&self, span: &mut SpanData, support_id: Option<&SupportId>) {
        let joined = self.login().filter(|login| login.span_id != self.own.span_id);
        let parent = joined.or(self.caller);
        span.parent_span_id = otel_span_id(parent.map(|parent| parent.span_id));
        span.parent_span_is_remote = parent.is_some();
        let other = self
            .caller
            .filter(|caller| joined.is_some_and(|login| login.trace_id != caller.trace_id));
        span.links.links.extend(other.map(|caller| {
            Link::with_context(otel_context(caller, otel_span_id(Some(caller.span_id))))
        }));
        let support_id = support_id.map(ToString::to_string);
        span.attributes.extend(support_id.map(|id| KeyValue::new("passerelle.support_id", id)));
    }

    fn spans(&self) -> MutexGuard<'_, RecordedSpans> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn system_time(&self) -> SystemTime {
        let (began, instant) = self.started_at;
        began + instant.elapsed()
    }
}

impl ActiveSpan {
    /// Returns the id of the span.
    pub(super) const fn id(&self) -> SpanId {
        self.id
    }

    /// Sets the name of the span.
    pub(super) fn set_name(&mut self, name: impl Into<Cow<'static, str>>) {
        self.data.name = name.into();
    }

    /// Adds an attribute to the span.
    pub(super) fn set_attribute(&mut self, key: &'static str, value: impl Into<Value>) {
        self.data.attributes.push(KeyValue::new(key, value));
    }

    /// Sets the status of the span to error, without a description.
    pub(super) fn set_failed(&mut self) {
        self.data.status = Status::error("");
    }

    /// Returns whether the span is of a call to another server.
    pub(super) fn is_client(&self) -> bool {
        self.data.span_kind == SpanKind::Client
    }
}

fn otel_span_id(id: Option<SpanId>) -> opentelemetry::SpanId {
    id.map_or(0, |SpanId(id)| id.get()).into()
}

fn otel_context(trace: TraceContext, span_id: opentelemetry::SpanId) -> SpanContext {
    let flags = TraceFlags::NOT_SAMPLED.with_sampled(trace.sampled);
    SpanContext::new(trace.trace_id.0.get().into(), span_id, flags, false, TraceState::NONE)
}
