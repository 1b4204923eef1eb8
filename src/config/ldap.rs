//! `[kind.ldap]`: a directory whose passwords are typed on a page of the hub (RFC 4511, 4513, 4515, 4516).
//!
//! Owns: the shape of its table, and every rule on it. Must not know: how a directory is spoken to.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use url::{Host, Url};

use super::model::SecretRef;
use super::problem::Problem;
use super::source::Source;

/// Where the typed name goes in `filter`.
pub const USERNAME: &str = "{username}";

/// An LDAP directory: the person is searched for, then the password is proven by a bind.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LdapKind {
    /// `ldaps://host`, or `ldap://host` with `starttls`; with a port where it is not 636 or 389.
    pub url: String,
    /// TLS is begun on the plain port (RFC 4511, 4.14), before anything else is said.
    #[serde(default)]
    pub starttls: bool,
    /// Allows a directory to be reached without TLS: every password in the clear.
    #[serde(default)]
    pub insecure_ldap: bool,
    /// PEM file of the only authorities that its certificate may come from; absent: those of the machine. The path
    /// counts from the configuration folder.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// The account that searches, as `cn=hub,ou=services,dc=example,dc=org`; it needs to read, and nothing more.
    pub bind_dn: String,
    /// Its password.
    pub bind_password: SecretRef,
    /// Below which entry persons are searched for.
    pub base_dn: String,
    /// Which entry is the person's (RFC 4515); `{username}` stands for what was typed.
    #[serde(default = "username_filter")]
    pub filter: String,
    /// The attribute that names the person for ever, with one value; never a name that may pass to somebody else.
    #[serde(default = "entry_uuid")]
    pub subject_attribute: String,
    /// Attributes that are read of the entry, each a claim of the same name.
    #[serde(default)]
    pub attributes: Vec<String>,
    /// Wrong passwords that lock an account in the directory (pwdMaxFailure, passwordMaxFailure, lockoutThreshold): the hub
    /// lets fewer through, so that strangers lock no account. From 3 to 100.
    #[serde(default = "lockout_after")]
    pub lockout_after: u32,
    /// Minutes in which the directory counts them (pwdFailureCountInterval, lockoutObservationWindow). From 1 to 1440.
    #[serde(default = "lockout_minutes")]
    pub lockout_minutes: u32,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
}

const fn lockout_after() -> u32 {
    5
}

const fn lockout_minutes() -> u32 {
    15
}

fn username_filter() -> String {
    format!("(uid={USERNAME})")
}

fn entry_uuid() -> String {
    "entryUUID".into()
}

/// Where a directory listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub url: Url,
    pub host: Host,
    pub port: u16,
}

impl LdapKind {
    /// The time in which the directory counts wrong passwords.
    #[must_use]
    pub fn lockout_window(&self) -> Duration {
        Duration::from_secs(60 * u64::from(self.lockout_minutes))
    }

    /// # Errors
    /// What is wrong with `url`, and how to mend it.
    pub fn place(&self) -> Result<Place, (&'static str, &'static str)> {
        let write = "write ldaps:// and a host name";
        let url = Url::parse(&self.url).map_err(|_| ("is not an absolute address", write))?;
        let port = match url.scheme() {
            "ldaps" => 636,
            "ldap" => 389,
            _ => return Err(("is neither ldaps nor ldap", write)),
        };
        // Of another scheme than http, `Url` reads the host as text.
        let host =
            url.host_str().filter(|host| !host.is_empty()).and_then(|host| Host::parse(host).ok());
        let host = host.ok_or(("has no host", write))?;
        if matches!(host, Host::Ipv6(_)) {
            return Err((
                "is an IPv6 address, which no certificate is compared with",
                "write a host name",
            ));
        }
        let bare =
            matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        if !bare || !url.username().is_empty() || url.password().is_some() {
            return Err((
                "holds more than a host and a port",
                "remove the rest; base_dn, filter and bind_dn are keys of their own",
            ));
        }
        Ok(Place { port: url.port().unwrap_or(port), host, url })
    }
}

pub(super) fn check(source: &Source, kind: &LdapKind, folder: &Path, problems: &mut Vec<Problem>) {
    let mut told = |key: &str, what: &str, mend: &str| {
        problems.push(source.problem(&format!("kind.ldap.{key}"), what, mend))
    };
    match kind.place() {
        Err((what, mend)) => told("url", what, mend),
        Ok(place) if place.url.scheme() == "ldaps" && kind.starttls => {
            told(
                "starttls",
                "begins TLS where it is there from the start",
                "remove it, or write ldap:// in url",
            );
        }
        Ok(place) if place.url.scheme() == "ldap" && !kind.starttls && !kind.insecure_ldap => {
            let mend = "write ldaps://, or starttls = true (or insecure_ldap = true in this file, for tests only)";
            told("url", "sends every password in the clear", mend);
        }
        Ok(_) => {}
    }
    for (key, value) in [
        ("bind_dn", &kind.bind_dn),
        ("base_dn", &kind.base_dn),
        ("subject_attribute", &kind.subject_attribute),
    ] {
        if value.trim().is_empty() {
            told(key, "is empty", "write it as the directory does");
        }
    }
    if kind.filter.matches(USERNAME).count() == 0 {
        told(
            "filter",
            "has no {username}, so that everybody would be the same entry",
            "write it as \"(uid={username})\"",
        );
    }
    if !(3..=100).contains(&kind.lockout_after) {
        let fix = "write what the directory's password policy says, and have it lock after three at the least";
        told("lockout_after", "is not from 3 to 100", fix);
    }
    if !(1..=1440).contains(&kind.lockout_minutes) {
        told(
            "lockout_minutes",
            "is not from 1 to 1440",
            "write the minutes in which the directory counts wrong passwords",
        );
    }
    problems.extend(source.missing_file("kind.ldap.ca", folder, kind.ca.as_deref()));
    problems.extend(source.not_hosts("kind.ldap.internal_hosts", &kind.internal_hosts));
}
