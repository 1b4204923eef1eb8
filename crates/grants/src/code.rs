//! Issues authorization codes, the last step of a login, and takes them once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::access_token::shared_scopes;
use super::records::{
    CodeRecord, IdTokenRecord, TokenRecord, code_family, code_key, decode_record, new_record,
    released_claims,
};
use super::session::{GrantSession, SessionOrigin, Sessions};
use super::subjects::{SubjectDeriver, UpstreamAccount};
use super::{HubCore, TokenLifetimesByRules};
use passerelle_audit::{Event, EventKind};
use passerelle_federation::login::{CodeGrant, IdentifiedUser};
use passerelle_protocol::authorize::{VERIFIED_CLAIMS, VerifiedClaimsRequest};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, Scope, Subject};
use passerelle_protocol::refresh::OFFLINE_ACCESS;
use passerelle_store::{InsertPairError, NewRecord, Store, StoreError, TakeOutcome};
use passerelle_telemetry::trace;

/// Returns the scopes of a grant, without `offline_access` unless the user has consented (OpenID
/// Connect Core §11).
fn consented_scopes(grant: &CodeGrant) -> Vec<Scope> {
    let is_consented = |scope: &&Scope| grant.consented || scope.as_str() != OFFLINE_ACCESS;
    grant.scopes.iter().filter(is_consented).cloned().collect()
}

/// The authorization codes.
pub struct AuthorizationCodes {
    pub(super) core: Arc<HubCore>,
    pub(super) store: Arc<dyn Store>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) subjects: Arc<SubjectDeriver>,
    pub(super) lifetimes: TokenLifetimesByRules,
}

impl AuthorizationCodes {
    /// Stores the session and the code of a finished login.
    ///
    /// The operation is idempotent: when a first attempt had an unknown outcome, a repeat with the
    /// same grant completes it and never issues twice, because the tombstone of a redeemed code
    /// outlives the time in which a code is accepted.
    ///
    /// # Errors
    /// `StoreFull`: the code does not exist. `StoreUnavailable`: the code may exist. `AlreadyDone`:
    /// the code was redeemed or has expired.
    pub async fn issue(&self, grant: &CodeGrant) -> Result<(), ErrorCode> {
        let now = self.core.env.now();
        if grant.granted_at + self.lifetime(&grant.request.client_id) <= now {
            return Err(ErrorCode::AlreadyDone);
        }
        let mut session = self.sessions.begin(grant, now).await?;
        let mut origin = session.origin();
        let mut inserted = self.insert_code(grant, &mut session, now).await?;
        if inserted == Err(InsertPairError::First(StoreError::Exists)) {
            session = self.sessions.find_earlier(grant).await?;
            origin = session.origin();
            inserted = self.insert_code(grant, &mut session, now).await?;
        }
        match inserted {
            Ok(()) => {}
            // Another hub or an earlier attempt stored the code first.
            Err(InsertPairError::Second(StoreError::Exists)) => {
                return self.finish_earlier_issue(grant, origin).await;
            }
            // A repeat may complete it.
            Err(
                InsertPairError::First(error)
                | InsertPairError::Second(error @ StoreError::Unavailable(_)),
            ) => return Err(error.into()),
            Err(InsertPairError::Second(error)) => {
                // An existing session may belong to the attempt that succeeded.
                if origin == SessionOrigin::New {
                    self.sessions.discard_new(grant).await;
                }
                return Err(match error {
                    // The user signed out during this login.
                    StoreError::Revoked => ErrorCode::LoginRequired,
                    error => error.into(),
                });
            }
        }
        self.sessions.end_previous(grant).await;
        self.core.metrics.record_issued_token("code");
        self.core.audit.record(|| {
            let IdentifiedUser { authentication, subject, level, .. } = &grant.user;
            let issued = Event::new(EventKind::CodeIssued)
                .sp(&grant.request.client_id)
                .idp(&authentication.connector)
                .level(*level);
            issued
                .subject(subject)
                .login(&grant.login)
                .session(&session.family.0)
                .support_id(&grant.support_id)
        });
        Ok(())
    }

    /// Stores the code, and before it the session if that is new: a code must not be redeemable
    /// when its session could not be stored.
    async fn insert_code(
        &self,
        grant: &CodeGrant,
        session: &mut GrantSession,
        now: Timestamp,
    ) -> Result<Result<(), InsertPairError>, ErrorCode> {
        let record = new_record(
            &self.code_record(grant, session, now)?,
            grant.granted_at + self.lifetime(&grant.request.client_id),
        )?;
        let record = NewRecord { families: [session.family.clone()].into(), ..record };
        let key = code_key(grant.code.reveal());
        Ok(if let Some((session_key, session)) = session.new_record.take() {
            self.store.insert_pair(session_key, session, key, record, now).await
        } else {
            let inserted = self.store.insert(key, record, now).await;
            inserted.map(|_| ()).map_err(InsertPairError::Second)
        })
    }

    /// Returns the record of the code, with what its token will release.
    fn code_record(
        &self,
        grant: &CodeGrant,
        session: &GrantSession,
        now: Timestamp,
    ) -> Result<CodeRecord, ErrorCode> {
        let request = &grant.request;
        let federation = self.core.federation.load();
        let release = federation.released_claims(request);
        let released = |names, requests: &[VerifiedClaimsRequest]| {
            let mut claims = released_claims(&grant.user.claims, names);
            let verified =
                federation.verified_claims(requests, &grant.user, &release.verified, now);
            claims.extend(verified.map(|verified| (VERIFIED_CLAIMS.to_owned(), verified)));
            claims
        };
        Ok(CodeRecord {
            code_challenge: request.code_challenge.clone(),
            nonce: request.nonce.as_ref().map(|nonce| nonce.reveal().clone()),
            id_token: IdTokenRecord {
                amr: request
                    .claims
                    .amr
                    .then(|| grant.user.evidence.amr_claim(&self.core.amr_marker)),
                claims: released(&release.id_token, &request.claims.verified_id_token),
                auth_time: grant.user.authentication.auth_time,
                session: session.family.clone(),
                hint_key: session.hint_key.clone(),
            },
            connector: grant.user.authentication.connector.clone(),
            achieved: grant.user.authentication.level,
            dpop_jkt: request.dpop_jkt.clone(),
            token: TokenRecord {
                client_id: request.client_id.clone(),
                subject: grant.user.subject.clone(),
                scopes: consented_scopes(grant),
                claims: released(&release.userinfo, &request.claims.verified_userinfo),
                support_id: grant.support_id.clone(),
                level: grant.user.level,
                acr_name: request.acr_answer(&grant.user.evidence.acr_proof(grant.user.level)),
                issued_at: now,
                redirect_uri: request.redirect.redirect_uri().to_owned(),
                cnf: None,
                subjects_by_sector: self.derive_subjects_by_sector(grant)?,
                trace: trace::login_context(),
            },
        })
    }

    /// Completes an attempt whose code already exists: while the code is live, only the previous
    /// session must be ended. If the code is gone, a logout ended the session meanwhile, and a
    /// session that this attempt created is removed.
    async fn finish_earlier_issue(
        &self,
        grant: &CodeGrant,
        origin: SessionOrigin,
    ) -> Result<(), ErrorCode> {
        if self.is_live(grant.code.reveal()).await? {
            self.sessions.end_previous(grant).await;
            return Ok(());
        }
        if origin == SessionOrigin::New {
            self.sessions.discard_new(grant).await;
        }
        Err(ErrorCode::AlreadyDone)
    }

    /// Derives one `sub` for each sector of the data providers that share a scope with the grant.
    fn derive_subjects_by_sector(
        &self,
        grant: &CodeGrant,
    ) -> Result<BTreeMap<String, Subject>, ErrorCode> {
        let IdentifiedUser { authentication, identity, .. } = &grant.user;
        let mut subjects = BTreeMap::new();
        for provider in self.core.federation.load().active_data_providers() {
            if shared_scopes(&grant.scopes, provider).is_some()
                && !subjects.contains_key(&provider.sector)
            {
                let subject = self.subjects.derive(
                    provider.subject_key_version,
                    &provider.sector,
                    UpstreamAccount {
                        connector: &authentication.connector,
                        subject: &authentication.upstream_subject,
                    },
                    identity,
                )?;
                subjects.insert(provider.sector.clone(), subject);
            }
        }
        Ok(subjects)
    }

    /// Returns true while the code is neither redeemed nor expired.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn is_live(&self, code: &str) -> Result<bool, ErrorCode> {
        Ok(self.store.load(&code_key(code), self.core.env.now()).await?.is_some())
    }

    /// Takes the code for this client, whose tokens live for `tokens_live`. It stays consumed if a
    /// later step fails.
    ///
    /// # Errors
    /// `CodeUnknown`, `CodeRedeemedByOtherClient`; `CodeReused`, after which what the first
    /// redemption issued is revoked; the error of the store.
    pub(super) async fn take(
        &self,
        code: &str,
        client_id: &ClientId,
        tokens_live: Duration,
    ) -> Result<CodeRecord, ErrorCode> {
        let now = self.core.env.now();
        // One atomic operation decides who redeems (RFC 6749 §4.1.2).
        // The tombstone outlives the time in which the code is accepted (see `issue`), and the
        // tokens.
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
                self.store.revoke(&code_family(code), tombstone_until, now).await?;
                Err(ErrorCode::CodeReused)
            }
            TakeOutcome::Gone => Err(ErrorCode::CodeUnknown),
        }
    }

    /// Returns the lifetime of this client's codes.
    fn lifetime(&self, client_id: &ClientId) -> Duration {
        self.lifetimes.for_rules(self.core.federation.load().rules_for(client_id)).code
    }
}
