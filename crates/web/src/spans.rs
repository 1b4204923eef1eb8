//! Starts the span of a request.
//!
//! The table of routes says which are traced, and at which of them the caller's `traceparent` is
//! read. Does not depend on whether or where spans are exported.

use std::future::Future;

use actix_web::Error;
use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::HeaderName;

use super::route_table::{RequestTracing, RouteTable};
use passerelle_telemetry::trace::{Span, Tracer};

static TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Span of a request.
pub(crate) struct RequestSpan {
    method: &'static str,
    /// `None` if the path is not traced.
    span: Option<Span>,
}

/// Starts the span of a request, if its path is traced.
pub(crate) fn start_request_span(
    tracer: &Tracer,
    routes: &RouteTable,
    request: &ServiceRequest,
) -> RequestSpan {
    let span = match routes.find(request.path()).map(|row| row.tracing) {
        Some(RequestTracing::CallersTrace) => Some(tracer.start_request(traceparent(request))),
        Some(RequestTracing::Span) => Some(tracer.start_request(None)),
        Some(RequestTracing::Off) | None => None,
    };
    RequestSpan { method: method_name(request.method()), span }
}

impl RequestSpan {
    /// Runs `work` inside the span.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.span {
            Some(span) => span.run(work).await,
            None => work.await,
        }
    }

    /// Records route, method and status of the response.
    pub(crate) fn record_response(&mut self, answer: &Result<ServiceResponse<BoxBody>, Error>) {
        let Some(span) = self.span.as_mut().filter(|span| span.is_recorded()) else { return };
        let (route, status) = match answer {
            Ok(response) => (response.request().match_pattern(), response.status()),
            Err(error) => (None, error.as_response_error().status_code()),
        };
        span.set_route(self.method, route);
        span.set_status(status.as_u16());
    }
}

/// Returns the `traceparent` header; `None` if it is repeated (W3C Trace Context §3.2).
fn traceparent(request: &ServiceRequest) -> Option<&str> {
    let mut all = request.headers().get_all(&TRACEPARENT);
    let one = all.next()?.to_str().ok();
    one.filter(|_| all.next().is_none())
}

/// Returns the method as OpenTelemetry names it; `_OTHER` for unknown methods.
fn method_name(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "_OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::SandboxRoutes;
    use crate::routes::route_table;
    use actix_web::test::TestRequest;

    const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa01a902b7-01";

    #[test]
    fn a_repeated_traceparent_is_ignored() {
        let request = || TestRequest::default().append_header(("traceparent", CALLER));
        assert_eq!(traceparent(&request().to_srv_request()), Some(CALLER));
        assert_eq!(
            traceparent(&request().append_header(("traceparent", CALLER)).to_srv_request()),
            None
        );
        assert_eq!(traceparent(&TestRequest::default().to_srv_request()), None);
    }

    #[test]
    fn only_the_requests_of_logins_have_spans() {
        let routes = route_table(SandboxRoutes::On, &[]);
        for (path, traced) in [
            ("/api/v2/authorize", true),
            ("/api/v2/interaction/x/consent", true),
            ("/connectors/town/login", true),
            ("/api/v2/jwks", false),
            ("/assets/style.css", false),
            ("/api/v2/token/else", false),
        ] {
            let request = TestRequest::default().uri(path).to_srv_request();
            assert_eq!(
                start_request_span(&Tracer::disabled(), &routes, &request).span.is_some(),
                traced,
                "{path}"
            );
        }
    }
}
