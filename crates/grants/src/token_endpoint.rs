//! Answers token requests: authenticates the client, and exchanges its grant (RFC 6749 §3.2).

use std::sync::Arc;

use super::client::ClientAuthenticator;
use super::code_exchange::CodeExchange;
use super::error::GrantError;
use super::refresh::RefreshTokens;
use passerelle_protocol::token::{TokenGrant, TokenRequest, TokenResponse};

/// The token endpoint.
pub struct TokenEndpoint {
    pub(super) authenticator: Arc<ClientAuthenticator>,
    pub(super) code_exchange: CodeExchange,
    pub(super) refresh_tokens: Arc<RefreshTokens>,
}

impl TokenEndpoint {
    /// Exchanges the grant of a request for tokens.
    ///
    /// # Errors
    /// Those of the client's authentication; then those of the grant.
    pub async fn answer(&self, request: &TokenRequest) -> Result<TokenResponse, GrantError> {
        let client = self.authenticator.authenticate(&request.credentials).await?;
        let sender = &request.proof_of_possession;
        let response = match &request.grant {
            TokenGrant::AuthorizationCode(grant) => {
                self.code_exchange.redeem(&client, grant, sender).await
            }
            TokenGrant::RefreshToken(grant) => {
                self.refresh_tokens.exchange(&client, grant, sender).await
            }
        };
        response.map_err(|code| GrantError::for_client(&client.registration.client_id, code))
    }
}
