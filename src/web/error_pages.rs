//! Turns errors into pages (docs/design/errors.md).
//!
//! Every error page says what happened, who can fix it and what to do next. No page carries
//! internals.

use actix_web::http::header::{HeaderValue, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse};

use super::csrf::{self, FormPurpose};
use super::hub::Hub;
use super::outer_middleware::EarlyErrorContext;
use super::page_models;
use super::pages::{
    ClaimName, ErrorDetail, ErrorPage, HiddenField, Locale, PageAction, PageChrome, PageTheme,
    ServiceReturn, negotiate_language,
};
use super::rejection::{self, RejectionContext};
use super::responses::{BASE_PATH, landing_page_response, negotiate_locale, page_response};
use crate::actor::{LoginSummary, StepError};
use crate::env::Env;
use crate::ids::{ClientId, ConnectorId, InteractionHash, Secret, SupportId};
use crate::login::{self, LoginErrorPage};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::discovery::path;
use crate::quota::RateLimitError;
use crate::telemetry;

/// Builds the 400 page for a malformed request: `Y000400`, with the precise code beside it.
///
/// The page links to nothing that the request names.
#[must_use]
pub fn malformed_request(hub: &Hub, request: &HttpRequest, precise: ErrorCode) -> HttpResponse {
    malformed_request_page(hub, request, precise, None, Vec::new())
}

/// Builds the 400 page for an authorization request. `client_id`, if registered, is logged.
#[must_use]
pub fn malformed_authorization_request(
    hub: &Hub,
    request: &HttpRequest,
    precise: ErrorCode,
    client_id: Option<&ClientId>,
) -> HttpResponse {
    malformed_request_page(hub, request, precise, client_id, Vec::new())
}

/// Builds the 400 page for a logout request, with a link to sign out. No session is ended.
#[must_use]
pub fn malformed_logout_request(
    hub: &Hub,
    request: &HttpRequest,
    precise: ErrorCode,
) -> HttpResponse {
    malformed_request_page(hub, request, precise, None, vec![sign_out_action()])
}

/// Builds the page for a logout with an invalid form token, or whose session could not be ended.
#[must_use]
pub fn logout_failed(hub: &Hub, request: &HttpRequest, code: ErrorCode) -> HttpResponse {
    let mut error = error_page_without_login(hub, code);
    error.actions = vec![sign_out_action()];
    rejection::record_rejection(
        hub,
        request,
        RejectionContext::with_support_id(&error.support_id),
        code,
        "logout failed",
    );
    error_page_response(hub, negotiate_locale(request, &[]), &error)
}

fn sign_out_action() -> PageAction {
    PageAction::SignOut { href: path::END_SESSION.to_owned() }
}

fn malformed_request_page(
    hub: &Hub,
    request: &HttpRequest,
    precise: ErrorCode,
    client_id: Option<&ClientId>,
    ways: Vec<PageAction>,
) -> HttpResponse {
    let entry = precise.entry();
    let mut error = error_page_without_login(hub, ErrorCode::BadRequest);
    error.actions = ways;
    if precise != ErrorCode::BadRequest {
        error.detail = Some(ErrorDetail {
            code: entry.code.to_owned(),
            description: entry.description.to_owned(),
        });
    }
    let context =
        RejectionContext { client_id, ..RejectionContext::with_support_id(&error.support_id) };
    rejection::record_rejection(hub, request, context, precise, "malformed request rejected");
    page_response(hub, 400, negotiate_locale(request, &[]), |chrome| error.render(chrome))
}

/// Builds the page for an error outside any login.
#[must_use]
pub fn outside_login(hub: &Hub, request: &HttpRequest, code: ErrorCode) -> HttpResponse {
    let error = error_page_without_login(hub, code);
    rejection::record_rejection(
        hub,
        request,
        RejectionContext::with_support_id(&error.support_id),
        code,
        "request rejected",
    );
    match code {
        ErrorCode::NotFound | ErrorCode::MethodNotAllowed => landing_page_response(
            hub,
            code.entry().status,
            negotiate_locale(request, &[]),
            |chrome| error.render(chrome),
        ),
        _ => error_page_response(hub, negotiate_locale(request, &[]), &error),
    }
}

/// Builds the page for a browser that does not hold the login's cookie.
///
/// The page does not name the service provider: the URL may come from an attacker who wants to
/// know where the login leads.
pub async fn login_of_other_browser(
    hub: &Hub,
    request: &HttpRequest,
    hash: &InteractionHash,
) -> HttpResponse {
    let summary = match hub.logins.peek(hash).await {
        Ok(Some(summary)) => summary,
        Ok(None) => return outside_login(hub, request, ErrorCode::LoginUnknown),
        Err(code) => return login_step_failed(hub, request, hash, StepError::Hub(code)),
    };
    // A tab whose login, with its cookie, was closed because the browser opened newer ones.
    let code =
        if summary.is_displaced { ErrorCode::TooManyLogins } else { ErrorCode::LoginOtherBrowser };
    let error = ErrorPage {
        support_id: summary.support_id.to_string(),
        ..error_page_without_login(hub, code)
    };
    let context = RejectionContext {
        client_id: Some(&summary.client_id),
        login: Some(hash),
        ..RejectionContext::with_support_id(&error.support_id)
    };
    rejection::record_rejection(
        hub,
        request,
        context,
        error.code,
        "login step rejected: the browser does not hold the login's cookie",
    );
    error_page_response(hub, negotiate_locale(request, &[]), &error)
}

/// Builds the page for an identity provider's response that belongs to no login of this browser.
///
/// It links to the login that can continue.
#[must_use]
pub fn unusable_idp_response(
    hub: &Hub,
    request: &HttpRequest,
    code: ErrorCode,
    connector: &ConnectorId,
    (hash, summary): (&InteractionHash, &LoginSummary),
) -> HttpResponse {
    let locale = negotiate_locale(request, &summary.ui_locales);
    let mut error = error_page_for_login(hub, code, summary, locale);
    error.provider =
        hub.connectors.display_name(connector).map(|name| locale.localize(&name).to_owned());
    error.actions = vec![PageAction::Continue { href: interaction_path(hash) }];
    let context = RejectionContext {
        client_id: Some(&summary.client_id),
        login: Some(hash),
        ..RejectionContext::with_support_id(&error.support_id)
    };
    rejection::record_rejection(
        hub,
        request,
        context,
        code,
        "identity provider's response belongs to no login of this browser",
    );
    error_page_response(hub, locale, &error)
}

/// Builds the page for a login that was not admitted, with a link to the service's home page.
#[must_use]
pub fn login_not_admitted(
    hub: &Hub,
    request: &HttpRequest,
    code: ErrorCode,
    client_id: &ClientId,
) -> HttpResponse {
    let locale = negotiate_locale(request, &[]);
    let mut error = error_page_without_login(hub, code);
    if let Some(service) = hub.federation.load().service_provider(client_id) {
        error.service = Some(locale.localize(&service.name).to_owned());
        error.actions =
            vec![PageAction::ServiceHome { href: service.registration.home_page.clone() }];
    }
    let context = RejectionContext {
        client_id: Some(client_id),
        ..RejectionContext::with_support_id(&error.support_id)
    };
    rejection::record_rejection(hub, request, context, code, "login not admitted");
    error_page_response(hub, locale, &error)
}

/// Builds the page for a login over a rate limit: 429 with `Retry-After` (RFC 6585 §4), and a link
/// to the service's home page.
///
/// It is never a redirect: the service provider would send the browser again.
#[must_use]
pub fn rate_limited(
    hub: &Hub,
    request: &HttpRequest,
    code: ErrorCode,
    over: RateLimitError,
    client_id: Option<&ClientId>,
) -> HttpResponse {
    let named = client_id.filter(|id| hub.federation.load().active_service_provider(id).is_some());
    let mut response = match named {
        Some(client_id) => login_not_admitted(hub, request, code, client_id),
        None => outside_login(hub, request, code),
    };
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(over.retry_after_seconds()));
    response
}

/// Builds the page for a login step that could not be run.
#[must_use]
pub fn login_step_failed(
    hub: &Hub,
    request: &HttpRequest,
    hash: &InteractionHash,
    step_error: StepError,
) -> HttpResponse {
    let code = match step_error {
        StepError::Unknown => ErrorCode::LoginUnknown,
        StepError::Interrupted => ErrorCode::Interrupted,
        StepError::Hub(code) => code,
    };
    let mut error = error_page_without_login(hub, code);
    if step_error != StepError::Unknown {
        error.actions = vec![PageAction::TryAgain { href: interaction_path(hash) }];
    }
    // Anyone can make up the hash of an unknown login, so it is not logged.
    let login = Some(hash).filter(|_| step_error != StepError::Unknown);
    let context =
        RejectionContext { login, ..RejectionContext::with_support_id(&error.support_id) };
    rejection::record_rejection(hub, request, context, code, "login step failed");
    error_page_response(hub, negotiate_locale(request, &[]), &error)
}

/// Builds the page for an error of the login state machine, with the next action that it names.
#[must_use]
pub fn login_error(
    hub: &Hub,
    request: &HttpRequest,
    hash: &InteractionHash,
    cookie: &Secret<String>,
    problem: LoginErrorPage,
    summary: &LoginSummary,
) -> HttpResponse {
    let locale = negotiate_locale(request, &summary.ui_locales);
    let mut error = error_page_for_login(hub, problem.code, summary, locale);
    error.claim = problem.claim.and_then(|claim| ClaimName::from_wire_name(claim.as_str()));
    error.actions = match problem.next_action {
        login::NextAction::ChooseIdp => vec![PageAction::Continue { href: interaction_path(hash) }],
        login::NextAction::ReturnToServiceProvider => vec![return_to_service_action(hash, cookie)],
        login::NextAction::HomePage => service_home_action(hub, summary).into_iter().collect(),
    };
    error_page_response(hub, locale, &error)
}

/// Builds the page for an identity provider that was blocked during the login.
///
/// It offers another identity provider, or the return to the service provider.
#[must_use]
pub fn idp_blocked(
    hub: &Hub,
    request: &HttpRequest,
    hash: &InteractionHash,
    cookie: &Secret<String>,
    banner: &login::ChoiceBanner,
    summary: &LoginSummary,
) -> HttpResponse {
    let locale = negotiate_locale(request, &summary.ui_locales);
    let mut error = error_page_for_login(hub, banner.code, summary, locale);
    let connector = banner.connector.as_ref();
    error.provider = connector
        .and_then(|id| hub.connectors.display_name(id))
        .map(|name| locale.localize(&name).to_owned());
    error.message =
        connector.and_then(|id| page_models::operator_message(hub, locale, summary, id));
    error.actions = vec![
        PageAction::OtherProvider { href: interaction_path(hash) },
        return_to_service_action(hash, cookie),
    ];
    error_page_response(hub, locale, &error)
}

fn return_to_service_action(hash: &InteractionHash, cookie: &Secret<String>) -> PageAction {
    let fields =
        vec![HiddenField::new("csrf", csrf::form_token(cookie, FormPurpose::CancelLogin, ""))];
    PageAction::BackToService(ServiceReturn::Post {
        action: format!("{}/cancel", interaction_path(hash)),
        fields,
    })
}

/// Returns the path of a login's interaction page.
#[must_use]
pub fn interaction_path(hash: &InteractionHash) -> String {
    format!("{BASE_PATH}/interaction/{hash}")
}

/// Renders the error page of the outer middleware, which responds before any endpoint runs.
#[must_use]
pub fn render_early_error(
    env: &Env,
    theme: &PageTheme,
    head: &EarlyErrorContext,
    code: ErrorCode,
) -> String {
    let locale = negotiate_language(&[], head.accept_language.as_deref());
    let mut error = new_error_page(env, code);
    // An error of the hub leaves the login as it was, so it can be continued.
    let hash =
        head.path.strip_prefix("/api/v2/interaction/").and_then(|rest| rest.split('/').next());
    if let Some(hash) = hash.filter(|hash| InteractionHash::is_well_formed(hash)) {
        error.actions =
            vec![PageAction::TryAgain { href: interaction_path(&InteractionHash::new(hash)) }];
    }
    telemetry::log_rejection(
        Some(&error.support_id),
        None,
        code,
        "request rejected by the outer middleware",
    );
    error.render(&PageChrome { locale, nonce: "", theme, base_path: BASE_PATH, notices: &[] })
}

fn error_page_without_login(hub: &Hub, code: ErrorCode) -> ErrorPage {
    new_error_page(&hub.env, code)
}

fn new_error_page(env: &Env, code: ErrorCode) -> ErrorPage {
    let support_id = SupportId::generate(env.entropy()).to_string();
    ErrorPage {
        code,
        detail: None,
        service: None,
        provider: None,
        message: None,
        claim: None,
        actions: Vec::new(),
        support_id,
        at: env.now(),
    }
}

fn error_page_for_login(
    hub: &Hub,
    code: ErrorCode,
    summary: &LoginSummary,
    locale: Locale,
) -> ErrorPage {
    let service = hub
        .federation
        .load()
        .service_provider(&summary.client_id)
        .map(|sp| locale.localize(&sp.name).to_owned());
    ErrorPage {
        code,
        detail: None,
        service,
        provider: None,
        message: None,
        claim: None,
        actions: Vec::new(),
        support_id: summary.support_id.to_string(),
        at: hub.env.now(),
    }
}

fn service_home_action(hub: &Hub, summary: &LoginSummary) -> Option<PageAction> {
    let federation = hub.federation.load();
    let service = federation.service_provider(&summary.client_id)?;
    Some(PageAction::ServiceHome { href: service.registration.home_page.clone() })
}

fn error_page_response(hub: &Hub, locale: Locale, error: &ErrorPage) -> HttpResponse {
    let status = error.code.entry().status;
    let mut response = page_response(hub, status, locale, |chrome| error.render(chrome));
    if status == 503 {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}
