//! Issues refresh tokens, exchanges them for access tokens, and ends what they belong to (RFC 6749
//! §6; RFC 9700 §4.14; `docs/refresh-tokens.md`).
//!
//! A token is the name of a grant and a secret. The grant is one record that knows the secret in
//! use: a token with another secret was used before, or stolen, and ends the grant with everything
//! issued in it, unless a client that authenticates repeats its last request at once
//! (docs/design/adr/0033-repeated-refresh-token.md). What a grant releases was decided when the user
//! consented, and never grows.

mod by_subject;
mod secret;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::lifetimes::MAX_ACCESS_TOKEN_LIFETIME;
use super::records::{
    CodeRecord, IdTokenRecord, TokenRecord, decode_record, encode_record, load_record, new_record,
    refresh_grant_key, released_claims,
};
use super::response_signer::ResponseEncryption;
use super::sender::SenderVerifier;
use super::token_issuer::{IdTokenContent, IssuedAccessToken, TokenIssuer, event_for_token};
use super::{Gate, HubCore};
pub use by_subject::RefreshGrantSummary;
use passerelle_audit::EventKind;
use passerelle_federation::assurance::{AcrCheck, Level};
use passerelle_federation::{RefreshTokenRules, ServiceProvider};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ConnectorId, Scope, Secret};
use passerelle_protocol::refresh::{OFFLINE_ACCESS, RefreshTokenGrant};
use passerelle_protocol::registration::ClientType;
use passerelle_protocol::sender_constraint::{Confirmation, ProofOfPossession};
use passerelle_protocol::token::TokenResponse;
use passerelle_store::{Family, NewRecord, Record, ReplaceOutcome, Store, StoreError};
use secret::{RefreshTokenParts, ReplacedSecret};

/// What a refresh token stands for.
#[derive(Serialize, Deserialize)]
struct RefreshGrant {
    /// SHA-256 of the secret of the token in use.
    secret: String,
    /// The secret before; absent until the first use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<ReplacedSecret>,
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
    /// The ID token that each use issues.
    id_token: IdTokenRecord,
}

/// A grant that a request may use.
struct UsableGrant {
    grant: RefreshGrant,
    record: Record,
    /// The secret that the first of two equal requests got; `None` for the first.
    repeated: Option<Secret<String>>,
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

/// The refresh tokens.
pub struct RefreshTokens {
    pub(super) core: Arc<HubCore>,
    pub(super) store: Arc<dyn Store>,
    pub(super) tokens: Arc<TokenIssuer>,
    pub(super) senders: Arc<SenderVerifier>,
    pub(super) gate: Arc<dyn Gate>,
}

impl RefreshTokens {
    /// Issues the refresh token of a redeemed code; `None` if the client gets none, or the user did
    /// not consent to it. `family` is that of everything issued for the code.
    pub(super) async fn issue(
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
        let session = rules.ends_with_session.then(|| record.id_token.session.clone());
        let grant = RefreshGrant {
            secret: digest::sha256_base64url(&secret),
            replaced: None,
            id_token: record.id_token.clone(),
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
        self.list_grant(&key, &grant).await?;
        match self.store.insert(key, draft, now).await {
            Ok(_) => {}
            Err(StoreError::Revoked) => return Err(ErrorCode::CodeRevoked),
            Err(error) => return Err(error.into()),
        }
        self.core.metrics.record_issued_token("refresh_token");
        Ok(Some(Secret::new(format!("{name}.{secret}"))))
    }

    /// Exchanges a refresh token of this client for an access token, an ID token, and the next
    /// refresh token unless its grant is bound to a key.
    ///
    /// # Errors
    /// `TokenGrantTypeUnauthorized` if the client gets no refresh tokens (RFC 6749 §5.2); an
    /// `invalid_grant` code for every defect of the token; the hub's own failures.
    pub(super) async fn exchange(
        &self,
        client: &ServiceProvider,
        request: &RefreshTokenGrant,
        sender: &ProofOfPossession,
    ) -> Result<TokenResponse, ErrorCode> {
        let rules = client.refresh_tokens.ok_or(ErrorCode::TokenGrantTypeUnauthorized)?;
        // Checked before anything changes, as for a code.
        let encryption = self.tokens.check_keys(client)?;
        let usable = self.find_grant(client, request).await?;
        self.check_refresh(client, &usable.grant, request)?;
        // After the token: anyone can send proofs in a public client's name. Before anything
        // changes: a client that lacks a nonce loses nothing.
        let sender = self.senders.verify_token_sender(client, sender)?;
        if !is_same_sender(client, &usable.grant, sender.key().as_ref()) {
            return Err(ErrorCode::RefreshTokenKey);
        }
        let client_id = &client.registration.client_id;
        let cnf = self.senders.bind_to_sender(client_id, None, sender).await?;
        let grant = &usable.grant;
        let token = self.narrow_token(client, &grant.token, &request.scope);
        let token = TokenRecord { issued_at: self.core.env.now(), cnf, ..token };
        let id_token = self.refreshed_id_token(client, grant, &token, &encryption).await?;
        let families = grant.families.as_slice().into();
        let stored = self.tokens.store_access_token(client, &token, families).await?;
        let access_token = stored.ok_or(ErrorCode::RefreshTokenUnknown)?;
        let refresh_token = match self.renew_grant(client, usable, request, rules).await {
            Ok(next) => next,
            Err(code) => {
                self.tokens.discard(&access_token).await?;
                return Err(code);
            }
        };
        self.tokens.record_access_token(&token, None);
        let IssuedAccessToken { value, lifetime } = access_token;
        Ok(TokenResponse::refreshed(value, lifetime.as_secs(), &token.scopes)
            .with_id_token(id_token)
            .bound_to(token.cnf.as_ref())
            .with_refresh_token(refresh_token))
    }

    /// Returns the access token of a grant with the requested scopes and their claims only; the
    /// grant keeps all (RFC 6749 §6). Without requested scopes it has all.
    fn narrow_token(
        &self,
        client: &ServiceProvider,
        token: &TokenRecord,
        requested: &[String],
    ) -> TokenRecord {
        let is_requested = |scope: &&Scope| requested.iter().any(|name| *name == scope.as_str());
        let scopes: Vec<Scope> = token.scopes.iter().filter(is_requested).cloned().collect();
        if requested.is_empty() || scopes.len() == token.scopes.len() {
            return token.clone();
        }
        let mut narrowed = TokenRecord { scopes, ..token.clone() };
        narrowed.claims = self.tokens.scope_claims(client, &narrowed);
        narrowed
    }

    /// Returns the ID token of a refresh: that of the login without its `nonce` (OpenID Connect Core
    /// 1.0 §12.2), and with the claims of the requested scopes only. `None` if the scope `openid` was
    /// not requested.
    async fn refreshed_id_token(
        &self,
        client: &ServiceProvider,
        grant: &RefreshGrant,
        token: &TokenRecord,
        encryption: &ResponseEncryption,
    ) -> Result<Option<String>, ErrorCode> {
        let has_openid = token.scopes.iter().any(|scope| scope.as_str() == "openid");
        if !has_openid {
            return Ok(None);
        }
        let mut record = grant.id_token.clone();
        if token.scopes.len() < grant.token.scopes.len() {
            let federation = self.core.federation.load();
            let table = federation.scope_table(client.registration.rules);
            record.claims = released_claims(&record.claims, &table.claim_names(&token.scopes));
        }
        let content = IdTokenContent { record: &record, token, nonce: None };
        self.tokens.issue_id_token(content, client, encryption).await.map(Some)
    }

    /// Returns the grant of this client that the token belongs to. A token that is no longer in use
    /// ends the grant: one of its two holders is a thief (RFC 9700 §4.14.2).
    async fn find_grant(
        &self,
        client: &ServiceProvider,
        request: &RefreshTokenGrant,
    ) -> Result<UsableGrant, ErrorCode> {
        let token = request.refresh_token.reveal();
        let parts = RefreshTokenParts::parse(token).ok_or(ErrorCode::RefreshTokenUnknown)?;
        let key = refresh_grant_key(parts.grant);
        let found = load_record::<RefreshGrant>(&*self.store, &key, self.core.env.now()).await?;
        let (grant, record) = found.ok_or(ErrorCode::RefreshTokenUnknown)?;
        if grant.token.client_id != client.registration.client_id {
            return Err(ErrorCode::RefreshTokenOfOtherClient);
        }
        if parts.is_in_use(&grant) {
            return Ok(UsableGrant { grant, record, repeated: None });
        }
        // RFC 9700 §4.14.2: only a public client's token can be used by a thief.
        let is_confidential = client.registration.client_type == ClientType::Confidential;
        let repeated = parts.repeated_answer(&grant, self.core.env.now());
        let Some(secret) = repeated.filter(|_| is_confidential) else {
            self.end_grant(&grant).await?;
            return Err(ErrorCode::RefreshTokenReused);
        };
        let (client_id, support_id) = (&grant.token.client_id, &grant.token.support_id);
        tracing::info!(%client_id, %support_id, "refresh request repeated by its client; it gets the same refresh token");
        Ok(UsableGrant { grant, record, repeated: Some(secret) })
    }

    /// Repeats the checks of the registration and of the gate, which may have changed.
    fn check_refresh(
        &self,
        client: &ServiceProvider,
        grant: &RefreshGrant,
        request: &RefreshTokenGrant,
    ) -> Result<(), ErrorCode> {
        let (registration, token) = (&client.registration, &grant.token);
        if !registration.has_redirect_uri(&token.redirect_uri)
            || !registration.grants_scopes(&token.scopes)
        {
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
    /// token, if there is one. Of concurrent uses one succeeds; another one is a reuse, or a
    /// repetition that gets the same token.
    async fn renew_grant(
        &self,
        client: &ServiceProvider,
        usable: UsableGrant,
        request: &RefreshTokenGrant,
        rules: RefreshTokenRules,
    ) -> Result<Option<Secret<String>>, ErrorCode> {
        let UsableGrant { grant, record, repeated } = usable;
        let token = request.refresh_token.reveal();
        let parts = RefreshTokenParts::parse(token).ok_or(ErrorCode::RefreshTokenUnknown)?;
        if let Some(secret) = repeated {
            return Ok(Some(parts.with_secret(&secret)));
        }
        let (now, rotates) = (self.core.env.now(), grant.rotates());
        let (next, secret) = if rotates {
            let (replaced, secret) = parts.replace_secret(&self.core.env, now);
            let hash = digest::sha256_base64url(secret.reveal());
            (RefreshGrant { secret: hash, replaced: Some(replaced), ..grant }, Some(secret))
        } else {
            (grant, None)
        };
        let (value, until) = (encode_record(&next)?, next.expires_at(rules, now));
        let key = refresh_grant_key(parts.grant);
        match self.store.replace(&key, record.version, value, until, now).await? {
            ReplaceOutcome::Replaced(_) => Ok(secret.map(|secret| parts.with_secret(&secret))),
            ReplaceOutcome::Stale if !rotates => Ok(None),
            // An equal request was faster.
            ReplaceOutcome::Stale => {
                let faster = self.find_grant(client, request).await?;
                let secret = faster.repeated.ok_or(ErrorCode::Busy)?;
                Ok(Some(parts.with_secret(&secret)))
            }
            ReplaceOutcome::Gone => Err(ErrorCode::RefreshTokenUnknown),
        }
    }

    /// Ends a grant with everything issued in it.
    async fn end_grant(&self, grant: &RefreshGrant) -> Result<(), ErrorCode> {
        let now = self.core.env.now();
        let until = grant.ends_at.max(now + MAX_ACCESS_TOKEN_LIFETIME + Duration::from_secs(1));
        self.store.revoke(&grant.family, until, now).await?;
        self.core.audit.record(|| event_for_token(EventKind::TokenRevoked, &grant.token));
        Ok(())
    }

    /// Ends the grant of a refresh token of this client (RFC 7009 §2.1). Returns whether there was
    /// one.
    pub(super) async fn revoke(
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
        let now = self.core.env.now();
        if !is_own || !(parts.is_in_use(&grant) || parts.repeated_answer(&grant, now).is_some()) {
            return Ok(false);
        }
        self.end_grant(&grant).await?;
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
