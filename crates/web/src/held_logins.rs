//! Finds the login that an upstream `state` belongs to among those whose cookies a browser holds,
//! and closes the oldest ones.
//!
//! Responsible for the bounds: a request makes at most one store call, for at most
//! [`MAX_LOGIN_COOKIES`] logins, and a response expires at most [`MAX_EXPIRED_COOKIES`] cookies.
//!
//! [`MAX_LOGIN_COOKIES`]: super::cookies::MAX_LOGIN_COOKIES
//! [`MAX_EXPIRED_COOKIES`]: super::cookies::MAX_EXPIRED_COOKIES

use actix_web::HttpResponse;

use super::cookies::{HeldLogin, HeldLogins, MAX_EXPIRED_COOKIES, MAX_OPEN_LOGINS};
use super::hub::Hub;
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::add_cookie;
use passerelle_federation::login::LoginRequest;
use passerelle_hub::{LoginSummary, StoredLogin};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ConnectorId, InteractionHash};
use passerelle_telemetry::trace;

/// The login of this browser that an upstream `state` belongs to.
pub(super) enum LoginByState {
    /// This login expects the state.
    Expecting(HeldLogin, LoginSummary),
    /// No login expects it; this is the newest that can continue.
    OtherLive(InteractionHash, LoginSummary),
    /// No login expects it and none can continue; this is the newest.
    OtherEnded(InteractionHash),
    /// The store knows no login of this browser.
    None,
}

/// Returns the login of this browser that expects `state`, for a page of that attempt.
///
/// # Errors
/// `OutdatedForm` if the login no longer expects it, `OutsideLogin` if this browser has no login.
pub(super) async fn find_expecting(
    hub: &Hub,
    held: &HeldLogins,
    state: &str,
) -> Result<(HeldLogin, LoginSummary), Rejection> {
    match find_by_state(hub, held, Some(state)).await.map_err(Rejection::OutsideLogin)? {
        LoginByState::Expecting(login, summary) => Ok((login, summary)),
        LoginByState::OtherLive(hash, _) | LoginByState::OtherEnded(hash) => {
            Err(Rejection::OutdatedForm(hash))
        }
        LoginByState::None => Err(Rejection::OutsideLogin(ErrorCode::LoginOtherBrowser)),
    }
}

/// Returns whether a login of this browser awaits a callback of `connector` with this `state`.
///
/// # Errors
/// The error code of the store.
pub(super) async fn is_callback_awaited(
    hub: &Hub,
    held: &HeldLogins,
    connector: &ConnectorId,
    state: &str,
) -> Result<bool, ErrorCode> {
    let logins = load_logins(hub, held).await?;
    let mut stored = logins.into_iter().filter_map(|(_, stored)| stored);
    Ok(stored.any(|login| login.awaits_callback(connector, state)))
}

/// Finds the login that expects `state` among those of this browser.
///
/// The identity provider sends only the `state`, which does not name the login, so the browser's
/// cookies are the index.
///
/// # Errors
/// The error code of the store.
pub(super) async fn find_by_state(
    hub: &Hub,
    held: &HeldLogins,
    state: Option<&str>,
) -> Result<LoginByState, ErrorCode> {
    let (mut live, mut ended) = (None, None);
    for (login, stored) in load_logins(hub, held).await? {
        let Some(stored) = stored else { continue };
        if state.is_some_and(|state| stored.expects_state(state)) {
            return Ok(LoginByState::Expecting(login.clone(), stored.summary()));
        }
        if stored.is_live(hub.core.env.now()) {
            live = live
                .or_else(|| Some(LoginByState::OtherLive(login.hash.clone(), stored.summary())));
        } else {
            ended = ended.or_else(|| Some(LoginByState::OtherEnded(login.hash.clone())));
        }
    }
    Ok(live.or(ended).unwrap_or(LoginByState::None))
}

/// Closes the oldest logins of a browser that holds more than [`MAX_OPEN_LOGINS`].
///
/// Expires the cookies of the logins that it closes, of those that have ended, and of those beyond
/// the number that is read. `current` is the login that the page shows.
pub(super) async fn close_oldest_logins(
    context: &RequestContext,
    current: &InteractionHash,
    response: &mut HttpResponse,
) {
    let hub = &context.hub;
    let held = hub.cookies.held_logins(&context.request, Some(current));
    let closed = if held.logins.len() > MAX_OPEN_LOGINS {
        close_surplus_logins(hub, &held, current).await
    } else {
        Vec::new()
    };
    let closed = closed.into_iter().map(|hash| hub.cookies.expired_login_cookie(hash));
    let surplus = held.surplus_names.iter().map(|name| hub.cookies.expired_cookie(name));
    for cookie in closed.chain(surplus).take(MAX_EXPIRED_COOKIES) {
        add_cookie(response, &cookie);
    }
}

/// Closes the oldest of a browser's open logins. Returns the logins whose cookies are no longer
/// needed.
async fn close_surplus_logins<'h>(
    hub: &Hub,
    held: &'h HeldLogins,
    current: &InteractionHash,
) -> Vec<&'h InteractionHash> {
    // If the store is unavailable, nothing is closed and the page is still shown.
    let Ok(stored) = load_logins(hub, held).await else { return Vec::new() };
    let (mut open, mut ended) = (Vec::new(), Vec::new());
    // The login that the page shows stays open, however old it is.
    for (login, stored) in stored.into_iter().rev().filter(|(login, _)| login.hash != *current) {
        match stored.map(|stored| stored.summary()) {
            Some(summary) if !summary.is_completed && !summary.is_failed => {
                open.push((summary.opened_at, &login.hash));
            }
            Some(summary) if summary.is_failed && !summary.is_displaced => {}
            Some(_) | None => ended.push(&login.hash),
        }
    }
    open.sort_by_key(|(opened_at, _)| *opened_at);
    let surplus = (open.len() + 1).saturating_sub(MAX_OPEN_LOGINS);
    let displaced = open.into_iter().take(surplus).map(|(_, hash)| async move {
        let closed = trace::detached(hub.logins.run_step(hash, LoginRequest::Displace, None)).await;
        closed.is_ok().then_some(hash)
    });
    ended.extend(futures_util::future::join_all(displaced).await.into_iter().flatten());
    ended
}

/// Expires the login cookies beyond those that are read.
pub(super) fn expire_surplus_cookies(hub: &Hub, held: &HeldLogins, response: &mut HttpResponse) {
    for name in &held.surplus_names {
        add_cookie(response, &hub.cookies.expired_cookie(name));
    }
}

/// Loads the logins in one store call; makes no call if there are none.
async fn load_logins<'h>(
    hub: &Hub,
    held: &'h HeldLogins,
) -> Result<Vec<(&'h HeldLogin, Option<StoredLogin>)>, ErrorCode> {
    let hashes: Vec<InteractionHash> = held.logins.iter().map(|login| login.hash.clone()).collect();
    let stored = hub.logins.load_many(&hashes).await?;
    Ok(held.logins.iter().zip(stored).collect())
}
