//! Redeems authorization codes, and validates access tokens.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::TokenService;
use super::backchannel_logout::derive_sid;
use super::encryption::{ResponseEncryption, ResponseKind, signed_response};
use super::error::GrantError;
use super::records::{
    CodeRecord, IdTokenRecord, TokenRecord, code_family, code_key, decode_record, new_record,
    released_claims, token_key,
};
use passerelle_audit::{Event, EventKind};
use passerelle_federation::ServiceProvider;
use passerelle_federation::assurance;
use passerelle_federation::assurance::AcrCheck;
use passerelle_jose::encrypt::JweMark;
use passerelle_jose::jwt_signer::{IdTokenClaims, UserinfoClaims, sign_jwt};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::pkce;
use passerelle_protocol::registration::{ClientType, ProtocolRules, Registration};
use passerelle_protocol::token::{TokenRequest, TokenResponse};
use passerelle_protocol::userinfo::{BearerLocation, PresentedToken};
use passerelle_store::{NewRecord, StoreError, TakeOutcome};
use passerelle_telemetry::trace;

/// A userinfo response, by media type.
#[derive(Clone, PartialEq, Eq)]
pub enum UserinfoResponse {
    /// `application/jwt`
    Jwt(String),
    /// `application/json`
    Json(Vec<u8>),
}

impl std::fmt::Debug for UserinfoResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Jwt(_) => "Jwt(***)",
            Self::Json(_) => "Json(***)",
        })
    }
}

/// Unsigned userinfo, without `iss` and `aud` (OpenID Connect Core 1.0 §5.3.2).
#[derive(serde::Serialize)]
struct PlainUserinfo<'a> {
    sub: &'a str,
    /// Never holds `sub`.
    #[serde(flatten)]
    identity: &'a serde_json::Map<String, serde_json::Value>,
}

/// Creates an audit event with the service provider, subject and support id of a token.
pub(super) fn event_for_token(name: EventKind, token: &TokenRecord) -> Event {
    Event::new(name).sp(&token.client_id).subject(&token.subject).support_id(&token.support_id)
}

/// What an ID token says.
#[derive(Clone, Copy)]
pub(super) struct IdTokenContent<'a> {
    pub record: &'a IdTokenRecord,
    pub token: &'a TokenRecord,
    /// That of the authorization request; none in the ID token of a refresh.
    pub nonce: Option<&'a str>,
}

/// A live access token.
pub struct ValidToken {
    pub token: TokenRecord,
    pub expires_at: Timestamp,
    /// The service provider that it was issued to.
    pub client: Arc<ServiceProvider>,
}

impl TokenService {
    /// Exchanges a code for an access token and an ID token.
    ///
    /// # Errors
    /// Those of [`TokenService::authenticate`], `ClientKeysMissing` and `KeyDeviceUnavailable`,
    /// before the code is touched (the last also afterwards, if the device fails just then); an
    /// `invalid_grant` code for every defect of the code, which is consumed; the hub's own
    /// failures.
    pub async fn redeem_code(&self, request: &TokenRequest) -> Result<TokenResponse, GrantError> {
        let client = self.authenticate(&request.credentials).await?;
        let client_id = &client.registration.client_id;
        let response = self.exchange_code(&client, request).await;
        let response = response.map_err(|code| GrantError::for_client(client_id, code))?;
        self.core.record_client_use(client_id);
        Ok(response)
    }

    async fn exchange_code(
        &self,
        client: &ServiceProvider,
        request: &TokenRequest,
    ) -> Result<TokenResponse, ErrorCode> {
        // Checked before the code is taken: a service provider whose keys are briefly unavailable
        // does not lose its code.
        let encryption = self.response_encryption(client, ResponseKind::IdToken)?;
        // Likewise while the device that holds the hub's keys has failed.
        self.check_signing_keys()?;
        let now = self.core.env.now();
        let code = request.code.reveal();
        let client_id = &client.registration.client_id;
        self.check_code_of_proof(client, request, now).await?;
        // Before the code is taken, like the above: a client whose proof needs a nonce learns it
        // from the answer.
        let sender = self.verify_token_sender(client, &request.proof_of_possession)?;
        let issued = code_family(code);
        let lifetime = self.access_token_lifetime(client);
        let mut record = self.take_code(code, client, now).await?;
        trace::attach_login(&record.token.support_id, record.token.trace.as_ref());
        self.check_code_binding(&client.registration, request, &record)?;
        let dpop_jkt = record.dpop_jkt.as_deref();
        record.token.cnf = self.bind_to_sender(client_id, dpop_jkt, sender).await?;

        let content = IdTokenContent {
            record: &record.id_token,
            token: &record.token,
            nonce: record.nonce.as_deref(),
        };
        let id_token = self.issue_id_token(content, client, &encryption, now).await?;
        let access_token = self.core.env.entropy().token();
        record.token.issued_at = now;
        let families = [record.id_token.session.clone(), issued.clone()].into();
        let draft = NewRecord { families, ..new_record(&record.token, now + lifetime)? };
        match self.store.insert(token_key(&access_token), draft, now).await {
            Ok(_) => {}
            // The user signed out, or the code was replayed, meanwhile; a replay has its own log
            // line.
            Err(StoreError::Revoked) => return Err(ErrorCode::CodeRevoked),
            Err(error) => return Err(error.into()),
        }
        let refresh_token = Box::pin(self.issue_refresh_token(client, &record, issued)).await?;
        self.core.metrics.record_issued_token("access_token");
        self.core.audit.record(|| {
            event_for_token(EventKind::TokenIssued, &record.token)
                .level(record.token.level)
                .session(&record.id_token.session.0)
        });
        Ok(TokenResponse::new(access_token, lifetime.as_secs(), id_token, &record.token.scopes)
            .bound_to(record.token.cnf.as_ref())
            .with_refresh_token(refresh_token))
    }

    /// Refuses a proof without a live code before its signature is verified: anyone can send proofs
    /// in a public client's name.
    async fn check_code_of_proof(
        &self,
        client: &ServiceProvider,
        request: &TokenRequest,
        now: Timestamp,
    ) -> Result<(), ErrorCode> {
        let code = request.code.reveal();
        let is_stranger = client.registration.client_type == ClientType::Public;
        let has_proof = request.proof_of_possession.dpop.is_some();
        if !is_stranger || !has_proof || self.is_code_live(code).await? {
            return Ok(());
        }
        // A replay of the code has its usual consequences.
        self.take_code(code, client, now).await?;
        Err(ErrorCode::CodeUnknown)
    }

    /// Redeems the code, which stays consumed if a later step fails.
    async fn take_code(
        &self,
        code: &str,
        client: &ServiceProvider,
        now: Timestamp,
    ) -> Result<CodeRecord, ErrorCode> {
        let (issued, client_id) = (code_family(code), &client.registration.client_id);
        // One atomic operation decides who redeems (RFC 6749 §4.1.2).
        // The tombstone outlives the time in which the code is accepted (see `issue_code`), and the
        // tokens.
        let tokens_live = self.access_token_lifetime(client);
        let tombstone_until = now + self.lifetimes.longest_code().max(tokens_live + tokens_live);
        let tombstone = client_id.as_str().as_bytes();
        let taken =
            self.store.take(&code_key(code), tombstone.to_vec(), tombstone_until, now).await?;
        match taken {
            TakeOutcome::Taken(record) => decode_record(&record.value),
            // Only the client of the first redemption may revoke what it issued: any other client
            // that found the code must not be able to sign users out.
            TakeOutcome::AlreadyTaken(tombstone)
                if tombstone[..] != *client_id.as_str().as_bytes() =>
            {
                Err(ErrorCode::CodeRedeemedByOtherClient)
            }
            TakeOutcome::AlreadyTaken(_) => {
                // Code replay: revokes what the first redemption issued (RFC 9700 §2.1.1).
                self.store.revoke(&issued, tombstone_until, now).await?;
                Err(ErrorCode::CodeReused)
            }
            TakeOutcome::Gone => Err(ErrorCode::CodeUnknown),
        }
    }

    fn check_code_binding(
        &self,
        client: &Registration,
        request: &TokenRequest,
        record: &CodeRecord,
    ) -> Result<(), ErrorCode> {
        if record.token.client_id != client.client_id {
            return Err(ErrorCode::CodeOfOtherClient);
        }
        if record.token.redirect_uri != request.redirect_uri {
            return Err(ErrorCode::CodeRedirectUri);
        }
        let verifier = request.code_verifier.as_ref().map(|verifier| verifier.reveal().as_str());
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

    /// Signs an ID token, and encrypts it if the client's responses are. It has the claims of the
    /// granted scopes if the client gets them there now, and the claims that the request names.
    pub(super) async fn issue_id_token(
        &self,
        IdTokenContent { record, token, nonce }: IdTokenContent<'_>,
        client: &ServiceProvider,
        encryption: &ResponseEncryption,
        now: Timestamp,
    ) -> Result<String, ErrorCode> {
        let lifetime = self.lifetimes.for_rules(client.registration.rules).id_token;
        let level = assurance::acr::id_token_level(token.level, self.core.platform);
        let sid = client
            .logout_endpoint
            .as_ref()
            .map(|_| derive_sid(&record.session.0, &token.client_id));
        let mut identity =
            if client.id_token_claims { self.scope_claims(client, token) } else { Map::new() };
        identity.extend(record.claims.clone());
        let claims = IdTokenClaims {
            iss: &self.core.issuer,
            sub: token.subject.as_str(),
            aud: token.client_id.as_str(),
            exp: now + lifetime,
            iat: now,
            auth_time: record.auth_time,
            nonce,
            acr: token.acr_name.as_deref().unwrap_or_else(|| level.as_str()),
            amr: record.amr.as_deref(),
            sid: sid.as_deref(),
            identity: Some(&identity).filter(|claims| !claims.is_empty()),
        };
        let alg = client.id_token_signed_response_alg;
        let signing = sign_jwt(self.signer.as_ref(), alg, &claims, now);
        let signed = signed_response("ID token", signing).await?;
        let audience = &token.client_id;
        let mark = record.hint_key.as_ref().map(|key| JweMark { key, audience });
        let id_token = encryption.encrypt_marked(signed, mark)?;
        self.core.metrics.record_issued_token("id_token");
        Ok(id_token)
    }

    /// Returns the claims of a token's scopes, without those that only the request names.
    pub(super) fn scope_claims(
        &self,
        client: &ServiceProvider,
        token: &TokenRecord,
    ) -> Map<String, Value> {
        let federation = self.core.federation.load();
        let table = federation.scope_table(client.registration.rules);
        released_claims(&token.claims, &table.claim_names(&token.scopes))
    }

    /// Validates an access token. All endpoints that accept access tokens use this function.
    ///
    /// # Errors
    /// `AccessTokenInvalid` for unknown, expired and revoked tokens alike; `StoreUnavailable`.
    pub async fn validate_access_token(&self, token: &str) -> Result<ValidToken, ErrorCode> {
        let valid = self.find_live_token(token).await?;
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
    pub(super) async fn find_live_token(&self, token: &str) -> Result<ValidToken, ErrorCode> {
        let found = self.load_record::<TokenRecord>(&token_key(token)).await?;
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

    /// Returns the userinfo response: a JWS with the service provider's registered algorithm,
    /// encrypted on the high platform (R007); plain JSON if a service provider with `rules =
    /// "openid"` registered no algorithm.
    ///
    /// # Errors
    /// `AccessTokenInvalid`, `BearerInBody`, `ClientKeysMissing`, the codes of a token that is
    /// bound to a key and of its proof, or the hub's own failures.
    pub async fn userinfo(
        &self,
        presented: &PresentedToken,
    ) -> Result<UserinfoResponse, GrantError> {
        let valid = self.validate_access_token(presented.token.reveal()).await?;
        let with_client = |code| GrantError::for_client(&valid.token.client_id, code);
        if presented.location == BearerLocation::Body
            && valid.client.registration.rules == ProtocolRules::Federation
        {
            return Err(with_client(ErrorCode::BearerInBody)); // R160
        }
        self.check_token_sender(&valid, presented).await.map_err(with_client)?;
        let answer = self.build_userinfo_response(&valid).await.map_err(with_client)?;
        self.core.audit.record(|| {
            event_for_token(EventKind::UserinfoReleased, &valid.token).level(valid.token.level)
        });
        Ok(answer)
    }

    async fn build_userinfo_response(
        &self,
        valid: &ValidToken,
    ) -> Result<UserinfoResponse, ErrorCode> {
        let (client, now) = (&valid.client, self.core.env.now());
        let encryption = self.response_encryption(client, ResponseKind::Userinfo)?;
        let Some(alg) = client.userinfo_signed_response_alg else {
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
        let signing = sign_jwt(self.signer.as_ref(), alg, &claims, now);
        let signed = signed_response("userinfo response", signing).await?;
        encryption.encrypt(signed).map(UserinfoResponse::Jwt)
    }
}
