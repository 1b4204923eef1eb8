//! The endpoints of the demo service provider.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};

use super::http::{UniqueParams, cross_site_reason, redirect_to};
use super::op_client::OpClientError;
use super::page::{home_path, negotiate_locale};
use super::settings::parse_sign_in;
use super::{DemoServiceProvider, LOGIN_LIFETIME, LoginResult, PendingLogin};
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;
use passerelle_web::pages::{DemoError, DemoSignedOut, DemoStart};

/// The service provider, shared by its workers.
pub(super) type ServiceProviderData = web::Data<DemoServiceProvider>;

/// Shows the result of the login, or the start page.
pub(super) async fn show_page(this: ServiceProviderData, request: HttpRequest) -> HttpResponse {
    let session = request.cookie(&this.session_cookie());
    let outcome = session.and_then(|cookie| {
        this.finished.load(&digest::sha256_base64url(cookie.value()), this.env.now())
    });
    let locale =
        negotiate_locale(&request, &UniqueParams::parse(request.query_string().as_bytes()), "lang");
    this.page(StatusCode::OK, &locale, |chrome| match outcome.as_deref() {
        None => DemoStart.render(chrome),
        Some(LoginResult::SignedIn(signed_in, _)) => signed_in.render(chrome),
        Some(LoginResult::Failed(error)) => error.render(chrome),
        Some(LoginResult::SignedOut(signed_out)) => signed_out.render(chrome),
    })
}

/// Begins a login: redirects to the authorization endpoint of the hub.
pub(super) async fn log_in(
    this: ServiceProviderData,
    request: HttpRequest,
    body: web::Bytes,
) -> HttpResponse {
    let form = UniqueParams::parse(&body);
    let locale = negotiate_locale(&request, &form, "ui_locales");
    if let Some(reason) = cross_site_reason(&request) {
        return this.error_page(StatusCode::FORBIDDEN, &locale, reason);
    }
    let Some(sign_in) = parse_sign_in(&form) else {
        return this.error_page(
            StatusCode::BAD_REQUEST,
            &locale,
            "The form has no level of assurance, or an unknown one.",
        );
    };
    let metadata = match this.hub.discover(&this.settings.registration_for(sign_in).issuer).await {
        Ok(metadata) => metadata,
        Err(error) => return this.error_page(StatusCode::BAD_GATEWAY, &locale, &error.to_string()),
    };
    let entropy = this.env.entropy();
    let (state, binding) = (entropy.token(), entropy.token());
    let verifier = Secret::new(entropy.token());
    let pending = PendingLogin {
        sign_in,
        nonce: entropy.token(),
        verifier,
        binding: digest::sha256_base64url(&binding),
        metadata,
        locale: locale.clone(),
    };
    let Some(url) = this.authorization_url(&pending, &state) else {
        return this.error_page(
            StatusCode::BAD_GATEWAY,
            &locale,
            &OpClientError::Malformed("configuration document").to_string(),
        );
    };
    let cookie = this.cookie(this.login_cookie(&state), binding);
    let now = this.env.now();
    this.pending.insert(state, Arc::new(pending), now + LOGIN_LIFETIME, now);
    redirect_to(&url, vec![cookie])
}

/// Handles the response of the hub, and shows its result on the start page.
pub(super) async fn callback(this: ServiceProviderData, request: HttpRequest) -> HttpResponse {
    let answer = UniqueParams::parse(request.query_string().as_bytes());
    let state = answer.one("state").unwrap_or_default();
    let login_cookie = this.login_cookie(state);
    // RFC 6749 §10.12: a response is accepted once, and only in the browser that sent the request.
    let pending = request.cookie(&login_cookie).and_then(|cookie| {
        let binding = digest::sha256_base64url(cookie.value());
        this.pending.take(state, this.env.now(), |pending| {
            digest::constant_time_eq(pending.binding.as_bytes(), binding.as_bytes())
        })
    });
    let Some(pending) = pending else {
        return this.error_page(
            StatusCode::BAD_REQUEST,
            &negotiate_locale(&request, &answer, "lang"),
            "The response belongs to no sign-in of this browser (its state is unknown).",
        );
    };
    let outcome = this.finish_login(&pending, &answer).await.unwrap_or_else(|error| {
        LoginResult::Failed(DemoError::Refused { reason: error.to_string() })
    });
    // A new session id for each result, against session fixation.
    let session = this.env.entropy().token();
    this.remove_session(&request);
    this.save_result(digest::sha256_base64url(&session), outcome);
    redirect_to(
        &home_path(&pending.locale),
        vec![this.removal_cookie(login_cookie), this.cookie(this.session_cookie(), session)],
    )
}

/// Ends the session, then redirects to the end session endpoint of the hub (R170).
pub(super) async fn log_out(
    this: ServiceProviderData,
    request: HttpRequest,
    body: web::Bytes,
) -> HttpResponse {
    let locale = negotiate_locale(&request, &UniqueParams::parse(&body), "ui_locales");
    if let Some(reason) = cross_site_reason(&request) {
        return this.error_page(StatusCode::FORBIDDEN, &locale, reason);
    }
    let ended = this.remove_session(&request);
    let Some(LoginResult::SignedIn(_, sign_out)) = ended.as_deref() else {
        return redirect_to(&home_path(&locale), vec![this.removal_cookie(this.session_cookie())]);
    };
    let session = this.env.entropy().token();
    let key = digest::sha256_base64url(&session);
    let location =
        sign_out.as_ref().and_then(|sign_out| this.end_session_url(sign_out, &locale, &key));
    this.save_result(key, LoginResult::SignedOut(DemoSignedOut { hub_confirmed: false }));
    redirect_to(
        &location.unwrap_or_else(|| home_path(&locale)),
        vec![this.cookie(this.session_cookie(), session)],
    )
}

/// Handles the redirect after the logout at the hub. The state shows that the hub has ended its
/// session, in the browser that asked for it (RP-Initiated Logout 1.0 §3).
pub(super) async fn signed_out(this: ServiceProviderData, request: HttpRequest) -> HttpResponse {
    let answer = UniqueParams::parse(request.query_string().as_bytes());
    let pending =
        answer.one("state").and_then(|state| this.logouts.take(state, this.env.now(), |_| true));
    let Some(pending) = pending else {
        return redirect_to(&home_path(&negotiate_locale(&request, &answer, "lang")), vec![]);
    };
    let session = request.cookie(&this.session_cookie());
    if session.is_some_and(|cookie| digest::sha256_base64url(cookie.value()) == pending.session) {
        let confirmed = DemoSignedOut { hub_confirmed: true };
        this.save_result(pending.session.clone(), LoginResult::SignedOut(confirmed));
    }
    redirect_to(&home_path(&pending.locale), vec![])
}
