//! Issuing a code: the last effect of a login.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::records::{CodeRecord, TokenRecord, code_key, encode, family};
use super::{Grants, store_code};
use crate::identity::Claim;
use crate::login::Grant;
use crate::protocol::catalogue::ErrorCode;
use crate::store::Draft;

impl Grants {
    /// Stores what `grant.code` stands for, then the session that the login begins.
    ///
    /// # Errors
    /// `StoreFull`, `StoreUnavailable`: nothing can be redeemed then.
    pub async fn issue(&self, grant: Grant) -> Result<(), ErrorCode> {
        let now = self.env.now();
        let request = &grant.request;
        let release = self.federation.release(request);
        let record = CodeRecord {
            redirect_uri: request.redirect.redirect_uri().to_owned(),
            code_challenge: request.code_challenge.clone(),
            nonce: request.nonce.as_ref().map(|nonce| nonce.reveal().clone()),
            amr: request.claims.amr.then(|| grant.proven.evidence.outgoing(&self.amr_marker)),
            claims: of(&grant.proven.claims, &release.id_token),
            auth_time: grant.proven.authentication.auth_time,
            connector: grant.proven.authentication.connector.clone(),
            level: grant.proven.authentication.level,
            token: TokenRecord {
                client_id: request.client_id.clone(),
                subject: grant.proven.subject.clone(),
                scopes: grant.scopes.clone(),
                claims: of(&grant.proven.claims, &release.userinfo),
                support_id: grant.support_id.clone(),
            },
        };
        let code = grant.code.reveal().as_str();
        let draft = Draft { value: encode(&record)?, expires_at: now + self.lives.code, family: Some(family(code)) };
        // The session first: a code must not be redeemable by a login whose session could not be kept.
        self.begin_session(&grant, now).await?;
        if let Err(fault) = self.store.insert(code_key(code), draft, now).await {
            self.abandon_session(&grant).await;
            return Err(store_code(&fault));
        }
        self.end_former_session(&grant).await;
        self.metrics.token_issued("code");
        Ok(())
    }

    /// True while the code is neither redeemed nor expired.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn code_lives(&self, code: &str) -> Result<bool, ErrorCode> {
        let record = self.store.load(&code_key(code), self.env.now()).await.map_err(|fault| store_code(&fault))?;
        Ok(record.is_some())
    }
}

/// Of the claims that were shown, those that are told in one place.
fn of(shown: &Map<String, Value>, names: &BTreeSet<Claim>) -> Map<String, Value> {
    let told = shown.iter().filter(|(name, _)| Claim::named(name).is_some_and(|claim| names.contains(&claim)));
    told.map(|(name, value)| (name.clone(), value.clone())).collect()
}
