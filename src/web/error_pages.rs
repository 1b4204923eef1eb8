//! The one place where an error becomes a page: every page that can't go on says what happened, who can mend it, and
//! how to get on (decisions 5 and 13). No page carries internals.

use actix_web::http::header::{HeaderValue, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse};

use super::answer::{BASE_PATH, landing_page, locale, page};
use super::csrf::{self, Purpose};
use super::hub::Hub;
use super::pages::{
    Chrome, ClaimName, Detail, ErrorPage, Field, Leave, Locale, Theme, Way, negotiate,
};
use super::refused::{self, Whose};
use super::shell::Head;
use super::view;
use crate::actor::{Ended, Standing};
use crate::env::Env;
use crate::ids::{ClientId, ConnectorId, InteractionHash, Secret, SupportId};
use crate::login::{self, Problem};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::discovery::path;
use crate::quota::Over;
use crate::telemetry;

/// The 400 page of the protocol's surface: `Y000400`, and the precise code beside it. No link to anything unproven.
#[must_use]
pub fn bad_request(hub: &Hub, request: &HttpRequest, precise: ErrorCode) -> HttpResponse {
    malformed(hub, request, precise, None, Vec::new())
}

/// The same for an authorization request, whose registered client the logs name.
#[must_use]
pub fn bad_authorization(
    hub: &Hub,
    request: &HttpRequest,
    precise: ErrorCode,
    client_id: Option<&ClientId>,
) -> HttpResponse {
    malformed(hub, request, precise, client_id, Vec::new())
}

/// The same for a logout, with the way to sign out here all the same; nothing was ended.
#[must_use]
pub fn bad_logout(hub: &Hub, request: &HttpRequest, precise: ErrorCode) -> HttpResponse {
    malformed(hub, request, precise, None, vec![sign_out()])
}

/// The form that confirms a logout came without its protection, or the hub could not end the session.
#[must_use]
pub fn not_logged_out(hub: &Hub, request: &HttpRequest, code: ErrorCode) -> HttpResponse {
    let mut error = plain(hub, code);
    error.ways = vec![sign_out()];
    refused::tell(hub, request, Whose::page(&error.support_id), code, "a logout was not done");
    respond(hub, locale(request, &[]), &error)
}

fn sign_out() -> Way {
    Way::SignOut { href: path::END_SESSION.to_owned() }
}

fn malformed(
    hub: &Hub,
    request: &HttpRequest,
    precise: ErrorCode,
    client_id: Option<&ClientId>,
    ways: Vec<Way>,
) -> HttpResponse {
    let entry = precise.entry();
    let mut error = plain(hub, ErrorCode::BadRequest);
    error.ways = ways;
    if precise != ErrorCode::BadRequest {
        error.detail =
            Some(Detail { code: entry.code.to_owned(), line: entry.description.to_owned() });
    }
    let whose = Whose { client_id, ..Whose::page(&error.support_id) };
    refused::tell(hub, request, whose, precise, "a malformed request was refused");
    page(hub, 400, locale(request, &[]), |chrome| error.render(chrome))
}

/// An error outside any login.
#[must_use]
pub fn outside(hub: &Hub, request: &HttpRequest, code: ErrorCode) -> HttpResponse {
    let error = plain(hub, code);
    refused::tell(hub, request, Whose::page(&error.support_id), code, "a request was refused");
    match code {
        ErrorCode::NotFound | ErrorCode::MethodNotAllowed => {
            landing_page(hub, code.entry().status, locale(request, &[]), |chrome| {
                error.render(chrome)
            })
        }
        _ => respond(hub, locale(request, &[]), &error),
    }
}

/// A browser that can't prove that the login is its own. The page names no service and shows no way to one: the address may
/// come from a stranger who wants to know where the login leads.
pub async fn other_browser(
    hub: &Hub,
    request: &HttpRequest,
    hash: &InteractionHash,
) -> HttpResponse {
    let standing = match hub.logins.glance(hash).await {
        Ok(Some(standing)) => standing,
        Ok(None) => return outside(hub, request, ErrorCode::LoginUnknown),
        Err(code) => return ended(hub, request, hash, Ended::Hub(code)),
    };
    // A tab whose login was closed, together with its cookie, because younger ones are open.
    let code =
        if standing.displaced { ErrorCode::TooManyLogins } else { ErrorCode::LoginOtherBrowser };
    let error = ErrorPage { support_id: standing.support_id.to_string(), ..plain(hub, code) };
    let whose = Whose {
        client_id: Some(&standing.client_id),
        login: Some(hash),
        ..Whose::page(&error.support_id)
    };
    refused::tell(
        hub,
        request,
        whose,
        error.code,
        "a browser without the login's cookie was refused",
    );
    respond(hub, locale(request, &[]), &error)
}

/// An identity provider's answer that belongs to no login of this browser, with the way back to the one that can go on.
#[must_use]
pub fn unusable_answer(
    hub: &Hub,
    request: &HttpRequest,
    code: ErrorCode,
    connector: &ConnectorId,
    (hash, standing): (&InteractionHash, &Standing),
) -> HttpResponse {
    let locale = locale(request, &standing.ui_locales);
    let mut error = about(hub, code, standing, locale);
    error.provider = hub.connectors.name(connector).map(|name| locale.pick(&name).to_owned());
    error.ways = vec![Way::Continue { href: interaction(hash) }];
    let whose = Whose {
        client_id: Some(&standing.client_id),
        login: Some(hash),
        ..Whose::page(&error.support_id)
    };
    refused::tell(hub, request, whose, code, "an identity provider's answer could not be used");
    respond(hub, locale, &error)
}

/// A login that could not be admitted: 503 with `Retry-After`, and the way to the service's home page.
#[must_use]
pub fn unserved(
    hub: &Hub,
    request: &HttpRequest,
    code: ErrorCode,
    client_id: &ClientId,
) -> HttpResponse {
    let locale = locale(request, &[]);
    let mut error = plain(hub, code);
    if let Some(service) = hub.federation.load().service(client_id) {
        error.service = Some(locale.pick(&service.name).to_owned());
        error.ways = vec![Way::ServiceHome { href: service.registration.home_page.clone() }];
    }
    let whose = Whose { client_id: Some(client_id), ..Whose::page(&error.support_id) };
    refused::tell(hub, request, whose, code, "a login was not admitted");
    respond(hub, locale, &error)
}

/// A login that was not begun, because too many were: 429 with `Retry-After` (RFC 6585, 4), and the way to the home page of
/// the service that was named. Never a redirect: the service would only send the person again.
#[must_use]
pub fn limited(
    hub: &Hub,
    request: &HttpRequest,
    code: ErrorCode,
    over: Over,
    client_id: Option<&ClientId>,
) -> HttpResponse {
    let named = client_id.filter(|id| hub.federation.load().active(id).is_some());
    let mut response = match named {
        Some(client_id) => unserved(hub, request, code, client_id),
        None => outside(hub, request, code),
    };
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(over.retry_after()));
    response
}

/// A step that could not be taken at all.
#[must_use]
pub fn ended(
    hub: &Hub,
    request: &HttpRequest,
    hash: &InteractionHash,
    ended: Ended,
) -> HttpResponse {
    let code = match ended {
        Ended::Unknown => ErrorCode::LoginUnknown,
        Ended::Interrupted => ErrorCode::Interrupted,
        Ended::Hub(code) => code,
    };
    let mut error = plain(hub, code);
    if ended != Ended::Unknown {
        error.ways = vec![Way::TryAgain { href: interaction(hash) }];
    }
    // Of an address that anybody can make up, nothing is repeated.
    let login = Some(hash).filter(|_| ended != Ended::Unknown);
    let whose = Whose { login, ..Whose::page(&error.support_id) };
    refused::tell(hub, request, whose, code, "a login step could not be taken");
    respond(hub, locale(request, &[]), &error)
}

/// A refusal by the login machine, with the way on that it names.
#[must_use]
pub fn of_login(
    hub: &Hub,
    request: &HttpRequest,
    hash: &InteractionHash,
    cookie: &Secret<String>,
    problem: Problem,
    standing: &Standing,
) -> HttpResponse {
    let locale = locale(request, &standing.ui_locales);
    let mut error = about(hub, problem.code, standing, locale);
    error.claim = problem.claim.and_then(|claim| ClaimName::of_wire(claim.as_str()));
    error.ways = match problem.way {
        login::Way::Choice => vec![Way::Continue { href: interaction(hash) }],
        login::Way::ServiceProvider => vec![back_to_service(hash, cookie)],
        login::Way::HomePage => home(hub, standing).into_iter().collect(),
    };
    respond(hub, locale, &error)
}

/// A kill switch has come between: another identity provider may serve, or the service provider hears of it.
#[must_use]
pub fn blocked(
    hub: &Hub,
    request: &HttpRequest,
    hash: &InteractionHash,
    cookie: &Secret<String>,
    banner: &login::Banner,
    standing: &Standing,
) -> HttpResponse {
    let locale = locale(request, &standing.ui_locales);
    let mut error = about(hub, banner.code, standing, locale);
    let connector = banner.connector.as_ref();
    error.provider =
        connector.and_then(|id| hub.connectors.name(id)).map(|name| locale.pick(&name).to_owned());
    error.message = connector.and_then(|id| view::word(hub, locale, standing, id));
    error.ways =
        vec![Way::OtherProvider { href: interaction(hash) }, back_to_service(hash, cookie)];
    respond(hub, locale, &error)
}

fn back_to_service(hash: &InteractionHash, cookie: &Secret<String>) -> Way {
    let fields = vec![Field::new("csrf", csrf::token(cookie, Purpose::Cancel, ""))];
    Way::BackToService(Leave::Post { action: format!("{}/cancel", interaction(hash)), fields })
}

#[must_use]
pub fn interaction(hash: &InteractionHash) -> String {
    format!("{BASE_PATH}/interaction/{hash}")
}

/// The page of the shell, which answers before any endpoint is found.
#[must_use]
pub fn early(env: &Env, theme: &Theme, head: &Head, code: ErrorCode) -> String {
    let locale = negotiate(&[], head.accept_language.as_deref());
    let mut error = error_page(env, code);
    // A login that met trouble of ours stands where it stood.
    let hash =
        head.path.strip_prefix("/api/v2/interaction/").and_then(|rest| rest.split('/').next());
    if let Some(hash) = hash.filter(|hash| InteractionHash::is_well_formed(hash)) {
        error.ways = vec![Way::TryAgain { href: interaction(&InteractionHash::new(hash)) }];
    }
    telemetry::refused(
        Some(&error.support_id),
        None,
        code,
        "a request was refused before it was read",
    );
    error.render(&Chrome { locale, nonce: "", theme, base_path: BASE_PATH, notices: &[] })
}

fn plain(hub: &Hub, code: ErrorCode) -> ErrorPage {
    error_page(&hub.env, code)
}

fn error_page(env: &Env, code: ErrorCode) -> ErrorPage {
    let support_id = SupportId::fresh(env.entropy()).to_string();
    ErrorPage {
        code,
        detail: None,
        service: None,
        provider: None,
        message: None,
        claim: None,
        ways: Vec::new(),
        support_id,
        at: env.now(),
    }
}

fn about(hub: &Hub, code: ErrorCode, standing: &Standing, locale: Locale) -> ErrorPage {
    let service = hub
        .federation
        .load()
        .service(&standing.client_id)
        .map(|sp| locale.pick(&sp.name).to_owned());
    ErrorPage {
        code,
        detail: None,
        service,
        provider: None,
        message: None,
        claim: None,
        ways: Vec::new(),
        support_id: standing.support_id.to_string(),
        at: hub.env.now(),
    }
}

fn home(hub: &Hub, standing: &Standing) -> Option<Way> {
    let federation = hub.federation.load();
    let service = federation.service(&standing.client_id)?;
    Some(Way::ServiceHome { href: service.registration.home_page.clone() })
}

fn respond(hub: &Hub, locale: Locale, error: &ErrorPage) -> HttpResponse {
    let status = error.code.entry().status;
    let mut response = page(hub, status, locale, |chrome| error.render(chrome));
    if status == 503 {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}
