//! The outermost middleware of the public listener, around every handler.
//!
//! Responsible, in this order, for panics (500), the deadline (408), the Host header (421), request
//! metrics and security headers, and for the bodies of these early error responses. Knows the routes
//! by their table only.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpResponse};
use futures_util::FutureExt;
use tokio::time::{Instant, timeout};

use super::host::{PublicHost, Scheme};
use super::hub::Hub;
use super::responses::status_code;
use super::route_table::RouteTable;
use super::spans;
use passerelle_localization::Languages;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::error_response::ErrorResponse;
use passerelle_telemetry::trace::Tracer;
use passerelle_telemetry::{Listener, Metrics};

/// Endpoint labels of a request that no route matched, and of one that ended without a response of
/// its handler.
const UNMATCHED: &str = "unmatched";
const UNFINISHED: &str = "unfinished";

/// Content security policy of early error pages: no script, nothing from other origins.
const EARLY_PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Error returned for an unusable `base_url`.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum OuterMiddlewareError {
    #[error(
        "base_url `{0}` is not an http or https URL with a host; write it as https://login.example.org"
    )]
    BaseUrl(String),
}

/// Renders the HTML page of an early error response.
type EarlyErrorRenderer = Box<dyn Fn(&EarlyErrorContext, ErrorCode) -> String + Send + Sync>;

/// Request data available to an early error response.
#[derive(Clone, Debug)]
pub struct EarlyErrorContext {
    pub path: String,
    pub languages: Arc<Languages>,
    /// Language that the user chose on a page, as sent.
    pub chosen_language: Option<String>,
    pub accept_language: Option<String>,
}

impl EarlyErrorContext {
    fn from_request(request: &ServiceRequest) -> Self {
        let accepted =
            request.headers().get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let hub = request.app_data::<Data<Hub>>();
        let languages = hub.map(|hub| Arc::clone(&hub.core.federation.load().languages));
        let chosen = hub.and_then(|hub| hub.cookies.language(request.request()));
        Self {
            path: request.path().to_owned(),
            languages: languages.unwrap_or_else(Languages::built_in),
            chosen_language: chosen.map(str::to_owned),
            accept_language: accepted.map(str::to_owned),
        }
    }
}

/// The outermost middleware.
///
/// Use it as the application's last `wrap`:
/// `App::new()….wrap(from_fn(move |request, next| Arc::clone(&outer).handle(request, next)))`.
pub struct OuterMiddleware {
    host: PublicHost,
    /// Host of the addresses at which connections have client certificates. It serves programs
    /// only, never a page.
    certificate_host: Option<PublicHost>,
    deadline: Duration,
    /// Whether browsers reach the hosts below this one by https only (RFC 6797 §6.1.2).
    hsts_include_subdomains: bool,
    metrics: Arc<Metrics>,
    tracer: Tracer,
    page: EarlyErrorRenderer,
    routes: Arc<RouteTable>,
}

impl OuterMiddleware {
    /// Creates the middleware. `deadline` covers the whole request including its body; `page`
    /// renders early error pages.
    ///
    /// # Errors
    /// `BaseUrl` if `base_url` is not an http or https URL with a host.
    pub fn new(
        base_url: &str,
        deadline: Duration,
        metrics: Arc<Metrics>,
        routes: Arc<RouteTable>,
        page: impl Fn(&EarlyErrorContext, ErrorCode) -> String + Send + Sync + 'static,
    ) -> Result<Self, OuterMiddlewareError> {
        let host = PublicHost::from_base_url(base_url)
            .ok_or_else(|| OuterMiddlewareError::BaseUrl(base_url.to_owned()))?;
        let (tracer, page) = (Tracer::disabled(), Box::new(page));
        let (certificate_host, hsts_include_subdomains) = (None, false);
        Ok(Self {
            host,
            certificate_host,
            deadline,
            hsts_include_subdomains,
            metrics,
            tracer,
            page,
            routes,
        })
    }

    /// Sets whether `Strict-Transport-Security` includes subdomains.
    #[must_use]
    pub fn with_hsts_include_subdomains(self, hsts_include_subdomains: bool) -> Self {
        Self { hsts_include_subdomains, ..self }
    }

    /// Adds the host of another base URL, at which only programs are served.
    #[must_use]
    pub fn with_certificate_host(self, base_url: Option<&str>) -> Self {
        Self { certificate_host: base_url.and_then(PublicHost::from_base_url), ..self }
    }

    /// Adds spans for the requests of logins.
    #[must_use]
    pub fn with_tracer(self, tracer: Tracer) -> Self {
        Self { tracer, ..self }
    }

    /// Runs the handler of a request and completes its response.
    ///
    /// # Errors
    /// An early error response (408, 500) or the handler's error. Both carry the finished response.
    pub async fn handle<B: MessageBody + 'static>(
        self: Arc<Self>,
        request: ServiceRequest,
        next: Next<B>,
    ) -> Result<ServiceResponse<BoxBody>, Error> {
        let started = Instant::now();
        let head = EarlyErrorContext::from_request(&request);
        let mut span = spans::start_request_span(&self.tracer, &self.routes, &request);
        let answer = span
            .run(async {
                if self.host.matches_request(request.request())
                    || self.is_certificate_host(&request)
                {
                    self.call_handler(&head, request, next).await
                } else {
                    Ok(request.into_response(self.error_response(&head, ErrorCode::UnknownHost)))
                }
            })
            .await;
        let answer = self.add_security_headers(answer);
        count_response(&self.metrics, Listener::Public, &answer, started);
        span.record_response(&answer);
        answer
    }

    fn is_certificate_host(&self, request: &ServiceRequest) -> bool {
        let host = self.certificate_host.as_ref();
        host.is_some_and(|host| {
            self.routes.has_json_errors(request.path()) && host.matches_request(request.request())
        })
    }

    /// Runs the handler within the deadline and catches its panic.
    async fn call_handler<B: MessageBody + 'static>(
        &self,
        head: &EarlyErrorContext,
        request: ServiceRequest,
        next: Next<B>,
    ) -> Result<ServiceResponse<BoxBody>, Error> {
        let handler = AssertUnwindSafe(async move { next.call(request).await }).catch_unwind();
        // actix has no timeout for a body: one that never ends would hold its connection forever.
        match timeout(self.deadline, handler).await {
            Ok(Ok(answer)) => answer.map(ServiceResponse::map_into_boxed_body),
            Ok(Err(_panic)) => {
                tracing::error!(code = ErrorCode::Internal.entry().code, "handler panicked");
                Err(self.response_as_error(head, ErrorCode::Internal))
            }
            // actix closes the connection after a response that left part of the body unread.
            Err(_elapsed) => Err(self.response_as_error(head, ErrorCode::RequestTimeout)),
        }
    }

    /// Builds the response as an error, because the request was consumed.
    fn response_as_error(&self, head: &EarlyErrorContext, code: ErrorCode) -> Error {
        InternalError::from_response(code.entry().code, self.error_response(head, code)).into()
    }

    fn error_response(&self, head: &EarlyErrorContext, code: ErrorCode) -> HttpResponse {
        let mut response = HttpResponse::build(status_code(code.entry().status));
        if self.routes.has_json_errors(&head.path) {
            let body = ErrorResponse::from(code).body;
            return response.content_type("application/json; charset=utf-8").body(body);
        }
        response
            .content_type("text/html;charset=UTF-8")
            .insert_header((header::CONTENT_SECURITY_POLICY, EARLY_PAGE_POLICY))
            .body((self.page)(head, code))
    }

    /// Sets the security headers on every response, also on the errors of inner layers.
    fn add_security_headers(
        &self,
        answer: Result<ServiceResponse<BoxBody>, Error>,
    ) -> Result<ServiceResponse<BoxBody>, Error> {
        match answer {
            Ok(mut response) => {
                self.set_security_headers(response.headers_mut());
                Ok(response)
            }
            Err(error) => {
                let mut response = error.error_response();
                self.set_security_headers(response.headers_mut());
                Err(InternalError::from_response(error, response).into())
            }
        }
    }

    fn set_security_headers(&self, headers: &mut HeaderMap) {
        let mut set = |name: HeaderName, value: &'static str| {
            headers.insert(name, HeaderValue::from_static(value))
        };
        set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
        set(header::REFERRER_POLICY, "no-referrer");
        set(header::X_FRAME_OPTIONS, "DENY");
        if self.host.scheme == Scheme::Https {
            let policy = if self.hsts_include_subdomains {
                "max-age=31536000; includeSubDomains"
            } else {
                "max-age=31536000"
            };
            set(header::STRICT_TRANSPORT_SECURITY, policy);
        }
        if !headers.contains_key(header::CACHE_CONTROL) {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
    }
}

/// Counts a response by the pattern of its route, whichever layer built it.
pub fn count_response(
    metrics: &Metrics,
    listener: Listener,
    answer: &Result<ServiceResponse<BoxBody>, Error>,
    started: Instant,
) {
    let (endpoint, status) = match answer {
        Ok(response) => (response.request().match_pattern(), response.status()),
        Err(error) => (Some(UNFINISHED.to_owned()), error.as_response_error().status_code()),
    };
    metrics.record_http_request(
        listener,
        endpoint.as_deref().unwrap_or(UNMATCHED),
        status.as_u16(),
        started.elapsed(),
    );
}

#[cfg(test)]
mod tests;
