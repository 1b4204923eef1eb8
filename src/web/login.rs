//! The endpoints of a login: choice page, choosing, cancelling, callback, consent
//! (docs/design/login.md).
//!
//! Each endpoint verifies that the browser started the login, verifies the form's CSRF token, runs
//! one step, and builds the response. Does not decide the order of steps; the login state machine
//! does.

use std::time::Duration;

use actix_web::cookie::Cookie;
use actix_web::http::header::SET_COOKIE;
use actix_web::{HttpRequest, HttpResponse, web};

use super::cookies::HeldLogin;
use super::csrf::{self, FormPurpose};
use super::form::FormError;
use super::held_logins::{self, LoginByState};
use super::hub::Hub;
use super::last_choice::{self, ChoiceQuery};
use super::rejection::{self, RejectionContext};
use super::responses::{authorization_response, negotiate_locale, page_response, see_other};
use super::{error_pages, form, page_models};
use crate::actor::{Reply, StepError};
use crate::ids::{ConnectorId, InteractionHash, Secret};
use crate::login::upstream::CallbackParams;
use crate::login::{Callback, ConsentAnswer, ConsentSubmission, LoginAnswer, LoginRequest};
use crate::protocol::authorize::AuthorizationResponse;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::params::{Params, RepeatedParamError};

/// Lifetime of a login's cookie after the login ended, so that a repeated step gets a response.
pub const ENDED_LOGIN_COOKIE_LIFETIME: Duration = Duration::from_secs(60);

/// Kind of request that a step response belongs to. Redirects from a callback end in `#`, so that
/// the browser inherits no fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResponseOrigin {
    Callback,
    Form,
    Page,
    /// The authorization request itself (`prompt=none`): the browser gets no cookie of the login.
    Authorize,
}

/// Handles `GET /api/v2/interaction/{hash}`: shows the current page of a login.
pub async fn show_login(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    let (hash, cookie) = match verify_login_cookie(&hub, &request, &path).await {
        Ok(proof) => proof,
        Err(response) => return response,
    };
    let mut response = run_step(
        &hub,
        &request,
        &hash,
        &cookie,
        LoginRequest::OpenPage { reuse: None },
        ResponseOrigin::Page,
    )
    .await;
    held_logins::close_oldest_logins(&hub, &request, &hash, &mut response).await;
    response
}

/// Handles `POST /api/v2/interaction/{hash}/provider`: chooses an identity provider.
pub async fn choose_provider(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
    body: web::Payload,
) -> HttpResponse {
    let (hash, cookie, params) =
        match verify_login_form(&hub, &request, &path, body, FormPurpose::ChooseProvider).await {
            Ok(proof) => proof,
            Err(response) => return response,
        };
    match params.single("provider") {
        Ok(Some(provider)) if ConnectorId::is_well_formed(provider) => {
            run_step(
                &hub,
                &request,
                &hash,
                &cookie,
                LoginRequest::Choose(provider.into()),
                ResponseOrigin::Form,
            )
            .await
        }
        Ok(_) | Err(RepeatedParamError) => {
            error_pages::malformed_request(&hub, &request, ErrorCode::BadRequest)
        }
    }
}

/// Handles `POST /api/v2/interaction/{hash}/cancel`.
pub async fn cancel_login(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
    body: web::Payload,
) -> HttpResponse {
    match verify_login_form(&hub, &request, &path, body, FormPurpose::CancelLogin).await {
        Ok((hash, cookie, _)) => {
            run_step(&hub, &request, &hash, &cookie, LoginRequest::Cancel, ResponseOrigin::Form)
                .await
        }
        Err(response) => response,
    }
}

/// Handles `GET /api/v2/callback/{connector}`, the redirect from an identity provider.
pub async fn handle_callback(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    let connector = ConnectorId::new(path.into_inner());
    let network = hub.proxies.client_network(&request);
    let held = hub.cookies.held_logins(&request, None);
    let answer = callback_params(&request);
    let mut response = match (answer, held.logins.as_slice()) {
        // The normal case needs no store call: the step itself compares the state.
        (Some((state, arrival)), [HeldLogin { hash, secret: value }]) => {
            let back = Callback { connector, state, params: arrival, network };
            run_step(
                &hub,
                &request,
                hash,
                value,
                LoginRequest::Callback(back),
                ResponseOrigin::Callback,
            )
            .await
        }
        (answer, _) => {
            let state = answer.as_ref().map(|(state, _)| state.as_str());
            match (held_logins::find_by_state(&hub, &held, state).await, answer) {
                (Ok(LoginByState::Expecting(hash, cookie, _)), Some((state, arrival))) => {
                    let back = Callback { connector, state, params: arrival, network };
                    run_step(
                        &hub,
                        &request,
                        &hash,
                        &cookie,
                        LoginRequest::Callback(back),
                        ResponseOrigin::Callback,
                    )
                    .await
                }
                (Ok(found), answer) => {
                    unusable_idp_response(&hub, &request, found, answer.is_some(), &connector)
                }
                (Err(code), _) => error_pages::outside_login(&hub, &request, code),
            }
        }
    };
    held_logins::expire_surplus_cookies(&hub, &held, &mut response);
    response
}

/// Returns the `state` and the other parameters of an identity provider's response; `None` if
/// `state` is missing or empty, or a parameter is malformed or repeated (RFC 6749 §3.1).
fn callback_params(request: &HttpRequest) -> Option<(String, CallbackParams)> {
    let params = form::parse_query(request.query_string()).ok()?;
    let owned = |name| params.single(name).ok().map(|value| value.map(str::to_owned));
    let arrival = CallbackParams {
        code: owned("code")?.map(Secret::new),
        iss: owned("iss")?,
        error: owned("error")?,
        error_description: owned("error_description")?,
    };
    Some((owned("state")??, arrival))
}

/// Builds the page for a response that no login of this browser expects. It links to the login that
/// can continue, if there is one.
fn unusable_idp_response(
    hub: &Hub,
    request: &HttpRequest,
    found: LoginByState,
    has_state: bool,
    connector: &ConnectorId,
) -> HttpResponse {
    let code = if has_state { ErrorCode::StateUnknown } else { ErrorCode::IdpStateUnusable };
    match found {
        LoginByState::Expecting(hash, _, summary) | LoginByState::OtherLive(hash, summary) => {
            error_pages::unusable_idp_response(hub, request, code, connector, (&hash, &summary))
        }
        LoginByState::OtherEnded(_) | LoginByState::None if has_state => {
            error_pages::outside_login(hub, request, ErrorCode::LoginOtherBrowser)
        }
        LoginByState::OtherEnded(_) | LoginByState::None => {
            error_pages::outside_login(hub, request, code)
        }
    }
}

/// Handles `GET /api/v2/interaction/{hash}/consent`: shows the consent page.
pub async fn show_consent(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    match verify_login_cookie(&hub, &request, &path).await {
        Ok((hash, cookie)) => {
            run_step(
                &hub,
                &request,
                &hash,
                &cookie,
                LoginRequest::OpenConsentPage,
                ResponseOrigin::Page,
            )
            .await
        }
        Err(response) => response,
    }
}

/// Handles `POST /api/v2/interaction/{hash}/consent`.
pub async fn answer_consent(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
    body: web::Payload,
) -> HttpResponse {
    let (hash, cookie, params) =
        match verify_login_form(&hub, &request, &path, body, FormPurpose::Consent).await {
            Ok(proof) => proof,
            Err(response) => return response,
        };
    let answer = match params.single("answer") {
        Ok(Some("yes")) => ConsentAnswer::Yes,
        Ok(Some("no")) => ConsentAnswer::No,
        Ok(_) | Err(RepeatedParamError) => {
            return error_pages::malformed_request(&hub, &request, ErrorCode::BadRequest);
        }
    };
    let page_digest = params.single("page_digest").ok().flatten().unwrap_or_default().to_owned();
    run_step(
        &hub,
        &request,
        &hash,
        &cookie,
        LoginRequest::Consent(ConsentSubmission { answer, page_digest }),
        ResponseOrigin::Form,
    )
    .await
}

/// Returns the login that the URL names and its cookie's value, which proves that this browser
/// started it.
///
/// # Errors
/// The response with the error page.
pub(super) async fn verify_login_cookie(
    hub: &Hub,
    request: &HttpRequest,
    hash: &str,
) -> Result<(InteractionHash, Secret<String>), HttpResponse> {
    if !InteractionHash::is_well_formed(hash) {
        return Err(error_pages::outside_login(hub, request, ErrorCode::LoginUnknown));
    }
    let hash = InteractionHash::new(hash);
    match hub.cookies.login_proof(request, &hash) {
        Some(cookie) => Ok((hash, cookie)),
        None => Err(error_pages::login_of_other_browser(hub, request, &hash).await),
    }
}

/// Parses a form of a login, and verifies its cookie and its CSRF token.
///
/// # Errors
/// The response with the error page.
pub(super) async fn verify_login_form(
    hub: &Hub,
    request: &HttpRequest,
    hash: &str,
    body: web::Payload,
    purpose: FormPurpose,
) -> Result<(InteractionHash, Secret<String>, Params), HttpResponse> {
    let params = form::parse_body(request, body).await.map_err(|error| match error {
        FormError::TooLarge => error_pages::outside_login(hub, request, ErrorCode::PayloadTooLarge),
        _ => error_pages::malformed_request(hub, request, error.code()),
    })?;
    let (hash, cookie) = verify_login_cookie(hub, request, hash).await?;
    // A consent token binds the displayed claims; the step compares them with the current ones.
    let one = |name| params.single(name).ok().flatten();
    let page_digest =
        if purpose == FormPurpose::Consent { one("page_digest").unwrap_or_default() } else { "" };
    let form_check = csrf::check_same_origin(request)
        .and_then(|()| csrf::verify_form_token(&cookie, purpose, page_digest, one("csrf")));
    if let Err(code) = form_check {
        let summary = match hub.logins.peek(&hash).await {
            Ok(Some(summary)) => summary,
            Ok(None) => {
                return Err(error_pages::outside_login(hub, request, ErrorCode::LoginUnknown));
            }
            Err(code) => {
                return Err(error_pages::login_step_failed(
                    hub,
                    request,
                    &hash,
                    StepError::Hub(code),
                ));
            }
        };
        let client_id = Some(&summary.client_id);
        let context = RejectionContext {
            client_id,
            login: Some(&hash),
            ..RejectionContext::with_support_id(summary.support_id.as_str())
        };
        rejection::record_rejection(
            hub,
            request,
            context,
            code,
            "form with an invalid CSRF token rejected",
        );
        let problem = crate::login::LoginErrorPage {
            code,
            claim: None,
            next_action: crate::login::NextAction::ChooseIdp,
        };
        return Err(error_pages::login_error(hub, request, &hash, &cookie, problem, &summary));
    }
    Ok((hash, cookie, params))
}

async fn run_step(
    hub: &Hub,
    request: &HttpRequest,
    hash: &InteractionHash,
    cookie: &Secret<String>,
    login_request: LoginRequest,
    from: ResponseOrigin,
) -> HttpResponse {
    let session = hub.cookies.session(request);
    match hub.logins.run_step(hash, login_request, session).await {
        Ok(reply) => step_response(hub, request, hash, cookie, reply, from),
        Err(ended) => error_pages::login_step_failed(hub, request, hash, ended),
    }
}

/// Builds the response for the result of a step.
pub fn step_response(
    hub: &Hub,
    request: &HttpRequest,
    hash: &InteractionHash,
    cookie: &Secret<String>,
    reply: Reply,
    from: ResponseOrigin,
) -> HttpResponse {
    let Reply { answer, summary } = reply;
    let locale = negotiate_locale(request, &summary.ui_locales);
    let mut response = match answer {
        // After a form or a callback, redirect to the page, so that a reload repeats nothing.
        LoginAnswer::ChoicePage { .. } if from != ResponseOrigin::Page => {
            see_other(&without_inherited_fragment(&error_pages::interaction_path(hash), from))
        }
        LoginAnswer::ChoicePage { banner } => {
            let query = ChoiceQuery::from_request(hub, request);
            let choice =
                page_models::choice_page(hub, locale, hash, cookie, &summary, banner, &query);
            let mut response = page_response(hub, 200, locale, |chrome| choice.render(chrome));
            if let Some(cookie) = last_choice::outdated_cookie_removal(hub, request) {
                add_cookie(&mut response, &cookie);
            }
            response
        }
        LoginAnswer::RedirectToIdp { url } => see_other(&url),
        LoginAnswer::RedirectToConsent => see_other(&without_inherited_fragment(
            &format!("{}/consent", error_pages::interaction_path(hash)),
            from,
        )),
        LoginAnswer::ConsentPage(consenting) => {
            let consent =
                page_models::consent_page(hub, locale, hash, cookie, &summary, &consenting);
            page_response(hub, 200, locale, |chrome| consent.render(chrome))
        }
        LoginAnswer::ServiceProvider { answer, session } => {
            let answer = match answer {
                AuthorizationResponse::Redirect { location } => AuthorizationResponse::Redirect {
                    location: without_inherited_fragment(&location, from),
                },
                AuthorizationResponse::FormPost { action, fields } => {
                    AuthorizationResponse::FormPost { action, fields }
                }
            };
            let federation = hub.federation.load();
            let service = federation
                .service_provider(&summary.client_id)
                .map_or("", |sp| locale.localize(&sp.name));
            let mut response = authorization_response(hub, locale, service, answer);
            if let Some(session) = session {
                add_cookie(&mut response, &hub.cookies.session_cookie(&session));
                if let Some(cookie) = last_choice::last_choice_cookie(hub, &summary) {
                    add_cookie(&mut response, &cookie);
                }
            }
            response
        }
        LoginAnswer::BlockedPage(banner) => {
            error_pages::idp_blocked(hub, request, hash, cookie, &banner, &summary)
        }
        LoginAnswer::ErrorPage(problem) => {
            error_pages::login_error(hub, request, hash, cookie, problem, &summary)
        }
    };
    if summary.is_completed && from != ResponseOrigin::Authorize {
        let now = hub.env.now();
        add_cookie(
            &mut response,
            &hub.cookies.login_cookie(hash, cookie, now, now + ENDED_LOGIN_COOKIE_LIFETIME),
        );
    }
    response
}

fn without_inherited_fragment(location: &str, from: ResponseOrigin) -> String {
    match from {
        ResponseOrigin::Callback => format!("{location}#"),
        ResponseOrigin::Form | ResponseOrigin::Page | ResponseOrigin::Authorize => {
            location.to_owned()
        }
    }
}

/// Adds a cookie to a response.
pub(super) fn add_cookie(response: &mut HttpResponse, cookie: &Cookie<'_>) {
    // A name and a value built by the hub are always a valid header.
    if let Ok(value) = actix_web::http::header::HeaderValue::from_str(&cookie.to_string()) {
        response.headers_mut().append(SET_COOKIE, value);
    }
}
