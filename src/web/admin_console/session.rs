//! How a person's browser comes to the window: the token is typed once into a form, and a cookie stands for it for an hour.
//!
//! Owns: the cookie, and what it opens: reading, nothing else. Must not know: the token, or how wrong ones are counted.
//!
//! The cookie holds its end and a MAC under a key that dies with the process: it is worth nothing elsewhere, nothing
//! after a restart, and nothing after anybody has signed out. It goes with no request that another site begins
//! (SameSite=Strict; Fetch Metadata is looked at besides), no script can read it, and no change can be made with it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::cookie::time::Duration as CookieDuration;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::header::{COOKIE, HeaderMap};

use crate::digest;
use crate::env::{Env, Timestamp};

const NAME: &str = "passerelle-admin";
const PATH: &str = "/admin";
const LIFE: Duration = Duration::from_secs(3600);

/// One for the program.
pub struct Entrance {
    env: Env,
    key: [u8; 32],
    /// Grows with each sign-out, which ends every cookie.
    round: AtomicU64,
}

impl Entrance {
    /// `token` is the hash of what opens the administration.
    #[must_use]
    pub fn new(token: &[u8; 32], env: &Env) -> Self {
        let key = digest::hmac(&env.entropy().bits256(), token);
        Self { env: env.clone(), key, round: AtomicU64::new(0) }
    }

    /// For a browser that has proven the token. Without `Secure`: the private listener speaks plain HTTP.
    #[must_use]
    pub fn cookie(&self) -> Cookie<'static> {
        let end = (self.env.now() + LIFE).seconds();
        let value = format!("{end}.{}", self.mac(end));
        built(value, LIFE)
    }

    /// No cookie that was given out opens anything any more.
    #[must_use]
    pub fn shut(&self) -> Cookie<'static> {
        self.round.fetch_add(1, Ordering::SeqCst);
        built(String::new(), Duration::ZERO)
    }

    /// Whether these are the headers of somebody who signed in, on a page of this listener.
    #[must_use]
    pub fn admits(&self, headers: &HeaderMap) -> bool {
        let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
        if !matches!(site, None | Some(b"same-origin" | b"none")) {
            return false;
        }
        let sent = headers
            .get_all(COOKIE)
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'));
        sent.filter_map(|pair| pair.trim().split_once('='))
            .any(|(name, value)| name == NAME && self.is_good(value))
    }

    fn is_good(&self, value: &str) -> bool {
        let Some((end, mac)) = value.split_once('.') else { return false };
        let Ok(end) = end.parse() else { return false };
        let known = digest::equal(self.mac(end).as_bytes(), mac.as_bytes());
        known && self.env.now() < Timestamp::from_seconds(end)
    }

    fn mac(&self, end: u64) -> String {
        let round = self.round.load(Ordering::SeqCst);
        let parts: [&[u8]; 3] =
            [b"the operator's window", &end.to_be_bytes(), &round.to_be_bytes()];
        digest::base64url(&digest::hmac_parts(&self.key, &parts))
    }
}

fn built(value: String, life: Duration) -> Cookie<'static> {
    let age = CookieDuration::try_from(life).unwrap_or(CookieDuration::ZERO);
    Cookie::build(NAME, value)
        .path(PATH)
        .http_only(true)
        .same_site(SameSite::Strict)
        .max_age(age)
        .finish()
}

/// Where the form may lead: a page of the window, never another site.
#[must_use]
pub fn destination(asked: &str) -> &str {
    let is_plain =
        asked.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'/' | b'-' | b'_'));
    let is_window = asked
        .strip_prefix("/admin/")
        .is_some_and(|rest| !rest.starts_with('/') && rest.len() <= 64);
    if is_plain && is_window { asked } else { "/admin/" }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;
    use crate::env::{HandClock, SeededEntropy};

    fn entrance() -> (Entrance, Arc<HandClock>) {
        let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1_000_000)));
        let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(1)));
        (Entrance::new(&[7; 32], &env), clock)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(header).collect()
    }

    #[test]
    fn a_cookie_opens_for_an_hour_and_not_after_a_sign_out_or_a_restart() {
        let (entrance, clock) = entrance();
        let cookie = entrance.cookie();
        let told = cookie.to_string();
        for part in ["HttpOnly", "SameSite=Strict", "Path=/admin", "Max-Age=3600"] {
            assert!(told.contains(part), "{told}");
        }
        let sent = headers(&[("cookie", &format!("a=b; {NAME}={}", cookie.value()))]);
        assert!(entrance.admits(&sent));
        let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(2)));
        assert!(!Entrance::new(&[7; 32], &env).admits(&sent), "another process");
        clock.advance(Duration::from_secs(3599));
        assert!(entrance.admits(&sent));
        clock.advance(Duration::from_secs(1));
        assert!(!entrance.admits(&sent));
        let fresh = headers(&[("cookie", &format!("{NAME}={}", entrance.cookie().value()))]);
        assert!(entrance.admits(&fresh));
        let _gone = entrance.shut();
        assert!(!entrance.admits(&fresh));
    }

    #[test]
    fn a_cookie_with_a_later_end_or_no_mac_is_refused() {
        let (entrance, _) = entrance();
        let value = entrance.cookie().value().to_owned();
        let (end, mac) = value.split_once('.').unwrap();
        let later = end.parse::<u64>().unwrap() + 3600;
        for forged in [
            format!("{later}.{mac}"),
            format!("{end}."),
            end.to_owned(),
            format!(".{mac}"),
            String::new(),
        ] {
            assert!(
                !entrance.admits(&headers(&[("cookie", &format!("{NAME}={forged}"))])),
                "{forged}"
            );
        }
    }

    #[test]
    fn a_request_that_another_site_begins_is_not_let_in_with_the_cookie() {
        let (entrance, _) = entrance();
        let cookie = format!("{NAME}={}", entrance.cookie().value());
        for (site, admitted) in
            [("same-origin", true), ("none", true), ("same-site", false), ("cross-site", false)]
        {
            assert_eq!(
                entrance.admits(&headers(&[("cookie", &cookie), ("sec-fetch-site", site)])),
                admitted,
                "{site}"
            );
        }
    }

    #[test]
    fn the_form_leads_to_no_other_site() {
        for good in ["/admin/", "/admin/config", "/admin/logins/0123456789AB"] {
            assert_eq!(destination(good), good);
        }
        for bad in [
            "",
            "//evil.example",
            "https://evil.example/admin/",
            "/admin//evil.example",
            "/admin/\r\nx",
            "/metrics",
            "/admin/../x",
        ] {
            assert_eq!(destination(bad), "/admin/", "{bad}");
        }
    }
}
