//! Defines the `[kind.oidc]` table of a connector.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::forwarded_param::ForwardedParam;
use passerelle_protocol::alg::{ContentEncryption, EncryptionAlg, SigningAlg};
use passerelle_protocol::ids::Scope;
use passerelle_settings::{AuthoritiesPath, CertificateRef, SecretRef};

/// An OpenID Connect identity provider.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "issuer": "https://keycloak.example.org/realms/staff",
    "client_id": "passerelle",
    "client_secret": { "file": "keycloak.secret" },
    "scopes": ["openid", "profile", "email"],
    "id_token_signed_response_alg": "RS256",
    "max_age": true
}]))]
pub struct OidcKind {
    /// Must equal the discovered issuer exactly.
    #[schemars(example = "https://idp.example.org")]
    pub issuer: String,
    /// The hub's client_id at this identity provider.
    pub client_id: String,
    /// The hub's client secret at this identity provider; none with `private_key_jwt` or a
    /// certificate.
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
    /// Pushes authorization requests (RFC 9126). `auto`: if the identity provider's metadata has
    /// the endpoint.
    #[serde(default)]
    pub pushed_authorization_requests: UpstreamFeature,
    /// Signs authorization requests with a key of `/api/v2/client/jwks` (RFC 9101). `auto`: if the
    /// identity provider's metadata demands it.
    #[serde(default)]
    pub request_objects: UpstreamFeature,
    /// Signature algorithm of the request objects. Default: ES256.
    #[serde(default)]
    pub request_object_signing_alg: Option<SigningAlg>,
    /// How the identity provider returns the user: in the address, or in a form that the browser
    /// posts (OAuth 2.0 Form Post Response Mode), for those that offer no other.
    #[serde(default)]
    pub response_mode: UpstreamResponseMode,
    /// Signature algorithm that authorization responses must have (JARM). Absent: they are not
    /// signed.
    #[serde(default)]
    pub authorization_signed_response_alg: Option<SigningAlg>,
    /// Encryption algorithm that authorization responses must have, to a key of
    /// `/api/v2/client/jwks`. They must then be signed too. Absent: they are not encrypted.
    #[serde(default)]
    pub authorization_encrypted_response_alg: Option<EncryptionAlg>,
    /// As `id_token_encrypted_response_enc`.
    #[serde(default)]
    pub authorization_encrypted_response_enc: Option<ContentEncryption>,
    /// Binds the tokens of each login to a key of its own (DPoP, RFC 9449), and rejects others.
    /// `auto`: if the identity provider's metadata announces proofs with ES256.
    #[serde(default)]
    pub dpop: UpstreamFeature,
    /// The hub's certificate for this identity provider and its chain, in PEM. The hub presents it
    /// at the addresses of `mtls_endpoint_aliases`, or else at the usual ones (RFC 8705).
    #[serde(default)]
    pub client_certificate: Option<CertificateRef>,
    /// PEM key of the certificate, without a passphrase.
    #[serde(default)]
    pub client_key: Option<SecretRef>,
    /// The identity provider binds tokens to the certificate, which the hub then presents at
    /// userinfo too. `auto`: if the metadata says so. Not together with `dpop`.
    #[serde(default)]
    pub tls_client_certificate_bound_access_tokens: UpstreamFeature,
    /// Demands the FAPI 2.0 Security Profile of this file and of the identity provider's metadata.
    #[serde(default)]
    pub fapi2: bool,
    /// Requested scopes, including `openid`.
    #[serde(default = "default_scopes")]
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
    /// Further audiences that ID tokens and logout tokens may have beside the hub's client_id, for
    /// example `["account"]`. Such an ID token must have the hub's client_id as `azp`.
    #[serde(default)]
    pub trusted_audiences: Vec<String>,
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
    /// Accepts the identity provider's logout tokens at `/api/v2/backchannel-logout/{connector}`
    /// (OpenID Connect Back-Channel Logout 1.0): they end the sessions of its `sid` or `sub`.
    #[serde(default)]
    pub backchannel_logout: bool,
    /// Claim of the ID token, for example `sid` or `login_hint`, that is sent as `logout_hint` at a
    /// logout instead of the ID token itself as `id_token_hint`.
    #[serde(default)]
    pub logout_hint_claim: Option<String>,
    /// HTTP method of userinfo requests.
    #[serde(default)]
    pub userinfo_method: UserinfoMethod,
    /// Requests `amr` in the ID token with the `claims` parameter.
    #[serde(default)]
    pub request_amr: bool,
    /// Further parameters of the authorization request, for example `idp_hint = "persona"`, except
    /// protocol parameters.
    #[serde(default)]
    pub authorize_params: BTreeMap<String, String>,
    /// Further parameters of service providers' requests that it gets, for example `siret_hint`, each
    /// if its value fits. Others are not sent.
    #[serde(default)]
    #[schemars(extend("examples" = [{"siret_hint": { "pattern": "[0-9]{14}", "max_length": 14 }}]))]
    pub forwarded_params: BTreeMap<String, ForwardedParam>,
    /// PEM file of the only certificate authorities trusted for it, relative to the configuration
    /// folder. Default: the system's.
    #[serde(default)]
    pub ca: Option<AuthoritiesPath>,
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

fn default_scopes() -> Vec<Scope> {
    ["openid", "identite_pivot", "email", "preferred_username"].map(Scope::from).to_vec()
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
    /// No secret: `client_certificate`, issued by an authority that the identity provider trusts
    /// (RFC 8705 §2.1).
    TlsClientAuth,
    /// No secret: `client_certificate`, registered there itself (RFC 8705 §2.2).
    SelfSignedTlsClientAuth,
}

impl UpstreamAuthMethod {
    /// Returns the name of the standard.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientSecretPost => "client_secret_post",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::PrivateKeyJwt => "private_key_jwt",
            Self::TlsClientAuth => "tls_client_auth",
            Self::SelfSignedTlsClientAuth => "self_signed_tls_client_auth",
        }
    }

    /// Returns whether the hub shares a secret with the identity provider.
    pub const fn has_secret(self) -> bool {
        matches!(self, Self::ClientSecretPost | Self::ClientSecretBasic)
    }

    /// Returns whether the hub's certificate authenticates it.
    pub const fn uses_certificate(self) -> bool {
        matches!(self, Self::TlsClientAuth | Self::SelfSignedTlsClientAuth)
    }
}

/// Whether the hub uses a feature of an identity provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamFeature {
    /// Never.
    #[default]
    Off,
    /// If the identity provider's metadata says so.
    Auto,
    /// Always.
    On,
}

impl UpstreamFeature {
    /// Returns whether the feature is used; `announced` is what the metadata says.
    pub const fn is_used(self, announced: bool) -> bool {
        match self {
            Self::Off => false,
            Self::Auto => announced,
            Self::On => true,
        }
    }
}

/// How authorization responses reach the hub.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamResponseMode {
    #[default]
    Query,
    FormPost,
}

/// HTTP method of userinfo requests (OpenID Connect Core 1.0 §5.3.1). The access token is in the
/// `Authorization` header either way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UserinfoMethod {
    #[default]
    Get,
    Post,
}

impl From<UserinfoMethod> for http::Method {
    fn from(method: UserinfoMethod) -> Self {
        match method {
            UserinfoMethod::Get => Self::GET,
            UserinfoMethod::Post => Self::POST,
        }
    }
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
    /// Pushed authorization request endpoint.
    #[serde(default)]
    pub pushed_authorization_request: Option<String>,
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
