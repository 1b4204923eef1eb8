//! Defines the `[kind.oauth2]` table of a connector.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::forwarded_param::ForwardedParam;
use passerelle_protocol::ids::Scope;
use passerelle_settings::{AuthoritiesPath, SecretRef};

/// An OAuth 2.0 provider without OpenID Connect. It returns no ID token, no `acr` and no
/// authentication time.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "issuer": "https://github.com",
    "client_id": "hub",
    "client_secret": { "file": "github.secret" },
    "scopes": ["read:user", "user:email"],
    "subject_claim": "id",
    "auth_time": "callback",
    "reauthentication_params": { "prompt": "select_account" },
    "endpoints": {
        "authorization": "https://github.com/login/oauth/authorize",
        "token": "https://github.com/login/oauth/access_token",
        "userinfo": "https://api.github.com/user"
    }
}]))]
pub struct Oauth2Kind {
    /// Identifier of the provider, for example `https://github.com`. An `iss` in its responses must
    /// equal it (RFC 9207).
    #[schemars(example = "https://idp.example.org")]
    pub issuer: String,
    /// The hub's client_id at this provider.
    pub client_id: String,
    /// The hub's client secret at this provider.
    pub client_secret: SecretRef,
    /// How the hub sends the secret.
    #[serde(default)]
    pub token_endpoint_auth_method: SecretMethod,
    /// Requested scopes.
    #[serde(default)]
    pub scopes: Vec<Scope>,
    /// The userinfo claim that identifies the user permanently, for example `id`, or its path, for
    /// example `/data/id`: a text or an integer. Never an address or a name that another user may
    /// get later.
    pub subject_claim: String,
    /// Source of the authentication time: `callback`, since such a provider sends none.
    pub auth_time: CallbackTime,
    /// Set if this provider honours `reauthentication_params`. Otherwise requests with
    /// `prompt=login` (the default under federation rules) or `max_age` are not offered this
    /// provider.
    #[serde(default)]
    pub reauthenticates: bool,
    /// Parameters that make this provider authenticate the user again, for example `prompt =
    /// "login"`. They are always sent, since the callback's time counts as the authentication time.
    /// The hub can't verify that they are honoured.
    pub reauthentication_params: BTreeMap<String, String>,
    /// Further parameters of the authorization request, except protocol parameters.
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
    /// Allows http for this provider.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
    /// Its endpoints.
    pub endpoints: Oauth2Endpoints,
}

/// Endpoints of an OAuth 2.0 provider.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Oauth2Endpoints {
    /// Authorization endpoint.
    pub authorization: String,
    /// Token endpoint.
    pub token: String,
    /// Endpoint that returns a JSON object about the user for an access token.
    pub userinfo: String,
    /// The provider returns `iss` in authorization responses (RFC 9207).
    #[serde(default)]
    pub iss_parameter: bool,
}

/// How a client secret is sent (RFC 6749 §2.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecretMethod {
    /// In the body of the token request.
    #[default]
    ClientSecretPost,
    /// In the `Authorization` header.
    ClientSecretBasic,
}

/// The only source of the authentication time. It must be set explicitly, since the operator
/// guarantees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallbackTime {
    /// The time of the callback.
    Callback,
}
