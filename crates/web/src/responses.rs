//! Builds the HTTP responses: pages with their content security policy, redirects, JSON.
//!
//! Responsible for content types and for the security headers of pages.

use actix_web::HttpResponse;
use actix_web::cookie::Cookie;
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    CROSS_ORIGIN_OPENER_POLICY, HeaderValue, LOCATION, RETRY_AFTER, SET_COOKIE, WWW_AUTHENTICATE,
};

use super::hub::Hub;
use super::page_language::PageLanguage;
use super::pages::{DisplayedNotice, FormPostPage, HiddenField, PageChrome};
use passerelle_localization::OperatorText;
use passerelle_protocol::authorize::AuthorizationResponse;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::discovery::path;
use passerelle_protocol::error_response::{AuthLocation, ErrorResponse};
use passerelle_protocol::ids::InteractionHash;
use passerelle_protocol::introspection::JWT_MEDIA_TYPE;
use passerelle_protocol::userinfo::TokenScheme;

/// Content type of pages, spelled as the specification has it.
const HTML: &str = "text/html;charset=UTF-8";
const JSON: &str = "application/json; charset=utf-8";

/// Path prefix of the endpoints.
pub const BASE_PATH: &str = path::ISSUER;

/// Returns the path of a login's interaction page.
pub fn interaction_path(hash: &InteractionHash) -> String {
    format!("{BASE_PATH}/interaction/{hash}")
}

/// Builds an HTML response whose policy admits only the styles and the script with its own nonce.
pub fn page_response(
    hub: &Hub,
    status: u16,
    locale: &PageLanguage,
    render: impl FnOnce(&PageChrome<'_>) -> String,
) -> HttpResponse {
    let nonce = hub.core.env.entropy().token();
    let federation = hub.core.federation.load();
    let in_force = hub.notices.in_force().into_iter();
    let notices: Vec<_> = in_force.map(|one| DisplayedNotice::new(one, locale)).collect();
    let chrome = PageChrome {
        locale,
        nonce: &nonce,
        theme: &hub.theme,
        base_path: BASE_PATH,
        notices: &notices,
        languages: &federation.languages,
        return_path: locale.return_path(),
    };
    let html = render(&chrome);
    // No `form-action`: browsers apply it also to the redirect that follows a form, which here
    // leads to the identity provider.
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    HttpResponse::build(status_code(status))
        .insert_header((CONTENT_TYPE, HTML))
        .insert_header((CONTENT_SECURITY_POLICY, policy))
        .insert_header((CONTENT_LANGUAGE, locale.to_string()))
        .body(html)
}

/// Builds the response for a page outside any login, isolated from its opener
/// (`Cross-Origin-Opener-Policy`).
///
/// Pages of a login do not carry this header: a service provider that opens its login in a pop-up
/// would lose the pop-up.
pub fn landing_page_response(
    hub: &Hub,
    status: u16,
    locale: &PageLanguage,
    render: impl FnOnce(&PageChrome<'_>) -> String,
) -> HttpResponse {
    let mut response = page_response(hub, status, locale, render);
    response
        .headers_mut()
        .insert(CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// Builds the response for a page of the admin console. It is never cached.
pub fn admin_page_response(status: u16, nonce: &str, html: String) -> HttpResponse {
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

/// Builds a 303 redirect with a fixed body that holds no link.
pub fn see_other(location: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((LOCATION, location))
        .insert_header((CONTENT_TYPE, HTML))
        .body("See Other\n")
}

/// Adds a cookie to a response.
pub fn add_cookie(response: &mut HttpResponse, cookie: &Cookie<'_>) {
    // A name and a value built by the hub are always a valid header.
    if let Ok(value) = HeaderValue::from_str(&cookie.to_string()) {
        response.headers_mut().append(SET_COOKIE, value);
    }
}

/// Builds the authorization response in the requested response mode. `ends_fragment`: a redirect
/// ends in `#`, so that the browser inherits no fragment.
///
/// # Errors
/// As [`passerelle_grants::ResponseSigner::sign_authorization_response`].
pub async fn authorization_response(
    hub: &Hub,
    locale: &PageLanguage,
    service: &OperatorText,
    answer: AuthorizationResponse,
    ends_fragment: bool,
) -> Result<HttpResponse, ErrorCode> {
    let answer = match answer {
        AuthorizationResponse::Unsigned(unsigned) => {
            hub.response_signer.sign_authorization_response(unsigned).await?
        }
        answer => answer,
    };
    Ok(match answer {
        AuthorizationResponse::Redirect { location } if ends_fragment => {
            see_other(&format!("{location}#"))
        }
        AuthorizationResponse::Redirect { location } => see_other(&location),
        AuthorizationResponse::FormPost { action, fields } => {
            let fields =
                fields.into_iter().map(|(name, value)| HiddenField::new(name, value)).collect();
            let form = FormPostPage { action, fields, service: service.to_owned() };
            page_response(hub, 200, locale, |chrome| form.render(chrome))
        }
        AuthorizationResponse::Unsigned(_) => return Err(ErrorCode::Internal),
    })
}

/// Builds a JSON response with status 200.
pub fn json_response(body: impl Into<actix_web::web::Bytes>) -> HttpResponse {
    HttpResponse::Ok().insert_header((CONTENT_TYPE, JSON)).body(body.into())
}

/// Builds a userinfo response that is a JWT.
pub fn jwt_response(token: String) -> HttpResponse {
    HttpResponse::Ok().insert_header((CONTENT_TYPE, "application/jwt")).body(token)
}

/// Builds a signed introspection response (RFC 9701 §5).
pub fn introspection_jwt_response(token: String) -> HttpResponse {
    HttpResponse::Ok().insert_header((CONTENT_TYPE, JWT_MEDIA_TYPE)).body(token)
}

/// Builds the JSON response for an error.
pub fn json_error_response(code: ErrorCode) -> HttpResponse {
    error_response(ErrorResponse::from(code))
}

/// Builds the JSON response for an error at an endpoint that authenticates clients.
pub fn client_error_response(
    code: ErrorCode,
    used: AuthLocation,
    error_uri: Option<&str>,
) -> HttpResponse {
    let response = ErrorResponse::for_client(code, used);
    error_response(match error_uri {
        Some(uri) => response.with_error_uri(code, uri),
        None => response,
    })
}

/// Builds the JSON response for an error that a program reads with its description.
pub fn described_error_response(
    code: ErrorCode,
    description: Option<&str>,
    has_token: bool,
) -> HttpResponse {
    error_response(ErrorResponse::with_description(code, description, has_token))
}

/// Builds the JSON response for an error at an endpoint that accepts access tokens.
pub fn access_token_error_response(code: ErrorCode, used: TokenScheme) -> HttpResponse {
    error_response(ErrorResponse::for_access_token(code, used))
}

fn error_response(answer: ErrorResponse) -> HttpResponse {
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

/// Makes a response cacheable for ten minutes. The outer middleware makes all others `no-store`.
pub fn make_cacheable(mut response: HttpResponse) -> HttpResponse {
    let value = actix_web::http::header::HeaderValue::from_static("public, max-age=600");
    response.headers_mut().insert(CACHE_CONTROL, value);
    response
}

/// Returns the HTTP status of a catalogue entry.
pub fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
