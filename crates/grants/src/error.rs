//! Errors of the endpoints that clients call, and of authorization requests: the code is public,
//! the rest is for the operator's log line.

use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, InteractionHash};
use passerelle_quota::RateLimitError;
use passerelle_store::StoreError;

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

/// Why the parameters of a request can't be used.
#[derive(Clone, PartialEq, Eq, Debug, derive_more::From)]
pub enum ParameterSourceError {
    #[from]
    Rejected(ErrorCode),
    /// The request started this login before.
    Used(InteractionHash, ErrorCode),
}

impl From<StoreError> for ParameterSourceError {
    fn from(error: StoreError) -> Self {
        Self::Rejected(error.into())
    }
}

impl ParameterSourceError {
    /// Returns the code of the error.
    pub(super) const fn code(&self) -> ErrorCode {
        match self {
            Self::Rejected(code) | Self::Used(_, code) => *code,
        }
    }

    /// Returns the error for a request that was used by the login with this hash.
    pub(super) fn used_by(login: &[u8], code: ErrorCode) -> Self {
        match std::str::from_utf8(login) {
            Ok(login) if InteractionHash::is_well_formed(login) => {
                Self::Used(InteractionHash::from(login), code)
            }
            _ => Self::Rejected(code),
        }
    }
}
