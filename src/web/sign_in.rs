//! The password form of a connector whose directory has no page of its own,
//! `/connectors/{connector}/login`.
//!
//! The form belongs to one login: only the browser that started the login sees it, and its token is
//! bound to the login's cookie and to the attempt. The result returns to the hub's callback through
//! the browser, like any identity provider's response.

use std::time::Duration;

use actix_web::http::header::{HeaderValue, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse, web};

use super::csrf::{self, FormPurpose};
use super::form::FormError;
use super::held_logins::{self, LoginByState};
use super::hub::Hub;
use super::pages::{HiddenField, SignInError, SignInPage};
use super::rejection::{self, RejectionContext};
use super::responses::{BASE_PATH, negotiate_locale, page_response, see_other};
use super::{error_pages, form};
use crate::actor::{LoginSummary, PasswordCredentials, PasswordOutcome};
use crate::audit::{Event, EventKind};
use crate::ids::{ConnectorId, InteractionHash, Secret};
use crate::protocol::catalogue::ErrorCode;

/// A sign-in at a connector, for a login that this browser started.
struct SignInAttempt {
    connector: ConnectorId,
    state: String,
    hash: InteractionHash,
    cookie: Secret<String>,
    summary: LoginSummary,
}

/// Shows the empty form.
pub async fn show_form(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    let query = form::parse_query(request.query_string()).unwrap_or_default();
    let state = query.single("state").ok().flatten();
    match verify_attempt(&hub, &request, path.into_inner(), state).await {
        Ok(attempt) => sign_in_response(&hub, &request, &attempt, 200, String::new(), None),
        Err(response) => response,
    }
}

/// Handles the submitted form.
pub async fn submit_form(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
    body: web::Payload,
) -> HttpResponse {
    let params = match form::parse_body(&request, body).await {
        Ok(params) => params,
        Err(FormError::TooLarge) => {
            return error_pages::outside_login(&hub, &request, ErrorCode::PayloadTooLarge);
        }
        Err(error) => return error_pages::malformed_request(&hub, &request, error.code()),
    };
    let one = |name| params.single(name).ok().flatten();
    let attempt = match verify_attempt(&hub, &request, path.into_inner(), one("state")).await {
        Ok(attempt) => attempt,
        Err(response) => return response,
    };
    let form_check = csrf::check_same_origin(&request).and_then(|()| {
        csrf::verify_form_token(&attempt.cookie, FormPurpose::SignIn, &attempt.state, one("csrf"))
    });
    if let Err(code) = form_check {
        let client_id = Some(&attempt.summary.client_id);
        let context = RejectionContext {
            client_id,
            login: Some(&attempt.hash),
            ..RejectionContext::with_support_id(attempt.summary.support_id.as_str())
        };
        rejection::record_rejection(
            &hub,
            &request,
            context,
            code,
            "form with an invalid CSRF token rejected",
        );
        let problem = crate::login::LoginErrorPage {
            code,
            claim: None,
            next_action: crate::login::NextAction::ChooseIdp,
        };
        return error_pages::login_error(
            &hub,
            &request,
            &attempt.hash,
            &attempt.cookie,
            problem,
            &attempt.summary,
        );
    }
    let (username, password) = match (one("username"), one("password")) {
        (Some(username), Some(password)) => (username.to_owned(), Secret::new(password.to_owned())),
        (username, _) => {
            let username = username.unwrap_or_default().to_owned();
            return sign_in_response(
                &hub,
                &request,
                &attempt,
                400,
                username,
                Some(SignInError::MissingField),
            );
        }
    };
    let network = hub.proxies.client_network(&request);
    let (login, state) = (attempt.hash.clone(), attempt.state.clone());
    let username_secret = Secret::new(username.clone());
    let credentials =
        PasswordCredentials { login, state, username: username_secret, password, network };
    let outcome = hub.connectors.sign_in(&attempt.connector, credentials, &attempt.summary).await;
    if matches!(outcome, Ok(PasswordOutcome::Rejected | PasswordOutcome::RateLimited(_))) {
        hub.grants.audit.record(|| {
            let event = Event::new(EventKind::PasswordRefused)
                .sp(&attempt.summary.client_id)
                .idp(&attempt.connector);
            event.login(&attempt.hash).support_id(&attempt.summary.support_id)
        });
    }
    match outcome {
        Ok(PasswordOutcome::Accepted(query)) => {
            see_other(&format!("{BASE_PATH}/callback/{}?{}", attempt.connector, query.reveal()))
        }
        Ok(PasswordOutcome::Rejected) => sign_in_response(
            &hub,
            &request,
            &attempt,
            403,
            username,
            Some(SignInError::WrongCredentials),
        ),
        Ok(PasswordOutcome::RateLimited(wait)) => {
            let mut response = sign_in_response(
                &hub,
                &request,
                &attempt,
                429,
                username,
                Some(SignInError::Wait { minutes: whole_minutes(wait) }),
            );
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
            response
        }
        Err(code) => {
            let support_id = attempt.summary.support_id.to_string();
            sign_in_response(
                &hub,
                &request,
                &attempt,
                code.entry().status,
                username,
                Some(SignInError::Failed { code, support_id }),
            )
        }
    }
}

/// Verifies that the connector asks for a password and that this browser started the login.
async fn verify_attempt(
    hub: &Hub,
    request: &HttpRequest,
    connector: String,
    state: Option<&str>,
) -> Result<SignInAttempt, HttpResponse> {
    let connector = ConnectorId::new(connector);
    if !hub.connectors.has_password_page(&connector) {
        return Err(error_pages::outside_login(hub, request, ErrorCode::NotFound));
    }
    let Some(state) = state else {
        return Err(error_pages::malformed_request(hub, request, ErrorCode::StateUnknown));
    };
    let held = hub.cookies.held_logins(request, None);
    let (hash, cookie, summary) = match held_logins::find_by_state(hub, &held, Some(state)).await {
        Ok(LoginByState::Expecting(hash, cookie, summary)) => (hash, cookie, summary),
        // The form of an older attempt: redirect to the current page of the login.
        Ok(LoginByState::OtherLive(hash, _) | LoginByState::OtherEnded(hash)) => {
            return Err(see_other(&error_pages::interaction_path(&hash)));
        }
        Ok(LoginByState::None) => {
            return Err(error_pages::outside_login(hub, request, ErrorCode::LoginOtherBrowser));
        }
        Err(code) => return Err(error_pages::outside_login(hub, request, code)),
    };
    // The login has ended, or the connector was blocked meanwhile: the login's page shows that.
    if !hub.connectors.login_may_use(&connector, &summary) {
        return Err(see_other(&error_pages::interaction_path(&hash)));
    }
    Ok(SignInAttempt { connector, state: state.to_owned(), hash, cookie, summary })
}

fn sign_in_response(
    hub: &Hub,
    request: &HttpRequest,
    attempt: &SignInAttempt,
    status: u16,
    username: String,
    trouble: Option<SignInError>,
) -> HttpResponse {
    let locale = negotiate_locale(request, &attempt.summary.ui_locales);
    let name = hub.connectors.display_name(&attempt.connector).unwrap_or_default();
    let federation = hub.federation.load();
    let service = federation
        .service_provider(&attempt.summary.client_id)
        .map_or("", |sp| locale.localize(&sp.name));
    let form = SignInPage {
        provider: locale.localize(&name).to_owned(),
        service: service.to_owned(),
        action: format!("/connectors/{}/login", attempt.connector),
        hidden: vec![
            HiddenField::new("state", attempt.state.as_str()),
            HiddenField::new(
                "csrf",
                csrf::form_token(&attempt.cookie, FormPurpose::SignIn, &attempt.state),
            ),
        ],
        username,
        error: trouble,
        back_url: error_pages::interaction_path(&attempt.hash),
    };
    page_response(hub, status, locale, |chrome| form.render(chrome))
}

/// Rounds up to whole minutes, so that the user does not retry too early.
fn whole_minutes(wait: Duration) -> u64 {
    wait.as_secs().div_ceil(60).max(1)
}
