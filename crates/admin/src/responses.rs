//! The JSON responses of the private listener's endpoints.

use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, HeaderName};
use actix_web::{HttpResponse, HttpResponseBuilder, ResponseError};
use serde::{Deserialize, Serialize};

use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_web::responses::status_code;

/// Response body of an error.
#[derive(Debug, Serialize, Deserialize)]
pub struct AdminErrorBody {
    /// Error code of RFC 6749 or RFC 6750.
    pub error: String,
    pub error_description: String,
    /// `Y` and six digits.
    pub code: String,
    /// Details, each with its fix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
}

/// Error returned by a handler of the private listener. Its response is JSON.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", .code.entry().code)]
pub struct AdminError {
    pub code: ErrorCode,
    /// Details, each with its fix.
    pub details: Vec<String>,
}

impl AdminError {
    /// Creates an error with one detail.
    #[must_use]
    pub fn new(code: ErrorCode, detail: &str) -> Self {
        Self { code, details: vec![detail.to_owned()] }
    }
}

impl From<ErrorCode> for AdminError {
    fn from(code: ErrorCode) -> Self {
        Self { code, details: Vec::new() }
    }
}

impl From<GrantError> for AdminError {
    fn from(error: GrantError) -> Self {
        Self { code: error.code, details: error.reason.into_iter().collect() }
    }
}

impl ResponseError for AdminError {
    fn status_code(&self) -> StatusCode {
        status_code(self.code.entry().status)
    }

    fn error_response(&self) -> HttpResponse {
        error_response(self.code, self.details.clone(), None)
    }
}

/// Builds the JSON response for an error.
pub fn error_response(
    code: ErrorCode,
    details: Vec<String>,
    header: Option<(HeaderName, String)>,
) -> HttpResponse {
    let entry = code.entry();
    let (error, error_description, code) =
        (entry.oauth.to_owned(), entry.description.to_owned(), entry.code.to_owned());
    let mut response = response_builder(status_code(entry.status));
    if let Some(header) = header {
        response.insert_header(header);
    }
    response.json(AdminErrorBody { error, error_description, code, details })
}

/// Builds a JSON response with status 200.
pub fn ok_response(body: &impl Serialize) -> HttpResponse {
    json_response(StatusCode::OK, body)
}

/// Builds a JSON response.
pub fn json_response(status: StatusCode, body: &impl Serialize) -> HttpResponse {
    response_builder(status).json(body)
}

fn response_builder(status: StatusCode) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response.insert_header((CACHE_CONTROL, "no-store"));
    response
}
