//! An outgoing call's span, and what the called party hears of the trace.
//!
//! A call is told by method, host and port: never by path or query, where codes, tokens and identities travel.

use http::HeaderValue;
use openidconnect::HttpResponse;
use reqwest::Request;

use super::guard::GuardFault;
use crate::telemetry::trace::{self, Span};

pub struct Call(Span);

impl Call {
    pub fn begin(request: &Request) -> Self {
        let method = if request.method() == http::Method::POST { "POST" } else { "GET" };
        let mut span = trace::call(method);
        span.host(
            method,
            request.url().host_str().unwrap_or_default(),
            request.url().port_or_known_default(),
        );
        Self(span)
    }

    /// The request, with `traceparent` if its party may hear of it.
    pub fn along(&self, mut request: Request) -> Request {
        if let Some(value) = self.0.traceparent().and_then(|text| HeaderValue::from_str(&text).ok())
        {
            request.headers_mut().insert("traceparent", value);
        }
        request
    }

    pub fn end(&mut self, answer: &Result<HttpResponse, GuardFault>) {
        match answer {
            Ok(answer) => self.0.status(answer.status().as_u16()),
            Err(fault) => self.0.failed(match fault {
                GuardFault::AddressForbidden(_) => "address_forbidden",
                GuardFault::Unreachable { .. } => "unreachable",
                GuardFault::Timeout(_) => "timeout",
                GuardFault::TooLarge { .. } => "too_large",
            }),
        }
    }
}
