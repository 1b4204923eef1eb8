//! `[kind.oidc]`: the rules on its table (decisions 10; OpenID Connect Core 1.0, 3.1.2.1, 9).
//!
//! Owns: what must and must not stand together in it. Must not know: its shape ([`super::model`]), how it is called.

use std::path::Path;

use super::address::{self, Http};
use super::connectors::resolved;
use super::model::{AuthTimeSource, OidcKind, UpstreamAuthMethod};
use super::problem::Problem;
use super::secret_rules::Context;
use super::source::Source;
use crate::ids::Secret;

/// Parameters of the authorization request that the hub itself sets, or whose meaning it relies on.
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

/// Addresses, scopes and parameters.
pub(super) fn check(source: &Source, oidc: &OidcKind, folder: &Path, problems: &mut Vec<Problem>) {
    let http = if oidc.insecure_http { Http::Anywhere } else { Http::Nowhere };
    let mut judge = |key: &str, checked: Result<url::Url, address::Fault>| {
        if let Err((what, mend)) = checked {
            problems.push(source.problem(&format!("kind.oidc.{key}"), what, mend));
        }
    };
    judge("issuer", address::without_query(&oidc.issuer, http));
    if let Some(endpoints) = &oidc.endpoints {
        judge("endpoints.authorization", address::absolute(&endpoints.authorization, http));
        judge("endpoints.token", address::absolute(&endpoints.token, http));
        judge("endpoints.userinfo", address::absolute(&endpoints.userinfo, http));
        judge("endpoints.jwks", address::absolute(&endpoints.jwks, http));
        if let Some(end_session) = &endpoints.end_session {
            judge("endpoints.end_session", address::absolute(end_session, http));
        }
    }
    if oidc.reauthenticates && oidc.auth_time == AuthTimeSource::Claim {
        let what = "has no effect: the ID token's auth_time proves each new authentication";
        problems.push(source.problem(
            "kind.oidc.reauthenticates",
            what,
            "remove it, or set auth_time = \"callback\"",
        ));
    }
    if oidc.client_id.trim().is_empty() {
        problems.push(source.problem(
            "kind.oidc.client_id",
            "is empty",
            "write the id that the identity provider gave this hub",
        ));
    }
    if !oidc.scopes.iter().any(|scope| scope.as_str() == "openid") {
        let mend = "add \"openid\"";
        problems.push(source.problem(
            "kind.oidc.scopes",
            "lacks openid, without which there is no ID token",
            mend,
        ));
    }
    for name in
        oidc.authorize_params.keys().filter(|name| PROTOCOL_PARAMETERS.contains(&name.as_str()))
    {
        let key = format!("kind.oidc.authorize_params.{name}");
        problems.push(source.problem(
            &key,
            "is a parameter of the protocol, which the hub sets itself",
            "remove it",
        ));
    }
    problems.extend(source.missing_file("kind.oidc.ca", folder, oidc.ca.as_deref()));
    problems.extend(source.not_hosts("kind.oidc.internal_hosts", &oidc.internal_hosts));
}

/// The secret, where the method of client authentication has one; and nothing that the method does not use.
pub(super) fn client_secret(
    source: &Source,
    oidc: &OidcKind,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Secret<String>> {
    const SECRET: &str = "kind.oidc.client_secret";
    if oidc.token_endpoint_auth_method == UpstreamAuthMethod::PrivateKeyJwt {
        if oidc.client_secret.is_some() {
            let what = "is given, and private_key_jwt authenticates without one";
            problems.push(source.problem(
                SECRET,
                what,
                "remove it, and withdraw it at the identity provider",
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
        let mend = "remove it, or set token_endpoint_auth_method = \"private_key_jwt\"";
        problems.push(source.problem(key, "is given, and no assertion is sent", mend));
    }
    let Some(reference) = &oidc.client_secret else {
        let mend = "add client_secret = { file = \"…\" } or { env = \"…\" }, or set token_endpoint_auth_method = \"private_key_jwt\"";
        problems.push(source.problem(SECRET, "is missing", mend));
        return None;
    };
    resolved(source, SECRET, reference, context, problems)
}

pub(super) fn check_encryption(source: &Source, oidc: &OidcKind, problems: &mut Vec<Problem>) {
    let answers = [
        ("id_token", oidc.id_token_encrypted_response_alg, oidc.id_token_encrypted_response_enc),
        ("userinfo", oidc.userinfo_encrypted_response_alg, oidc.userinfo_encrypted_response_enc),
    ];
    for (answer, alg, enc) in answers {
        if alg.is_none() && enc.is_some() {
            let mend = format!("add {answer}_encrypted_response_alg, or remove it");
            let key = format!("kind.oidc.{answer}_encrypted_response_enc");
            problems.push(source.problem(
                &key,
                "is given without the alg that makes it mean something",
                mend,
            ));
        }
    }
    // Our public keys are everyone's: what is sealed to them and signed by nobody, anyone may have made.
    if oidc.userinfo_encrypted_response_alg.is_some() && oidc.userinfo_signed_response_alg.is_none()
    {
        let what = "is given without userinfo_signed_response_alg, so that anyone could make such an answer";
        let mend = "add userinfo_signed_response_alg = \"ES256\", and register the same with the identity provider";
        problems.push(source.problem("kind.oidc.userinfo_encrypted_response_alg", what, mend));
    }
}
