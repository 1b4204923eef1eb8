//! The browser's side of a login: choice, choose, cancel, callback, consent (decisions 2 and 5).
//!
//! Each endpoint proves that the browser is the login's own, checks the form's protection, takes one step, and shows
//! what came of it. Which step may follow which is the machine's to say.

use std::time::Duration;

use actix_web::cookie::Cookie;
use actix_web::http::header::SET_COOKIE;
use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{locale, page, see_other, to_service_provider};
use super::cookies::HeldLogin;
use super::csrf::{self, Purpose};
use super::form::FormFault;
use super::held_logins::{self, LoginByState};
use super::hub::Hub;
use super::last_choice::{self, Wish};
use super::refused::{self, Whose};
use super::{form, problem, view};
use crate::actor::{Ended, Reply};
use crate::ids::{ConnectorId, InteractionHash, Secret};
use crate::login::upstream::Arrival;
use crate::login::{Answer, Consent, ConsentAnswer, Request, Return};
use crate::protocol::authorize::SpAnswer;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::params::{Params, Repeated};

/// A login's cookie stays this long after its end, so that a repeated step can still be answered.
pub const AFTERLIFE: Duration = Duration::from_secs(60);

/// Where an answer is sent from: redirects out of a callback end in `#`, so that no fragment is inherited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    Callback,
    Form,
    Page,
    /// The authorization request itself, in one step: the browser never hears of the login.
    Authorize,
}

/// `GET /api/v2/interaction/{hash}`.
pub async fn look(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    let (hash, cookie) = match prove(&hub, &request, &path).await {
        Ok(proof) => proof,
        Err(refusal) => return refusal,
    };
    let mut response =
        step(&hub, &request, &hash, &cookie, Request::Look { reuse: None }, From::Page).await;
    held_logins::close_oldest(&hub, &request, &hash, &mut response).await;
    response
}

/// `POST /api/v2/interaction/{hash}/provider`.
pub async fn choose(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
    body: web::Payload,
) -> HttpResponse {
    let (hash, cookie, params) =
        match prove_form(&hub, &request, &path, body, Purpose::Choose).await {
            Ok(proof) => proof,
            Err(refusal) => return refusal,
        };
    match params.one("provider") {
        Ok(Some(provider)) if ConnectorId::is_well_formed(provider) => {
            step(&hub, &request, &hash, &cookie, Request::Choose(provider.into()), From::Form).await
        }
        Ok(_) | Err(Repeated) => problem::bad_request(&hub, &request, ErrorCode::BadRequest),
    }
}

/// `POST /api/v2/interaction/{hash}/cancel`.
pub async fn cancel(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
    body: web::Payload,
) -> HttpResponse {
    match prove_form(&hub, &request, &path, body, Purpose::Cancel).await {
        Ok((hash, cookie, _)) => {
            step(&hub, &request, &hash, &cookie, Request::Cancel, From::Form).await
        }
        Err(refusal) => refusal,
    }
}

/// `GET /api/v2/callback/{connector}`: the browser is back from an identity provider.
pub async fn callback(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    let connector = ConnectorId::new(path.into_inner());
    let network = hub.proxies.client_network(&request);
    let held = hub.cookies.held_logins(&request, None);
    let answer = callback_params(&request);
    let mut response = match (answer, held.read.as_slice()) {
        // The rule, at no store call: the step itself compares the state.
        (Some((state, arrival)), [HeldLogin { hash, value }]) => {
            let back = Return { connector, state, arrival, network };
            step(&hub, &request, hash, value, Request::Return(back), From::Callback).await
        }
        (answer, _) => {
            let state = answer.as_ref().map(|(state, _)| state.as_str());
            match (held_logins::find_by_state(&hub, &held, state).await, answer) {
                (Ok(LoginByState::Expecting(hash, cookie, _)), Some((state, arrival))) => {
                    let back = Return { connector, state, arrival, network };
                    step(&hub, &request, &hash, &cookie, Request::Return(back), From::Callback)
                        .await
                }
                (Ok(found), answer) => {
                    unusable_answer(&hub, &request, found, answer.is_some(), &connector)
                }
                (Err(code), _) => problem::outside(&hub, &request, code),
            }
        }
    };
    held_logins::expire_surplus(&hub, &held, &mut response);
    response
}

/// The `state` and the rest of an identity provider's answer; `None` if `state` is missing or empty, or a parameter is
/// malformed or repeated (RFC 6749 §3.1).
fn callback_params(request: &HttpRequest) -> Option<(String, Arrival)> {
    let params = form::query(request.query_string()).ok()?;
    let owned = |name| params.one(name).ok().map(|value| value.map(str::to_owned));
    let arrival = Arrival {
        code: owned("code")?.map(Secret::new),
        iss: owned("iss")?,
        error: owned("error")?,
        error_description: owned("error_description")?,
    };
    Some((owned("state")??, arrival))
}

/// An answer that no login of this browser waits for: the way back to the one that can go on, if there is one.
fn unusable_answer(
    hub: &Hub,
    request: &HttpRequest,
    found: LoginByState,
    has_state: bool,
    connector: &ConnectorId,
) -> HttpResponse {
    let code = if has_state { ErrorCode::StateUnknown } else { ErrorCode::IdpStateUnusable };
    match found {
        LoginByState::Expecting(hash, _, standing) | LoginByState::OtherLive(hash, standing) => {
            problem::unusable_answer(hub, request, code, connector, (&hash, &standing))
        }
        LoginByState::OtherEnded(_) | LoginByState::None if has_state => {
            problem::outside(hub, request, ErrorCode::LoginOtherBrowser)
        }
        LoginByState::OtherEnded(_) | LoginByState::None => problem::outside(hub, request, code),
    }
}

/// `GET /api/v2/interaction/{hash}/consent`.
pub async fn review(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    match prove(&hub, &request, &path).await {
        Ok((hash, cookie)) => {
            step(&hub, &request, &hash, &cookie, Request::Review, From::Page).await
        }
        Err(refusal) => refusal,
    }
}

/// `POST /api/v2/interaction/{hash}/consent`.
pub async fn consent(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
    body: web::Payload,
) -> HttpResponse {
    let (hash, cookie, params) =
        match prove_form(&hub, &request, &path, body, Purpose::Consent).await {
            Ok(proof) => proof,
            Err(refusal) => return refusal,
        };
    let answer = match params.one("answer") {
        Ok(Some("yes")) => ConsentAnswer::Yes,
        Ok(Some("no")) => ConsentAnswer::No,
        Ok(_) | Err(Repeated) => {
            return problem::bad_request(&hub, &request, ErrorCode::BadRequest);
        }
    };
    let shown = params.one("shown").ok().flatten().unwrap_or_default().to_owned();
    step(&hub, &request, &hash, &cookie, Request::Consent(Consent { answer, shown }), From::Form)
        .await
}

/// The login that this address names, and the proof that this browser began it.
pub(super) async fn prove(
    hub: &Hub,
    request: &HttpRequest,
    hash: &str,
) -> Result<(InteractionHash, Secret<String>), HttpResponse> {
    if !InteractionHash::is_well_formed(hash) {
        return Err(problem::outside(hub, request, ErrorCode::LoginUnknown));
    }
    let hash = InteractionHash::new(hash);
    match hub.cookies.proof(request, &hash) {
        Some(cookie) => Ok((hash, cookie)),
        None => Err(problem::other_browser(hub, request, &hash).await),
    }
}

pub(super) async fn prove_form(
    hub: &Hub,
    request: &HttpRequest,
    hash: &str,
    body: web::Payload,
    purpose: Purpose,
) -> Result<(InteractionHash, Secret<String>, Params), HttpResponse> {
    let params = form::body(request, body).await.map_err(|fault| match fault {
        FormFault::TooLarge => problem::outside(hub, request, ErrorCode::PayloadTooLarge),
        _ => problem::bad_request(hub, request, fault.code()),
    })?;
    let (hash, cookie) = prove(hub, request, hash).await?;
    // A consent form binds what was shown; the machine compares that with what stands now.
    let one = |name| params.one(name).ok().flatten();
    let shown = if purpose == Purpose::Consent { one("shown").unwrap_or_default() } else { "" };
    let protected =
        csrf::same_origin(request).and_then(|()| csrf::check(&cookie, purpose, shown, one("csrf")));
    if let Err(code) = protected {
        let standing = match hub.logins.glance(&hash).await {
            Ok(Some(standing)) => standing,
            Ok(None) => return Err(problem::outside(hub, request, ErrorCode::LoginUnknown)),
            Err(code) => return Err(problem::ended(hub, request, &hash, Ended::Hub(code))),
        };
        let client_id = Some(&standing.client_id);
        let whose =
            Whose { client_id, login: Some(&hash), ..Whose::page(standing.support_id.as_str()) };
        refused::tell(hub, request, whose, code, "a form without its protection was refused");
        let problem = crate::login::Problem { code, claim: None, way: crate::login::Way::Choice };
        return Err(problem::of_login(hub, request, &hash, &cookie, problem, &standing));
    }
    Ok((hash, cookie, params))
}

async fn step(
    hub: &Hub,
    request: &HttpRequest,
    hash: &InteractionHash,
    cookie: &Secret<String>,
    asked: Request,
    from: From,
) -> HttpResponse {
    let session = hub.cookies.session(request);
    match hub.logins.step(hash, asked, session).await {
        Ok(reply) => respond(hub, request, hash, cookie, reply, from),
        Err(ended) => problem::ended(hub, request, hash, ended),
    }
}

/// Shows what a step came to.
pub fn respond(
    hub: &Hub,
    request: &HttpRequest,
    hash: &InteractionHash,
    cookie: &Secret<String>,
    reply: Reply,
    from: From,
) -> HttpResponse {
    let Reply { answer, standing } = reply;
    let locale = locale(request, &standing.ui_locales);
    let mut response = match answer {
        // After a form or a callback the page gets an address of its own, so that a reload repeats nothing.
        Answer::Choice { .. } if from != From::Page => {
            see_other(&fragment_free(&problem::interaction(hash), from))
        }
        Answer::Choice { banner } => {
            let wish = Wish::of(hub, request);
            let choice = view::choice(hub, locale, hash, cookie, &standing, banner, &wish);
            let mut response = page(hub, 200, locale, |chrome| choice.render(chrome));
            if let Some(cookie) = last_choice::outdated(hub, request) {
                add_cookie(&mut response, &cookie);
            }
            response
        }
        Answer::Leave { url } => see_other(&url),
        Answer::ToConsent => {
            see_other(&fragment_free(&format!("{}/consent", problem::interaction(hash)), from))
        }
        Answer::Consent(consenting) => {
            let consent = view::consent(hub, locale, hash, cookie, &standing, &consenting);
            page(hub, 200, locale, |chrome| consent.render(chrome))
        }
        Answer::ServiceProvider { answer, session } => {
            let answer = match answer {
                SpAnswer::Redirect { location } => {
                    SpAnswer::Redirect { location: fragment_free(&location, from) }
                }
                SpAnswer::FormPost { action, fields } => SpAnswer::FormPost { action, fields },
            };
            let federation = hub.federation.load();
            let service =
                federation.service(&standing.client_id).map_or("", |sp| locale.pick(&sp.name));
            let mut response = to_service_provider(hub, locale, service, answer);
            if let Some(session) = session {
                add_cookie(&mut response, &hub.cookies.set_session(&session));
                if let Some(cookie) = last_choice::remembered(hub, &standing) {
                    add_cookie(&mut response, &cookie);
                }
            }
            response
        }
        Answer::Blocked(banner) => problem::blocked(hub, request, hash, cookie, &banner, &standing),
        Answer::Problem(problem) => {
            problem::of_login(hub, request, hash, cookie, problem, &standing)
        }
    };
    if standing.over && from != From::Authorize {
        let now = hub.env.now();
        add_cookie(&mut response, &hub.cookies.set_login(hash, cookie, now, now + AFTERLIFE));
    }
    response
}

fn fragment_free(location: &str, from: From) -> String {
    match from {
        From::Callback => format!("{location}#"),
        From::Form | From::Page | From::Authorize => location.to_owned(),
    }
}

pub(super) fn add_cookie(response: &mut HttpResponse, cookie: &Cookie<'_>) {
    // A name and a value of our own making always fit into a header.
    if let Ok(value) = actix_web::http::header::HeaderValue::from_str(&cookie.to_string()) {
        response.headers_mut().append(SET_COOKIE, value);
    }
}
