//! The requests of clients: registration (RFC 7591 §3), and reading, updating and deleting one
//! (RFC 7592 §2).

use serde_json::{Map, Value};

use super::ClientRegistrations;
use super::client_metadata::{AUTH_METHOD, ClientMetadata, DEFAULT_AUTH_METHOD, MetadataError};
use super::records::{
    ClientEntry, InitialToken, RegistrationIndex, RegistrationRecord, RegistrationStatus,
    RegistrationTerms, sha256_hex,
};
use super::settings::OpenRegistration;
use super::{audit_events, error_codes};
use passerelle_audit::Event;
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::digest;
use passerelle_protocol::ids::ClientId;

/// Length of the random part of a client_id: 132 bits.
const CLIENT_ID_CHARS: usize = 22;

/// The bearer token of a request, unverified.
#[derive(Clone, Copy)]
pub struct PresentedRegistrationToken<'a>(pub Option<&'a str>);

impl PresentedRegistrationToken<'_> {
    fn hash(self) -> Option<String> {
        self.0.map(digest::sha256_base64url)
    }
}

/// New credentials, which only the answer has: the store has their hashes.
#[derive(Default)]
struct IssuedCredentials {
    secret: Option<String>,
    access_token: String,
}

/// What one more registration may request, and the one that gave it its place.
struct Admission {
    terms: RegistrationTerms,
    /// Id of the initial access token.
    token: Option<String>,
    displaced: Option<ClientEntry>,
}

impl ClientRegistrations {
    /// Registers a client and returns the client information response (RFC 7591 §3.2.1).
    ///
    /// # Errors
    /// `INITIAL_TOKEN_MISSING`, `INITIAL_TOKEN_INVALID`, `INITIAL_TOKEN_EXHAUSTED`, `REGISTRATIONS_FULL`,
    /// the error of the metadata, or of the store.
    pub async fn register(
        &self,
        presented: PresentedRegistrationToken<'_>,
        network: ClientNetwork,
        body: &[u8],
    ) -> Result<Map<String, Value>, GrantError> {
        // Checked before the body is read, so that only a client within the quota costs more.
        let (mut index, _) = self.load_index().await?;
        let token_hash = presented.hash();
        let Admission { terms, token, .. } = self.admit(&mut index, token_hash.as_deref(), None)?;
        let (metadata, _) = ClientMetadata::parse(body)?;
        let env = &self.services.env;
        let random = env.entropy().token();
        let unique = random.get(..CLIENT_ID_CHARS).unwrap_or(&random);
        let client_id = ClientId::new(format!("{}{unique}", ClientId::REGISTERED_PREFIX));
        let mut record = RegistrationRecord {
            client_id: client_id.clone(),
            created_at: env.now(),
            metadata,
            terms,
            secret_sha256: None,
            access_token_hash: String::new(),
        };
        let issued = self.issue_credentials(&mut record);
        self.validate(&mut record, token.as_deref()).await?;
        let status = self.initial_status(&record.terms, &record.metadata);
        let entry = ClientEntry {
            client_id: client_id.clone(),
            record: self.insert_record(&record).await?,
            status,
            approved_by_operator: false,
            created_at: record.created_at,
            active_at: record.created_at,
            renewed_at: record.created_at,
            token: token.clone(),
            network: None,
        };
        let network_key = env.entropy().token();
        let added = self.update_index(|index| {
            let network = token.is_none().then(|| index.network_pseudonym(network, &network_key));
            let admission = self.admit(index, token_hash.as_deref(), network.as_deref())?;
            index.clients.push(ClientEntry { network, ..entry.clone() });
            let used = index.tokens.iter_mut().find(|known| Some(&known.id) == token.as_ref());
            if let Some(used) = used {
                used.used = used.used.saturating_add(1);
            }
            Ok(admission.displaced)
        });
        match added.await {
            Ok(None) => {}
            Ok(Some(displaced)) => self.finish_displacement(&displaced).await,
            Err(error) => {
                self.remove_record(&entry.record).await;
                return Err(error);
            }
        }
        self.services.audit.record(|| Event::new(audit_events::CLIENT_REGISTERED).sp(&client_id));
        tracing::info!(%client_id, ?status, "client registered");
        Ok(self.response(&record, status, &issued))
    }

    /// Makes room in the index for one more registration, from `network` if it has no initial
    /// access token. Registrations without one can't use up the places of those with one.
    fn admit(
        &self,
        index: &mut RegistrationIndex,
        token_hash: Option<&str>,
        network: Option<&str>,
    ) -> Result<Admission, ErrorCode> {
        let limit = |most: u32| usize::try_from(most).unwrap_or(usize::MAX);
        let is_full = index.clients.len() >= limit(self.config.max_registrations);
        let is_open = |entry: &ClientEntry| entry.token.is_none() && !entry.approved_by_operator;
        let is_waiting = |entry: &ClientEntry| {
            is_open(entry) && self.current_status(entry) == RegistrationStatus::Pending
        };
        let (terms, token) = match token_hash {
            Some(hash) => self.find_token_terms(index, hash)?,
            None if self.config.open == OpenRegistration::Refused => {
                return Err(error_codes::INITIAL_TOKEN_MISSING);
            }
            None => (self.open_terms(), None),
        };
        let waiting = index.clients.iter().filter(|entry| is_waiting(entry)).count();
        let displaced = if token.is_none() && waiting >= limit(self.config.max_pending) {
            index.displace(network, is_waiting)
        } else if is_full {
            Some(index.displace(network, is_open).ok_or(error_codes::REGISTRATIONS_FULL)?)
        } else {
            None
        };
        Ok(Admission { terms, token, displaced })
    }

    /// Returns the terms and the id of an initial access token that has registrations left.
    fn find_token_terms(
        &self,
        index: &RegistrationIndex,
        hash: &str,
    ) -> Result<(RegistrationTerms, Option<String>), ErrorCode> {
        let is_same = |token: &&InitialToken| {
            digest::constant_time_eq(token.hash.as_bytes(), hash.as_bytes())
        };
        let token = index.tokens.iter().find(is_same).ok_or(error_codes::INITIAL_TOKEN_INVALID)?;
        if token.used >= token.registrations {
            return Err(error_codes::INITIAL_TOKEN_EXHAUSTED);
        }
        Ok((token.terms.clone(), Some(token.id.clone())))
    }

    async fn finish_displacement(&self, displaced: &ClientEntry) {
        self.remove_record(&displaced.record).await;
        let client_id = &displaced.client_id;
        self.services.audit.record(|| Event::new(audit_events::CLIENT_DISPLACED).sp(client_id));
        tracing::warn!(%client_id, "registration displaced by a newer one: all places are taken");
    }

    /// Returns the registration to the client that owns it (RFC 7592 §2.1).
    ///
    /// # Errors
    /// `REGISTRATION_TOKEN_MISSING`, `REGISTRATION_TOKEN_INVALID`, or the error of the store.
    pub async fn read(
        &self,
        client_id: &str,
        presented: PresentedRegistrationToken<'_>,
    ) -> Result<Map<String, Value>, GrantError> {
        let (entry, record) = self.authenticate_owner(client_id, presented).await?;
        let access_token = presented.0.unwrap_or_default().to_owned();
        let issued = IssuedCredentials { secret: None, access_token };
        Ok(self.response(&record, self.current_status(&entry), &issued))
    }

    /// Replaces the metadata of a registration, and its registration access token (RFC 7592 §2.2).
    /// A registration that an operator approved waits for approval again.
    ///
    /// # Errors
    /// `REGISTRATION_TOKEN_MISSING`, `REGISTRATION_TOKEN_INVALID`, the error of the metadata, or of the
    /// store.
    pub async fn update(
        &self,
        client_id: &str,
        presented: PresentedRegistrationToken<'_>,
        body: &[u8],
    ) -> Result<Map<String, Value>, GrantError> {
        let (entry, current) = self.authenticate_owner(client_id, presented).await?;
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
        let sent_secret = identification.client_secret.map(|secret| sha256_hex(secret.reveal()));
        if sent_secret.is_some() && sent_secret != current.secret_sha256 {
            let fix = "send the current one, or leave it out";
            return Err(MetadataError::new("client_secret", "is another one", fix).into());
        }
        let mut next = RegistrationRecord { metadata, ..current.clone() };
        let issued = self.issue_credentials(&mut next);
        self.validate(&mut next, entry.token.as_deref()).await?;
        let is_unchanged = next.metadata == current.metadata;
        let initial_status = self.initial_status(&next.terms, &next.metadata);
        let (name, now) = (self.insert_record(&next).await?, self.services.env.now());
        let changed = self.update_index(|index| {
            let known = index.client_mut(client_id).filter(|known| known.record == entry.record);
            // Another request has updated it since, and its token has changed.
            let known = known.ok_or(error_codes::REGISTRATION_TOKEN_INVALID)?;
            known.record.clone_from(&name);
            known.renewed_at = now;
            if !is_unchanged {
                known.approved_by_operator = false;
                // A registration that waits can't prolong its wait by updates.
                if known.status != initial_status {
                    (known.status, known.active_at) = (initial_status, now);
                }
            }
            Ok(self.current_status(known))
        });
        let status = match changed.await {
            Ok(status) => status,
            Err(error) => {
                self.remove_record(&name).await;
                return Err(error);
            }
        };
        self.remove_record(&entry.record).await;
        self.services.audit.record(|| Event::new(audit_events::CLIENT_UPDATED).sp(&next.client_id));
        Ok(self.response(&next, status, &issued))
    }

    /// Deletes a registration (RFC 7592 §2.3). Its codes and tokens end at once.
    ///
    /// # Errors
    /// `REGISTRATION_TOKEN_MISSING`, `REGISTRATION_TOKEN_INVALID`, or the error of the store.
    pub async fn delete(
        &self,
        client_id: &str,
        presented: PresentedRegistrationToken<'_>,
    ) -> Result<(), GrantError> {
        let (entry, _) = self.authenticate_owner(client_id, presented).await?;
        // An update may have written another record since.
        let removed = self.update_index(|index| {
            index.remove_client(client_id).ok_or(error_codes::REGISTRATION_TOKEN_INVALID.into())
        });
        let removed = removed.await?;
        self.remove_record(&removed.record).await;
        self.services
            .audit
            .record(|| Event::new(audit_events::CLIENT_DELETED).sp(&entry.client_id));
        Ok(())
    }

    /// Finds the registration whose access token was presented. The error is the same whether the
    /// client exists.
    async fn authenticate_owner(
        &self,
        client_id: &str,
        presented: PresentedRegistrationToken<'_>,
    ) -> Result<(ClientEntry, RegistrationRecord), GrantError> {
        let invalid = || GrantError::from(error_codes::REGISTRATION_TOKEN_INVALID);
        let hash = presented.hash().ok_or(error_codes::REGISTRATION_TOKEN_MISSING)?;
        let (index, _) = self.load_index().await?;
        let entry = index.client(client_id).cloned().ok_or_else(invalid)?;
        let record = self.load_registration(&entry).await;
        let record = record.map_err(|code| match code {
            error_codes::REGISTRATION_UNREADABLE => invalid(),
            code => code.into(),
        })?;
        let is_own = digest::constant_time_eq(record.access_token_hash.as_bytes(), hash.as_bytes());
        if is_own { Ok((entry, record)) } else { Err(invalid()) }
    }

    /// Replaces the registration access token, and adds or removes the client secret as the method
    /// of authentication needs.
    fn issue_credentials(&self, record: &mut RegistrationRecord) -> IssuedCredentials {
        let entropy = self.services.env.entropy();
        let access_token = entropy.token();
        record.access_token_hash = digest::sha256_base64url(&access_token);
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

    /// Checks the metadata against its terms and the rules of files, and completes them with what
    /// is registered for absent members, so that a client can send back what it receives.
    async fn validate(
        &self,
        record: &mut RegistrationRecord,
        token: Option<&str>,
    ) -> Result<(), MetadataError> {
        let others = self.clients_of_others(&record.client_id, token).await;
        self.apply_terms(record, &others)?;
        let service = self.check_file(record)?;
        record.metadata.complete(&service);
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
        let address = format!("{}/register/{client_id}", self.services.issuer);
        set("registration_client_uri", Value::String(address));
        set("registration_status", Value::from(status.as_str()));
        response
    }
}
