//! Exchanges authorization codes for tokens (RFC 6749 §4.1.3).

use std::sync::Arc;

use super::code::AuthorizationCodes;
use super::records::{CodeRecord, code_family};
use super::refresh::RefreshTokens;
use super::sender::SenderVerifier;
use super::token_issuer::{IdTokenContent, IssuedAccessToken, TokenIssuer};
use super::{Gate, HubCore};
use passerelle_federation::ServiceProvider;
use passerelle_federation::assurance::AcrCheck;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::pkce;
use passerelle_protocol::registration::{ClientType, Registration};
use passerelle_protocol::sender_constraint::ProofOfPossession;
use passerelle_protocol::token::{AuthorizationCodeGrant, TokenResponse};
use passerelle_telemetry::trace;

/// The grant type `authorization_code`.
pub(super) struct CodeExchange {
    pub core: Arc<HubCore>,
    pub codes: Arc<AuthorizationCodes>,
    pub tokens: Arc<TokenIssuer>,
    pub refresh_tokens: Arc<RefreshTokens>,
    pub senders: Arc<SenderVerifier>,
    pub gate: Arc<dyn Gate>,
}

impl CodeExchange {
    /// Exchanges a code of this client for an access token and an ID token.
    ///
    /// # Errors
    /// `ClientKeysMissing` and `KeyDeviceUnavailable`, before the code is touched (the last also
    /// afterwards, if the device fails just then); an `invalid_grant` code for every defect of the
    /// code, which is consumed; the hub's own failures.
    pub(crate) async fn redeem(
        &self,
        client: &ServiceProvider,
        grant: &AuthorizationCodeGrant,
        sender: &ProofOfPossession,
    ) -> Result<TokenResponse, ErrorCode> {
        // Checked before the code is taken: a service provider whose keys are briefly unavailable
        // does not lose its code, nor does one while the device with the hub's keys has failed.
        let encryption = self.tokens.check_keys(client)?;
        let client_id = &client.registration.client_id;
        self.check_code_of_proof(client, grant, sender).await?;
        // Before the code is taken, like the above: a client whose proof needs a nonce learns it
        // from the answer.
        let sender = self.senders.verify_token_sender(client, sender)?;
        let mut record = self.take(client, grant).await?;
        trace::attach_login(&record.token.support_id, record.token.trace.as_ref());
        self.check_code_binding(&client.registration, grant, &record)?;
        let dpop_jkt = record.dpop_jkt.as_deref();
        record.token.cnf = self.senders.bind_to_sender(client_id, dpop_jkt, sender).await?;

        let content = IdTokenContent {
            record: &record.id_token,
            token: &record.token,
            nonce: record.nonce.as_deref(),
        };
        let id_token = self.tokens.issue_id_token(content, client, &encryption).await?;
        record.token.issued_at = self.core.env.now();
        let (session, issued) = (&record.id_token.session, code_family(grant.code.reveal()));
        let families = [session.clone(), issued.clone()].into();
        let stored = self.tokens.store_access_token(client, &record.token, families).await?;
        // The user signed out, or the code was replayed, meanwhile; a replay has its own log line.
        let access_token = stored.ok_or(ErrorCode::CodeRevoked)?;
        let refresh_token = Box::pin(self.refresh_tokens.issue(client, &record, issued)).await?;
        self.tokens.record_access_token(&record.token, Some(&record.id_token));
        self.core.record_client_use(client_id);
        let IssuedAccessToken { value, lifetime } = access_token;
        Ok(TokenResponse::new(value, lifetime.as_secs(), id_token, &record.token.scopes)
            .bound_to(record.token.cnf.as_ref())
            .with_refresh_token(refresh_token))
    }

    /// Refuses a proof without a live code before its signature is verified: anyone can send proofs
    /// in a public client's name.
    async fn check_code_of_proof(
        &self,
        client: &ServiceProvider,
        grant: &AuthorizationCodeGrant,
        sender: &ProofOfPossession,
    ) -> Result<(), ErrorCode> {
        let is_stranger = client.registration.client_type == ClientType::Public;
        let has_proof = sender.dpop.is_some();
        if !is_stranger || !has_proof || self.codes.is_live(grant.code.reveal()).await? {
            return Ok(());
        }
        // A replay of the code has its usual consequences.
        self.take(client, grant).await?;
        Err(ErrorCode::CodeUnknown)
    }

    async fn take(
        &self,
        client: &ServiceProvider,
        grant: &AuthorizationCodeGrant,
    ) -> Result<CodeRecord, ErrorCode> {
        let (code, client_id) = (grant.code.reveal(), &client.registration.client_id);
        self.codes.take(code, client_id, self.tokens.access_token_lifetime(client)).await
    }

    fn check_code_binding(
        &self,
        client: &Registration,
        grant: &AuthorizationCodeGrant,
        record: &CodeRecord,
    ) -> Result<(), ErrorCode> {
        if record.token.client_id != client.client_id {
            return Err(ErrorCode::CodeOfOtherClient);
        }
        if record.token.redirect_uri != grant.redirect_uri {
            return Err(ErrorCode::CodeRedirectUri);
        }
        let verifier = grant.code_verifier.as_ref().map(|verifier| verifier.reveal().as_str());
        let challenge = record.code_challenge.as_deref();
        // A code without a challenge may date from a time when the client was confidential. At a
        // public client, anyone who injects such a code could redeem it (RFC 9700 §4.5).
        let is_unbound = challenge.is_none() && client.client_type == ClientType::Public;
        if is_unbound || !pkce::proves(challenge, verifier) {
            return Err(ErrorCode::CodeVerifier);
        }
        if !client.has_redirect_uri(&record.token.redirect_uri)
            || !client.grants_scopes(&record.token.scopes)
        {
            return Err(ErrorCode::CodeRegistrationWithdrawn);
        }
        self.gate
            .check_access(
                &record.token.client_id,
                &record.connector,
                AcrCheck::Achieved(record.achieved),
            )
            .map_err(|_| ErrorCode::CodeGateClosed)
    }
}
