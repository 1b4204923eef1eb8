//! Decides whether a request below `/admin` is allowed, and signs browsers in and out.
//!
//! A signed-in browser may read; a browser that is not signed in gets the sign-in form; anything
//! else needs the bearer token. Does not know the contents of the cookie ([`AdminSessions`]).

use actix_web::cookie::Cookie;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{AUTHORIZATION, CACHE_CONTROL, HeaderValue, RETRY_AFTER};
use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse};

use super::responses::error_response;
use super::{AdminApi, BODY_TIMEOUT, MAX_BODY_BYTES};
use crate::protocol::catalogue::ErrorCode;
use crate::web::admin_console::{self, pages, session};
use crate::web::{csrf, responses};

/// Path to which the sign-in form sends the token.
const SIGN_IN_PATH: &str = "/admin/sign-in";
const SIGN_OUT_PATH: &str = "/admin/sign-out";

/// Decision about a request before its bearer token is checked.
pub(super) enum AccessDecision {
    Allow,
    /// The browser gets the sign-in form. No token was sent, so no failure is counted.
    SignInForm(HttpResponse),
    /// The bearer token decides.
    BearerTokenDecides,
}

impl AdminApi {
    /// Decides on a request before its bearer token is checked.
    pub(super) fn decide_access(&self, request: &ServiceRequest) -> AccessDecision {
        let Some(sessions) = &self.sessions else { return AccessDecision::BearerTokenDecides };
        let (method, headers) = (request.method(), request.headers());
        if method == Method::POST && matches!(request.path(), SIGN_IN_PATH | SIGN_OUT_PATH) {
            return AccessDecision::Allow;
        }
        // The session cookie allows reading only; every change needs the bearer token.
        let is_read =
            matches!(*method, Method::GET | Method::HEAD) && !headers.contains_key(AUTHORIZATION);
        match is_read {
            true if sessions.is_signed_in(headers) => AccessDecision::Allow,
            true if admin_console::is_browser_request(headers) => {
                AccessDecision::SignInForm(self.sign_in_form(request.path(), None))
            }
            true | false => AccessDecision::BearerTokenDecides,
        }
    }

    fn sign_in_form(&self, next: &str, rejection: Option<ErrorCode>) -> HttpResponse {
        let nonce = self.env.entropy().token();
        let status = rejection.map_or(401, |code| code.entry().status);
        let mut response = responses::admin_page_response(
            status,
            &nonce,
            pages::sign_in_page(next, rejection, &nonce),
        );
        if rejection == Some(ErrorCode::TooManyFailures) {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(self.auth_failures.retry_after()));
        }
        response
    }
}

/// Handles the sign-in form: verifies the token and sets the session cookie.
pub(super) async fn sign_in(
    admin: Data<AdminApi>,
    request: HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    let (Some(token), Some(sessions)) = (&admin.token, &admin.sessions) else {
        return error_response(ErrorCode::AdminOff, Vec::new(), None);
    };
    let body = tokio::time::timeout(BODY_TIMEOUT, payload.to_bytes_limited(MAX_BODY_BYTES)).await;
    let Ok(Ok(Ok(body))) = body else {
        return error_response(ErrorCode::BadRequest, Vec::new(), None);
    };
    let field = |name: &str| {
        url::form_urlencoded::parse(&body).find(|(key, _)| key == name).map(|(_, value)| value)
    };
    let next = field("next").unwrap_or_default();
    let next = session::safe_destination(&next);
    let verified = csrf::check_same_origin(&request)
        .and_then(|()| admin.verify_token(token, field("token").as_deref()));
    if let Err(code) = verified {
        admin.record_rejection(code);
        return admin.sign_in_form(next, Some(code));
    }
    redirect_with_cookie(next, &sessions.issue_cookie())
}

/// Ends the sessions of all browsers.
pub(super) async fn sign_out(admin: Data<AdminApi>, request: HttpRequest) -> HttpResponse {
    match &admin.sessions {
        Some(sessions)
            if csrf::check_same_origin(&request).is_ok()
                && sessions.is_signed_in(request.headers()) =>
        {
            redirect_with_cookie("/admin/", &sessions.end_all())
        }
        Some(_) | None => responses::see_other("/admin/"),
    }
}

fn redirect_with_cookie(location: &str, cookie: &Cookie<'_>) -> HttpResponse {
    let mut response = responses::see_other(location);
    responses::add_cookie(&mut response, cookie);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
