//! What the hub knows of each route besides its handler.

use passerelle_audit::EventKind;

/// What the layers around the handler know of a route.
#[derive(Clone, Copy, Debug)]
pub struct RouteRow {
    /// Path pattern.
    pub path: &'static str,
    /// Audit event of a rejection; `None` where only unknown paths and methods are rejected.
    pub rejection_event: Option<EventKind>,
    pub error_format: ErrorFormat,
    pub tracing: RequestTracing,
}

/// Format of the responses to rejected requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorFormat {
    /// Browsers request the route, with their cookies.
    Page,
    /// Programs call the route: every response is JSON.
    Json,
}

/// Whether the requests of a route have a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestTracing {
    Off,
    /// The route belongs to a login. A browser's `traceparent` is ignored.
    Span,
    /// Service and data providers call the route, or send a browser to it: the span continues the
    /// trace of their `traceparent`.
    CallersTrace,
}

/// The routes of a hub, for the layers that see a request before its handler.
#[derive(Clone, Debug)]
pub struct RouteTable(Vec<RouteRow>);

impl RouteTable {
    /// Creates the table.
    pub fn new(rows: impl IntoIterator<Item = RouteRow>) -> Self {
        Self(rows.into_iter().collect())
    }

    /// Returns the row of a path: the route with this path, else the first one with the path's
    /// beginning before its first parameter.
    pub fn find(&self, path: &str) -> Option<&RouteRow> {
        let begins = |row: &&RouteRow| {
            row.path.split_once('{').is_some_and(|(beginning, _)| path.starts_with(beginning))
        };
        self.0.iter().find(|row| row.path == path).or_else(|| self.0.iter().find(begins))
    }

    /// Returns whether the responses to rejected requests of this path are JSON.
    pub fn has_json_errors(&self, path: &str) -> bool {
        self.find(path).is_some_and(|row| row.error_format == ErrorFormat::Json)
    }
}
