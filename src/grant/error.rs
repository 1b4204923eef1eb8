//! Why a request with or for a token is refused: the code for everyone, the rest for the operator's one line.

use crate::ids::ClientId;
use crate::protocol::catalogue::ErrorCode;
use crate::quota::Over;

/// Nothing of it but the code leaves the hub.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub code: ErrorCode,
    /// Only a registered id: anything may stand where an unknown one should.
    pub client_id: Option<ClientId>,
    /// Where more is to be said than the code says.
    pub reason: Option<String>,
    /// Of `TooManyMistakes`: until when.
    pub over: Option<Over>,
}

impl Refusal {
    pub(super) fn of(client_id: &ClientId, code: ErrorCode) -> Self {
        Self { client_id: Some(client_id.clone()), ..Self::from(code) }
    }
}

/// Of nobody known.
impl From<ErrorCode> for Refusal {
    fn from(code: ErrorCode) -> Self {
        Self { code, client_id: None, reason: None, over: None }
    }
}

/// One mistake too many.
impl From<Over> for Refusal {
    fn from(over: Over) -> Self {
        Self { over: Some(over), ..Self::from(ErrorCode::TooManyMistakes) }
    }
}
