//! Defines the service provider file and what it shares with the data provider file.

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults;
use passerelle_federation::connector_rules::ConnectorRules;
use passerelle_federation::dated_secret::ClientSecret;
use passerelle_grants::lifetimes::MAX_ACCESS_TOKEN_SECONDS;
use passerelle_protocol::alg::{ContentEncryption, EncryptionAlg, SigningAlg, VerificationAlg};
use passerelle_protocol::client_auth::AuthMethod;
use passerelle_protocol::ids::{ClientId, Scope};
use passerelle_protocol::registration::{ClientType, ConsentRequirement, ProtocolRules};
use passerelle_protocol::security_profile::SecurityProfile;
use passerelle_settings::{FilePath, LogoPath, MAX_RATE_PER_MINUTE};

/// A service provider file: `config/service-providers/*.toml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceProviderFile {
    /// As the service provider sends it; unique among service providers and data providers.
    pub client_id: ClientId,
    /// Display name, by language (`fr`, `en`).
    #[schemars(extend("examples" = [{"en": "…"}]))]
    pub name: BTreeMap<String, String>,
    /// Target of "back to the service" if no redirect URI is verified.
    #[schemars(example = "https://app.example.org/")]
    pub home_page: String,
    /// An inactive service provider is treated as unknown.
    #[serde(default = "defaults::yes")]
    pub active: bool,
    /// Rules for its requests. `openid` is for the standard platform only.
    #[serde(default)]
    pub rules: ProtocolRules,
    /// A security profile on top of the rules: `fapi2`, or `fapi2-message-signing` for signed requests
    /// and responses, too (docs/fapi.md). Default: that of passerelle.toml, which can't be weakened.
    #[serde(default)]
    pub profile: Option<SecurityProfile>,
    /// Absolute https URLs (http on loopback), compared as strings. A public client may also have
    /// private-use schemes (`com.example.app:/callback`), and any port of `http://127.0.0.1/…` or
    /// `http://[::1]/…` that is written without a port. The query has no parameter of a response:
    /// `code`, `state`, `iss`, `error`, `error_description`, `error_uri`, `response`.
    #[schemars(extend("examples" = [["https://app.example.org/callback"]]))]
    pub redirect_uris: Vec<String>,
    /// Redirect URIs of a logout, with the same rules; of the parameters, only `state` is excluded.
    #[serde(default)]
    pub post_logout_redirect_uris: Vec<String>,
    /// Where the hub sends logout tokens when a session with this service provider is ended by a
    /// logout (OpenID Connect Back-Channel Logout 1.0), with the rules of `redirect_uris` for
    /// https. Its ID tokens then have a `sid`.
    #[serde(default)]
    pub backchannel_logout_uri: Option<String>,
    /// Whether it needs `sid` in logout tokens, as registered. The hub always sends it.
    #[serde(default)]
    pub backchannel_logout_session_required: bool,
    /// Scopes that this service provider may request, including `openid`.
    #[schemars(extend("examples" = [["openid"]]))]
    pub scopes: Vec<Scope>,
    /// Names of `[level_names]` in passerelle.toml that its requests may have in `acr_values`. The
    /// `acr` of an ID token is then the first requested value that was met, else the level.
    #[serde(default)]
    pub level_names: Vec<String>,
    /// Levels and level names for its requests without `acr_values`, preferred first.
    #[serde(default)]
    pub default_acr_values: Vec<String>,
    /// Its ID tokens always have `auth_time`, also under `rules = "openid"`: the hub asks the identity
    /// provider for the time, and a login without it ends. Under `rules = "federation"` they always
    /// have it.
    #[serde(default)]
    pub require_auth_time: bool,
    /// `required`: the user must consent. `information`: a page informs the user. Both are shown
    /// once in a session for the same scopes and claims, and whenever the request's prompt contains
    /// `consent`; until then `prompt=none` gets `consent_required`. `none`, only under `rules =
    /// "openid"` or in a sandbox: a page informs the user only if the prompt contains `consent`. Default:
    /// `information`; `none` under `rules = "openid"`.
    #[serde(default)]
    pub consent: Option<ConsentRequirement>,
    /// How it authenticates at the token endpoint; `none` for a public client, a native or
    /// single-page application. Default: client_secret_post; under `rules = "openid"` also
    /// client_secret_basic.
    #[serde(default)]
    pub token_endpoint_auth_method: Option<AuthMethod>,
    /// Signature algorithm of its client assertions, for `private_key_jwt`. Default: any that its keys
    /// verify; RS256 not under a security profile.
    #[serde(default)]
    pub token_endpoint_auth_signing_alg: Option<VerificationAlg>,
    /// Accepted audiences of its client assertions, for `private_key_jwt`: `issuer`,
    /// `token_endpoint`, `pushed_authorization_request_endpoint`, or a URL. Default: `issuer`; under
    /// `rules = "openid"` these three.
    #[serde(default)]
    pub client_assertion_audiences: Option<Vec<String>>,
    /// Origins of a public client's pages, for example `https://app.example.org`: their scripts may
    /// call the token, pushed authorization request, userinfo and revocation endpoints (CORS).
    #[serde(default)]
    pub cors_origins: Vec<String>,
    /// Allows a public client on the high platform.
    #[serde(default)]
    pub public_on_high: bool,
    /// Its client secrets; none for `private_key_jwt` and public clients. Two may be valid at once, so that rotation
    /// needs no coordination.
    #[serde(default)]
    pub secrets: Vec<ClientSecret>,
    /// Signature algorithm of its ID tokens. Default: ES256; RS256 under `rules = "openid"`.
    #[serde(default)]
    pub id_token_signed_response_alg: Option<SigningAlg>,
    /// Signature algorithm of its userinfo responses. Default: ES256; under `rules = "openid"` plain
    /// JSON, or that of its ID tokens if userinfo is encrypted.
    #[serde(default)]
    pub userinfo_signed_response_alg: Option<SigningAlg>,
    /// Encryption algorithm of its ID tokens. Required on the high platform; elsewhere under `rules =
    /// "openid"` only. Default there: they are only signed.
    #[serde(default)]
    pub id_token_encrypted_response_alg: Option<EncryptionAlg>,
    /// Content encryption. Default: A256GCM, the only supported one.
    #[serde(default)]
    pub id_token_encrypted_response_enc: Option<ContentEncryption>,
    /// Encryption algorithm of its userinfo responses. Default: that of its ID tokens on the high
    /// platform; under `rules = "openid"` they are not encrypted.
    #[serde(default)]
    pub userinfo_encrypted_response_alg: Option<EncryptionAlg>,
    /// Content encryption. Default: A256GCM, the only supported one.
    #[serde(default)]
    pub userinfo_encrypted_response_enc: Option<ContentEncryption>,
    /// Signature algorithm of its request objects (RFC 9101). Default: it sends none; under `rules =
    /// "openid"` with keys, and under a profile that signs messages, any that its keys verify
    /// (docs/authorization-requests.md).
    #[serde(default)]
    pub request_object_signing_alg: Option<VerificationAlg>,
    /// Rejects authorization requests that are not signed request objects.
    #[serde(default)]
    pub require_signed_request_object: bool,
    /// Rejects authorization requests that were not pushed (RFC 9126).
    #[serde(default)]
    pub require_pushed_authorization_requests: bool,
    /// Signature algorithm of its authorization responses with `response_mode` `jwt`, `query.jwt`
    /// or `form_post.jwt` (JARM). Default: it gets none.
    #[serde(default)]
    pub authorization_signed_response_alg: Option<SigningAlg>,
    /// Encryption algorithm of its signed authorization responses. Default: they are only signed.
    #[serde(default)]
    pub authorization_encrypted_response_alg: Option<EncryptionAlg>,
    /// Content encryption of these. Default: A256GCM, the only supported one.
    #[serde(default)]
    pub authorization_encrypted_response_enc: Option<ContentEncryption>,
    /// Adds the claims of the granted scopes to the ID token, for software that doesn't call
    /// userinfo. Only under `rules = "openid"` and without a security profile. Default:
    /// `id_token_claims` of passerelle.toml.
    #[serde(default)]
    pub id_token_claims: Option<bool>,
    /// Lifetime of its access tokens, from 1 to 3600. Default: that of `[lifetimes]` for its rules.
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_ACCESS_TOKEN_SECONDS))]
    pub access_token_seconds: Option<u64>,
    /// Rejects authorization requests without PKCE. Always true for a public client.
    #[serde(default)]
    pub require_pkce: bool,
    /// Rejects token requests without a DPoP proof, so that all its access tokens are bound to a
    /// key (RFC 9449). Without this, a token is bound where the request has a proof.
    #[serde(default)]
    pub dpop_bound_access_tokens: bool,
    /// Accepts only DPoP proofs with a nonce of the hub, which can't be made in advance.
    #[serde(default)]
    pub dpop_nonce_required: bool,
    /// Lets it ask for refresh tokens by the scope `offline_access` (docs/refresh-tokens.md). Default:
    /// none.
    #[serde(default)]
    pub refresh_tokens: Option<RefreshTokensConfig>,
    /// Binds all its access tokens to the certificate of the TLS connection (RFC 8705).
    #[serde(default)]
    pub tls_client_certificate_bound_access_tokens: bool,
    /// Subject of its certificate in RFC 4514 notation, for `tls_client_auth`: `CN=shop,O=Example`.
    /// Exactly one of this and the four `tls_client_auth_san_…`.
    #[serde(default)]
    pub tls_client_auth_subject_dn: Option<String>,
    /// DNS name in its certificate, for `tls_client_auth`.
    #[serde(default)]
    pub tls_client_auth_san_dns: Option<String>,
    /// URI in its certificate, for `tls_client_auth`.
    #[serde(default)]
    pub tls_client_auth_san_uri: Option<String>,
    /// IP address in its certificate, for `tls_client_auth`.
    #[serde(default)]
    pub tls_client_auth_san_ip: Option<IpAddr>,
    /// E-mail address in its certificate, for `tls_client_auth`.
    #[serde(default)]
    pub tls_client_auth_san_email: Option<String>,
    /// Service providers with the same sector share one `sub`; each of them must declare it.
    /// Default: the client_id.
    #[serde(default)]
    pub sector: Option<String>,
    /// Version of the subject key that its `sub` are derived with; the same in a whole sector.
    /// Default: the newest.
    #[serde(default)]
    pub subject_key_version: Option<u32>,
    /// Publishes at `/status?client_id=…` which of its identity providers work, if the hub has a
    /// status page (docs/public-pages.md).
    #[serde(default)]
    pub status_page: bool,
    /// Its class in metrics, with `[metrics] service_provider_labels = "class"`: 1 to 32 characters
    /// of a-z, 0-9 and -. Default: the platform and the rules, for example `standard/federation`.
    #[serde(default)]
    pub class: Option<String>,
    /// SVG or PNG of at most 64 KiB, shown beside its name; the path is relative to this file's
    /// folder.
    #[serde(default)]
    pub logo: Option<LogoPath>,
    /// Asks users who have proven neither two factors nor `mail` for a code that the hub sends by
    /// mail; needs `[mail]` in passerelle.toml (docs/mail.md).
    #[serde(default)]
    pub mail_code: bool,
    /// Logins that it may start per minute, instead of `quotas.logins_per_service_provider`.
    /// Further users see a page with a link back.
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_RATE_PER_MINUTE))]
    pub logins_per_minute: Option<u32>,
    /// Which identity providers it may use, and how they are shown.
    #[serde(default)]
    pub connectors: ConnectorRules,
    /// Its public keys, to verify its assertions (`private_key_jwt`) and to encrypt its tokens.
    #[serde(default)]
    pub jwks: Option<JwksSource>,
    /// Instead of `jwks`: where it publishes its keys. Fetched and refreshed in the background.
    #[serde(default)]
    pub jwks_uri: Option<String>,
    /// Allows http URLs beyond loopback, and http for `jwks_uri`.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts of `jwks_uri` and `backchannel_logout_uri` that may resolve to loopback, link-local or
    /// private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
}

impl ServiceProviderFile {
    /// Returns what the user must confirm.
    pub fn consent(&self) -> ConsentRequirement {
        self.consent.unwrap_or(match (self.rules, self.client_type()) {
            (ProtocolRules::Openid, ClientType::Confidential) => ConsentRequirement::None,
            (ProtocolRules::Openid, ClientType::Public) | (ProtocolRules::Federation, _) => {
                ConsentRequirement::Information
            }
        })
    }

    /// Returns the type of the client, by its registered authentication method.
    pub fn client_type(&self) -> ClientType {
        match self.token_endpoint_auth_method {
            Some(AuthMethod::None) => ClientType::Public,
            _ => ClientType::Confidential,
        }
    }
}

/// Refresh tokens of a service provider.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RefreshTokensConfig {
    /// Maximum lifetime, from the login.
    #[schemars(range(min = 60, max = MAX_REFRESH_SECONDS))]
    pub lifetime_seconds: u64,
    /// A grant that is not used for so long ends. Default: 604800, or `lifetime_seconds` if that is
    /// shorter.
    pub idle_seconds: Option<u64>,
    /// The user's logout at the hub ends them.
    pub end_with_session: bool,
}

const DAY_SECONDS: u64 = 24 * 3600;

/// One year.
const MAX_REFRESH_SECONDS: u64 = 366 * DAY_SECONDS;

impl RefreshTokensConfig {
    /// Returns `idle_seconds`, or its default.
    pub fn idle_seconds(&self) -> u64 {
        self.idle_seconds.unwrap_or_else(|| self.lifetime_seconds.min(7 * DAY_SECONDS))
    }
}

impl Default for RefreshTokensConfig {
    fn default() -> Self {
        Self { lifetime_seconds: 30 * DAY_SECONDS, idle_seconds: None, end_with_session: true }
    }
}

/// A JWK Set (RFC 7517) of public keys: `{ file = "path" }`, or the keys as `[[jwks.keys]]` tables.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwksSource {
    /// JSON file of the key set; the path is relative to the configuration folder.
    #[serde(default)]
    pub file: Option<FilePath>,
    /// The keys, each with the members of its JWK.
    #[serde(default)]
    pub keys: Vec<Jwk>,
}

/// One public key, with the members of its JWK: kty, kid, use, alg, and crv, x, y or n, e.
// Never printed, since it may be a private key by mistake.
#[derive(Clone, Serialize, Deserialize, JsonSchema, derive_more::Debug)]
#[debug("Jwk(***)")]
#[serde(transparent)]
pub struct Jwk(BTreeMap<String, serde_json::Value>);
