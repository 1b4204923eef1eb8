//! Issues refresh tokens, exchanges them for access tokens, and ends what they belong to (RFC 6749
//! §6; RFC 9700 §4.14; `docs/refresh-tokens.md`).
//!
//! A token is the name of a grant and a secret. The grant is one record that knows the secret in
//! use: a token with another secret was used before, or stolen, and ends the grant with everything
//! issued in it. What a grant releases was decided when the user consented, and never grows.

mod by_subject;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::TokenService;
use super::error::GrantError;
use super::records::{
    CodeRecord, TokenRecord, decode_record, encode_record, new_record, refresh_grant_key, token_key,
};
use super::token::event_for_token;
use crate::assurance::{AcrCheck, Level};
use crate::audit::EventKind;
use crate::config::ServiceProvider;
use crate::config::federation::RefreshTokenRules;
use crate::digest;
use crate::env::Timestamp;
use crate::ids::{ConnectorId, Scope, Secret};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::refresh::{OFFLINE_ACCESS, RefreshRequest};
use crate::protocol::registration::ClientType;
use crate::protocol::sender_constraint::Confirmation;
use crate::protocol::token::TokenResponse;
use crate::store::{Family, NewRecord, Record, ReplaceOutcome, StoreError};
pub use by_subject::RefreshGrantSummary;

/// What a refresh token stands for.
#[derive(Serialize, Deserialize)]
struct RefreshGrant {
    /// SHA-256 of the secret of the token in use.
    secret: String,
    /// The key that the first access token was bound to. Such a grant keeps its refresh token: it
    /// is worth nothing without the key, or without the client's own authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cnf: Option<Confirmation>,
    connector: ConnectorId,
    /// Level proven by the identity provider; the gate checks it again at each use.
    achieved: Level,
    /// Revoking one of them ends the grant: the session, if the client's file says so, and the
    /// grant itself.
    families: Vec<Family>,
    /// Family of everything issued in the grant.
    family: Family,
    ends_at: Timestamp,
    /// The access token that each use issues.
    token: TokenRecord,
}

impl RefreshGrant {
    /// Returns when the grant expires if it is not used before.
    fn expires_at(&self, rules: RefreshTokenRules, now: Timestamp) -> Timestamp {
        self.ends_at.min(now + rules.idle)
    }

    const fn rotates(&self) -> bool {
        self.cnf.is_none()
    }
}

/// A refresh token, as sent: the name of its grant, and its secret.
struct RefreshTokenParts<'a> {
    grant: &'a str,
    secret: &'a str,
}

impl<'a> RefreshTokenParts<'a> {
    /// `None` for a text that can't be a refresh token; an access token has no dot.
    fn parse(token: &'a str) -> Option<Self> {
        let (grant, secret) = token.split_once('.')?;
        Some(Self { grant, secret })
    }

    fn is_in_use(&self, grant: &RefreshGrant) -> bool {
        let hash = digest::sha256_base64url(self.secret);
        digest::constant_time_eq(hash.as_bytes(), grant.secret.as_bytes())
    }
}

impl TokenService {
    /// Issues the refresh token of a redeemed code; `None` if the client gets none, or the user did
    /// not consent to it. `family` is that of everything issued for the code.
    pub(super) async fn issue_refresh_token(
        &self,
        client: &ServiceProvider,
        record: &CodeRecord,
        family: Family,
    ) -> Result<Option<Secret<String>>, ErrorCode> {
        let is_offline = |scope: &Scope| scope.as_str() == OFFLINE_ACCESS;
        let Some(rules) =
            client.refresh_tokens.filter(|_| record.token.scopes.iter().any(is_offline))
        else {
            return Ok(None);
        };
        let now = self.core.env.now();
        let entropy = self.core.env.entropy();
        let (name, secret) = (entropy.token(), entropy.token());
        let session = rules.ends_with_session.then(|| record.session.clone());
        let grant = RefreshGrant {
            secret: digest::sha256_base64url(&secret),
            cnf: record.token.cnf.clone(),
            connector: record.connector.clone(),
            achieved: record.achieved,
            families: session.into_iter().chain([family.clone()]).collect(),
            family,
            ends_at: now + rules.lifetime,
            token: record.token.clone(),
        };
        let draft = new_record(&grant, grant.expires_at(rules, now))?;
        let draft = NewRecord { families: grant.families.as_slice().into(), ..draft };
        let key = refresh_grant_key(&name);
        self.list_refresh_grant(&key, &grant).await?;
        match self.store.insert(key, draft, now).await {
            Ok(_) => {}
            Err(StoreError::Revoked) => return Err(ErrorCode::CodeRevoked),
            Err(error) => return Err(error.into()),
        }
        self.core.metrics.record_issued_token("refresh_token");
        Ok(Some(Secret::new(format!("{name}.{secret}"))))
    }

    /// Exchanges a refresh token for an access token, and for the next refresh token unless its
    /// grant is bound to a key.
    ///
    /// # Errors
    /// Those of [`TokenService::authenticate`]; `TokenGrantTypeUnauthorized` if the client gets no
    /// refresh tokens (RFC 6749 §5.2); an `invalid_grant` code for every defect of the token; the hub's own
    /// failures.
    pub async fn refresh(&self, request: &RefreshRequest) -> Result<TokenResponse, GrantError> {
        let client = self.authenticate(&request.credentials).await?;
        self.use_refresh_token(&client, request)
            .await
            .map_err(|code| GrantError::for_client(&client.registration.client_id, code))
    }

    async fn use_refresh_token(
        &self,
        client: &ServiceProvider,
        request: &RefreshRequest,
    ) -> Result<TokenResponse, ErrorCode> {
        let rules = client.refresh_tokens.ok_or(ErrorCode::TokenGrantTypeUnauthorized)?;
        let (grant, record) = self.find_refresh_grant(client, request).await?;
        self.check_refresh(client, &grant, request)?;
        // After the token: anyone can send proofs in a public client's name. Before anything
        // changes: a client that lacks a nonce loses nothing.
        let sender = self.verify_token_sender(client, &request.proof_of_possession)?;
        if !is_same_sender(client, &grant, sender.key().as_ref()) {
            return Err(ErrorCode::RefreshTokenKey);
        }
        let client_id = &client.registration.client_id;
        let cnf = self.bind_to_sender(client_id, None, sender).await?;
        let now = self.core.env.now();
        let token = TokenRecord { issued_at: now, cnf, ..grant.token.clone() };
        let access_token = self.core.env.entropy().token();
        let lifetime = self.lifetimes.access_token;
        let draft = new_record(&token, now + lifetime)?;
        let draft = NewRecord { families: grant.families.as_slice().into(), ..draft };
        match self.store.insert(token_key(&access_token), draft, now).await {
            Ok(_) => {}
            Err(StoreError::Revoked) => return Err(ErrorCode::RefreshTokenUnknown),
            Err(error) => return Err(error.into()),
        }
        let refresh_token = match self.renew_grant(grant, &record, request, rules).await {
            Ok(next) => next,
            Err(code) => {
                self.store.remove(&token_key(&access_token)).await?;
                return Err(code);
            }
        };
        self.core.metrics.record_issued_token("access_token");
        self.core
            .audit
            .record(|| event_for_token(EventKind::TokenIssued, &token).level(token.level));
        Ok(TokenResponse::refreshed(access_token, lifetime.as_secs(), &token.scopes)
            .bound_to(token.cnf.as_ref())
            .with_refresh_token(refresh_token))
    }

    /// Returns the grant of this client that the token belongs to. A token that is no longer in use
    /// ends the grant: one of its two holders is a thief (RFC 9700 §4.14.2).
    async fn find_refresh_grant(
        &self,
        client: &ServiceProvider,
        request: &RefreshRequest,
    ) -> Result<(RefreshGrant, Record), ErrorCode> {
        let token = request.refresh_token.reveal();
        let parts = RefreshTokenParts::parse(token).ok_or(ErrorCode::RefreshTokenUnknown)?;
        let found = self.load_record::<RefreshGrant>(&refresh_grant_key(parts.grant)).await?;
        let (grant, record) = found.ok_or(ErrorCode::RefreshTokenUnknown)?;
        if grant.token.client_id != client.registration.client_id {
            return Err(ErrorCode::RefreshTokenOfOtherClient);
        }
        if !parts.is_in_use(&grant) {
            self.end_refresh_grant(&grant).await?;
            return Err(ErrorCode::RefreshTokenReused);
        }
        Ok((grant, record))
    }

    /// Repeats the checks of the registration and of the gate, which may have changed.
    fn check_refresh(
        &self,
        client: &ServiceProvider,
        grant: &RefreshGrant,
        request: &RefreshRequest,
    ) -> Result<(), ErrorCode> {
        let (registration, token) = (&client.registration, &grant.token);
        let is_redirect_uri_registered =
            token.redirect_uri.as_ref().is_none_or(|uri| registration.has_redirect_uri(uri));
        if !is_redirect_uri_registered || !registration.grants_scopes(&token.scopes) {
            return Err(ErrorCode::CodeRegistrationWithdrawn);
        }
        // RFC 6749 §6: never more than was granted.
        let is_granted = |scope: &str| token.scopes.iter().any(|granted| granted.as_str() == scope);
        if !request.scope.iter().all(|scope| is_granted(scope)) {
            return Err(ErrorCode::RefreshScopeExceeded);
        }
        let level = AcrCheck::Achieved(grant.achieved);
        self.gate
            .check_access(&registration.client_id, &grant.connector, level)
            .map_err(|_| ErrorCode::CodeGateClosed)
    }

    /// Extends the grant, and replaces its token unless it is bound to a key. Returns the next
    /// token, if there is one. Of concurrent uses one succeeds; another one is a reuse.
    async fn renew_grant(
        &self,
        grant: RefreshGrant,
        record: &Record,
        request: &RefreshRequest,
        rules: RefreshTokenRules,
    ) -> Result<Option<Secret<String>>, ErrorCode> {
        let token = request.refresh_token.reveal();
        let name = RefreshTokenParts::parse(token).ok_or(ErrorCode::RefreshTokenUnknown)?.grant;
        let (now, rotates) = (self.core.env.now(), grant.rotates());
        let secret = rotates.then(|| self.core.env.entropy().token());
        let hash =
            secret.as_ref().map_or(grant.secret.clone(), |new| digest::sha256_base64url(new));
        let next = RefreshGrant { secret: hash, ..grant };
        let (value, until) = (encode_record(&next)?, next.expires_at(rules, now));
        let key = refresh_grant_key(name);
        match self.store.replace(&key, record.version, value, until, now).await? {
            ReplaceOutcome::Replaced(_) => {
                Ok(secret.map(|secret| Secret::new(format!("{name}.{secret}"))))
            }
            ReplaceOutcome::Stale if !rotates => Ok(None),
            ReplaceOutcome::Stale => {
                self.end_refresh_grant(&next).await?;
                Err(ErrorCode::RefreshTokenReused)
            }
            ReplaceOutcome::Gone => Err(ErrorCode::RefreshTokenUnknown),
        }
    }

    /// Ends a grant with everything issued in it.
    async fn end_refresh_grant(&self, grant: &RefreshGrant) -> Result<(), ErrorCode> {
        let now = self.core.env.now();
        let until = grant.ends_at.max(now + self.lifetimes.access_token + Duration::from_secs(1));
        self.store.revoke(&grant.family, until, now).await?;
        self.core.audit.record(|| event_for_token(EventKind::TokenRevoked, &grant.token));
        Ok(())
    }

    /// Ends the grant of a refresh token of this client (RFC 7009 §2.1). Returns whether there was
    /// one.
    pub(super) async fn revoke_refresh_token(
        &self,
        client: &ServiceProvider,
        token: &str,
    ) -> Result<bool, ErrorCode> {
        let Some(parts) = RefreshTokenParts::parse(token) else { return Ok(false) };
        let key = refresh_grant_key(parts.grant);
        let Some(record) = self.store.load(&key, self.core.env.now()).await? else {
            return Ok(false);
        };
        let grant: RefreshGrant = decode_record(&record.value)?;
        let is_own = grant.token.client_id == client.registration.client_id;
        if !is_own || !parts.is_in_use(&grant) {
            return Ok(false);
        }
        self.end_refresh_grant(&grant).await?;
        Ok(true)
    }
}

/// Returns whether a request proves the key that its grant is bound to. A confidential client
/// authenticates, and may change its key (RFC 9449 §5); it must not fall back to bearer tokens.
fn is_same_sender(
    client: &ServiceProvider,
    grant: &RefreshGrant,
    key: Option<&Confirmation>,
) -> bool {
    match (&grant.cnf, key) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(bound), Some(key)) => match client.registration.client_type {
            ClientType::Public => bound == key,
            ClientType::Confidential => bound.method() == key.method(),
        },
    }
}
