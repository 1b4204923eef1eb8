//! Turns errors into pages (docs/integrate/errors.md).
//!
//! Every error page says what happened, who can fix it and what to do next. No page carries
//! internals.

use actix_web::HttpResponse;
use actix_web::http::Method;
use actix_web::http::header::{HeaderValue, RETRY_AFTER};

use super::cookies::HeldLogin;
use super::csrf::FormPurpose;
use super::error_address;
use super::hub::Hub;
use super::outer_middleware::EarlyErrorContext;
use super::page_language::PageLanguage;
use super::page_models::LoginPageContext;
use super::pages::{
    ErrorPage, HiddenField, PageAction, PageChrome, PageTheme, PostForm, ServiceReturn,
};
use super::rejection::{self, RejectionContext, UnusableIdpResponse};
use super::request_context::RequestContext;
use super::responses::{BASE_PATH, interaction_path, landing_page_response, page_response};
use crate::pages::ClaimLabel;
use passerelle_federation::login::{self, LoginErrorPage};
use passerelle_hub::{LoginSummary, StepError};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::discovery::path;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::{ClientId, InteractionHash, SupportId};
use passerelle_quota::RateLimitError;

/// `Retry-After` of a hub that is unavailable for a short time.
const UNAVAILABLE_RETRY_SECONDS: u64 = 5;

/// The page of a rejection, and the data about it in the logs.
struct RejectionPage<'a> {
    context: &'a RequestContext,
    page: ErrorPage,
    locale: PageLanguage,
    /// Code in the log and in the audit log.
    recorded: ErrorCode,
    client_id: Option<&'a ClientId>,
    login: Option<&'a InteractionHash>,
}

impl<'a> RejectionPage<'a> {
    /// Creates a page that shows nothing of a login.
    fn new(context: &'a RequestContext, code: ErrorCode) -> Self {
        let page = new_error_page(&context.hub.core.env, code, None);
        Self {
            context,
            page,
            // The request may come from an attacker, so the page repeats nothing of it, unless it
            // offers to try again.
            locale: context.locale(&[]).without_return_path(),
            recorded: code,
            client_id: None,
            login: None,
        }
    }

    /// Creates a page that names the login's service provider and links to the login.
    fn for_login(
        context: &'a RequestContext,
        code: ErrorCode,
        hash: &'a InteractionHash,
        summary: &'a LoginSummary,
    ) -> Self {
        let locale =
            context.locale(&summary.ui_locales).with_default_return_path(interaction_path(hash));
        let page = ErrorPage {
            service: context.hub.service_name(&summary.client_id, &locale),
            actions: vec![PageAction::Continue { href: interaction_path(hash) }],
            ..new_error_page(&context.hub.core.env, code, Some(summary))
        };
        let (client_id, login) = (Some(&summary.client_id), Some(hash));
        Self { context, page, locale, recorded: code, client_id, login }
    }

    /// Records the rejection and builds the response.
    fn into_response(self, message: &'static str) -> HttpResponse {
        let Self { context, page, locale, recorded, client_id, login } = self;
        let rejected = RejectionContext { support_id: Some(&page.support_id), client_id, login };
        rejection::record_rejection(context, rejected, recorded, message);
        let locale = locale.with_default_return_path(error_address::return_path(&page));
        error_page_response(&context.hub, &locale, &page)
    }
}

/// Builds the 400 page for a malformed request: `Y000400`, with the precise code beside it.
///
/// The page links to nothing that the request names.
pub(super) fn malformed_request(
    context: &RequestContext,
    precise: ErrorCode,
    client_id: Option<&ClientId>,
) -> HttpResponse {
    malformed_request_page(context, precise, client_id, Vec::new())
}

/// Builds the 400 page for a logout request, with a link to sign out.
pub(super) fn malformed_logout_request(
    context: &RequestContext,
    precise: ErrorCode,
) -> HttpResponse {
    context.hub.core.metrics.record_logout("rejected");
    malformed_request_page(context, precise, None, vec![sign_out_action()])
}

fn malformed_request_page(
    context: &RequestContext,
    precise: ErrorCode,
    client_id: Option<&ClientId>,
    actions: Vec<PageAction>,
) -> HttpResponse {
    let mut rejected = RejectionPage::new(context, ErrorCode::BadRequest);
    rejected.page.actions = actions;
    if precise != ErrorCode::BadRequest {
        rejected.page.detail = Some(precise.into());
    }
    RejectionPage { recorded: precise, client_id, ..rejected }
        .into_response("malformed request rejected")
}

/// Builds the page for a logout with an invalid form token, or whose session could not be ended.
pub(super) fn logout_failed(context: &RequestContext, code: ErrorCode) -> HttpResponse {
    let mut rejected = RejectionPage::new(context, code);
    rejected.page.actions = retry_action(context, code).into_iter().collect();
    rejected.page.actions.push(sign_out_action());
    rejected.into_response("logout failed")
}

fn sign_out_action() -> PageAction {
    PageAction::SignOut { href: path::END_SESSION.to_owned() }
}

/// Builds the page for an error outside any login.
pub(super) fn outside_login(context: &RequestContext, code: ErrorCode) -> HttpResponse {
    let mut rejected = RejectionPage::new(context, code);
    rejected.page.actions = retry_action(context, code).into_iter().collect();
    rejected.into_response("request rejected")
}

/// Returns the action that repeats a request which failed for a short time only. A form is not
/// repeated.
fn retry_action(context: &RequestContext, code: ErrorCode) -> Option<PageAction> {
    let is_temporary = matches!(code.entry().status, 429 | 503);
    let request = &context.request;
    // The URL is the one in the address bar, on this host: its path is that of a route, and so
    // never begins with two slashes.
    (is_temporary && request.method() == Method::GET).then(|| PageAction::TryAgain {
        href: request.uri().path_and_query().map_or("/", |url| url.as_str()).to_owned(),
    })
}

/// Builds the page for a browser that does not hold the login's cookie.
///
/// The page does not name the service provider: the URL may come from an attacker who wants to
/// know where the login leads.
pub(super) fn login_of_other_browser(
    context: &RequestContext,
    hash: &InteractionHash,
    summary: &LoginSummary,
) -> HttpResponse {
    // A tab whose login, with its cookie, was closed because the browser opened newer ones.
    let code =
        if summary.is_displaced { ErrorCode::TooManyLogins } else { ErrorCode::LoginOtherBrowser };
    let page = new_error_page(&context.hub.core.env, code, Some(summary));
    let (client_id, login) = (Some(&summary.client_id), Some(hash));
    let locale = context.locale(&[]).without_return_path();
    RejectionPage { context, page, locale, recorded: code, client_id, login }
        .into_response("login step rejected: the browser does not hold the login's cookie")
}

/// Builds the page for an identity provider's response that belongs to no login of this browser.
///
/// It links to the login that can continue.
pub(super) fn unusable_idp_response(
    context: &RequestContext,
    unusable: &UnusableIdpResponse,
) -> HttpResponse {
    let UnusableIdpResponse { code, connector, hash, summary } = unusable;
    let mut rejected = RejectionPage::for_login(context, *code, hash, summary);
    rejected.page.provider = context.hub.provider_name(connector, &rejected.locale);
    rejected.into_response("identity provider's response belongs to no login of this browser")
}

/// Builds the page for a form of a login with an invalid CSRF token.
pub(super) fn invalid_form(
    context: &RequestContext,
    code: ErrorCode,
    login: &HeldLogin,
    summary: &LoginSummary,
) -> HttpResponse {
    RejectionPage::for_login(context, code, &login.hash, summary)
        .into_response("form with an invalid CSRF token rejected")
}

/// Builds the page for a login that was not admitted, with links to repeat the request and to the
/// service's home page.
pub(super) fn login_not_admitted(
    context: &RequestContext,
    code: ErrorCode,
    client_id: Option<&ClientId>,
) -> HttpResponse {
    not_admitted_page(context, code, client_id).into_response("login not admitted")
}

fn not_admitted_page<'a>(
    context: &'a RequestContext,
    code: ErrorCode,
    client_id: Option<&'a ClientId>,
) -> RejectionPage<'a> {
    let mut rejected = RejectionPage::new(context, code);
    let home = client_id.and_then(|id| context.hub.service_home(id));
    rejected.page.service = client_id.and_then(|id| context.hub.service_name(id, &rejected.locale));
    rejected.page.actions = retry_action(context, code).into_iter().chain(home).collect();
    RejectionPage { client_id, ..rejected }
}

/// Builds the page for a login over a rate limit: 429 with `Retry-After` (RFC 6585 §4), and a link
/// to the service's home page.
///
/// It is never a redirect: the service provider would send the browser again.
pub(super) fn rate_limited(
    context: &RequestContext,
    code: ErrorCode,
    over: RateLimitError,
    client_id: Option<&ClientId>,
) -> HttpResponse {
    let federation = context.hub.core.federation.load();
    let client_id = client_id.filter(|id| federation.active_service_provider(id).is_some());
    let mut rejected = not_admitted_page(context, code, client_id);
    rejected.page.retry_after = Some(over.retry_after_seconds());
    let message = if client_id.is_some() { "login not admitted" } else { "request rejected" };
    rejected.into_response(message)
}

/// Builds the page for a login step that could not be run.
pub(super) fn login_step_failed(
    context: &RequestContext,
    hash: &InteractionHash,
    step_error: StepError,
) -> HttpResponse {
    let code = match step_error {
        StepError::Unknown => ErrorCode::LoginUnknown,
        StepError::Interrupted => ErrorCode::Interrupted,
        StepError::Hub(code) => code,
    };
    let mut rejected = RejectionPage::new(context, code);
    // Anyone can make up the hash of an unknown login, so it is not logged.
    if step_error != StepError::Unknown {
        rejected.page.actions = vec![PageAction::TryAgain { href: interaction_path(hash) }];
        rejected.login = Some(hash);
    }
    rejected.into_response("login step failed")
}

/// Builds the page for an error of the login state machine, with the next action that it names.
pub(super) fn login_error(login: &LoginPageContext<'_>, problem: LoginErrorPage) -> HttpResponse {
    let LoginPageContext { hub, locale, summary, .. } = login;
    let defaults = new_error_page(&hub.core.env, problem.code, Some(summary));
    let (provider, actions) = match &problem.next_action {
        login::NextAction::ChooseIdp => {
            (None, vec![PageAction::Continue { href: interaction_path(login.hash()) }])
        }
        login::NextAction::ChooseOtherAccount(connector) => {
            let actions =
                vec![other_account_action(login, problem.code), return_to_service_action(login)];
            (hub.provider_name(connector, locale), actions)
        }
        login::NextAction::ReturnToServiceProvider => (None, vec![return_to_service_action(login)]),
        login::NextAction::HomePage => {
            (None, hub.service_home(&summary.client_id).into_iter().collect())
        }
    };
    let error = ErrorPage {
        // Only a step that continues can be repeated.
        retry_after: defaults
            .retry_after
            .filter(|_| problem.next_action == login::NextAction::ChooseIdp),
        service: hub.service_name(&summary.client_id, locale),
        provider,
        claim: problem.claim.and_then(|claim| {
            ClaimLabel::new(&claim, &hub.core.federation.load().declared_claims, locale)
        }),
        actions,
        ..defaults
    };
    error_page_response(hub, locale, &error)
}

/// Builds the page for an identity provider that was blocked during the login.
///
/// It offers another identity provider, or the return to the service provider.
pub(super) fn idp_blocked(
    login: &LoginPageContext<'_>,
    banner: &login::ChoiceBanner,
) -> HttpResponse {
    let LoginPageContext { hub, locale, summary, .. } = login;
    let connector = banner.connector.as_ref();
    let error = ErrorPage {
        service: hub.service_name(&summary.client_id, locale),
        provider: connector.and_then(|id| hub.provider_name(id, locale)),
        message: connector.and_then(|id| login.operator_message(id)),
        actions: vec![
            PageAction::OtherProvider { href: interaction_path(login.hash()) },
            return_to_service_action(login),
        ],
        ..new_error_page(&hub.core.env, banner.code, Some(summary))
    };
    error_page_response(hub, locale, &error)
}

fn return_to_service_action(login: &LoginPageContext<'_>) -> PageAction {
    PageAction::BackToService(ServiceReturn::Post(login_form(
        login,
        "cancel",
        FormPurpose::CANCEL_LOGIN,
    )))
}

/// Returns the way to another account. Where the register is out of order, it is a further try.
fn other_account_action(login: &LoginPageContext<'_>, code: ErrorCode) -> PageAction {
    let form = login_form(login, "not-me", FormPurpose::REPORT_WRONG_USER);
    if code.entry().status == 503 {
        PageAction::SignInAgain(form)
    } else {
        PageAction::OtherAccount(form)
    }
}

fn login_form(login: &LoginPageContext<'_>, name: &str, purpose: FormPurpose) -> PostForm {
    PostForm {
        action: format!("{}/{name}", interaction_path(login.hash())),
        fields: vec![HiddenField::new("csrf", login.form_token(purpose, ""))],
    }
}

/// Renders the error page of the outer middleware, which responds before any endpoint runs.
pub fn render_early_error(
    env: &Env,
    theme: &PageTheme,
    head: &EarlyErrorContext,
    code: ErrorCode,
) -> String {
    let chosen = head.chosen_language.as_deref();
    let locale = &head.languages.negotiate(chosen, &[], head.accept_language.as_deref());
    let mut error = new_error_page(env, code, None);
    // An error of the hub leaves the login as it was, so it can be continued.
    let hash =
        head.path.strip_prefix("/api/v2/interaction/").and_then(|rest| rest.split('/').next());
    if let Some(hash) = hash.filter(|hash| InteractionHash::is_well_formed(hash)) {
        error.actions =
            vec![PageAction::TryAgain { href: interaction_path(&InteractionHash::new(hash)) }];
    }
    passerelle_telemetry::log_rejection(
        Some(&error.support_id),
        None,
        code,
        "request rejected by the outer middleware",
    );
    let return_path = (code != ErrorCode::UnknownHost).then(|| error_address::return_path(&error));
    error.render(&PageChrome {
        locale,
        nonce: "",
        theme,
        base_path: BASE_PATH,
        notices: &[],
        languages: &head.languages,
        // A cookie of an unknown host would reach no page of the hub.
        return_path: return_path.as_deref(),
    })
}

/// Returns an error page without actions, with the login's support id or a new one.
pub(super) fn new_error_page(
    env: &Env,
    code: ErrorCode,
    login: Option<&LoginSummary>,
) -> ErrorPage {
    let support_id = match login {
        Some(summary) => summary.support_id.to_string(),
        None => SupportId::generate(env.entropy()).to_string(),
    };
    ErrorPage {
        code,
        detail: None,
        service: None,
        provider: None,
        message: None,
        claim: None,
        retry_after: (code.entry().status == 503).then_some(UNAVAILABLE_RETRY_SECONDS),
        actions: Vec::new(),
        support_id,
        at: env.now(),
    }
}

fn error_page_response(hub: &Hub, locale: &PageLanguage, error: &ErrorPage) -> HttpResponse {
    let status = error.code.entry().status;
    if matches!(error.code, ErrorCode::NotFound | ErrorCode::MethodNotAllowed) {
        return landing_page_response(hub, status, locale, |chrome| error.render(chrome));
    }
    let mut response = page_response(hub, status, locale, |chrome| error.render(chrome));
    if let Some(seconds) = error.retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
