//! What operators do: see, approve, remove and export registrations, and create and revoke initial
//! access tokens.

use serde::{Deserialize, Serialize};

use super::ClientRegistrations;
use super::index::{InitialToken, RegistrationStatus, RegistrationTerms, days};
use crate::audit::{Event, EventKind};
use crate::config::format_rfc3339;
use crate::digest;
use crate::grant::error::GrantError;
use crate::ids::{ClientId, Scope, SupportId};
use crate::protocol::catalogue::ErrorCode;

/// Most initial access tokens at once.
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
    /// Its name in English, else in another language.
    pub name: String,
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
    /// Registrations that it allows, and those made.
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
    /// For whom, in 5 to 200 characters; the audit log records it.
    pub purpose: String,
    /// Registrations that it allows.
    pub registrations: u32,
    /// Days until it expires.
    pub days: u32,
    /// Scopes that the clients may have.
    pub scopes: Vec<Scope>,
    /// The only hosts of their addresses; empty: any that no service provider has.
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

impl std::fmt::Debug for CreatedInitialToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatedInitialToken").field("id", &self.id).finish_non_exhaustive()
    }
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
            let Some(record) = self.load_registration(&entry.record).await? else { continue };
            let metadata = &record.metadata;
            let texts = |name: &str| metadata.texts(name).into_iter().map(str::to_owned);
            let single = ["client_uri", "jwks_uri", "backchannel_logout_uri"];
            let single = single.iter().filter_map(|name| metadata.text(name)).map(str::to_owned);
            let lists = texts("redirect_uris").chain(texts("post_logout_redirect_uris"));
            let scopes = metadata.text("scope").unwrap_or_default();
            registrations.push(RegistrationSummary {
                client_id: entry.client_id.clone(),
                status: entry.status,
                name: crate::config::text_in_language(&metadata.names(), "en").to_owned(),
                scopes: scopes.split(' ').map(Scope::from).collect(),
                addresses: lists.chain(single).collect(),
                contacts: texts("contacts").collect(),
                token: entry.token.clone(),
                registered_at: format_rfc3339(entry.created_at),
                expires_at: format_rfc3339(entry.expires_at(&self.config)),
            });
        }
        let initial_access_tokens = index.tokens.iter().map(summarize_token).collect();
        Ok(RegistrationList { registrations, initial_access_tokens })
    }

    /// Lets a registered client sign users in.
    ///
    /// # Errors
    /// `RegistrationUnknown`, or the error of the store.
    pub async fn approve(
        &self,
        client_id: &str,
        (operator, reason): (&str, &str),
    ) -> Result<(), GrantError> {
        let now = self.services.env.now();
        self.update_index(|index| {
            let entry = index.client_mut(client_id).ok_or(ErrorCode::RegistrationUnknown)?;
            if entry.status == RegistrationStatus::Pending {
                (entry.status, entry.active_at) = (RegistrationStatus::Approved, now);
            }
            Ok(())
        })
        .await?;
        self.record_decision(EventKind::ClientApproved, client_id, (operator, reason));
        Ok(())
    }

    /// Removes a registration: refuses one that waits, or revokes one in use. Its codes and tokens
    /// are worth nothing from now on.
    ///
    /// # Errors
    /// `RegistrationUnknown`, or the error of the store.
    pub async fn remove(
        &self,
        client_id: &str,
        (operator, reason): (&str, &str),
    ) -> Result<(), GrantError> {
        let record = self
            .update_index(|index| {
                let entry = index.client(client_id).ok_or(ErrorCode::RegistrationUnknown)?;
                let record = entry.record.clone();
                index.clients.retain(|known| known.client_id.as_str() != client_id);
                Ok(record)
            })
            .await?;
        self.remove_record(&record).await;
        self.record_decision(EventKind::ClientRemoved, client_id, (operator, reason));
        Ok(())
    }

    /// Returns a registration as the file of a service provider, without a secret in plain text.
    ///
    /// # Errors
    /// `RegistrationUnknown`, or the error of the store.
    pub async fn export(&self, client_id: &str) -> Result<String, GrantError> {
        let (index, _) = self.load_index().await?;
        let entry = index.client(client_id).ok_or(ErrorCode::RegistrationUnknown)?;
        let record = self.load_registration(&entry.record).await?;
        let record = record.ok_or(ErrorCode::RegistrationUnknown)?;
        Ok(self.file_text(&record)?)
    }

    /// Creates an initial access token.
    ///
    /// # Errors
    /// `RegistrationRequestMalformed` with a reason, `TooManyInitialTokens`, or the error of the
    /// store.
    pub async fn create_token(
        &self,
        new: NewInitialToken,
        operator: &str,
    ) -> Result<CreatedInitialToken, GrantError> {
        self.check_new_token(&new).map_err(|reason| GrantError {
            reason: Some(reason),
            ..ErrorCode::RegistrationRequestMalformed.into()
        })?;
        let (env, now) = (&self.services.env, self.services.env.now());
        let token = env.entropy().token();
        let hosts = new.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        let created = InitialToken {
            id: SupportId::generate(env.entropy()).to_string(),
            hash: digest::fingerprint(&token),
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
                return Err(ErrorCode::TooManyInitialTokens.into());
            }
            index.tokens.push(created.clone());
            Ok(())
        })
        .await?;
        self.services.audit.record(|| {
            let event = Event::new(EventKind::InitialTokenCreated);
            event.operator(operator).reason(&created.purpose)
        });
        let expires_at = format_rfc3339(created.expires_at);
        Ok(CreatedInitialToken { id: created.id, initial_access_token: token, expires_at })
    }

    /// Revokes an initial access token. The registrations made with it stay.
    ///
    /// # Errors
    /// `RegistrationUnknown`, or the error of the store.
    pub async fn revoke_token(&self, id: &str, operator: &str) -> Result<(), GrantError> {
        let purpose = self
            .update_index(|index| {
                let place = index.tokens.iter().position(|token| token.id == id);
                let place = place.ok_or(ErrorCode::RegistrationUnknown)?;
                Ok(index.tokens.remove(place).purpose)
            })
            .await?;
        self.services.audit.record(|| {
            Event::new(EventKind::InitialTokenRevoked).operator(operator).reason(&purpose)
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

    fn record_decision(&self, kind: EventKind, client_id: &str, (operator, reason): (&str, &str)) {
        tracing::warn!(client_id, who = operator, event = kind.as_str(), "operator's request");
        self.services.audit.record(|| {
            Event::new(kind).sp(&ClientId::from(client_id)).operator(operator).reason(reason)
        });
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
