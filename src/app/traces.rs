//! The traces of a running hub: its collector by the settings, called through the one way out.

use std::sync::Arc;

use async_trait::async_trait;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use openidconnect::HttpRequest;

use super::BuildFault;
use crate::config::Loaded;
use crate::config::traces::Propagate;
use crate::egress::guard::{CallLimits, Guard, GuardFault, Schemes};
use crate::env::Env;
use crate::telemetry::Metrics;
use crate::telemetry::export::{self, Exporter, Queue, Transport, Undelivered};
use crate::telemetry::otlp::Resource;
use crate::telemetry::trace::{Propagation, Sampling, Tracer};

/// A hub's tracing, of which nothing runs yet. The default keeps no spans.
#[derive(Default)]
pub(super) struct Traces {
    pub tracer: Tracer,
    export: Option<(Queue, Exporter)>,
}

/// # Errors
/// The collector can't be called as configured.
pub(super) fn prepare(
    loaded: &Loaded,
    env: &Env,
    metrics: &Arc<Metrics>,
) -> Result<Traces, BuildFault> {
    let settings = &loaded.settings.traces;
    let Some(endpoint) = &settings.endpoint else { return Ok(Traces::default()) };
    let refused = |why: String| BuildFault::Traces(why);
    let url = url::Url::parse(endpoint).map_err(|error| refused(error.to_string()))?;
    let schemes = if settings.insecure_http { Schemes::HttpToo } else { Schemes::HttpsOnly };
    let guard = Guard::new(schemes, &settings.internal_hosts, CallLimits::DEFAULT)
        .map_err(|fault| refused(fault.to_string()))?;
    guard.admit(&url).map_err(|fault| refused(fault.to_string()))?;
    let mut headers =
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    for (name, secret) in &loaded.trace_headers {
        let name = HeaderName::try_from(name)
            .map_err(|_| refused(format!("{name} is no header's name")))?;
        let mut value = HeaderValue::from_str(secret.reveal())
            .map_err(|_| refused(format!("{name} can't be sent")))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let version = ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let own = [("service.name".to_owned(), settings.service_name.clone()), version];
    let others = settings.resource.iter().map(|(key, value)| (key.clone(), value.clone()));
    let collector = Collector { guard, endpoint: endpoint.clone(), headers };
    let resource = Resource(own.into_iter().chain(others).collect());
    let (queue, exporter) =
        export::queue(settings.queue_spans, resource, Box::new(collector), metrics);
    let sampling = if settings.trust_sampled { Sampling::Callers } else { Sampling::Ours };
    let propagation = match settings.propagate {
        Propagate::Nobody => Propagation::Nobody,
        Propagate::Register => Propagation::Register,
        Propagate::Everybody => Propagation::Everybody,
    };
    let tracer =
        Tracer::new(settings.sample_ratio, sampling, propagation, queue.clone(), env.clone());
    Ok(Traces { tracer, export: Some((queue, exporter)) })
}

impl Traces {
    /// Begins to export. Gives what is to be flushed at the end.
    pub fn start(self) -> Option<Queue> {
        let (queue, exporter) = self.export?;
        actix::spawn(exporter.run());
        Some(queue)
    }
}

struct Collector {
    guard: Guard,
    endpoint: String,
    headers: HeaderMap,
}

#[async_trait]
impl Transport for Collector {
    async fn send(&self, body: Vec<u8>) -> Result<u64, Undelivered> {
        let mut request: HttpRequest = http::Request::post(self.endpoint.as_str())
            .body(body)
            .map_err(|_| Undelivered::ForGood("the endpoint is no address".to_owned()))?;
        *request.headers_mut() = self.headers.clone();
        let answer = self.guard.send(request).await.map_err(|fault| match fault {
            GuardFault::Unreachable { .. } | GuardFault::Timeout(_) => {
                Undelivered::ForNow(fault.to_string())
            }
            GuardFault::AddressForbidden(_) | GuardFault::TooLarge { .. } => {
                Undelivered::ForGood(fault.to_string())
            }
        })?;
        match answer.status().as_u16() {
            200..=299 => Ok(rejected(answer.body())),
            // OTLP 1.5, "Failures", "Retryable Response Codes"
            status @ (429 | 502 | 503 | 504) => {
                Err(Undelivered::ForNow(format!("it answered with status {status}")))
            }
            status => Err(Undelivered::ForGood(format!("it answered with status {status}"))),
        }
    }
}

/// `ExportTracePartialSuccess`: a 64-bit number, which JSON may hold as text.
fn rejected(body: &[u8]) -> u64 {
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
            assert_eq!(rejected(body.as_bytes()), count, "{body}");
        }
    }
}
