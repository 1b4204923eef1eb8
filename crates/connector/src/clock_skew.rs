//! Measures how far the clock of an identity provider is from the hub's: by the `Date` of its
//! responses, by the `iat` of tokens whose signature is verified, and where TLS fails, by the
//! limits of its certificate. Measures before any check of times, which a wrong clock makes fail.

use std::sync::{Mutex, PoisonError};

use chrono::DateTime;
use http::HeaderMap;
use http::header::DATE;

use passerelle_egress::safe_http_client::EgressError;
use passerelle_protocol::env::Timestamp;

/// Change of the skew by `Date`, in seconds, from which one of the clocks was set.
const CLOCK_SET_SECONDS: u64 = 5;

/// A difference between the clock of an identity provider and the hub's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuredSkew {
    /// Positive if the identity provider's clock is ahead. At least so much, if it is by a
    /// certificate.
    pub seconds: i64,
    /// The limit of a certificate that TLS refused, in seconds since 1970; `None` if the identity
    /// provider stated its time. Such a certificate may also be out of date itself.
    pub certificate_limit: Option<u64>,
}

/// Skew of an identity provider's clock.
#[derive(Default)]
pub(crate) struct ClockSkew(Mutex<Measurements>);

#[derive(Clone, Copy, Default)]
struct Measurements {
    /// By the `Date` of a response, which may be that of a proxy.
    by_date: Option<i64>,
    /// By the last token: the clock that matters for its times. Dropped when `by_date` changes,
    /// because it is then outdated.
    by_token: Option<i64>,
    /// By the certificate that TLS refused since the last response.
    refused_certificate: Option<MeasuredSkew>,
}

impl ClockSkew {
    /// Returns the skew; `None` before the first measurement.
    pub(crate) fn measured(&self) -> Option<MeasuredSkew> {
        let measured = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stated = measured.by_token.or(measured.by_date);
        let stated = stated.map(|seconds| MeasuredSkew { seconds, certificate_limit: None });
        measured.refused_certificate.or(stated)
    }

    /// Records the skew that a failed call shows, if TLS refused a certificate for its time.
    pub(crate) fn record_failure(&self, error: &EgressError) {
        let EgressError::CertificateTime { limit, now, .. } = error else { return };
        let seconds = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).refused_certificate =
            Some(MeasuredSkew {
                seconds: seconds(*limit).saturating_sub(seconds(*now)),
                certificate_limit: Some(*limit),
            });
    }

    /// Records the skew that the `Date` of a response shows (RFC 9110 §6.6.1). `sent_at` and
    /// `received_at` are by the hub's clock.
    pub(crate) fn record_date(
        &self,
        headers: &HeaderMap,
        sent_at: Timestamp,
        received_at: Timestamp,
    ) {
        let Some(ahead) = millis_ahead(headers, sent_at, received_at) else { return };
        let seconds = ahead / 1000;
        let mut measured = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if measured.by_date.is_some_and(|before| before.abs_diff(seconds) > CLOCK_SET_SECONDS) {
            measured.by_token = None;
        }
        measured.by_date = Some(seconds);
        measured.refused_certificate = None;
    }

    /// Records the skew that the `iat` of a token shows which was issued just now.
    pub(crate) fn record_issued_at(&self, issued_at: Timestamp, now: Timestamp) {
        let seconds = |at: Timestamp| i64::try_from(at.seconds()).unwrap_or(i64::MAX);
        let skew = seconds(issued_at).saturating_sub(seconds(now));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_token = Some(skew);
    }
}

/// Returns by how many milliseconds the clock of the server was ahead; `None` without a readable
/// `Date`.
pub(crate) fn millis_ahead(
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
        let seconds = |skew: &ClockSkew| skew.measured().map(|measured| measured.seconds);
        assert_eq!(seconds(&skew), None);
        skew.record_date(&date("Tue, 14 Nov 2023 23:13:20 GMT"), NOW, NOW);
        assert_eq!(seconds(&skew), Some(3600));
        skew.record_issued_at(NOW + std::time::Duration::from_secs(3590), NOW);
        skew.record_date(&date("Tue, 14 Nov 2023 23:13:21 GMT"), NOW, NOW);
        assert_eq!(seconds(&skew), Some(3590), "a proxy may have set Date");
        skew.record_date(&date("Tue, 14 Nov 2023 22:13:20 GMT"), NOW, NOW);
        assert_eq!(seconds(&skew), Some(0), "the hub's clock was set");
        skew.record_date(&date("yesterday"), NOW, NOW);
        assert_eq!(seconds(&skew), Some(0));
    }

    #[test]
    fn a_refused_certificate_counts_until_the_next_response() {
        let skew = ClockSkew::default();
        skew.record_date(&date("Tue, 14 Nov 2023 22:13:20 GMT"), NOW, NOW);
        let refused = |limit: u64| EgressError::CertificateTime {
            host: "idp.example".into(),
            why: "certificate expired".into(),
            limit,
            now: NOW.seconds(),
        };
        skew.record_failure(&refused(NOW.seconds() - 86_400));
        let limit = Some(NOW.seconds() - 86_400);
        assert_eq!(
            skew.measured(),
            Some(MeasuredSkew { seconds: -86_400, certificate_limit: limit })
        );
        skew.record_failure(&EgressError::Timeout("idp.example".into()));
        assert_eq!(skew.measured().map(|measured| measured.seconds), Some(-86_400));
        skew.record_failure(&refused(NOW.seconds() + 60));
        assert_eq!(skew.measured().map(|measured| measured.seconds), Some(60), "not valid yet");
        skew.record_date(&date("Tue, 14 Nov 2023 22:13:20 GMT"), NOW, NOW);
        assert_eq!(skew.measured(), Some(MeasuredSkew { seconds: 0, certificate_limit: None }));
    }
}
