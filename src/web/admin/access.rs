//! How a browser is received below `/admin`: who signed in may look, and whoever has not is shown the form.
//!
//! Owns: the two forms. Must not know: what the cookie holds ([`Entrance`]), or what there is to see.

use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{AUTHORIZATION, CACHE_CONTROL, HeaderValue, RETRY_AFTER, SET_COOKIE};
use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse};

use super::{Admin, BODY, PATIENCE, refused};
use crate::protocol::catalogue::ErrorCode;
use crate::web::window::entrance;
use crate::web::{answer, csrf, window};

/// Where a browser sends the token, once.
const SIGN_IN: &str = "/admin/sign-in";
const SIGN_OUT: &str = "/admin/sign-out";

/// What becomes of a request before its bearer token is looked at.
pub(super) enum Reception {
    LetIn,
    /// The form for the token. Nothing was guessed, so nothing is counted.
    Asked(HttpResponse),
    /// A program, or nobody: the bearer token decides.
    Unknown,
}

impl Admin {
    pub(super) fn receive(&self, request: &ServiceRequest) -> Reception {
        let Some(entrance) = &self.entrance else { return Reception::Unknown };
        let (method, headers) = (request.method(), request.headers());
        if method == Method::POST && matches!(request.path(), SIGN_IN | SIGN_OUT) {
            return Reception::LetIn;
        }
        // A browser that signed in may look; whoever changes something sends the token with it.
        let looks =
            matches!(*method, Method::GET | Method::HEAD) && !headers.contains_key(AUTHORIZATION);
        match looks {
            true if entrance.admits(headers) => Reception::LetIn,
            true if window::is_browser(headers) => Reception::Asked(self.ask(request.path(), None)),
            true | false => Reception::Unknown,
        }
    }

    fn ask(&self, next: &str, refused: Option<ErrorCode>) -> HttpResponse {
        let nonce = self.env.entropy().token();
        let status = refused.map_or(401, |code| code.entry().status);
        let mut response =
            answer::for_operators(status, &nonce, window::sign_in_page(next, refused, &nonce));
        if refused == Some(ErrorCode::TooManyMistakes) {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(self.mistakes.retry_after()));
        }
        response
    }
}

/// The form that a browser without a cookie gets.
pub(super) async fn sign_in(
    admin: Data<Admin>,
    request: HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    let (Some(token), Some(entrance)) = (&admin.token, &admin.entrance) else {
        return refused(ErrorCode::AdminOff, Vec::new(), None);
    };
    let body = tokio::time::timeout(PATIENCE, payload.to_bytes_limited(BODY)).await;
    let Ok(Ok(Ok(body))) = body else { return refused(ErrorCode::BadRequest, Vec::new(), None) };
    let field = |name: &str| {
        url::form_urlencoded::parse(&body).find(|(key, _)| key == name).map(|(_, value)| value)
    };
    let next = field("next").unwrap_or_default();
    let next = entrance::destination(&next);
    let let_in =
        csrf::same_origin(&request).and_then(|()| admin.prove(token, field("token").as_deref()));
    if let Err(code) = let_in {
        admin.tell_refusal(code);
        return admin.ask(next, Some(code));
    }
    with_cookie(answer::see_other(next), &entrance.cookie())
}

/// Every browser's.
pub(super) async fn sign_out(admin: Data<Admin>, request: HttpRequest) -> HttpResponse {
    match &admin.entrance {
        Some(entrance)
            if csrf::same_origin(&request).is_ok() && entrance.admits(request.headers()) =>
        {
            with_cookie(answer::see_other("/admin/"), &entrance.shut())
        }
        Some(_) | None => answer::see_other("/admin/"),
    }
}

fn with_cookie(mut response: HttpResponse, cookie: &actix_web::cookie::Cookie<'_>) -> HttpResponse {
    // A value of our own making always fits into a header.
    if let Ok(value) = HeaderValue::from_str(&cookie.to_string()) {
        response.headers_mut().insert(SET_COOKIE, value);
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}
