//! The session cookie of the admin console: the operator enters the token once, and the cookie
//! stands for the operator for an hour.
//!
//! Responsible for the cookie. Does not depend on the tokens or the limit on wrong ones.
//!
//! The cookie holds its expiry, the operator's name and role, and a MAC under a key of this
//! process: it is invalid in another process, after a restart, and after a sign-out of this
//! operator. A request that another site starts does not carry it (SameSite=Strict, and the Fetch
//! Metadata is checked), script can't read it, and a form needs a token besides.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use actix_web::cookie::time::Duration as CookieDuration;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::header::HeaderMap;

use crate::operators::{AdminRequester, Operator};
use crate::settings::OperatorRole;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;
use passerelle_web::cookies::sole_cookie;

const COOKIE_NAME: &str = "passerelle-admin";
const COOKIE_PATH: &str = "/admin";
const SESSION_LIFETIME: Duration = Duration::from_secs(3600);

/// Issues and verifies the session cookies of one process.
pub struct AdminSessions {
    env: Env,
    key: [u8; 32],
    /// Number of sign-outs by operator; each ends all sessions of that operator. Only configured
    /// operators sign out, so it stays small.
    sign_outs: Mutex<HashMap<String, u64>>,
}

impl AdminSessions {
    /// Creates the sessions, with a key of this process.
    #[must_use]
    pub fn new(env: &Env) -> Self {
        Self { env: env.clone(), key: env.entropy().bits256(), sign_outs: Mutex::default() }
    }

    /// Issues a cookie to a browser that sent an operator's token. It is not `Secure`: the private
    /// listener serves plain HTTP.
    pub fn issue_cookie(&self, operator: &Operator) -> Cookie<'static> {
        let expiry = (self.env.now() + SESSION_LIFETIME).seconds();
        let name = digest::base64url(operator.name.as_bytes());
        let text = format!("{expiry}.{}.{name}", operator.role.as_str());
        let value = format!("{text}.{}", self.compute_mac(&text, &operator.name));
        build_cookie(value, SESSION_LIFETIME)
    }

    /// Ends the operator's sessions in all browsers. Returns the cookie that removes the browser's
    /// own.
    pub fn end_sessions(&self, operator: &Operator) -> Cookie<'static> {
        let mut sign_outs = self.sign_outs.lock().unwrap_or_else(PoisonError::into_inner);
        *sign_outs.entry(operator.name.clone()).or_default() += 1;
        build_cookie(String::new(), Duration::ZERO)
    }

    /// Returns the operator of a signed-in browser, if the request comes from a page of this
    /// listener.
    ///
    /// # Errors
    /// `RepeatedCookie` if the browser sent the cookie twice. Another server of this host set one
    /// of them, and the hub can't know which one is its own (login CSRF).
    pub fn find_session(&self, headers: &HeaderMap) -> Result<Option<AdminRequester>, ErrorCode> {
        if !is_from_console_or_link(headers) {
            return Ok(None);
        }
        Ok(sole_cookie(headers, COOKIE_NAME)?.and_then(|value| {
            let form_key = Some(Secret::new(value.to_owned()));
            Some(AdminRequester { operator: self.verify(value)?, form_key })
        }))
    }

    /// Returns the operator of a valid cookie.
    fn verify(&self, value: &str) -> Option<Operator> {
        let (text, mac) = value.rsplit_once('.')?;
        let (expiry, rest) = text.split_once('.')?;
        let (role, name) = rest.split_once('.')?;
        let name = String::from_utf8(digest::from_base64url(name)?).ok()?;
        let expected = self.compute_mac(text, &name);
        if !digest::constant_time_eq(expected.as_bytes(), mac.as_bytes()) {
            return None;
        }
        let role = [OperatorRole::Viewer, OperatorRole::Operator]
            .into_iter()
            .find(|known| known.as_str() == role)?;
        (self.env.now() < Timestamp::from_seconds(expiry.parse().ok()?))
            .then_some(Operator { name, role })
    }

    /// Returns the MAC of a cookie's text, which names the operator.
    fn compute_mac(&self, text: &str, operator: &str) -> String {
        let sign_outs = self.sign_outs.lock().unwrap_or_else(PoisonError::into_inner);
        let count = sign_outs.get(operator).copied().unwrap_or_default();
        let parts: [&[u8]; 3] = [b"admin session", text.as_bytes(), &count.to_be_bytes()];
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
    use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

    fn sessions() -> (AdminSessions, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_000_000)));
        let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(1)));
        (AdminSessions::new(&env), clock)
    }

    fn operator() -> Operator {
        Operator { name: "Zoë.o".to_owned(), role: OperatorRole::Viewer }
    }

    fn is_signed_in(sessions: &AdminSessions, headers: &HeaderMap) -> bool {
        sessions.find_session(headers).unwrap().is_some_and(|found| found.operator == operator())
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        let mut headers = HeaderMap::new();
        pairs.iter().map(header).for_each(|(name, value)| headers.append(name, value));
        headers
    }

    #[test]
    fn a_cookie_is_valid_for_an_hour_and_not_after_a_sign_out_or_a_restart() {
        let (sessions, clock) = sessions();
        let cookie = sessions.issue_cookie(&operator());
        let header = cookie.to_string();
        for part in ["HttpOnly", "SameSite=Strict", "Path=/admin", "Max-Age=3600"] {
            assert!(header.contains(part), "{header}");
        }
        let sent = headers(&[("cookie", &format!("a=b; {COOKIE_NAME}={}", cookie.value()))]);
        assert!(is_signed_in(&sessions, &sent));
        let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(2)));
        assert!(!is_signed_in(&AdminSessions::new(&env), &sent), "another process");
        clock.advance(Duration::from_secs(3599));
        assert!(is_signed_in(&sessions, &sent));
        clock.advance(Duration::from_secs(1));
        assert!(!is_signed_in(&sessions, &sent));
        let fresh = headers(&[(
            "cookie",
            &format!("{COOKIE_NAME}={}", sessions.issue_cookie(&operator()).value()),
        )]);
        assert!(is_signed_in(&sessions, &fresh));
        let other = Operator { name: "alice".to_owned(), role: OperatorRole::Operator };
        let _gone = sessions.end_sessions(&other);
        assert!(is_signed_in(&sessions, &fresh), "another operator's sign-out");
        let _gone = sessions.end_sessions(&operator());
        assert!(!is_signed_in(&sessions, &fresh));
    }

    #[test]
    fn a_cookie_with_a_later_end_or_no_mac_is_refused() {
        let (sessions, _) = sessions();
        let value = sessions.issue_cookie(&operator()).value().to_owned();
        let (expiry, mac) = value.split_once('.').unwrap();
        let later = expiry.parse::<u64>().unwrap() + 3600;
        for forged in [
            format!("{later}.{mac}"),
            // Attack: a viewer who makes the cookie an operator's.
            value.replace(".viewer.", ".operator."),
            format!("{expiry}."),
            expiry.to_owned(),
            format!(".{mac}"),
            String::new(),
        ] {
            assert!(
                !is_signed_in(
                    &sessions,
                    &headers(&[("cookie", &format!("{COOKIE_NAME}={forged}"))])
                ),
                "{forged}"
            );
        }
    }

    /// Attack: another server of the host plants its cookie for a longer path, so that the browser
    /// sends it first, or for the domain.
    #[test]
    fn a_planted_second_cookie_is_refused_in_either_order_and_in_two_headers() {
        let (sessions, _) = sessions();
        let own = format!("{COOKIE_NAME}={}", sessions.issue_cookie(&operator()).value());
        let other = Operator { name: "mallory".to_owned(), role: OperatorRole::Operator };
        let of_other = format!("{COOKIE_NAME}={}", sessions.issue_cookie(&other).value());
        for planted in [of_other, format!("{COOKIE_NAME}=x"), own.clone()] {
            for sent in [
                headers(&[("cookie", &format!("{own}; {planted}"))]),
                headers(&[("cookie", &format!("{planted};a=b;{own}"))]),
                headers(&[("cookie", &own), ("cookie", &planted)]),
            ] {
                let found = sessions.find_session(&sent).map(|found| found.is_some());
                assert_eq!(found, Err(ErrorCode::RepeatedCookie), "{planted}");
            }
        }
    }

    #[test]
    fn a_request_that_another_site_starts_is_rejected_despite_the_cookie() {
        let (sessions, _) = sessions();
        let cookie = format!("{COOKIE_NAME}={}", sessions.issue_cookie(&operator()).value());
        for (site, admitted) in
            [("same-origin", true), ("none", true), ("same-site", false), ("cross-site", false)]
        {
            assert_eq!(
                is_signed_in(&sessions, &headers(&[("cookie", &cookie), ("sec-fetch-site", site)])),
                admitted,
                "{site}"
            );
        }
    }

    #[test]
    fn a_same_site_link_opens_the_console_and_a_same_site_script_can_not_read_it() {
        let (sessions, _) = sessions();
        let cookie = format!("{COOKIE_NAME}={}", sessions.issue_cookie(&operator()).value());
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
            assert_eq!(is_signed_in(&sessions, &sent), admitted, "{site} {mode} {dest}");
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
