//! `passerelle check connector FILE --online` for an OpenID provider: checks everything that a
//! login needs.
//!
//! Fetches public documents, and sends one token request with a random code. Does not log in.

mod document;
mod keys;

use http::header::{CONTENT_TYPE, LOCATION};
use openidconnect::HttpResponse;
use serde_json::{Map, Value};
use url::Url;

use super::code_exchange::CallPurpose;
use super::metadata::{self, ResolvedProvider};
use super::settings::{AssertionAudience, OidcKind, UpstreamAuthMethod};
use super::upstream::Upstream;
use crate::connection_check;
use crate::diagnostic::{CheckDiagnostic, DiagnosisContext};
use crate::http_clients::HttpClientOptions;
use crate::online_check::{self, diagnostic_for_call_error, diagnostic_for_error, fetch_timed};
use passerelle_egress::safe_http_client::SafeHttpClient;
use passerelle_federation::login::upstream::AuthorizationRedirect;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::json::{self, ObjectWithoutRepeated};
use passerelle_telemetry::printable_ascii;

/// Returns the diagnostics of an OpenID provider.
pub(super) async fn diagnose(
    upstream: &Upstream,
    context: &DiagnosisContext,
) -> Vec<CheckDiagnostic> {
    let kind = &upstream.kind;
    let options = HttpClientOptions {
        insecure_http: kind.insecure_http,
        internal_hosts: &kind.internal_hosts,
        ca_bundle: upstream.ca_bundle.as_ref(),
        client_identity: None,
    };
    let http = match options.capturing_client() {
        Ok(http) => http,
        Err(error) => {
            return vec![diagnostic_for_call_error("reachable", "the identity provider", &error)];
        }
    };
    let mut diagnostics = Vec::new();
    let Some((provider, announced)) =
        diagnose_discovery(upstream, &http, context, &mut diagnostics).await
    else {
        return diagnostics;
    };
    match fetch_timed(&http, provider.jwks_uri.as_str(), &upstream.env).await {
        Ok(timed) => {
            if kind.endpoints.is_some() {
                connection_check::diagnose_connection(&provider.jwks_uri, &timed, &mut diagnostics);
                diagnostics.push(connection_check::diagnose_clock(&timed));
            }
            diagnostics.extend(diagnose_key_set(&timed.response, kind, &announced));
        }
        Err(error) => diagnostics.push(diagnostic_for_call_error("keys", "its key set", &error)),
    }
    diagnostics.push(diagnose_end_session(&provider));
    diagnostics.push(diagnose_authentication(upstream, &provider, context).await);
    diagnostics
}

/// Returns the metadata, and the members of the configuration document if there is one; `None` if
/// further checks are impossible.
async fn diagnose_discovery(
    upstream: &Upstream,
    http: &SafeHttpClient,
    context: &DiagnosisContext,
    diagnostics: &mut Vec<CheckDiagnostic>,
) -> Option<(ResolvedProvider, Map<String, Value>)> {
    let (kind, secret) = (&upstream.kind, upstream.client_secret.as_ref());
    if kind.endpoints.is_some() {
        let provider = upstream.fetch_provider(http).await.map(|fetched| fetched.value);
        let provider = provider
            .map_err(|error| diagnostics.push(diagnostic_for_error("discovery", &error)))
            .ok()?;
        diagnostics
            .push(CheckDiagnostic::ok("discovery", "skipped: the endpoints are in the file"));
        return Some((provider, Map::new()));
    }
    let url = format!("{}/.well-known/openid-configuration", kind.issuer.trim_end_matches('/'));
    let timed = fetch_timed(http, &url, &upstream.env).await;
    let timed = timed
        .map_err(|error| {
            diagnostics.push(diagnostic_for_call_error(
                "reachable",
                "its configuration document",
                &error,
            ));
        })
        .ok()?;
    if let Ok(url) = Url::parse(&url) {
        connection_check::diagnose_connection(&url, &timed, diagnostics);
        diagnostics.push(connection_check::diagnose_clock(&timed));
    }
    let ObjectWithoutRepeated { members, repeated } = parse_configuration(&timed.response, http)
        .map_err(|diagnostic| diagnostics.push(diagnostic))
        .ok()?;
    metadata::refuse_needed_repeated(kind, &repeated)
        .map_err(|error| diagnostics.push(diagnostic_for_error("discovery", &error)))
        .ok()?;
    if let Some(diagnostic) =
        diagnose_issuer(&kind.issuer, members.get("issuer").and_then(Value::as_str))
    {
        diagnostics.push(diagnostic);
        return None;
    }
    diagnostics
        .push(CheckDiagnostic::ok("issuer", "the configuration document has exactly this issuer"));
    let provider = metadata::parse_provider(kind, secret, http, timed.response.body());
    let provider = provider
        .map_err(|error| diagnostics.push(diagnostic_for_error("discovery", &error)))
        .ok()?;
    diagnostics.push(CheckDiagnostic::ok("discovery", "the configuration document is usable"));
    diagnostics.extend(provider.malformed_members.iter().map(|member| {
        CheckDiagnostic::warning("metadata", format!("{member}: the hub ignores it"), member.fix())
    }));
    diagnostics.extend(document::diagnose_document(&members, kind, &upstream.acr_policy, context));
    Some((provider, members))
}

/// Parses a configuration document without validating its members.
fn parse_configuration(
    response: &HttpResponse,
    http: &SafeHttpClient,
) -> Result<ObjectWithoutRepeated, CheckDiagnostic> {
    check_response(
        response,
        http,
        "discovery",
        "the configuration document",
        "check that the issuer in the file is that of the identity provider, path included",
    )?;
    let text = json::replace_lone_surrogates(response.body());
    json::parse_object_without_repeated(&text).map_err(|_| {
        let fix =
            "ask the identity provider to publish a JSON object (OpenID Connect Discovery 1.0 §4.2)";
        CheckDiagnostic::error(
            "discovery",
            "the configuration document is not a JSON object",
            fix,
        )
    })
}

/// Checks that a response has status 200 and is not a web page.
fn check_response(
    response: &HttpResponse,
    http: &SafeHttpClient,
    name: &'static str,
    document: &str,
    fix: &str,
) -> Result<(), CheckDiagnostic> {
    let status = response.status();
    if status.is_redirection() {
        let location = response
            .headers()
            .get(LOCATION)
            .and_then(|location| location.to_str().ok())
            .and_then(|location| Url::parse(location).ok());
        let target = match &location {
            None => "another address".to_owned(),
            Some(url) => {
                let note =
                    if http.check_url(url).is_err() { ", which the hub must not call" } else { "" };
                format!("{}{note}", url.host_str().unwrap_or("another address"))
            }
        };
        let message = format!(
            "{document} is answered with a redirect to {target}; redirects are never followed"
        );
        return Err(CheckDiagnostic::error(
            name,
            message,
            "configure the address of the document itself",
        ));
    }
    if status.as_u16() != 200 {
        return Err(CheckDiagnostic::error(
            name,
            format!("{document} is answered with status {}", status.as_u16()),
            fix,
        ));
    }
    let typed_html = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.contains("html"));
    if typed_html || response.body().trim_ascii_start().starts_with(b"<") {
        return Err(CheckDiagnostic::error(
            name,
            format!("{document} is a web page (HTML), not JSON"),
            fix,
        ));
    }
    Ok(())
}

/// Compares the issuers character by character (Discovery 1.0 §4.3).
fn diagnose_issuer(configured: &str, published: Option<&str>) -> Option<CheckDiagnostic> {
    let Some(published) = published else {
        let fix =
            "ask the identity provider to publish its issuer (OpenID Connect Discovery 1.0 §3)";
        return Some(CheckDiagnostic::error(
            "issuer",
            "the configuration document has no issuer",
            fix,
        ));
    };
    if published == configured {
        return None;
    }
    let shown = printable_ascii(published, 200);
    let what = if published.trim_end_matches('/') == configured.trim_end_matches('/') {
        format!(
            "the issuer differs by a trailing slash: the file has {configured}, the configuration document {shown}"
        )
    } else {
        format!("the issuer differs: the file has {configured}, the configuration document {shown}")
    };
    Some(CheckDiagnostic::error(
        "issuer",
        what,
        format!("if this is the right identity provider, write issuer = \"{shown}\""),
    ))
}

fn diagnose_key_set(
    response: &HttpResponse,
    kind: &OidcKind,
    announced: &Map<String, Value>,
) -> Vec<CheckDiagnostic> {
    let status = response.status().as_u16();
    if status != 200 {
        let fix = "ask the identity provider to publish its keys at jwks_uri";
        return vec![CheckDiagnostic::error(
            "keys",
            format!("the key set is answered with status {status}"),
            fix,
        )];
    }
    keys::diagnose_keys(response.body(), kind, announced)
}

fn diagnose_end_session(provider: &ResolvedProvider) -> CheckDiagnostic {
    match &provider.end_session_endpoint {
        Some(_) => CheckDiagnostic::ok(
            "end-session",
            "a logout at the hub can end the session at the identity provider",
        ),
        None => CheckDiagnostic::warning(
            "end-session",
            "there is no end_session_endpoint: a logout at the hub leaves the session at the identity provider open",
            "nothing if this is intended; otherwise ask the identity provider for RP-Initiated Logout",
        ),
    }
}

/// Checks the hub's client authentication by redeeming a random code.
async fn diagnose_authentication(
    upstream: &Upstream,
    provider: &ResolvedProvider,
    context: &DiagnosisContext,
) -> CheckDiagnostic {
    let kind = &upstream.kind;
    let redirect = AuthorizationRedirect {
        url: String::new(),
        issuer: kind.issuer.clone(),
        client_id: kind.client_id.clone(),
        token_endpoint: provider.token_endpoint.clone(),
        iss_expected: provider.iss_expected,
        dpop_key: Upstream::new_dpop_key(provider).unwrap_or_default(),
    };
    let attempt = online_check::attempt_for_random_code(
        &upstream.env,
        upstream.id.clone(),
        upstream.acr_policy.lowest,
        &context.redirect_uri,
        redirect,
    );
    let code = Secret::new(upstream.env.entropy().token());
    let fix = match kind.token_endpoint_auth_method {
        UpstreamAuthMethod::PrivateKeyJwt => assertion_fix(kind),
        UpstreamAuthMethod::ClientSecretPost | UpstreamAuthMethod::ClientSecretBasic => {
            "check that client_id, client_secret and token_endpoint_auth_method are those registered there"
                .to_owned()
        }
        UpstreamAuthMethod::TlsClientAuth | UpstreamAuthMethod::SelfSignedTlsClientAuth => {
            "check that client_id, and the subject or key of client_certificate, are those registered there, and that \
             the identity provider asks for certificates at this address or announces mtls_endpoint_aliases"
                .to_owned()
        }
    };
    let outcome = match upstream.dpop_session(attempt.redirect.dpop_key.as_ref()) {
        Ok(dpop) => {
            let purpose = CallPurpose::Probe;
            upstream.exchange_code(provider, purpose, code, &attempt, dpop.as_ref()).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = &outcome
        && error.code == ErrorCode::IdpAssertion
    {
        let fix =
            "create the hub's keys with passerelle keys new, and pass their folder with --config";
        return CheckDiagnostic::error(
            online_check::CLIENT_AUTHENTICATION,
            format!("the hub can't sign a client assertion: {}", error.detail),
            fix,
        );
    }
    online_check::diagnose_client_authentication(outcome.map(drop), &fix)
}

/// Returns the fix for a rejected assertion. A wrong audience has the same error as a wrong key.
fn assertion_fix(kind: &OidcKind) -> String {
    let (current, other) = match kind.client_assertion_audience.unwrap_or_default() {
        AssertionAudience::Issuer => ("issuer", "token_endpoint"),
        AssertionAudience::TokenEndpoint => ("token_endpoint", "issuer"),
    };
    format!(
        "check that client_id and the hub's jwks_uri are those registered there, and that the identity provider \
         can read jwks_uri and accepts the audience: client_assertion_audience is \"{current}\"; if it \
         requires the other one, write client_assertion_audience = \"{other}\""
    )
}

#[cfg(test)]
mod tests;
