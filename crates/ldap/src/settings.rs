//! Defines the `[kind.ldap]` table of a connector.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use url::{Host, Url};

use passerelle_settings::{AuthoritiesPath, SecretRef, ValueError};

/// Placeholder for the entered username in `filter`.
pub(crate) const USERNAME_PLACEHOLDER: &str = "{username}";

/// An LDAP directory. The hub searches for the user's entry, then verifies the password with a
/// bind.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "url": "ldaps://ldap.example.org",
    "bind_dn": "cn=hub,ou=services,dc=example,dc=org",
    "bind_password": { "file": "ldap.secret" },
    "base_dn": "ou=people,dc=example,dc=org",
    "subject_attribute": "entryUUID",
    "attributes": ["givenName", "sn", "mail"]
}]))]
pub struct LdapKind {
    /// `ldaps://host`, or `ldap://host` with `starttls`; with a port if it is not 636 or 389.
    #[schemars(example = "ldaps://directory.example.org")]
    pub url: String,
    /// Starts TLS on the plain port before any other message (RFC 4511 §4.14).
    #[serde(default)]
    pub starttls: bool,
    /// Allows connections without TLS, which send every password in clear text.
    #[serde(default)]
    pub insecure_ldap: bool,
    /// PEM file of the only certificate authorities trusted for it, relative to the configuration
    /// folder. Default: the system's.
    #[serde(default)]
    pub ca: Option<AuthoritiesPath>,
    /// Account for searches, for example `cn=hub,ou=services,dc=example,dc=org`. It only needs read
    /// access.
    pub bind_dn: String,
    /// Password of the account.
    pub bind_password: SecretRef,
    /// Entry below which users are searched.
    #[schemars(example = "ou=people,dc=example,dc=org")]
    pub base_dn: String,
    /// Search filter (RFC 4515); `{username}` stands for the entered username. For Active
    /// Directory it should match `sAMAccountName` or `userPrincipalName`.
    #[serde(default = "username_filter")]
    pub filter: String,
    /// NetBIOS name of the Active Directory domain. Users may then enter `DOMAIN\name`, and
    /// `{username}` is the name without the domain. They may also enter `name@realm` without having
    /// this `userPrincipalName`, if the `dc` parts of `base_dn` are the realm.
    #[serde(default)]
    pub domain: Option<String>,
    /// Single-valued attribute that identifies the user permanently: `entryUUID` (OpenLDAP),
    /// `nsUniqueId` (389 Directory Server), `objectGUID` (Active Directory). Never a name that
    /// another user may get later.
    #[serde(default = "entry_uuid")]
    pub subject_attribute: String,
    /// Attributes to read, each as a claim of the same name. They are text in UTF-8, except those
    /// of `binary_attributes`.
    #[serde(default)]
    pub attributes: Vec<String>,
    /// Attributes with binary values, which become text in hexadecimal, besides the usual ones such
    /// as `objectGUID` and `jpegPhoto`.
    #[serde(default)]
    pub binary_attributes: Vec<String>,
    /// Wrong passwords after which the directory locks an account (pwdMaxFailure,
    /// passwordMaxFailure, lockoutThreshold). The hub allows fewer, so that attackers can't lock
    /// accounts. From 3 to 100.
    #[serde(default = "lockout_after")]
    pub lockout_after: u32,
    /// Period in which the directory counts them, in minutes (pwdFailureCountInterval,
    /// lockoutObservationWindow). From 1 to 1440.
    #[serde(default = "lockout_minutes")]
    pub lockout_minutes: u32,
    /// Treatment of users whose password the directory accepts only to change it (`pwdReset`,
    /// `passwordMustChange`): `"refuse"` asks them to change it first, `"warn"` signs them in after
    /// a page that says so. Default: `"refuse"`.
    #[serde(default)]
    pub must_change_password: MustChangePassword,
    /// Absolute https URL of the page for users who forgot their password or must change it; the
    /// sign-in page links to it. Default: no link.
    #[serde(default)]
    pub forgotten_password_url: Option<String>,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
}

/// Treatment of users who must change their password.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MustChangePassword {
    /// They can't sign in until they have changed it.
    #[default]
    Refuse,
    /// They see a page that says so, and sign in.
    Warn,
}

const fn lockout_after() -> u32 {
    10
}

const fn lockout_minutes() -> u32 {
    15
}

fn username_filter() -> String {
    format!("(uid={USERNAME_PLACEHOLDER})")
}

fn entry_uuid() -> String {
    "entryUUID".into()
}

/// Address of a directory server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LdapAddress {
    /// The URL as configured.
    pub url: Url,
    /// Host.
    pub host: Host,
    /// Port, the default one if the URL has none.
    pub port: u16,
}

impl LdapKind {
    /// Returns an entered username without `domain`, whose letters' case does not count.
    pub fn strip_domain<'u>(&self, username: &'u str) -> &'u str {
        let rest = self.domain.as_deref().and_then(|domain| {
            let (prefix, rest) = username.split_once('\\')?;
            prefix.eq_ignore_ascii_case(domain).then_some(rest)
        });
        rest.unwrap_or(username)
    }

    /// Returns the account name of an implicit user principal name, for example `jane` of
    /// `jane@town.example`: Active Directory accepts it beside `userPrincipalName`, which an account
    /// need not have ([MS-ADTS] §5.1.1.1.1). `None` without `domain`, or for another realm than that
    /// of `base_dn`.
    pub(super) fn implicit_principal<'u>(&self, username: &'u str) -> Option<&'u str> {
        let (name, realm) = username.rsplit_once('@')?;
        self.domain.as_ref()?;
        let components = self.base_dn.split(',').filter_map(|part| {
            let (attribute, value) = part.split_once('=')?;
            attribute.trim_ascii().eq_ignore_ascii_case("dc").then(|| value.trim_ascii())
        });
        let domain = components.collect::<Vec<_>>().join(".");
        (!name.is_empty() && realm.eq_ignore_ascii_case(&domain)).then_some(name)
    }

    /// Returns the period in which the directory counts wrong passwords.
    pub fn lockout_window(&self) -> Duration {
        Duration::from_secs(60 * u64::from(self.lockout_minutes))
    }

    /// Parses `url`.
    ///
    /// # Errors
    /// Returns the message and the fix of a diagnostic if the URL is invalid.
    pub fn server_address(&self) -> Result<LdapAddress, ValueError> {
        let fix = "write ldaps:// and a host name";
        let url = Url::parse(&self.url)
            .map_err(|_| ValueError::new("is not an absolute address", fix))?;
        let port = match url.scheme() {
            "ldaps" => 636,
            "ldap" => 389,
            _ => return Err(ValueError::new("is neither ldaps nor ldap", fix)),
        };
        // `Url` does not parse the host of schemes other than http.
        let host =
            url.host_str().filter(|host| !host.is_empty()).and_then(|host| Host::parse(host).ok());
        let host = host.ok_or_else(|| ValueError::new("has no host", fix))?;
        if matches!(host, Host::Ipv6(_)) {
            return Err(ValueError::new(
                "is an IPv6 address, which can't be verified against a certificate",
                "write a host name",
            ));
        }
        let is_host_only =
            matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        if !is_host_only || !url.username().is_empty() || url.password().is_some() {
            return Err(ValueError::new(
                "contains more than a host and a port",
                "remove the rest; base_dn, filter and bind_dn are separate keys",
            ));
        }
        Ok(LdapAddress { port: url.port().unwrap_or(port), host, url })
    }
}
