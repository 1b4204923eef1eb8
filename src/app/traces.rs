//! Sets up the export of traces to the configured collector.

use std::sync::Arc;

use async_trait::async_trait;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use openidconnect::HttpRequest;

use super::build_error::BuildError;
use crate::config::LoadedConfig;
use crate::config::model::TracePropagation;
use crate::egress::safe_http_client::{AllowedSchemes, CallLimits, EgressError, SafeHttpClient};
use crate::env::Env;
use crate::telemetry::Metrics;
use crate::telemetry::export::{self, ExportError, SpanExporter, SpanQueue, SpanTransport};
use crate::telemetry::otlp::Resource;
use crate::telemetry::trace::{Propagation, Sampling, Tracer};

/// Tracer and exporter, not started. The default records no spans.
#[derive(Default)]
pub(super) struct TraceExport {
    pub tracer: Tracer,
    export: Option<(SpanQueue, SpanExporter)>,
}

/// Prepares the export of traces.
///
/// # Errors
/// Returns an error if the collector can't be called as configured.
pub(super) fn prepare_traces(
    loaded: &LoadedConfig,
    env: &Env,
    metrics: &Arc<Metrics>,
) -> Result<TraceExport, BuildError> {
    let settings = &loaded.settings.traces;
    let Some(endpoint) = &settings.endpoint else { return Ok(TraceExport::default()) };
    let refused = |why: String| BuildError::Traces(why);
    let url = url::Url::parse(endpoint).map_err(|error| refused(error.to_string()))?;
    let schemes = if settings.insecure_http {
        AllowedSchemes::HttpAndHttps
    } else {
        AllowedSchemes::HttpsOnly
    };
    let guard = SafeHttpClient::new(schemes, &settings.internal_hosts, CallLimits::DEFAULT)
        .map_err(|fault| refused(fault.to_string()))?;
    guard.check_url(&url).map_err(|fault| refused(fault.to_string()))?;
    let mut headers =
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    for (name, secret) in &loaded.trace_headers {
        let name = HeaderName::try_from(name)
            .map_err(|_| refused(format!("{name} is not a header name")))?;
        let mut value = HeaderValue::from_str(secret.reveal())
            .map_err(|_| refused(format!("the value of {name} can't be sent as a header")))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let version = ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let own = [("service.name".to_owned(), settings.service_name.clone()), version];
    let others = settings.resource.iter().map(|(key, value)| (key.clone(), value.clone()));
    let collector = CollectorTransport { guard, endpoint: endpoint.clone(), headers };
    let resource = Resource(own.into_iter().chain(others).collect());
    let (queue, exporter) =
        export::span_queue(settings.queue_spans, resource, Box::new(collector), metrics);
    let sampling = if settings.trust_sampled { Sampling::CallerFlag } else { Sampling::HubRatio };
    let propagation = match settings.propagate {
        TracePropagation::None => Propagation::Disabled,
        TracePropagation::Register => Propagation::RegisterOnly,
        TracePropagation::All => Propagation::AllPeers,
    };
    let tracer =
        Tracer::new(settings.sample_ratio, sampling, propagation, queue.clone(), env.clone());
    Ok(TraceExport { tracer, export: Some((queue, exporter)) })
}

impl TraceExport {
    /// Starts the export. Returns the queue to flush at shutdown.
    pub fn start_export(self) -> Option<SpanQueue> {
        let (queue, exporter) = self.export?;
        actix::spawn(exporter.run());
        Some(queue)
    }
}

struct CollectorTransport {
    guard: SafeHttpClient,
    endpoint: String,
    headers: HeaderMap,
}

#[async_trait]
impl SpanTransport for CollectorTransport {
    async fn send(&self, body: Vec<u8>) -> Result<u64, ExportError> {
        let mut request: HttpRequest = http::Request::post(self.endpoint.as_str())
            .body(body)
            .map_err(|_| ExportError::Permanent("the endpoint is not a URL".to_owned()))?;
        *request.headers_mut() = self.headers.clone();
        let answer = self.guard.send(request).await.map_err(|fault| match fault {
            EgressError::Unreachable { .. } | EgressError::Timeout(_) => {
                ExportError::Retryable(fault.to_string())
            }
            EgressError::AddressForbidden(_) | EgressError::TooLarge { .. } => {
                ExportError::Permanent(fault.to_string())
            }
        })?;
        match answer.status().as_u16() {
            200..=299 => Ok(rejected_spans(answer.body())),
            // OTLP 1.5, "Failures", "Retryable Response Codes"
            status @ (429 | 502 | 503 | 504) => {
                Err(ExportError::Retryable(format!("it answered with status {status}")))
            }
            status => Err(ExportError::Permanent(format!("it answered with status {status}"))),
        }
    }
}

/// Reads `ExportTracePartialSuccess.rejected_spans`, a 64-bit number that JSON may hold as a
/// string.
fn rejected_spans(body: &[u8]) -> u64 {
    let answer: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let count = answer.pointer("/partialSuccess/rejectedSpans");
    count.and_then(|count| count.as_u64().or_else(|| count.as_str()?.parse().ok())).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_success_is_read_in_both_spellings() {
        for (body, count) in [
            (r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"x"}}"#, 3),
            (r#"{"partialSuccess":{"rejectedSpans":3}}"#, 3),
            ("{}", 0),
            ("", 0),
            ("<html>", 0),
        ] {
            assert_eq!(rejected_spans(body.as_bytes()), count, "{body}");
        }
    }
}
