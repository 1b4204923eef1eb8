//! Revokes access tokens and refresh tokens for service providers (RFC 7009).

use std::sync::Arc;

use super::HubCore;
use super::access_token::AccessTokens;
use super::client::ClientAuthenticator;
use super::error::GrantError;
use super::refresh::RefreshTokens;
use super::token_issuer::event_for_token;
use passerelle_audit::{Event, EventKind};
use passerelle_federation::ServiceProvider;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::revocation::RevocationRequest;

/// The revocation endpoint.
pub struct RevocationEndpoint {
    pub(super) core: Arc<HubCore>,
    pub(super) authenticator: Arc<ClientAuthenticator>,
    pub(super) access_tokens: Arc<AccessTokens>,
    pub(super) refresh_tokens: Arc<RefreshTokens>,
}

impl RevocationEndpoint {
    /// Revokes an access token, or a refresh token with its grant, of the requesting service
    /// provider (RFC 7009 §2.1). Ignores tokens of other clients, with the same response.
    ///
    /// # Errors
    /// Those of the client's authentication; the hub's own failures.
    pub async fn revoke(&self, request: &RevocationRequest) -> Result<(), GrantError> {
        let client = self.authenticator.authenticate(&request.credentials).await?;
        self.revoke_own_token(&client, request.token.reveal())
            .await
            .map_err(|code| GrantError::for_client(&client.registration.client_id, code))
    }

    async fn revoke_own_token(
        &self,
        client: &ServiceProvider,
        text: &str,
    ) -> Result<(), ErrorCode> {
        // RFC 7009 §2.1: checks first that the token was issued to this client.
        let own_token = match self.access_tokens.find_live(text).await {
            Ok(valid) => {
                Some(valid.token).filter(|token| token.client_id == client.registration.client_id)
            }
            Err(ErrorCode::AccessTokenInvalid) => None,
            Err(internal) => return Err(internal),
        };
        if own_token.is_some() {
            // A refresh token stays: the client may use it for another access token.
            self.access_tokens.remove(text).await?;
        }
        let is_revoked = own_token.is_some() || self.refresh_tokens.revoke(client, text).await?;
        self.core.metrics.record_revocation(if is_revoked { "revoked" } else { "not_found" });
        match &own_token {
            Some(token) => {
                self.core.audit.record(|| event_for_token(EventKind::TokenRevoked, token));
            }
            // The end of a refresh token's grant has an event of its own.
            None if is_revoked => {}
            None => self.core.audit.record(|| {
                Event::new(EventKind::RevocationIgnored).sp(&client.registration.client_id)
            }),
        }
        Ok(())
    }
}
