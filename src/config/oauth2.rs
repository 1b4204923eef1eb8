//! `[kind.oauth2]`: an identity provider that speaks OAuth 2.0 without OpenID Connect (RFC 6749, 7636, 9207).
//!
//! Owns: the shape of its table, and every rule on it. Must not know: how it is called.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::address::{self, Http};
use super::model::SecretRef;
use super::problem::Problem;
use super::source::Source;
use crate::ids::Scope;

/// An OAuth 2.0 provider without OpenID Connect: it returns no ID token, no `acr` and no time of authentication.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Oauth2Kind {
    /// Names the provider, as `https://github.com`; an `iss` in its answers must equal it (RFC 9207).
    pub issuer: String,
    /// The hub's id at this provider.
    pub client_id: String,
    /// The hub's secret at this provider.
    pub client_secret: SecretRef,
    /// How the hub sends it.
    #[serde(default)]
    pub token_endpoint_auth_method: SecretMethod,
    /// Scopes asked for.
    #[serde(default)]
    pub scopes: Vec<Scope>,
    /// The claim of userinfo that names the person for ever, as `id`: text or a whole number. Never an address or a
    /// name that may pass to somebody else.
    pub subject_claim: String,
    /// Where the time of authentication comes from: `callback`, for such a provider tells none.
    pub auth_time: CallbackTime,
    /// The operator knows that this provider heeds `reauthentication_params`. Without it requests with `prompt=login` (the
    /// default under federation rules) or `max_age` are not offered this provider.
    #[serde(default)]
    pub reauthenticates: bool,
    /// Parameters that make this provider authenticate the person again, as `prompt = "login"`. They are always sent,
    /// for the callback's time counts as that of the authentication; whether they are heeded can't be seen.
    pub reauthentication_params: BTreeMap<String, String>,
    /// More parameters for the authorization request; none that the protocol uses.
    #[serde(default)]
    pub authorize_params: BTreeMap<String, String>,
    /// PEM file of the only authorities that its certificate may come from; absent: those of the machine. The path
    /// counts from the configuration folder.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Allows http for this provider.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
    /// Its addresses.
    pub endpoints: Oauth2Endpoints,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Oauth2Endpoints {
    /// Authorization endpoint.
    pub authorization: String,
    /// Token endpoint.
    pub token: String,
    /// Where a JSON object about the person is read with the access token.
    pub userinfo: String,
    /// The provider answers with `iss` (RFC 9207).
    #[serde(default)]
    pub iss_parameter: bool,
}

/// How a client secret is sent (RFC 6749, 2.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecretMethod {
    /// In the body of the token request.
    #[default]
    ClientSecretPost,
    /// In the `Authorization` header.
    ClientSecretBasic,
}

/// The one source of the time of authentication that there is; written out, for it is a promise of the operator's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallbackTime {
    /// The moment of the callback.
    Callback,
}

/// Parameters of the authorization request that the hub itself sets. `prompt` is none of them: to a provider without
/// OpenID Connect it is one like any other.
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

pub(super) fn check(
    source: &Source,
    kind: &Oauth2Kind,
    folder: &Path,
    problems: &mut Vec<Problem>,
) {
    let http = if kind.insecure_http { Http::Anywhere } else { Http::Nowhere };
    let endpoints = &kind.endpoints;
    let addresses = [
        ("issuer", address::without_query(&kind.issuer, http)),
        ("endpoints.authorization", address::absolute(&endpoints.authorization, http)),
        ("endpoints.token", address::absolute(&endpoints.token, http)),
        ("endpoints.userinfo", address::absolute(&endpoints.userinfo, http)),
    ];
    for (key, checked) in addresses {
        if let Err((what, mend)) = checked {
            problems.push(source.problem(&format!("kind.oauth2.{key}"), what, mend));
        }
    }
    let needed = [
        ("client_id", &kind.client_id, "write the id that the provider gave this hub"),
        (
            "subject_claim",
            &kind.subject_claim,
            "write the claim of userinfo that names the person for ever, as \"id\"",
        ),
    ];
    for (key, _, mend) in needed.into_iter().filter(|(_, value, _)| value.trim().is_empty()) {
        problems.push(source.problem(&format!("kind.oauth2.{key}"), "is empty", mend));
    }
    if kind.reauthentication_params.is_empty() {
        let what = "is empty, so that nobody could tell when the person authenticated";
        let mend = "write what makes this provider authenticate the person again, as { prompt = \"login\" }";
        problems.push(source.problem("kind.oauth2.reauthentication_params", what, mend));
    }
    for (table, params) in [
        ("authorize_params", &kind.authorize_params),
        ("reauthentication_params", &kind.reauthentication_params),
    ] {
        for name in params.keys().filter(|name| PROTOCOL_PARAMETERS.contains(&name.as_str())) {
            let key = format!("kind.oauth2.{table}.{name}");
            problems.push(source.problem(
                &key,
                "is a parameter of the protocol, which the hub sets itself",
                "remove it",
            ));
        }
    }
    for name in
        kind.authorize_params.keys().filter(|name| kind.reauthentication_params.contains_key(*name))
    {
        let key = format!("kind.oauth2.authorize_params.{name}");
        problems.push(source.problem(
            &key,
            "is among reauthentication_params too",
            "keep it there only",
        ));
    }
    problems.extend(source.missing_file("kind.oauth2.ca", folder, kind.ca.as_deref()));
    problems.extend(source.not_hosts("kind.oauth2.internal_hosts", &kind.internal_hosts));
}
