//! A route of the public listener: its path and methods, and what the layers around its handler know
//! of it. An optional crate adds its routes as values of the same type.

use actix_web::dev::RequestHead;
use actix_web::guard::fn_guard;
use actix_web::http::header::{ALLOW, HeaderValue};
use actix_web::{FromRequest, Handler, HttpResponse, Resource, Route, web};

use super::cors::CorsPolicy;
use super::error_responses::{RejectionHandler, error_response};
use super::form;
use super::hub::Hub;
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::route_table::{ErrorFormat, RequestTracing, RouteRow};
use passerelle_audit::EventKind;
use passerelle_protocol::catalogue::ErrorCode;

/// A route with everything that the hub knows of it. Its table is
/// [`endpoints`](super::routes::endpoints).
pub struct Endpoint {
    pub row: RouteRow,
    methods: Vec<(&'static str, Route)>,
    cors: CorsPolicy,
    /// Whether the hub has the feature of the endpoint now. Without it, the answer to every method is
    /// 404.
    is_enabled: fn(&Hub) -> bool,
}

/// Returns the endpoints of an optional crate. Each worker builds its own.
pub type EndpointList = fn() -> Vec<Endpoint>;

/// The endpoints of the optional crates, among the states of the hub's extensions.
#[derive(Clone, Default, Debug)]
pub struct ExtensionEndpoints(pub Vec<EndpointList>);

impl Endpoint {
    /// Creates an endpoint that serves pages, without methods.
    pub fn at(path: &'static str) -> Self {
        let row = RouteRow {
            path,
            rejection_event: None,
            error_format: ErrorFormat::Page,
            tracing: RequestTracing::Off,
        };
        Self { row, methods: Vec::new(), cors: CorsPolicy::None, is_enabled: |_| true }
    }

    /// Creates the endpoint of a page or file that changes nothing. Only such are served for HEAD
    /// (RFC 9110 §9.1), so that a link scanner can't advance a login.
    pub fn document<F, Args>(path: &'static str, handler: F) -> Self
    where
        F: Handler<Args, Output = Result<HttpResponse, Rejection>>,
        Args: FromRequest + 'static,
    {
        let head = web::head().to(RejectionHandler(handler.clone()));
        Self::at(path).get(handler).route("HEAD", head)
    }

    /// Serves GET.
    #[must_use]
    pub fn get<F, Args>(self, handler: F) -> Self
    where
        F: Handler<Args, Output = Result<HttpResponse, Rejection>>,
        Args: FromRequest + 'static,
    {
        self.route("GET", web::get().to(RejectionHandler(handler)))
    }

    /// Serves POST.
    #[must_use]
    pub fn post<F, Args>(self, handler: F) -> Self
    where
        F: Handler<Args, Output = Result<HttpResponse, Rejection>>,
        Args: FromRequest + 'static,
    {
        self.route("POST", web::post().to(RejectionHandler(handler)))
    }

    /// Serves PUT.
    #[must_use]
    pub fn put<F, Args>(self, handler: F) -> Self
    where
        F: Handler<Args, Output = Result<HttpResponse, Rejection>>,
        Args: FromRequest + 'static,
    {
        self.route("PUT", web::put().to(RejectionHandler(handler)))
    }

    /// Serves DELETE.
    #[must_use]
    pub fn delete<F, Args>(self, handler: F) -> Self
    where
        F: Handler<Args, Output = Result<HttpResponse, Rejection>>,
        Args: FromRequest + 'static,
    {
        self.route("DELETE", web::delete().to(RejectionHandler(handler)))
    }

    pub(super) fn route(mut self, method: &'static str, route: Route) -> Self {
        self.methods.push((method, route));
        self
    }

    /// Sets the audit event of rejections.
    #[must_use]
    pub fn rejected_as(mut self, event: EventKind) -> Self {
        self.row.rejection_event = Some(event);
        self
    }

    /// Makes every response to a rejected request JSON.
    #[must_use]
    pub fn for_programs(mut self) -> Self {
        self.row.error_format = ErrorFormat::Json;
        self
    }

    /// Gives the requests spans, as the requests of a login have them.
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.row.tracing = RequestTracing::Span;
        self
    }

    pub(super) fn traced_for_caller(mut self) -> Self {
        self.row.tracing = RequestTracing::CallersTrace;
        self
    }

    /// Lets the pages of every origin read it.
    #[must_use]
    pub fn for_every_origin(self) -> Self {
        self.with_cors(CorsPolicy::Public)
    }

    pub(super) fn with_cors(self, cors: CorsPolicy) -> Self {
        Self { cors, ..self }
    }

    /// Serves the endpoint only while `is_enabled` returns true.
    #[must_use]
    pub fn enabled_if(self, is_enabled: fn(&Hub) -> bool) -> Self {
        Self { is_enabled, ..self }
    }

    pub(super) const fn cors(&self) -> CorsPolicy {
        self.cors
    }

    /// Returns the methods that the route accepts.
    pub fn methods(&self) -> impl Iterator<Item = &'static str> {
        self.methods.iter().map(|(method, _)| *method)
    }

    pub(super) fn into_resource(self, hub: web::Data<Hub>) -> Resource {
        let allow = self.methods().collect::<Vec<_>>().join(", ");
        let Self { row, methods, is_enabled, cors: _ } = self;
        let method_not_allowed_handler = move |context: RequestContext| {
            let allow = allow.clone();
            async move { method_not_allowed(&context, &allow).await }
        };
        let resource = web::resource(row.path).app_data(row).guard(fn_guard(move |context| {
            is_well_formed_path(context.head()) && is_enabled(&hub)
        }));
        methods
            .into_iter()
            .fold(resource, |resource, (_, route)| resource.route(route))
            .default_service(web::to(method_not_allowed_handler))
    }
}

/// Returns whether a path is decodable and normalized. actix would decode what it can and replace
/// the rest.
fn is_well_formed_path(head: &RequestHead) -> bool {
    form::is_decodable(head.uri.path()) && form::is_normalized(head.uri.path())
}

async fn method_not_allowed(context: &RequestContext, allow: &str) -> HttpResponse {
    let mut response = error_response(context, ErrorCode::MethodNotAllowed).await;
    if let Ok(allow) = HeaderValue::from_str(allow) {
        response.headers_mut().insert(ALLOW, allow);
    }
    response
}
