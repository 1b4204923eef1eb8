//! Defines and checks the `[mail]` table of `passerelle.toml`.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use lettre::Address;
use passerelle_extension::SettingsTable;
use passerelle_protocol::ids::Secret;
use passerelle_settings::{
    AuthoritiesPath, ConfiguredTable, KindTable, SecretRef, TableKind, ValueError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::message::MailSender;
use super::smtp_client::SmtpClient;
use passerelle_web::theme::Theme;

/// Longest address that SMTP can carry (RFC 5321 §4.5.3.1.3).
const MAX_ADDRESS_BYTES: usize = 254;

/// Mail by a submission server (RFC 6409). The table turns it on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "url": "smtp://mail.example.org",
    "username": "passerelle",
    "password": { "file": "mail.password" },
    "from": "no-reply@example.org",
}]))]
pub(crate) struct MailConfig {
    /// `smtps://host` (TLS from the first byte, port 465), or `smtp://host` (STARTTLS, which the
    /// server must offer, port 587); with a port if it is another one.
    #[schemars(example = "smtps://mail.example.org")]
    pub url: String,
    /// Allows `smtp://` without TLS (port 25 if it names none), to a server on this machine only.
    #[serde(default)]
    pub insecure_smtp: bool,
    /// PEM file of the only certificate authorities trusted for the server. Default: the system's.
    #[serde(default)]
    pub ca: Option<AuthoritiesPath>,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
    /// Account at the server. Default: no authentication.
    #[serde(default)]
    pub username: Option<String>,
    /// Password of the account.
    #[serde(default)]
    pub password: Option<SecretRef>,
    /// Address of the sender. Its domain needs SPF, DKIM and DMARC.
    pub from: String,
    /// Address for replies. Default: none.
    #[serde(default)]
    pub reply_to: Option<String>,
    /// Address to which `passerelle check --online` sends a mail. Default: it only signs in to the
    /// server.
    #[serde(default)]
    pub test_recipient: Option<String>,
    /// Connections to the server at once.
    #[serde(default = "default_connections")]
    #[schemars(range(min = 1, max = 50))]
    pub connections: u32,
    /// Mails that may wait for the server. More are refused.
    #[serde(default = "default_max_waiting")]
    #[schemars(range(min = 32, max = 100_000))]
    pub max_waiting: u32,
    /// Mails to one address in an hour.
    #[serde(default = "default_mails_per_hour")]
    #[schemars(range(min = 1, max = 100))]
    pub mails_per_address: u32,
    /// Mails for one person in an hour, to any address.
    #[serde(default = "default_mails_per_hour")]
    #[schemars(range(min = 1, max = 100))]
    pub mails_per_person: u32,
    /// Days after the person's last login or code until a stored address is removed.
    #[serde(default = "default_address_days")]
    #[schemars(range(min = 1, max = 1000))]
    pub address_days: u32,
    /// Persons with a stored address, or with a code within a day, in the memory store. With more, new
    /// persons get no codes.
    #[serde(default = "default_max_persons")]
    #[schemars(range(min = 100, max = 100_000_000))]
    pub max_persons: u32,
}

impl MailConfig {
    /// Returns how long after its last use a confirmed address is kept.
    pub(crate) fn address_lifetime(&self) -> Duration {
        Duration::from_secs(u64::from(self.address_days) * 24 * 3600)
    }
}

const fn default_connections() -> u32 {
    4
}

const fn default_max_waiting() -> u32 {
    2000
}

const fn default_mails_per_hour() -> u32 {
    6
}

const fn default_address_days() -> u32 {
    400
}

const fn default_max_persons() -> u32 {
    100_000
}

/// The checked table: what the hub sends mail with.
pub(crate) struct MailSettings {
    pub config: MailConfig,
    pub from: Address,
    pub reply_to: Option<Address>,
    pub test_recipient: Option<Address>,
    pub client: Arc<SmtpClient>,
}

/// Address and security of the submission server.
#[derive(Clone, Debug)]
pub(crate) struct SubmissionServer {
    pub host: Host,
    pub port: u16,
    pub security: ConnectionSecurity,
}

/// How a connection to the submission server is secured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnectionSecurity {
    /// TLS from the first byte (RFC 8314 §3.3).
    ImplicitTls,
    /// TLS after STARTTLS (RFC 3207), without which nothing is sent.
    Starttls,
    /// No TLS, to this machine only.
    Loopback,
}

/// The table `[mail]`.
pub(crate) const TABLE: SettingsTable = SettingsTable {
    kind: TableKind {
        name: "mail",
        summary: "Mail for one-time codes (docs/mail.md). Default: off.",
        schema: |generator| generator.subschema_for::<MailConfig>(),
        load: read_table,
    },
    check: |_, _, _| {},
};

fn read_table(table: &mut KindTable<'_>) -> Option<ConfiguredTable> {
    let config: MailConfig = table.deserialize()?;
    table.check_hosts("internal_hosts", &config.internal_hosts);
    let ca = config.ca.as_deref().map(|path| table.resolve_path(path));
    let password = table.resolve_secret("password", config.password.as_ref());
    if config.username.is_some() != config.password.is_some() {
        table.report("username", "needs a password, and a password needs it", "set both, or none");
    }
    let mut address = |key: &str, text: &str| {
        let address = parse_address(text);
        if address.is_none() {
            table.report(key, "is not a mail address", "write only name@domain, in ASCII");
        }
        address
    };
    let from = address("from", &config.from);
    let reply_to = config.reply_to.as_ref().map(|text| address("reply_to", text));
    let recipient = config.test_recipient.as_ref().map(|text| address("test_recipient", text));
    let server = match config.server() {
        Ok(server) => server,
        Err(ValueError { message, fix }) => {
            table.report("url", message, fix);
            return None;
        }
    };
    let account = config.username.clone().zip(password.map(Secret::into_inner));
    let from = from?;
    match SmtpClient::new(&server, &config, ca.as_deref(), account, &from) {
        Ok(client) => Some(table.configured(
            &config.clone(),
            MailSettings {
                config,
                from,
                reply_to: reply_to.flatten(),
                test_recipient: recipient.flatten(),
                client: Arc::new(client),
            },
        )),
        Err(found) => {
            table.report(&found.key, found.message, found.fix);
            None
        }
    }
}

impl MailSettings {
    /// Returns the hub as sender, with the name and the colour of a theme.
    pub(crate) fn sender(&self, theme: &Theme) -> MailSender {
        MailSender {
            from: self.from.clone(),
            reply_to: self.reply_to.clone(),
            name: theme.name.clone(),
            colour: theme.accent.light.background.clone(),
        }
    }
}

impl MailConfig {
    /// Parses `url`.
    ///
    /// # Errors
    /// What is wrong with it, and how to fix it.
    fn server(&self) -> Result<SubmissionServer, ValueError> {
        let fix = "write smtps:// or smtp://, and a host name";
        let url = Url::parse(&self.url).map_err(|_| ValueError::new("is not an address", fix))?;
        let (port, security) = match (url.scheme(), self.insecure_smtp) {
            ("smtps", _) => (465, ConnectionSecurity::ImplicitTls),
            ("smtp", false) => (587, ConnectionSecurity::Starttls),
            ("smtp", true) => (25, ConnectionSecurity::Loopback),
            _ => return Err(ValueError::new("is neither smtps nor smtp", fix)),
        };
        // `Url` does not parse the host of schemes other than http.
        let host = url.host_str().and_then(|host| Host::parse(host).ok());
        let host = host.ok_or_else(|| ValueError::new("has no host", fix))?;
        let is_host_only = matches!(url.path(), "" | "/") && url.query().is_none();
        if !is_host_only || !url.username().is_empty() || url.password().is_some() {
            let fix = "remove the rest; username and password are separate keys";
            return Err(ValueError::new("contains more than a host and a port", fix));
        }
        let is_loopback = match &host {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };
        if security == ConnectionSecurity::Loopback && !is_loopback {
            let fix = "remove insecure_smtp, so that STARTTLS is used, or write smtps://";
            return Err(ValueError::new("would send codes to another machine without TLS", fix));
        }
        Ok(SubmissionServer { port: url.port().unwrap_or(port), host, security })
    }
}

/// Parses a mail address: one name and one domain, in ASCII, without quotes, comments or blanks.
/// No such text can begin another header or another command (header injection).
pub(crate) fn parse_address(text: &str) -> Option<Address> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"`()<>[]{}\\,;:%|".contains(&byte);
    let is_one = text.len() <= MAX_ADDRESS_BYTES && text.matches('@').count() == 1;
    (is_one && text.bytes().all(is_plain)).then(|| Address::from_str(text).ok()).flatten()
}
