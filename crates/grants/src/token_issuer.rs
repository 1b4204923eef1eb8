//! Issues the access tokens and ID tokens of token responses.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Map;
use serde_json::Value;

use super::backchannel_logout::derive_sid;
use super::records::{IdTokenRecord, TokenRecord, new_record, released_claims, token_key};
use super::response_signer::{JwtKind, ResponseEncryption, ResponseSigner};
use super::{HubCore, TokenLifetimesByRules};
use passerelle_audit::{Event, EventKind};
use passerelle_federation::{ServiceProvider, assurance, verified_claim_names};
use passerelle_jose::encrypt::JweMark;
use passerelle_jose::jwt_signer::IdTokenClaims;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_store::{Family, NewRecord, Store, StoreError};

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

/// An access token that was stored.
pub(super) struct IssuedAccessToken {
    pub value: String,
    pub lifetime: Duration,
}

/// Issues tokens.
pub(super) struct TokenIssuer {
    pub(super) core: Arc<HubCore>,
    pub(super) store: Arc<dyn Store>,
    pub(super) signer: Arc<ResponseSigner>,
    pub(super) lifetimes: TokenLifetimesByRules,
}

impl TokenIssuer {
    /// Returns the lifetime of this client's access tokens.
    pub(crate) fn access_token_lifetime(&self, client: &ServiceProvider) -> Duration {
        let default = self.lifetimes.for_rules(client.registration.rules).access_token;
        client.access_token_lifetime.unwrap_or(default)
    }

    /// Checks that an ID token for this client can be signed and encrypted now, and returns its
    /// encryption.
    ///
    /// # Errors
    /// `ClientKeysMissing`, `KeyDeviceUnavailable`.
    pub(crate) fn check_keys(
        &self,
        client: &ServiceProvider,
    ) -> Result<ResponseEncryption, ErrorCode> {
        let encryption = self.signer.id_token_encryption(client)?;
        self.signer.check_signing_keys()?;
        Ok(encryption)
    }

    /// Stores a new access token; `None` if one of its families was revoked meanwhile.
    ///
    /// # Errors
    /// The error of the store.
    pub(crate) async fn store_access_token(
        &self,
        client: &ServiceProvider,
        token: &TokenRecord,
        families: Arc<[Family]>,
    ) -> Result<Option<IssuedAccessToken>, ErrorCode> {
        let (now, value) = (self.core.env.now(), self.core.env.entropy().token());
        let lifetime = self.access_token_lifetime(client);
        let record = NewRecord { families, ..new_record(token, now + lifetime)? };
        match self.store.insert(token_key(&value), record, now).await {
            Ok(_) => Ok(Some(IssuedAccessToken { value, lifetime })),
            Err(StoreError::Revoked) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an access token that was not sent.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub(crate) async fn discard(&self, token: &IssuedAccessToken) -> Result<(), ErrorCode> {
        Ok(self.store.remove(&token_key(&token.value)).await?)
    }

    /// Counts an access token that is sent, and records it in the audit log with the ID token that is
    /// sent with it.
    pub(crate) fn record_access_token(
        &self,
        token: &TokenRecord,
        id_token: Option<&IdTokenRecord>,
    ) {
        self.core.metrics.record_issued_token("access_token");
        self.core.audit.record(|| {
            let event = event_for_token(EventKind::TokenIssued, token).level(token.level);
            let Some(id_token) = id_token else { return event };
            let names = verified_claim_names(&id_token.claims);
            event.session(&id_token.session.0).verified_claims(names)
        });
    }

    /// Signs an ID token, and encrypts it if the client registered so. It has the claims of the
    /// granted scopes if the client gets them there now, and the claims that the request names.
    pub(crate) async fn issue_id_token(
        &self,
        IdTokenContent { record, token, nonce }: IdTokenContent<'_>,
        client: &ServiceProvider,
        encryption: &ResponseEncryption,
    ) -> Result<String, ErrorCode> {
        let now = self.core.env.now();
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
        let signed = self.signer.sign(JwtKind::IdToken, alg, &claims).await?;
        let audience = &token.client_id;
        let mark = record.hint_key.as_ref().map(|key| JweMark { key, audience });
        let id_token = encryption.encrypt_marked(signed, mark)?;
        self.core.metrics.record_issued_token("id_token");
        Ok(id_token)
    }

    /// Returns the claims of a token's scopes, without those that only the request names.
    pub(crate) fn scope_claims(
        &self,
        client: &ServiceProvider,
        token: &TokenRecord,
    ) -> Map<String, Value> {
        let federation = self.core.federation.load();
        let table = federation.scope_table(client.registration.rules);
        released_claims(&token.claims, &table.claim_names(&token.scopes))
    }
}
