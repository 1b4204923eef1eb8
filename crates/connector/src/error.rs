//! Errors of the upstream steps of connectors.

use std::time::Duration;

use openidconnect::HttpResponse;

use passerelle_egress::retry_after::retry_after;
use passerelle_egress::safe_http_client::EgressError;
use passerelle_protocol::catalogue::ErrorCode;

/// Error of an upstream step. `detail` is for the operator, and contains no token, secret or claim
/// value.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{}: {detail}", code.entry().code)]
pub struct ConnectorError {
    pub code: ErrorCode,
    pub detail: String,
    /// `Retry-After` of a 503 or 429 response (RFC 9110 §10.2.3, RFC 6585 §4).
    pub retry_after: Option<Duration>,
}

impl ConnectorError {
    /// Returns an error without `retry_after`.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), retry_after: None }
    }

    /// Returns the error for a response with an unexpected status.
    pub fn unexpected_status(what: &str, answer: &HttpResponse) -> Self {
        let status = answer.status();
        // RFC 6585 §4: the server works, and limits the hub's requests.
        let code = if status == http::StatusCode::TOO_MANY_REQUESTS {
            ErrorCode::IdpThrottled
        } else {
            ErrorCode::IdpStatus
        };
        let detail = format!("{what} answered with status {}", status.as_u16());
        // With other statuses the header has no defined meaning.
        let may_delay = matches!(
            status,
            http::StatusCode::TOO_MANY_REQUESTS | http::StatusCode::SERVICE_UNAVAILABLE
        );
        let retry_after = may_delay.then(|| retry_after(answer.headers())).flatten();
        Self { retry_after, ..Self::new(code, detail) }
    }
}

impl From<EgressError> for ConnectorError {
    fn from(error: EgressError) -> Self {
        let code = match &error {
            EgressError::AddressForbidden(_) => ErrorCode::IdpAddressForbidden,
            EgressError::Unreachable { .. } => ErrorCode::IdpUnreachable,
            EgressError::CertificateTime { .. } => ErrorCode::IdpCertificateTime,
            EgressError::Timeout(_) => ErrorCode::IdpTimeout,
            EgressError::TooLarge { .. } => ErrorCode::IdpTooLarge,
            EgressError::Encoding { .. } => ErrorCode::IdpEncoding,
        };
        Self::new(code, error.to_string())
    }
}
