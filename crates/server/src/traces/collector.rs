//! Sends spans to the configured collector: OTLP over HTTP, in protobuf, by the hub's guarded
//! client.

use std::sync::Arc;

use async_trait::async_trait;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use openidconnect::HttpRequest;
use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;

use passerelle_config::LoadedConfig;
use passerelle_config::model::{TracePropagation, TracesConfig};
use passerelle_egress::safe_http_client::{
    AllowedSchemes, CallLimits, EgressError, SafeHttpClient,
};
use passerelle_protocol::env::Env;
use passerelle_telemetry::Metrics;
use passerelle_telemetry::export::{BatchExporter, ExportError, SpanTransport, span_queue};
use passerelle_telemetry::trace::{Propagation, Sampling, Tracer};

/// Returns the tracer and the exporter for the collector at `endpoint`.
///
/// # Errors
/// Returns why the collector can't be called as configured.
pub(super) fn prepare_export(
    endpoint: &str,
    loaded: &LoadedConfig,
    env: &Env,
    metrics: &Arc<Metrics>,
) -> Result<(Tracer, BatchExporter), String> {
    let settings = &loaded.settings.traces;
    let collector = Box::new(CollectorTransport::new(endpoint, loaded)?);
    let (queue, exporter) =
        span_queue(settings.queue_spans, resource(settings), collector, metrics);
    let sampling = if settings.trust_sampled { Sampling::CallerFlag } else { Sampling::HubRatio };
    let propagation = match settings.propagate {
        TracePropagation::None => Propagation::Disabled,
        TracePropagation::Register => Propagation::RegisterOnly,
        TracePropagation::All => Propagation::AllPeers,
    };
    let tracer = Tracer::new(settings.sample_ratio, sampling, propagation, queue, env.clone());
    Ok((tracer, exporter))
}

/// Returns the attributes of the resource.
fn resource(settings: &TracesConfig) -> Vec<KeyValue> {
    let name = KeyValue::new("service.name", settings.service_name.clone());
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let configured = settings.resource.iter();
    let configured = configured.map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    [name, version].into_iter().chain(configured).collect()
}

struct CollectorTransport {
    http: SafeHttpClient,
    endpoint: String,
    headers: HeaderMap,
}

impl CollectorTransport {
    fn new(endpoint: &str, loaded: &LoadedConfig) -> Result<Self, String> {
        let settings = &loaded.settings.traces;
        let url = url::Url::parse(endpoint).map_err(|error| error.to_string())?;
        let schemes = if settings.insecure_http {
            AllowedSchemes::HttpAndHttps
        } else {
            AllowedSchemes::HttpsOnly
        };
        let http = SafeHttpClient::new(schemes, &settings.internal_hosts, CallLimits::DEFAULT)
            .map_err(|error| error.to_string())?;
        http.check_url(&url).map_err(|error| error.to_string())?;
        let content_type = HeaderValue::from_static("application/x-protobuf");
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, content_type)]);
        for (name, secret) in &loaded.trace_headers {
            let name =
                HeaderName::try_from(name).map_err(|_| format!("{name} is not a header name"))?;
            let mut value = HeaderValue::from_str(secret.reveal())
                .map_err(|_| format!("the value of {name} can't be sent as a header"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(Self { http, endpoint: endpoint.to_owned(), headers })
    }
}

#[async_trait]
impl SpanTransport for CollectorTransport {
    async fn send(&self, body: Vec<u8>) -> Result<usize, ExportError> {
        let mut request: HttpRequest = http::Request::post(self.endpoint.as_str())
            .body(body)
            .map_err(|_| ExportError::Permanent("the endpoint is not a URL".to_owned()))?;
        *request.headers_mut() = self.headers.clone();
        let response = self.http.send(request).await.map_err(|error| match error {
            EgressError::Unreachable { .. }
            | EgressError::CertificateTime { .. }
            | EgressError::Timeout(_) => ExportError::Retryable(error.to_string()),
            EgressError::AddressForbidden(_)
            | EgressError::TooLarge { .. }
            | EgressError::Encoding { .. } => ExportError::Permanent(error.to_string()),
        })?;
        match response.status().as_u16() {
            200..=299 => Ok(rejected_spans(response.body())),
            // OTLP 1.5, "Failures", "Retryable Response Codes"
            status @ (429 | 502 | 503 | 504) => {
                Err(ExportError::Retryable(format!("it answered with status {status}")))
            }
            status => Err(ExportError::Permanent(format!("it answered with status {status}"))),
        }
    }
}

/// Reads `ExportTracePartialSuccess.rejected_spans`; a body that can't be read rejects none.
fn rejected_spans(body: &[u8]) -> usize {
    let response = ExportTraceServiceResponse::decode(body).unwrap_or_default();
    let rejected = response.partial_success.map_or(0, |partial| partial.rejected_spans);
    usize::try_from(rejected).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTracePartialSuccess;

    #[test]
    fn a_partial_success_is_read() {
        let rejects = |rejected_spans| {
            let partial = ExportTracePartialSuccess { rejected_spans, error_message: "x".into() };
            ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec()
        };
        for (body, count) in [
            (rejects(3), 3),
            (rejects(-1), 0),
            (Vec::new(), 0),
            (b"{}".to_vec(), 0),
            (b"<html>".to_vec(), 0),
        ] {
            assert_eq!(rejected_spans(&body), count, "{body:?}");
        }
    }
}
