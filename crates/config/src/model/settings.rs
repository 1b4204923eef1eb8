//! Defines the settings file, `passerelle.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::confinement::ConfinementConfig;
use super::defaults;
use super::key_files::PlainKeyFiles;
use super::limits::LimitsConfig;
use super::metrics::MetricLabels;
use super::pkcs11::Pkcs11Config;
use super::quotas::QuotasConfig;
use super::register::RegisterConfig;
use super::store::StoreConfig;
use super::subject_key::{SubjectKeyRef, VersionedKey};
use super::traces::TracesConfig;
use super::vault_transit::VaultTransitConfig;
use passerelle_admin::settings::PrivateListener;
use passerelle_audit::settings::AuditConfig;
use passerelle_federation::identity::declared::ClaimDeclaration;
use passerelle_federation::identity::{IdentitySource, SubjectSource};
use passerelle_federation::{Category, NoAccountText, VerifiedClaimsRules};
use passerelle_grants::lifetimes::Lifetimes;
use passerelle_protocol::acr::{Level, Platform};
use passerelle_protocol::ids::ConnectorId;
use passerelle_protocol::registration::{PushedRequests, RequestPolicy};
use passerelle_protocol::security_profile::SecurityProfile;
use passerelle_settings::{FilePath, SecretLocations, SecretRef, SecretRules, SourceFile};
use passerelle_web::public_listener_settings::PublicListener;

/// The settings file: `config/passerelle.toml`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The platform of the specification.
    pub platform: Platform,
    /// Public base URL without a path: `https://login.example.org`. The issuer is this plus
    /// `/api/v2`.
    #[schemars(example = "https://login.example.org")]
    pub base_url: String,
    /// Listener for browsers and service providers.
    pub public: PublicListener,
    /// Listener for health, metrics and administration. It must not be reachable from outside.
    pub private: PrivateListener,
    /// Address of your documentation for service providers, in discovery and on the pages about
    /// OAuth errors. Default: none.
    #[serde(default)]
    pub service_documentation: Option<String>,
    /// Language of the pages for users whose browser asks for none that the pages have: a built-in
    /// one (ar, de, en, es, fr, it, nl, pl, pt, ro) or one of the folder `locales`
    /// (docs/languages.md).
    #[serde(default = "defaults::default_language")]
    pub default_language: String,
    /// Pushed authorization requests (RFC 9126): `off`, `accepted`, or `required` of every service
    /// provider (docs/authorization-requests.md).
    #[serde(default)]
    pub pushed_authorization_requests: PushedRequests,
    /// Indexes sessions by the `sub` of each service provider, so that an operator can end those of a
    /// person (docs/logout.md). A login costs two more calls of the store.
    #[serde(default)]
    pub index_sessions_by_sub: bool,
    /// The least security profile of every service provider: `fapi2`, or `fapi2-message-signing`
    /// (docs/fapi.md). Default: none.
    #[serde(default)]
    pub profile: Option<SecurityProfile>,
    /// Adds the claims of the granted scopes to the ID tokens of service providers with `rules =
    /// "openid"` and without a security profile, unless their file sets `id_token_claims`.
    #[serde(default = "defaults::yes")]
    pub id_token_claims: bool,
    /// Prefix of cookie names. Cookies ignore ports, so several hubs on one host need different
    /// prefixes.
    #[serde(default = "defaults::cookie_prefix")]
    pub cookie_prefix: String,
    /// Value that represents this hub in `amr`. A name registered by RFC 8176 is rejected.
    #[serde(default = "defaults::amr_marker")]
    pub amr_marker: String,
    /// Allows `persona` connectors. Never in production.
    #[serde(default)]
    pub sandbox: bool,
    /// Allows `sandbox` although `base_url` or `public.listen` is not on this machine: anyone who
    /// reaches the hub can sign in as anyone.
    #[serde(default)]
    pub sandbox_public: bool,
    /// Source of identities. On the high platform always the identity provider.
    #[serde(default)]
    pub identity_source: IdentitySource,
    /// What `sub` is derived from.
    #[serde(default)]
    pub subject: SubjectSource,
    /// Five-digit code of the country whose births need a `birthplace`.
    #[serde(default = "defaults::home_country")]
    pub home_country: String,
    /// Key that `sub` is derived with, version 1: at least 32 bytes. It must never change.
    #[serde(default)]
    pub subject_key: Option<SubjectKeyRef>,
    /// Instead of `subject_key`, once there is a second version: all versions.
    #[serde(default)]
    pub subject_keys: Vec<VersionedKey>,
    /// Folder of keys, written by `passerelle keys`.
    #[serde(default = "defaults::keys")]
    pub keys: PathBuf,
    /// Days after which the hub itself creates the next keys, as `passerelle keys rotate` does. Hubs
    /// that share a store must share the folder of keys; one of them rotates. Default: never.
    #[serde(default)]
    #[schemars(range(min = 1, max = 365))]
    pub rotate_keys_every_days: Option<u64>,
    /// Passphrase that encrypts private keys in the folder of keys. Default: they are not encrypted.
    #[serde(default)]
    pub key_passphrase: Option<SecretRef>,
    /// Private keys in files that are not encrypted. Set `refused` when all are encrypted or in a
    /// device: then a person who can only write to the folder can't add a key. A start and a reload
    /// require that each device proves the private keys that files name in it.
    #[serde(default)]
    pub plain_key_files: PlainKeyFiles,
    /// The device that holds private keys, for example a hardware security module. Default: the keys
    /// are in files.
    #[serde(default)]
    pub pkcs11: Option<Pkcs11Config>,
    /// The Vault server that holds private keys. Default: the keys are in files.
    #[serde(default)]
    pub vault_transit: Option<VaultTransitConfig>,
    /// Folder of connector files.
    #[serde(default = "defaults::connectors")]
    pub connectors: PathBuf,
    /// Folder that the hub writes to, for example the blocks of `passerelle idp block`.
    #[serde(default = "defaults::state")]
    pub state: PathBuf,
    /// Theme file. Default: the built-in theme.
    #[serde(default)]
    pub theme: Option<FilePath>,
    /// CSV files with the names of places and countries by code, for the consent page. Default: none,
    /// and the page shows codes.
    #[serde(default)]
    pub place_name_files: Vec<FilePath>,
    /// The register of persons. Required with `identity_source = "register"` on the standard
    /// platform.
    #[serde(default)]
    pub register: Option<RegisterConfig>,
    /// Store for logins, sessions, codes and tokens. Default: the memory of this process.
    #[serde(default)]
    pub store: Option<StoreConfig>,
    /// Where the secrets of connectors and clients are.
    #[serde(default)]
    pub secrets: SecretLocations,
    /// Lifetimes of logins, sessions, codes and tokens.
    #[serde(default)]
    pub lifetimes: Lifetimes,
    /// Capacities and timeouts.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// Rate limits.
    #[serde(default)]
    pub quotas: QuotasConfig,
    /// The choice page.
    #[serde(default)]
    pub choice: ChoiceConfig,
    /// The log.
    #[serde(default)]
    pub log: LogConfig,
    /// The audit log.
    #[serde(default)]
    pub audit: AuditConfig,
    /// Restrictions that the process puts on itself.
    #[serde(default)]
    pub process: ConfinementConfig,
    /// Tracing.
    #[serde(default)]
    pub traces: TracesConfig,
    /// Metric labels.
    #[serde(default)]
    pub metrics: MetricLabels,
    /// `[claims.NAME]`: claims beyond the specification's, for mappings and scopes
    /// (docs/declared-claims.md).
    #[serde(default)]
    pub claims: BTreeMap<String, ClaimDeclaration>,
    /// Verified claims in userinfo and ID tokens, for service providers with `rules = "openid"` that
    /// request them (docs/integrate/scopes-and-claims.md). Default: none.
    #[serde(default)]
    pub verified_claims: Option<VerifiedClaimsRules>,
    /// `[level_names.NAME]`: values of `acr` besides the levels, for service providers whose file
    /// lists them (docs/levels.md).
    #[serde(default)]
    pub level_names: BTreeMap<String, LevelNameDeclaration>,
    /// Whether the file has the table of an optional crate that sends one-time codes by mail.
    #[serde(skip)]
    #[schemars(skip)]
    pub sends_mail_codes: bool,
    /// The tables of the optional crates, as operators may see them.
    #[serde(flatten, skip_deserializing)]
    #[schemars(skip)]
    pub extensions: serde_json::Map<String, serde_json::Value>,
}

impl Settings {
    /// Returns the age at which the hub rotates its keys.
    pub fn key_rotation_period(&self) -> Option<Duration> {
        self.rotate_keys_every_days.map(|days| Duration::from_secs(days * 86_400))
    }

    /// Returns what the hub demands of all authorization requests.
    pub const fn request_policy(&self) -> RequestPolicy {
        RequestPolicy { pushed: self.pushed_authorization_requests, profile: self.profile }
    }

    /// Returns which secrets the other files of the configuration folder may reference. `source` is
    /// the file of these settings.
    pub fn secret_rules(&self, source: &SourceFile, folder: &Path) -> SecretRules {
        SecretRules::new(source, self.secrets.clone(), &[&self.keys, &self.state], folder)
    }
}

/// A value of `acr` besides the levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelNameDeclaration {
    /// Level to which the name maps, one of the platform's.
    pub level: Level,
    /// The name also implies proven multi-factor authentication.
    #[serde(default)]
    pub multi_factor: bool,
    /// The name also implies `mail` or proven multi-factor authentication. Without either, the hub
    /// asks for a code that it sends by mail; needs `[mail]` (docs/mail.md).
    #[serde(default)]
    pub mail: bool,
}

/// The choice page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChoiceConfig {
    /// Order of connectors. Connectors not listed follow, sorted by name.
    pub order: Vec<ConnectorId>,
    /// Hides unavailable connectors instead of greying them out.
    pub hide_unavailable: bool,
    /// Headings of the choice page, in order. Connectors reference them by id.
    pub categories: Vec<Category>,
    /// Asks for an e-mail address, and finds the connector by its domain. Other users choose from
    /// the list.
    pub ask_email: bool,
    /// CSV file of further e-mail domains, with the header `domain,connector`: `example.org,la-poste`,
    /// and `*.example.org,la-poste` for all subdomains. Default: none.
    pub email_domain_file: Option<FilePath>,
    /// Remembers the connector of the last login in a cookie, and shows it first.
    pub remember_last: bool,
    /// Days until the last choice is forgotten; at most 180.
    #[schemars(range(min = 1, max = defaults::MAX_REMEMBER_DAYS))]
    pub remember_days: u64,
    /// Advice for users who have none of the accounts. Default: none.
    pub no_account: Option<NoAccountText>,
}

impl Default for ChoiceConfig {
    fn default() -> Self {
        Self {
            order: Vec::new(),
            hide_unavailable: false,
            categories: Vec::new(),
            ask_email: false,
            email_domain_file: None,
            remember_last: false,
            remember_days: defaults::MAX_REMEMBER_DAYS,
            no_account: None,
        }
    }
}

/// The log.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// Text for humans, or one JSON object per line.
    pub format: LogFormat,
    /// Filter as in `RUST_LOG`: `info`, `passerelle=debug`.
    pub filter: String,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: LogFormat::Human, filter: "info".into() }
    }
}

/// Format of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for humans.
    Human,
    /// One JSON object per line.
    Json,
}
