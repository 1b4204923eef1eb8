//! Answers introspection requests of data providers (R012, R180 to R185;
//! `docs/data-providers.md`) and revokes access tokens for service providers (RFC 7009).
//!
//! Responsible for authenticating data providers, for limiting a response to what they may learn,
//! and for its format. [`TokenService::validate_access_token`] decides whether a token is live.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::TokenService;
use super::client::{ClientAuthError, check_secret};
use super::encryption::{ResponseEncryption, signed_response};
use super::error::GrantError;
use super::records::{TokenRecord, released_claims, token_key};
use super::token::{self, ValidToken};
use passerelle_audit::{Event, EventKind};
use passerelle_federation::assurance;
use passerelle_federation::identity::Claim;
use passerelle_federation::{DataProvider, IntrospectionResponseFormat, ServiceProvider};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::ids::Scope;
use passerelle_protocol::introspection::{
    ActiveToken, Introspection, IntrospectionRequest, JWT_TYPE, SignedIntrospection,
};
use passerelle_protocol::revocation::RevocationRequest;
use passerelle_protocol::sender_constraint::Confirmation;

/// An introspection response in the data provider's registered format.
#[derive(Debug)]
pub enum IntrospectionResponse {
    /// JSON text.
    Json(Vec<u8>),
    /// A compact JWS, or the JWE around it.
    Jwt(String),
}

impl TokenService {
    /// Answers an introspection request.
    ///
    /// # Errors
    /// A 401 that reads the same for every authentication failure, before anything else is checked
    /// (R183); a missing or repeated token parameter; `DataProviderKeysMissing`; `TooManyFailures`;
    /// the hub's own failures.
    pub async fn introspect(
        &self,
        request: &IntrospectionRequest,
    ) -> Result<IntrospectionResponse, GrantError> {
        let provider = self.authenticate_data_provider(request)?;
        let answer = self.introspect_token(&provider, request).await;
        answer.map_err(|error| GrantError { client_id: Some(provider.client_id.clone()), ..error })
    }

    async fn introspect_token(
        &self,
        provider: &DataProvider,
        request: &IntrospectionRequest,
    ) -> Result<IntrospectionResponse, GrantError> {
        let token = request.token.as_ref().map_err(|code| *code)?;
        let encryption = self.introspection_encryption(provider)?;
        let valid = match self.validate_access_token(token.reveal()).await {
            Ok(valid) => Some(valid),
            Err(ErrorCode::AccessTokenInvalid) => None,
            Err(internal) => return Err(internal.into()),
        };
        let answer = valid
            .as_ref()
            .and_then(|valid| self.active_response(provider, valid))
            .unwrap_or(Introspection::Inactive);
        self.core.metrics.record_introspection(
            &provider.client_id,
            if answer.is_active() { "active" } else { "inactive" },
        );
        if !answer.is_active() {
            self.auth_failures.count_inactive(&provider.client_id)?;
        }
        let written = self.encode_response(provider, &answer, &encryption).await?;
        self.core.audit.record(|| match (&answer, &valid) {
            (Introspection::Active(_), Some(ValidToken { token, .. })) => {
                let event = Event::new(EventKind::IntrospectionActive)
                    .dp(&provider.client_id)
                    .sp(&token.client_id);
                let event = event.level(token.level).support_id(&token.support_id);
                token
                    .subjects_by_sector
                    .get(&provider.sector)
                    .into_iter()
                    .fold(event, Event::subject)
            }
            _ => Event::new(EventKind::IntrospectionInactive).dp(&provider.client_id),
        });
        Ok(written)
    }

    /// Revokes an access token, or a refresh token with its grant, of the requesting service
    /// provider (RFC 7009 §2.1). Ignores tokens of other clients, with the same response.
    ///
    /// # Errors
    /// Those of [`TokenService::authenticate`]; the hub's own failures.
    pub async fn revoke_token(&self, request: &RevocationRequest) -> Result<(), GrantError> {
        let client = self.authenticate(&request.credentials).await?;
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
        let own_token = match self.find_live_token(text).await {
            Ok(valid) => {
                Some(valid.token).filter(|token| token.client_id == client.registration.client_id)
            }
            Err(ErrorCode::AccessTokenInvalid) => None,
            Err(internal) => return Err(internal),
        };
        if own_token.is_some() {
            // A refresh token stays: the client may use it for another access token.
            self.store.remove(&token_key(text)).await?;
        }
        let is_revoked = own_token.is_some() || self.revoke_refresh_token(client, text).await?;
        self.core.metrics.record_revocation(if is_revoked { "revoked" } else { "not_found" });
        match &own_token {
            Some(token) => {
                self.core.audit.record(|| token::event_for_token(EventKind::TokenRevoked, token));
            }
            // The end of a refresh token's grant has an event of its own.
            None if is_revoked => {}
            None => self.core.audit.record(|| {
                Event::new(EventKind::RevocationIgnored).sp(&client.registration.client_id)
            }),
        }
        Ok(())
    }

    fn authenticate_data_provider(
        &self,
        request: &IntrospectionRequest,
    ) -> Result<Arc<DataProvider>, GrantError> {
        let claimed = request.claimed.as_ref();
        self.verify_data_provider(request).map_err(|code| {
            let (code, rate_limited) =
                self.auth_failures.count_failed_authentication(claimed, code);
            // Only a registered id is logged: an unknown one could hold any text.
            let federation = self.core.federation.load();
            let client_id = claimed.filter(|id| {
                federation.data_provider(id).is_some() || federation.service_provider(id).is_some()
            });
            GrantError { code, client_id: client_id.cloned(), reason: None, rate_limited }
        })
    }

    fn verify_data_provider(
        &self,
        request: &IntrospectionRequest,
    ) -> Result<Arc<DataProvider>, ErrorCode> {
        let secret = request.secret.as_ref().map_err(|code| *code)?;
        let offered = digest::sha256(secret.reveal().as_bytes());
        let federation = self.core.federation.load();
        let found = request
            .claimed
            .as_ref()
            .and_then(|id| federation.data_provider(id))
            .filter(|provider| provider.active);
        // An unknown data provider costs the same comparison as a known one (R206).
        let outcome = check_secret(
            found.map(|provider| provider.secrets.as_slice()),
            &offered,
            self.core.env.now(),
        );
        let is_service_provider =
            request.claimed.as_ref().is_some_and(|id| federation.service_provider(id).is_some());
        let provider = found.ok_or(if is_service_provider {
            ErrorCode::DataProviderIsServiceProvider
        } else {
            ErrorCode::DataProviderUnknown
        })?;
        outcome.map_err(|error| match error {
            ClientAuthError::SecretNotYet => ErrorCode::DataProviderSecretNotYet,
            ClientAuthError::SecretExpired => ErrorCode::DataProviderSecretExpired,
            _ => ErrorCode::DataProviderSecret,
        })?;
        Ok(Arc::clone(provider))
    }

    /// Chosen before the token is looked up, so that a missing key fails early.
    fn introspection_encryption(
        &self,
        provider: &DataProvider,
    ) -> Result<ResponseEncryption, ErrorCode> {
        let IntrospectionResponseFormat::Jwt { encryption: Some(alg), .. } =
            provider.response_format
        else {
            return Ok(ResponseEncryption::SignedOnly);
        };
        self.client_keys
            .encryption_key(&provider.client_id, &provider.keys, alg)
            .map(ResponseEncryption::Encrypted)
            .ok_or(ErrorCode::DataProviderKeysMissing)
    }

    /// Returns the response for a valid token; `None` if this data provider may not learn of the
    /// token.
    fn active_response<'a>(
        &'a self,
        provider: &'a DataProvider,
        valid: &'a ValidToken,
    ) -> Option<Introspection<'a>> {
        let token = &valid.token;
        let shared = shared_scopes(&token.scopes, provider)?;
        // Derived when the code was issued. A data provider registered later sees tokens of later
        // logins only.
        let sub = token.subjects_by_sector.get(&provider.sector)?;
        Some(Introspection::Active(Box::new(ActiveToken {
            iss: &self.core.issuer,
            sub: sub.as_str(),
            aud: provider.client_id.as_str(),
            client_id: token.client_id.as_str(),
            scope: shared.iter().map(Scope::as_str).collect::<Vec<_>>().join(" "),
            acr: assurance::acr::id_token_level(token.level, self.core.platform),
            iat: token.issued_at.seconds(),
            exp: valid.expires_at.seconds(),
            token_type: token.cnf.as_ref().map(Confirmation::token_type),
            cnf: token.cnf.as_ref(),
            claims: self.released_claims(token, &shared),
        })))
    }

    /// Returns the token's claims that these scopes release, without the e-mail address.
    fn released_claims(&self, token: &TokenRecord, scopes: &[Scope]) -> Map<String, Value> {
        let mut names = self.core.federation.load().scopes.claim_names(scopes);
        names.retain(|claim| *claim != Claim::Email && *claim != Claim::Sub);
        released_claims(&token.claims, &names)
    }

    async fn encode_response(
        &self,
        provider: &DataProvider,
        answer: &Introspection<'_>,
        encryption: &ResponseEncryption,
    ) -> Result<IntrospectionResponse, ErrorCode> {
        let alg = match provider.response_format {
            IntrospectionResponseFormat::Json => {
                return serde_json::to_vec(answer)
                    .map(IntrospectionResponse::Json)
                    .map_err(|_| ErrorCode::Internal);
            }
            IntrospectionResponseFormat::Jwt { alg, .. } => alg,
        };
        let now = self.core.env.now();
        let aud = provider.client_id.as_str();
        let payload = SignedIntrospection {
            iss: &self.core.issuer,
            aud,
            iat: now.seconds(),
            token_introspection: answer,
        };
        let payload = serde_json::to_vec(&payload).map_err(|_| ErrorCode::Internal)?;
        let signing = self.signer.sign(alg, JWT_TYPE, &payload, now);
        let signed = signed_response("introspection response", signing).await?;
        encryption.encrypt(signed).map(IntrospectionResponse::Jwt)
    }
}

/// Returns the token's scopes that the data provider may learn of; `None` if there is none besides
/// `openid`.
pub(super) fn shared_scopes(token_scopes: &[Scope], provider: &DataProvider) -> Option<Vec<Scope>> {
    let shared: Vec<Scope> =
        token_scopes.iter().filter(|scope| provider.scopes.contains(scope)).cloned().collect();
    shared.iter().any(|scope| scope.as_str() != "openid").then_some(shared)
}
