//! What a connection itself says of an identity provider that is examined: the certificate, and the clock.

use chrono::DateTime;
use http::header::DATE;
use openssl::asn1::Asn1Time;
use openssl::x509::X509;
use url::Url;

use super::asked::Told;
use super::finding::Finding;
use super::oidc::id_token::TOLERANCE;
use crate::egress::guard::PeerCertificate;
use crate::env::Timestamp;

/// Certificates are renewed a month or so before their end; later than this, nobody seems to be at it.
const DAYS: i64 = 14;
/// An honest clock is not further off, in seconds.
const CLOCK: i64 = 5;

pub fn look(url: &Url, told: &Told, findings: &mut Vec<Finding>) {
    findings
        .push(Finding::ok("reachable", format!("{} answers", url.host_str().unwrap_or_default())));
    findings.push(if url.scheme() == "http" {
        Finding::warning(
            "certificate",
            "there is no TLS: whoever is on the way can be this identity provider",
            "use https; http is for tests",
        )
    } else {
        certificate(told.answer.extensions().get::<PeerCertificate>(), told.had)
    });
}

/// A certificate that TLS has taken.
pub fn certificate(shown: Option<&PeerCertificate>, now: Timestamp) -> Finding {
    let left = shown.and_then(|PeerCertificate(der)| days_left(der, now));
    match left {
        None => Finding::warning(
            "certificate",
            "it holds, and when it ends can't be read",
            "look at it by other means",
        ),
        Some(days) if days < DAYS => Finding::warning(
            "certificate",
            format!("it holds, and ends in {days} days"),
            "ask the identity provider to renew it: no login will work after that",
        ),
        Some(days) => Finding::ok("certificate", format!("it holds for {days} days more")),
    }
}

fn days_left(der: &[u8], now: Timestamp) -> Option<i64> {
    let certificate = X509::from_der(der).ok()?;
    let now = Asn1Time::from_unix(i64::try_from(now.seconds()).ok()?).ok()?;
    let left = now.diff(certificate.not_after()).ok()?;
    Some(i64::from(left.days))
}

/// A certificate that TLS refused; `why` are the words of the library.
pub fn refused_certificate(host: &str, why: &str) -> Finding {
    let mend = if why.contains("expired") || why.contains("Expired") {
        "it has expired: the identity provider must renew it"
    } else if why.contains("not valid for name") || why.contains("NotValidForName") {
        "it is another host's: is the address right?"
    } else if why.contains("UnknownIssuer") {
        "its authority is not known here: name the authority's PEM file as ca in the file, add it to the machine's authorities, \
         or have the identity provider send its whole chain"
    } else if why.contains("not valid yet") || why.contains("NotValidYet") {
        "it begins later: is this machine's clock right?"
    } else {
        "show these words to the identity provider"
    };
    Finding::fault("certificate", format!("the certificate of {host} is refused: {why}"), mend)
}

/// Its clock by an answer's `Date`, for a kind whose answers are judged by time.
pub fn clock(told: &Told) -> Finding {
    let date = told.answer.headers().get(DATE).and_then(|date| date.to_str().ok());
    let Some(date) = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok()) else {
        return Finding::ok("clock", "it can't be compared with ours: the answer has no Date");
    };
    let millis = |at: Timestamp| i64::try_from(at.millis()).unwrap_or(i64::MAX);
    let (asked, had) = (millis(told.asked), millis(told.had));
    // A Date has whole seconds, so it was half a second later on average; and was written somewhere between the two.
    let ahead = date.timestamp_millis().saturating_add(500).saturating_sub(asked / 2 + had / 2);
    let (seconds, margin) = (ahead / 1000, had.saturating_sub(asked) / 2000 + 1);
    let what = match seconds {
        0 => format!("it agrees with ours, give or take {margin} s"),
        ahead if ahead > 0 => format!("it is {ahead} s ahead of ours, give or take {margin} s"),
        behind => {
            format!("it is {} s behind ours, give or take {margin} s", behind.saturating_neg())
        }
    };
    let mend = "set the clocks right, this machine's first (NTP)";
    let tolerance = i64::try_from(TOLERANCE.as_secs()).unwrap_or(i64::MAX);
    match seconds.saturating_abs().saturating_sub(margin) {
        off if off > tolerance => Finding::fault(
            "clock",
            format!("{what}: more than the {tolerance} s that are forgiven"),
            mend,
        ),
        off if off > CLOCK => Finding::warning("clock", what, mend),
        _ => Finding::ok("clock", what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connector::finding::Verdict;
    use openidconnect::HttpResponse;

    const NOW: u64 = 1_700_000_000;

    fn told(date: Option<&str>, took: u64) -> Told {
        let mut answer = HttpResponse::new(Vec::new());
        if let Some(date) = date {
            answer.headers_mut().insert(DATE, date.parse().unwrap());
        }
        let asked = Timestamp::from_seconds(NOW);
        Told { answer, asked, had: asked + std::time::Duration::from_secs(took) }
    }

    #[test]
    fn clocks_by_table() {
        for (date, took, verdict, word) in [
            (Some("Tue, 14 Nov 2023 22:13:20 GMT"), 0, Verdict::Ok, "agrees"),
            (Some("Tue, 14 Nov 2023 22:13:24 GMT"), 0, Verdict::Ok, "ahead"),
            (Some("Tue, 14 Nov 2023 22:13:30 GMT"), 20, Verdict::Ok, "give or take 11 s"),
            (Some("Tue, 14 Nov 2023 22:14:00 GMT"), 0, Verdict::Warning, "ahead"),
            (Some("Tue, 14 Nov 2023 22:12:50 GMT"), 0, Verdict::Warning, "29 s behind"),
            (Some("Tue, 14 Nov 2023 23:13:20 GMT"), 0, Verdict::Fault, "more than the 60 s"),
            (Some("yesterday"), 0, Verdict::Ok, "no Date"),
            (None, 0, Verdict::Ok, "no Date"),
        ] {
            let finding = clock(&told(date, took));
            assert!(
                finding.verdict == verdict && finding.what.contains(word),
                "{date:?}: {finding:?}"
            );
        }
    }

    #[test]
    fn a_certificate_that_ends_soon_is_told() {
        let der = |until: i64| {
            let key = openssl::pkey::PKey::from_ec_key(
                openssl::ec::EcKey::generate(
                    &openssl::ec::EcGroup::from_curve_name(openssl::nid::Nid::X9_62_PRIME256V1)
                        .unwrap(),
                )
                .unwrap(),
            )
            .unwrap();
            let mut builder = openssl::x509::X509Builder::new().unwrap();
            builder.set_not_before(&Asn1Time::from_unix(1).unwrap()).unwrap();
            builder.set_not_after(&Asn1Time::from_unix(until).unwrap()).unwrap();
            builder.set_pubkey(&key).unwrap();
            builder.sign(&key, openssl::hash::MessageDigest::sha256()).unwrap();
            PeerCertificate(builder.build().to_der().unwrap())
        };
        let now = Timestamp::from_seconds(NOW);
        let day = 86_400;
        for (shown, verdict, word) in [
            (Some(der(1_700_000_000 + 90 * day)), Verdict::Ok, "90 days"),
            (Some(der(1_700_000_000 + 3 * day)), Verdict::Warning, "in 3 days"),
            (Some(PeerCertificate(vec![1])), Verdict::Warning, "can't be read"),
            (None, Verdict::Warning, "can't be read"),
        ] {
            let finding = certificate(shown.as_ref(), now);
            assert!(finding.verdict == verdict && finding.what.contains(word), "{finding:?}");
        }
    }
}
