//! The logins that a browser holds cookies of: which of them an upstream `state` belongs to, and which have to go.
//!
//! Responsible for the bounds: a request makes at most one store call here, for at most [`MAX_LOGINS_READ`] logins, and an
//! answer expires at most [`MAX_EXPIRED`] cookies, however many were sent.
//!
//! [`MAX_LOGINS_READ`]: super::cookies::MAX_LOGINS_READ
//! [`MAX_EXPIRED`]: super::cookies::MAX_EXPIRED

use actix_web::{HttpRequest, HttpResponse};

use super::cookies::{HeldLogin, HeldLogins, MAX_EXPIRED, MAX_OPEN_LOGINS};
use super::hub::Hub;
use super::login::add_cookie;
use crate::actor::{Standing, StoredLogin};
use crate::ids::{InteractionHash, Secret};
use crate::login::Request;
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::trace;

/// The login of this browser that an upstream `state` belongs to.
pub(super) enum LoginByState {
    /// This login expects the state.
    Expecting(InteractionHash, Secret<String>, Standing),
    /// None expects it; this one is the newest that can go on.
    OtherLive(InteractionHash, Standing),
    /// None expects it, and none can go on; this one is the newest.
    OtherEnded(InteractionHash),
    /// The store knows no login of this browser.
    None,
}

/// Finds the login that expects `state` among those of this browser. The identity provider sends only the `state`, which says
/// nothing about the login: the browser's own cookies are the index.
///
/// # Errors
/// The store's.
pub(super) async fn find_by_state(
    hub: &Hub,
    held: &HeldLogins,
    state: Option<&str>,
) -> Result<LoginByState, ErrorCode> {
    let (mut live, mut ended) = (None, None);
    for (login, stored) in read(hub, held).await? {
        let Some(stored) = stored else { continue };
        if state.is_some_and(|state| stored.expects_state(state)) {
            return Ok(LoginByState::Expecting(
                login.hash.clone(),
                login.value.clone(),
                stored.standing(),
            ));
        }
        if stored.is_live(hub.env.now()) {
            live = live
                .or_else(|| Some(LoginByState::OtherLive(login.hash.clone(), stored.standing())));
        } else {
            ended = ended.or_else(|| Some(LoginByState::OtherEnded(login.hash.clone())));
        }
    }
    Ok(live.or(ended).unwrap_or(LoginByState::None))
}

/// Closes the oldest logins of a browser that holds more than [`MAX_OPEN_LOGINS`], and expires the cookies of those that it
/// closes, of those that have ended, and of those that are too many to be read. `shown` is the login of this address.
pub(super) async fn close_oldest(
    hub: &Hub,
    request: &HttpRequest,
    shown: &InteractionHash,
    response: &mut HttpResponse,
) {
    let held = hub.cookies.held_logins(request, Some(shown));
    let closed = if held.read.len() > MAX_OPEN_LOGINS {
        close_surplus(hub, &held, shown).await
    } else {
        Vec::new()
    };
    let closed = closed.into_iter().map(|hash| hub.cookies.forget_login(hash));
    let surplus = held.surplus.iter().map(|name| hub.cookies.forget_named(name));
    for cookie in closed.chain(surplus).take(MAX_EXPIRED) {
        add_cookie(response, &cookie);
    }
}

/// Closes the oldest of a browser's open logins. Returns those whose cookies have no use any more.
async fn close_surplus<'h>(
    hub: &Hub,
    held: &'h HeldLogins,
    shown: &InteractionHash,
) -> Vec<&'h InteractionHash> {
    // A store that is away closes nothing, and breaks no page.
    let Ok(stored) = read(hub, held).await else { return Vec::new() };
    let (mut open, mut ended) = (Vec::new(), Vec::new());
    // The login that is being looked at stays open, however old.
    for (login, stored) in stored.into_iter().rev().filter(|(login, _)| login.hash != *shown) {
        match stored.map(|stored| stored.standing()) {
            Some(standing) if !standing.over && !standing.failed => {
                open.push((standing.opened_at, &login.hash))
            }
            Some(standing) if standing.failed && !standing.displaced => {}
            Some(_) | None => ended.push(&login.hash),
        }
    }
    open.sort_by_key(|(opened_at, _)| *opened_at);
    let surplus = (open.len() + 1).saturating_sub(MAX_OPEN_LOGINS);
    let displaced = open.into_iter().take(surplus).map(|(_, hash)| async move {
        let closed = trace::apart(hub.logins.step(hash, Request::Displace, None)).await;
        closed.is_ok().then_some(hash)
    });
    ended.extend(futures_util::future::join_all(displaced).await.into_iter().flatten());
    ended
}

/// Expires the login cookies that were sent beyond those that may be read.
pub(super) fn expire_surplus(hub: &Hub, held: &HeldLogins, response: &mut HttpResponse) {
    for name in &held.surplus {
        add_cookie(response, &hub.cookies.forget_named(name));
    }
}

/// What the store knows of each, in one call; without one where there is none to ask about.
async fn read<'h>(
    hub: &Hub,
    held: &'h HeldLogins,
) -> Result<Vec<(&'h HeldLogin, Option<StoredLogin>)>, ErrorCode> {
    let hashes: Vec<InteractionHash> = held.read.iter().map(|login| login.hash.clone()).collect();
    let stored = hub.logins.load_many(&hashes).await?;
    Ok(held.read.iter().zip(stored).collect())
}
