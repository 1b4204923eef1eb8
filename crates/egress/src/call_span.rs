//! Tracing span of an outgoing call, and its `traceparent` header.
//!
//! A span holds the method, host and port, never the path or query, which may contain codes, tokens
//! or identities.

use http::{HeaderValue, StatusCode};
use reqwest::Request;

use super::error::EgressError;
use passerelle_telemetry::trace::{self, Span};

/// Span of one outgoing call.
pub(crate) struct CallSpan(Span);

impl CallSpan {
    /// Starts the span of `request`.
    pub(crate) fn start(request: &Request) -> Self {
        let method = if request.method() == http::Method::POST { "POST" } else { "GET" };
        let mut span = trace::start_call(method);
        span.set_server(
            method,
            request.url().host_str().unwrap_or_default(),
            request.url().port_or_known_default(),
        );
        Self(span)
    }

    /// Returns the request with a `traceparent` header, if the called party may see the trace.
    pub(crate) fn with_traceparent(&self, mut request: Request) -> Request {
        if let Some(value) = self.0.traceparent().and_then(|text| HeaderValue::from_str(&text).ok())
        {
            request.headers_mut().insert("traceparent", value);
        }
        request
    }

    /// Records the status or the error of the call.
    pub(crate) fn record_outcome(&mut self, outcome: Result<StatusCode, &EgressError>) {
        match outcome {
            Ok(status) => self.0.set_status(status.as_u16()),
            Err(error) => self.0.fail_with(match error {
                EgressError::AddressForbidden(_) => "address_forbidden",
                EgressError::Unreachable { .. } | EgressError::CertificateTime { .. } => {
                    "unreachable"
                }
                EgressError::Timeout(_) => "timeout",
                EgressError::TooLarge { .. } => "too_large",
                EgressError::Encoding { .. } => "encoding",
            }),
        }
    }
}
