//! LDAP client (RFC 4511, 4513) on the `ldap3` crate: connects with TLS, binds, searches.
//!
//! Does not depend on logins, limits or pages. `ldap3` gets a connection opened by the egress
//! rules, and bounded messages. It panics on malformed entries, so each operation runs in its own
//! task, whose panic becomes an error. Diagnostic messages of the directory may contain names, so
//! only result codes and the data codes of Active Directory are used.

mod active_directory;
mod connection;
pub(super) mod diagnose;
pub mod entry;
mod errors;
mod lockout_policy;
pub mod message;
pub mod password_policy;
mod ranges;
mod result_code;
mod search;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ldap3::{Ldap, LdapResult, Scope, SearchOptions, ldap_escape};
use rustls::ClientConfig;
use tokio::task::JoinSet;
use url::{Host, Url};

use self::active_directory::{DataCode, DataCodeMeaning};
use self::connection::{DirectoryConnection, DirectoryTls, OpenError};
use self::entry::{BinaryAttributes, MAX_ENTRY_BYTES, MissingRange, SearchResultEntry};
use self::errors::{ldap_error, malformed_entry, unexpected_result};
use self::password_policy::{PasswordState, PolicyRefusal, PolicyResponse, policy_request};
use self::ranges::read_missing_ranges;
use super::settings::{LdapKind, USERNAME_PLACEHOLDER};
use passerelle_connector::error::ConnectorError;
use passerelle_connector::unusable_settings::{forbidden_address, unusable_ca_bundle};
use passerelle_egress::ca_bundle::CaBundle;
use passerelle_egress::dialer::Dialer;
use passerelle_egress::safe_http_client::CallLimits;
use passerelle_egress::system_authorities::system_authorities;
use passerelle_egress::tls_provider::install_tls_provider;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;
use passerelle_settings::FieldDiagnostic;

/// Client of one directory.
pub struct LdapDirectory {
    url: Url,
    dialer: Dialer,
    starttls: bool,
    tls: Arc<ClientConfig>,
    /// DN and password of the hub's account.
    account: (String, Secret<String>),
    base_dn: String,
    filter: String,
    attributes: Vec<String>,
    binary: BinaryAttributes,
}

/// Entry of a user in the directory.
#[derive(Clone)]
pub(crate) struct DirectoryEntry {
    pub dn: String,
    /// Values by attribute, with the names of the configuration. Binary values are in hexadecimal.
    pub values: BTreeMap<String, Vec<String>>,
    /// Attributes that are left out, or have a value that is left out.
    pub left_out: Vec<(String, LeftOutReason)>,
}

/// Why an attribute, or a value of it, is left out of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LeftOutReason {
    /// It is text, with a value that is not UTF-8.
    NotUtf8,
    /// The values of the entry are larger than its limit, and those of this attribute the most.
    TooLarge,
}

/// Response of a directory to a user's bind.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum BindOutcome {
    Accepted(PasswordState),
    /// The name or the password is wrong.
    Rejected,
    /// The account is locked. Whether the password is right is unknown.
    Locked,
    /// The directory refuses the account for another reason. Whether the password is right is
    /// unknown.
    AccountRefused(ConnectorError),
    /// The password is right, and the account may not sign in with it.
    Refused(ConnectorError),
    /// The directory did not verify the password.
    Failed(ConnectorError),
}

impl LdapDirectory {
    /// Returns a client. Calls nothing.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub fn new(kind: &LdapKind, password: Secret<String>) -> Result<Self, FieldDiagnostic> {
        let address = kind.server_address().map_err(|error| error.at("kind.ldap.url"))?;
        let dialer = Dialer::new(
            address.host,
            address.port,
            &kind.internal_hosts,
            CallLimits::DEFAULT.connect_timeout,
        )
        .map_err(|error| forbidden_address("kind.ldap.url", &error))?;
        if ldap3::parse_filter(filter_for(&kind.filter, "x")).is_err() {
            let fix = "write it like \"(uid={username})\", with parentheses";
            return Err(FieldDiagnostic::new("kind.ldap.filter", "is not an RFC 4515 filter", fix));
        }
        let mut attributes = kind.attributes.clone();
        if !attributes.contains(&kind.subject_attribute) {
            attributes.push(kind.subject_attribute.clone());
        }
        install_tls_provider();
        Ok(Self {
            url: address.url,
            dialer,
            starttls: kind.starttls,
            tls: tls_config(kind.ca.as_deref())?,
            account: (kind.bind_dn.clone(), password),
            base_dn: kind.base_dn.clone(),
            filter: if kind.filter.starts_with('(') {
                kind.filter.clone()
            } else {
                format!("({})", kind.filter)
            },
            attributes,
            binary: BinaryAttributes::new(&kind.binary_attributes),
        })
    }

    /// Connects, and binds as the hub's account.
    ///
    /// # Errors
    /// Returns an error if the directory can't be reached, or rejects the account.
    pub(crate) async fn check_account(self: &Arc<Self>) -> Result<(), ConnectorError> {
        let directory = Arc::clone(self);
        run_in_task(async move { directory.bind_as_account().await.map(drop) }).await
    }

    /// Returns the entry of `username`, or of another form of this name; `None` if there is not
    /// exactly one.
    ///
    /// # Errors
    /// Returns an error if the search fails.
    pub(crate) async fn find_user(
        self: &Arc<Self>,
        username: &str,
        other_form: Option<&str>,
    ) -> Result<Option<DirectoryEntry>, ConnectorError> {
        let mut filter = filter_for(&self.filter, username);
        if let Some(other) = other_form {
            // One search for both, so that the duration reveals nothing (user enumeration).
            filter = format!("(|{filter}{})", filter_for(&self.filter, other));
        }
        let directory = Arc::clone(self);
        run_in_task(async move { directory.search(&filter).await }).await
    }

    /// Opens a connection for `verify_password`, which closes when it is dropped.
    ///
    /// # Errors
    /// Returns an error if the directory can't be reached.
    pub async fn connect(self: &Arc<Self>) -> Result<Ldap, ConnectorError> {
        let directory = Arc::clone(self);
        run_in_task(async move { directory.open_client().await }).await
    }

    /// Verifies the password of an entry by a bind on `connection`, which must be new.
    ///
    /// # Errors
    /// Returns an error if the directory does not answer.
    pub(crate) async fn verify_password(
        self: &Arc<Self>,
        mut connection: Ldap,
        dn: &str,
        password: &Secret<String>,
    ) -> Result<BindOutcome, ConnectorError> {
        // RFC 4513 §5.1.1, §5.1.2: a bind without a name or a password succeeds and proves nothing.
        if dn.is_empty() || password.reveal().is_empty() {
            return Ok(BindOutcome::Rejected);
        }
        let (directory, dn, password) = (Arc::clone(self), dn.to_owned(), password.clone());
        run_in_task(async move {
            let response = connection
                .with_controls(vec![policy_request()])
                .simple_bind(&dn, password.reveal())
                .await
                .map_err(|error| ldap_error(&error))?;
            Ok(directory.interpret_bind(&response))
        })
        .await
    }

    /// Returns what the response to a user's bind says. Logs a reason that users don't see.
    fn interpret_bind(&self, response: &LdapResult) -> BindOutcome {
        let policy = PolicyResponse::read(&response.ctrls);
        let result = response.rc;
        if result == result_code::SUCCESS {
            return BindOutcome::Accepted(policy.password_state());
        }
        if !result_code::BIND_REJECTED.contains(&result) {
            return BindOutcome::Failed(unexpected_result("a bind", result));
        }
        match (policy.refusal(), data_code(response)) {
            (Some(PolicyRefusal::Locked) | None, None)
                if matches!(
                    result,
                    result_code::INSUFFICIENT_ACCESS_RIGHTS | result_code::UNWILLING_TO_PERFORM
                ) =>
            {
                let meaning = result_code::describe(result).unwrap_or_default();
                let detail = format!("result {result} ({meaning})");
                BindOutcome::AccountRefused(ConnectorError::new(
                    ErrorCode::LdapAccountRefused,
                    detail,
                ))
            }
            (Some(PolicyRefusal::Locked), _) => {
                self.log_rejection(result, "the account is locked (password policy)");
                BindOutcome::Locked
            }
            (Some(PolicyRefusal::MustChange), _) => {
                let detail = format!("result {result}: the password has expired, or was reset");
                BindOutcome::Refused(ConnectorError::new(ErrorCode::PasswordChangeRequired, detail))
            }
            (None, Some(code)) => self.interpret_data_code(code),
            (None, None) if result == result_code::CONSTRAINT_VIOLATION => {
                let meaning = result_code::describe(result).unwrap_or_default();
                self.log_rejection(result, meaning);
                BindOutcome::Locked
            }
            (None, None) => BindOutcome::Rejected,
        }
    }

    fn interpret_data_code(&self, code: DataCode) -> BindOutcome {
        let result = result_code::INVALID_CREDENTIALS;
        let detail = format!("data {:x}: {}", code.number, code.description);
        match code.meaning {
            DataCodeMeaning::Refused(error) => {
                BindOutcome::Refused(ConnectorError::new(error, detail))
            }
            DataCodeMeaning::Unavailable => {
                BindOutcome::Failed(ConnectorError::new(ErrorCode::LdapAnswer, detail))
            }
            DataCodeMeaning::Locked => {
                self.log_rejection(result, &detail);
                BindOutcome::Locked
            }
            DataCodeMeaning::Wrong => {
                let directory = self.url.host_str().unwrap_or_default();
                tracing::info!(directory, detail, "directory rejected a name or a password");
                BindOutcome::Rejected
            }
        }
    }

    fn log_rejection(&self, result: u32, meaning: &str) {
        tracing::warn!(
            directory = self.url.host_str().unwrap_or_default(),
            result,
            meaning,
            "directory rejected a bind regardless of the password"
        );
    }

    /// Returns a DN without an entry, for a bind that fails like one with a wrong password.
    pub(crate) fn nonexistent_dn(&self, random: &str) -> String {
        format!("cn={random},{}", self.base_dn)
    }

    async fn search(&self, filter: &str) -> Result<Option<DirectoryEntry>, ConnectorError> {
        let mut ldap = self.bind_as_account().await?;
        let seconds =
            i32::try_from(CallLimits::DEFAULT.total_timeout.as_secs()).unwrap_or(i32::MAX);
        // Two entries already make the user ambiguous.
        ldap.with_search_options(SearchOptions::new().sizelimit(2).timelimit(seconds));
        let attributes = self.attributes.clone();
        let mut stream = ldap
            .streaming_search(&self.base_dn, Scope::Subtree, filter, attributes)
            .await
            .map_err(|error| ldap_error(&error))?;
        let mut entries = Vec::new();
        while let Some(item) = stream.next().await.map_err(|error| ldap_error(&error))? {
            if !item.is_ref() && !item.is_intermediate() {
                entries.push(SearchResultEntry::read(item).ok_or_else(malformed_entry)?);
            }
            if entries.len() > 1 {
                return Ok(None);
            }
        }
        match stream.finish().await.rc {
            result_code::SUCCESS => {}
            result_code::SIZE_LIMIT_EXCEEDED => return Ok(None),
            other => return Err(unexpected_result("the search", other)),
        }
        let Some(mut entry) = entries.pop() else { return Ok(None) };
        read_missing_ranges(&mut ldap, &mut entry).await?;
        Ok(Some(self.extract_attributes(&entry)))
    }

    /// Extracts the configured attributes. One whose values are too large, or could not be read
    /// completely, is left out: a part of a list of groups would be a wrong list.
    fn extract_attributes(&self, entry: &SearchResultEntry) -> DirectoryEntry {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut left_out = Vec::new();
        for name in &self.attributes {
            let is_missing = |range: &MissingRange| range.attribute.eq_ignore_ascii_case(name);
            if entry.missing_ranges.iter().any(is_missing) {
                left_out.push((name.clone(), LeftOutReason::TooLarge));
                continue;
            }
            let decoded: Vec<Option<String>> =
                entry.values(name).map(|value| self.binary.decode(name, value)).collect();
            if decoded.contains(&None) {
                left_out.push((name.clone(), LeftOutReason::NotUtf8));
            }
            let texts: Vec<String> = decoded.into_iter().flatten().collect();
            if !texts.is_empty() {
                values.insert(name.clone(), texts);
            }
        }
        let bytes = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
        while values.values().map(|texts| bytes(texts)).sum::<usize>() > MAX_ENTRY_BYTES {
            let largest = values.iter().max_by_key(|(_, texts)| bytes(texts));
            let Some(name) = largest.map(|(name, _)| name.clone()) else { break };
            values.remove(&name);
            left_out.push((name, LeftOutReason::TooLarge));
        }
        DirectoryEntry { dn: entry.dn.clone(), values, left_out }
    }

    async fn bind_as_account(&self) -> Result<Ldap, ConnectorError> {
        let mut ldap = self.open_client().await?;
        let (dn, password) = &self.account;
        let response =
            ldap.simple_bind(dn, password.reveal()).await.map_err(|error| ldap_error(&error))?;
        match response.rc {
            result_code::SUCCESS => Ok(ldap),
            rejected if result_code::BIND_REJECTED.contains(&rejected) => {
                let meaning = data_code(&response)
                    .map(|code| format!(", data {:x} ({})", code.number, code.description))
                    .or_else(|| Some(format!(" ({})", result_code::describe(rejected)?)))
                    .unwrap_or_default();
                let message =
                    format!("result {rejected}{meaning}; check bind_dn and bind_password");
                Err(ConnectorError::new(ErrorCode::LdapAccount, message))
            }
            other => Err(unexpected_result("the account's bind", other)),
        }
    }

    async fn open_client(&self) -> Result<Ldap, ConnectorError> {
        Ok(self.open_connection().await?.client)
    }

    async fn open_connection(&self) -> Result<DirectoryConnection, OpenError> {
        let is_encrypted = self.url.scheme() == "ldaps" || self.starttls;
        let tls = is_encrypted.then(|| DirectoryTls {
            config: Arc::clone(&self.tls),
            host: match self.url.host() {
                Some(Host::Ipv6(address)) => address.to_string(),
                host => host.map(|host| host.to_string()).unwrap_or_default(),
            },
            starttls: self.starttls,
        });
        let stream = self.dialer.connect().await.map_err(ConnectorError::from)?;
        DirectoryConnection::open(stream, tls).await
    }
}

/// Inserts the escaped username into the filter (RFC 4515 §3). Stops LDAP injection.
pub fn filter_for(filter: &str, username: &str) -> String {
    filter.replace(USERNAME_PLACEHOLDER, &ldap_escape(username))
}

/// Returns the data code of a rejected bind. Other directories write names into their messages.
fn data_code(response: &LdapResult) -> Option<DataCode> {
    if response.rc != result_code::INVALID_CREDENTIALS {
        return None;
    }
    DataCode::from_message(&response.text)
}

/// Returns a TLS configuration that trusts only the authorities of a file, or those of the system.
fn tls_config(ca: Option<&Path>) -> Result<Arc<ClientConfig>, FieldDiagnostic> {
    let roots = if let Some(ca) = ca {
        let roots = CaBundle::read(ca).and_then(|bundle| bundle.root_store());
        roots.map_err(|why| unusable_ca_bundle("kind.ldap.ca", &why))?
    } else {
        system_authorities()
    };
    Ok(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}

/// Runs an operation in its own task, which is cancelled with the caller and whose panic becomes an
/// error.
async fn run_in_task<T: Send + 'static>(
    operation: impl Future<Output = Result<T, ConnectorError>> + Send + 'static,
) -> Result<T, ConnectorError> {
    let mut task = JoinSet::new();
    task.spawn(operation);
    match task.join_next().await {
        Some(Ok(outcome)) => outcome,
        Some(Err(_)) | None => {
            Err(ConnectorError::new(ErrorCode::LdapAnswer, "a response is malformed"))
        }
    }
}
