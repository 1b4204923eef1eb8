//! The endpoints of a login: choice page, choosing, cancelling, callback, consent
//! (docs/design/login.md).
//!
//! Each endpoint verifies that the browser started the login, verifies the form's CSRF token, runs
//! one step, and builds the response. Does not decide the order of steps; the login state machine
//! does.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};

use super::cookies::{HeldLogin, HeldLogins};
use super::csrf::FormPurpose;
use super::error_responses::response_or_rejection;
use super::held_logins::{self, LoginByState, find_by_state, is_callback_awaited};
use super::last_choice::{self, ChoiceQuery};
use super::login_request_check::{verify_login_cookie, verify_login_form};
use super::page_models::{self, LoginPageContext};
use super::rejection::{Rejection, UnusableIdpResponse};
use super::request_context::RequestContext;
use super::responses::{
    add_cookie, authorization_response, interaction_path, page_response, see_other,
};
use super::{error_pages, form, mail_code, posted_callback};
use passerelle_federation::login::upstream::CallbackParams;
use passerelle_federation::login::{
    Callback, ChoiceBanner, ConsentAnswer, ConsentSubmission, LoginAnswer, LoginRequest,
};
use passerelle_hub::Reply;
use passerelle_protocol::authorize::AuthorizationResponse;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_protocol::params::{ParamError, Params};
use passerelle_quota::RateLimitError;

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
///
/// # Errors
/// Returns the rejection to answer with.
pub async fn show_login(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let login = verify_login_cookie(&context, &path).await?;
    let open = LoginRequest::OpenPage { reuse: Ok(None) };
    let shown = answer_step(&context, &login, open, ResponseOrigin::Page).await;
    let mut response = response_or_rejection(&context, shown).await;
    held_logins::close_oldest_logins(&context, &login.hash, &mut response).await;
    Ok(response)
}

/// Handles `POST /api/v2/interaction/{hash}/provider`: chooses an identity provider.
///
/// # Errors
/// Returns the rejection to answer with.
pub async fn choose_provider(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let (login, params) =
        verify_login_form(&context, &path, body, FormPurpose::CHOOSE_PROVIDER).await?;
    match params.single("provider") {
        Ok(Some(provider)) if ConnectorId::is_well_formed(provider) => {
            let choice = LoginRequest::Choose(provider.into());
            answer_step(&context, &login, choice, ResponseOrigin::Form).await
        }
        Ok(_) | Err(_) => Err(Rejection::malformed(ErrorCode::BadRequest)),
    }
}

/// Handles `POST /api/v2/interaction/{hash}/cancel`.
///
/// # Errors
/// Returns the rejection to answer with.
pub async fn cancel_login(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let (login, _) = verify_login_form(&context, &path, body, FormPurpose::CANCEL_LOGIN).await?;
    answer_step(&context, &login, LoginRequest::Cancel, ResponseOrigin::Form).await
}

/// Handles `GET /api/v2/callback/{connector}`, the redirect from an identity provider.
///
/// # Errors
/// Returns the rejection to answer with.
pub async fn handle_callback(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let held = context.hub.cookies.held_logins(&context.request, None);
    let connector = ConnectorId::new(path.into_inner());
    let found = find_login(&context, connector.clone(), &held).await;
    let handled = match found {
        Ok((login, callback)) => {
            let callback = LoginRequest::Callback(callback);
            answer_step(&context, &login, callback, ResponseOrigin::Callback).await
        }
        Err(rejection) => Err(rejection),
    };
    let mut response = response_or_rejection(&context, handled).await;
    posted_callback::remove_used(&context, &connector, response.status()).await;
    held_logins::expire_surplus_cookies(&context.hub, &held, &mut response);
    Ok(response)
}

/// Returns the login of this browser that expects a response of this identity provider, and the
/// response.
async fn find_login(
    context: &RequestContext,
    connector: ConnectorId,
    held: &HeldLogins,
) -> Result<(HeldLogin, Callback), Rejection> {
    let hub = &context.hub;
    let network = hub.proxies.client_network(&context.request);
    let decrypted_state =
        async |response: &Secret<String>| decrypt_state(context, &connector, held, response).await;
    let params = match posted_callback::load_posted(context, &connector).await? {
        Some(posted) => read_callback_params(&posted, decrypted_state).await?,
        None => callback_params(&context.request, decrypted_state).await?,
    };
    let Some((state, params)) = params else {
        let code = ErrorCode::IdpStateUnusable;
        let found = find_by_state(hub, held, None).await.map_err(Rejection::OutsideLogin)?;
        return Err(unusable_idp_response(code, found, connector));
    };
    let login = match held.logins.as_slice() {
        // The normal case needs no store call: the step itself compares the state.
        [login] => login.clone(),
        _ => match find_by_state(hub, held, Some(&state)).await.map_err(Rejection::OutsideLogin)? {
            LoginByState::Expecting(login, _) => login,
            other => return Err(unusable_idp_response(ErrorCode::StateUnknown, other, connector)),
        },
    };
    Ok((login, Callback { connector, state, params, network }))
}

/// Returns the unverified `state` of an encrypted response; `None` if it can't be decrypted.
///
/// A stranger's response is not decrypted. A cookie alone proves nothing, because anyone can compute
/// its name: the store must know a login of this browser. Anyone can start a login, so a decrypted
/// response that closes no open attempt is a failure of its network.
async fn decrypt_state(
    context: &RequestContext,
    connector: &ConnectorId,
    held: &HeldLogins,
    response: &Secret<String>,
) -> Result<Option<String>, Rejection> {
    let hub = &context.hub;
    if matches!(find_by_state(hub, held, None).await, Ok(LoginByState::None) | Err(_)) {
        return Ok(None);
    }
    let limits = &hub.core.rate_limits;
    let address = || hub.proxies.client_address(&context.request);
    limits.check_expensive_authentication(address).map_err(network_limited)?;
    let state = hub.connectors.unverified_state(connector, response).await;
    let is_awaited = match &state {
        Some(state) => is_callback_awaited(hub, held, connector, state).await,
        None => Ok(false),
    };
    if !is_awaited.map_err(Rejection::OutsideLogin)? {
        limits.check_failed_authentication(address).map_err(network_limited)?;
    }
    Ok(state)
}

const fn network_limited(over: RateLimitError) -> Rejection {
    Rejection::RateLimited { code: ErrorCode::NetworkLimited, over, client_id: None }
}

/// Returns the `state` and the other parameters of an identity provider's response; `None` if
/// `state` is missing or empty, or one of these is malformed or repeated (RFC 6749 §3.1). Others are
/// ignored (RFC 6749 §4.1.2). `decrypted_state` finds it in an encrypted response.
///
/// # Errors
/// The rejection by `decrypted_state`.
pub async fn callback_params(
    request: &HttpRequest,
    decrypted_state: impl AsyncFnOnce(&Secret<String>) -> Result<Option<String>, Rejection>,
) -> Result<Option<(String, CallbackParams)>, Rejection> {
    let Ok(query) = form::parse_query(request.query_string()) else { return Ok(None) };
    read_callback_params(&query, decrypted_state).await
}

async fn read_callback_params(
    query: &Params,
    decrypted_state: impl AsyncFnOnce(&Secret<String>) -> Result<Option<String>, Rejection>,
) -> Result<Option<(String, CallbackParams)>, Rejection> {
    let Some((state, params)) = split_callback_params(query) else { return Ok(None) };
    let state = match (state, &params.response) {
        // A compact JWE has five parts (RFC 7516 §3.1).
        (None, Some(response)) if response.reveal().split('.').count() == 5 => {
            // A malformed code leaves the attempt open, so that each repetition would cost a
            // decryption.
            if !params.code_is_acceptable() {
                return Ok(None);
            }
            decrypted_state(response).await?
        }
        (None, Some(response)) => CallbackParams::unverified_state(response.reveal()),
        (state, _) => state,
    };
    Ok(state.filter(|state| !state.is_empty()).map(|state| (state, params)))
}

/// Returns the parameter `state` and the others; `None` if one is malformed or repeated.
fn split_callback_params(query: &Params) -> Option<(Option<String>, CallbackParams)> {
    let owned = |name| query.single(name).ok().map(|value| value.map(str::to_owned));
    // It is not used, so only a repeated one is an error.
    if query.single("error_description") == Err(ParamError::Repeated) {
        return None;
    }
    let params = CallbackParams {
        code: owned("code")?.map(Secret::new),
        iss: owned("iss")?,
        error: owned("error")?,
        response: owned("response")?.map(Secret::new),
    };
    Some((owned("state")?, params))
}

/// Returns the rejection of a response that no login of this browser expects. Its page links to the
/// login that can continue, if there is one.
fn unusable_idp_response(
    code: ErrorCode,
    found: LoginByState,
    connector: ConnectorId,
) -> Rejection {
    let unusable = |hash, summary| {
        let unusable = UnusableIdpResponse { code, connector, hash, summary };
        Rejection::UnusableIdpResponse(Box::new(unusable))
    };
    match found {
        LoginByState::Expecting(login, summary) => unusable(login.hash, summary),
        LoginByState::OtherLive(hash, summary) => unusable(hash, summary),
        LoginByState::OtherEnded(_) | LoginByState::None if code == ErrorCode::StateUnknown => {
            Rejection::OutsideLogin(ErrorCode::LoginOtherBrowser)
        }
        LoginByState::OtherEnded(_) | LoginByState::None => Rejection::OutsideLogin(code),
    }
}

/// Handles `GET /api/v2/interaction/{hash}/consent`: shows the consent page.
///
/// # Errors
/// Returns the rejection to answer with.
pub async fn show_consent(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let login = verify_login_cookie(&context, &path).await?;
    answer_step(&context, &login, LoginRequest::OpenConsentPage, ResponseOrigin::Page).await
}

/// Handles `POST /api/v2/interaction/{hash}/consent`.
///
/// # Errors
/// Returns the rejection to answer with.
pub async fn answer_consent(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let (login, params) = verify_login_form(&context, &path, body, FormPurpose::CONSENT).await?;
    let answer = match params.single("answer") {
        Ok(Some("yes")) => ConsentAnswer::Yes,
        Ok(Some("no")) => ConsentAnswer::No,
        Ok(_) | Err(_) => {
            return Err(Rejection::malformed(ErrorCode::BadRequest));
        }
    };
    let page_digest = params.get("page_digest").unwrap_or_default().to_owned();
    let submission = LoginRequest::Consent(ConsentSubmission { answer, page_digest });
    answer_step(&context, &login, submission, ResponseOrigin::Form).await
}

/// Runs a step and builds its response.
///
/// # Errors
/// `StepFailed` if the step has no result.
pub(super) async fn answer_step(
    context: &RequestContext,
    login: &HeldLogin,
    login_request: LoginRequest,
    from: ResponseOrigin,
) -> Result<HttpResponse, Rejection> {
    let session = context.hub.cookies.session(&context.request);
    match context.hub.logins.run_step(&login.hash, login_request, session).await {
        Ok(reply) => step_response(context, login, reply, from).await,
        Err(error) => Err(Rejection::StepFailed(login.hash.clone(), error)),
    }
}

/// Shows the choice page of a login, as this query asks for it; or the page where the login is.
///
/// # Errors
/// `StepFailed` if the step has no result.
pub(super) async fn show_choice(
    context: &RequestContext,
    login: &HeldLogin,
    query: &ChoiceQuery,
) -> Result<HttpResponse, Rejection> {
    let session = context.hub.cookies.session(&context.request);
    let open = LoginRequest::OpenPage { reuse: Ok(None) };
    match context.hub.logins.run_step(&login.hash, open, session).await {
        Ok(Reply { answer: LoginAnswer::ChoicePage { banner }, summary }) => {
            let page = LoginPageContext::new(context, login, &summary);
            Ok(choice_response(context, &page, banner, query))
        }
        Ok(reply) => step_response(context, login, reply, ResponseOrigin::Form).await,
        Err(error) => Err(Rejection::StepFailed(login.hash.clone(), error)),
    }
}

fn choice_response(
    context: &RequestContext,
    page: &LoginPageContext<'_>,
    banner: Option<ChoiceBanner>,
    query: &ChoiceQuery,
) -> HttpResponse {
    let choice = page_models::choice_page(page, banner, query);
    let mut response = page_response(page.hub, 200, &page.locale, |chrome| choice.render(chrome));
    if let Some(cookie) = last_choice::outdated_cookie_removal(context) {
        add_cookie(&mut response, &cookie);
    }
    response
}

/// Builds the response for the result of a step.
///
/// # Errors
/// `OutsideLogin` if the response to the service provider can't be signed or encrypted.
pub(super) async fn step_response(
    context: &RequestContext,
    login: &HeldLogin,
    reply: Reply,
    from: ResponseOrigin,
) -> Result<HttpResponse, Rejection> {
    let Reply { answer, summary } = reply;
    let hub = &context.hub;
    let page = || LoginPageContext::new(context, login, &summary);
    let mut response = match answer {
        // After a form or a callback, redirect to the page, so that a reload repeats nothing.
        LoginAnswer::ChoicePage { .. } if from != ResponseOrigin::Page => {
            see_other(&without_inherited_fragment(&interaction_path(&login.hash), from))
        }
        LoginAnswer::ChoicePage { banner } => {
            choice_response(context, &page(), banner, &ChoiceQuery::from_request(context))
        }
        LoginAnswer::RedirectToIdp { url } => see_other(&url),
        LoginAnswer::RedirectToMail => {
            let mail_path = format!("{}/mail", interaction_path(&login.hash));
            see_other(&without_inherited_fragment(&mail_path, from))
        }
        LoginAnswer::MailPage(mail) => mail_code::mail_page_response(&page(), mail),
        LoginAnswer::RedirectToConsent => {
            let consent_path = format!("{}/consent", interaction_path(&login.hash));
            see_other(&without_inherited_fragment(&consent_path, from))
        }
        LoginAnswer::ConsentPage(consenting) => {
            let page = page();
            let consent = page_models::consent_page(&page, &consenting);
            page_response(hub, 200, &page.locale, |chrome| consent.render(chrome))
        }
        LoginAnswer::ServiceProvider { answer, session } => {
            let mut response = Box::pin(service_provider_response(page, answer, from))
                .await
                .map_err(Rejection::OutsideLogin)?;
            if let Some(session) = session {
                add_cookie(&mut response, &hub.cookies.session_cookie(&session));
                if let Some(cookie) = last_choice::last_choice_cookie(hub, &summary) {
                    add_cookie(&mut response, &cookie);
                }
            }
            response
        }
        // Its own endpoint ends the person's sessions.
        LoginAnswer::WrongUserReported(_) => see_other(&interaction_path(&login.hash)),
        LoginAnswer::BlockedPage(banner) => error_pages::idp_blocked(&page(), &banner),
        LoginAnswer::ErrorPage(problem) => error_pages::login_error(&page(), problem),
    };
    if summary.is_completed && from != ResponseOrigin::Authorize {
        let until = hub.core.env.now() + ENDED_LOGIN_COOKIE_LIFETIME;
        add_cookie(
            &mut response,
            &hub.cookies.login_cookie(&login.hash, &login.secret, hub.core.env.now(), until),
        );
    }
    Ok(response)
}

async fn service_provider_response<'a>(
    page: impl FnOnce() -> LoginPageContext<'a>,
    answer: AuthorizationResponse,
    from: ResponseOrigin,
) -> Result<HttpResponse, ErrorCode> {
    match answer {
        AuthorizationResponse::Redirect { location } => {
            Ok(see_other(&without_inherited_fragment(&location, from)))
        }
        answer => {
            let (page, ends_fragment) = (page(), from == ResponseOrigin::Callback);
            let service = page.service_name();
            authorization_response(page.hub, &page.locale, &service, answer, ends_fragment).await
        }
    }
}

fn without_inherited_fragment(location: &str, from: ResponseOrigin) -> String {
    match from {
        ResponseOrigin::Callback => format!("{location}#"),
        ResponseOrigin::Form | ResponseOrigin::Page | ResponseOrigin::Authorize => {
            location.to_owned()
        }
    }
}
