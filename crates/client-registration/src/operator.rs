//! What operators do: see, approve, remove and export registrations, and create and revoke initial
//! access tokens.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use url::Host;

use super::ClientRegistrations;
use super::client_metadata::{AUTH_METHOD, ClientMetadata, DEFAULT_AUTH_METHOD};
use super::policy::ADDRESS_MEMBERS;
use super::records::{
    ClientEntry, InitialToken, RegistrationRecord, RegistrationStatus, RegistrationTerms, days,
};
use super::{audit_events, error_codes};
use passerelle_audit::{Event, EventKind};
use passerelle_federation::validity::format_rfc3339;
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::ids::{ClientId, Scope, SupportId};

/// Maximum number of initial access tokens at once.
const MAX_INITIAL_TOKENS: usize = 100;
/// Ranges of what a token may allow.
const MAX_TOKEN_REGISTRATIONS: u32 = 1000;
const MAX_TOKEN_DAYS: u32 = 366;
const MAX_TOKEN_HOSTS: usize = 20;

/// A registration, as operators see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RegistrationSummary {
    pub client_id: ClientId,
    pub status: RegistrationStatus,
    /// Names this state of the registration; each update by the client changes it. An approval
    /// needs it.
    pub fingerprint: String,
    /// Whether its record can be read. If not, only a removal is left.
    pub readable: bool,
    /// Its names, by language.
    pub names: BTreeMap<String, String>,
    pub token_endpoint_auth_method: String,
    pub scopes: Vec<Scope>,
    /// Every address that the client named.
    pub addresses: Vec<String>,
    /// How the operator can reach the developers, as they wrote it.
    pub contacts: Vec<String>,
    /// Id of its initial access token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    pub registered_at: String,
    /// When it ends without a login, or without an approval.
    pub expires_at: String,
}

/// An initial access token, as operators see it; without the token.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InitialTokenSummary {
    pub id: String,
    pub purpose: String,
    pub created_by: String,
    pub expires_at: String,
    /// Number of registrations that it allows; `used` is the number of those made.
    pub registrations: u32,
    pub used: u32,
    pub approved: bool,
    pub scopes: Vec<Scope>,
    pub hosts: Vec<String>,
}

/// All registrations and initial access tokens.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RegistrationList {
    pub registrations: Vec<RegistrationSummary>,
    pub initial_access_tokens: Vec<InitialTokenSummary>,
}

/// An initial access token to be created.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewInitialToken {
    /// Who gets it, in 5 to 200 characters; the audit log records it.
    pub purpose: String,
    /// Registrations that it allows.
    pub registrations: u32,
    /// Days until it expires.
    pub days: u32,
    /// Scopes that the clients may have.
    pub scopes: Vec<Scope>,
    /// The only hosts of their addresses. If empty, any host that neither the hub nor another
    /// service uses.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Their registrations need no approval.
    #[serde(default)]
    pub approved: bool,
}

/// A new initial access token. It is shown once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedInitialToken {
    pub id: String,
    pub initial_access_token: String,
    pub expires_at: String,
}

/// Who decides on a registration, and why; the audit log records both.
#[derive(Clone, Copy, Debug)]
pub struct OperatorDecision<'a> {
    pub operator: &'a str,
    pub reason: &'a str,
}

impl ClientRegistrations {
    /// Lists all registrations and initial access tokens.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn list(&self) -> Result<RegistrationList, ErrorCode> {
        let (index, _) = self.load_index().await?;
        let mut registrations = Vec::with_capacity(index.clients.len());
        for entry in &index.clients {
            // One that can't be read keeps no other from being seen.
            let record = self.load_registration(entry).await.ok();
            registrations.push(self.summarize_registration(entry, record.as_ref()));
        }
        let initial_access_tokens = index.tokens.iter().map(summarize_token).collect();
        Ok(RegistrationList { registrations, initial_access_tokens })
    }

    fn summarize_registration(
        &self,
        entry: &ClientEntry,
        record: Option<&RegistrationRecord>,
    ) -> RegistrationSummary {
        let metadata = record.map(|record| &record.metadata);
        let text = |name: &str| metadata.and_then(|metadata| metadata.text(name));
        let texts = |name: &str| metadata.map_or_else(Vec::new, |metadata| metadata.texts(name));
        let addresses =
            ADDRESS_MEMBERS.iter().flat_map(|name| texts(name).into_iter().chain(text(name)));
        let scopes = text("scope").unwrap_or_default().split_ascii_whitespace();
        RegistrationSummary {
            client_id: entry.client_id.clone(),
            status: self.current_status(entry),
            fingerprint: entry.fingerprint(),
            readable: record.is_some(),
            names: metadata.map(ClientMetadata::names).unwrap_or_default(),
            token_endpoint_auth_method: text(AUTH_METHOD).unwrap_or(DEFAULT_AUTH_METHOD).to_owned(),
            scopes: scopes.map(Scope::from).collect(),
            addresses: addresses.map(str::to_owned).collect(),
            contacts: texts("contacts").into_iter().map(str::to_owned).collect(),
            token: entry.token.clone(),
            registered_at: format_rfc3339(entry.created_at),
            expires_at: format_rfc3339(entry.expires_at(&self.config)),
        }
    }

    /// Lets a registered client sign users in, if it is still what the operator has seen. Otherwise
    /// a client could be approved as one thing, and be another.
    ///
    /// # Errors
    /// `REGISTRATION_UNKNOWN`, `REGISTRATION_CHANGED`, `REGISTRATION_CONFLICT` with the reason, or the
    /// error of the store.
    pub async fn approve(
        &self,
        client_id: &str,
        fingerprint: &str,
        decision: OperatorDecision<'_>,
    ) -> Result<(), GrantError> {
        self.check_conflicts(client_id, fingerprint).await?;
        let now = self.services.env.now();
        self.update_index(|index| {
            let entry = index.client_mut(client_id).ok_or(error_codes::REGISTRATION_UNKNOWN)?;
            if entry.fingerprint() != fingerprint {
                return Err(error_codes::REGISTRATION_CHANGED.into());
            }
            if self.current_status(entry) == RegistrationStatus::Pending {
                (entry.status, entry.active_at) = (RegistrationStatus::Approved, now);
            }
            entry.approved_by_operator = true;
            Ok(())
        })
        .await?;
        self.record_decision(audit_events::CLIENT_APPROVED, client_id, decision);
        Ok(())
    }

    /// Checks that no one took the names and hosts of a registration while it waited: two may wait
    /// under one name.
    async fn check_conflicts(&self, client_id: &str, fingerprint: &str) -> Result<(), GrantError> {
        let (index, _) = self.load_index().await?;
        let entry = index.client(client_id).ok_or(error_codes::REGISTRATION_UNKNOWN)?;
        if entry.fingerprint() != fingerprint {
            return Err(error_codes::REGISTRATION_CHANGED.into());
        }
        let RegistrationRecord { metadata, terms, client_id, .. } =
            self.load_registration(entry).await?;
        let others = self.clients_of_others(&client_id, entry.token.as_deref()).await;
        let checked = self.check_against_others(&metadata, &terms, &client_id, &others);
        checked.map_err(|error| GrantError {
            reason: Some(error.description),
            ..error_codes::REGISTRATION_CONFLICT.into()
        })
    }

    /// Removes a registration: refuses one that waits, or revokes one in use. Its codes and tokens
    /// end at once.
    ///
    /// # Errors
    /// `REGISTRATION_UNKNOWN`, or the error of the store.
    pub async fn remove(
        &self,
        client_id: &str,
        decision: OperatorDecision<'_>,
    ) -> Result<(), GrantError> {
        let removed = self.update_index(|index| {
            index.remove_client(client_id).ok_or(error_codes::REGISTRATION_UNKNOWN.into())
        });
        let removed = removed.await?;
        self.remove_record(&removed.record).await;
        self.record_decision(audit_events::CLIENT_REMOVED, client_id, decision);
        Ok(())
    }

    /// Returns a registration as the file of a service provider, without a secret in plain text.
    ///
    /// # Errors
    /// `REGISTRATION_UNKNOWN`, `REGISTRATION_UNREADABLE`, or the error of the store.
    pub async fn export(&self, client_id: &str) -> Result<String, GrantError> {
        let (index, _) = self.load_index().await?;
        let entry = index.client(client_id).ok_or(error_codes::REGISTRATION_UNKNOWN)?;
        let record = self.load_registration(entry).await?;
        Ok(self.file_text(&record)?)
    }

    /// Creates an initial access token.
    ///
    /// # Errors
    /// `REGISTRATION_REQUEST_MALFORMED` with a reason, `TOO_MANY_INITIAL_TOKENS`, or the error of the
    /// store.
    pub async fn create_token(
        &self,
        new: NewInitialToken,
        operator: &str,
    ) -> Result<CreatedInitialToken, GrantError> {
        let malformed = |reason| GrantError {
            reason: Some(reason),
            ..error_codes::REGISTRATION_REQUEST_MALFORMED.into()
        };
        self.check_new_token(&new).map_err(malformed)?;
        let hosts: Result<Vec<String>, String> =
            new.hosts.iter().map(|host| parse_host(host)).collect();
        let hosts = hosts.map_err(malformed)?;
        let (env, now) = (&self.services.env, self.services.env.now());
        let token = env.entropy().token();
        let created = InitialToken {
            id: SupportId::generate(env.entropy()).to_string(),
            hash: digest::sha256_base64url(&token),
            purpose: new.purpose,
            created_by: operator.to_owned(),
            created_at: now,
            expires_at: now + days(new.days.into()),
            registrations: new.registrations,
            used: 0,
            terms: RegistrationTerms { approved: new.approved, scopes: new.scopes, hosts },
        };
        self.update_index(|index| {
            if index.tokens.len() >= MAX_INITIAL_TOKENS {
                return Err(error_codes::TOO_MANY_INITIAL_TOKENS.into());
            }
            index.tokens.push(created.clone());
            Ok(())
        })
        .await?;
        self.services.audit.record(|| {
            let event = Event::new(audit_events::INITIAL_TOKEN_CREATED);
            event.operator(operator).reason(&created.purpose)
        });
        let expires_at = format_rfc3339(created.expires_at);
        Ok(CreatedInitialToken { id: created.id, initial_access_token: token, expires_at })
    }

    /// Revokes an initial access token. The registrations made with it stay.
    ///
    /// # Errors
    /// `REGISTRATION_UNKNOWN`, or the error of the store.
    pub async fn revoke_token(&self, id: &str, operator: &str) -> Result<(), GrantError> {
        let purpose = self
            .update_index(|index| {
                let place = index.tokens.iter().position(|token| token.id == id);
                let place = place.ok_or(error_codes::REGISTRATION_UNKNOWN)?;
                Ok(index.tokens.remove(place).purpose)
            })
            .await?;
        self.services.audit.record(|| {
            Event::new(audit_events::INITIAL_TOKEN_REVOKED).operator(operator).reason(&purpose)
        });
        Ok(())
    }

    fn check_new_token(&self, new: &NewInitialToken) -> Result<(), String> {
        let within = |value: u32, most: u32, name: &str| {
            let fix = || format!("{name} is out of range; write a number from 1 to {most}");
            if (1..=most).contains(&value) { Ok(()) } else { Err(fix()) }
        };
        within(new.registrations, MAX_TOKEN_REGISTRATIONS, "registrations")?;
        within(new.days, MAX_TOKEN_DAYS, "days")?;
        if !new.scopes.iter().any(|scope| scope.as_str() == "openid") {
            return Err("scopes lacks openid, which every request needs; add it".to_owned());
        }
        let federation = self.services.federation.load();
        let table = federation.scope_table(self.rules);
        let is_known = |scope: &&Scope| scope.as_str() == "openid" || table.contains(scope);
        if let Some(unknown) = new.scopes.iter().find(|scope| !is_known(scope)) {
            return Err(format!("the scope {unknown} is not one of scopes.toml; leave it out"));
        }
        if new.hosts.len() > MAX_TOKEN_HOSTS {
            return Err(format!("there are more than {MAX_TOKEN_HOSTS} hosts; name fewer"));
        }
        Ok(())
    }

    fn record_decision(&self, kind: EventKind, client_id: &str, decision: OperatorDecision<'_>) {
        let OperatorDecision { operator, reason } = decision;
        tracing::warn!(client_id, operator, event = kind.as_str(), "operator's request");
        self.services.audit.record(|| {
            Event::new(kind).sp(&ClientId::from(client_id)).operator(operator).reason(reason)
        });
    }
}

/// Returns the name of a host in lower case, as addresses have it.
fn parse_host(text: &str) -> Result<String, String> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_plain = |host: &str| {
        let is_label = |label: &str| {
            let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '-';
            !label.is_empty() && label.chars().all(is_inner)
        };
        host.split('.').all(is_label)
    };
    match Host::parse(name) {
        Ok(Host::Domain(host)) if is_plain(&host) => Ok(host),
        _ => Err(format!(
            "the host {text} is not the name of a host; write it as app.example.org, without scheme, port, path and wildcard"
        )),
    }
}

fn summarize_token(token: &InitialToken) -> InitialTokenSummary {
    InitialTokenSummary {
        id: token.id.clone(),
        purpose: token.purpose.clone(),
        created_by: token.created_by.clone(),
        expires_at: format_rfc3339(token.expires_at),
        registrations: token.registrations,
        used: token.used,
        approved: token.terms.approved,
        scopes: token.terms.scopes.clone(),
        hosts: token.terms.hosts.clone(),
    }
}
