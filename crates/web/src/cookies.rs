//! The hub's cookies: one for each live login, one for the session, one for the language that the
//! user chose, and one for the last choice, if the operator enables it
//! (docs/design/cookies-and-csrf.md).
//!
//! A login's cookie holds 256 random bits; the URL carries their hash. So the hub verifies that a
//! step comes from the login's browser before any lookup, an attacker can't fixate a login, and
//! logins do not interfere.

use std::collections::HashSet;
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::cookie::time::Duration as CookieDuration;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::header::{COOKIE, HeaderMap};

use passerelle_grants::logout_redirects::DESTINATION_LIFETIME;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::field_value::{is_token, trim_ows};
use passerelle_protocol::ids::{ConnectorId, InteractionHash, Secret};

/// Open logins per browser. The oldest beyond it are closed.
pub const MAX_OPEN_LOGINS: usize = 8;

/// Login cookies that are read per request, and that a browser holds after a login starts.
pub const MAX_LOGIN_COOKIES: usize = 16;

/// Surplus login cookies that one response expires: its header must fit into a proxy buffer of 4
/// KiB.
pub const MAX_EXPIRED_COOKIES: usize = 16;

/// Logouts at identity providers that a browser's cookie names.
const MAX_RUNNING_LOGOUTS: usize = 4;

/// As long as the hub stores where a logout leads to.
const LOGOUT_COOKIE_LIFETIME: Duration = DESTINATION_LIFETIME;

/// Characters of the hash in a login cookie's name: enough to avoid collisions in one browser.
const NAME_HASH_CHARS: usize = 12;

/// Names and attributes of the hub's cookies.
#[derive(Clone, Debug)]
pub struct Cookies {
    login_prefix: String,
    session_name: String,
    last_choice_name: String,
    language_name: String,
    logout_name: String,
    secure: bool,
}

impl Cookies {
    /// Creates the names with `prefix`. `__Host-` and `Secure` are used only on https: Safari drops
    /// Secure cookies on `http://localhost`.
    pub fn new(prefix: &str, https: bool) -> Self {
        let host = if https { "__Host-" } else { "" };
        Self {
            login_prefix: format!("{host}{prefix}-login-"),
            session_name: format!("{host}{prefix}-session"),
            last_choice_name: format!("{host}{prefix}-last"),
            language_name: format!("{host}{prefix}-language"),
            logout_name: format!("{host}{prefix}-logout"),
            secure: https,
        }
    }

    /// Returns whether a request carries the session cookie twice, or the cookie of one login twice.
    ///
    /// A browser has one cookie of each name, because they are bound to this host and to one path.
    /// A second one was set by another host or changed on the way, and the hub can't know which one
    /// is its own: it must not choose (session fixation, login CSRF).
    pub fn has_repeated_cookie(&self, request: &HttpRequest) -> bool {
        let mut seen = HashSet::new();
        sent_cookies(request.headers())
            .map(|(name, _)| name)
            .filter(|name| *name == self.session_name || self.is_login_name(name))
            .any(|name| !seen.insert(name))
    }

    /// Returns the login cookie's value, the preimage of the hash in the URL. It proves that this
    /// browser started the login.
    pub fn login_proof(
        &self,
        request: &HttpRequest,
        hash: &InteractionHash,
    ) -> Option<Secret<String>> {
        let name = self.login_name(hash);
        // The compared values are hashes of a 256-bit secret, so timing reveals nothing useful.
        let mut values = sent_cookies(request.headers())
            .filter(|(sent, _)| *sent == name)
            .map(|(_, value)| value);
        values
            .find(|value| InteractionHash::from_cookie(value) == *hash)
            .map(|value| Secret::new(value.to_owned()))
    }

    /// Returns the logins whose cookies this browser holds: the one that the URL names first, then
    /// the newest.
    pub fn held_logins(
        &self,
        request: &HttpRequest,
        named: Option<&InteractionHash>,
    ) -> HeldLogins {
        self.split_logins(request, named, MAX_LOGIN_COOKIES)
    }

    /// Returns the names of the oldest login cookies, which are expired when a login starts.
    pub fn surplus_logins(&self, request: &HttpRequest) -> Vec<String> {
        self.split_logins(request, None, MAX_LOGIN_COOKIES - 1).surplus_names
    }

    fn split_logins(
        &self,
        request: &HttpRequest,
        named: Option<&InteractionHash>,
        limit: usize,
    ) -> HeldLogins {
        let mut sent: Vec<(&str, &str)> =
            sent_cookies(request.headers()).filter(|(name, _)| self.is_login_name(name)).collect();
        // Browsers send older cookies first (RFC 6265 §5.4).
        sent.reverse();
        if let Some(name) = named.map(|hash| self.login_name(hash)) {
            sent.sort_by_key(|(sent, _)| *sent != name);
        }
        let newest = sent.iter().take(limit);
        let read = newest.map(|(name, value)| (*name, HeldLogin::new(value)));
        // A cookie whose value does not match its name was not set by this hub and is not looked
        // up.
        let (read, forged): (Vec<_>, Vec<_>) =
            read.partition(|(name, login)| self.login_name(&login.hash) == *name);
        let surplus = sent
            .iter()
            .skip(limit)
            .rev()
            .map(|(name, _)| *name)
            .chain(forged.into_iter().map(|(name, _)| name));
        HeldLogins {
            surplus_names: surplus.take(MAX_EXPIRED_COOKIES).map(str::to_owned).collect(),
            logins: read.into_iter().map(|(_, login)| login).collect(),
        }
    }

    fn is_login_name(&self, name: &str) -> bool {
        let start = name.strip_prefix(&self.login_prefix);
        let is_of_hash = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
        start.is_some_and(|start| start.len() == NAME_HASH_CHARS && start.bytes().all(is_of_hash))
    }

    /// Returns the value of the session cookie.
    pub fn session(&self, request: &HttpRequest) -> Option<Secret<String>> {
        let mut sessions =
            sent_cookies(request.headers()).filter(|(name, _)| *name == self.session_name);
        sessions.next().map(|(_, value)| Secret::new(value.to_owned()))
    }

    /// Returns the cookie of a login, which expires at `until`.
    pub fn login_cookie(
        &self,
        hash: &InteractionHash,
        value: &Secret<String>,
        now: Timestamp,
        until: Timestamp,
    ) -> Cookie<'static> {
        let lifetime = i64::try_from(until.since(now).as_secs()).unwrap_or(i64::MAX);
        self.cookie_builder(self.login_name(hash), value.reveal().clone())
            .max_age(CookieDuration::seconds(lifetime))
            .finish()
    }

    /// Returns a cookie that removes the one of a login.
    pub fn expired_login_cookie(&self, hash: &InteractionHash) -> Cookie<'static> {
        self.expired_cookie(&self.login_name(hash))
    }

    /// Returns a cookie that removes the one of this name.
    pub fn expired_cookie(&self, name: &str) -> Cookie<'static> {
        self.cookie_builder(name.to_owned(), String::new()).max_age(CookieDuration::ZERO).finish()
    }

    /// Returns the session cookie. It lives as long as the browser; the hub decides when the
    /// session ends.
    pub fn session_cookie(&self, value: &Secret<String>) -> Cookie<'static> {
        self.cookie_builder(self.session_name.clone(), value.reveal().clone()).finish()
    }

    /// Returns a cookie that removes the session cookie.
    pub fn expired_session_cookie(&self) -> Cookie<'static> {
        self.cookie_builder(self.session_name.clone(), String::new())
            .max_age(CookieDuration::ZERO)
            .finish()
    }

    /// Returns the states of the logouts at identity providers that this browser has not returned
    /// from, the newest first. A cookie that occurs twice names none: another host may have set one
    /// of them, which would lead the browser to that host's service.
    pub fn running_logouts(&self, request: &HttpRequest) -> Vec<String> {
        let value = sole_cookie(request.headers(), &self.logout_name).ok().flatten();
        let states = value.iter().flat_map(|value| value.split('.'));
        states
            .filter(|state| InteractionHash::is_well_formed(state))
            .take(MAX_RUNNING_LOGOUTS)
            .map(str::to_owned)
            .collect()
    }

    /// Returns the cookie with the states of the running logouts; without any, one that removes it.
    pub fn running_logouts_cookie(&self, states: &[String]) -> Cookie<'static> {
        let states: Vec<&str> =
            states.iter().take(MAX_RUNNING_LOGOUTS).map(String::as_str).collect();
        let lifetime = if states.is_empty() { Duration::ZERO } else { LOGOUT_COOKIE_LIFETIME };
        let seconds = i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX);
        self.cookie_builder(self.logout_name.clone(), states.join("."))
            .max_age(CookieDuration::seconds(seconds))
            .finish()
    }

    /// Returns the connector of the last finished login of this browser, if the value is
    /// well-formed.
    pub fn last_choice(&self, request: &HttpRequest) -> Option<ConnectorId> {
        let mut values = sent_cookies(request.headers())
            .filter(|(name, _)| *name == self.last_choice_name)
            .map(|(_, value)| value);
        values.next().filter(|value| ConnectorId::is_well_formed(value)).map(ConnectorId::from)
    }

    /// Returns whether the browser sent a last choice, well-formed or not.
    pub fn has_last_choice(&self, request: &HttpRequest) -> bool {
        sent_cookies(request.headers()).any(|(name, _)| name == self.last_choice_name)
    }

    /// Returns the cookie that remembers a connector.
    pub fn last_choice_cookie(
        &self,
        connector: &ConnectorId,
        lifetime: Duration,
    ) -> Cookie<'static> {
        let lifetime = i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX);
        self.cookie_builder(self.last_choice_name.clone(), connector.to_string())
            .max_age(CookieDuration::seconds(lifetime))
            .finish()
    }

    /// Returns a cookie that removes the last choice.
    pub fn expired_last_choice_cookie(&self) -> Cookie<'static> {
        self.cookie_builder(self.last_choice_name.clone(), String::new())
            .max_age(CookieDuration::ZERO)
            .finish()
    }

    /// Returns the language that the user chose on a page, as sent.
    pub fn language<'a>(&self, request: &'a HttpRequest) -> Option<&'a str> {
        sent_cookies(request.headers())
            .find(|(name, _)| *name == self.language_name)
            .map(|(_, value)| value)
    }

    /// Returns the cookie that remembers a language for a year.
    pub fn language_cookie(&self, language: &str) -> Cookie<'static> {
        self.cookie_builder(self.language_name.clone(), language.to_owned())
            .max_age(CookieDuration::days(365))
            .finish()
    }

    fn login_name(&self, hash: &InteractionHash) -> String {
        let start = hash.as_str().get(..NAME_HASH_CHARS).unwrap_or_default();
        format!("{}{start}", self.login_prefix)
    }

    fn cookie_builder(
        &self,
        name: String,
        value: String,
    ) -> actix_web::cookie::CookieBuilder<'static> {
        Cookie::build(name, value)
            .path("/")
            .http_only(true)
            .same_site(SameSite::Lax)
            .secure(self.secure)
    }
}

/// The login cookies of a request.
#[derive(Clone, Debug)]
pub struct HeldLogins {
    /// At most [`MAX_LOGIN_COOKIES`]: the one that the URL names first, then the newest.
    pub logins: Vec<HeldLogin>,
    /// Names of cookies to expire without a store lookup, the oldest first: at most
    /// [`MAX_EXPIRED_COOKIES`].
    pub surplus_names: Vec<String>,
}

/// A login whose cookie a browser holds.
#[derive(Clone, Debug)]
pub struct HeldLogin {
    pub hash: InteractionHash,
    /// The cookie's value, which proves that the browser started the login.
    pub secret: Secret<String>,
}

impl HeldLogin {
    fn new(value: &str) -> Self {
        Self { hash: InteractionHash::from_cookie(value), secret: Secret::new(value.to_owned()) }
    }
}

/// Returns the value of a cookie.
///
/// # Errors
/// `RepeatedCookie` if the request carries it twice: the hub can't know which one it has set.
pub fn sole_cookie<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, ErrorCode> {
    let mut values = sent_cookies(headers).filter(|(sent, _)| *sent == name);
    let value = values.next().map(|(_, value)| value);
    if values.next().is_some() { Err(ErrorCode::RepeatedCookie) } else { Ok(value) }
}

/// Returns the cookies of a request (RFC 6265 §4.2.1). They are parsed here, so that a cookie with
/// invalid bytes, set by a sibling host, does not hide the others.
///
/// Only the space and tab around a pair are not part of it, and the name is a token. Otherwise a
/// sibling host or an answer over plain http could set U+2000 `__Host-…`, which browsers accept,
/// and the hub would read it as its own cookie.
fn sent_cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let headers = headers.get_all(COOKIE).map(actix_http::header::HeaderValue::as_bytes);
    let pairs = headers.flat_map(|header| header.split(|byte| *byte == b';'));
    pairs
        .filter_map(|pair| trim_ows(std::str::from_utf8(pair).ok()?).split_once('='))
        .filter(|(name, _)| is_token(name))
}

#[cfg(test)]
mod tests;
