//! Speaking to a directory (RFC 4511, 4513): connect and begin TLS, bind, search, through the `ldap3` crate.
//!
//! Owns: connections, and what may be read from a directory's answers. Must not know: logins, limits, pages.
//!
//! The crate gets a connection that the egress rules have made, and panics where an entry is malformed: each conversation
//! is a task of its own, whose panic is a fault like any other. Its results carry texts of the directory's, which may
//! repeat a name: only their codes go on.

mod examine;

use std::collections::BTreeMap;
use std::sync::Arc;

use ldap3::{
    Ldap, LdapConnAsync, LdapConnSettings, LdapError, Scope, SearchEntry, SearchOptions, StdStream,
    ldap_escape,
};
use rustls::ClientConfig;
use tokio::task::JoinSet;
use url::Url;

use crate::config::ldap::{LdapKind, USERNAME};
use crate::connector::{ConnectorFault, ConnectorRefused};
use crate::egress::authorities::Authorities;
use crate::egress::dial::Dialer;
use crate::egress::guard::CallLimits;
use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;

/// Bytes of an entry's values that are read, all together.
const LARGEST_ENTRY: usize = 64 * 1024;

/// LDAP result codes (RFC 4511, appendix A).
mod code {
    pub const SUCCESS: u32 = 0;
    pub const SIZE_LIMIT_EXCEEDED: u32 = 4;
    /// What directories say to a wrong name or password, or of an account that is locked or has none.
    pub const NOT_PROVEN: [u32; 7] = [19, 32, 34, 48, 49, 50, 53];

    /// Returns what a refusal of a bind means beyond a wrong name or password, for the operator.
    pub const fn meaning(result: u32) -> Option<&'static str> {
        match result {
            19 => Some(
                "constraintViolation: the account is locked, as a rule after too many wrong passwords",
            ),
            50 => Some("insufficientAccessRights: the account may not bind"),
            53 => Some(
                "unwillingToPerform: the account is locked, disabled or without a password, or the directory refuses binds \
                 from this address for a while, as after many that failed",
            ),
            _ => None,
        }
    }
}

pub struct Directory {
    url: Url,
    dialer: Dialer,
    starttls: bool,
    /// Absent: the machine's authorities.
    tls: Option<Arc<ClientConfig>>,
    account: (String, Secret<String>),
    base_dn: String,
    filter: String,
    attributes: Vec<String>,
}

/// The one entry that was found.
#[derive(Clone)]
pub struct Entry {
    pub dn: String,
    /// Values by attribute, named as they were asked for. What is no text is written in hex.
    pub values: BTreeMap<String, Vec<String>>,
}

impl Directory {
    /// Nothing is called yet.
    ///
    /// # Errors
    /// The file can't work; which key, and how to mend it.
    pub fn new(kind: &LdapKind, password: Secret<String>) -> Result<Self, ConnectorRefused> {
        let place = kind.place().map_err(|(what, mend)| {
            ConnectorRefused::new("kind.ldap.url", format!("it {what}; {mend}"))
        })?;
        let dialer =
            Dialer::new(place.host, place.port, &kind.internal_hosts, CallLimits::DEFAULT.connect)
                .map_err(|fault| ConnectorRefused::new("kind.ldap.url", fault.to_string()))?;
        if ldap3::parse_filter(filter_for(&kind.filter, "x")).is_err() {
            let mend = "it is not a filter of RFC 4515; write it as \"(uid={username})\", parentheses included";
            return Err(ConnectorRefused::new("kind.ldap.filter", mend));
        }
        let mut attributes = kind.attributes.clone();
        if !attributes.contains(&kind.subject_attribute) {
            attributes.push(kind.subject_attribute.clone());
        }
        Ok(Self {
            url: place.url,
            dialer,
            starttls: kind.starttls,
            tls: kind.ca.as_deref().map(trusting).transpose()?,
            account: (kind.bind_dn.clone(), password),
            base_dn: kind.base_dn.clone(),
            filter: kind.filter.clone(),
            attributes,
        })
    }

    /// Connects, and binds as the hub's own account.
    ///
    /// # Errors
    /// The directory can't be reached, or refuses the account.
    pub async fn knock(self: &Arc<Self>) -> Result<(), ConnectorFault> {
        let directory = Arc::clone(self);
        apart(async move { directory.as_account().await.map(drop) }).await
    }

    /// The entry of `username`; `None` where there is none, or more than one.
    ///
    /// # Errors
    /// The directory can't be asked.
    pub async fn find(
        self: &Arc<Self>,
        username: &Secret<String>,
    ) -> Result<Option<Entry>, ConnectorFault> {
        let (directory, filter) = (Arc::clone(self), filter_for(&self.filter, username.reveal()));
        apart(async move { directory.search(&filter).await }).await
    }

    /// Whether `password` is that of the entry: a bind on a connection of its own.
    ///
    /// # Errors
    /// The directory can't be asked.
    pub async fn proves(
        self: &Arc<Self>,
        dn: &str,
        password: &Secret<String>,
    ) -> Result<bool, ConnectorFault> {
        // RFC 4513, 5.1.1 and 5.1.2: without a name or a password a bind succeeds, and proves nothing.
        if dn.is_empty() || password.reveal().is_empty() {
            return Ok(false);
        }
        let (directory, dn, password) = (Arc::clone(self), dn.to_owned(), password.clone());
        apart(async move {
            let mut ldap = directory.connect().await?;
            match ldap
                .simple_bind(&dn, password.reveal())
                .await
                .map_err(|error| fault_of(&error))?
                .rc
            {
                code::SUCCESS => Ok(true),
                refused if code::NOT_PROVEN.contains(&refused) => {
                    if let Some(meaning) = code::meaning(refused) {
                        let directory = directory.url.host_str().unwrap_or_default();
                        tracing::warn!(
                            directory,
                            result = refused,
                            meaning,
                            "a directory refused a bind whatever the password"
                        );
                    }
                    Ok(false)
                }
                other => Err(answered("a bind", other)),
            }
        })
        .await
    }

    /// A name that no entry has, for a bind that must fail as any wrong password's does.
    pub fn nobody(&self, random: &str) -> String {
        format!("cn={random},{}", self.base_dn)
    }

    async fn search(&self, filter: &str) -> Result<Option<Entry>, ConnectorFault> {
        let mut ldap = self.as_account().await?;
        let seconds = i32::try_from(CallLimits::DEFAULT.whole.as_secs()).unwrap_or(i32::MAX);
        // Two are as good as a thousand: neither says who it is.
        ldap.with_search_options(SearchOptions::new().sizelimit(2).timelimit(seconds));
        let asked = self.attributes.clone();
        let mut stream = ldap
            .streaming_search(&self.base_dn, Scope::Subtree, filter, asked)
            .await
            .map_err(|error| fault_of(&error))?;
        let mut found = Vec::new();
        while let Some(item) = stream.next().await.map_err(|error| fault_of(&error))? {
            if !item.is_ref() && !item.is_intermediate() {
                found.push(SearchEntry::construct(item));
            }
            if found.len() > 1 {
                return Ok(None);
            }
        }
        match stream.finish().await.rc {
            code::SUCCESS => {}
            code::SIZE_LIMIT_EXCEEDED => return Ok(None),
            other => return Err(answered("the search", other)),
        }
        found.pop().map(|entry| self.read(entry)).transpose()
    }

    /// Only what was asked for, by the names it was asked for: attribute names know no case (RFC 4512, 2.5).
    fn read(&self, entry: SearchEntry) -> Result<Entry, ConnectorFault> {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let hex =
            |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        for name in &self.attributes {
            let text = entry
                .attrs
                .iter()
                .filter(|(key, _)| key.eq_ignore_ascii_case(name))
                .flat_map(|(_, all)| all.clone());
            let binary = entry.bin_attrs.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
            let all: Vec<String> =
                text.chain(binary.flat_map(|(_, all)| all.iter().map(hex))).collect();
            if !all.is_empty() {
                values.insert(name.clone(), all);
            }
        }
        if values.values().flatten().map(String::len).sum::<usize>() > LARGEST_ENTRY {
            return Err(ConnectorFault::new(
                ErrorCode::IdpTooLarge,
                "an entry is longer than 64 KiB; ask for fewer attributes",
            ));
        }
        Ok(Entry { dn: entry.dn, values })
    }

    async fn as_account(&self) -> Result<Ldap, ConnectorFault> {
        let mut ldap = self.connect().await?;
        let (dn, password) = &self.account;
        match ldap.simple_bind(dn, password.reveal()).await.map_err(|error| fault_of(&error))?.rc {
            code::SUCCESS => Ok(ldap),
            refused if code::NOT_PROVEN.contains(&refused) => {
                let meaning = code::meaning(refused)
                    .map(|meaning| format!(" ({meaning})"))
                    .unwrap_or_default();
                let why =
                    format!("result {refused}{meaning}; are bind_dn and bind_password right?");
                Err(ConnectorFault::new(ErrorCode::LdapAccount, why))
            }
            other => Err(answered("the account's bind", other)),
        }
    }

    /// A connection with TLS on it, which closes when its handle is dropped.
    async fn connect(&self) -> Result<Ldap, ConnectorFault> {
        let stream =
            self.dialer.connect().await?.into_std().map_err(|error| fault_of(&error.into()))?;
        let settings = LdapConnSettings::new()
            .set_starttls(self.starttls)
            .set_std_stream(StdStream::Tcp(stream));
        let settings = match &self.tls {
            Some(config) => settings.set_config(Arc::clone(config)),
            None => settings,
        };
        let (connection, ldap) = LdapConnAsync::from_url_with_settings(settings, &self.url)
            .await
            .map_err(|error| match error {
            // Nothing but StartTLS has been asked yet.
            LdapError::LdapResult { result } => ConnectorFault::new(
                ErrorCode::LdapTls,
                format!("StartTLS is refused with result {}", result.rc),
            ),
            other => fault_of(&other),
        })?;
        // What ends it badly ends the operations that wait for it, and is told by them.
        tokio::spawn(connection.drive());
        Ok(ldap)
    }
}

/// RFC 4515, 3: what was typed is a value, whatever it looks like.
fn filter_for(filter: &str, username: &str) -> String {
    filter.replace(USERNAME, &ldap_escape(username))
}

/// TLS by these authorities alone.
fn trusting(ca: &std::path::Path) -> Result<Arc<ClientConfig>, ConnectorRefused> {
    let refused = |mend: String| ConnectorRefused::new("kind.ldap.ca", mend);
    let roots =
        Authorities::read(ca).and_then(|authorities| authorities.root_store()).map_err(refused)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(format!("no TLS client can be made: {error}")))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// Runs a conversation as a task that ends with whoever waits for it, and whose panic ends nothing else.
async fn apart<T: Send + 'static>(
    conversation: impl Future<Output = Result<T, ConnectorFault>> + Send + 'static,
) -> Result<T, ConnectorFault> {
    let mut task = JoinSet::new();
    task.spawn(conversation);
    match task.join_next().await {
        Some(Ok(outcome)) => outcome,
        Some(Err(_)) | None => {
            Err(ConnectorFault::new(ErrorCode::LdapAnswer, "an answer is malformed"))
        }
    }
}

fn answered(what: &str, result: u32) -> ConnectorFault {
    let meaning = code::meaning(result).unwrap_or("RFC 4511, appendix A");
    ConnectorFault::new(
        ErrorCode::LdapAnswer,
        format!("{what} was answered with result {result} ({meaning})"),
    )
}

/// Of the crate's errors only what names no person goes on.
fn fault_of(error: &LdapError) -> ConnectorFault {
    let tls = |why: String| ConnectorFault::new(ErrorCode::LdapTls, why);
    match error {
        // A certificate's fault comes in an input error's dress.
        LdapError::Io { source } => {
            match source.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(fault) => tls(fault.to_string()),
                None => ConnectorFault::new(
                    ErrorCode::IdpUnreachable,
                    format!("the connection broke: {}", source.kind()),
                ),
            }
        }
        LdapError::Rustls { source } => tls(source.to_string()),
        LdapError::DNSName { .. } => tls("the host of url can not be a certificate's name".into()),
        LdapError::LdapResult { result } => answered("an operation", result.rc),
        LdapError::Timeout { .. } => {
            ConnectorFault::new(ErrorCode::IdpTimeout, "the directory did not answer in time")
        }
        _ => ConnectorFault::new(
            ErrorCode::LdapAnswer,
            "the connection ended before the answer, or the answer is malformed",
        ),
    }
}
