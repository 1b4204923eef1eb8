//! Defines and checks the `[kind.oauth2]` table: an identity provider with OAuth 2.0 but without
//! OpenID Connect (RFC 6749, RFC 7636, RFC 9207).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::address::{self, Http};
use super::diagnostic::Diagnostic;
use super::model::SecretRef;
use super::source_file::SourceFile;
use crate::ids::Scope;

/// An OAuth 2.0 provider without OpenID Connect. It returns no ID token, no `acr` and no
/// authentication time.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Oauth2Kind {
    /// Identifier of the provider, for example `https://github.com`. An `iss` in its responses must
    /// equal it (RFC 9207).
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
    /// The userinfo claim that identifies the user permanently, for example `id`: a text or an
    /// integer. Never an address or a name that another user may get later.
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
    /// PEM file of the only certificate authorities trusted for it, relative to the configuration
    /// folder. Default: the system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
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

/// Parameters of the authorization request that the hub sets itself. `prompt` is not among them,
/// since OAuth 2.0 does not define it.
const PROTOCOL_PARAMETERS: [&str; 9] = [
    "client_id",
    "client_secret",
    "code_challenge",
    "code_challenge_method",
    "redirect_uri",
    "response_mode",
    "response_type",
    "scope",
    "state",
];

/// Checks the table.
pub(super) fn check_oauth2(
    source: &SourceFile,
    kind: &Oauth2Kind,
    folder: &Path,
    problems: &mut Vec<Diagnostic>,
) {
    let http = if kind.insecure_http { Http::Anywhere } else { Http::Nowhere };
    let endpoints = &kind.endpoints;
    let addresses = [
        ("issuer", address::parse_url_without_query(&kind.issuer, http)),
        ("endpoints.authorization", address::parse_absolute_url(&endpoints.authorization, http)),
        ("endpoints.token", address::parse_absolute_url(&endpoints.token, http)),
        ("endpoints.userinfo", address::parse_absolute_url(&endpoints.userinfo, http)),
    ];
    for (key, checked) in addresses {
        if let Err((message, fix)) = checked {
            problems.push(source.diagnostic(&format!("kind.oauth2.{key}"), message, fix));
        }
    }
    let needed = [
        (
            "client_id",
            &kind.client_id,
            "write the client_id that the provider assigned to this hub",
        ),
        (
            "subject_claim",
            &kind.subject_claim,
            "write the userinfo claim that identifies the user permanently, for example \"id\"",
        ),
    ];
    for (key, _, fix) in needed.into_iter().filter(|(_, value, _)| value.trim().is_empty()) {
        problems.push(source.diagnostic(&format!("kind.oauth2.{key}"), "is empty", fix));
    }
    if kind.reauthentication_params.is_empty() {
        let message = "is empty, so the authentication time can't be known";
        let fix = "write the parameters that make this provider authenticate the user again, for example { prompt = \"login\" }";
        problems.push(source.diagnostic("kind.oauth2.reauthentication_params", message, fix));
    }
    for (table, params) in [
        ("authorize_params", &kind.authorize_params),
        ("reauthentication_params", &kind.reauthentication_params),
    ] {
        for name in params.keys().filter(|name| PROTOCOL_PARAMETERS.contains(&name.as_str())) {
            let key = format!("kind.oauth2.{table}.{name}");
            problems.push(source.diagnostic(
                &key,
                "is a protocol parameter, which the hub sets itself",
                "remove it",
            ));
        }
    }
    for name in
        kind.authorize_params.keys().filter(|name| kind.reauthentication_params.contains_key(*name))
    {
        let key = format!("kind.oauth2.authorize_params.{name}");
        problems.push(source.diagnostic(
            &key,
            "is also in reauthentication_params",
            "remove it here",
        ));
    }
    problems.extend(source.check_file_exists("kind.oauth2.ca", folder, kind.ca.as_deref()));
    problems.extend(source.check_hosts("kind.oauth2.internal_hosts", &kind.internal_hosts));
}
