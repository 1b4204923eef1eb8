//! Issuing a code: the last effect of a login.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::introspection::shared_scopes;
use super::records::{CodeRecord, TokenRecord, code_key, encode};
use super::session::{Begun, InSession};
use super::{Grants, store_code};
use crate::audit::{Event, Name};
use crate::identity::Claim;
use crate::ids::Subject;
use crate::login::{Grant, Proven};
use crate::protocol::catalogue::ErrorCode;
use crate::store::{Draft, StoreFault};
use crate::telemetry::trace;

impl Grants {
    /// Stores what `grant.code` stands for, after the session that the login begins. The same grant may come again, when
    /// nobody knows how far the first try got: it is brought to its end, and never done twice, since a spent code's
    /// tombstone outlives the moment until which a code is taken.
    ///
    /// # Errors
    /// `StoreFull`: nothing can be redeemed then. `StoreUnavailable`: perhaps. `AlreadyDone`: the code was used, or its
    /// time is over.
    pub async fn issue(&self, grant: Grant) -> Result<(), ErrorCode> {
        let now = self.env.now();
        let request = &grant.request;
        let expires_at = grant.granted_at + self.lives.code;
        if expires_at <= now {
            return Err(ErrorCode::AlreadyDone);
        }
        // The session first: a code must not be redeemable by a login whose session could not be kept.
        let InSession { family: session, begun, hint_key } =
            self.begin_session(&grant, now).await?;
        let release = self.federation.load().release(request);
        let record = CodeRecord {
            redirect_uri: request.redirect.redirect_uri().to_owned(),
            code_challenge: request.code_challenge.clone(),
            nonce: request.nonce.as_ref().map(|nonce| nonce.reveal().clone()),
            amr: request.claims.amr.then(|| grant.proven.evidence.outgoing(&self.amr_marker)),
            claims: of(&grant.proven.claims, &release.id_token),
            auth_time: grant.proven.authentication.auth_time,
            connector: grant.proven.authentication.connector.clone(),
            obtained: grant.proven.authentication.level,
            session,
            hint_key,
            token: TokenRecord {
                client_id: request.client_id.clone(),
                subject: grant.proven.subject.clone(),
                scopes: grant.scopes.clone(),
                claims: of(&grant.proven.claims, &release.userinfo),
                support_id: grant.support_id.clone(),
                level: grant.proven.level,
                issued_at: now,
                redirect_uri: None,
                subjects_by_sector: self.subjects_by_sector(&grant)?,
                trace: trace::of_login(),
            },
        };
        let code = grant.code.reveal().as_str();
        let families = [record.session.clone()].into();
        let draft = Draft { value: encode(&record)?, expires_at, unread_until: None, families };
        if let Err(fault) = self.store.insert(code_key(code), draft, now).await {
            return Err(match fault {
                // Another node, or an earlier try, was faster.
                StoreFault::Exists => return self.issued_before(&grant, begun).await,
                // What was begun may be brought to its end.
                fault @ StoreFault::Unavailable(_) => store_code(&fault),
                fault => {
                    // One that an earlier try began may be the winner's.
                    if begun == Begun::Now {
                        self.abandon_session(&grant).await;
                    }
                    refused(&fault)
                }
            });
        }
        self.end_former_session(&grant).await;
        self.metrics.token_issued("code");
        self.audit.tell(|| {
            let Proven { authentication, subject, level, .. } = &grant.proven;
            let issued = Event::of(Name::CodeIssued)
                .sp(&request.client_id)
                .idp(&authentication.connector)
                .level(*level);
            issued
                .subject(subject)
                .login(&grant.login)
                .session(&record.session.0)
                .support_id(&grant.support_id)
        });
        Ok(())
    }

    /// What is left to do where the code is there: while it lives, only to end the session before. A session that began just
    /// now was ended meanwhile, by a logout, and must not come back.
    async fn issued_before(&self, grant: &Grant, begun: Begun) -> Result<(), ErrorCode> {
        if self.code_lives(grant.code.reveal()).await? {
            self.end_former_session(grant).await;
            return Ok(());
        }
        if begun == Begun::Now {
            self.abandon_session(grant).await;
        }
        Err(ErrorCode::AlreadyDone)
    }

    /// One for each sector of the data providers that share a scope with the grant.
    fn subjects_by_sector(&self, grant: &Grant) -> Result<BTreeMap<String, Subject>, ErrorCode> {
        let Proven { authentication, identity, .. } = &grant.proven;
        let mut subjects = BTreeMap::new();
        for provider in self.federation.load().active_data_providers() {
            if shared_scopes(&grant.scopes, provider).is_some()
                && !subjects.contains_key(&provider.sector)
            {
                let subject = self.subjects.of(
                    provider.subject_key_version,
                    &provider.sector,
                    authentication,
                    identity,
                )?;
                subjects.insert(provider.sector.clone(), subject);
            }
        }
        Ok(subjects)
    }

    /// True while the code is neither redeemed nor expired.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn code_lives(&self, code: &str) -> Result<bool, ErrorCode> {
        let record = self
            .store
            .load(&code_key(code), self.env.now())
            .await
            .map_err(|fault| store_code(&fault))?;
        Ok(record.is_some())
    }
}

fn refused(fault: &StoreFault) -> ErrorCode {
    match fault {
        // The person has signed out while this login was being answered.
        StoreFault::Revoked => ErrorCode::LoginRequired,
        fault => store_code(fault),
    }
}

/// Of the claims that were shown, those that are told in one place.
fn of(shown: &Map<String, Value>, names: &BTreeSet<Claim>) -> Map<String, Value> {
    let told = shown
        .iter()
        .filter(|(name, _)| Claim::named(name).is_some_and(|claim| names.contains(&claim)));
    told.map(|(name, value)| (name.clone(), value.clone())).collect()
}
