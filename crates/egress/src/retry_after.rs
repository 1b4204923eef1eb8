//! Parses the `Retry-After` header (RFC 9110 §10.2.3).

use std::time::Duration;

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

use passerelle_protocol::field_value::trim_ows;

/// Returns the delay of `Retry-After`. A date is compared with the response's `Date`, so that no
/// clock is involved.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(trim_ows);
    let date = |text: &str| chrono::DateTime::parse_from_rfc2822(text).ok();
    let value = text(RETRY_AFTER)?;
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    (date(value)? - date(text(DATE)?)?).to_std().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood_and_nonsense_is_none() {
        let parse = |pairs: &[(&'static str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()));
            retry_after(&pairs.collect::<HeaderMap>()).map(|wait| wait.as_secs())
        };
        let date = ("date", "Fri, 31 Dec 1999 23:58:59 GMT");
        assert_eq!(parse(&[("retry-after", "120")]), Some(120));
        assert_eq!(parse(&[("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT"), date]), Some(60));
        assert_eq!(parse(&[("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT")]), None);
        assert_eq!(parse(&[("retry-after", "Fri, 31 Dec 1998 23:59:59 GMT"), date]), None);
        assert_eq!(parse(&[("retry-after", "-1")]), None);
        assert_eq!(parse(&[("retry-after", "soon"), date]), None);
        assert_eq!(parse(&[]), None);
    }
}
