//! The token endpoint's work, and the judgement on an access token.

use std::sync::Arc;

use super::records::{CodeRecord, TokenRecord, code_key, decode, encode, family, token_key};
use super::refusal::Refusal;
use super::seal::Answer;
use super::{Grants, store_code};
use crate::assurance;
use crate::assurance::At;
use crate::audit::{Event, Name};
use crate::config::Service;
use crate::env::Timestamp;
use crate::ids::ClientId;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::pkce;
use crate::protocol::registration::{Registration, Rules};
use crate::protocol::token::{TokenAnswer, TokenRequest};
use crate::protocol::userinfo::{Bearer, Carried};
use crate::store::{Draft, Family, StoreFault, Taken};
use crate::telemetry::trace;
use crate::token::mint::{IdTokenClaims, UserinfoClaims, mint};
use crate::token::seal::Mark;

/// A userinfo answer, by its media type.
#[derive(Clone, PartialEq, Eq)]
pub enum UserinfoAnswer {
    /// `application/jwt`
    Jwt(String),
    /// `application/json`
    Json(Vec<u8>),
}

impl std::fmt::Debug for UserinfoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Jwt(_) => "Jwt(***)",
            Self::Json(_) => "Json(***)",
        })
    }
}

/// OpenID Connect Core 1.0, 5.3.2: not signed, so without `iss` and `aud`.
#[derive(serde::Serialize)]
struct PlainUserinfo<'a> {
    sub: &'a str,
    /// Never holds `sub`.
    #[serde(flatten)]
    identity: &'a serde_json::Map<String, serde_json::Value>,
}

/// An event of this token's service provider and person.
pub(super) fn of(name: Name, token: &TokenRecord) -> Event {
    Event::of(name).sp(&token.client_id).subject(&token.subject).support_id(&token.support_id)
}

/// Returns whether the tombstone of a code was left by this client, or by a release that noted no client.
fn was_spent_by(tombstone: &[u8], client_id: &ClientId, issued: &Family) -> bool {
    tombstone == client_id.as_str().as_bytes() || tombstone == issued.0.as_bytes()
}

/// An access token that was found alive.
pub struct Judged {
    pub token: TokenRecord,
    pub expires_at: Timestamp,
    /// Whose it is.
    pub client: Arc<Service>,
}

impl Grants {
    /// Exchanges a code for an access token and an ID token.
    ///
    /// # Errors
    /// Those of [`Grants::authenticate`] and `ClientKeysMissing` before anything is touched; `GrantInvalid` for every flaw of the
    /// code, which stays burnt; the hub's own failures.
    pub async fn redeem(&self, request: &TokenRequest) -> Result<TokenAnswer, Refusal> {
        let client = self.authenticate(&request.credentials).await?;
        self.exchange(&client, request)
            .await
            .map_err(|code| Refusal::of(&client.registration.client_id, code))
    }

    async fn exchange(
        &self,
        client: &Service,
        request: &TokenRequest,
    ) -> Result<TokenAnswer, ErrorCode> {
        // Asked before the code is taken: a service provider whose keys are gone for a moment does not lose it.
        let envelope = self.envelope(client, Answer::IdToken)?;
        let now = self.env.now();
        let code = request.code.reveal();
        let issued = family(code);
        let tokens_live_until = now + self.lives.access_token;
        // One atomic step decides who redeems (RFC 6749, 4.1.2). What follows may fail, the code stays burnt.
        let tombstone_until = tokens_live_until + self.lives.access_token;
        let client_id = &client.registration.client_id;
        let tombstone = client_id.as_str().as_bytes();
        let taken =
            self.store.take(&code_key(code), tombstone.to_vec(), tombstone_until, now).await;
        let mut record: CodeRecord = match taken.map_err(|fault| store_code(&fault))? {
            Taken::Won(record) => decode(&record.value)?,
            // Only whom the first use has served may end what it issued: to any other client, a code that it has found
            // somewhere is no means of signing people out.
            Taken::Spent(tombstone) if !was_spent_by(&tombstone, client_id, &issued) => {
                return Err(ErrorCode::CodeSpentByAnother);
            }
            Taken::Spent(_) => {
                // A code used twice was stolen once: what the first use issued dies (RFC 9700, 2.1.1).
                self.store
                    .revoke(&issued, tombstone_until, now)
                    .await
                    .map_err(|fault| store_code(&fault))?;
                return Err(ErrorCode::CodeReused);
            }
            Taken::Gone => return Err(ErrorCode::CodeUnknown),
        };
        trace::about(&record.token.support_id, record.token.trace.as_ref());
        self.check_binding(&client.registration, request, &record)?;

        let id_token = self.id_token(&record, client, now).await?;
        let mark = record.hint_key.as_ref().map(|key| Mark { key, audience: client_id });
        let id_token = envelope.close_with(id_token, mark)?;
        let access_token = self.env.entropy().token();
        record.token.issued_at = now;
        record.token.redirect_uri = Some(record.redirect_uri);
        let families = [record.session.clone(), issued].into();
        let draft = Draft {
            value: encode(&record.token)?,
            expires_at: tokens_live_until,
            unread_until: None,
            families,
        };
        match self.store.insert(token_key(&access_token), draft, now).await {
            Ok(_) => {}
            // Its person signed out, or the code was used a second time (which said so itself), meanwhile.
            Err(StoreFault::Revoked) => return Err(ErrorCode::CodeRevoked),
            Err(fault) => return Err(store_code(&fault)),
        }
        self.metrics.token_issued("access_token");
        self.metrics.token_issued("id_token");
        self.audit.tell(|| {
            of(Name::TokenIssued, &record.token)
                .level(record.token.level)
                .session(&record.session.0)
        });
        Ok(TokenAnswer::new(
            access_token,
            self.lives.access_token.as_secs(),
            id_token,
            &record.token.scopes,
        ))
    }

    fn check_binding(
        &self,
        client: &Registration,
        request: &TokenRequest,
        record: &CodeRecord,
    ) -> Result<(), ErrorCode> {
        if record.token.client_id != client.client_id {
            return Err(ErrorCode::CodeOfAnother);
        }
        if record.redirect_uri != request.redirect_uri {
            return Err(ErrorCode::CodeRedirectUri);
        }
        let verifier = request.code_verifier.as_ref().map(|verifier| verifier.reveal().as_str());
        if !pkce::proves(record.code_challenge.as_deref(), verifier) {
            return Err(ErrorCode::CodeVerifier);
        }
        if !client.holds_redirect_uri(&record.redirect_uri) || !client.grants(&record.token.scopes)
        {
            return Err(ErrorCode::CodeRegistrationWithdrawn);
        }
        self.gate
            .may(&record.token.client_id, &record.connector, At::Obtained(record.obtained))
            .map_err(|_| ErrorCode::CodeGateClosed)
    }

    async fn id_token(
        &self,
        record: &CodeRecord,
        client: &Service,
        now: Timestamp,
    ) -> Result<String, ErrorCode> {
        let (alg, life) = match client.registration.rules {
            Rules::Federation => (client.id_token_signed_response_alg, self.lives.id_token),
            Rules::Openid => (client.id_token_signed_response_alg, self.lives.openid_id_token),
        };
        let claims = IdTokenClaims {
            iss: &self.issuer,
            sub: record.token.subject.as_str(),
            aud: record.token.client_id.as_str(),
            exp: now + life,
            iat: now,
            auth_time: record.auth_time,
            nonce: record.nonce.as_deref(),
            acr: assurance::acr::in_id_token(record.token.level, self.platform),
            amr: record.amr.as_deref(),
            identity: Some(&record.claims).filter(|claims| !claims.is_empty()),
        };
        trace::span("sign").run(mint(self.signer.as_ref(), alg, &claims, now)).await.map_err(
            |fault| {
                tracing::error!(%fault, "an ID token could not be signed");
                ErrorCode::SigningFailed
            },
        )
    }

    /// The one judgement on an access token, shared by everyone who is shown one.
    ///
    /// # Errors
    /// `AccessTokenInvalid` for unknown, expired and revoked alike.
    pub async fn judge(&self, token: &str) -> Result<Judged, ErrorCode> {
        let judged = self.find_token(token).await?;
        let (client, Judged { token, .. }) = (&judged.client.registration, &judged);
        // A token of an earlier release does not say where its code was sent.
        let is_held = token.redirect_uri.as_ref().is_none_or(|uri| client.holds_redirect_uri(uri));
        if !is_held || !client.grants(&token.scopes) {
            let (client_id, support_id) = (&client.client_id, &token.support_id);
            tracing::info!(%client_id, %support_id, "access token refused: its redirect_uri or a scope of it was withdrawn");
            return Err(ErrorCode::AccessTokenInvalid);
        }
        Ok(judged)
    }

    /// A live token of a service provider that is served, whatever its file still grants.
    ///
    /// # Errors
    /// `AccessTokenInvalid` for unknown, expired and revoked alike.
    pub(super) async fn find_token(&self, token: &str) -> Result<Judged, ErrorCode> {
        let now = self.env.now();
        let found =
            self.store.load(&token_key(token), now).await.map_err(|fault| store_code(&fault))?;
        let record = found.ok_or(ErrorCode::AccessTokenInvalid)?;
        let token: TokenRecord = decode(&record.value)?;
        trace::about(&token.support_id, token.trace.as_ref());
        // A service provider that was taken out of the federation has no tokens any more.
        let client = self
            .federation
            .load()
            .active(&token.client_id)
            .cloned()
            .ok_or(ErrorCode::AccessTokenInvalid)?;
        Ok(Judged { token, expires_at: record.expires_at, client })
    }

    /// The userinfo answer: a JWS in the service provider's registered algorithm, sealed on the high platform (R007);
    /// plain JSON where `rules = "openid"` registered none.
    ///
    /// # Errors
    /// `AccessTokenInvalid`, `BearerInBody`, `ClientKeysMissing`, or the hub's own failures.
    pub async fn userinfo(&self, bearer: &Bearer) -> Result<UserinfoAnswer, Refusal> {
        let judged = self.judge(bearer.token.reveal()).await?;
        let refusal = |code| Refusal::of(&judged.token.client_id, code);
        if bearer.by == Carried::Body && judged.client.registration.rules == Rules::Federation {
            return Err(refusal(ErrorCode::BearerInBody)); // R160
        }
        let answer = self.tell(&judged).await.map_err(refusal)?;
        self.audit.tell(|| of(Name::UserinfoTold, &judged.token).level(judged.token.level));
        Ok(answer)
    }

    async fn tell(&self, judged: &Judged) -> Result<UserinfoAnswer, ErrorCode> {
        let (client, now) = (&judged.client, self.env.now());
        let envelope = self.envelope(client, Answer::Userinfo)?;
        let Some(alg) = client.userinfo_signed_response_alg else {
            let claims = PlainUserinfo {
                sub: judged.token.subject.as_str(),
                identity: &judged.token.claims,
            };
            return serde_json::to_vec(&claims)
                .map(UserinfoAnswer::Json)
                .map_err(|_| ErrorCode::Internal);
        };
        let claims = UserinfoClaims {
            sub: judged.token.subject.as_str(),
            iss: &self.issuer,
            aud: judged.token.client_id.as_str(),
            exp: judged.expires_at,
            iat: now,
            identity: &judged.token.claims,
        };
        let signed = trace::span("sign")
            .run(mint(self.signer.as_ref(), alg, &claims, now))
            .await
            .map_err(|fault| {
            tracing::error!(%fault, "a userinfo answer could not be signed");
            ErrorCode::SigningFailed
        })?;
        envelope.close(signed).map(UserinfoAnswer::Jwt)
    }
}
