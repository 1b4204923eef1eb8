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
pub const MOST_LOGINS: usize = 8;

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
        values.find(|value| InteractionHash::of_cookie(value) == *hash).map(|value| Secret::new(value.to_owned()))
    }

    /// Every login that this browser holds a cookie of.
    #[must_use]
    pub fn logins(&self, request: &HttpRequest) -> Vec<InteractionHash> {
        let of_login = sent(request).filter(|(name, _)| name.starts_with(&self.login_prefix));
        of_login.map(|(_, value)| InteractionHash::of_cookie(value)).collect()
    }

    #[must_use]
    pub fn session(&self, request: &HttpRequest) -> Option<Secret<String>> {
        let mut sessions = sent(request).filter(|(name, _)| *name == self.session_name);
        sessions.next().map(|(_, value)| Secret::new(value.to_owned()))
    }

    /// `until` is when the browser may forget it.
    #[must_use]
    pub fn set_login(&self, hash: &InteractionHash, value: &Secret<String>, now: Timestamp, until: Timestamp) -> Cookie<'static> {
        let life = i64::try_from(until.since(now).as_secs()).unwrap_or(i64::MAX);
        self.marked(self.login_name(hash), value.reveal().clone()).max_age(CookieDuration::seconds(life)).finish()
    }

    #[must_use]
    pub fn forget_login(&self, hash: &InteractionHash) -> Cookie<'static> {
        self.marked(self.login_name(hash), String::new()).max_age(CookieDuration::ZERO).finish()
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
        let mut values = sent(request).filter(|(name, _)| *name == self.last_choice_name).map(|(_, value)| value);
        values.next().filter(|value| ConnectorId::is_well_formed(value)).map(ConnectorId::from)
    }

    #[must_use]
    pub fn has_last_choice(&self, request: &HttpRequest) -> bool {
        sent(request).any(|(name, _)| name == self.last_choice_name)
    }

    #[must_use]
    pub fn set_last_choice(&self, connector: &ConnectorId, life: Duration) -> Cookie<'static> {
        let life = i64::try_from(life.as_secs()).unwrap_or(i64::MAX);
        self.marked(self.last_choice_name.clone(), connector.to_string()).max_age(CookieDuration::seconds(life)).finish()
    }

    #[must_use]
    pub fn forget_last_choice(&self) -> Cookie<'static> {
        self.marked(self.last_choice_name.clone(), String::new()).max_age(CookieDuration::ZERO).finish()
    }

    fn login_name(&self, hash: &InteractionHash) -> String {
        let start = hash.as_str().get(..NAME_LENGTH).unwrap_or_default();
        format!("{}{start}", self.login_prefix)
    }

    fn marked(&self, name: String, value: String) -> actix_web::cookie::CookieBuilder<'static> {
        Cookie::build(name, value).path("/").http_only(true).same_site(SameSite::Lax).secure(self.secure)
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
        let (my_hash, other_hash) = (InteractionHash::of_cookie(&mine), InteractionHash::of_cookie(&other));
        let set = cookies.set_login(&my_hash, &Secret::new(mine), Timestamp::default(), Timestamp::from_seconds(60));
        let request = TestRequest::default().cookie(set).to_http_request();
        assert!(cookies.proof(&request, &my_hash).is_some());
        assert!(cookies.proof(&request, &other_hash).is_none());
        // The name of the other login with my value: the preimage doesn't fit.
        let forged = Cookie::new(cookies.login_name(&other_hash), "a".repeat(43));
        let request = TestRequest::default().cookie(forged).to_http_request();
        assert!(cookies.proof(&request, &other_hash).is_none());
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
        for part in ["__Host-hub-last=amandier", "HttpOnly", "SameSite=Lax", "Secure", "Path=/", "Max-Age=60"] {
            assert!(set.contains(part), "{part} in {set}");
        }
        for (value, read) in [("amandier", true), ("<script>", false), ("../x", false), ("", false), ("confirm", false)] {
            let request = TestRequest::default().insert_header((COOKIE, format!("__Host-hub-last={value}"))).to_http_request();
            assert_eq!(cookies.last_choice(&request).is_some(), read, "{value}");
            assert!(cookies.has_last_choice(&request));
        }
    }

    #[test]
    fn a_foreign_cookie_of_strange_bytes_hides_no_other() {
        let cookies = Cookies::new("hub", false);
        let value = "a".repeat(43);
        let hash = InteractionHash::of_cookie(&value);
        let header = [b"strange=\xff\xfe; ".as_slice(), cookies.login_name(&hash).as_bytes(), b"=", value.as_bytes()].concat();
        let header = actix_web::http::header::HeaderValue::from_bytes(&header).unwrap();
        let request = TestRequest::default().insert_header((COOKIE, header)).to_http_request();
        assert!(cookies.proof(&request, &hash).is_some());
        assert_eq!(cookies.logins(&request), vec![hash]);
    }
}
