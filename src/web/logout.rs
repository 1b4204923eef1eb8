//! The browser's side of a logout (spec 4.9; decisions 12; RP-Initiated Logout 1.0): the request, the question, the way
//! back from an identity provider.
//!
//! Whatever a request says, the browser is redirected to a registered address of a proven service provider, to the
//! identity provider of its own session, or nowhere.

use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpRequest, HttpResponse, web};
use url::form_urlencoded::Serializer;

use super::answer::{landing_page, locale, see_other};
use super::csrf::{self, Purpose};
use super::form::FormFault;
use super::hub::Hub;
use super::login::add_cookie;
use super::pages::{Field, Locale, LogOutPage, LoggedOutPage, Way};
use super::{form, problem};
use crate::actor::Departed;
use crate::audit::{Event, Name};
use crate::grant::logout::Destination;
use crate::ids::{ConnectorId, Secret};
use crate::protocol::acr::Platform;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::discovery::path;
use crate::protocol::logout::{self, Hint, LogoutRequest};
use crate::protocol::params::{Params, Repeated};
use crate::session::Session;
use crate::session::logout::Verdict;

/// Names a request that came by POST, in the address of the GET that goes on with it.
const PARKED: &str = "parked";

/// Parameters that the question's form, and a parked request, carry on. The first three decide.
const CARRIED: [&str; 5] =
    ["id_token_hint", "post_logout_redirect_uri", "state", "client_id", "ui_locales"];
/// Nobody wishes for more languages than this, in characters.
const UI_LOCALES_MOST: usize = 256;

/// Bytes of parameters that go on from a POST to a GET in its address: an encrypted ID token with room to spare.
const LONGEST_IN_ADDRESS: usize = 8 * 1024;

/// Whether the person has answered the question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    Yes,
}

/// `GET /api/v2/session/end`.
pub async fn get(hub: web::Data<Hub>, request: HttpRequest) -> HttpResponse {
    let params = match form::query(request.query_string()) {
        Ok(params) => params,
        Err(fault) => return refuse(&hub, &request, fault.code()),
    };
    let params = match params.one(PARKED) {
        Ok(None) => params,
        // One that is over has said nothing: the person is asked.
        Ok(Some(ticket)) => match hub.grants.unpark(ticket).await {
            Ok(pairs) => Params::new(pairs.unwrap_or_default()),
            Err(code) => return problem::not_logged_out(&hub, &request, code),
        },
        Err(Repeated) => return refuse(&hub, &request, ErrorCode::BadRequest),
    };
    serve(&hub, &request, &params, Said::Nothing).await
}

/// `POST /api/v2/session/end`. From another site it carries no cookie (SameSite=Lax): it is judged, parked, and goes on
/// as a GET, which does.
pub async fn post(hub: web::Data<Hub>, request: HttpRequest, body: web::Payload) -> HttpResponse {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if let Err(code) = logout::admit_post(content_type, request.query_string()) {
        return refuse(&hub, &request, code);
    }
    let params = match form::body(&request, body).await {
        Ok(params) => params,
        Err(FormFault::TooLarge) => {
            return problem::outside(&hub, &request, ErrorCode::PayloadTooLarge);
        }
        Err(fault) => return refuse(&hub, &request, fault.code()),
    };
    // Only what passes takes a place in the store, so that what is kept is small.
    match check(&hub, &params, None) {
        Ok(LogoutRequest::Unnamed) => see_other(path::END_SESSION),
        Ok(LogoutRequest::Named { .. }) => match hub.grants.park(&carried(&params)).await {
            Ok(ticket) => see_other(&format!("{}?{PARKED}={}", path::END_SESSION, ticket.reveal())),
            // Nobody's flood keeps another person from signing out: the parameters travel as they would have by GET.
            Err(ErrorCode::StoreFull) => {
                see_other(&format!("{}?{}", path::END_SESSION, shown(&carried(&params))))
            }
            Err(code) => problem::not_logged_out(&hub, &request, code),
        },
        // Only the session tells whether an encrypted ID token is one of ours, and its cookie comes with the GET.
        Err(ErrorCode::LogoutHintEncrypted)
            if hub.platform == Platform::High && is_short(&params) =>
        {
            see_other(&format!("{}?{}", path::END_SESSION, shown(&carried(&params))))
        }
        Err(code) => refuse(&hub, &request, code),
    }
}

/// Whether the parameters can travel in an address.
fn is_short(params: &Params) -> bool {
    carried(params).iter().map(|(_, value)| value.len()).sum::<usize>() <= LONGEST_IN_ADDRESS
}

/// `POST /api/v2/session/end/confirm`: the answer to the question, sent by our own form.
pub async fn confirm(
    hub: web::Data<Hub>,
    request: HttpRequest,
    body: web::Payload,
) -> HttpResponse {
    let params = match form::body(&request, body).await {
        Ok(params) => params,
        Err(FormFault::TooLarge) => {
            return problem::outside(&hub, &request, ErrorCode::PayloadTooLarge);
        }
        Err(fault) => return refuse(&hub, &request, fault.code()),
    };
    // Without a cookie there is no session to protect: the request is served as one that finds none.
    if let Some(cookie) = hub.cookies.session(&request) {
        let sent = params.one("csrf").ok().flatten();
        let is_ours = csrf::same_origin(&request)
            .and_then(|()| csrf::check(&cookie, Purpose::LogOut, &shown(&carried(&params)), sent));
        if let Err(code) = is_ours {
            hub.metrics.logout("refused");
            return problem::not_logged_out(&hub, &request, code);
        }
    }
    serve(&hub, &request, &params, Said::Yes).await
}

/// `GET /api/v2/session/end/{connector}`: the browser is back from an identity provider's logout.
pub async fn come_back(
    hub: web::Data<Hub>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    let connector = ConnectorId::new(path.into_inner());
    let query = form::query(request.query_string()).unwrap_or_default();
    let kept = match query.one("state") {
        Ok(Some(state)) => hub.grants.take_destination(&connector, state).await,
        Ok(None) | Err(Repeated) => Ok(None),
    };
    let destination = match kept {
        Ok(Some(destination)) => destination,
        Ok(None) => return logged_out(&hub, locale(&request, &[]), None, None),
        Err(code) => return problem::outside(&hub, &request, code),
    };
    hub.metrics.logout("returned");
    hub.grants.audit.tell(|| {
        let returned = Event::of(Name::LogoutReturned).idp(&connector);
        destination.service_provider.iter().fold(returned, Event::sp)
    });
    match &destination.back {
        // The `#` keeps a fragment of the identity provider's from being inherited.
        Some(back) => see_other(&format!("{}#", back.location())),
        None => logged_out(&hub, locale(&request, &[]), Some(&destination), None),
    }
}

/// `recognized` is what an encrypted hint says, if the browser's session knows it.
fn check(hub: &Hub, params: &Params, recognized: Option<Hint>) -> Result<LogoutRequest, ErrorCode> {
    logout::check(params, hub.federation.load().as_ref(), |hint| {
        match hub.grants.logout_hint(hint) {
            Err(ErrorCode::LogoutHintEncrypted) => recognized.ok_or(ErrorCode::LogoutHintEncrypted),
            read => read,
        }
    })
}

/// What an encrypted hint says, if it was issued in the session of the browser's cookie.
async fn recognize(
    hub: &Hub,
    params: &Params,
    cookie: Option<&Secret<String>>,
) -> Result<Option<Hint>, ErrorCode> {
    match (params.one("id_token_hint"), cookie) {
        (Ok(Some(hint)), Some(cookie)) if is_jwe(hint) => {
            hub.logouts.recognize_encrypted_hint(hint, cookie).await
        }
        _ => Ok(None),
    }
}

/// RFC 7516 §9: a JWE in compact serialization has five parts.
fn is_jwe(token: &str) -> bool {
    token.split('.').take(6).count() == 5
}

async fn serve(hub: &Hub, request: &HttpRequest, params: &Params, said: Said) -> HttpResponse {
    let cookie = hub.cookies.session(request);
    let recognized = match recognize(hub, params, cookie.as_ref()).await {
        Ok(recognized) => recognized,
        Err(code) => return problem::not_logged_out(hub, request, code),
    };
    let by_session = recognized.is_some();
    let (named, back) = match check(hub, params, recognized) {
        Ok(LogoutRequest::Named { hint, back }) => (Some(hint), back),
        Ok(LogoutRequest::Unnamed) => (None, None),
        Err(code) => {
            return repeated(hub, params, code, cookie.as_ref())
                .await
                .unwrap_or_else(|| refuse(hub, request, code));
        }
    };
    let (verdict, session) = match hub.logouts.judge(named.as_ref(), cookie.as_ref()).await {
        Ok(judged) => judged,
        Err(code) => return problem::not_logged_out(hub, request, code),
    };
    let locale = locale(request, &wishes(params));
    let destination = Destination { service_provider: named.map(|hint| hint.audience), back };
    let departed = match (verdict, said, &cookie, session) {
        (Verdict::AskFirst, Said::Nothing, cookie, session) => {
            hub.metrics.logout("asked");
            hub.grants.audit.tell(|| {
                destination.service_provider.iter().fold(Event::of(Name::LogoutAsked), Event::sp)
            });
            let question =
                question(hub, locale, cookie.as_ref(), session.as_ref(), &destination, params);
            return landing_page(hub, 200, locale, |chrome| question.render(chrome));
        }
        (Verdict::AskFirst | Verdict::LogOut, _, Some(cookie), Some(session)) => {
            hub.logouts.log_out(cookie, &session, &destination).await
        }
        (_, _, Some(cookie), None) => hub.logouts.repeat(cookie, &destination).await,
        _ => Ok(Departed::Already),
    };
    if let (true, Ok(departed), Some(cookie)) = (by_session, &departed, &cookie) {
        remember(hub, params, cookie, departed, &destination).await;
    }
    let mut response = match departed {
        Ok(departed) => depart(hub, locale, departed, &destination),
        Err(code) => return problem::not_logged_out(hub, request, code),
    };
    if cookie.is_some() {
        add_cookie(&mut response, &hub.cookies.forget_session());
    }
    response
}

/// A double click, or a request whose answer got lost: its session is over, and no longer recognizes its encrypted hint.
async fn repeated(
    hub: &Hub,
    params: &Params,
    code: ErrorCode,
    cookie: Option<&Secret<String>>,
) -> Option<HttpResponse> {
    let cookie = cookie.filter(|_| code == ErrorCode::LogoutHintEncrypted)?;
    let location =
        hub.grants.remembered_redirect(cookie, &shown(&carried(params))).await.ok()??;
    Some(see_other(&location))
}

async fn remember(
    hub: &Hub,
    params: &Params,
    cookie: &Secret<String>,
    departed: &Departed,
    destination: &Destination,
) {
    let location = match (departed, &destination.back) {
        (Departed::ToProvider(url), _) => url.to_string(),
        (Departed::Here { .. } | Departed::Already, Some(back)) => back.location(),
        (Departed::Here { .. } | Departed::Already, None) => return,
    };
    if let Err(code) =
        hub.grants.remember_redirect(cookie, &shown(&carried(params)), &location).await
    {
        tracing::warn!(code = code.entry().code, "a repeat of this logout will be refused");
    }
}

/// The session is over: on to its identity provider, or to the destination.
fn depart(
    hub: &Hub,
    locale: Locale,
    departed: Departed,
    destination: &Destination,
) -> HttpResponse {
    let (outcome, unreached) = match departed {
        Departed::ToProvider(url) => {
            hub.metrics.logout("provider");
            return see_other(url.as_str());
        }
        Departed::Here { connector } => ("here", Some(connector)),
        Departed::Already => ("nobody", None),
    };
    hub.metrics.logout(outcome);
    match &destination.back {
        Some(back) => see_other(&back.location()),
        None => logged_out(hub, locale, Some(destination), unreached.as_ref()),
    }
}

/// `unreached` is the identity provider that could not be told; a sandbox keeps no session of its own.
fn logged_out(
    hub: &Hub,
    locale: Locale,
    destination: Option<&Destination>,
    unreached: Option<&ConnectorId>,
) -> HttpResponse {
    let federation = hub.federation.load();
    let service = destination
        .and_then(|destination| federation.service(destination.service_provider.as_ref()?));
    let name = |id: &ConnectorId| Some(locale.pick(&*hub.connectors.name(id)?).to_owned());
    let logged_out = LoggedOutPage {
        service: service.map(|service| locale.pick(&service.name).to_owned()),
        way: service
            .map(|service| Way::ServiceHome { href: service.registration.home_page.clone() }),
        unreached: unreached.filter(|id| hub.connectors.sandbox_offer(id).is_none()).and_then(name),
    };
    landing_page(hub, 200, locale, |chrome| logged_out.render(chrome))
}

fn question(
    hub: &Hub,
    locale: Locale,
    cookie: Option<&Secret<String>>,
    session: Option<&Session>,
    destination: &Destination,
    params: &Params,
) -> LogOutPage {
    let carried = carried(params);
    // Where there is no cookie, there is nothing that another site could end.
    let csrf = cookie
        .map(|cookie| ("csrf".to_owned(), csrf::token(cookie, Purpose::LogOut, &shown(&carried))));
    let federation = hub.federation.load();
    let service = destination.service_provider.as_ref().and_then(|id| federation.service(id));
    let name = |id: &ConnectorId| {
        hub.connectors.name(id).map_or_else(|| id.to_string(), |name| locale.pick(&name).to_owned())
    };
    LogOutPage {
        fields: csrf
            .into_iter()
            .chain(carried)
            .map(|(name, value)| Field::new(name, value))
            .collect(),
        service: service.map(|service| {
            (locale.pick(&service.name).to_owned(), service.registration.home_page.clone())
        }),
        provider: session.map(|session| name(&session.connector)),
    }
}

/// A request that is good keeps these, each at most once.
fn carried(params: &Params) -> Vec<(String, String)> {
    let fits = |name: &str, value: &str| name != "ui_locales" || value.len() <= UI_LOCALES_MOST;
    let pair = |name: &str| {
        let value = params.one(name).ok().flatten().filter(|value| fits(name, value))?;
        Some((name.to_owned(), value.to_owned()))
    };
    CARRIED.into_iter().filter_map(pair).collect()
}

/// What the form's token binds.
fn shown(carried: &[(String, String)]) -> String {
    Serializer::new(String::new()).extend_pairs(carried).finish()
}

fn wishes(params: &Params) -> Vec<String> {
    let wished = params
        .one("ui_locales")
        .ok()
        .flatten()
        .filter(|value| value.len() <= UI_LOCALES_MOST)
        .unwrap_or_default();
    wished.split_ascii_whitespace().map(str::to_owned).collect()
}

fn refuse(hub: &Hub, request: &HttpRequest, code: ErrorCode) -> HttpResponse {
    hub.metrics.logout("refused");
    problem::bad_logout(hub, request, code)
}
