//! Everything that leaves the hub is built here: pages with their policy, redirects, JSON. No other file sets a
//! content type or a security header of its own.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_TYPE, CROSS_ORIGIN_OPENER_POLICY, HeaderValue,
    LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use actix_web::{HttpRequest, HttpResponse};

use super::hub::Hub;
use super::pages::{Chrome, Field, FormPostPage, Locale, Notice, negotiate};
use crate::protocol::authorize::SpAnswer;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::error_answer::{ErrorAnswer, Used};
use crate::protocol::introspection::JWT_MEDIA_TYPE;

/// The specification's bytes, capitals and all.
const HTML: &str = "text/html;charset=UTF-8";
const JSON: &str = "application/json; charset=utf-8";

/// Path of the endpoints below the host.
pub const BASE_PATH: &str = "/api/v2";

/// The language for a person: the service provider's wish, then the browser's.
#[must_use]
pub fn locale(request: &HttpRequest, ui_locales: &[String]) -> Locale {
    let accepted = request.headers().get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    negotiate(ui_locales, accepted)
}

/// One HTML document under a policy of its own: only the styles and the script that carry this page's nonce count.
#[must_use]
pub fn page(
    hub: &Hub,
    status: u16,
    locale: Locale,
    render: impl FnOnce(&Chrome<'_>) -> String,
) -> HttpResponse {
    let nonce = hub.env.entropy().token();
    let notices = Notice::in_force(&hub.federation.load().notices, locale, hub.env.now());
    let chrome = Chrome {
        locale,
        nonce: &nonce,
        theme: &hub.theme,
        base_path: BASE_PATH,
        notices: &notices,
    };
    let html = render(&chrome);
    // No `form-action`: browsers apply it to the redirect behind a form, which here leads to the identity provider.
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    HttpResponse::build(status_code(status))
        .insert_header((CONTENT_TYPE, HTML))
        .insert_header(("content-security-policy", policy))
        .insert_header(("content-language", locale.to_string()))
        .body(html)
}

/// A page on which a browser ends outside any login. No other window holds a handle on it. The pages of a login do without
/// this header: a service provider that opens its login in a pop-up would lose the pop-up.
#[must_use]
pub fn landing_page(
    hub: &Hub,
    status: u16,
    locale: Locale,
    render: impl FnOnce(&Chrome<'_>) -> String,
) -> HttpResponse {
    let mut response = page(hub, status, locale, render);
    response
        .headers_mut()
        .insert(CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// A page of the private listener, under a policy as strict. Nothing of it is kept anywhere.
#[must_use]
pub fn for_operators(status: u16, nonce: &str, html: String) -> HttpResponse {
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    HttpResponse::build(status_code(status))
        .insert_header((CONTENT_TYPE, HTML))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header(("content-security-policy", policy))
        .insert_header(("referrer-policy", "no-referrer"))
        .insert_header(("x-content-type-options", "nosniff"))
        .insert_header(("cross-origin-resource-policy", "same-origin"))
        .insert_header((CROSS_ORIGIN_OPENER_POLICY, "same-origin"))
        .body(html)
}

/// 303 with a fixed body that holds no link.
#[must_use]
pub fn see_other(location: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((LOCATION, location))
        .insert_header((CONTENT_TYPE, HTML))
        .body("See Other\n")
}

/// The service provider's answer, in the mode that it asked for.
#[must_use]
pub fn to_service_provider(
    hub: &Hub,
    locale: Locale,
    service: &str,
    answer: SpAnswer,
) -> HttpResponse {
    match answer {
        SpAnswer::Redirect { location } => see_other(&location),
        SpAnswer::FormPost { action, fields } => {
            let fields = fields.into_iter().map(|(name, value)| Field::new(name, value)).collect();
            let form = FormPostPage { action, fields, service: service.to_owned() };
            page(hub, 200, locale, |chrome| form.render(chrome))
        }
    }
}

#[must_use]
pub fn json(body: impl Into<actix_web::web::Bytes>) -> HttpResponse {
    HttpResponse::Ok().insert_header((CONTENT_TYPE, JSON)).body(body.into())
}

/// A JWT alone, as userinfo answers it.
#[must_use]
pub fn jwt(token: String) -> HttpResponse {
    HttpResponse::Ok().insert_header((CONTENT_TYPE, "application/jwt")).body(token)
}

/// A signed introspection answer (RFC 9701, 5).
#[must_use]
pub fn introspection_jwt(token: String) -> HttpResponse {
    HttpResponse::Ok().insert_header((CONTENT_TYPE, JWT_MEDIA_TYPE)).body(token)
}

/// An error as a machine reads it.
#[must_use]
pub fn json_error(code: ErrorCode) -> HttpResponse {
    of_error(ErrorAnswer::from(code))
}

/// An error as a client reads it that may have failed to authenticate.
#[must_use]
pub fn client_error(code: ErrorCode, used: Used) -> HttpResponse {
    of_error(ErrorAnswer::to_client(code, used))
}

fn of_error(answer: ErrorAnswer) -> HttpResponse {
    let mut response = HttpResponse::build(status_code(answer.status));
    response.insert_header((CONTENT_TYPE, JSON));
    if let Some(challenge) = answer.www_authenticate {
        response.insert_header((WWW_AUTHENTICATE, challenge));
    }
    if answer.status == 503 {
        response.insert_header((RETRY_AFTER, "5"));
    }
    response.body(answer.body)
}

/// Keys and metadata may be kept for ten minutes; everything else is `no-store`, which the shell sets.
#[must_use]
pub fn public(mut response: HttpResponse) -> HttpResponse {
    let value = actix_web::http::header::HeaderValue::from_static("public, max-age=600");
    response.headers_mut().insert(CACHE_CONTROL, value);
    response
}

pub(super) fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
