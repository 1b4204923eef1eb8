//! The kinds of cookie (decisions 4): one for each live login, one for the session; and the last choice, where the
//! operator wants it remembered.
//!
//! A login's cookie holds 256 random bits; the URL carries their hash. So the binding of a step to its browser is
//! checked before anything is looked up, nothing can be fixated, and no login touches another.

use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::cookie::time::Duration as CookieDuration;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::header::COOKIE;

use crate::env::Timestamp;
use crate::ids::{ConnectorId, InteractionHash, Secret};

/// Logins that one browser may have open; the oldest beyond it are closed.
pub const MAX_OPEN_LOGINS: usize = 8;

/// Login cookies that are read in one request, and that a browser holds after a login has begun.
pub const MAX_LOGINS_READ: usize = 16;

/// Login cookies beyond those that one answer expires: its header must fit into a proxy's buffer of 4 KiB.
pub const MAX_EXPIRED: usize = 16;

/// Characters of the hash in a login cookie's name: enough that the few logins of a browser never collide.
const NAME_LENGTH: usize = 12;

/// How cookies are named and marked for this hub.
#[derive(Clone, Debug)]
pub struct Cookies {
    login_prefix: String,
    session_name: String,
    last_choice_name: String,
    secure: bool,
}

impl Cookies {
    /// `__Host-` and `Secure` only where the hub is on https: Safari drops Secure cookies on `http://localhost`.
    #[must_use]
    pub fn new(prefix: &str, https: bool) -> Self {
        let host = if https { "__Host-" } else { "" };
        Self {
            login_prefix: format!("{host}{prefix}-login-"),
            session_name: format!("{host}{prefix}-session"),
            last_choice_name: format!("{host}{prefix}-last"),
            secure: https,
        }
    }

    /// Proof that this browser began this login: the preimage of the hash in the URL.
    #[must_use]
    pub fn proof(&self, request: &HttpRequest, hash: &InteractionHash) -> Option<Secret<String>> {
        let name = self.login_name(hash);
        // Comparing hashes of a 256-bit secret: timing tells nothing that helps.
        let mut values = sent(request).filter(|(sent, _)| *sent == name).map(|(_, value)| value);
        values
            .find(|value| InteractionHash::of_cookie(value) == *hash)
            .map(|value| Secret::new(value.to_owned()))
    }

    /// Returns the logins that this browser holds cookies of: first the one that the address names, then the newest.
    #[must_use]
    pub fn held_logins(
        &self,
        request: &HttpRequest,
        named: Option<&InteractionHash>,
    ) -> HeldLogins {
        self.split_logins(request, named, MAX_LOGINS_READ)
    }

    /// Returns the names of the oldest login cookies, which make room for the one that an answer adds.
    #[must_use]
    pub fn surplus_logins(&self, request: &HttpRequest) -> Vec<String> {
        self.split_logins(request, None, MAX_LOGINS_READ - 1).surplus
    }

    fn split_logins(
        &self,
        request: &HttpRequest,
        named: Option<&InteractionHash>,
        most: usize,
    ) -> HeldLogins {
        let mut sent: Vec<(&str, &str)> =
            sent(request).filter(|(name, _)| self.is_login_name(name)).collect();
        // Browsers send older cookies first (RFC 6265 §5.4).
        sent.reverse();
        if let Some(name) = named.map(|hash| self.login_name(hash)) {
            sent.sort_by_key(|(sent, _)| *sent != name);
        }
        let newest = sent.iter().take(most);
        let read = newest.map(|(name, value)| (*name, HeldLogin::new(value)));
        // A value that does not fit its name is no cookie of this hub: nothing is looked up for it.
        let (read, forged): (Vec<_>, Vec<_>) =
            read.partition(|(name, login)| self.login_name(&login.hash) == *name);
        let surplus = sent
            .iter()
            .skip(most)
            .rev()
            .map(|(name, _)| *name)
            .chain(forged.into_iter().map(|(name, _)| name));
        HeldLogins {
            surplus: surplus.take(MAX_EXPIRED).map(str::to_owned).collect(),
            read: read.into_iter().map(|(_, login)| login).collect(),
        }
    }

    fn is_login_name(&self, name: &str) -> bool {
        let start = name.strip_prefix(&self.login_prefix);
        let is_of_hash = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
        start.is_some_and(|start| start.len() == NAME_LENGTH && start.bytes().all(is_of_hash))
    }

    #[must_use]
    pub fn session(&self, request: &HttpRequest) -> Option<Secret<String>> {
        let mut sessions = sent(request).filter(|(name, _)| *name == self.session_name);
        sessions.next().map(|(_, value)| Secret::new(value.to_owned()))
    }

    /// `until` is when the browser may forget it.
    #[must_use]
    pub fn set_login(
        &self,
        hash: &InteractionHash,
        value: &Secret<String>,
        now: Timestamp,
        until: Timestamp,
    ) -> Cookie<'static> {
        let life = i64::try_from(until.since(now).as_secs()).unwrap_or(i64::MAX);
        self.marked(self.login_name(hash), value.reveal().clone())
            .max_age(CookieDuration::seconds(life))
            .finish()
    }

    #[must_use]
    pub fn forget_login(&self, hash: &InteractionHash) -> Cookie<'static> {
        self.forget_named(&self.login_name(hash))
    }

    /// Expires the cookie of this name.
    #[must_use]
    pub fn forget_named(&self, name: &str) -> Cookie<'static> {
        self.marked(name.to_owned(), String::new()).max_age(CookieDuration::ZERO).finish()
    }

    /// A session's end is decided by the hub, so the cookie itself lives as long as the browser does.
    #[must_use]
    pub fn set_session(&self, value: &Secret<String>) -> Cookie<'static> {
        self.marked(self.session_name.clone(), value.reveal().clone()).finish()
    }

    #[must_use]
    pub fn forget_session(&self) -> Cookie<'static> {
        self.marked(self.session_name.clone(), String::new()).max_age(CookieDuration::ZERO).finish()
    }

    /// Which connector a login was last finished with in this browser; a value that can't be one is none.
    #[must_use]
    pub fn last_choice(&self, request: &HttpRequest) -> Option<ConnectorId> {
        let mut values = sent(request)
            .filter(|(name, _)| *name == self.last_choice_name)
            .map(|(_, value)| value);
        values.next().filter(|value| ConnectorId::is_well_formed(value)).map(ConnectorId::from)
    }

    #[must_use]
    pub fn has_last_choice(&self, request: &HttpRequest) -> bool {
        sent(request).any(|(name, _)| name == self.last_choice_name)
    }

    #[must_use]
    pub fn set_last_choice(&self, connector: &ConnectorId, life: Duration) -> Cookie<'static> {
        let life = i64::try_from(life.as_secs()).unwrap_or(i64::MAX);
        self.marked(self.last_choice_name.clone(), connector.to_string())
            .max_age(CookieDuration::seconds(life))
            .finish()
    }

    #[must_use]
    pub fn forget_last_choice(&self) -> Cookie<'static> {
        self.marked(self.last_choice_name.clone(), String::new())
            .max_age(CookieDuration::ZERO)
            .finish()
    }

    fn login_name(&self, hash: &InteractionHash) -> String {
        let start = hash.as_str().get(..NAME_LENGTH).unwrap_or_default();
        format!("{}{start}", self.login_prefix)
    }

    fn marked(&self, name: String, value: String) -> actix_web::cookie::CookieBuilder<'static> {
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
    /// At most [`MAX_LOGINS_READ`], the most wanted first.
    pub read: Vec<HeldLogin>,
    /// Names of cookies to expire without a look at the store, the oldest first: at most [`MAX_EXPIRED`].
    pub surplus: Vec<String>,
}

/// A login that a browser holds the cookie of.
#[derive(Clone, Debug)]
pub struct HeldLogin {
    pub hash: InteractionHash,
    /// The cookie's value, which proves that the browser began the login.
    pub value: Secret<String>,
}

impl HeldLogin {
    fn new(value: &str) -> Self {
        Self { hash: InteractionHash::of_cookie(value), value: Secret::new(value.to_owned()) }
    }
}

/// Every cookie that came (RFC 6265, 4.2.1). Read by hand: one that a sibling host has set with strange bytes must not
/// make the others unreadable.
fn sent(request: &HttpRequest) -> impl Iterator<Item = (&str, &str)> {
    let headers = request.headers().get_all(COOKIE).map(|value| value.as_bytes());
    let pairs = headers.flat_map(|header| header.split(|byte| *byte == b';'));
    pairs.filter_map(|pair| std::str::from_utf8(pair).ok()?.trim().split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    #[test]
    fn another_logins_interaction_hash_is_no_proof() {
        let cookies = Cookies::new("hub", true);
        let (mine, other) = ("a".repeat(43), "b".repeat(43));
        let (my_hash, other_hash) =
            (InteractionHash::of_cookie(&mine), InteractionHash::of_cookie(&other));
        let set = cookies.set_login(
            &my_hash,
            &Secret::new(mine),
            Timestamp::default(),
            Timestamp::from_seconds(60),
        );
        let request = TestRequest::default().cookie(set).to_http_request();
        assert!(cookies.proof(&request, &my_hash).is_some());
        assert!(cookies.proof(&request, &other_hash).is_none());
        // The name of the other login with my value: the preimage doesn't fit.
        let forged = Cookie::new(cookies.login_name(&other_hash), "a".repeat(43));
        let request = TestRequest::default().cookie(forged).to_http_request();
        assert!(cookies.proof(&request, &other_hash).is_none());
    }

    fn held(
        cookies: &Cookies,
        request: &HttpRequest,
        named: Option<&InteractionHash>,
    ) -> Vec<InteractionHash> {
        cookies.held_logins(request, named).read.into_iter().map(|login| login.hash).collect()
    }

    #[test]
    fn of_5000_forged_login_cookies_16_are_read_and_16_expired() {
        let cookies = Cookies::new("hub", true);
        let values: Vec<String> = (0..5000).map(|n| format!("{n:043}")).collect();
        let hash = |n: usize| InteractionHash::of_cookie(&values[n]);
        let header: Vec<String> =
            (0..5000).map(|n| format!("{}={}", cookies.login_name(&hash(n)), values[n])).collect();
        let request =
            TestRequest::default().insert_header((COOKIE, header.join("; "))).to_http_request();
        let newest: Vec<InteractionHash> = (4984..5000).rev().map(hash).collect();
        assert_eq!(held(&cookies, &request, None), newest);
        // The one that the address names comes first, however old.
        let named = hash(7);
        let expected: Vec<InteractionHash> =
            std::iter::once(hash(7)).chain((4985..5000).rev().map(hash)).collect();
        assert_eq!(held(&cookies, &request, Some(&named)), expected);
        let surplus = cookies.held_logins(&request, Some(&named)).surplus;
        assert_eq!(surplus.len(), MAX_EXPIRED);
        assert_eq!(surplus[0], cookies.login_name(&hash(0)), "the oldest first");
        assert!(!surplus.contains(&cookies.login_name(&named)));
    }

    #[test]
    fn values_that_do_not_fit_their_names_are_expired_and_not_looked_up() {
        let cookies = Cookies::new("hub", true);
        let forged = "__Host-hub-login-AAAAAAAAAAAA=x; __Host-hub-login-short=y; __Host-hub-login-<script>AAAA=z";
        let request = TestRequest::default().insert_header((COOKIE, forged)).to_http_request();
        let HeldLogins { read, surplus } = cookies.held_logins(&request, None);
        assert!(read.is_empty());
        assert_eq!(
            surplus,
            ["__Host-hub-login-AAAAAAAAAAAA"],
            "a name that the hub never gave is left alone"
        );
    }

    #[test]
    fn a_browser_that_begins_login_after_login_holds_no_more_than_16_cookies() {
        let cookies = Cookies::new("hub", true);
        let mut jar: Vec<(String, String)> = Vec::new();
        for n in 0..130 {
            let header: Vec<String> =
                jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let request =
                TestRequest::default().insert_header((COOKIE, header.join("; "))).to_http_request();
            for gone in cookies.surplus_logins(&request) {
                jar.retain(|(name, _)| *name != gone);
            }
            let value = format!("{n:043}");
            jar.push((cookies.login_name(&InteractionHash::of_cookie(&value)), value));
            assert!(jar.len() <= MAX_LOGINS_READ, "{} cookies after {n} logins", jar.len());
        }
        assert_eq!(jar.len(), MAX_LOGINS_READ);
    }

    #[test]
    fn cookies_are_host_bound_secure_lax_and_hidden_from_script() {
        let cookie = Cookies::new("hub", true).set_session(&Secret::new("v".into())).to_string();
        for part in ["__Host-hub-session=v", "HttpOnly", "SameSite=Lax", "Secure", "Path=/"] {
            assert!(cookie.contains(part), "{part} in {cookie}");
        }
        assert!(!cookie.contains("Domain"));
        let plain = Cookies::new("hub", false).set_session(&Secret::new("v".into())).to_string();
        assert!(!plain.contains("Secure") && !plain.contains("__Host-"));
    }

    #[test]
    fn a_last_choice_is_a_well_formed_id_or_nothing() {
        let cookies = Cookies::new("hub", true);
        let set = cookies.set_last_choice(&"amandier".into(), Duration::from_secs(60)).to_string();
        for part in [
            "__Host-hub-last=amandier",
            "HttpOnly",
            "SameSite=Lax",
            "Secure",
            "Path=/",
            "Max-Age=60",
        ] {
            assert!(set.contains(part), "{part} in {set}");
        }
        for (value, read) in [
            ("amandier", true),
            ("<script>", false),
            ("../x", false),
            ("", false),
            ("confirm", false),
        ] {
            let request = TestRequest::default()
                .insert_header((COOKIE, format!("__Host-hub-last={value}")))
                .to_http_request();
            assert_eq!(cookies.last_choice(&request).is_some(), read, "{value}");
            assert!(cookies.has_last_choice(&request));
        }
    }

    #[test]
    fn a_foreign_cookie_of_strange_bytes_hides_no_other() {
        let cookies = Cookies::new("hub", false);
        let value = "a".repeat(43);
        let hash = InteractionHash::of_cookie(&value);
        let header = [
            b"strange=\xff\xfe; ".as_slice(),
            cookies.login_name(&hash).as_bytes(),
            b"=",
            value.as_bytes(),
        ]
        .concat();
        let header = actix_web::http::header::HeaderValue::from_bytes(&header).unwrap();
        let request = TestRequest::default().insert_header((COOKIE, header)).to_http_request();
        assert!(cookies.proof(&request, &hash).is_some());
        assert_eq!(held(&cookies, &request, None), [hash]);
    }
}
