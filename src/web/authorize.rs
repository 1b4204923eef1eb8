//! `GET|POST /api/v2/authorize` (spec 4.3, 4.4; decisions 3): judge the request, open a login, send the browser on.

use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{locale, see_other, to_service_provider};
use super::form::FormFault;
use super::hub::Hub;
use super::refused::{self, Whose};
use super::{form, login, problem};
use crate::actor::{UNSEEN_LIFE, Unserved};
use crate::client_network::{self, ClientNetwork};
use crate::ids::ClientId;
use crate::login::Request;
use crate::protocol::authorize::{
    self, AuthorizationRequest, ProvenRedirect, Refusal, RequestForm,
};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::params::Params;
use crate::quota::Over;

pub async fn get(hub: web::Data<Hub>, request: HttpRequest) -> HttpResponse {
    match form::query(request.query_string()) {
        Ok(params) => authorize(&hub, &request, &params, RequestForm::Get).await,
        Err(fault) => problem::bad_request(&hub, &request, fault.code()),
    }
}

pub async fn post(hub: web::Data<Hub>, request: HttpRequest, body: web::Payload) -> HttpResponse {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if let Err(code) = authorize::admit_post(content_type, request.query_string()) {
        return problem::bad_request(&hub, &request, code);
    }
    match form::body(&request, body).await {
        Ok(params) => authorize(&hub, &request, &params, RequestForm::Post).await,
        Err(FormFault::TooLarge) => problem::outside(&hub, &request, ErrorCode::PayloadTooLarge),
        Err(fault) => problem::bad_request(&hub, &request, fault.code()),
    }
}

/// `GET /api/v1/authorize`: the older prefix is understood (R121).
pub async fn older(request: HttpRequest) -> HttpResponse {
    match request.query_string() {
        "" => see_other("/api/v2/authorize"),
        query => see_other(&format!("/api/v2/authorize?{query}")),
    }
}

async fn authorize(
    hub: &Hub,
    request: &HttpRequest,
    params: &Params,
    form: RequestForm,
) -> HttpResponse {
    let client = hub.proxies.client(request);
    if let Err(over) = hub.quotas.request_comes(client) {
        let client_id = params.one("client_id").ok().flatten().map(Into::into);
        return problem::limited(hub, request, ErrorCode::NetworkLimited, over, client_id.as_ref());
    }
    let asked = match authorize::check(
        params,
        form,
        hub.platform,
        &hub.issuer,
        hub.federation.load().as_ref(),
    ) {
        Ok(asked) => asked,
        Err(Refusal::Page(code)) => {
            return problem::bad_authorization(
                hub,
                request,
                code,
                registered(hub, params).as_ref(),
            );
        }
        Err(Refusal::Redirect(redirect, code)) => {
            let client_id = registered(hub, params);
            let whose = Whose { client_id: client_id.as_ref(), ..Whose::default() };
            refused::tell(hub, request, whose, code, "an authorization request was refused");
            return to_service_provider(hub, locale(request, &[]), "", redirect.error(code));
        }
    };
    // Behind a proxy that the configuration does not name, everybody comes from its network.
    let network = (!client_network::is_private(client)).then(|| ClientNetwork::containing(client));
    serve(hub, request, asked, (form, network)).await
}

/// The client that a refused request names, if it is registered: anything else could be any text.
fn registered(hub: &Hub, params: &Params) -> Option<ClientId> {
    let named = params.one("client_id").ok().flatten().map(ClientId::from)?;
    hub.federation.load().service(&named).map(|service| service.registration.client_id.clone())
}

async fn serve(
    hub: &Hub,
    request: &HttpRequest,
    asked: AuthorizationRequest,
    (form, network): (RequestForm, Option<ClientNetwork>),
) -> HttpResponse {
    let locale = locale(request, &asked.ui_locales);
    let service = hub
        .federation
        .load()
        .service(&asked.client_id)
        .map_or("", |sp| locale.pick(&sp.name))
        .to_owned();
    let client_id = asked.client_id.clone();
    let refuse = |redirect: &ProvenRedirect, code: ErrorCode| {
        let whose = Whose { client_id: Some(&client_id), ..Whose::default() };
        refused::tell(hub, request, whose, code, "an authorization request could not be served");
        to_service_provider(hub, locale, &service, redirect.error(code))
    };

    let wanted = match hub.grants.wanted(&asked) {
        Ok(wanted) => wanted,
        Err(code) => return refuse(&asked.redirect, code),
    };
    // A login whose answer could never be written must not begin (decisions 6, High).
    if let Err(code) = hub.grants.can_answer(&asked.client_id) {
        return refuse(&asked.redirect, code);
    }
    let silent = asked.prompt.none && form == RequestForm::Get;
    let redirect = asked.redirect.clone();
    let own_rate = hub.federation.load().service(&client_id).and_then(|sp| sp.logins_per_minute);
    match hub.quotas.login_begins(&client_id, own_rate) {
        Ok(()) => {}
        Err(_) if silent => return refuse(&redirect, ErrorCode::ServiceLimited),
        Err(over) => {
            return problem::limited(
                hub,
                request,
                ErrorCode::ServiceLimited,
                over,
                Some(&client_id),
            );
        }
    }
    let opened = match hub.logins.open(asked, wanted, network).await {
        Ok(opened) => opened,
        Err(unserved) if silent => return refuse(&redirect, unserved.0),
        // The person learns it here, with a way back; a service provider that is told would only send them again.
        Err(Unserved(code @ ErrorCode::NetworkCrowded)) => {
            let over = Over { wait: UNSEEN_LIFE };
            return problem::limited(hub, request, code, over, Some(&client_id));
        }
        Err(unserved) => return problem::unserved(hub, request, unserved.0, &client_id),
    };
    if silent {
        // Nothing may be shown, so there is no page to go to: the answer is known from the session alone.
        let session = hub.cookies.session(request);
        return match hub.logins.step(&opened.hash, Request::Look { reuse: None }, session).await {
            Ok(reply) => login::respond(
                hub,
                request,
                &opened.hash,
                &opened.cookie,
                reply,
                login::From::Authorize,
            ),
            Err(_) => refuse(&redirect, ErrorCode::Unavailable),
        };
    }
    let mut response = see_other(&problem::interaction(&opened.hash));
    let cookie = hub.cookies.set_login(
        &opened.hash,
        &opened.cookie,
        hub.env.now(),
        opened.expires_at + login::AFTERLIFE,
    );
    super::login::add_cookie(&mut response, &cookie);
    for name in hub.cookies.surplus_logins(request) {
        super::login::add_cookie(&mut response, &hub.cookies.forget_named(&name));
    }
    response
}
