//! The logout endpoint (OpenID Connect RP-Initiated Logout 1.0, docs/logout.md): the
//! request, its confirmation, and the return from an identity provider.
//!
//! Whatever a request says, the browser is redirected only to a registered URI of a verified
//! service provider, or to the identity provider of its own session.

mod forwarded_params;
mod logged_out;

use std::collections::BTreeSet;

use actix_web::{HttpRequest, HttpResponse, web};

use self::forwarded_params::{encode_params, forwarded_params, ui_locales};
use self::logged_out::{IdpLogoutResult, logged_out_response};
pub(crate) use self::logged_out::{LOGGED_OUT_PATH, show_logged_out};
use super::csrf::{self, FormPurpose};
use super::form::{self, FormError};
use super::hub::Hub;
use super::page_language::PageLanguage;
use super::pages::{ConfirmLogOutPage, HiddenField};
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::{add_cookie, interaction_path, landing_page_response, see_other};
use passerelle_audit::{Event, EventKind};
use passerelle_federation::session::logout::LogoutDecision;
use passerelle_grants::logout_redirects::{LogoutDestination, LogoutRequestKey};
use passerelle_grants::pending_post::PostedMessage;
use passerelle_hub::LogoutOutcome;
use passerelle_localization::OperatorText;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::discovery::path;
use passerelle_protocol::ids::{ClientId, ConnectorId, Secret};
use passerelle_protocol::logout::{self, LogoutHint, LogoutRequest};
use passerelle_protocol::params::{Params, check_post};

/// Query parameter that names a logout request saved from a POST, for the GET that continues it.
const PENDING_PARAM: &str = "pending";

/// Bytes of parameters that a POST forwards in the URL of a GET: more than an encrypted ID token
/// needs.
const MAX_FORWARDED_BYTES: usize = 8 * 1024;

/// Whether the user has confirmed the logout.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LogoutConfirmation {
    Missing,
    Given,
}

/// Handles `GET /api/v2/session/end`.
pub(crate) async fn get(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let query = context.query().map_err(|error| Rejection::MalformedLogout(error.code()))?;
    let params = match query.single(PENDING_PARAM) {
        Ok(None) => query,
        // An expired request has no parameters: the user is asked to confirm.
        Ok(Some(ticket)) => {
            let saved = context.hub.pending_posts.take(PostedMessage::Logout, ticket).await;
            Params::new(saved.map_err(Rejection::LogoutFailed)?.unwrap_or_default())
        }
        Err(_) => return Err(Rejection::MalformedLogout(ErrorCode::BadRequest)),
    };
    end_session(&context, &params, LogoutConfirmation::Missing).await
}

/// Handles `POST /api/v2/session/end`.
///
/// A POST from another site carries no cookie (SameSite=Lax), so the request is saved and continued
/// by a GET, which carries it.
pub(crate) async fn post(
    context: RequestContext,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let hub = &context.hub;
    check_post(
        context.content_type(),
        context.request.query_string(),
        ErrorCode::LogoutNotForm,
        ErrorCode::LogoutPostWithQuery,
    )
    .map_err(Rejection::MalformedLogout)?;
    let params = parse_logout_form(&context, body).await?;
    let forwarded = forwarded_params(&params);
    let with_query = |query: &str| see_other(&format!("{}?{query}", path::END_SESSION));
    // Only a valid request is stored.
    match check_request(hub, &params, None) {
        Ok(LogoutRequest::Anonymous) => Ok(see_other(path::END_SESSION)),
        Ok(LogoutRequest::Named { .. }) => {
            match hub.pending_posts.save(PostedMessage::Logout, &forwarded).await {
                Ok(ticket) => Ok(with_query(&format!("{PENDING_PARAM}={}", ticket.reveal()))),
                // A full store must not prevent a logout: the parameters go into the URL.
                Err(ErrorCode::StoreFull) => Ok(with_query(&encode_params(&forwarded))),
                Err(code) => Err(Rejection::LogoutFailed(code)),
            }
        }
        // Only the session can verify an encrypted ID token, and its cookie comes with the GET.
        Err(ErrorCode::LogoutHintEncrypted) if fits_in_url(&forwarded) => {
            Ok(with_query(&encode_params(&forwarded)))
        }
        Err(code) => Err(Rejection::MalformedLogout(code)),
    }
}

async fn parse_logout_form(
    context: &RequestContext,
    body: web::Payload,
) -> Result<Params, Rejection> {
    form::parse_body(&context.request, body).await.map_err(|error| match error {
        FormError::TooLarge => Rejection::OutsideLogin(ErrorCode::PayloadTooLarge),
        error => Rejection::MalformedLogout(error.code()),
    })
}

/// Returns whether the parameters fit into a URL.
fn fits_in_url(forwarded: &[(String, String)]) -> bool {
    forwarded.iter().map(|(_, value)| value.len()).sum::<usize>() <= MAX_FORWARDED_BYTES
}

/// Handles `POST /api/v2/session/end/confirm`, which the hub's confirmation form sends.
pub(crate) async fn post_confirmation(
    context: RequestContext,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let params = parse_logout_form(&context, body).await?;
    // Without a cookie there is no session to protect.
    if let Some(cookie) = context.hub.cookies.session(&context.request) {
        let sent = params.get("csrf");
        let bound = encode_params(&forwarded_params(&params));
        csrf::verify_form(&context.request, &cookie, FormPurpose::LOG_OUT, &bound, sent)
            .inspect_err(|_| context.hub.core.metrics.record_logout("rejected"))
            .map_err(Rejection::LogoutFailed)?;
    }
    end_session(&context, &params, LogoutConfirmation::Given).await
}

/// Handles `GET /api/v2/session/end/{connector}`, the return from an identity provider's logout.
pub(crate) async fn return_from_idp(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let hub = &context.hub;
    let connector = ConnectorId::new(path.into_inner());
    let query = context.query().unwrap_or_default();
    let running = hub.cookies.running_logouts(&context.request);
    let state = if let Ok(Some(state)) = query.single("state") {
        Ok(state.to_owned())
    } else {
        let waiting = hub.logout_redirects.waiting_destinations(&connector, &running).await;
        sole_running_logout(waiting.map_err(Rejection::OutsideLogin)?)
    };
    let state = match state {
        Ok(state) => state,
        Err(participants) => {
            let several = LogoutDestination { participants, ..LogoutDestination::default() };
            return Ok(logged_out_response(hub, &context.locale(&[]), &several, None));
        }
    };
    let mut response = continue_logout(&context, &connector, &state).await?;
    let others: Vec<String> = running.iter().filter(|one| **one != state).cloned().collect();
    if others.len() < running.len() {
        add_cookie(&mut response, &hub.cookies.running_logouts_cookie(&others));
    }
    Ok(response)
}

/// Returns the state of the only logout that waits for a browser whose identity provider returned
/// none, although OpenID Connect RP-Initiated Logout 1.0 §3 requires it. Where none or several wait,
/// returns their service providers.
fn sole_running_logout(
    mut waiting: Vec<(String, LogoutDestination)>,
) -> Result<String, Vec<ClientId>> {
    if let [(state, _)] = waiting.as_mut_slice() {
        return Ok(std::mem::take(state));
    }
    let services = waiting.into_iter().filter_map(|(_, destination)| destination.service_provider);
    Err(services.collect::<BTreeSet<_>>().into_iter().collect())
}

/// Continues the logout that belongs to this state.
async fn continue_logout(
    context: &RequestContext,
    connector: &ConnectorId,
    state: &str,
) -> Result<HttpResponse, Rejection> {
    let hub = &context.hub;
    let stored = hub.logout_redirects.take_destination(connector, state).await;
    let locale = context.locale(&[]);
    let Some(mut destination) = stored.map_err(Rejection::OutsideLogin)? else {
        return Ok(logged_out_response(hub, &locale, &LogoutDestination::default(), None));
    };
    hub.core.metrics.record_logout("returned");
    hub.core.audit.record(|| {
        let returned = Event::new(EventKind::IdpLogoutReturned).idp(connector);
        destination.service_provider.iter().fold(returned, Event::sp)
    });
    if let Some(login) = &destination.login {
        return Ok(see_other(&format!("{}#", interaction_path(login))));
    }
    // The registration may have changed while the browser was at the identity provider.
    let federation = hub.core.federation.load();
    let service = destination.service_provider.as_ref();
    let service = service.and_then(|client_id| federation.active_service_provider(client_id));
    destination.return_to.take_if(|return_to| {
        !service.is_some_and(|service| return_to.is_registered(&service.registration))
    });
    // The `#` stops the browser from inheriting a fragment of the identity provider's URL.
    let back = destination.return_to.as_ref();
    let back = back.map(|return_to| see_other(&format!("{}#", return_to.location())));
    let ended = IdpLogoutResult::Ended(connector.clone());
    Ok(back.unwrap_or_else(|| logged_out_response(hub, &locale, &destination, Some(&ended))))
}

/// Checks a logout request. `session_hint` is the content of an encrypted hint that the session
/// recognized.
fn check_request(
    hub: &Hub,
    params: &Params,
    session_hint: Option<LogoutHint>,
) -> Result<LogoutRequest, ErrorCode> {
    logout::validate_request(params, hub.core.federation.load().as_ref(), |hint| {
        match hub.hints.verify_logout_hint(hint) {
            Err(ErrorCode::LogoutHintEncrypted) => {
                session_hint.ok_or(ErrorCode::LogoutHintEncrypted)
            }
            read => read,
        }
    })
}

/// Returns the content of an encrypted hint, if it was issued in the session of the cookie.
async fn recognize_hint(
    hub: &Hub,
    params: &Params,
    cookie: Option<&Secret<String>>,
) -> Result<Option<LogoutHint>, ErrorCode> {
    match (params.single("id_token_hint"), cookie) {
        (Ok(Some(hint)), Some(cookie)) if is_jwe(hint) => {
            hub.logouts.match_encrypted_hint_by_mark(hint, cookie).await
        }
        _ => Ok(None),
    }
}

/// Returns whether a token is a JWE: its compact serialization has five parts (RFC 7516 §9).
fn is_jwe(token: &str) -> bool {
    token.split('.').take(6).count() == 5
}

async fn end_session(
    context: &RequestContext,
    params: &Params,
    confirmation: LogoutConfirmation,
) -> Result<HttpResponse, Rejection> {
    let hub = &context.hub;
    let cookie = hub.cookies.session(&context.request);
    let session_hint = recognize_hint(hub, params, cookie.as_ref()).await;
    let session_hint = session_hint.map_err(Rejection::LogoutFailed)?;
    let by_session = session_hint.is_some();
    let (named, return_to) = match check_request(hub, params, session_hint) {
        Ok(LogoutRequest::Named { hint, return_to }) => (Some(hint), return_to),
        Ok(LogoutRequest::Anonymous) => (None, None),
        Err(code) => {
            let repeated = repeated_logout(hub, params, code, cookie.as_ref()).await;
            return repeated.ok_or(Rejection::MalformedLogout(code));
        }
    };
    let decided = hub.logouts.decide_logout(named.as_ref(), cookie.as_ref()).await;
    let (decision, session) = decided.map_err(Rejection::LogoutFailed)?;
    let locale = context.locale(&ui_locales(params));
    let service_provider = named.map(|hint| hint.audience);
    let mut destination =
        LogoutDestination { service_provider, return_to, ..LogoutDestination::default() };
    let outcome = match (decision, confirmation, &cookie, session) {
        (LogoutDecision::AskFirst, LogoutConfirmation::Missing, cookie, session) => {
            hub.core.metrics.record_logout("confirmation");
            hub.core.audit.record(|| {
                let requested = Event::new(EventKind::LogoutRequested);
                destination.service_provider.iter().fold(requested, Event::sp)
            });
            let provider = session.map(|session| {
                let connector = session.login.connector;
                hub.provider_name(&connector, &locale).unwrap_or_else(|| connector.as_str().into())
            });
            let fields = confirmation_fields(cookie.as_ref(), params);
            let service = destination.service_provider.as_ref();
            let page = confirmation_page(hub, &locale, service, provider, fields);
            return Ok(landing_page_response(hub, 200, &locale, |chrome| page.render(chrome)));
        }
        (LogoutDecision::AskFirst | LogoutDecision::LogOut, _, Some(cookie), Some(session)) => {
            hub.logouts.log_out(cookie, &session, &destination).await
        }
        (_, _, Some(cookie), None) => hub.logouts.repeat_redirect(cookie, &destination).await,
        _ => Ok(LogoutOutcome::AlreadyEnded),
    };
    let outcome = outcome.map_err(Rejection::LogoutFailed)?;
    if let (true, Some(cookie)) = (by_session, &cookie) {
        remember_redirect(hub, params, cookie, &outcome, &destination).await;
    }
    if let LogoutOutcome::EndedLocally { participants, .. } = &outcome {
        destination.participants.clone_from(participants);
    }
    let state = outcome.redirect_state();
    let mut response = logout_response(hub, &locale, outcome, &destination);
    if let Some(state) = state {
        add_running_logout(&context.hub, &context.request, &mut response, state);
    }
    if cookie.is_some() {
        add_cookie(&mut response, &hub.cookies.expired_session_cookie());
    }
    Ok(response)
}

/// Adds a logout at an identity provider to those that the browser's cookie names.
pub(super) fn add_running_logout(
    hub: &Hub,
    request: &HttpRequest,
    response: &mut HttpResponse,
    state: String,
) {
    let others = hub.cookies.running_logouts(request).into_iter().filter(|one| *one != state);
    let states: Vec<String> = std::iter::once(state.clone()).chain(others).collect();
    add_cookie(response, &hub.cookies.running_logouts_cookie(&states));
}

/// Responds to a repeated logout request, whose session has ended and no longer recognizes the
/// encrypted hint.
async fn repeated_logout(
    hub: &Hub,
    params: &Params,
    code: ErrorCode,
    cookie: Option<&Secret<String>>,
) -> Option<HttpResponse> {
    let cookie = cookie.filter(|_| code == ErrorCode::LogoutHintEncrypted)?;
    let location = hub
        .logout_redirects
        .find(cookie, LogoutRequestKey::Parameters(&encode_params(&forwarded_params(params))))
        .await
        .ok()??;
    Some(see_other(&location))
}

async fn remember_redirect(
    hub: &Hub,
    params: &Params,
    cookie: &Secret<String>,
    outcome: &LogoutOutcome,
    destination: &LogoutDestination,
) {
    let location = match (outcome, &destination.return_to) {
        (LogoutOutcome::RedirectToIdp(url), _) => url.to_string(),
        (LogoutOutcome::EndedLocally { .. } | LogoutOutcome::AlreadyEnded, Some(return_to)) => {
            return_to.location()
        }
        (LogoutOutcome::EndedLocally { .. } | LogoutOutcome::AlreadyEnded, None) => return,
    };
    if let Err(code) = hub
        .logout_redirects
        .remember(
            cookie,
            LogoutRequestKey::Parameters(&encode_params(&forwarded_params(params))),
            &location,
        )
        .await
    {
        tracing::warn!(
            code = code.entry().code,
            "redirect not stored: a repeated logout request will be rejected"
        );
    }
}

/// Builds the response after the session has ended: a redirect to its identity provider or to the
/// destination, or a page.
fn logout_response(
    hub: &Hub,
    locale: &PageLanguage,
    outcome: LogoutOutcome,
    destination: &LogoutDestination,
) -> HttpResponse {
    let (outcome, unreached) = match outcome {
        LogoutOutcome::RedirectToIdp(url) => {
            hub.core.metrics.record_logout("identity_provider");
            return see_other(url.as_str());
        }
        LogoutOutcome::EndedLocally { connector, .. } => ("local", Some(connector)),
        LogoutOutcome::AlreadyEnded => ("no_session", None),
    };
    hub.core.metrics.record_logout(outcome);
    if let Some(return_to) = &destination.return_to {
        return see_other(&return_to.location());
    }
    let unreached = unreached.map(IdpLogoutResult::Unreached);
    logged_out_response(hub, locale, destination, unreached.as_ref())
}

/// Returns the fields with which the user repeats the request.
fn confirmation_fields(cookie: Option<&Secret<String>>, params: &Params) -> Vec<HiddenField> {
    let forwarded = forwarded_params(params);
    // Without a cookie there is no session that another site could end.
    let csrf = cookie.map(|cookie| {
        let token = csrf::form_token(cookie, FormPurpose::LOG_OUT, &encode_params(&forwarded));
        ("csrf".to_owned(), token)
    });
    let fields = csrf.into_iter().chain(forwarded);
    fields.map(|(name, value)| HiddenField::new(name, value)).collect()
}

fn confirmation_page(
    hub: &Hub,
    locale: &PageLanguage,
    service: Option<&ClientId>,
    provider: Option<OperatorText>,
    fields: Vec<HiddenField>,
) -> ConfirmLogOutPage {
    let federation = hub.core.federation.load();
    let service = service.and_then(|id| federation.service_provider(id));
    ConfirmLogOutPage {
        fields,
        service: service.map(|service| {
            (locale.localize(&service.name).into(), service.registration.home_page.clone())
        }),
        provider,
    }
}
