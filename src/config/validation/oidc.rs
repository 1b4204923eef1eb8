//! Checks the `[kind.oidc]` table of a connector, whose type is in [`crate::config::model`] (OpenID Connect
//! Core 1.0 §3.1.2.1, §9).

use std::path::Path;

use super::address::{self, Http};
use super::references::resolve_or_report;
use crate::config::loading::{Diagnostic, MessageAndFix, SecretContext, SourceFile};
use crate::config::model::{AuthTimeSource, OidcKind, UpstreamAuthMethod};
use crate::ids::Secret;

/// Parameters of the authorization request that the hub sets itself or relies on.
const PROTOCOL_PARAMETERS: [&str; 19] = [
    "acr_values",
    "claims",
    "client_id",
    "client_secret",
    "code_challenge",
    "code_challenge_method",
    "id_token_hint",
    "login_hint",
    "max_age",
    "nonce",
    "prompt",
    "redirect_uri",
    "request",
    "request_uri",
    "response_mode",
    "response_type",
    "scope",
    "state",
    "ui_locales",
];

/// Checks URLs, scopes and parameters.
pub fn check_oidc(
    source: &SourceFile,
    oidc: &OidcKind,
    folder: &Path,
    problems: &mut Vec<Diagnostic>,
) {
    let http = if oidc.insecure_http { Http::Anywhere } else { Http::Nowhere };
    let mut check = |key: &str, checked: Result<url::Url, MessageAndFix>| {
        if let Err((message, fix)) = checked {
            problems.push(source.diagnostic(&format!("kind.oidc.{key}"), message, fix));
        }
    };
    check("issuer", address::parse_url_without_query(&oidc.issuer, http));
    if let Some(endpoints) = &oidc.endpoints {
        check(
            "endpoints.authorization",
            address::parse_absolute_url(&endpoints.authorization, http),
        );
        check("endpoints.token", address::parse_absolute_url(&endpoints.token, http));
        check("endpoints.userinfo", address::parse_absolute_url(&endpoints.userinfo, http));
        check("endpoints.jwks", address::parse_absolute_url(&endpoints.jwks, http));
        if let Some(end_session) = &endpoints.end_session {
            check("endpoints.end_session", address::parse_absolute_url(end_session, http));
        }
    }
    if oidc.reauthenticates && oidc.auth_time == AuthTimeSource::Claim {
        let message = "has no effect: the ID token's auth_time proves each new authentication";
        problems.push(source.diagnostic(
            "kind.oidc.reauthenticates",
            message,
            "remove it, or set auth_time = \"callback\"",
        ));
    }
    if oidc.client_id.trim().is_empty() {
        problems.push(source.diagnostic(
            "kind.oidc.client_id",
            "is empty",
            "write the client_id that the identity provider assigned to this hub",
        ));
    }
    if !oidc.scopes.iter().any(|scope| scope.as_str() == "openid") {
        let fix = "add \"openid\"";
        problems.push(source.diagnostic(
            "kind.oidc.scopes",
            "lacks openid, which is required for an ID token",
            fix,
        ));
    }
    for name in
        oidc.authorize_params.keys().filter(|name| PROTOCOL_PARAMETERS.contains(&name.as_str()))
    {
        let key = format!("kind.oidc.authorize_params.{name}");
        problems.push(source.diagnostic(
            &key,
            "is a protocol parameter, which the hub sets itself",
            "remove it",
        ));
    }
    problems.extend(source.check_file_exists("kind.oidc.ca", folder, oidc.ca.as_deref()));
    problems.extend(source.check_hosts("kind.oidc.internal_hosts", &oidc.internal_hosts));
}

/// Resolves the client secret, if the authentication method has one, and reports settings that the
/// method ignores.
pub fn resolve_client_secret(
    source: &SourceFile,
    oidc: &OidcKind,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Secret<String>> {
    const SECRET: &str = "kind.oidc.client_secret";
    if oidc.token_endpoint_auth_method == UpstreamAuthMethod::PrivateKeyJwt {
        if oidc.client_secret.is_some() {
            let message = "is set, but private_key_jwt doesn't use it";
            problems.push(source.diagnostic(
                SECRET,
                message,
                "remove it, and revoke it at the identity provider",
            ));
        }
        return None;
    }
    let assertion_keys = [
        (
            "kind.oidc.token_endpoint_auth_signing_alg",
            oidc.token_endpoint_auth_signing_alg.is_some(),
        ),
        ("kind.oidc.client_assertion_audience", oidc.client_assertion_audience.is_some()),
    ];
    for (key, _) in assertion_keys.into_iter().filter(|(_, given)| *given) {
        let fix = "remove it, or set token_endpoint_auth_method = \"private_key_jwt\"";
        problems.push(source.diagnostic(key, "is set, but no assertion is sent", fix));
    }
    let Some(reference) = &oidc.client_secret else {
        let fix = "add client_secret = { file = \"…\" } or { env = \"…\" }, or set token_endpoint_auth_method = \"private_key_jwt\"";
        problems.push(source.diagnostic(SECRET, "is missing", fix));
        return None;
    };
    resolve_or_report(source, SECRET, reference, context, problems)
}

/// Checks the encryption of ID tokens and userinfo responses.
pub fn check_encryption(source: &SourceFile, oidc: &OidcKind, problems: &mut Vec<Diagnostic>) {
    let responses = [
        ("id_token", oidc.id_token_encrypted_response_alg, oidc.id_token_encrypted_response_enc),
        ("userinfo", oidc.userinfo_encrypted_response_alg, oidc.userinfo_encrypted_response_enc),
    ];
    for (response, alg, enc) in responses {
        if alg.is_none() && enc.is_some() {
            let fix = format!("add {response}_encrypted_response_alg, or remove it");
            let key = format!("kind.oidc.{response}_encrypted_response_enc");
            problems.push(source.diagnostic(&key, "is set without its alg", fix));
        }
    }
    // The hub's keys are public, so anyone can encrypt to them: only a signature proves the origin.
    if oidc.userinfo_encrypted_response_alg.is_some() && oidc.userinfo_signed_response_alg.is_none()
    {
        let message =
            "is set without userinfo_signed_response_alg, so anyone could forge a response";
        let fix = "add userinfo_signed_response_alg = \"ES256\", and register it with the identity provider";
        problems.push(source.diagnostic("kind.oidc.userinfo_encrypted_response_alg", message, fix));
    }
}
