//! LDAP kind: search and bind over TLS (RFC 4511, 4513, 4515), with a login page of the hub.
//!
//! Responsible for verifying username and password, and for the claims of an entry. Does not depend
//! on HTML or HTTP: the web layer serves `{base_url}/connectors/{connector}/login` through
//! [`PasswordPage`].
//!
//! The hub's account searches for exactly one entry, then a new connection binds as that entry. The
//! result is stored under a one-time code for the connector's callback, where the login continues
//! like any other. `auth_time` is the time of the bind, so reauthentication is always satisfied.

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

mod counted_attempt;
pub mod directory;
mod failed_bind_limiter;
mod password_attempts;
mod settings;
mod settings_checks;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;
use url::form_urlencoded::Serializer;

use self::counted_attempt::{CountedAttempt, PasswordCheckError};
use self::directory::diagnose::ComparedSettings;
use self::directory::password_policy::PasswordState;
use self::directory::{BindOutcome, DirectoryEntry, LdapDirectory, LeftOutReason};
use self::failed_bind_limiter::{CountedBind, FailedBindLimiter};
use self::password_attempts::PasswordAttempts;
use self::settings::{LdapKind, MustChangePassword};
use passerelle_connector::diagnostic::{CheckDiagnostic, DiagnosisContext};
use passerelle_connector::error::ConnectorError;
use passerelle_connector::hub_page::{
    self, PasswordCredentials, PasswordNotice, PasswordOutcome, PasswordPage,
};
use passerelle_connector::kind_settings::{
    ConnectorKind, ConnectorKindFormat, acr_policy_from_file, connector_kind,
};
use passerelle_connector::login_page_codes::LoginPageCodes;
use passerelle_connector::port::{Connector, ConnectorContext};
use passerelle_connector::unusable_settings::missing_secret;
use passerelle_connector::{ConfiguredConnector, code_flow};
use passerelle_egress::safe_http_client::CallLimits;
use passerelle_federation::assurance::acr::AcrPolicy;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_settings::FieldDiagnostic;
use passerelle_telemetry::Metrics;

/// Wrong passwords allowed at once within one login.
const MAX_WRONG_PASSWORDS_PER_LOGIN: u32 = 10;
/// Interval at which another wrong password is allowed after these.
const WRONG_PASSWORD_INTERVAL: Duration = Duration::from_secs(60);
/// Lifetime of a code whose user first reads a page about the password.
const CODE_LIFETIME_AFTER_NOTICE: Duration = Duration::from_secs(10 * 60);

const MAX_USERNAME_CHARS: usize = 256;
const MAX_PASSWORD_BYTES: usize = 1024;

const CLIENT_ID: &str = "passerelle";

/// The kind of `[kind.ldap]`.
pub const KIND: ConnectorKindFormat = connector_kind::<LdapKind>("ldap", "An LDAP directory.");

impl ConnectorKind for LdapKind {
    fn build(
        &self,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Arc<dyn Connector>, FieldDiagnostic> {
        Ok(Arc::new(LdapConnector::new(self, configured, context)?))
    }
}

/// Connector to an LDAP directory.
pub struct LdapConnector {
    id: ConnectorId,
    /// A URN, because this issuer has no address.
    issuer: String,
    settings: LdapKind,
    metrics: Option<Arc<Metrics>>,
    directory: Arc<LdapDirectory>,
    env: Env,
    acr_policy: AcrPolicy,
    failed_binds: FailedBindLimiter,
    attempts_per_login: PasswordAttempts,
    codes: LoginPageCodes<VerifiedBind>,
}

/// Result of a successful bind, stored under a one-time code.
#[derive(Serialize, Deserialize)]
struct VerifiedBind {
    #[serde(with = "passerelle_protocol::ids::stored_secret")]
    subject: Secret<String>,
    claims: Map<String, Value>,
    at: Timestamp,
}

impl LdapConnector {
    /// Returns a connector. Calls nothing, so that an unavailable directory does not prevent the
    /// start.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub fn new(
        kind: &LdapKind,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Self, FieldDiagnostic> {
        let Some(bind_password) = configured.client_secret.clone() else {
            return Err(missing_secret("kind.ldap.bind_password"));
        };
        let id = configured.id.clone();
        Ok(Self {
            issuer: format!("urn:passerelle:ldap:{id}"),
            codes: LoginPageCodes::new(&id, context.store),
            id,
            settings: kind.clone(),
            metrics: context.metrics,
            directory: Arc::new(LdapDirectory::new(kind, bind_password)?),
            acr_policy: acr_policy_from_file(&configured.file),
            failed_binds: FailedBindLimiter::new(
                kind.lockout_after,
                kind.lockout_window(),
                &context.env,
            ),
            attempts_per_login: PasswordAttempts::new(
                MAX_WRONG_PASSWORDS_PER_LOGIN,
                WRONG_PASSWORD_INTERVAL,
                &context.env,
            ),
            env: context.env,
        })
    }

    /// Returns the entry of the user, and the state of the password, if it is correct.
    async fn authenticate<'t>(
        &'t self,
        credentials: &PasswordCredentials,
        counted: &mut CountedAttempt<'t>,
    ) -> Result<Option<(DirectoryEntry, PasswordState)>, PasswordCheckError> {
        let (network, now) = (credentials.network, counted.at);
        counted.count(&self.attempts_per_login, credentials.login.as_str())?;
        let key = username_key(credentials);
        let limited = PasswordCheckError::RateLimited;
        self.failed_binds.count_network(&key, network, now, &mut counted.bind).map_err(limited)?;
        self.failed_binds.count_user(&key, network, now, &mut counted.bind).map_err(limited)?;
        let username = credentials.username.reveal();
        let other_form = self.settings.implicit_principal(username);
        let found = self.directory.find_user(username, other_form).await?;
        let Some(entry) = found.filter(|entry| !entry.dn.is_empty()) else {
            // The same calls as for an existing user, so that the duration reveals nothing (user
            // enumeration).
            let dn = self.directory.nonexistent_dn(&self.env.entropy().token());
            self.verify_counted_password(&dn, credentials, counted).await?;
            return Ok(None);
        };
        // Counted by entry too, as a directory accepts many spellings of a username.
        self.failed_binds
            .count_user(&entry_key(&entry), network, now, &mut counted.bind)
            .map_err(limited)?;
        let state = self.verify_counted_password(&entry.dn, credentials, counted).await?;
        Ok(state.map(|state| (entry, state)))
    }

    /// Returns the state of a password if it is correct, and notes whether the directory answered,
    /// and whether the attempt counts as a wrong password.
    async fn verify_counted_password(
        &self,
        dn: &str,
        credentials: &PasswordCredentials,
        counted: &mut CountedAttempt<'_>,
    ) -> Result<Option<PasswordState>, ConnectorError> {
        let connection = self.directory.connect().await?;
        counted.is_unanswered = true;
        let outcome = self.directory.verify_password(connection, dn, &credentials.password).await?;
        counted.is_unanswered = false;
        match outcome {
            BindOutcome::Accepted(state) => Ok(Some(state)),
            BindOutcome::Rejected => Ok(None),
            BindOutcome::Locked => {
                counted.is_locked = true;
                Ok(None)
            }
            BindOutcome::AccountRefused(error) => {
                counted.account_refusal = Some(error);
                Ok(None)
            }
            BindOutcome::Refused(error) | BindOutcome::Failed(error) => Err(error),
        }
    }

    fn verified_bind(&self, entry: &DirectoryEntry) -> Result<VerifiedBind, ConnectorError> {
        let attribute = &self.settings.subject_attribute;
        let subject = match entry.values.get(attribute).map(Vec::as_slice) {
            Some([one]) if !one.trim_ascii().is_empty() => Secret::new(one.clone()),
            _ => {
                let is_undecodable =
                    entry.left_out.contains(&(attribute.clone(), LeftOutReason::NotUtf8));
                let message = if is_undecodable {
                    "subject_attribute is not text; list it in binary_attributes"
                } else {
                    "subject_attribute is missing, empty or has several values; \
                     check that the hub's account may read it"
                };
                return Err(ConnectorError::new(ErrorCode::LdapSubject, message));
            }
        };
        for (attribute, reason) in &entry.left_out {
            let (label, message) = match reason {
                LeftOutReason::NotUtf8 => ("encoding", "a value is not UTF-8"),
                LeftOutReason::TooLarge => (
                    "size",
                    "the values of the entry are larger than 192 KiB, those of this attribute the most",
                ),
            };
            tracing::warn!(connector = %self.id, attribute, "attribute left out: {message}");
            if let Some(metrics) = &self.metrics {
                metrics.record_dropped_claim(&self.id, attribute, label);
            }
        }
        let claim = |name: &String| {
            Some((
                name.clone(),
                match entry.values.get(name)?.as_slice() {
                    [one] => Value::String(one.clone()),
                    several => Value::from(several.to_vec()),
                },
            ))
        };
        Ok(VerifiedBind {
            subject,
            claims: self.settings.attributes.iter().filter_map(claim).collect(),
            at: self.env.now(),
        })
    }

    /// Returns what the user has to know of an accepted password.
    ///
    /// # Errors
    /// `PasswordChangeRequired` if the user must change it first.
    fn notice_for_state(
        &self,
        state: PasswordState,
    ) -> Result<Option<PasswordNotice>, ConnectorError> {
        let notice = match (state, self.settings.must_change_password) {
            (PasswordState::Valid, _) => return Ok(None),
            (PasswordState::MustChange, MustChangePassword::Refuse) => {
                return Err(ConnectorError::new(
                    ErrorCode::PasswordChangeRequired,
                    "the directory accepts the password only to change it (must_change_password)",
                ));
            }
            (PasswordState::MustChange, MustChangePassword::Warn) => PasswordNotice::MustChange,
            // Refusing would use up a sign-in that the user needs to change the password.
            (PasswordState::Grace(left), _) => PasswordNotice::SignInsLeft(left),
            (PasswordState::ExpiresIn(time), _) => PasswordNotice::ExpiresIn(time),
        };
        tracing::info!(connector = %self.id, ?notice, "user signed in with a password to change");
        Ok(Some(notice))
    }

    async fn accept(
        &self,
        entry: &DirectoryEntry,
        notice: Option<PasswordNotice>,
        state: &str,
    ) -> Result<PasswordOutcome, ConnectorError> {
        let bind = self.verified_bind(entry)?;
        let code = if notice.is_none() {
            self.codes.issue(state, &bind, &self.env).await?
        } else {
            let lifetime = CODE_LIFETIME_AFTER_NOTICE;
            self.codes.issue_for(lifetime, state, &bind, &self.env).await?
        };
        let mut query = Serializer::new(String::new());
        query.append_pair("code", &code).append_pair("state", state);
        query.append_pair("iss", &self.issuer);
        Ok(PasswordOutcome::Accepted { callback_query: Secret::new(query.finish()), notice })
    }

    /// Returns the outcome of an attempt that failed, and refunds the counters for which it is no
    /// wrong password.
    fn settle_failed_attempt(
        &self,
        credentials: &PasswordCredentials,
        counted: CountedAttempt<'_>,
    ) -> Result<PasswordOutcome, ConnectorError> {
        let left = self.failed_binds.attempts_left(&counted.bind, counted.at);
        let is_last_attempt_next = left.min(counted.attempts_left()) == 1;
        // A locked account says nothing of the password. After the lock has ended, the user has all
        // attempts.
        if counted.is_locked {
            counted.refund();
            self.failed_binds.refund(&counted.bind);
        }
        let Some(error) = counted.account_refusal else {
            return Ok(PasswordOutcome::Rejected { is_last_attempt_next, refusal: None });
        };
        self.failed_binds.refund_account(&counted.bind);
        // A page of its own would tell strangers that the account exists (user enumeration).
        if self.failed_binds.is_known(&username_key(credentials), credentials.network, counted.at) {
            return Err(error);
        }
        Ok(PasswordOutcome::Rejected { is_last_attempt_next, refusal: Some(error) })
    }

    async fn sign_in_within_timeout(
        &self,
        credentials: &PasswordCredentials,
    ) -> Result<PasswordOutcome, ConnectorError> {
        let mut counted = CountedAttempt {
            at: self.env.now(),
            attempts: Vec::new(),
            bind: CountedBind::default(),
            is_unanswered: false,
            is_locked: false,
            account_refusal: None,
        };
        let outcome = tokio::time::timeout(
            CallLimits::DEFAULT.total_timeout,
            self.authenticate(credentials, &mut counted),
        )
        .await;
        match outcome.unwrap_or_else(|_| Err(PasswordCheckError::Connector(timeout_error()))) {
            Ok(Some((entry, state))) => {
                counted.refund();
                self.failed_binds.record_success(
                    &[&username_key(credentials), &entry_key(&entry)],
                    credentials.network,
                    counted.at,
                    &counted.bind,
                );
                let notice = self.notice_for_state(state)?;
                self.accept(&entry, notice, &credentials.state).await
            }
            Ok(None) => self.settle_failed_attempt(credentials, counted),
            Err(PasswordCheckError::RateLimited(wait)) => {
                self.failed_binds.refund(&counted.bind);
                Ok(PasswordOutcome::RateLimited(wait))
            }
            Err(PasswordCheckError::Connector(error)) => {
                // The directory may have counted a bind that it did not answer.
                if !counted.is_unanswered {
                    counted.refund();
                    self.failed_binds.refund(&counted.bind);
                }
                Err(error)
            }
        }
    }
}

fn timeout_error() -> ConnectorError {
    ConnectorError::new(ErrorCode::IdpTimeout, "the directory did not answer in time")
}

/// Returns the counter key of the username as entered.
fn username_key(credentials: &PasswordCredentials) -> String {
    format!("name {}", normalize_name(credentials.username.reveal()))
}

/// Returns the counter key of the entry found.
fn entry_key(entry: &DirectoryEntry) -> String {
    format!("entry {}", normalize_name(&entry.dn))
}

/// Maps spellings that most directories treat as one name to one text (RFC 4518 §2).
#[expect(
    clippy::disallowed_methods,
    reason = "directories compare names as text of any script (RFC 4518 §2)"
)]
fn normalize_name(name: &str) -> String {
    name.nfkc()
        .flat_map(char::to_lowercase)
        .filter(|character| !character.is_whitespace())
        .collect()
}

#[async_trait]
impl PasswordPage for LdapConnector {
    async fn sign_in(
        &self,
        credentials: PasswordCredentials,
    ) -> Result<PasswordOutcome, ConnectorError> {
        let username = self.settings.strip_domain(credentials.username.reveal()).to_owned();
        let credentials = PasswordCredentials { username: Secret::new(username), ..credentials };
        let username_chars = credentials.username.reveal().chars().count();
        // RFC 4513 §5.1.2: a bind without a password succeeds and proves nothing (unauthenticated
        // bind).
        if !(1..=MAX_USERNAME_CHARS).contains(&username_chars)
            || !(1..=MAX_PASSWORD_BYTES).contains(&credentials.password.reveal().len())
        {
            return Ok(PasswordOutcome::Rejected { is_last_attempt_next: false, refusal: None });
        }
        self.sign_in_within_timeout(&credentials).await
    }

    fn forgotten_password_url(&self) -> Option<&str> {
        self.settings.forgotten_password_url.as_deref()
    }
}

#[async_trait]
impl Connector for LdapConnector {
    async fn begin_login(
        &self,
        request: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        let mut url =
            hub_page::hub_page_url(&request, &self.id, &format!("/connectors/{}/login", self.id))?;
        url.query_pairs_mut().append_pair("state", &request.state);
        Ok(AuthorizationRedirect {
            token_endpoint: self.issuer.clone(),
            issuer: self.issuer.clone(),
            client_id: CLIENT_ID.into(),
            url: url.into(),
            iss_expected: true,
            dpop_key: None,
        })
    }

    async fn complete_login(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        let code = code_flow::validate_callback(&self.issuer, CLIENT_ID, &attempt, callback)?;
        let bind = self.codes.redeem(code.reveal(), &attempt.request.state, self.env.now()).await?;
        let level =
            self.acr_policy.evaluate(None, self.acr_policy.level_to_request(attempt.request.level));
        let level = level.map_err(|error| ConnectorError::new(error.code(), error.to_string()))?;
        Ok(Authentication {
            auth_time: Some(bind.at),
            claims: bind.claims,
            ..Authentication::new(self.id.clone(), bind.subject, level)
        })
    }

    async fn preload(&self) -> Result<(), ConnectorError> {
        tokio::time::timeout(CallLimits::DEFAULT.total_timeout, self.directory.check_account())
            .await
            .unwrap_or_else(|_| Err(timeout_error()))
    }

    async fn diagnose(&self, context: &DiagnosisContext) -> Vec<CheckDiagnostic> {
        let settings = ComparedSettings {
            subject: &self.settings.subject_attribute,
            lockout_after: self.settings.lockout_after,
            lockout_window: self.settings.lockout_window(),
        };
        self.directory.diagnose(context, settings, self.env.now()).await
    }

    fn password_page(&self) -> Option<&dyn PasswordPage> {
        Some(self)
    }
}

#[cfg(test)]
mod tests;
