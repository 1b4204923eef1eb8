//! Logs and counts what a step did to a login.

use super::timer;
use crate::login_services::LoginServices;
use passerelle_connector::ConnectorError;
use passerelle_federation::login::state_name::FAILED;
use passerelle_federation::login::{Choosing, Login, LoginAnswer, LoginState, Save, Step};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ConnectorId;
use passerelle_telemetry::{LoginOutcome, at_level};

/// Logs an error with the support id that the user sees on the page.
pub(super) fn log_connector_error(
    support_id: &str,
    connector: &ConnectorId,
    error: &ConnectorError,
) {
    at_level!(error.code, support_id, %connector, detail = error.detail, "call to the identity provider failed");
}

/// Logs a callback whose `iss` was refused (RFC 9207): it may be a mix-up attack. `step` is the
/// state machine's decision about the browser's request.
pub(super) fn log_issuer_error(step: &Step) {
    let LoginState::Choosing(Choosing { banner: Some(banner) }) = &step.login.state else { return };
    let is_decided_now = step.save == Save::Yes;
    if is_decided_now && matches!(banner.code, ErrorCode::IdpIssWrong | ErrorCode::IdpIssMissing) {
        let support_id = step.login.context.support_id.as_str();
        let connector = banner.connector.as_ref().map(tracing::field::display);
        at_level!(banner.code, support_id, connector, "callback of an identity provider refused");
    }
}

/// Returns the explanation that the admin console shows. An error from the callback's query is
/// left out, because anyone can write any text there.
pub(super) fn displayed_detail(error: &ConnectorError) -> Option<String> {
    let repeats_the_query = matches!(
        error.code,
        ErrorCode::IdpDenied | ErrorCode::IdpError | ErrorCode::IdpTemporarilyUnavailable
    );
    (!repeats_the_query).then(|| error.detail.clone())
}

/// Counts the transition, and the outcome if the login has one now.
pub(super) fn record_outcome(
    services: &LoginServices,
    before: &'static str,
    login: &Login,
    chosen: Option<&ConnectorId>,
    answer: &LoginAnswer,
) {
    let (metrics, sp) = (&services.core.metrics, &login.context.request.client_id);
    let after = login.state.name();
    if before == after {
        return;
    }
    metrics.record_login_transition(after);
    match (login.outcome(), answer) {
        // The failure was counted before; now the service provider gets the error.
        _ if before == FAILED => {}
        (Some(Ok(())), _) => {
            metrics.record_login_end(LoginOutcome::Granted, sp, chosen, 1);
            metrics.record_granted_login(
                &timer::login_phases(&login.context.time_spent),
                services.core.env.now(),
            );
        }
        (Some(Err(code)), _) => {
            metrics.record_login_end(LoginOutcome::Refused(code), sp, chosen, 1);
        }
        // `count_abandoned_logins` counts it later.
        (None, _) if login.has_expired() => {}
        (None, LoginAnswer::ErrorPage(problem)) if after == FAILED => {
            metrics.record_login_end(LoginOutcome::Failed(problem.code), sp, chosen, 1);
        }
        (None, _) => {}
    }
}

/// Logs what the answer says about the login.
pub(super) fn log_answer(before: &'static str, login: &Login, answer: &LoginAnswer) {
    let after = login.state.name();
    let support_id = login.context.support_id.as_str();
    match answer {
        LoginAnswer::ErrorPage(problem) => {
            at_level!(problem.code, support_id, state = after, "login step refused");
        }
        LoginAnswer::BlockedPage(banner) => {
            let connector = banner.connector.as_ref().map(tracing::field::display);
            at_level!(
                banner.code,
                support_id,
                connector,
                state = before,
                "login stopped by a block"
            );
        }
        LoginAnswer::ServiceProvider { .. } if before != after => {
            let client_id = &login.context.request.client_id;
            match login.outcome().and_then(Result::err) {
                None => {
                    tracing::info!(support_id, %client_id, outcome = "granted", "login completed");
                }
                Some(code) => {
                    at_level!(code, support_id, %client_id, outcome = "refused", "login completed");
                }
            }
        }
        LoginAnswer::ServiceProvider { .. }
        | LoginAnswer::ChoicePage { .. }
        | LoginAnswer::RedirectToIdp { .. }
        | LoginAnswer::RedirectToMail
        | LoginAnswer::MailPage(_)
        | LoginAnswer::RedirectToConsent
        | LoginAnswer::WrongUserReported(_)
        | LoginAnswer::ConsentPage(_) => {}
    }
}
