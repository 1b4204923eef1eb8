//! The shapes of the configuration files, as written by an operator. JSON Schemas are generated from these types.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::acr_table::AcrTable;
pub use super::audit::AuditLog;
use super::connector_rules::ConnectorRules;
use super::ldap::LdapKind;
pub use super::metrics::MetricLabels;
use super::oauth2::Oauth2Kind;
pub use super::proxies::{AddressHeader, PublicListener};
pub use super::quotas::Quotas;
pub use super::secret_rules::SecretPlaces;
pub use super::store::{MemoryConfig, RedisConfig, RedisMode, StoreConfig};
pub use super::traces::Traces;
pub use crate::identity::mapping::Unmapped;
use crate::ids::{ClientId, ConnectorId, Scope};
use crate::protocol::acr::{Level, Platform};
use crate::protocol::alg::{ContentEncryption, EncryptionAlg, SigningAlg};
pub use crate::protocol::client_auth::AuthMethod;
pub use crate::protocol::registration::{Consent, Rules};

/// `config/passerelle.toml`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub platform: Platform,
    /// Public address, without a path: `https://login.example.org`. The issuer is this and `/api/v2`.
    pub base_url: String,
    /// What browsers and service providers reach.
    pub public: PublicListener,
    /// Health, metrics and administration; never to be reached from outside.
    pub private: PrivateListener,
    /// Prefix of cookie names; cookies ignore ports, so two hubs on one host need two prefixes.
    #[serde(default = "defaults::cookie_prefix")]
    pub cookie_prefix: String,
    /// The word that names this hub in `amr`; a registered RFC 8176 name is refused.
    #[serde(default = "defaults::amr_marker")]
    pub amr_marker: String,
    /// Allows `persona` connectors. Never in production.
    #[serde(default)]
    pub sandbox: bool,
    /// Allows `sandbox` where `base_url` is not on this machine: whoever reaches the hub can sign in as anyone.
    #[serde(default)]
    pub sandbox_public: bool,
    /// Whose word counts for who a person is. On the high platform always the identity provider's.
    #[serde(default)]
    pub identity_source: IdentitySource,
    /// What a service provider's `sub` is derived from.
    #[serde(default)]
    pub subject: SubjectSource,
    /// Five-digit code of the country whose births need a `birthplace`.
    #[serde(default = "defaults::home_country")]
    pub home_country: String,
    /// Key of the pairwise subjects, version 1: at least 32 bytes. It must never change.
    #[serde(default)]
    pub subject_key: Option<SubjectKeyRef>,
    /// Instead of `subject_key`, once there is a second version: all of them, for the service providers that know them.
    #[serde(default)]
    pub subject_keys: Vec<VersionedKey>,
    /// Folder of keys, written by `passerelle keys`.
    #[serde(default = "defaults::keys")]
    pub keys: PathBuf,
    /// Folder of connector files.
    #[serde(default = "defaults::connectors")]
    pub connectors: PathBuf,
    /// Folder that the hub itself writes to: what `passerelle idp block` was told is kept there across restarts.
    #[serde(default = "defaults::state")]
    pub state: PathBuf,
    /// Theme file; the built-in theme when absent.
    #[serde(default)]
    pub theme: Option<PathBuf>,
    /// Needed when `identity_source = "register"` on the standard platform.
    #[serde(default)]
    pub register: Option<RegisterConfig>,
    /// Where logins, sessions, codes and tokens live; this process's memory when absent.
    #[serde(default)]
    pub store: Option<StoreConfig>,
    #[serde(default)]
    pub secrets: SecretPlaces,
    #[serde(default)]
    pub lifetimes: Lifetimes,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default)]
    pub quotas: Quotas,
    #[serde(default)]
    pub choice: Choice,
    #[serde(default)]
    pub log: Log,
    #[serde(default)]
    pub audit: AuditLog,
    #[serde(default)]
    pub traces: Traces,
    #[serde(default)]
    pub metrics: MetricLabels,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrivateListener {
    /// Address and port, `127.0.0.1:9090`; port 0 takes a free one.
    pub listen: SocketAddr,
    /// What `passerelle idp` proves itself with: at least 32 characters. Without it there is no `/admin/…`.
    #[serde(default)]
    pub admin_token: Option<SecretRef>,
    /// Host names, without a port, by which it is asked; an IP address and `localhost` are always accepted. A request for
    /// another host is answered 421, so that no website can have a browser read it under a name of its own (DNS rebinding).
    #[serde(default)]
    pub hosts: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IdentitySource {
    /// The national register (the specification's rule on the standard platform).
    #[default]
    Register,
    /// The identity provider, unconfirmed: departs from the specification, and is logged at every start.
    Provider,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SubjectSource {
    /// Derived from the pivot identity: two identity providers give one person one `sub`.
    #[default]
    Pivot,
    /// Derived from the connector and the upstream `sub`: for identity providers without a pivot identity.
    Provider,
}

/// A secret is never written in a configuration file: write `{ file = "path" }` or `{ env = "NAME" }`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretRef {
    /// Path, relative to the configuration folder; a trailing line end is cut.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
}

/// One version of the subjects' key, by reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionedKey {
    /// Written at the end of every `sub`: 1 for the first key, then counting up.
    pub version: u32,
    /// Path, relative to the configuration folder; a trailing line end is cut.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
    /// As in `subject_key`. One key may serve two versions whose derivations differ.
    #[serde(default)]
    pub derivation: Option<u32>,
}

/// A secret is never written in a configuration file: write `{ file = "path" }` or `{ env = "NAME" }`; and how names are
/// folded before the key is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubjectKeyRef {
    /// Path, relative to the configuration folder; a trailing line end is cut.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
    /// Version of the derivation, which must never change for a version of the key: 2, or 1 for a hub whose users know their
    /// `sub` by it. Default: what the key says, if `passerelle keys new` made it; else 1. docs/subject.md
    #[serde(default)]
    pub derivation: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum RegisterConfig {
    File(FileRegister),
    Http(Box<HttpRegister>),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileRegister {
    /// CSV with a header line: given_names, family_name, birthdate, gender, birthplace, birthcountry, status. A `status` is
    /// `active` (or empty), `deceased` or `refused`; a person of the last two is refused (Y010003, Y010004).
    pub path: PathBuf,
}

/// A register that is asked over HTTPS; `docs/register.openapi.yaml` is its contract.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRegister {
    /// Address that the contract's paths follow, without a query: `https://register.example.org/v1`.
    pub url: String,
    /// PEM file of the hub's certificate, its chain behind it, for a register that asks for one.
    #[serde(default)]
    pub client_certificate: Option<PathBuf>,
    /// PEM key of the certificate, without a passphrase.
    #[serde(default)]
    pub client_key: Option<SecretRef>,
    /// PEM file of the only authorities that the register's certificate may come from; those of the machine when absent.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Sent as `Authorization: Bearer …` (RFC 6750).
    #[serde(default)]
    pub bearer: Option<SecretRef>,
    /// Questions to the register at once.
    #[serde(default = "defaults::register_calls")]
    pub calls: usize,
    /// Allows http for the register.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
}

/// Seconds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lifetimes {
    /// Life of an authorization code; at most 600.
    pub code_seconds: u64,
    /// Life of an access token.
    pub access_token_seconds: u64,
    /// Life of an ID token, from the token answer.
    pub id_token_seconds: u64,
    /// Life of an ID token of a service provider under `rules = "openid"`, whose clock may differ by as much.
    pub openid_id_token_seconds: u64,
    /// From authorize to code. Default: 1800 on standard, 600 on high.
    pub login_seconds: Option<u64>,
    /// A session's life without use. Default: 1800 on standard, 600 on high.
    pub session_idle_seconds: Option<u64>,
    /// A session's whole life. Default: 28800 on standard, 600 on high.
    pub session_seconds: Option<u64>,
    /// From the publication of a new signing key to its first signature, as `passerelle keys rotate` makes it. Service
    /// providers keep the key set for 600: with less, they meet tokens whose key they don't know yet.
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

/// Room for each of `limits.logins`, where `limits.login_bytes` is absent: more than a login on its way takes as a rule.
const BYTES_PER_LOGIN: usize = 2048;
/// Room that there is at least: the largest login's.
const LARGEST_LOGIN: usize = 64 << 10;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Logins waiting at once; beyond it new ones get 503 with `Retry-After`.
    pub logins: usize,
    /// Bytes of all logins' records together; beyond it new ones get 503 with `Retry-After`. A small request takes about
    /// 850, the largest 12,700. Default: 2,048 for each of `limits.logins`.
    pub login_bytes: Option<u64>,
    /// Sessions kept for single sign-on.
    pub sessions: usize,
    /// Codes, tokens and their tombstones; used client assertions as many again, at most half of them
    /// one service provider's.
    pub grants: usize,
    /// Login steps worked on at once; those that wait for an identity provider are not among them.
    pub steps_in_flight: usize,
    /// Failed authentications of one client in a minute; those beyond get 429 with `Retry-After`. A right one always
    /// passes, and is not counted.
    pub failed_authentications_per_minute: u32,
    /// Introspections by one data provider that find nothing, in a minute; those beyond get 429. A live token's always pass.
    pub inactive_answers_per_minute: u32,
    /// Calls to one identity provider at once, where its own file says nothing else.
    pub calls_per_connector: usize,
    /// Seconds between two readings of connectors, service providers, data providers and scopes that no event gave occasion
    /// to. A written file is seen by its event, and counts within a second.
    pub reload_seconds: u64,
    /// Whole request, body included.
    pub request_seconds: u64,
    /// When stopping: seconds between turning not ready and taking no more connections, so that load balancers notice in
    /// time. Requests are served meanwhile, and each answer closes its connection. 0 stops at once.
    pub not_ready_seconds: u64,
    /// Time for requests in flight to finish when stopping.
    pub shutdown_seconds: u64,
    /// Web workers; 0 takes one for each processor.
    pub workers: usize,
    /// Logins that the private listener's window remembers, and as many again that met a refusal; half a kilobyte each. 0, or
    /// no `private.admin_token`: none.
    pub remembered_logins: usize,
}

impl Limits {
    /// Returns the room for logins in bytes.
    #[must_use]
    pub fn login_bytes(&self) -> usize {
        let configured = self.login_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        configured.unwrap_or_else(|| self.logins.saturating_mul(BYTES_PER_LOGIN).max(LARGEST_LOGIN))
    }
}

impl Default for Limits {
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

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Choice {
    /// Order of connectors on the choice page; those not named follow by name.
    pub order: Vec<ConnectorId>,
    /// Hide what can't be chosen instead of greying it.
    pub hide_unavailable: bool,
    /// Headings of the choice page, in their order. A connector's file names its own by the id.
    pub categories: Vec<Category>,
    /// Keeps in the browser, in a cookie that nothing else reads, which connector the last login was finished with, and
    /// shows it first.
    pub remember_last: bool,
    /// Days that it is kept, from the last login on; at most 180.
    pub remember_days: u64,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            order: Vec::new(),
            hide_unavailable: false,
            categories: Vec::new(),
            remember_last: false,
            remember_days: defaults::REMEMBER_DAYS,
        }
    }
}

/// One heading of the choice page.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// As connectors' files write it: 1 to 32 characters of a-z, 0-9 and -.
    pub id: String,
    /// As the person reads it, by language (`fr`, `en`).
    pub name: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// For people, or one JSON object a line.
    pub format: LogFormat,
    /// As `RUST_LOG`: `info`, `passerelle=debug`.
    pub filter: String,
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Human, filter: "info".into() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Human,
    Json,
}

/// `config/service-providers/*.toml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceProvider {
    /// As the service provider sends it; unique among all files.
    pub client_id: ClientId,
    /// As the person reads it, by language (`fr`, `en`).
    pub name: BTreeMap<String, String>,
    /// Where "back to the service" leads when no redirect can be proven.
    pub home_page: String,
    /// An inactive service provider is as good as unknown.
    #[serde(default = "defaults::yes")]
    pub active: bool,
    /// Which rules its requests are judged by. `openid` is for the standard platform only.
    #[serde(default)]
    pub rules: Rules,
    /// Absolute https addresses (http on this machine), compared character by character.
    pub redirect_uris: Vec<String>,
    /// Where a logout may lead; as `redirect_uris`.
    #[serde(default)]
    pub post_logout_redirect_uris: Vec<String>,
    /// Scopes that this service provider may ask for, `openid` included.
    pub scopes: Vec<Scope>,
    /// A page that informs, an explicit yes, or, under `rules = "openid"`, nothing.
    #[serde(default)]
    pub consent: Consent,
    /// How it proves at the token endpoint who it is. Default: client_secret_post; under `rules = "openid"` its secret
    /// may come in the body or in the header.
    #[serde(default)]
    pub token_endpoint_auth_method: Option<AuthMethod>,
    /// Algorithm that its client assertions are signed with, for `private_key_jwt`; ES256 when absent.
    #[serde(default)]
    pub token_endpoint_auth_signing_alg: Option<SigningAlg>,
    /// Audiences that its client assertions may name, for `private_key_jwt`: `issuer`, `token_endpoint`, or an address.
    /// Default: `issuer`; under `rules = "openid"` `issuer` and `token_endpoint`.
    #[serde(default)]
    pub client_assertion_audiences: Option<Vec<String>>,
    /// Two may be valid at once, so that rotation needs no appointment. None for `private_key_jwt`.
    #[serde(default)]
    pub secrets: Vec<ClientSecret>,
    /// Algorithm that its ID tokens are signed with. Default: ES256; RS256 under `rules = "openid"`.
    #[serde(default)]
    pub id_token_signed_response_alg: Option<SigningAlg>,
    /// Algorithm that its userinfo answers are signed with. Default: ES256; under `rules = "openid"` they are plain JSON.
    #[serde(default)]
    pub userinfo_signed_response_alg: Option<SigningAlg>,
    /// High platform, required there: how its ID tokens are encrypted to its key.
    #[serde(default)]
    pub id_token_encrypted_response_alg: Option<EncryptionAlg>,
    /// High platform: the only way there is, and so the default.
    #[serde(default)]
    pub id_token_encrypted_response_enc: Option<ContentEncryption>,
    /// High platform: how its userinfo answers are encrypted. Default: as its ID tokens.
    #[serde(default)]
    pub userinfo_encrypted_response_alg: Option<EncryptionAlg>,
    /// High platform: the only way there is, and so the default.
    #[serde(default)]
    pub userinfo_encrypted_response_enc: Option<ContentEncryption>,
    /// Puts the claims of the granted scopes into the ID token too, for software that reads nothing else. Under
    /// `rules = "openid"` only.
    #[serde(default)]
    pub id_token_claims: bool,
    /// Refuses authorization requests without PKCE.
    #[serde(default)]
    pub require_pkce: bool,
    /// Service providers with the same sector share one `sub`; every one of them must say so. Default: the client_id.
    #[serde(default)]
    pub sector: Option<String>,
    /// Version of the subjects' key that its users' `sub` are made with. Default: the newest. The same in a whole sector.
    #[serde(default)]
    pub subject_key_version: Option<u32>,
    /// Its class in metrics, where `[metrics] service_provider_labels = "class"`: 1 to 32 characters of a-z, 0-9 and -.
    /// Default: the platform and the rules, as `standard/federation`.
    #[serde(default)]
    pub class: Option<String>,
    /// SVG or PNG of at most 64 KiB, shown beside its name; the path counts from this file's folder.
    #[serde(default)]
    pub logo: Option<PathBuf>,
    /// Logins that it may begin in a minute, whatever `quotas.logins_per_service_provider` says. Beyond it people see a page
    /// with the way back.
    #[serde(default)]
    pub logins_per_minute: Option<u32>,
    #[serde(default)]
    pub connectors: ConnectorRules,
    /// Its public keys: for its signatures (`private_key_jwt`), and on the high platform to encrypt its tokens.
    #[serde(default)]
    pub jwks: Option<JwksSource>,
    /// Instead of `jwks`: where it publishes them. Fetched in the background, refreshed before they are old.
    #[serde(default)]
    pub jwks_uri: Option<String>,
    /// Allows http addresses beyond loopback, and http for `jwks_uri`.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts of `jwks_uri` that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
}

/// A JWK Set (RFC 7517), public keys only: `{ file = "path" }`, or the keys themselves as `[[jwks.keys]]` tables.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwksSource {
    /// JSON file of the key set; the path counts from the configuration folder.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// The keys themselves, each with the members of its JWK.
    #[serde(default)]
    pub keys: Vec<Jwk>,
}

/// One public key, with the members of its JWK: kty, kid, use, alg, and crv, x, y or n, e.
// Never printed: somebody may have pasted a private one.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Jwk(BTreeMap<String, serde_json::Value>);

impl std::fmt::Debug for Jwk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Jwk(***)")
    }
}

/// A client secret of 32 characters or more: by reference, or as the hex SHA-256 of it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientSecret {
    /// Path, relative to the configuration folder; a trailing line end is cut.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Name of an environment variable.
    #[serde(default)]
    pub env: Option<String>,
    /// SHA-256 of the secret: 64 hex digits.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Valid from this moment on, as `2027-03-01T00:00:00Z`; absent: from ever.
    #[serde(default)]
    pub not_before: Option<String>,
    /// Valid up to this moment, itself excluded; absent: for ever.
    #[serde(default)]
    pub not_after: Option<String>,
}

/// `connectors/*.toml`; the file's stem is the connector's id.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectorFile {
    /// As the person reads it, by language (`fr`, `en`).
    pub name: BTreeMap<String, String>,
    /// SVG or PNG of at most 64 KiB, shown beside its name; the path counts from this file's folder.
    #[serde(default)]
    pub logo: Option<PathBuf>,
    /// The heading that it stands under on the choice page: an id of `[choice] categories` in passerelle.toml.
    #[serde(default)]
    pub category: Option<String>,
    /// One that is off is shown as such, and can't be chosen.
    #[serde(default = "defaults::yes")]
    pub enabled: bool,
    /// Lowest and highest level that this identity provider can prove.
    pub levels: Levels,
    /// What the hub's levels are called at this identity provider.
    #[serde(default)]
    pub acr: AcrTable,
    /// For an identity provider that returns no `acr`; may only be eidas1.
    #[serde(default)]
    pub assumed_level: Option<Level>,
    /// Disregards the `acr` that this identity provider returns: `assumed_level` counts for every answer. For one whose
    /// `acr` says nothing about a level, as Keycloak's `1`.
    #[serde(default)]
    pub ignore_acr: bool,
    /// Methods to count on when the identity provider sends none.
    #[serde(default)]
    pub amr: Vec<String>,
    /// What this identity provider's `mfa` stands for, as `["pwd", "otp"]`.
    #[serde(default)]
    pub mfa: Vec<String>,
    /// `"verified"`: this identity provider checks who its users are, and they can't edit the pivot identity themselves.
    /// Needed where `subject = "pivot"`: a user who edits their own name and birth data could sign in as anybody.
    #[serde(default)]
    pub identity: Option<IdentityProof>,
    /// How much may be asked of this identity provider at once.
    #[serde(default)]
    pub limits: ConnectorLimits,
    /// `[[block]]`: times at which this identity provider must not be used.
    #[serde(default)]
    pub block: Vec<BlockTable>,
    /// Claim → what it is made of, where this identity provider calls or writes it differently: docs/claim-mapping.md.
    #[serde(default)]
    pub mapping: BTreeMap<String, ClaimRule>,
    /// What becomes of the claims that `mapping` does not name.
    #[serde(default)]
    pub unmapped_claims: Unmapped,
    /// What it speaks: exactly one of `[kind.oidc]`, `[kind.oauth2]`, `[kind.ldap]`, `[kind.persona]`.
    pub kind: ConnectorKind,
}

impl ConnectorFile {
    /// Returns true if the claims prove who a person is. In a sandbox anyone is anyone on purpose.
    #[must_use]
    pub fn proves_identity(&self) -> bool {
        self.identity == Some(IdentityProof::Verified)
            || matches!(self.kind, ConnectorKind::Persona(_))
    }
}

/// What an identity provider does about the identities that it delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IdentityProof {
    /// It checks them, by documents or in person.
    Verified,
}

/// A kill switch, written in the connector's file. `passerelle idp block` sets one without a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockTable {
    /// Why, for operators: 1 to 200 characters, shown by `passerelle idp list` and in the log.
    pub reason: String,
    /// What persons are told, by language (`fr`, `en`): at most 300 characters each; a standard sentence when absent.
    #[serde(default)]
    pub message: BTreeMap<String, String>,
    /// Only for these service providers, by client_id; for all of them when absent.
    #[serde(default)]
    pub service_providers: Option<Vec<ClientId>>,
    /// In force from this moment on, as `2027-03-01T00:00:00Z`; absent: at once.
    #[serde(default)]
    pub from: Option<String>,
    /// In force up to this moment, itself excluded; absent: until the table is removed.
    #[serde(default)]
    pub until: Option<String>,
}

/// What a claim is made of: one of `from`, `join` and `value`; and at most one of `split`, `date`, `map` and `case`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRule {
    /// The identity provider's claim by its name, dots and all; or, with a `/` in front, a path (JSON Pointer, RFC 6901).
    #[serde(default)]
    pub from: Option<String>,
    /// Several claims, each as `from` has it, joined to one text; those that are absent are left out.
    #[serde(default)]
    pub join: Option<Vec<String>>,
    /// What stands between joined claims. Default: one space.
    #[serde(default)]
    pub with: Option<String>,
    /// The same for everybody who comes from this identity provider.
    #[serde(default)]
    pub value: Option<RuleValue>,
    /// Separator: the parts as a list, for `given_name_array`; or one of them, see `part`.
    #[serde(default)]
    pub split: Option<String>,
    /// Which part of a split, counted from 0.
    #[serde(default)]
    pub part: Option<usize>,
    /// How the identity provider writes a birthdate: `DD/MM/YYYY`, `D.M.YYYY`, `YYYYMMDD`, `YYYY`.
    #[serde(default)]
    pub date: Option<String>,
    /// The identity provider's value → ours, as `{ M = "male", F = "female" }`.
    #[serde(default)]
    pub map: Option<BTreeMap<String, RuleValue>>,
    /// What any other value of `map` stands for; without it such a claim is left out.
    #[serde(default)]
    pub otherwise: Option<RuleValue>,
    /// Writes the text in capitals, or in small letters.
    #[serde(default)]
    pub case: Option<LetterCase>,
}

/// A text, or true or false.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RuleValue {
    Text(String),
    Truth(bool),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LetterCase {
    Upper,
    Lower,
}

/// What is beyond is told at once that too many wait, and harms no other identity provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectorLimits {
    /// Calls at once. Default: `limits.calls_per_connector` of the hub.
    pub calls: Option<usize>,
    /// Calls that may wait for one of those to end.
    pub queue: usize,
    /// Milliseconds that one waits at most.
    pub queue_ms: u64,
    /// People sent there in a minute, by all hubs together. Default: `quotas.departures_per_connector` of the hub.
    pub departures_per_minute: Option<u32>,
}

impl Default for ConnectorLimits {
    fn default() -> Self {
        Self { calls: None, queue: 64, queue_ms: 500, departures_per_minute: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Levels {
    /// The least that it proves; asked of it even where less would do.
    pub lowest: Level,
    /// The most that it is believed to prove.
    pub highest: Level,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum ConnectorKind {
    Oidc(Box<OidcKind>),
    Oauth2(Box<Oauth2Kind>),
    Ldap(Box<LdapKind>),
    Persona(PersonaKind),
}

impl ConnectorKind {
    /// Returns true if the hub may offer it to requests for a new authentication. A kind whose password the hub itself asks
    /// for proves one.
    #[must_use]
    pub fn reauthenticates(&self) -> bool {
        match self {
            Self::Oidc(kind) => kind.auth_time == AuthTimeSource::Claim || kind.reauthenticates,
            Self::Oauth2(kind) => kind.reauthenticates,
            Self::Ldap(_) | Self::Persona(_) => true,
        }
    }
}

/// Every kind, as its table is called.
pub const KINDS: [&str; 4] = ["oidc", "oauth2", "ldap", "persona"];

/// An OpenID Connect identity provider.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcKind {
    /// Must equal the discovered one, character for character.
    pub issuer: String,
    /// The hub's id at this identity provider.
    pub client_id: String,
    /// The hub's secret at this identity provider; none with `private_key_jwt`.
    #[serde(default)]
    pub client_secret: Option<SecretRef>,
    /// How the hub proves to this identity provider who it is.
    #[serde(default)]
    pub token_endpoint_auth_method: UpstreamAuthMethod,
    /// Algorithm of the assertion of `private_key_jwt`. Default: ES256.
    #[serde(default)]
    pub token_endpoint_auth_signing_alg: Option<SigningAlg>,
    /// Whom the assertion of `private_key_jwt` is meant for. Default: the issuer.
    #[serde(default)]
    pub client_assertion_audience: Option<AssertionAudience>,
    /// Scopes asked for; `openid` must be among them.
    #[serde(default = "defaults::oidc_scopes")]
    pub scopes: Vec<Scope>,
    /// ID tokens must be signed with exactly this algorithm.
    #[serde(default)]
    pub id_token_signed_response_alg: SigningAlg,
    /// Absent: userinfo is plain JSON over TLS. Present: it must be a JWS with exactly this algorithm.
    #[serde(default)]
    pub userinfo_signed_response_alg: Option<SigningAlg>,
    /// Absent: ID tokens are only signed. Present: they must be encrypted with exactly this algorithm, to a key of
    /// `/api/v2/client/jwks`.
    #[serde(default)]
    pub id_token_encrypted_response_alg: Option<EncryptionAlg>,
    /// How their content is encrypted. Default: A256GCM, the only one; register it with the identity provider.
    #[serde(default)]
    pub id_token_encrypted_response_enc: Option<ContentEncryption>,
    /// As `id_token_encrypted_response_alg`, for userinfo, which must then be signed too.
    #[serde(default)]
    pub userinfo_encrypted_response_alg: Option<EncryptionAlg>,
    /// As `id_token_encrypted_response_enc`.
    #[serde(default)]
    pub userinfo_encrypted_response_enc: Option<ContentEncryption>,
    /// Where the time of authentication comes from.
    #[serde(default)]
    pub auth_time: AuthTimeSource,
    /// With `auth_time = "callback"`: the operator knows that this identity provider heeds `prompt=login`. Without it nothing
    /// proves a new authentication, and requests with `prompt=login` (the default under federation rules) or `max_age` are
    /// not offered this identity provider.
    #[serde(default)]
    pub reauthenticates: bool,
    /// The identity provider understands `max_age`.
    #[serde(default)]
    pub max_age: bool,
    /// Pass the service provider's `login_hint` on.
    #[serde(default)]
    pub login_hint: bool,
    /// Ask for `amr` in the ID token by the `claims` parameter, as a service provider of this hub does.
    #[serde(default)]
    pub request_amr: bool,
    /// More parameters for the authorization request, as `idp_hint = "persona"`; none that the protocol uses.
    #[serde(default)]
    pub authorize_params: BTreeMap<String, String>,
    /// PEM file of the only authorities that its certificate may come from; absent: those of the machine. The path
    /// counts from the configuration folder.
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

/// How the hub authenticates as a client (OpenID Connect Core 1.0, 9).
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

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssertionAudience {
    /// The identity provider's issuer.
    #[default]
    Issuer,
    /// The address of its token endpoint, which older ones insist on.
    TokenEndpoint,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoints {
    /// Authorization endpoint.
    pub authorization: String,
    /// Token endpoint.
    pub token: String,
    /// Userinfo endpoint.
    pub userinfo: String,
    /// Address of the key set.
    pub jwks: String,
    /// Where its own session is ended (RP-Initiated Logout); without it a logout here leaves that session alone.
    #[serde(default)]
    pub end_session: Option<String>,
    /// The identity provider answers with `iss` (RFC 9207).
    #[serde(default)]
    pub iss_parameter: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthTimeSource {
    /// The ID token's `auth_time`; its absence is an error.
    #[default]
    Claim,
    /// The identity provider sends none: it is always asked to authenticate again, and the callback's time is used.
    Callback,
}

/// The sandbox: pick a person, a level, methods, or a failure.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonaKind {
    /// TOML file of `[[person]]` tables; the built-in persons when absent.
    #[serde(default)]
    pub persons: Option<PathBuf>,
}

pub(crate) mod defaults {
    use super::{PathBuf, Scope};

    /// The longest that a last choice is kept.
    pub const REMEMBER_DAYS: u64 = 180;

    pub const fn yes() -> bool {
        true
    }
    pub fn cookie_prefix() -> String {
        "passerelle".into()
    }
    pub fn amr_marker() -> String {
        "hub".into()
    }
    pub fn home_country() -> String {
        "99100".into()
    }
    pub const fn register_calls() -> usize {
        128
    }
    pub fn keys() -> PathBuf {
        "keys".into()
    }
    pub fn connectors() -> PathBuf {
        "../connectors".into()
    }
    pub fn state() -> PathBuf {
        "state".into()
    }
    pub fn oidc_scopes() -> Vec<Scope> {
        ["openid", "identite_pivot", "email", "preferred_username"].map(Scope::from).to_vec()
    }
}
