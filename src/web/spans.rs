//! A request's own span, and the scope that the rest of it works in.
//!
//! Owns: which addresses are traced, and at which of them a caller's `traceparent` is read. Must not know: whether spans are
//! kept, or where they go.

use std::future::Future;

use actix_web::Error;
use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;

use crate::protocol::discovery::path;
use crate::telemetry::trace::{Span, Tracer};

/// Where service providers and data providers call, or send a browser to, and may say which trace of theirs it belongs to.
/// Elsewhere only browsers come, and what they say is not asked for.
const TRACEPARENT_READ: [&str; 4] =
    [path::AUTHORIZE, path::TOKEN, path::USERINFO, path::INTROSPECTION];

/// The other addresses that a login goes by.
const OF_LOGINS: [&str; 5] = [
    "/api/v2/interaction/",
    "/api/v2/callback/",
    "/connectors/",
    path::REVOCATION,
    path::END_SESSION,
];

const TRACEPARENT: &str = "traceparent";

pub struct RequestSpan {
    method: &'static str,
    /// Absent where nothing is traced.
    span: Option<Span>,
}

pub fn begin(tracer: &Tracer, request: &ServiceRequest) -> RequestSpan {
    let path = request.path();
    let reads = TRACEPARENT_READ.contains(&path);
    let traced = reads || OF_LOGINS.iter().any(|address| path.starts_with(address));
    let span = traced.then(|| tracer.request(traceparent(request).filter(|_| reads)));
    RequestSpan { method: word(request.method()), span }
}

impl RequestSpan {
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.span {
            Some(span) => span.run(work).await,
            None => work.await,
        }
    }

    pub fn answered(&mut self, answer: &Result<ServiceResponse<BoxBody>, Error>) {
        let Some(span) = &mut self.span else { return };
        let (route, status) = match answer {
            Ok(response) => (response.request().match_pattern(), response.status()),
            Err(error) => (None, error.as_response_error().status_code()),
        };
        span.route(self.method, route);
        span.status(status.as_u16());
    }
}

/// W3C Trace Context, 3.2: one header; several are as good as none.
fn traceparent(request: &ServiceRequest) -> Option<&str> {
    let mut all = request.headers().get_all(TRACEPARENT);
    let one = all.next()?.to_str().ok();
    one.filter(|_| all.next().is_none())
}

/// As OpenTelemetry names methods: what is not known is `_OTHER`.
fn word(method: &Method) -> &'static str {
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
    use actix_web::test::TestRequest;

    const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa01a902b7-01";

    #[test]
    fn several_traceparents_are_as_good_as_none() {
        let request = || TestRequest::default().append_header((TRACEPARENT, CALLER));
        assert_eq!(traceparent(&request().to_srv_request()), Some(CALLER));
        assert_eq!(
            traceparent(&request().append_header((TRACEPARENT, CALLER)).to_srv_request()),
            None
        );
        assert_eq!(traceparent(&TestRequest::default().to_srv_request()), None);
    }

    #[test]
    fn only_the_requests_of_logins_have_spans() {
        for (path, traced) in [
            ("/api/v2/authorize", true),
            ("/api/v2/interaction/x/consent", true),
            ("/connectors/town/login", true),
            ("/api/v2/jwks", false),
            ("/assets/style.css", false),
            ("/api/v2/token/else", false),
        ] {
            let request = TestRequest::default().uri(path).to_srv_request();
            assert_eq!(begin(&Tracer::off(), &request).span.is_some(), traced, "{path}");
        }
    }
}
