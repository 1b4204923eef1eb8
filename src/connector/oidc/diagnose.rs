//! `passerelle check connector FILE --online`: everything that a login would need of an identity provider, looked at
//! ahead of any, and said in words.
//!
//! Owns: the order of the questions, and the words for what goes wrong on the way. Must not know: who asks. Nothing of
//! a person is asked, and the one token request is for a code that nobody issued.

mod document;
mod keys;

use http::header::{CONTENT_TYPE, LOCATION};
use openidconnect::HttpResponse;
use serde_json::{Map, Value};
use url::Url;

use super::metadata::{self, Provider};
use super::{Upstream, exchange};
use crate::config::model::{AssertionAudience, OidcKind, UpstreamAuthMethod};
use crate::connector::asked::{self, ask, of_fault, unreached};
use crate::connector::code_flow::printable;
use crate::connector::connection;
use crate::connector::finding::{Examination, Finding};
use crate::egress::authorities::Authorities;
use crate::egress::guard::{CallLimits, Guard, Schemes, Trust};
use crate::ids::Secret;
use crate::login::upstream::{Attempt, AuthorizationRedirect};
use crate::protocol::json;

pub async fn examine(upstream: &Upstream, examination: &Examination) -> Vec<Finding> {
    let kind = &upstream.kind;
    let schemes = if kind.insecure_http { Schemes::HttpToo } else { Schemes::HttpsOnly };
    let trust = Trust { ca: upstream.authorities.as_ref().map(Authorities::pem), identity: None };
    let guard = match Guard::keeping_certificates(
        schemes,
        &kind.internal_hosts,
        CallLimits::DEFAULT,
        trust,
    ) {
        Ok(guard) => guard,
        Err(fault) => return vec![unreached("reachable", "the identity provider", &fault)],
    };
    let mut findings = Vec::new();
    let Some((provider, announced)) = discovery(upstream, &guard, examination, &mut findings).await
    else {
        return findings;
    };
    match ask(&guard, provider.jwks_uri.as_str(), &upstream.env).await {
        Ok(told) => {
            if kind.endpoints.is_some() {
                connection::look(&provider.jwks_uri, &told, &mut findings);
                findings.push(connection::clock(&told));
            }
            findings.extend(key_set(&told.answer, kind, &announced));
        }
        Err(fault) => findings.push(unreached("keys", "its key set", &fault)),
    }
    findings.push(end_session(&provider));
    findings.push(authentication(upstream, &provider, &guard, examination).await);
    findings
}

/// The identity provider's addresses, and the members of its configuration document, if it was asked for one; `None`
/// where nothing more can be asked.
async fn discovery(
    upstream: &Upstream,
    guard: &Guard,
    examination: &Examination,
    findings: &mut Vec<Finding>,
) -> Option<(Provider, Map<String, Value>)> {
    let (kind, secret) = (&upstream.kind, upstream.client_secret.as_ref());
    if kind.endpoints.is_some() {
        let provider = metadata::fetch(kind, secret, guard).await.map(|fetched| fetched.value);
        let provider =
            provider.map_err(|fault| findings.push(of_fault("discovery", &fault))).ok()?;
        findings.push(Finding::ok("discovery", "not asked: the endpoints are in the file"));
        return Some((provider, Map::new()));
    }
    let url = format!("{}/.well-known/openid-configuration", kind.issuer.trim_end_matches('/'));
    let told = ask(guard, &url, &upstream.env).await;
    let told = told
        .map_err(|fault| {
            findings.push(unreached("reachable", "its configuration document", &fault))
        })
        .ok()?;
    if let Ok(url) = Url::parse(&url) {
        connection::look(&url, &told, findings);
        findings.push(connection::clock(&told));
    }
    let members =
        configuration(&told.answer, guard).map_err(|finding| findings.push(finding)).ok()?;
    if let Some(finding) = other_issuer(&kind.issuer, members.get("issuer").and_then(Value::as_str))
    {
        findings.push(finding);
        return None;
    }
    findings.push(Finding::ok("issuer", "the configuration document names exactly this issuer"));
    let provider = metadata::read(kind, secret, guard, told.answer.body());
    let provider = provider.map_err(|fault| findings.push(of_fault("discovery", &fault))).ok()?;
    findings.push(Finding::ok("discovery", "the configuration document is usable"));
    findings.extend(document::look(&members, kind, &upstream.agreement, examination));
    Some((provider, members))
}

/// The members of a configuration document, before anything in them is believed.
fn configuration(answer: &HttpResponse, guard: &Guard) -> Result<Map<String, Value>, Finding> {
    whole(
        answer,
        guard,
        "discovery",
        "the configuration document",
        "is the issuer in the file the identity provider's own, path included?",
    )?;
    json::parse_object(answer.body()).map_err(|_| {
        let mend =
            "ask the identity provider for a JSON object (OpenID Connect Discovery 1.0, 4.2)";
        Finding::fault(
            "discovery",
            "the configuration document is not a JSON object in which no member is named twice",
            mend,
        )
    })
}

/// A document that came as it should: no redirect, status 200, no web page.
fn whole(
    answer: &HttpResponse,
    guard: &Guard,
    name: &'static str,
    what: &str,
    mend: &str,
) -> Result<(), Finding> {
    let status = answer.status();
    if status.is_redirection() {
        let place = answer
            .headers()
            .get(LOCATION)
            .and_then(|place| place.to_str().ok())
            .and_then(|place| Url::parse(place).ok());
        let place = match &place {
            None => "another address".to_owned(),
            Some(url) => {
                let private =
                    if guard.admit(url).is_err() { ", which the hub must not call" } else { "" };
                format!("{}{private}", url.host_str().unwrap_or("another address"))
            }
        };
        let what = format!(
            "instead of {what} there is a redirect to {place}; redirects are never followed"
        );
        return Err(Finding::fault(
            name,
            what,
            "write the address at which the document itself is",
        ));
    }
    if status.as_u16() != 200 {
        return Err(Finding::fault(
            name,
            format!("{what} is answered with status {}", status.as_u16()),
            mend,
        ));
    }
    let typed_html = answer
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.contains("html"));
    if typed_html || answer.body().trim_ascii_start().starts_with(b"<") {
        return Err(Finding::fault(name, format!("{what} is a web page (HTML), not JSON"), mend));
    }
    Ok(())
}

/// Discovery 1.0, 4.3: character for character.
fn other_issuer(written: &str, named: Option<&str>) -> Option<Finding> {
    let Some(named) = named else {
        let mend =
            "ask the identity provider for an issuer there (OpenID Connect Discovery 1.0, 3)";
        return Some(Finding::fault("issuer", "the configuration document names no issuer", mend));
    };
    if named == written {
        return None;
    }
    let shown = printable(named, 200);
    let what = if named.trim_end_matches('/') == written.trim_end_matches('/') {
        format!(
            "the issuer differs by a slash at its end: the file has {written}, the configuration document {shown}"
        )
    } else {
        format!("the issuer differs: the file has {written}, the configuration document {shown}")
    };
    Some(Finding::fault(
        "issuer",
        what,
        format!("if it is the identity provider that you mean, write issuer = \"{shown}\""),
    ))
}

fn key_set(answer: &HttpResponse, kind: &OidcKind, announced: &Map<String, Value>) -> Vec<Finding> {
    let status = answer.status().as_u16();
    if status != 200 {
        let mend = "ask the identity provider for its keys at jwks_uri";
        return vec![Finding::fault(
            "keys",
            format!("the key set is answered with status {status}"),
            mend,
        )];
    }
    keys::look(answer.body(), kind, announced)
}

fn end_session(provider: &Provider) -> Finding {
    match &provider.end_session_endpoint {
        Some(_) => {
            Finding::ok("end-session", "a logout here can end the identity provider's own session")
        }
        None => Finding::warning(
            "end-session",
            "there is no end_session_endpoint: a logout here leaves the identity provider's own session alone",
            "nothing, if that is meant; else ask the identity provider for RP-Initiated Logout",
        ),
    }
}

/// Whether it believes who we are, by what a code is worth that nobody issued.
async fn authentication(
    upstream: &Upstream,
    provider: &Provider,
    guard: &Guard,
    examination: &Examination,
) -> Finding {
    let (kind, now) = (&upstream.kind, upstream.env.now());
    let attempt = Attempt {
        connector: upstream.id.clone(),
        state: String::new(),
        nonce: String::new(),
        verifier: Secret::new(upstream.env.entropy().token()),
        redirect_uri: examination.redirect_uri.clone(),
        level: upstream.agreement.lowest,
        reauthenticate: false,
        max_age: None,
        left_at: now,
        left: AuthorizationRedirect {
            url: String::new(),
            issuer: kind.issuer.clone(),
            client_id: kind.client_id.clone(),
            token_endpoint: provider.token_endpoint.clone(),
            iss_expected: provider.iss_expected,
        },
    };
    let assertion = match upstream.assertion(&attempt.left.token_endpoint).await {
        Ok(assertion) => assertion,
        Err(fault) => {
            let mend =
                "make the hub's keys (passerelle keys new), and give their folder by --config";
            return Finding::fault(
                asked::CLIENT_AUTHENTICATION,
                format!("the hub can't prove who it is: {}", fault.detail),
                mend,
            );
        }
    };
    let code = Secret::new(upstream.env.entropy().token());
    let mend = match kind.token_endpoint_auth_method {
        UpstreamAuthMethod::PrivateKeyJwt => refused_assertion(kind),
        UpstreamAuthMethod::ClientSecretPost | UpstreamAuthMethod::ClientSecretBasic => {
            "are client_id, client_secret and token_endpoint_auth_method those registered there?"
                .to_owned()
        }
    };
    let outcome = exchange::exchange(provider, guard, code, &attempt, assertion).await;
    asked::client_authentication(outcome.map(drop), &mend)
}

/// What an operator looks at where an assertion is refused: a wrong audience is refused with the same word as a wrong key.
fn refused_assertion(kind: &OidcKind) -> String {
    let (now, other) = match kind.client_assertion_audience.unwrap_or_default() {
        AssertionAudience::Issuer => ("issuer", "token_endpoint"),
        AssertionAudience::TokenEndpoint => ("token_endpoint", "issuer"),
    };
    format!(
        "are client_id and our jwks_uri those registered there, can it read our jwks_uri, and does it take this audience? \
         client_assertion_audience is \"{now}\": if it insists on the other one, write client_assertion_audience = \"{other}\""
    )
}

#[cfg(test)]
mod tests;
