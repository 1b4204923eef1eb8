//! The requests of clients: registration (RFC 7591 §3), and reading, updating and deleting one
//! (RFC 7592 §2).

use serde_json::{Map, Value};

use super::index::{
    ClientEntry, InitialToken, RegistrationIndex, RegistrationRecord, RegistrationStatus,
    RegistrationTerms,
};
use super::{CLIENT_ID_PREFIX, ClientRegistrations};
use crate::audit::{Event, EventKind};
use crate::digest;
use crate::grant::error::GrantError;
use crate::ids::ClientId;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::client_registration::{
    AUTH_METHOD, ClientMetadata, DEFAULT_AUTH_METHOD, MetadataError,
};
use crate::protocol::discovery::path;

/// Length of the random part of a client_id: 132 bits.
const CLIENT_ID_CHARS: usize = 22;

/// The bearer token of a request, unverified.
#[derive(Clone, Copy)]
pub struct PresentedRegistrationToken<'a>(pub Option<&'a str>);

impl std::fmt::Debug for PresentedRegistrationToken<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PresentedRegistrationToken(***)")
    }
}

impl PresentedRegistrationToken<'_> {
    fn hash(self) -> Option<String> {
        self.0.map(digest::fingerprint)
    }
}

/// New credentials, which only the answer has: the store has their hashes.
#[derive(Default)]
struct IssuedCredentials {
    secret: Option<String>,
    access_token: String,
}

impl ClientRegistrations {
    /// Registers a client and returns the client information response (RFC 7591 §3.2.1).
    ///
    /// # Errors
    /// `InitialTokenMissing`, `InitialTokenInvalid`, `InitialTokenExhausted`, `RegistrationsFull`,
    /// the error of the metadata, or of the store.
    pub async fn register(
        &self,
        presented: PresentedRegistrationToken<'_>,
        body: &[u8],
    ) -> Result<Map<String, Value>, GrantError> {
        // Before the body is read: only a client with a place costs more.
        let (index, _) = self.load_index().await?;
        let token_hash = presented.hash();
        let (terms, token) = self.find_place(&index, token_hash.as_deref())?;
        let (metadata, _) = ClientMetadata::parse(body)?;
        let env = &self.services.env;
        let random = env.entropy().token();
        let client_id = ClientId::new(format!(
            "{CLIENT_ID_PREFIX}{}",
            random.get(..CLIENT_ID_CHARS).unwrap_or(&random)
        ));
        let mut record = RegistrationRecord {
            client_id: client_id.clone(),
            created_at: env.now(),
            metadata,
            terms,
            secret_sha256: None,
            access_token_hash: String::new(),
        };
        let issued = self.issue_credentials(&mut record);
        self.validate(&mut record)?;
        let status = self.initial_status(&record.terms, &record.metadata);
        let entry = ClientEntry {
            client_id: client_id.clone(),
            record: self.insert_record(&record).await?,
            status,
            created_at: record.created_at,
            active_at: record.created_at,
            renewed_at: record.created_at,
            token: token.clone(),
        };
        let added = self.update_index(|index| {
            self.find_place(index, token_hash.as_deref())?;
            index.clients.push(entry.clone());
            let used = index.tokens.iter_mut().find(|known| Some(&known.id) == token.as_ref());
            if let Some(used) = used {
                used.used = used.used.saturating_add(1);
            }
            Ok(())
        });
        if let Err(error) = added.await {
            self.remove_record(&entry.record).await;
            return Err(error);
        }
        self.services.audit.record(|| Event::new(EventKind::ClientRegistered).sp(&client_id));
        tracing::info!(%client_id, ?status, "client registered");
        Ok(self.response(&record, status, &issued))
    }

    /// Returns what one more registration may ask, and the id of its initial access token.
    fn find_place(
        &self,
        index: &RegistrationIndex,
        token_hash: Option<&str>,
    ) -> Result<(RegistrationTerms, Option<String>), ErrorCode> {
        let limit = |most: u32| usize::try_from(most).unwrap_or(usize::MAX);
        let is_full = index.clients.len() >= limit(self.config.max_registrations);
        let Some(hash) = token_hash else {
            let terms = self.open_terms().ok_or(ErrorCode::InitialTokenMissing)?;
            // A flood of strangers takes no place of clients with tokens.
            let is_waiting = |entry: &&ClientEntry| {
                entry.token.is_none() && entry.status == RegistrationStatus::Pending
            };
            let waiting = index.clients.iter().filter(is_waiting).count();
            if is_full || waiting >= limit(self.config.max_pending) {
                return Err(ErrorCode::RegistrationsFull);
            }
            return Ok((terms, None));
        };
        let is_same = |token: &&InitialToken| {
            digest::constant_time_eq(token.hash.as_bytes(), hash.as_bytes())
        };
        let token = index.tokens.iter().find(is_same).ok_or(ErrorCode::InitialTokenInvalid)?;
        match () {
            () if token.used >= token.registrations => Err(ErrorCode::InitialTokenExhausted),
            () if is_full => Err(ErrorCode::RegistrationsFull),
            () => Ok((token.terms.clone(), Some(token.id.clone()))),
        }
    }

    /// Returns the registration to the client that owns it (RFC 7592 §2.1).
    ///
    /// # Errors
    /// `RegistrationTokenInvalid`, or the error of the store.
    pub async fn read(
        &self,
        client_id: &str,
        presented: PresentedRegistrationToken<'_>,
    ) -> Result<Map<String, Value>, GrantError> {
        let (entry, record) = self.find_own(client_id, presented).await?;
        let access_token = presented.0.unwrap_or_default().to_owned();
        let issued = IssuedCredentials { secret: None, access_token };
        Ok(self.response(&record, entry.status, &issued))
    }

    /// Replaces the metadata of a registration, and its registration access token (RFC 7592 §2.2).
    /// A registration that an operator approved waits for approval again.
    ///
    /// # Errors
    /// `RegistrationTokenInvalid`, the error of the metadata, or of the store.
    pub async fn update(
        &self,
        client_id: &str,
        presented: PresentedRegistrationToken<'_>,
        body: &[u8],
    ) -> Result<Map<String, Value>, GrantError> {
        let (entry, current) = self.find_own(client_id, presented).await?;
        let (mut metadata, identification) = ClientMetadata::parse(body)?;
        metadata.keep_default_method(&current.metadata);
        if identification.client_id.as_deref() != Some(client_id) {
            let message = "is missing or another one";
            return Err(MetadataError::new(
                "client_id",
                message,
                "send the one of this registration",
            )
            .into());
        }
        let sent_secret = identification.client_secret.map(|secret| sha256_hex(&secret));
        if sent_secret.is_some() && sent_secret != current.secret_sha256 {
            let fix = "send the current one, or leave it out";
            return Err(MetadataError::new("client_secret", "is another one", fix).into());
        }
        let mut next = RegistrationRecord { metadata, ..current.clone() };
        let issued = self.issue_credentials(&mut next);
        self.validate(&mut next)?;
        let status = match self.initial_status(&next.terms, &next.metadata) {
            _ if next.metadata == current.metadata => entry.status,
            status => status,
        };
        let (name, now) = (self.insert_record(&next).await?, self.services.env.now());
        let changed = self.update_index(|index| {
            let known = index.client_mut(client_id).filter(|known| known.record == entry.record);
            // Another request has updated it since, and its token has changed.
            let known = known.ok_or(ErrorCode::RegistrationTokenInvalid)?;
            known.record.clone_from(&name);
            (known.renewed_at, known.active_at) = (now, now);
            known.status = status;
            Ok(())
        });
        if let Err(error) = changed.await {
            self.remove_record(&name).await;
            return Err(error);
        }
        self.remove_record(&entry.record).await;
        self.services.audit.record(|| Event::new(EventKind::ClientUpdated).sp(&next.client_id));
        Ok(self.response(&next, status, &issued))
    }

    /// Deletes a registration (RFC 7592 §2.3). Its codes and tokens are worth nothing from now on.
    ///
    /// # Errors
    /// `RegistrationTokenInvalid`, or the error of the store.
    pub async fn delete(
        &self,
        client_id: &str,
        presented: PresentedRegistrationToken<'_>,
    ) -> Result<(), GrantError> {
        let (entry, _) = self.find_own(client_id, presented).await?;
        self.services.audit.record(|| Event::new(EventKind::ClientDeleted).sp(&entry.client_id));
        self.update_index(|index| {
            index.clients.retain(|known| known.client_id != entry.client_id);
            Ok(())
        })
        .await?;
        self.remove_record(&entry.record).await;
        Ok(())
    }

    /// Finds the registration whose access token was presented. The error is the same whether the
    /// client exists.
    async fn find_own(
        &self,
        client_id: &str,
        presented: PresentedRegistrationToken<'_>,
    ) -> Result<(ClientEntry, RegistrationRecord), GrantError> {
        let invalid = || GrantError::from(ErrorCode::RegistrationTokenInvalid);
        let hash = presented.hash().ok_or_else(invalid)?;
        let (index, _) = self.load_index().await?;
        let entry = index.client(client_id).cloned().ok_or_else(invalid)?;
        let record = self.load_registration(&entry.record).await?.ok_or_else(invalid)?;
        let is_own = record.client_id == entry.client_id
            && digest::constant_time_eq(record.access_token_hash.as_bytes(), hash.as_bytes());
        if is_own { Ok((entry, record)) } else { Err(invalid()) }
    }

    /// Replaces the registration access token, and adds or removes the client secret as the method
    /// of authentication needs.
    fn issue_credentials(&self, record: &mut RegistrationRecord) -> IssuedCredentials {
        let entropy = self.services.env.entropy();
        let access_token = entropy.token();
        record.access_token_hash = digest::fingerprint(&access_token);
        let secret = match (record.metadata.needs_secret(), &record.secret_sha256) {
            (true, None) => Some(entropy.token()),
            (true, Some(_)) => None,
            (false, _) => {
                record.secret_sha256 = None;
                None
            }
        };
        if let Some(secret) = &secret {
            record.secret_sha256 = Some(sha256_hex(secret));
        }
        IssuedCredentials { secret, access_token }
    }

    /// Checks the metadata against its terms and the rules of files, and completes them with the
    /// algorithms of absent members, so that a client can send back what it receives.
    fn validate(&self, record: &mut RegistrationRecord) -> Result<(), MetadataError> {
        let RegistrationRecord { metadata, terms, client_id, .. } = record;
        self.apply_terms(metadata, terms, client_id)?;
        let service = self.check_file(record)?;
        let alg = service.id_token_signed_response_alg.as_str();
        record.metadata.set("id_token_signed_response_alg", Value::from(alg));
        if let Some(alg) = service.userinfo_signed_response_alg {
            record.metadata.set("userinfo_signed_response_alg", Value::from(alg.as_str()));
        }
        Ok(())
    }

    fn response(
        &self,
        record: &RegistrationRecord,
        status: RegistrationStatus,
        issued: &IssuedCredentials,
    ) -> Map<String, Value> {
        let mut response = record.metadata.members().clone();
        let mut set = |name: &str, value: Value| response.insert(name.to_owned(), value);
        let client_id = record.client_id.as_str();
        set("client_id", Value::from(client_id));
        set("client_id_issued_at", Value::from(record.created_at.seconds()));
        let method = record.metadata.text(AUTH_METHOD).unwrap_or(DEFAULT_AUTH_METHOD);
        set(AUTH_METHOD, Value::from(method));
        if let Some(secret) = &issued.secret {
            set("client_secret", Value::from(secret.as_str()));
            // It ends with the registration.
            set("client_secret_expires_at", Value::from(0));
        }
        set("registration_access_token", Value::from(issued.access_token.as_str()));
        let address = format!("{}{}/{client_id}", self.services.base_url, path::REGISTRATION);
        set("registration_client_uri", Value::String(address));
        let status = match status {
            RegistrationStatus::Pending => "pending",
            RegistrationStatus::Approved => "approved",
        };
        set("registration_status", Value::from(status));
        response
    }
}

/// Returns the SHA-256 of a secret in hex, as the files of service providers have it.
fn sha256_hex(secret: &str) -> String {
    digest::sha256(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
