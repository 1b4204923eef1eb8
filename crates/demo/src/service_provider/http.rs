//! Reads and writes HTTP for the handlers: parameters, the check against cross-site forms,
//! redirects.

use actix_web::cookie::Cookie;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use url::form_urlencoded;

/// Parameters of a query or form; a repeated name counts as absent, because its value is ambiguous.
pub(crate) struct UniqueParams(Vec<(String, String)>);

impl UniqueParams {
    /// Parses a query or form.
    pub(crate) fn parse(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// Returns the value of a parameter that occurs once and is not empty.
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(other, _)| other == name);
        values
            .next()
            .filter(|_| values.next().is_none())
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }
}

/// Returns why a form is rejected as cross-site (CSRF). Browsers without `Sec-Fetch-Site` are
/// accepted: the session cookie is SameSite=Lax.
pub(crate) fn cross_site_reason(request: &HttpRequest) -> Option<&'static str> {
    let site = request.headers().get("sec-fetch-site")?;
    let own = site == "same-origin" || site == "none";
    (!own).then_some("This form was sent by another site.")
}

/// Redirects to `location` and sets these cookies.
pub(crate) fn redirect_to(location: &str, cookies: Vec<Cookie<'static>>) -> HttpResponse {
    let mut answer = HttpResponse::SeeOther();
    answer
        .insert_header((header::LOCATION, location))
        .insert_header((header::CACHE_CONTROL, "no-store"));
    answer.insert_header((header::REFERRER_POLICY, "no-referrer"));
    for cookie in cookies {
        answer.cookie(cookie);
    }
    answer.finish()
}
