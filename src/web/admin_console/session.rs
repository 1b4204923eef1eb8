//! The session cookie of the admin console: the operator enters the token once, and the cookie
//! allows reading for an hour.
//!
//! Responsible for the cookie. Does not know the token or the limit on wrong ones.
//!
//! The cookie holds its expiry and a MAC under a key of this process: it is invalid in another
//! process, after a restart, and after any sign-out. A request that another site starts does not
//! carry it (SameSite=Strict, and the Fetch Metadata is checked), script can't read it, and it
//! allows no change.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::cookie::time::Duration as CookieDuration;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::header::{COOKIE, HeaderMap};

use crate::digest;
use crate::env::{Env, Timestamp};

const COOKIE_NAME: &str = "passerelle-admin";
const COOKIE_PATH: &str = "/admin";
const SESSION_LIFETIME: Duration = Duration::from_secs(3600);

/// Issues and verifies the session cookies of one process.
pub struct AdminSessions {
    env: Env,
    key: [u8; 32],
    /// Incremented by each sign-out, which ends all sessions.
    generation: AtomicU64,
}

impl AdminSessions {
    /// Creates the sessions. `token` is the hash of the admin token.
    #[must_use]
    pub fn new(token: &[u8; 32], env: &Env) -> Self {
        let key = digest::hmac(&env.entropy().bits256(), token);
        Self { env: env.clone(), key, generation: AtomicU64::new(0) }
    }

    /// Issues a cookie to a browser that sent the right token. It is not `Secure`: the private
    /// listener serves plain HTTP.
    #[must_use]
    pub fn issue_cookie(&self) -> Cookie<'static> {
        let expiry = (self.env.now() + SESSION_LIFETIME).seconds();
        let value = format!("{expiry}.{}", self.compute_mac(expiry));
        build_cookie(value, SESSION_LIFETIME)
    }

    /// Ends all sessions. Returns the cookie that removes the browser's own.
    #[must_use]
    pub fn end_all(&self) -> Cookie<'static> {
        self.generation.fetch_add(1, Ordering::SeqCst);
        build_cookie(String::new(), Duration::ZERO)
    }

    /// Returns whether a request comes from a signed-in browser and from a page of this listener.
    #[must_use]
    pub fn is_signed_in(&self, headers: &HeaderMap) -> bool {
        if !is_from_console_or_link(headers) {
            return false;
        }
        let sent = headers
            .get_all(COOKIE)
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'));
        sent.filter_map(|pair| pair.trim().split_once('='))
            .any(|(name, value)| name == COOKIE_NAME && self.is_valid(value))
    }

    fn is_valid(&self, value: &str) -> bool {
        let Some((expiry, mac)) = value.split_once('.') else { return false };
        let Ok(expiry) = expiry.parse() else { return false };
        let is_authentic =
            digest::constant_time_eq(self.compute_mac(expiry).as_bytes(), mac.as_bytes());
        is_authentic && self.env.now() < Timestamp::from_seconds(expiry)
    }

    fn compute_mac(&self, expiry: u64) -> String {
        let generation = self.generation.load(Ordering::SeqCst);
        let parts: [&[u8]; 3] =
            [b"admin session", &expiry.to_be_bytes(), &generation.to_be_bytes()];
        digest::base64url(&digest::hmac_parts(&self.key, &parts))
    }
}

fn build_cookie(value: String, lifetime: Duration) -> Cookie<'static> {
    let age = CookieDuration::try_from(lifetime).unwrap_or(CookieDuration::ZERO);
    Cookie::build(COOKIE_NAME, value)
        .path(COOKIE_PATH)
        .http_only(true)
        .same_site(SameSite::Strict)
        .max_age(age)
        .finish()
}

/// Returns whether a request comes from a page of this listener, from the user, or from a link on
/// another page of the same site, for example a dashboard. Such a link opens a window of its own,
/// from which the other page learns nothing (Fetch Metadata §2).
fn is_from_console_or_link(headers: &HeaderMap) -> bool {
    let value = |name| headers.get(name).map(actix_http::header::HeaderValue::as_bytes);
    match value("sec-fetch-site") {
        None | Some(b"same-origin" | b"none") => true,
        Some(b"same-site") => {
            value("sec-fetch-mode") == Some(b"navigate")
                && value("sec-fetch-dest") == Some(b"document")
        }
        Some(_) => false,
    }
}

/// Returns `requested` if it is a path of the console, else `/admin/`: the form never redirects to
/// another site.
#[must_use]
pub fn safe_destination(requested: &str) -> &str {
    let is_plain =
        requested.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'/' | b'-' | b'_'));
    let is_console = requested
        .strip_prefix("/admin/")
        .is_some_and(|rest| !rest.starts_with('/') && rest.len() <= 64);
    if is_plain && is_console { requested } else { "/admin/" }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;
    use crate::testing::env::{ManualClock, SeededEntropy};

    fn sessions() -> (AdminSessions, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_000_000)));
        let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(1)));
        (AdminSessions::new(&[7; 32], &env), clock)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(header).collect()
    }

    #[test]
    fn a_cookie_is_valid_for_an_hour_and_not_after_a_sign_out_or_a_restart() {
        let (sessions, clock) = sessions();
        let cookie = sessions.issue_cookie();
        let header = cookie.to_string();
        for part in ["HttpOnly", "SameSite=Strict", "Path=/admin", "Max-Age=3600"] {
            assert!(header.contains(part), "{header}");
        }
        let sent = headers(&[("cookie", &format!("a=b; {COOKIE_NAME}={}", cookie.value()))]);
        assert!(sessions.is_signed_in(&sent));
        let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(2)));
        assert!(!AdminSessions::new(&[7; 32], &env).is_signed_in(&sent), "another process");
        clock.advance(Duration::from_secs(3599));
        assert!(sessions.is_signed_in(&sent));
        clock.advance(Duration::from_secs(1));
        assert!(!sessions.is_signed_in(&sent));
        let fresh =
            headers(&[("cookie", &format!("{COOKIE_NAME}={}", sessions.issue_cookie().value()))]);
        assert!(sessions.is_signed_in(&fresh));
        let _gone = sessions.end_all();
        assert!(!sessions.is_signed_in(&fresh));
    }

    #[test]
    fn a_cookie_with_a_later_end_or_no_mac_is_refused() {
        let (sessions, _) = sessions();
        let value = sessions.issue_cookie().value().to_owned();
        let (expiry, mac) = value.split_once('.').unwrap();
        let later = expiry.parse::<u64>().unwrap() + 3600;
        for forged in [
            format!("{later}.{mac}"),
            format!("{expiry}."),
            expiry.to_owned(),
            format!(".{mac}"),
            String::new(),
        ] {
            assert!(
                !sessions.is_signed_in(&headers(&[("cookie", &format!("{COOKIE_NAME}={forged}"))])),
                "{forged}"
            );
        }
    }

    #[test]
    fn a_request_that_another_site_starts_is_rejected_despite_the_cookie() {
        let (sessions, _) = sessions();
        let cookie = format!("{COOKIE_NAME}={}", sessions.issue_cookie().value());
        for (site, admitted) in
            [("same-origin", true), ("none", true), ("same-site", false), ("cross-site", false)]
        {
            assert_eq!(
                sessions.is_signed_in(&headers(&[("cookie", &cookie), ("sec-fetch-site", site)])),
                admitted,
                "{site}"
            );
        }
    }

    #[test]
    fn a_link_of_the_same_site_opens_the_console_and_nothing_else_of_it_reads_it() {
        let (sessions, _) = sessions();
        let cookie = format!("{COOKIE_NAME}={}", sessions.issue_cookie().value());
        for (site, mode, dest, admitted) in [
            ("same-site", "navigate", "document", true),
            ("same-site", "navigate", "iframe", false),
            ("same-site", "cors", "empty", false),
            ("same-site", "no-cors", "script", false),
            ("cross-site", "navigate", "document", false),
        ] {
            let sent = headers(&[
                ("cookie", &cookie),
                ("sec-fetch-site", site),
                ("sec-fetch-mode", mode),
                ("sec-fetch-dest", dest),
            ]);
            assert_eq!(sessions.is_signed_in(&sent), admitted, "{site} {mode} {dest}");
        }
    }

    #[test]
    fn the_form_redirects_to_no_other_site() {
        for good in ["/admin/", "/admin/config", "/admin/logins/0123456789AB"] {
            assert_eq!(safe_destination(good), good);
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
            assert_eq!(safe_destination(bad), "/admin/", "{bad}");
        }
    }
}
