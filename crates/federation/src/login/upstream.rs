//! Defines what a login and a connector exchange. Plain data, so that neither depends on the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::assurance::amr::UpstreamAmr;
use crate::assurance::{AuthenticationRequirement, Level};
use crate::identity::ClaimName;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId, Secret};
use passerelle_protocol::json;

/// Parameters of the authorization request to an identity provider. Stored without the parameters
/// that the callback does not need.
#[derive(Clone, Serialize, Deserialize)]
pub struct UpstreamAuthorizationRequest {
    /// The upstream `state` (RFC 6749 §4.1.1): 256 random bits, unrelated to the interaction's
    /// address.
    pub state: String,
    pub nonce: String,
    /// RFC 7636 verifier, 43 characters; the challenge is always S256.
    #[serde(with = "passerelle_protocol::ids::stored_secret")]
    pub verifier: Secret<String>,
    /// `{base_url}/api/v2/callback/{connector}`.
    pub redirect_uri: String,
    /// The requested level. The connector requests its own lowest level if that is higher
    /// (docs/levels.md).
    pub level: Level,
    /// The identity provider must authenticate the user again (`prompt=login`).
    pub reauthenticate: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age: Option<u64>,
    /// Whether the service provider's ID token must have `auth_time`.
    #[serde(default)]
    pub auth_time_required: bool,
    /// The requested level names that can be the answer, in order.
    #[serde(skip)]
    pub level_names: Vec<Arc<str>>,
    #[serde(skip)]
    pub login_hint: Option<String>,
    /// Further parameters that the connector's file permits.
    #[serde(skip)]
    pub forwarded: BTreeMap<String, String>,
    /// The service provider, for connectors whose file lets the identity provider know it.
    #[serde(skip)]
    pub requester: Option<ClientId>,
    #[serde(skip)]
    pub ui_locales: Option<String>,
}

impl UpstreamAuthorizationRequest {
    /// Returns true if the login needs to know when the user authenticated.
    pub const fn needs_auth_time(&self) -> bool {
        self.auth_time_required || self.reauthenticate || self.max_age.is_some()
    }

    /// Returns the further parameters, without those that the address of the authorization endpoint
    /// has: a second value could replace it.
    pub fn forwarded_beside(&self, endpoint: &Url) -> impl Iterator<Item = (&String, &String)> {
        let is_own =
            |name: &str| endpoint.query_pairs().any(|(own, _)| own.eq_ignore_ascii_case(name));
        self.forwarded.iter().filter(move |(name, _)| !is_own(name))
    }
}

/// The redirect to an identity provider, and what the connector needs again at the callback.
#[derive(Clone, Serialize, Deserialize)]
pub struct AuthorizationRedirect {
    /// Absolute URL of the identity provider's authorization endpoint, query included.
    pub url: String,
    pub issuer: String,
    pub client_id: String,
    pub token_endpoint: String,
    /// Whether the identity provider announced RFC 9207, so that the callback must carry `iss`.
    pub iss_expected: bool,
    /// Private key that the tokens of this login are bound to (RFC 9449), if they are bound to one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "passerelle_protocol::ids::stored_secret"
    )]
    pub dpop_key: Option<Secret<Map<String, Value>>>,
}

/// An attempt at one identity provider. A login has at most one open.
#[derive(Clone, Serialize, Deserialize)]
pub struct LoginAttempt {
    pub connector: ConnectorId,
    #[serde(flatten)]
    pub request: UpstreamAuthorizationRequest,
    /// When the browser was redirected.
    #[serde(rename = "left_at")]
    pub redirected_at: Timestamp,
    #[serde(rename = "left")]
    pub redirect: AuthorizationRedirect,
}

impl LoginAttempt {
    /// Returns what the request demands of the identity provider.
    pub const fn requirement(&self) -> AuthenticationRequirement {
        AuthenticationRequirement {
            level: self.request.level,
            reauthentication: self.request.reauthenticate || self.request.max_age.is_some(),
        }
    }
}

/// Parameters of a callback, as received and not trusted yet. Without `error_description`, which may
/// name the user.
#[derive(Clone, Default)]
pub struct CallbackParams {
    pub code: Option<Secret<String>>,
    pub iss: Option<String>,
    pub error: Option<String>,
    /// A signed response (JARM), which has the others as claims.
    pub response: Option<Secret<String>>,
}

impl CallbackParams {
    /// Returns the unverified `state` of a signed response: it only finds the login, as a `state`
    /// in the address does. The connector verifies the whole response.
    pub fn unverified_state(response: &str) -> Option<String> {
        let payload = digest::from_base64url(response.split('.').nth(1)?)?;
        let claims = json::parse_object(&payload).ok()?;
        claims.get("state").and_then(Value::as_str).map(str::to_owned)
    }

    /// Returns whether the code is one that an authorization server may issue (RFC 6749 Appendix
    /// A.11: `VSCHAR`) and at most 4,096 characters long. Other codes are not sent to the identity
    /// provider: its database or firewall may answer them with an error that looks like an outage.
    pub fn code_is_acceptable(&self) -> bool {
        const MAX_CODE_LENGTH: usize = 4096;
        self.code.as_ref().is_none_or(|code| {
            let code = code.reveal();
            code.len() <= MAX_CODE_LENGTH && code.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        })
    }
}

/// A verified authentication: every check of docs/design/upstream-verification.md has passed.
#[serde_with::skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
pub struct Authentication {
    pub connector: ConnectorId,
    /// The identity provider's own `sub`. Never leaves the hub.
    #[serde(with = "passerelle_protocol::ids::stored_secret")]
    pub upstream_subject: Secret<String>,
    /// The achieved level on the hub's scale.
    pub level: Level,
    /// The returned `acr`, which may stand for level names too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acr: Option<String>,
    /// The authentication methods that the identity provider states, not evaluated yet.
    pub amr: UpstreamAmr,
    /// When the user authenticated; `None` if the identity provider does not say so and the login
    /// does not need it.
    pub auth_time: Option<Timestamp>,
    /// When the identity provider ends the session (SAML V2.0 Core §2.7.2, `SessionNotOnOrAfter`).
    pub session_ends_at: Option<Timestamp>,
    /// Identity claims: the ID token's and userinfo's.
    pub claims: Map<String, Value>,
    /// Claims that the identity provider sent, and the connector's mapping could not build from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmapped_claims: Vec<ClaimName>,
    /// The records that the identity claims come from, if the hub verified them itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub electronic_records: Vec<ElectronicRecord>,
    /// What the connector needs to end the session at the identity provider: its ID token, or a JSON
    /// object of the kind with the claims `sid` (a text or a list of texts) and `iat`.
    #[serde(rename = "id_token", default, with = "passerelle_protocol::ids::stored_secret")]
    pub session_hint: Option<Secret<String>>,
}

impl Authentication {
    /// Creates an authentication of which nothing else is known.
    pub fn new(connector: ConnectorId, upstream_subject: Secret<String>, level: Level) -> Self {
        Self {
            connector,
            upstream_subject,
            level,
            acr: None,
            amr: UpstreamAmr::Absent,
            auth_time: None,
            session_ends_at: None,
            claims: Map::new(),
            unmapped_claims: Vec::new(),
            electronic_records: Vec::new(),
            session_hint: None,
        }
    }
}

/// A record about the user whose issuer's signature the hub verified in this login, such as a
/// verifiable credential: evidence of verified claims (OpenID Identity Assurance Schema Definition 1.0,
/// evidence type `electronic_record`). Has no claim and no key of the user.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ElectronicRecord {
    /// Type of the record, such as a credential's `vct`.
    #[serde(rename = "type")]
    pub record_type: String,
    /// When the hub verified the record.
    pub verified_at: Timestamp,
    /// When the issuer created the record.
    pub created_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    /// The issuer's organization, as its certificate names it.
    pub source_name: Option<String>,
    /// The issuer's country, as its certificate names it: two letters (ISO 3166-1).
    pub source_country: Option<String>,
}

/// Content of a verified logout token (OpenID Connect Back-Channel Logout 1.0 §2.4). It has a
/// `sid`, a `sub`, or both.
#[derive(Clone)]
pub struct UpstreamLogout {
    pub session_id: Option<Secret<String>>,
    pub subject: Option<Secret<String>>,
    pub jti: String,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Parameters of a logout request to an identity provider (OpenID Connect RP-Initiated Logout 1.0
/// §2).
#[derive(Clone)]
pub struct EndSessionRequest {
    /// [`Authentication::session_hint`] of the session's login. An ID token is no longer encrypted.
    pub session_hint: Secret<String>,
    /// 256 random bits.
    pub state: String,
    /// `{base_url}/api/v2/session/end/{connector}`.
    pub post_logout_redirect_uri: String,
}

redacted_debug!(
    UpstreamAuthorizationRequest,
    AuthorizationRedirect,
    LoginAttempt,
    CallbackParams,
    Authentication,
    UpstreamLogout,
    EndSessionRequest
);
