//! Defines the types of the configuration files. The JSON Schemas are generated from them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::acr_table::AcrTable;
pub use super::audit::AuditConfig;
use super::connector_rules::ConnectorRules;
use super::ldap::LdapKind;
pub use super::metrics::MetricLabels;
use super::oauth2::Oauth2Kind;
pub use super::proxies::{AddressHeader, PublicListener};
pub use super::quotas::QuotasConfig;
pub use super::secret_rules::SecretLocations;
pub use super::store::{MemoryConfig, RedisConfig, RedisMode, StoreConfig};
pub use super::traces::TracesConfig;
pub use crate::identity::mapping::UnmappedClaims;
use crate::ids::{ClientId, ConnectorId, Scope};
use crate::protocol::acr::{Level, Platform};
use crate::protocol::alg::{ContentEncryption, EncryptionAlg, SigningAlg};
pub use crate::protocol::client_auth::AuthMethod;
pub use crate::protocol::registration::{ConsentRequirement, ProtocolRules};

/// The settings file: `config/passerelle.toml`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The platform of the specification.
    pub platform: Platform,
    /// Public base URL without a path: `https://login.example.org`. The issuer is this plus
    /// `/api/v2`.
    pub base_url: String,
    /// Listener for browsers and service providers.
    pub public: PublicListener,
    /// Listener for health, metrics and administration. It must not be reachable from outside.
    pub private: PrivateListener,
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
    /// Allows `sandbox` although `base_url` is not on this machine: anyone who reaches the hub can
    /// sign in as anyone.
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
    /// Folder of connector files.
    #[serde(default = "defaults::connectors")]
    pub connectors: PathBuf,
    /// Folder that the hub writes to, for example the blocks of `passerelle idp block`.
    #[serde(default = "defaults::state")]
    pub state: PathBuf,
    /// Theme file. Default: the built-in theme.
    #[serde(default)]
    pub theme: Option<PathBuf>,
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
    /// Tracing.
    #[serde(default)]
    pub traces: TracesConfig,
    /// Metric labels.
    #[serde(default)]
    pub metrics: MetricLabels,
}

/// The listener for health, metrics and administration.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrivateListener {
    /// Address and port, for example `127.0.0.1:9090`; port 0 for any free port.
    pub listen: SocketAddr,
    /// Bearer token of `passerelle idp` and other administration: at least 32 characters. Without
    /// it there is no `/admin/…`.
    #[serde(default)]
    pub admin_token: Option<SecretRef>,
    /// Accepted values of the `Host` header, without a port; IP addresses and `localhost` are
    /// always accepted. Others get 421, which prevents DNS rebinding.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// Source of identities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IdentitySource {
    /// The national register, as the specification requires on the standard platform.
    #[default]
    Register,
    /// The identity provider, unconfirmed. It deviates from the specification, and every start logs
    /// a warning.
    Provider,
}

/// What `sub` is derived from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SubjectSource {
    /// The pivot identity: a user has the same `sub` with every identity provider.
    #[default]
    Pivot,
    /// The connector and the upstream `sub`, for identity providers without a pivot identity.
    Provider,
}

/// Reference to a secret: `{ file = "path" }` or `{ env = "NAME" }`. Configuration files never
/// contain secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretRef {
    /// Path, relative to the configuration folder. A trailing line end is removed.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
}

/// A version of the subject key, by reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionedKey {
    /// Version at the end of every `sub`: 1 for the first key, then increasing.
    pub version: u32,
    /// Path, relative to the configuration folder. A trailing line end is removed.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
    /// As in `subject_key`. Two versions with different derivations may have the same key.
    #[serde(default)]
    pub derivation: Option<u32>,
}

/// Reference to a secret: `{ file = "path" }` or `{ env = "NAME" }`; with the version of the name
/// normalization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubjectKeyRef {
    /// Path, relative to the configuration folder. A trailing line end is removed.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
    /// Version of the derivation, which must never change for a version of the key: 2, or 1 for a
    /// hub whose users already have a `sub` derived with it. Default: the version in the key if
    /// `passerelle keys new` created it, else 1 (docs/subject.md).
    #[serde(default)]
    pub derivation: Option<u32>,
}

/// The register of persons.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum RegisterConfig {
    /// A CSV file.
    File(FileRegisterConfig),
    /// A server.
    Http(Box<HttpRegisterConfig>),
}

/// A register in a CSV file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileRegisterConfig {
    /// CSV with a header line: given_names, family_name, birthdate, gender, birthplace,
    /// birthcountry, status. A `status` is `active` (or empty), `deceased` or `refused`; persons
    /// with the last two are rejected (Y010003, Y010004).
    pub path: PathBuf,
}

/// A register that is queried over HTTPS, specified in `docs/register.openapi.yaml`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRegisterConfig {
    /// Base URL without a query: `https://register.example.org/v1`.
    pub url: String,
    /// PEM file of the hub's certificate, followed by its chain, for a register that requires one.
    #[serde(default)]
    pub client_certificate: Option<PathBuf>,
    /// PEM key of the certificate, without a passphrase.
    #[serde(default)]
    pub client_key: Option<SecretRef>,
    /// PEM file of the only certificate authorities trusted for the register. Default: the
    /// system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Bearer token, sent as `Authorization: Bearer …` (RFC 6750).
    #[serde(default)]
    pub bearer: Option<SecretRef>,
    /// Maximum number of concurrent calls to the register.
    #[serde(default = "defaults::register_calls")]
    pub calls: usize,
    /// Allows http for the register.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
}

/// Lifetimes, in seconds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lifetimes {
    /// Lifetime of an authorization code; at most 600.
    pub code_seconds: u64,
    /// Lifetime of an access token.
    pub access_token_seconds: u64,
    /// Lifetime of an ID token, from the token response.
    pub id_token_seconds: u64,
    /// Lifetime of an ID token under `rules = "openid"`, which tolerates the same clock skew.
    pub openid_id_token_seconds: u64,
    /// Time limit of a login, from the authorization request to the code. Default: 1800 on the
    /// standard platform, 600 on high.
    pub login_seconds: Option<u64>,
    /// Idle timeout of a session. Default: 1800 on the standard platform, 600 on high.
    pub session_idle_seconds: Option<u64>,
    /// Maximum lifetime of a session. Default: 28800 on the standard platform, 600 on high.
    pub session_seconds: Option<u64>,
    /// Time from the publication of a new signing key to its first use, for `passerelle keys
    /// rotate`. Service providers cache the key set for 600 seconds: with less, they receive tokens
    /// with a key that they don't know yet.
    pub signing_key_lead_seconds: u64,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            code_seconds: 30,
            access_token_seconds: 60,
            id_token_seconds: 60,
            openid_id_token_seconds: 300,
            login_seconds: None,
            session_idle_seconds: None,
            session_seconds: None,
            signing_key_lead_seconds: 1200,
        }
    }
}

/// Default of `limits.login_bytes` for each of `limits.logins`: more than a typical login takes.
const DEFAULT_BYTES_PER_LOGIN: usize = 2048;
/// Minimum of `limits.login_bytes`: the size of the largest login.
const MIN_LOGIN_BYTES: usize = 64 << 10;

/// Capacities and timeouts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Maximum number of concurrent logins. Further ones get 503 with `Retry-After`.
    pub logins: usize,
    /// Maximum total size of login records, in bytes. Further logins get 503 with `Retry-After`. A
    /// small request takes about 850, the largest 12,700. Default: 2,048 for each of
    /// `limits.logins`.
    pub login_bytes: Option<u64>,
    /// Maximum number of sessions for single sign-on.
    pub sessions: usize,
    /// Maximum number of codes, tokens and their tombstones. The same number applies to used client
    /// assertions, at most half of them of one service provider.
    pub grants: usize,
    /// Maximum number of concurrent login steps. Steps that wait for an identity provider don't
    /// count.
    pub steps_in_flight: usize,
    /// Failed authentications of one client per minute. Further failures get 429 with
    /// `Retry-After`. A successful authentication always passes and is not counted.
    pub failed_authentications_per_minute: u32,
    /// Introspections of one data provider per minute that find no active token. Further ones get
    /// 429. Introspections of active tokens always pass.
    pub inactive_answers_per_minute: u32,
    /// Maximum number of concurrent calls to one identity provider, unless its file sets
    /// `limits.calls`.
    pub calls_per_connector: usize,
    /// Seconds between scans of connectors, service providers, data providers and scopes without a
    /// file system event. After an event, a changed file takes effect within a second.
    pub reload_seconds: u64,
    /// Time limit of a request including its body, in seconds.
    pub request_seconds: u64,
    /// When stopping: seconds between reporting not ready and closing the listener, so that load
    /// balancers notice in time. Requests are still served, and each response closes its
    /// connection. 0 stops immediately.
    pub not_ready_seconds: u64,
    /// When stopping: seconds for requests in flight to finish.
    pub shutdown_seconds: u64,
    /// Web worker threads; 0 for one per processor.
    pub workers: usize,
    /// Logins that the operator console remembers, and as many rejections again, of half a kilobyte
    /// each. None if 0, or without `private.admin_token`.
    pub remembered_logins: usize,
}

impl LimitsConfig {
    /// Returns the maximum total size of login records, in bytes.
    #[must_use]
    pub fn login_bytes(&self) -> usize {
        let configured = self.login_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        configured.unwrap_or_else(|| {
            self.logins.saturating_mul(DEFAULT_BYTES_PER_LOGIN).max(MIN_LOGIN_BYTES)
        })
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            logins: 200_000,
            login_bytes: None,
            sessions: 200_000,
            grants: 400_000,
            steps_in_flight: 1024,
            failed_authentications_per_minute: 60,
            inactive_answers_per_minute: 600,
            calls_per_connector: 128,
            reload_seconds: 30,
            request_seconds: 20,
            not_ready_seconds: 0,
            shutdown_seconds: 20,
            workers: 0,
            remembered_logins: 20_000,
        }
    }
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
    /// Remembers the connector of the last login in a cookie, and shows it first.
    pub remember_last: bool,
    /// Days until the last choice is forgotten; at most 180.
    pub remember_days: u64,
}

impl Default for ChoiceConfig {
    fn default() -> Self {
        Self {
            order: Vec::new(),
            hide_unavailable: false,
            categories: Vec::new(),
            remember_last: false,
            remember_days: defaults::MAX_REMEMBER_DAYS,
        }
    }
}

/// One heading of the choice page.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// Id for connector files: 1 to 32 characters of a-z, 0-9 and -.
    pub id: String,
    /// Display name, by language (`fr`, `en`).
    pub name: BTreeMap<String, String>,
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

/// A service provider file: `config/service-providers/*.toml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceProviderFile {
    /// As the service provider sends it; unique among service providers and data providers.
    pub client_id: ClientId,
    /// Display name, by language (`fr`, `en`).
    pub name: BTreeMap<String, String>,
    /// Target of "back to the service" if no redirect URI is verified.
    pub home_page: String,
    /// An inactive service provider is treated as unknown.
    #[serde(default = "defaults::yes")]
    pub active: bool,
    /// Rules for its requests. `openid` is for the standard platform only.
    #[serde(default)]
    pub rules: ProtocolRules,
    /// Absolute https URLs (http on loopback), compared as strings.
    pub redirect_uris: Vec<String>,
    /// Redirect URIs of a logout, with the same rules.
    #[serde(default)]
    pub post_logout_redirect_uris: Vec<String>,
    /// Scopes that this service provider may request, including `openid`.
    pub scopes: Vec<Scope>,
    /// Information, explicit consent, or, under `rules = "openid"`, no consent page.
    #[serde(default)]
    pub consent: ConsentRequirement,
    /// How it authenticates at the token endpoint. Default: client_secret_post; under `rules =
    /// "openid"` also client_secret_basic.
    #[serde(default)]
    pub token_endpoint_auth_method: Option<AuthMethod>,
    /// Signature algorithm of its client assertions, for `private_key_jwt`. Default: ES256.
    #[serde(default)]
    pub token_endpoint_auth_signing_alg: Option<SigningAlg>,
    /// Accepted audiences of its client assertions, for `private_key_jwt`: `issuer`,
    /// `token_endpoint`, or a URL. Default: `issuer`; under `rules = "openid"` `issuer` and
    /// `token_endpoint`.
    #[serde(default)]
    pub client_assertion_audiences: Option<Vec<String>>,
    /// Its client secrets; none for `private_key_jwt`. Two may be valid at once, so that rotation
    /// needs no coordination.
    #[serde(default)]
    pub secrets: Vec<ClientSecret>,
    /// Signature algorithm of its ID tokens. Default: ES256; RS256 under `rules = "openid"`.
    #[serde(default)]
    pub id_token_signed_response_alg: Option<SigningAlg>,
    /// Signature algorithm of its userinfo responses. Default: ES256; plain JSON under `rules =
    /// "openid"`.
    #[serde(default)]
    pub userinfo_signed_response_alg: Option<SigningAlg>,
    /// Encryption algorithm of its ID tokens. Required on the high platform, and only allowed
    /// there.
    #[serde(default)]
    pub id_token_encrypted_response_alg: Option<EncryptionAlg>,
    /// Content encryption, on the high platform. Default: A256GCM, the only supported one.
    #[serde(default)]
    pub id_token_encrypted_response_enc: Option<ContentEncryption>,
    /// Encryption algorithm of its userinfo responses, on the high platform. Default: that of its
    /// ID tokens.
    #[serde(default)]
    pub userinfo_encrypted_response_alg: Option<EncryptionAlg>,
    /// Content encryption, on the high platform. Default: A256GCM, the only supported one.
    #[serde(default)]
    pub userinfo_encrypted_response_enc: Option<ContentEncryption>,
    /// Adds the claims of the granted scopes to the ID token, for software that doesn't call
    /// userinfo. Under `rules = "openid"` only.
    #[serde(default)]
    pub id_token_claims: bool,
    /// Rejects authorization requests without PKCE.
    #[serde(default)]
    pub require_pkce: bool,
    /// Service providers with the same sector share one `sub`; each of them must declare it.
    /// Default: the client_id.
    #[serde(default)]
    pub sector: Option<String>,
    /// Version of the subject key that its `sub` are derived with; the same in a whole sector.
    /// Default: the newest.
    #[serde(default)]
    pub subject_key_version: Option<u32>,
    /// Its class in metrics, with `[metrics] service_provider_labels = "class"`: 1 to 32 characters
    /// of a-z, 0-9 and -. Default: the platform and the rules, for example `standard/federation`.
    #[serde(default)]
    pub class: Option<String>,
    /// SVG or PNG of at most 64 KiB, shown beside its name; the path is relative to this file's
    /// folder.
    #[serde(default)]
    pub logo: Option<PathBuf>,
    /// Logins that it may start per minute, instead of `quotas.logins_per_service_provider`.
    /// Further users see a page with a link back.
    #[serde(default)]
    pub logins_per_minute: Option<u32>,
    /// Which identity providers it may use, and how they are shown.
    #[serde(default)]
    pub connectors: ConnectorRules,
    /// Its public keys, to verify its assertions (`private_key_jwt`) and, on the high platform, to
    /// encrypt its tokens.
    #[serde(default)]
    pub jwks: Option<JwksSource>,
    /// Instead of `jwks`: where it publishes its keys. Fetched and refreshed in the background.
    #[serde(default)]
    pub jwks_uri: Option<String>,
    /// Allows http URLs beyond loopback, and http for `jwks_uri`.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts of `jwks_uri` that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
}

/// A JWK Set (RFC 7517) of public keys: `{ file = "path" }`, or the keys as `[[jwks.keys]]` tables.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwksSource {
    /// JSON file of the key set; the path is relative to the configuration folder.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// The keys, each with the members of its JWK.
    #[serde(default)]
    pub keys: Vec<Jwk>,
}

/// One public key, with the members of its JWK: kty, kid, use, alg, and crv, x, y or n, e.
// Never printed, since it may be a private key by mistake.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Jwk(BTreeMap<String, serde_json::Value>);

impl std::fmt::Debug for Jwk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Jwk(***)")
    }
}

/// A client secret of 32 characters or more: by reference, or as its SHA-256 in hex.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientSecret {
    /// Path, relative to the configuration folder. A trailing line end is removed.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
    /// SHA-256 of the secret: 64 hex digits.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Start of its validity, inclusive, for example `2027-03-01T00:00:00Z`. Default: no start.
    #[serde(default)]
    pub not_before: Option<String>,
    /// End of its validity, exclusive. Default: no end.
    #[serde(default)]
    pub not_after: Option<String>,
}

/// A connector file: `connectors/*.toml`. Its name without `.toml` is the connector's id.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectorFile {
    /// Display name, by language (`fr`, `en`).
    pub name: BTreeMap<String, String>,
    /// SVG or PNG of at most 64 KiB, shown beside its name; the path is relative to this file's
    /// folder.
    #[serde(default)]
    pub logo: Option<PathBuf>,
    /// Its heading on the choice page: an id of `[choice] categories` in passerelle.toml.
    #[serde(default)]
    pub category: Option<String>,
    /// A disabled connector is shown as such and can't be chosen.
    #[serde(default = "defaults::yes")]
    pub enabled: bool,
    /// Lowest and highest level that this identity provider can prove.
    pub levels: Levels,
    /// The identity provider's `acr` values for the hub's levels.
    #[serde(default)]
    pub acr: AcrTable,
    /// Level of an identity provider that returns no `acr`; only eidas1 is allowed.
    #[serde(default)]
    pub assumed_level: Option<Level>,
    /// Ignores the returned `acr` and always uses `assumed_level`. For an identity provider whose
    /// `acr` is unrelated to a level, for example Keycloak's `1`.
    #[serde(default)]
    pub ignore_acr: bool,
    /// Authentication methods to assume when the identity provider sends none.
    #[serde(default)]
    pub amr: Vec<String>,
    /// The methods that this identity provider's `mfa` stands for, for example `["pwd", "otp"]`.
    #[serde(default)]
    pub mfa: Vec<String>,
    /// `"verified"`: this identity provider verifies its users' identities, and users can't edit
    /// their pivot identity. Required with `subject = "pivot"`: a user who edits their own name and
    /// birth data could sign in as anyone.
    #[serde(default)]
    pub identity: Option<IdentityProof>,
    /// Limits for calls to this identity provider.
    #[serde(default)]
    pub limits: ConnectorLimits,
    /// `[[block]]`: periods in which this identity provider must not be used.
    #[serde(default)]
    pub block: Vec<BlockTable>,
    /// Rules for claims that this identity provider names or formats differently, by claim
    /// (docs/claim-mapping.md).
    #[serde(default)]
    pub mapping: BTreeMap<String, ClaimRule>,
    /// What happens to claims without a rule in `mapping`.
    #[serde(default)]
    pub unmapped_claims: UnmappedClaims,
    /// The protocol: exactly one of `[kind.oidc]`, `[kind.oauth2]`, `[kind.ldap]`,
    /// `[kind.persona]`.
    pub kind: ConnectorKind,
}

impl ConnectorFile {
    /// Returns true if the identity provider verifies identities, or is a sandbox.
    #[must_use]
    pub fn proves_identity(&self) -> bool {
        self.identity == Some(IdentityProof::Verified)
            || matches!(self.kind, ConnectorKind::Persona(_))
    }
}

/// Whether an identity provider verifies identities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IdentityProof {
    /// It verifies them by documents or in person.
    Verified,
}

/// A block in a connector file. `passerelle idp block` adds one without a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockTable {
    /// Reason for operators: 1 to 200 characters, shown by `passerelle idp list` and in the log.
    pub reason: String,
    /// Message for users, by language (`fr`, `en`): at most 300 characters each. Default: a
    /// standard sentence.
    #[serde(default)]
    pub message: BTreeMap<String, String>,
    /// Service providers that it applies to, by client_id. Default: all.
    #[serde(default)]
    pub service_providers: Option<Vec<ClientId>>,
    /// Start, inclusive, for example `2027-03-01T00:00:00Z`. Default: immediately.
    #[serde(default)]
    pub from: Option<String>,
    /// End, exclusive. Default: until the table is removed.
    #[serde(default)]
    pub until: Option<String>,
}

/// A mapping rule: one source (`from`, `join` or `value`) and at most one transform (`split`,
/// `date`, `map` or `case`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRule {
    /// Name of the identity provider's claim, or a path starting with `/` (JSON Pointer, RFC 6901).
    #[serde(default)]
    pub from: Option<String>,
    /// Several claims, each as in `from`, joined to one text. Missing ones are skipped.
    #[serde(default)]
    pub join: Option<Vec<String>>,
    /// Separator between joined claims. Default: one space.
    #[serde(default)]
    pub with: Option<String>,
    /// A constant for all users of this identity provider.
    #[serde(default)]
    pub value: Option<RuleValue>,
    /// Splits at this separator: into a list, for `given_name_array`, or into the one part selected
    /// by `part`.
    #[serde(default)]
    pub split: Option<String>,
    /// Index of the part of a split, from 0.
    #[serde(default)]
    pub part: Option<usize>,
    /// The identity provider's format of a birthdate: `DD/MM/YYYY`, `D.M.YYYY`, `YYYYMMDD`, `YYYY`.
    #[serde(default)]
    pub date: Option<String>,
    /// Replaces values of the identity provider, for example `{ M = "male", F = "female" }`.
    #[serde(default)]
    pub map: Option<BTreeMap<String, RuleValue>>,
    /// Replacement for values that are not in `map`. Without it the claim is dropped.
    #[serde(default)]
    pub otherwise: Option<RuleValue>,
    /// Converts the text to upper or lower case.
    #[serde(default)]
    pub case: Option<LetterCase>,
}

/// A text or a boolean.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RuleValue {
    /// A text.
    Text(String),
    /// A boolean.
    Boolean(bool),
}

/// Case of letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LetterCase {
    /// Upper case.
    Upper,
    /// Lower case.
    Lower,
}

/// Limits for calls to an identity provider. Calls beyond them fail immediately and don't affect
/// other identity providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectorLimits {
    /// Maximum number of concurrent calls. Default: `limits.calls_per_connector` of the hub.
    pub calls: Option<usize>,
    /// Maximum number of waiting calls.
    pub queue: usize,
    /// Maximum waiting time in milliseconds.
    pub queue_ms: u64,
    /// Users redirected there per minute, by all hubs together. Default:
    /// `quotas.redirects_per_connector` of the hub.
    pub redirects_per_minute: Option<u32>,
}

impl Default for ConnectorLimits {
    fn default() -> Self {
        Self { calls: None, queue: 64, queue_ms: 500, redirects_per_minute: None }
    }
}

/// Levels of assurance of an identity provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Levels {
    /// The lowest level that it proves, requested even if a lower one is enough.
    pub lowest: Level,
    /// The highest level that is accepted from it.
    pub highest: Level,
}

/// Protocol of a connector.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum ConnectorKind {
    /// OpenID Connect.
    Oidc(Box<OidcKind>),
    /// OAuth 2.0 without OpenID Connect.
    Oauth2(Box<Oauth2Kind>),
    /// An LDAP directory.
    Ldap(Box<LdapKind>),
    /// A sandbox.
    Persona(PersonaKind),
}

impl ConnectorKind {
    /// Returns true if the hub may offer it to requests for a new authentication. This includes
    /// kinds for which the hub itself asks for the password.
    #[must_use]
    pub fn reauthenticates(&self) -> bool {
        match self {
            Self::Oidc(kind) => kind.auth_time == AuthTimeSource::Claim || kind.reauthenticates,
            Self::Oauth2(kind) => kind.reauthenticates,
            Self::Ldap(_) | Self::Persona(_) => true,
        }
    }
}

/// Names of the tables of all kinds.
pub const CONNECTOR_KINDS: [&str; 4] = ["oidc", "oauth2", "ldap", "persona"];

/// An OpenID Connect identity provider.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcKind {
    /// Must equal the discovered issuer exactly.
    pub issuer: String,
    /// The hub's client_id at this identity provider.
    pub client_id: String,
    /// The hub's client secret at this identity provider; none with `private_key_jwt`.
    #[serde(default)]
    pub client_secret: Option<SecretRef>,
    /// How the hub authenticates at this identity provider.
    #[serde(default)]
    pub token_endpoint_auth_method: UpstreamAuthMethod,
    /// Signature algorithm of the assertion of `private_key_jwt`. Default: ES256.
    #[serde(default)]
    pub token_endpoint_auth_signing_alg: Option<SigningAlg>,
    /// Audience of the assertion of `private_key_jwt`. Default: the issuer.
    #[serde(default)]
    pub client_assertion_audience: Option<AssertionAudience>,
    /// Requested scopes, including `openid`.
    #[serde(default = "defaults::oidc_scopes")]
    pub scopes: Vec<Scope>,
    /// Signature algorithm that ID tokens must have.
    #[serde(default)]
    pub id_token_signed_response_alg: SigningAlg,
    /// Signature algorithm that userinfo responses must have. Absent: plain JSON over TLS.
    #[serde(default)]
    pub userinfo_signed_response_alg: Option<SigningAlg>,
    /// Encryption algorithm that ID tokens must have, to a key of `/api/v2/client/jwks`. Absent:
    /// they are only signed.
    #[serde(default)]
    pub id_token_encrypted_response_alg: Option<EncryptionAlg>,
    /// Content encryption. Default: A256GCM, the only supported one; register it with the identity
    /// provider.
    #[serde(default)]
    pub id_token_encrypted_response_enc: Option<ContentEncryption>,
    /// As `id_token_encrypted_response_alg`, for userinfo responses, which must then be signed too.
    #[serde(default)]
    pub userinfo_encrypted_response_alg: Option<EncryptionAlg>,
    /// As `id_token_encrypted_response_enc`.
    #[serde(default)]
    pub userinfo_encrypted_response_enc: Option<ContentEncryption>,
    /// Source of the authentication time.
    #[serde(default)]
    pub auth_time: AuthTimeSource,
    /// With `auth_time = "callback"`: set if this identity provider honours `prompt=login`.
    /// Otherwise nothing proves a new authentication, and requests with `prompt=login` (the default
    /// under federation rules) or `max_age` are not offered this identity provider.
    #[serde(default)]
    pub reauthenticates: bool,
    /// Set if the identity provider supports `max_age`.
    #[serde(default)]
    pub max_age: bool,
    /// Forwards the service provider's `login_hint`.
    #[serde(default)]
    pub login_hint: bool,
    /// Requests `amr` in the ID token with the `claims` parameter.
    #[serde(default)]
    pub request_amr: bool,
    /// Further parameters of the authorization request, for example `idp_hint = "persona"`, except
    /// protocol parameters.
    #[serde(default)]
    pub authorize_params: BTreeMap<String, String>,
    /// PEM file of the only certificate authorities trusted for it, relative to the configuration
    /// folder. Default: the system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Allows http for this identity provider.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
    /// Explicit endpoints instead of discovery.
    #[serde(default)]
    pub endpoints: Option<Endpoints>,
}

/// How the hub authenticates as a client (OpenID Connect Core 1.0 §9).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamAuthMethod {
    /// The secret in the body of the token request.
    #[default]
    ClientSecretPost,
    /// The secret in the `Authorization` header.
    ClientSecretBasic,
    /// No secret: an assertion signed by a key of `/api/v2/client/jwks`.
    PrivateKeyJwt,
}

/// Audience of the hub's client assertions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssertionAudience {
    /// The identity provider's issuer.
    #[default]
    Issuer,
    /// The URL of its token endpoint, which older identity providers require.
    TokenEndpoint,
}

/// Endpoints of an OpenID Connect identity provider.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoints {
    /// Authorization endpoint.
    pub authorization: String,
    /// Token endpoint.
    pub token: String,
    /// Userinfo endpoint.
    pub userinfo: String,
    /// URL of the key set.
    pub jwks: String,
    /// End-session endpoint (RP-Initiated Logout). Without it, a logout at the hub doesn't end the
    /// identity provider's session.
    #[serde(default)]
    pub end_session: Option<String>,
    /// The identity provider returns `iss` in authorization responses (RFC 9207).
    #[serde(default)]
    pub iss_parameter: bool,
}

/// Source of the authentication time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthTimeSource {
    /// The ID token's `auth_time`, which is required.
    #[default]
    Claim,
    /// The callback's time, for an identity provider that sends no `auth_time`. The hub always
    /// requests a new authentication.
    Callback,
}

/// A sandbox, where anyone picks a persona, a level, methods, or a failure.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonaKind {
    /// TOML file of `[[person]]` tables. Default: the built-in personas.
    #[serde(default)]
    pub persons: Option<PathBuf>,
}

/// Default values of keys.
pub(crate) mod defaults {
    use super::{PathBuf, Scope};

    /// Maximum and default of `choice.remember_days`.
    pub const MAX_REMEMBER_DAYS: u64 = 180;

    /// Returns true.
    pub const fn yes() -> bool {
        true
    }
    /// Returns the default of `cookie_prefix`.
    pub fn cookie_prefix() -> String {
        "passerelle".into()
    }
    /// Returns the default of `amr_marker`.
    pub fn amr_marker() -> String {
        "hub".into()
    }
    /// Returns the default of `home_country`.
    pub fn home_country() -> String {
        "99100".into()
    }
    /// Returns the default of `register.http.calls`.
    pub const fn register_calls() -> usize {
        128
    }
    /// Returns the default of `keys`.
    pub fn keys() -> PathBuf {
        "keys".into()
    }
    /// Returns the default of `connectors`.
    pub fn connectors() -> PathBuf {
        "../connectors".into()
    }
    /// Returns the default of `state`.
    pub fn state() -> PathBuf {
        "state".into()
    }
    /// Returns the default of `kind.oidc.scopes`.
    pub fn oidc_scopes() -> Vec<Scope> {
        ["openid", "identite_pivot", "email", "preferred_username"].map(Scope::from).to_vec()
    }
}
