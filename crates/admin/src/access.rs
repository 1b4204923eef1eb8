//! Decides whether a request below `/admin` is allowed, and signs browsers in and out.
//!
//! A signed-in browser may read, and send the console's forms; a browser that is not signed in gets
//! the sign-in form; anything else needs a bearer token. Does not depend on the contents of the
//! cookie ([`AdminSessions`]).

use actix_web::cookie::Cookie;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{AUTHORIZATION, CACHE_CONTROL, HeaderMap, HeaderValue, RETRY_AFTER};
use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse};

use super::actions::ACTIONS_PATH;
use super::operators::AdminRequester;
use super::responses::{AdminError, error_response};
use super::{AdminApi, BODY_TIMEOUT};
use crate::console::{pages, session};
use passerelle_audit::{Event, EventKind};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_web::{csrf, responses};

/// Path to which the sign-in form sends the token.
const SIGN_IN_PATH: &str = "/admin/sign-in";
const SIGN_OUT_PATH: &str = "/admin/sign-out";
/// Bytes of the sign-in form, which anyone may send.
const MAX_SIGN_IN_BYTES: usize = 16 * 1024;
const REPEATED_COOKIE_FIX: &str = "The browser sent the cookie of this console twice, and the hub can't know which one it has set. \
    Use a private window, or remove the cookies of this host. If it happens again, look for the server of this host or \
    domain that sets the cookie: it may be an attack.";
/// Paths for other hubs.
const PEER_PATH: &str = "/admin/peer/";

/// Decision about a request before its bearer token is checked.
pub(super) enum AccessDecision {
    /// Signing in and out.
    Allow,
    /// A signed-in browser.
    Session(AdminRequester),
    /// The request needs `private.peer_token`.
    RequirePeerToken,
    /// The browser gets the sign-in form. No token was sent, so no failure is counted.
    SignInForm(HttpResponse),
    /// The browser sent the session cookie twice.
    RefuseRepeatedCookie,
    /// The request needs the bearer token of an operator.
    RequireBearerToken,
}

impl AdminApi {
    /// Decides on a request before its bearer token is checked.
    pub(super) fn decide_access(&self, request: &ServiceRequest) -> AccessDecision {
        let (method, headers) = (request.method(), request.headers());
        if request.path().starts_with(PEER_PATH) {
            return AccessDecision::RequirePeerToken;
        }
        let Some(sessions) = &self.sessions else { return AccessDecision::RequireBearerToken };
        if method == Method::POST && matches!(request.path(), SIGN_IN_PATH | SIGN_OUT_PATH) {
            return AccessDecision::Allow;
        }
        // With the session cookie a browser reads, and sends the console's own forms, which carry a
        // token. Every other change needs a bearer token.
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        let is_form = *method == Method::POST && request.path().starts_with(ACTIONS_PATH);
        if headers.contains_key(AUTHORIZATION) || !(is_read || is_form) {
            return AccessDecision::RequireBearerToken;
        }
        match sessions.find_session(headers) {
            Err(_) => AccessDecision::RefuseRepeatedCookie,
            Ok(Some(requester)) => AccessDecision::Session(requester),
            Ok(None) if crate::console::is_browser_request(headers) => {
                let next = if is_read { request.path() } else { "/admin/" };
                AccessDecision::SignInForm(self.sign_in_form(next, None))
            }
            Ok(None) => AccessDecision::RequireBearerToken,
        }
    }

    /// Refuses a request with two session cookies. Signing in again would not remove the other one.
    pub(super) fn refuse_repeated_cookie(&self, headers: &HeaderMap) -> HttpResponse {
        let code = ErrorCode::RepeatedCookie;
        self.record_rejection(code, None);
        let error = AdminError::new(code, REPEATED_COOKIE_FIX);
        if !crate::console::is_browser_request(headers) {
            return error_response(code, error.details, None);
        }
        let nonce = self.console.core.env.entropy().token();
        let page = pages::acts::refused_page(&error, &nonce);
        responses::admin_page_response(code.entry().status, &nonce, page)
    }

    fn sign_in_form(&self, next: &str, rejection: Option<ErrorCode>) -> HttpResponse {
        let nonce = self.console.core.env.entropy().token();
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
    let Some(sessions) = &admin.sessions else {
        return error_response(ErrorCode::AdminOff, Vec::new(), None);
    };
    let body =
        tokio::time::timeout(BODY_TIMEOUT, payload.to_bytes_limited(MAX_SIGN_IN_BYTES)).await;
    let Ok(Ok(Ok(body))) = body else {
        return error_response(ErrorCode::BadRequest, Vec::new(), None);
    };
    let field = |name: &str| {
        url::form_urlencoded::parse(&body).find(|(key, _)| key == name).map(|(_, value)| value)
    };
    let next = field("next").unwrap_or_default();
    let next = session::safe_destination(&next);
    let verified = csrf::check_same_origin(&request)
        .and_then(|()| admin.verify_token(field("token").as_deref()));
    match verified {
        Ok(operator) => {
            tracing::info!(operator = operator.name, "an operator signed in to the admin console");
            let signed_in = EventKind::OperatorSignedIn;
            admin.console.core.audit.record(|| Event::new(signed_in).operator(&operator.name));
            redirect_with_cookie(next, &sessions.issue_cookie(&operator))
        }
        Err(code) => {
            admin.record_rejection(code, None);
            admin.sign_in_form(next, Some(code))
        }
    }
}

/// Ends the operator's sessions in all browsers.
pub(super) async fn sign_out(admin: Data<AdminApi>, request: HttpRequest) -> HttpResponse {
    let is_same_origin = csrf::check_same_origin(&request).is_ok();
    let sessions = admin.sessions.as_ref().filter(|_| is_same_origin);
    let Some(sessions) = sessions else { return responses::see_other("/admin/") };
    match sessions.find_session(request.headers()) {
        Ok(Some(found)) => redirect_with_cookie("/admin/", &sessions.end_sessions(&found.operator)),
        Ok(None) => responses::see_other("/admin/"),
        Err(_) => admin.refuse_repeated_cookie(request.headers()),
    }
}

fn redirect_with_cookie(location: &str, cookie: &Cookie<'_>) -> HttpResponse {
    let mut response = responses::see_other(location);
    responses::add_cookie(&mut response, cookie);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
