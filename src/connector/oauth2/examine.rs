//! `passerelle check connector FILE --online`, for a provider without OpenID Connect: it publishes nothing of itself, so
//! what can be seen is whether its endpoints are there, and whether it believes who the hub is.

use std::collections::BTreeSet;

use url::Url;

use super::Oauth2Connector;
use crate::connector::asked::{self, Told, ask, unreached};
use crate::connector::finding::{Examination, Finding};
use crate::connector::{code_flow, connection};
use crate::egress::authorities::Authorities;
use crate::egress::guard::{CallLimits, Guard, Schemes, Trust};
use crate::ids::Secret;
use crate::login::upstream::{Attempt, AuthorizationRedirect};

pub async fn examine(connector: &Oauth2Connector, examination: &Examination) -> Vec<Finding> {
    let kind = &connector.kind;
    let schemes = if kind.insecure_http { Schemes::HttpToo } else { Schemes::HttpsOnly };
    let trust = Trust { ca: connector.authorities.as_ref().map(Authorities::pem), identity: None };
    let guard = match Guard::keeping_certificates(
        schemes,
        &kind.internal_hosts,
        CallLimits::DEFAULT,
        trust,
    ) {
        Ok(guard) => guard,
        Err(fault) => return vec![unreached("reachable", "the provider", &fault)],
    };
    let (mut findings, mut hosts) = (Vec::new(), BTreeSet::new());
    if let Ok(token) = Url::parse(&kind.endpoints.token) {
        // Of a token endpoint a GET is refused, and that is an answer.
        see(connector, &guard, &token, "its token endpoint", &mut hosts, &mut findings).await;
    }
    if let Some(told) =
        see(connector, &guard, &connector.userinfo, "its userinfo", &mut hosts, &mut findings).await
    {
        findings.push(userinfo(told.answer.status().as_u16()));
    }
    findings.push(authentication(connector, &guard, examination).await);
    findings
}

/// Calls one endpoint; what the connection says is told once for each host.
async fn see(
    connector: &Oauth2Connector,
    guard: &Guard,
    url: &Url,
    what: &str,
    hosts: &mut BTreeSet<String>,
    findings: &mut Vec<Finding>,
) -> Option<Told> {
    match ask(guard, url.as_str(), &connector.env).await {
        Ok(told) => {
            if hosts.insert(url.authority().to_owned()) {
                connection::look(url, &told, findings);
            }
            Some(told)
        }
        Err(fault) => {
            findings.push(unreached("reachable", what, &fault));
            None
        }
    }
}

/// What userinfo says to somebody without a token.
fn userinfo(status: u16) -> Finding {
    const NAME: &str = "userinfo";
    let mend = "is endpoints.userinfo where this provider tells of a person with an access token?";
    match status {
        200..=299 => Finding::fault(
            NAME,
            "it answers without an access token, so that it can't be about the person",
            mend,
        ),
        300..=399 => Finding::fault(
            NAME,
            format!("it answers with status {status}, and redirects are never followed"),
            mend,
        ),
        400 | 401 | 403 => {
            Finding::ok(NAME, format!("it refuses whoever has no access token (status {status})"))
        }
        500.. => Finding::fault(
            NAME,
            format!("it answers with status {status}"),
            "is the provider well?",
        ),
        _ => Finding::warning(
            NAME,
            format!("without an access token it answers with status {status}"),
            mend,
        ),
    }
}

async fn authentication(
    connector: &Oauth2Connector,
    guard: &Guard,
    examination: &Examination,
) -> Finding {
    let (kind, env) = (&connector.kind, &connector.env);
    let attempt = Attempt {
        connector: connector.id.clone(),
        state: String::new(),
        nonce: String::new(),
        verifier: Secret::new(env.entropy().token()),
        redirect_uri: examination.redirect_uri.clone(),
        level: connector.agreement.lowest,
        reauthenticate: false,
        max_age: None,
        left_at: env.now(),
        left: AuthorizationRedirect {
            url: String::new(),
            issuer: kind.issuer.clone(),
            client_id: kind.client_id.clone(),
            token_endpoint: kind.endpoints.token.clone(),
            iss_expected: kind.endpoints.iss_parameter,
        },
    };
    let code = Secret::new(env.entropy().token());
    let outcome = code_flow::redeem(&connector.client, guard, code, &attempt, Vec::new()).await;
    asked::client_authentication(
        outcome.map(drop),
        "are client_id, client_secret and token_endpoint_auth_method those registered there?",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connector::finding::Verdict;

    #[test]
    fn what_userinfo_says_to_strangers_by_table() {
        for (status, verdict) in [
            (200, Verdict::Fault),
            (302, Verdict::Fault),
            (401, Verdict::Ok),
            (403, Verdict::Ok),
            (404, Verdict::Warning),
            (429, Verdict::Warning),
            (500, Verdict::Fault),
        ] {
            assert_eq!(userinfo(status).verdict, verdict, "{status}");
        }
    }
}
