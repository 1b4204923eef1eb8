//! The password form of a connector whose directory has no page of its own,
//! `/connectors/{connector}/login`.
//!
//! The form belongs to one login: only the browser that started the login sees it, and its token is
//! bound to the login's cookie and to the attempt. The result returns to the hub's callback through
//! the browser, like any identity provider's response.

use std::time::Duration;

use actix_web::http::header::{HeaderValue, RETRY_AFTER};
use actix_web::{HttpResponse, web};

use super::csrf::FormPurpose;
use super::form;
use super::page_attempt::PageAttempt;
use super::page_models::LoginPageContext;
use super::pages::{HiddenField, PasswordNoticePage, SignInError, SignInPage, connector_logo_path};
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::{BASE_PATH, interaction_path, page_response, see_other};
use passerelle_audit::{Event, EventKind};
use passerelle_hub::{Connectors, PasswordCredentials, PasswordNotice, PasswordOutcome};
use passerelle_protocol::catalogue::ErrorOrigin;
use passerelle_protocol::ids::Secret;

/// Shows the empty form.
pub(crate) async fn show_form(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let query = context.query().unwrap_or_default();
    let state = query.get("state");
    let attempt = verify_attempt(&context, path.into_inner(), state).await?;
    Ok(sign_in_response(&context, &attempt, String::new(), None))
}

/// Handles the submitted form.
pub(crate) async fn submit_form(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let params = form::parse_body(&context.request, body).await?;
    let attempt = verify_attempt(&context, path.into_inner(), params.get("state")).await?;
    let attempt =
        attempt.verify_form(&context.request, FormPurpose::SIGN_IN, params.get("csrf"))?;
    let username = params.get("username").unwrap_or_default().to_owned();
    let (Some(_), Some(password)) = (params.get("username"), params.get("password")) else {
        let error = Some(SignInError::MissingField);
        return Ok(sign_in_response(&context, &attempt, username, error));
    };
    let password = Secret::new(password.to_owned());
    Ok(sign_in(&context, &attempt, username, password).await)
}

async fn sign_in(
    context: &RequestContext,
    attempt: &PageAttempt,
    username: String,
    password: Secret<String>,
) -> HttpResponse {
    let hub = &context.hub;
    let PageAttempt { connector, login, summary, .. } = attempt;
    let credentials = PasswordCredentials {
        login: login.hash.clone(),
        state: attempt.state.clone(),
        username: Secret::new(username.clone()),
        password,
        network: hub.proxies.client_network(&context.request),
    };
    let outcome = hub.connectors.sign_in(connector, credentials, summary).await;
    let refused = match &outcome {
        Ok(PasswordOutcome::Rejected { refusal, .. }) => {
            Some(refusal.as_ref().map(|error| error.code))
        }
        Ok(PasswordOutcome::RateLimited(_)) => Some(None),
        Err(code) if code.entry().origin == ErrorOrigin::User => Some(Some(*code)),
        Ok(PasswordOutcome::Accepted { .. }) | Err(_) => None,
    };
    if let Some(code) = refused {
        hub.core.audit.record(|| {
            let event = Event::new(EventKind::PasswordRefused).sp(&summary.client_id);
            let event = event.idp(connector).login(&login.hash).support_id(&summary.support_id);
            code.into_iter().fold(event, Event::code)
        });
    }
    let failed = |error| sign_in_response(context, attempt, username, Some(error));
    match outcome {
        Ok(PasswordOutcome::Accepted { callback_query, notice }) => {
            let callback = format!("{BASE_PATH}/callback/{connector}?{}", callback_query.reveal());
            match notice {
                None => see_other(&callback),
                Some(notice) => notice_response(context, attempt, notice, callback),
            }
        }
        Ok(PasswordOutcome::Rejected { is_last_attempt_next, .. }) => {
            failed(SignInError::WrongCredentials { is_last_attempt_next })
        }
        Ok(PasswordOutcome::RateLimited(wait)) => {
            let minutes = whole_minutes(wait);
            let mut response = failed(SignInError::Wait { minutes });
            // As the page says.
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(minutes * 60));
            response
        }
        Err(code) => {
            failed(SignInError::Failed { code, support_id: summary.support_id.to_string() })
        }
    }
}

/// Shows what the directory says of the password. The login continues by a link.
fn notice_response(
    context: &RequestContext,
    attempt: &PageAttempt,
    notice: PasswordNotice,
    continue_url: String,
) -> HttpResponse {
    let PageAttempt { connector, login, summary, .. } = attempt;
    let login = LoginPageContext::new(context, login, summary);
    let page = PasswordNoticePage {
        notice,
        provider: login.hub.provider_name(connector, &login.locale).unwrap_or_default(),
        change_url: login.hub.connectors.forgotten_password_url(connector),
        continue_url,
    };
    page_response(login.hub, 200, &login.locale, |chrome| page.render(chrome))
}

async fn verify_attempt(
    context: &RequestContext,
    connector: String,
    state: Option<&str>,
) -> Result<PageAttempt, Rejection> {
    PageAttempt::verify(context, connector, state, Connectors::has_password_page).await
}

fn sign_in_response(
    context: &RequestContext,
    attempt: &PageAttempt,
    username: String,
    error: Option<SignInError>,
) -> HttpResponse {
    let status = match &error {
        None => 200,
        Some(SignInError::MissingField) => 400,
        Some(SignInError::WrongCredentials { .. }) => 403,
        Some(SignInError::Wait { .. }) => 429,
        Some(SignInError::Failed { code, .. }) => code.entry().status,
    };
    let PageAttempt { connector, state, login, summary } = attempt;
    let login = LoginPageContext::new(context, login, summary);
    let logo = login.hub.connectors.logo(connector);
    let form = SignInPage {
        provider: login.hub.provider_name(connector, &login.locale).unwrap_or_default(),
        logo: logo.map(|logo| connector_logo_path(connector.as_str(), &logo)),
        forgotten_password_url: login.hub.connectors.forgotten_password_url(connector),
        service: login.service_name(),
        action: format!("/connectors/{connector}/login"),
        hidden: vec![
            HiddenField::new("state", state.as_str()),
            HiddenField::new("csrf", login.form_token(FormPurpose::SIGN_IN, state)),
        ],
        username,
        error,
        back_url: interaction_path(login.hash()),
    };
    page_response(login.hub, status, &login.locale, |chrome| form.render(chrome))
}

/// Rounds up to whole minutes, so that the user does not retry too early.
fn whole_minutes(wait: Duration) -> u64 {
    wait.as_secs().div_ceil(60).max(1)
}
