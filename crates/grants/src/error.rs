//! Error of the token endpoints: the code is public, the rest is for the operator's log line.

use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ClientId;
use passerelle_quota::RateLimitError;

/// Why a request for or with a token failed. Only `code` leaves the hub, except that a sandbox hub
/// shows the rest to a developer, once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantError {
    pub code: ErrorCode,
    /// Only a registered id: an unknown one could hold any text.
    pub client_id: Option<ClientId>,
    /// Details beyond the code.
    pub reason: Option<String>,
    /// The exceeded limit, for `TooManyFailures` and `RegistrationsLimited`.
    pub rate_limited: Option<RateLimitError>,
}

impl GrantError {
    /// Creates an error of a known client.
    pub(super) fn for_client(client_id: &ClientId, code: ErrorCode) -> Self {
        Self { client_id: Some(client_id.clone()), ..Self::from(code) }
    }
}

/// An error of an unidentified client.
impl From<ErrorCode> for GrantError {
    fn from(code: ErrorCode) -> Self {
        Self { code, client_id: None, reason: None, rate_limited: None }
    }
}

/// An exceeded failure limit.
impl From<RateLimitError> for GrantError {
    fn from(over: RateLimitError) -> Self {
        Self { rate_limited: Some(over), ..Self::from(ErrorCode::TooManyFailures) }
    }
}
