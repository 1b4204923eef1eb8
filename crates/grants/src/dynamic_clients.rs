//! The port to the clients that registered themselves (RFC 7591). An optional crate implements it; a
//! hub without the crate has none.

use async_trait::async_trait;

use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ClientId;

/// The clients that registered themselves. Their implementation puts those that it knows into the
/// federation.
#[async_trait]
pub trait DynamicClients: Send + Sync {
    /// Puts the client into the federation if another hub has registered it. A client of the
    /// configuration costs no store call.
    ///
    /// # Errors
    /// `StoreUnavailable` if the client may be registered, but the registrations can't be read.
    async fn ensure_known(&self, client_id: &str) -> Result<(), ErrorCode>;

    /// Remembers that a client signed a user in. Clients of the configuration cost nothing.
    fn record_use(&self, client_id: &ClientId);

    /// Returns the error of requests of an inactive client, if it is one that waits for an operator.
    fn pending_error(&self, client_id: &ClientId) -> Option<ErrorCode>;
}
