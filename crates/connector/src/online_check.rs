//! Calls and diagnostics shared by the HTTP kinds in `check connector --online`.

use std::collections::BTreeMap;

use http::header::ACCEPT;
use openidconnect::{HttpRequest, HttpResponse};

use super::connection_check;
use super::diagnostic::CheckDiagnostic;
use super::error::ConnectorError;
use passerelle_egress::safe_http_client::{CallLimits, EgressError, SafeHttpClient};
use passerelle_egress::system_authorities::{NO_AUTHORITIES, NO_AUTHORITIES_FIX};
use passerelle_federation::assurance::Level;
use passerelle_federation::login::upstream::{
    AuthorizationRedirect, LoginAttempt, UpstreamAuthorizationRequest,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::{ConnectorId, Secret};

/// Name of the check of the hub's client authentication.
pub const CLIENT_AUTHENTICATION: &str = "client-authentication";

/// Response, with the times around the call.
pub(crate) struct TimedResponse {
    pub response: HttpResponse,
    pub sent_at: Timestamp,
    pub received_at: Timestamp,
}

/// Fetches a document without authentication.
///
/// # Errors
/// Returns an error if no response arrives.
pub(crate) async fn fetch_timed(
    http: &SafeHttpClient,
    url: &str,
    env: &Env,
) -> Result<TimedResponse, EgressError> {
    let request: HttpRequest =
        http::Request::get(url).header(ACCEPT, "application/json").body(Vec::new()).map_err(
            |_| EgressError::AddressForbidden("the address to call is not an absolute URL".into()),
        )?;
    let sent_at = env.now();
    let response = http.send(request).await?;
    Ok(TimedResponse { response, sent_at, received_at: env.now() })
}

/// Returns an attempt that belongs to no login, for the redemption of a random code.
pub(crate) fn attempt_for_random_code(
    env: &Env,
    connector: ConnectorId,
    level: Level,
    redirect_uri: &str,
    redirect: AuthorizationRedirect,
) -> LoginAttempt {
    LoginAttempt {
        connector,
        request: UpstreamAuthorizationRequest {
            state: String::new(),
            nonce: String::new(),
            verifier: Secret::new(env.entropy().token()),
            redirect_uri: redirect_uri.to_owned(),
            level,
            reauthenticate: false,
            max_age: None,
            auth_time_required: false,
            level_names: Vec::new(),
            login_hint: None,
            forwarded: BTreeMap::new(),
            requester: None,
            ui_locales: None,
        },
        redirected_at: env.now(),
        redirect,
    }
}

/// Returns the diagnostic for the token endpoint's response to a random code. RFC 6749 §5.2:
/// `invalid_grant` means that the client authentication was accepted, as no known server checks the
/// code before the client.
pub(crate) fn diagnose_client_authentication(
    outcome: Result<(), ConnectorError>,
    fix: &str,
) -> CheckDiagnostic {
    const NAME: &str = CLIENT_AUTHENTICATION;
    let Err(error) = outcome else {
        return CheckDiagnostic::error(
            NAME,
            "it accepted a code that was never issued",
            "do not use this identity provider",
        );
    };
    match (error.code, error.detail.as_str()) {
        (ErrorCode::IdpClientRefused, _) => CheckDiagnostic::error(
            NAME,
            "it rejects the hub's client authentication (invalid_client)",
            fix,
        ),
        // The second is GitHub's, which checks the client first.
        (
            ErrorCode::IdpCodeRefused,
            error @ ("error=invalid_grant" | "error=bad_verification_code"),
        ) => {
            let error = error.trim_start_matches("error=");
            CheckDiagnostic::ok(
                NAME,
                format!(
                    "it accepts the hub's client authentication: it rejects only the random code ({error})"
                ),
            )
        }
        (ErrorCode::IdpCodeRefused, "error=unauthorized_client") => {
            // Some send it for failed client authentication.
            let fix = format!(
                "ask the identity provider to allow the grant type authorization_code for this client; {fix}"
            );
            CheckDiagnostic::error(
                NAME,
                "it does not allow the hub to redeem codes, or rejects its client authentication (unauthorized_client)",
                fix,
            )
        }
        (ErrorCode::IdpCodeRefused, error) => {
            let what = format!(
                "it can't be determined whether it accepts the hub's client authentication: it answers a random code with {error}"
            );
            CheckDiagnostic::warning(NAME, what, fix)
        }
        _ => diagnostic_for_error(NAME, &error),
    }
}

/// Returns the diagnostic for an error of the connector.
pub fn diagnostic_for_error(name: &'static str, error: &ConnectorError) -> CheckDiagnostic {
    let entry = error.code.entry();
    CheckDiagnostic::error(
        name,
        format!("{} ({})", error.detail, entry.description),
        format!("look up {} in docs/errors.md", entry.code),
    )
}

/// Returns the diagnostic for a call without a response.
pub(crate) fn diagnostic_for_call_error(
    name: &'static str,
    what: &str,
    error: &EgressError,
) -> CheckDiagnostic {
    match error {
        EgressError::AddressForbidden(why) => CheckDiagnostic::error(
            name,
            format!("{what} is at an address that the hub must not call: {why}"),
            "to allow the address, add its host to internal_hosts in the file; otherwise ask the identity provider about it",
        ),
        EgressError::CertificateTime { host, why, .. } => {
            connection_check::diagnose_rejected_certificate(host, why)
        }
        EgressError::Unreachable { host, why } if why.starts_with(NO_AUTHORITIES) => {
            let message = format!("{host} can't be called over TLS: {NO_AUTHORITIES}");
            CheckDiagnostic::error("certificate", message, NO_AUTHORITIES_FIX)
        }
        EgressError::Unreachable { host, why } if why.contains("certificate") => {
            connection_check::diagnose_rejected_certificate(host, why)
        }
        EgressError::Unreachable { host, why } => CheckDiagnostic::error(
            name,
            format!("{what}: {host} can't be reached: {why}"),
            "check the address, whether the identity provider is running, and whether the firewall allows the call",
        ),
        EgressError::Timeout(host) => {
            let fix =
                "check whether the identity provider is overloaded: a login would wait as long";
            CheckDiagnostic::error(
                name,
                format!(
                    "{what}: {host} did not respond within {} s",
                    CallLimits::DEFAULT.total_timeout.as_secs()
                ),
                fix,
            )
        }
        EgressError::TooLarge { host, .. } => CheckDiagnostic::error(
            name,
            format!("{what}: the response of {host} is larger than 1 MiB"),
            "check the address: such a document has a few kilobytes",
        ),
        EgressError::Encoding { .. } => CheckDiagnostic::error(
            name,
            format!("{what}: {error}"),
            "ask the identity provider to respect Accept-Encoding: identity, or to compress with gzip",
        ),
    }
}
