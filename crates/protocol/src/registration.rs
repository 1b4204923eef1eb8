//! The data of a service provider that the checks need, and the trait that looks it up.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::acr::AcrRegistration;
use super::alg::{AcceptedAlgs, EncryptionAlg, SigningAlg};
use super::redirect_uri::match_redirect_uri;
use super::security_profile::SecurityProfile;
use crate::ids::{ClientId, ConnectorId, Scope};

/// One service provider, as registered and validated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Registration {
    pub client_id: ClientId,
    pub active: bool,
    pub client_type: ClientType,
    /// Absolute URIs without a fragment ([`match_redirect_uri`]).
    pub redirect_uris: Vec<String>,
    pub post_logout_redirect_uris: Vec<String>,
    /// Scopes that it may request, `openid` included.
    pub granted_scopes: Vec<Scope>,
    pub require_pkce: bool,
    /// Link back to the service where no redirect can be proven.
    pub home_page: String,
    pub consent: ConsentRequirement,
    pub rules: ProtocolRules,
    pub hints: IdpHintPolicy,
    pub acr: AcrRegistration,
    /// Its ID tokens must have `auth_time` (OpenID Connect Dynamic Client Registration 1.0 §2).
    pub require_auth_time: bool,
    pub protection: RequestProtection,
}

impl Registration {
    /// Returns true if this URI is registered (RFC 6749 §3.1.2.3).
    pub fn has_redirect_uri(&self, uri: &str) -> bool {
        match_redirect_uri(&self.redirect_uris, uri, self.client_type).is_some()
    }

    /// Returns true if its authorization requests must carry a PKCE challenge. A public client has
    /// no other protection against a stolen code (RFC 8252 §8.1; RFC 9700 §2.1.1).
    pub const fn needs_pkce(&self) -> bool {
        self.require_pkce || matches!(self.client_type, ClientType::Public)
    }

    /// Returns true if all these scopes are granted.
    pub fn grants_scopes(&self, scopes: &[Scope]) -> bool {
        scopes.iter().all(|scope| self.granted_scopes.contains(scope))
    }
}

/// How the authorization requests and responses of a service provider are protected. The default
/// is plain OpenID Connect: parameters in the address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequestProtection {
    /// The security profile that demands more than the rules; `None` if there is none.
    pub profile: Option<SecurityProfile>,
    /// Its requests must be pushed (RFC 9126 §6).
    pub require_pushed: bool,
    /// The algorithms of its request objects (RFC 9101 §10.5); `None` if it sends none.
    pub request_object_algs: Option<AcceptedAlgs>,
    /// Its requests must be signed request objects.
    pub require_request_object: bool,
    /// The algorithm of its signed responses (JARM §3); `None` if it gets none.
    pub response_alg: Option<SigningAlg>,
    /// How these are encrypted; `None` if they are only signed.
    pub response_encryption: Option<EncryptionAlg>,
}

impl RequestProtection {
    /// Returns true if requests and responses must be signed, whatever a request asks for.
    pub fn requires_signed_messages(&self) -> bool {
        self.profile.is_some_and(SecurityProfile::signs_messages)
    }
}

/// What a hub demands of the authorization requests of all its service providers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequestPolicy {
    pub pushed: PushedRequests,
    /// The least security profile of every service provider.
    pub profile: Option<SecurityProfile>,
}

impl RequestPolicy {
    /// Returns true if service providers may push their requests.
    pub fn accepts_pushed(&self) -> bool {
        self.pushed != PushedRequests::Off
    }

    /// Returns true if they must.
    pub fn requires_pushed(&self) -> bool {
        self.pushed == PushedRequests::Required
    }
}

/// Whether service providers may push their authorization requests (RFC 9126).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PushedRequests {
    /// The endpoint doesn't exist.
    #[default]
    Off,
    /// They may.
    Accepted,
    /// They must: the authorization endpoint takes no other request.
    Required,
}

/// Whether a client can keep a credential confidential (RFC 6749 §2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ClientType {
    /// It authenticates at the token endpoint.
    #[default]
    Confidential,
    /// A native or single-page application: anyone can send requests in its name.
    Public,
}

/// What the user must confirm before claims are released.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConsentRequirement {
    /// An information page, once in a session for the same scopes and claims.
    #[default]
    Information,
    /// Explicit consent, once in a session for the same scopes and claims.
    Required,
    /// No page, unless `prompt` has `consent`; under `rules = "openid"` only.
    None,
}

/// Which `idp_hint` values of a service provider are followed; others are ignored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IdpHintPolicy {
    Keyword(IdpHintKeyword),
    /// Hints that name one of these connectors.
    Only(Vec<ConnectorId>),
}

/// Keyword that permits all hints, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdpHintKeyword {
    Any,
    None,
}

impl Default for IdpHintPolicy {
    fn default() -> Self {
        Self::Keyword(IdpHintKeyword::Any)
    }
}

impl IdpHintPolicy {
    /// Returns true if a hint to this connector is followed.
    pub fn permits(&self, connector: &ConnectorId) -> bool {
        match self {
            Self::Keyword(IdpHintKeyword::Any) => true,
            Self::Keyword(IdpHintKeyword::None) => false,
            Self::Only(named) => named.contains(connector),
        }
    }
}

/// Written by hand: derived, the schema would allow only the two words.
impl JsonSchema for IdpHintPolicy {
    fn schema_name() -> Cow<'static, str> {
        "Hints".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Write \"any\", \"none\", or a list of connectors.",
            "type": ["string", "array"],
            "pattern": "^(any|none)$",
            "items": { "type": "string" },
        })
    }
}

/// Rules that validate a service provider's requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolRules {
    /// The federation's specification, to the letter.
    #[default]
    Federation,
    /// Plain OpenID Connect, for software that can't send what the specification adds. On the
    /// standard platform only.
    Openid,
}

impl ProtocolRules {
    /// Returns whether a logout request must carry `state` and `post_logout_redirect_uri`.
    pub const fn logout_parameters(self) -> LogoutParameters {
        match self {
            Self::Federation => LogoutParameters::Required,
            Self::Openid => LogoutParameters::Optional,
        }
    }
}

/// Whether a logout request must carry its optional parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogoutParameters {
    /// A registered URI, and a `state` of 32 characters or more.
    Required,
    /// Neither is required.
    Optional,
}

/// Looks up service providers and scopes.
pub trait ClientDirectory {
    /// Returns the service provider with this id, active or not.
    fn registration(&self, client_id: &str) -> Option<&Registration>;

    /// Returns true if the scope exists under these rules, granted to anyone or not.
    fn is_known_scope(&self, scope: &str, rules: ProtocolRules) -> bool;

    /// Returns the names of further parameters that an identity provider may get.
    fn forwarded_params(&self) -> &[String] {
        &[]
    }
}
