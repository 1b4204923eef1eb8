//! Measures how far the clock of an identity provider is from the hub's: by the `Date` of its
//! responses, and by the `iat` of tokens whose signature is verified. Measures before any check of
//! times, which a wrong clock makes fail.

use std::sync::{Mutex, PoisonError};

use chrono::DateTime;
use http::HeaderMap;
use http::header::DATE;

use crate::env::Timestamp;

/// Change of the skew by `Date`, in seconds, from which one of the clocks was set.
const CLOCK_SET_SECONDS: u64 = 5;

/// Skew of an identity provider's clock, in seconds; positive if it is ahead of the hub's.
#[derive(Default)]
pub struct ClockSkew(Mutex<Measurements>);

#[derive(Clone, Copy, Default)]
struct Measurements {
    /// By the `Date` of a response, which may be that of a proxy.
    by_date: Option<i64>,
    /// By the last token: the clock that matters for its times. Dropped when `by_date` changes,
    /// because it is then outdated.
    by_token: Option<i64>,
}

impl ClockSkew {
    /// Returns the skew in seconds; `None` before the first measurement.
    pub fn seconds(&self) -> Option<i64> {
        let measured = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        measured.by_token.or(measured.by_date)
    }

    /// Records the skew that the `Date` of a response shows (RFC 9110 §6.6.1). `sent_at` and
    /// `received_at` are by the hub's clock.
    pub fn record_date(&self, headers: &HeaderMap, sent_at: Timestamp, received_at: Timestamp) {
        let Some(ahead) = millis_ahead(headers, sent_at, received_at) else { return };
        let seconds = ahead / 1000;
        let mut measured = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if measured.by_date.is_some_and(|before| before.abs_diff(seconds) > CLOCK_SET_SECONDS) {
            measured.by_token = None;
        }
        measured.by_date = Some(seconds);
    }

    /// Records the skew that the `iat` of a token shows which was issued just now.
    pub fn record_issued_at(&self, issued_at: Timestamp, now: Timestamp) {
        let seconds = |at: Timestamp| i64::try_from(at.seconds()).unwrap_or(i64::MAX);
        let skew = seconds(issued_at).saturating_sub(seconds(now));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_token = Some(skew);
    }
}

/// Returns by how many milliseconds the clock of the server was ahead; `None` without a readable
/// `Date`.
pub fn millis_ahead(
    headers: &HeaderMap,
    sent_at: Timestamp,
    received_at: Timestamp,
) -> Option<i64> {
    let date = headers.get(DATE)?.to_str().ok()?;
    let date = DateTime::parse_from_rfc2822(date).ok()?;
    let millis = |at: Timestamp| i64::try_from(at.millis()).unwrap_or(i64::MAX);
    let (sent, received) = (millis(sent_at), millis(received_at));
    // `Date` is truncated to seconds, so half a second is added. It was set between sending and
    // receiving.
    Some(date.timestamp_millis().saturating_add(500).saturating_sub(sent / 2 + received / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_700_000_000);

    fn date(text: &str) -> HeaderMap {
        HeaderMap::from_iter([(DATE, text.parse().unwrap())])
    }

    #[test]
    fn a_token_counts_until_a_clock_is_set() {
        let skew = ClockSkew::default();
        assert_eq!(skew.seconds(), None);
        skew.record_date(&date("Tue, 14 Nov 2023 23:13:20 GMT"), NOW, NOW);
        assert_eq!(skew.seconds(), Some(3600));
        skew.record_issued_at(NOW + std::time::Duration::from_secs(3590), NOW);
        skew.record_date(&date("Tue, 14 Nov 2023 23:13:21 GMT"), NOW, NOW);
        assert_eq!(skew.seconds(), Some(3590), "a proxy may have set Date");
        skew.record_date(&date("Tue, 14 Nov 2023 22:13:20 GMT"), NOW, NOW);
        assert_eq!(skew.seconds(), Some(0), "the hub's clock was set");
        skew.record_date(&date("yesterday"), NOW, NOW);
        assert_eq!(skew.seconds(), Some(0));
    }
}
