//! Validates access tokens, and answers with what they release: userinfo to their service provider,
//! introspection to data providers.

mod introspection;

use std::sync::Arc;

pub use self::introspection::IntrospectionResponse;
pub(super) use self::introspection::shared_scopes;
use super::HubCore;
use super::client::ClientAuthenticator;
use super::error::GrantError;
use super::records::{TokenRecord, load_record, token_key};
use super::response_signer::{JwtKind, ResponseEncryption, ResponseSigner};
use super::sender::SenderVerifier;
use super::token_issuer::event_for_token;
use passerelle_audit::EventKind;
use passerelle_federation::{ServiceProvider, verified_claim_names};
use passerelle_jose::jwt_signer::UserinfoClaims;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_protocol::userinfo::{BearerLocation, PresentedToken};
use passerelle_store::Store;
use passerelle_telemetry::trace;

/// A userinfo response, by media type.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
pub enum UserinfoResponse {
    /// `application/jwt`
    #[debug("Jwt(***)")]
    Jwt(String),
    /// `application/json`
    #[debug("Json(***)")]
    Json(Vec<u8>),
}

/// Unsigned userinfo, without `iss` and `aud` (OpenID Connect Core 1.0 §5.3.2).
#[derive(serde::Serialize)]
struct PlainUserinfo<'a> {
    sub: &'a str,
    /// Never holds `sub`.
    #[serde(flatten)]
    identity: &'a serde_json::Map<String, serde_json::Value>,
}

/// A live access token.
pub(super) struct ValidToken {
    pub token: TokenRecord,
    pub expires_at: Timestamp,
    /// The service provider that it was issued to.
    pub client: Arc<ServiceProvider>,
}

/// The access tokens that the hub issued.
pub struct AccessTokens {
    pub(super) core: Arc<HubCore>,
    pub(super) store: Arc<dyn Store>,
    pub(super) senders: Arc<SenderVerifier>,
    pub(super) authenticator: Arc<ClientAuthenticator>,
    pub(super) signer: Arc<ResponseSigner>,
}

impl AccessTokens {
    /// Validates an access token. All endpoints that accept access tokens use this function.
    ///
    /// # Errors
    /// `AccessTokenInvalid` for unknown, expired and revoked tokens alike; `StoreUnavailable`.
    pub(super) async fn validate(&self, token: &str) -> Result<ValidToken, ErrorCode> {
        let valid = self.find_live(token).await?;
        let (client, ValidToken { token, .. }) = (&valid.client.registration, &valid);
        if !client.has_redirect_uri(&token.redirect_uri) || !client.grants_scopes(&token.scopes) {
            let (client_id, support_id) = (&client.client_id, &token.support_id);
            tracing::info!(%client_id, %support_id, "access token rejected: its redirect_uri or one of its scopes is no longer registered");
            return Err(ErrorCode::AccessTokenInvalid);
        }
        Ok(valid)
    }

    /// Returns a live token of an active service provider, without checking its current
    /// registration.
    ///
    /// # Errors
    /// `AccessTokenInvalid` for unknown, expired and revoked tokens alike; `StoreUnavailable`.
    pub(super) async fn find_live(&self, token: &str) -> Result<ValidToken, ErrorCode> {
        let (key, now) = (token_key(token), self.core.env.now());
        let found = load_record::<TokenRecord>(&*self.store, &key, now).await?;
        let (token, record) = found.ok_or(ErrorCode::AccessTokenInvalid)?;
        trace::attach_login(&token.support_id, token.trace.as_ref());
        self.core.ensure_client_known(token.client_id.as_str()).await?;
        // Removing a service provider from the federation invalidates its tokens.
        let client = self
            .core
            .federation
            .load()
            .active_service_provider(&token.client_id)
            .cloned()
            .ok_or(ErrorCode::AccessTokenInvalid)?;
        Ok(ValidToken { token, expires_at: record.expires_at, client })
    }

    /// Removes an access token.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub(super) async fn remove(&self, token: &str) -> Result<(), ErrorCode> {
        Ok(self.store.remove(&token_key(token)).await?)
    }

    /// Returns the userinfo response: a JWS with the service provider's registered algorithm,
    /// encrypted if it registered so (R007); plain JSON if a service provider with `rules = "openid"`
    /// registered no algorithm.
    ///
    /// # Errors
    /// `AccessTokenInvalid`, `BearerInBody`, `ClientKeysMissing`, the codes of a token that is
    /// bound to a key and of its proof, or the hub's own failures.
    pub async fn userinfo(
        &self,
        presented: &PresentedToken,
    ) -> Result<UserinfoResponse, GrantError> {
        let valid = self.validate(presented.token.reveal()).await?;
        let with_client = |code| GrantError::for_client(&valid.token.client_id, code);
        if presented.location == BearerLocation::Body
            && valid.client.registration.rules == ProtocolRules::Federation
        {
            return Err(with_client(ErrorCode::BearerInBody)); // R160
        }
        let key = valid.token.cnf.as_ref();
        let checked = self.senders.check_token_sender(&valid.client, key, presented).await;
        checked.map_err(with_client)?;
        let answer = self.build_userinfo_response(&valid).await.map_err(with_client)?;
        self.core.audit.record(|| {
            let released = event_for_token(EventKind::UserinfoReleased, &valid.token);
            let names = verified_claim_names(&valid.token.claims);
            released.level(valid.token.level).verified_claims(names)
        });
        Ok(answer)
    }

    async fn build_userinfo_response(
        &self,
        valid: &ValidToken,
    ) -> Result<UserinfoResponse, ErrorCode> {
        let (client, now) = (&valid.client, self.core.env.now());
        let encryption = self.signer.userinfo_encryption(client)?;
        let Some(alg) = client.userinfo_signed_response_alg else {
            // The configuration loader excludes this case: only signed responses are encrypted.
            if matches!(encryption, ResponseEncryption::Encrypted(_)) {
                return Err(ErrorCode::EncryptionFailed);
            }
            let claims =
                PlainUserinfo { sub: valid.token.subject.as_str(), identity: &valid.token.claims };
            return serde_json::to_vec(&claims)
                .map(UserinfoResponse::Json)
                .map_err(|_| ErrorCode::Internal);
        };
        let claims = UserinfoClaims {
            sub: valid.token.subject.as_str(),
            iss: &self.core.issuer,
            aud: valid.token.client_id.as_str(),
            exp: valid.expires_at,
            iat: now,
            identity: &valid.token.claims,
        };
        let signed = self.signer.sign(JwtKind::Userinfo, alg, &claims).await?;
        encryption.encrypt(signed).map(UserinfoResponse::Jwt)
    }
}
