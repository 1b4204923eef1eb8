//! `passerelle check connector FILE --online` for an OAuth 2.0 provider: checks its endpoints and
//! the hub's client authentication, as it publishes no metadata.

use std::collections::BTreeSet;

use url::Url;

use super::Oauth2Connector;
use crate::diagnostic::{CheckDiagnostic, DiagnosisContext};
use crate::http_clients::HttpClientOptions;
use crate::online_check::{self, TimedResponse, diagnostic_for_call_error, fetch_timed};
use crate::{code_flow, connection_check};
use passerelle_egress::safe_http_client::{EgressError, SafeHttpClient};
use passerelle_federation::login::upstream::AuthorizationRedirect;
use passerelle_protocol::ids::Secret;

/// Returns the diagnostics of an OAuth 2.0 provider.
pub(super) async fn diagnose(
    connector: &Oauth2Connector,
    context: &DiagnosisContext,
) -> Vec<CheckDiagnostic> {
    let kind = &connector.kind;
    let options = HttpClientOptions {
        insecure_http: kind.insecure_http,
        internal_hosts: &kind.internal_hosts,
        ca_bundle: connector.ca_bundle.as_ref(),
        client_identity: None,
    };
    let http = match options.capturing_client() {
        Ok(http) => http,
        Err(error) => return vec![diagnostic_for_call_error("reachable", "the provider", &error)],
    };
    let (mut diagnostics, mut hosts) = (Vec::new(), BTreeSet::new());
    if let Ok(token) = Url::parse(&kind.endpoints.token) {
        // A rejected GET shows that the token endpoint responds.
        let timed = fetch_timed(&http, token.as_str(), &connector.env).await;
        record_call(&token, "its token endpoint", timed, &mut hosts, &mut diagnostics);
    }
    let userinfo = &connector.userinfo;
    let timed = fetch_timed(&http, userinfo.as_str(), &connector.env).await;
    if let Some(timed) = record_call(userinfo, "its userinfo", timed, &mut hosts, &mut diagnostics)
    {
        diagnostics.push(diagnose_userinfo(timed.response.status().as_u16()));
    }
    diagnostics.push(diagnose_authentication(connector, &http, context).await);
    diagnostics
}

/// Records the diagnostics of a call to an endpoint. The connection is diagnosed once per host.
fn record_call(
    url: &Url,
    endpoint: &str,
    outcome: Result<TimedResponse, EgressError>,
    hosts: &mut BTreeSet<String>,
    diagnostics: &mut Vec<CheckDiagnostic>,
) -> Option<TimedResponse> {
    match outcome {
        Ok(timed) => {
            if hosts.insert(url.authority().to_owned()) {
                connection_check::diagnose_connection(url, &timed, diagnostics);
            }
            Some(timed)
        }
        Err(error) => {
            diagnostics.push(diagnostic_for_call_error("reachable", endpoint, &error));
            None
        }
    }
}

/// Returns the diagnostic for the status of userinfo without an access token.
fn diagnose_userinfo(status: u16) -> CheckDiagnostic {
    const NAME: &str = "userinfo";
    let fix = "check endpoints.userinfo: it must return the claims of the user of an access token";
    match status {
        200..=299 => CheckDiagnostic::error(
            NAME,
            "it responds without an access token, so its claims can't be those of the user",
            fix,
        ),
        300..=399 => CheckDiagnostic::error(
            NAME,
            format!("it is answered with status {status}; redirects are never followed"),
            fix,
        ),
        400 | 401 | 403 => CheckDiagnostic::ok(
            NAME,
            format!("it rejects calls without an access token (status {status})"),
        ),
        500.. => CheckDiagnostic::error(
            NAME,
            format!("it is answered with status {status}"),
            "check whether the provider is running",
        ),
        _ => CheckDiagnostic::warning(
            NAME,
            format!("without an access token it is answered with status {status}"),
            fix,
        ),
    }
}

async fn diagnose_authentication(
    connector: &Oauth2Connector,
    http: &SafeHttpClient,
    context: &DiagnosisContext,
) -> CheckDiagnostic {
    let (kind, env) = (&connector.kind, &connector.env);
    let redirect = AuthorizationRedirect {
        url: String::new(),
        issuer: kind.issuer.clone(),
        client_id: kind.client_id.clone(),
        token_endpoint: kind.endpoints.token.clone(),
        iss_expected: kind.endpoints.iss_parameter,
        dpop_key: None,
    };
    let attempt = online_check::attempt_for_random_code(
        env,
        connector.id.clone(),
        connector.acr_policy.lowest,
        &context.redirect_uri,
        redirect,
    );
    let code = Secret::new(env.entropy().token());
    let proofs = code_flow::TokenRequestProofs::default();
    let outcome = code_flow::redeem_code(&connector.client, http, code, &attempt, proofs).await;
    online_check::diagnose_client_authentication(
        outcome.map(drop),
        "check that client_id, client_secret and token_endpoint_auth_method are those registered there",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::DiagnosticStatus;

    #[test]
    fn the_status_of_userinfo_without_a_token_is_diagnosed() {
        for (status, expected) in [
            (200, DiagnosticStatus::Error),
            (302, DiagnosticStatus::Error),
            (401, DiagnosticStatus::Ok),
            (403, DiagnosticStatus::Ok),
            (404, DiagnosticStatus::Warning),
            (429, DiagnosticStatus::Warning),
            (500, DiagnosticStatus::Error),
        ] {
            assert_eq!(diagnose_userinfo(status).status, expected, "{status}");
        }
    }
}
