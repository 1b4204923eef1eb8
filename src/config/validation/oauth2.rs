//! Checks the `[kind.oauth2]` table: an identity provider with OAuth 2.0 but without
//! OpenID Connect (RFC 6749, RFC 7636, RFC 9207).

use std::path::Path;

use super::address::{self, Http};
use crate::config::loading::{Diagnostic, SourceFile};
use crate::config::model::Oauth2Kind;

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
pub fn check_oauth2(
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
