//! Lists and ends the refresh grants of a person, for operators.
//!
//! One record for each `sub` names its grants. Only a login that gets a refresh token writes it.

use serde::{Deserialize, Serialize};

use super::{RefreshGrant, RefreshTokens};
use crate::records::{decode_record, encode_record, load_record, subject_grants_key};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, Scope, Subject, SupportId};
use passerelle_store::{MAX_UPDATE_ATTEMPTS, RecordKey, RecordKind};

/// Grants of one person at one service provider; the oldest ends when there are more.
const MAX_GRANTS_PER_SUBJECT: usize = 20;

/// The grants of one `sub`, the oldest first.
#[derive(Default, Serialize, Deserialize)]
struct SubjectGrants(Vec<GrantEntry>);

#[derive(Clone, Serialize, Deserialize)]
struct GrantEntry {
    /// Name of the grant's record: a hash, and no credential.
    id: String,
    ends_at: Timestamp,
}

/// A live refresh grant, as operators see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefreshGrantSummary {
    pub id: String,
    pub client_id: ClientId,
    /// Support id of the login that it came from.
    pub support_id: SupportId,
    pub scopes: Vec<Scope>,
    /// Unix seconds.
    pub granted_at: u64,
    /// Unix seconds; earlier if it is not used.
    pub ends_at: u64,
    /// Unix seconds at which it ends if it is not used.
    pub expires_at: u64,
}

impl RefreshTokens {
    /// Adds a grant to those of its person.
    ///
    /// # Errors
    /// `Busy` after too many concurrent updates; otherwise the error of the store.
    pub(super) async fn list_grant(
        &self,
        key: &RecordKey,
        grant: &RefreshGrant,
    ) -> Result<(), ErrorCode> {
        let subject = subject_grants_key(&grant.token.subject);
        let now = self.core.env.now();
        let entry = GrantEntry { id: key.name.to_string(), ends_at: grant.ends_at };
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            let found = load_record::<SubjectGrants>(&*self.store, &subject, now).await?;
            let (SubjectGrants(mut grants), version) = found
                .map_or_else(Default::default, |(grants, record)| (grants, Some(record.version)));
            grants.retain(|known| known.ends_at > now);
            grants.push(entry.clone());
            let surplus = grants.len().saturating_sub(MAX_GRANTS_PER_SUBJECT);
            let oldest: Vec<GrantEntry> = grants.drain(..surplus).collect();
            let until = grants.iter().map(|grant| grant.ends_at).max().unwrap_or(now);
            let grants = SubjectGrants(grants);
            let value = encode_record(&grants)?;
            if self.store.compare_and_set(&subject, version, value, until, now).await? {
                return self.end_listed_grants(&oldest).await.map(drop);
            }
        }
        Err(ErrorCode::Busy)
    }

    /// Returns the live refresh grants of a person, by the `sub` at a service provider.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn find_by_subject(
        &self,
        subject: &Subject,
    ) -> Result<Vec<RefreshGrantSummary>, ErrorCode> {
        let entries = self.listed_grants(subject).await?;
        let keys: Vec<RecordKey> = entries.iter().map(GrantEntry::key).collect();
        let records = self.store.load_many(&keys, self.core.env.now()).await?;
        let live = entries.into_iter().zip(records);
        live.filter_map(|(entry, record)| Some((entry, record?)))
            .map(|(entry, record)| {
                let RefreshGrant { token, ends_at, .. } = decode_record(&record.value)?;
                Ok(RefreshGrantSummary {
                    id: entry.id,
                    client_id: token.client_id,
                    support_id: token.support_id,
                    scopes: token.scopes,
                    granted_at: token.issued_at.seconds(),
                    ends_at: ends_at.seconds(),
                    expires_at: record.expires_at.seconds(),
                })
            })
            .collect()
    }

    /// Ends the refresh grants of a person: the one with this id, or all. Returns how many were
    /// live.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub async fn end_by_subject(
        &self,
        subject: &Subject,
        id: Option<&str>,
    ) -> Result<usize, ErrorCode> {
        let mut entries = self.listed_grants(subject).await?;
        entries.retain(|entry| id.is_none_or(|id| entry.id == id));
        self.end_listed_grants(&entries).await
    }

    async fn listed_grants(&self, subject: &Subject) -> Result<Vec<GrantEntry>, ErrorCode> {
        let (key, now) = (subject_grants_key(subject), self.core.env.now());
        let found = load_record::<SubjectGrants>(&*self.store, &key, now).await?;
        Ok(found.map_or_else(Vec::new, |(SubjectGrants(grants), _)| grants))
    }

    async fn end_listed_grants(&self, entries: &[GrantEntry]) -> Result<usize, ErrorCode> {
        let mut ended = 0;
        for entry in entries {
            let (key, now) = (entry.key(), self.core.env.now());
            if let Some((grant, _)) = load_record::<RefreshGrant>(&*self.store, &key, now).await? {
                self.end_grant(&grant).await?;
                ended += 1;
            }
        }
        Ok(ended)
    }
}

impl GrantEntry {
    fn key(&self) -> RecordKey {
        RecordKey { kind: RecordKind::REFRESH_GRANT, name: self.id.as_str().into() }
    }
}
