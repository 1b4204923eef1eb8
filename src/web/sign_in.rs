//! The page where a password is typed, `/connectors/{connector}/login`, for a connector whose directory has none of its own.
//!
//! It belongs to one login: only the browser that began it sees the page, and its form is bound to the login's cookie and
//! to the attempt. What was proven goes back to the hub as any identity provider's answer does: by the browser.

use std::time::Duration;

use actix_web::http::header::{HeaderValue, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{BASE_PATH, locale, page, see_other};
use super::csrf::{self, Purpose};
use super::form::FormFault;
use super::held_logins::{self, LoginByState};
use super::hub::Hub;
use super::pages::{Field, SignInPage, SignInTrouble};
use super::refused::{self, Whose};
use super::{form, problem};
use crate::actor::{SignInOutcome, Standing, TypedIn};
use crate::audit::{Event, Name};
use crate::ids::{ConnectorId, InteractionHash, Secret};
use crate::protocol::catalogue::ErrorCode;

/// A login that may sign in at a connector, at a browser that has proven to be its own.
struct Visit {
    connector: ConnectorId,
    state: String,
    hash: InteractionHash,
    cookie: Secret<String>,
    standing: Standing,
}

/// The empty form.
pub async fn show(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    let query = form::query(request.query_string()).unwrap_or_default();
    let state = query.one("state").ok().flatten();
    match visit(&hub, &request, path.into_inner(), state).await {
        Ok(visit) => answer(&hub, &request, &visit, 200, String::new(), None),
        Err(refusal) => refusal,
    }
}

/// What was typed.
pub async fn submit(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
    body: web::Payload,
) -> HttpResponse {
    let params = match form::body(&request, body).await {
        Ok(params) => params,
        Err(FormFault::TooLarge) => {
            return problem::outside(&hub, &request, ErrorCode::PayloadTooLarge);
        }
        Err(fault) => return problem::bad_request(&hub, &request, fault.code()),
    };
    let one = |name| params.one(name).ok().flatten();
    let visit = match visit(&hub, &request, path.into_inner(), one("state")).await {
        Ok(visit) => visit,
        Err(refusal) => return refusal,
    };
    let protected = csrf::same_origin(&request)
        .and_then(|()| csrf::check(&visit.cookie, Purpose::SignIn, &visit.state, one("csrf")));
    if let Err(code) = protected {
        let client_id = Some(&visit.standing.client_id);
        let whose = Whose {
            client_id,
            login: Some(&visit.hash),
            ..Whose::page(visit.standing.support_id.as_str())
        };
        refused::tell(&hub, &request, whose, code, "a form without its protection was refused");
        let problem = crate::login::Problem { code, claim: None, way: crate::login::Way::Choice };
        return problem::of_login(
            &hub,
            &request,
            &visit.hash,
            &visit.cookie,
            problem,
            &visit.standing,
        );
    }
    let (username, password) = match (one("username"), one("password")) {
        (Some(username), Some(password)) => (username.to_owned(), Secret::new(password.to_owned())),
        (username, _) => {
            let username = username.unwrap_or_default().to_owned();
            return answer(&hub, &request, &visit, 400, username, Some(SignInTrouble::Empty));
        }
    };
    let network = hub.proxies.client_network(&request);
    let (login, state) = (visit.hash.clone(), visit.state.clone());
    let typed =
        TypedIn { login, state, username: Secret::new(username.clone()), password, network };
    let outcome = hub.connectors.sign_in(&visit.connector, typed, &visit.standing).await;
    if matches!(outcome, SignInOutcome::Refused | SignInOutcome::Wait(_)) {
        hub.grants.audit.tell(|| {
            let refused = Event::of(Name::PasswordRefused)
                .sp(&visit.standing.client_id)
                .idp(&visit.connector);
            refused.login(&visit.hash).support_id(&visit.standing.support_id)
        });
    }
    match outcome {
        SignInOutcome::Proven(query) => {
            see_other(&format!("{BASE_PATH}/callback/{}?{}", visit.connector, query.reveal()))
        }
        SignInOutcome::Refused => {
            answer(&hub, &request, &visit, 403, username, Some(SignInTrouble::Wrong))
        }
        SignInOutcome::Wait(wait) => {
            let mut response = answer(
                &hub,
                &request,
                &visit,
                429,
                username,
                Some(SignInTrouble::Wait { minutes: minutes(wait) }),
            );
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
            response
        }
        SignInOutcome::Failed(code) => {
            let support_id = visit.standing.support_id.to_string();
            answer(
                &hub,
                &request,
                &visit,
                code.entry().status,
                username,
                Some(SignInTrouble::Failed { code, support_id }),
            )
        }
    }
}

/// Proves that the page is this browser's, and that there is anything to sign in to.
async fn visit(
    hub: &Hub,
    request: &HttpRequest,
    connector: String,
    state: Option<&str>,
) -> Result<Visit, HttpResponse> {
    let connector = ConnectorId::new(connector);
    if !hub.connectors.asks_password(&connector) {
        return Err(problem::outside(hub, request, ErrorCode::NotFound));
    }
    let Some(state) = state else {
        return Err(problem::bad_request(hub, request, ErrorCode::StateUnknown));
    };
    let held = hub.cookies.held_logins(request, None);
    let (hash, cookie, standing) = match held_logins::find_by_state(hub, &held, Some(state)).await {
        Ok(LoginByState::Expecting(hash, cookie, standing)) => (hash, cookie, standing),
        // The page of an older attempt: the login itself says where it stands.
        Ok(LoginByState::OtherLive(hash, _) | LoginByState::OtherEnded(hash)) => {
            return Err(see_other(&problem::interaction(&hash)));
        }
        Ok(LoginByState::None) => {
            return Err(problem::outside(hub, request, ErrorCode::LoginOtherBrowser));
        }
        Err(code) => return Err(problem::outside(hub, request, code)),
    };
    // One that is over, or a connector that was closed meanwhile, is told about where every login stands.
    if !hub.connectors.admits(&connector, &standing) {
        return Err(see_other(&problem::interaction(&hash)));
    }
    Ok(Visit { connector, state: state.to_owned(), hash, cookie, standing })
}

fn answer(
    hub: &Hub,
    request: &HttpRequest,
    visit: &Visit,
    status: u16,
    username: String,
    trouble: Option<SignInTrouble>,
) -> HttpResponse {
    let locale = locale(request, &visit.standing.ui_locales);
    let name = hub.connectors.name(&visit.connector).unwrap_or_default();
    let federation = hub.federation.load();
    let service =
        federation.service(&visit.standing.client_id).map_or("", |sp| locale.pick(&sp.name));
    let shown = SignInPage {
        provider: locale.pick(&name).to_owned(),
        service: service.to_owned(),
        action: format!("/connectors/{}/login", visit.connector),
        hidden: vec![
            Field::new("state", visit.state.as_str()),
            Field::new("csrf", csrf::token(&visit.cookie, Purpose::SignIn, &visit.state)),
        ],
        username,
        trouble,
        back: problem::interaction(&visit.hash),
    };
    page(hub, status, locale, |chrome| shown.render(chrome))
}

/// Whole minutes, so that nobody comes back too early.
fn minutes(wait: Duration) -> u64 {
    wait.as_secs().div_ceil(60).max(1)
}
