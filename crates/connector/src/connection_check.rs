//! Checks of the connection to an identity provider in `check connector --online`: its certificate
//! and its clock.

use url::Url;

use super::clock_skew;
use super::diagnostic::CheckDiagnostic;
use super::online_check::TimedResponse;
use passerelle_egress::certificate_expiry::{MIN_CERTIFICATE_DAYS, days_left};
use passerelle_egress::safe_http_client::PeerCertificate;
use passerelle_jose::verify::CLOCK_SKEW_TOLERANCE;
use passerelle_protocol::env::Timestamp;

/// Clock skew above which there is a warning, in seconds.
const SKEW_WARNING_SECONDS: i64 = 5;

/// Adds the diagnostics of a connection over which a response arrived.
pub(crate) fn diagnose_connection(
    url: &Url,
    response: &TimedResponse,
    diagnostics: &mut Vec<CheckDiagnostic>,
) {
    diagnostics.push(CheckDiagnostic::ok(
        "reachable",
        format!("{} responds", url.host_str().unwrap_or_default()),
    ));
    diagnostics.push(if url.scheme() == "http" {
        CheckDiagnostic::warning(
            "certificate",
            "there is no TLS: anyone on the network path can impersonate this identity provider",
            "use https; http is for tests",
        )
    } else {
        diagnose_certificate(
            response.response.extensions().get::<PeerCertificate>(),
            response.received_at,
        )
    });
}

/// Returns the diagnostic of a certificate that TLS accepted.
pub fn diagnose_certificate(
    certificate: Option<&PeerCertificate>,
    now: Timestamp,
) -> CheckDiagnostic {
    let left = certificate.and_then(|PeerCertificate(der)| days_left(der, now));
    match left {
        None => CheckDiagnostic::warning(
            "certificate",
            "it is valid, but its expiry can't be read",
            "check it with another tool, such as openssl s_client",
        ),
        Some(days) if days < MIN_CERTIFICATE_DAYS => CheckDiagnostic::warning(
            "certificate",
            format!("it is valid, and expires in {days} days"),
            "ask the identity provider to renew it before it expires, or every login fails",
        ),
        Some(days) => {
            CheckDiagnostic::ok("certificate", format!("it is valid for {days} more days"))
        }
    }
}

/// Returns the diagnostic of a certificate that TLS rejected, with the library's message.
pub fn diagnose_rejected_certificate(host: &str, why: &str) -> CheckDiagnostic {
    let fix = if why.contains("expired") || why.contains("Expired") {
        "it has expired: the identity provider must renew it"
    } else if why.contains("not valid for any names") {
        "it has no subjectAltName, like the one that Samba creates at its first start: install one \
         that names the host there (RFC 6125 §6.4.4)"
    } else if why.contains("not valid for name") || why.contains("NotValidForName") {
        "it is for another host: check the address"
    } else if why.contains("UnknownIssuer") {
        "its authority is unknown: set ca in the file to the authority's PEM file, add the authority to \
         the system's trust store, or ask the identity provider to send its whole chain"
    } else if why.contains("not valid yet") || why.contains("NotValidYet") {
        "it is not valid yet: check the clock of this machine"
    } else {
        "send this message to the identity provider"
    };
    CheckDiagnostic::error(
        "certificate",
        format!("the certificate of {host} is rejected: {why}"),
        fix,
    )
}

/// Returns the diagnostic of the identity provider's clock, from the `Date` of a response.
pub(crate) fn diagnose_clock(response: &TimedResponse) -> CheckDiagnostic {
    let (headers, sent_at, received_at) =
        (response.response.headers(), response.sent_at, response.received_at);
    let Some(ahead) = clock_skew::millis_ahead(headers, sent_at, received_at) else {
        return CheckDiagnostic::ok("clock", "it can't be compared: the response has no Date");
    };
    let took = i64::try_from(received_at.since(sent_at).as_millis()).unwrap_or(i64::MAX);
    let (seconds, margin) = (ahead / 1000, took / 2000 + 1);
    let what = match seconds {
        0 => format!("it agrees with this machine's clock (± {margin} s)"),
        ahead if ahead > 0 => {
            format!("it is {ahead} s ahead of this machine's clock (± {margin} s)")
        }
        behind => {
            format!(
                "it is {} s behind this machine's clock (± {margin} s)",
                behind.saturating_neg()
            )
        }
    };
    let fix = "synchronize the clocks with NTP, this machine's first";
    let tolerance = i64::try_from(CLOCK_SKEW_TOLERANCE.as_secs()).unwrap_or(i64::MAX);
    match seconds.saturating_abs().saturating_sub(margin) {
        off if off > tolerance => CheckDiagnostic::error(
            "clock",
            format!("{what}: more than the {tolerance} s that are tolerated"),
            fix,
        ),
        off if off > SKEW_WARNING_SECONDS => CheckDiagnostic::warning("clock", what, fix),
        _ => CheckDiagnostic::ok("clock", what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::DiagnosticStatus;
    use http::header::DATE;
    use openidconnect::HttpResponse;

    const NOW: u64 = 1_700_000_000;

    fn response(date: Option<&str>, took: u64) -> TimedResponse {
        let mut response = HttpResponse::new(Vec::new());
        if let Some(date) = date {
            response.headers_mut().insert(DATE, date.parse().unwrap());
        }
        let sent_at = Timestamp::from_seconds(NOW);
        TimedResponse {
            response,
            sent_at,
            received_at: sent_at + std::time::Duration::from_secs(took),
        }
    }

    #[test]
    fn clock_skew_is_diagnosed() {
        for (date, took, status, expected) in [
            (Some("Tue, 14 Nov 2023 22:13:20 GMT"), 0, DiagnosticStatus::Ok, "agrees"),
            (Some("Tue, 14 Nov 2023 22:13:24 GMT"), 0, DiagnosticStatus::Ok, "ahead"),
            (Some("Tue, 14 Nov 2023 22:13:30 GMT"), 20, DiagnosticStatus::Ok, "± 11 s"),
            (Some("Tue, 14 Nov 2023 22:14:00 GMT"), 0, DiagnosticStatus::Warning, "ahead"),
            (Some("Tue, 14 Nov 2023 22:12:50 GMT"), 0, DiagnosticStatus::Warning, "29 s behind"),
            (
                Some("Tue, 14 Nov 2023 23:13:20 GMT"),
                0,
                DiagnosticStatus::Error,
                "more than the 60 s",
            ),
            (Some("yesterday"), 0, DiagnosticStatus::Ok, "no Date"),
            (None, 0, DiagnosticStatus::Ok, "no Date"),
        ] {
            let diagnostic = diagnose_clock(&response(date, took));
            assert!(
                diagnostic.status == status && diagnostic.message.contains(expected),
                "{date:?}: {diagnostic:?}"
            );
        }
    }

    #[test]
    fn a_certificate_that_expires_soon_is_a_warning() {
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
            builder.set_not_before(&openssl::asn1::Asn1Time::from_unix(1).unwrap()).unwrap();
            builder.set_not_after(&openssl::asn1::Asn1Time::from_unix(until).unwrap()).unwrap();
            builder.set_pubkey(&key).unwrap();
            builder.sign(&key, openssl::hash::MessageDigest::sha256()).unwrap();
            PeerCertificate(builder.build().to_der().unwrap())
        };
        let now = Timestamp::from_seconds(NOW);
        let day = 86_400;
        for (certificate, status, expected) in [
            (Some(der(1_700_000_000 + 90 * day)), DiagnosticStatus::Ok, "90 more days"),
            (Some(der(1_700_000_000 + 3 * day)), DiagnosticStatus::Warning, "in 3 days"),
            (Some(PeerCertificate(vec![1])), DiagnosticStatus::Warning, "can't be read"),
            (None, DiagnosticStatus::Warning, "can't be read"),
        ] {
            let diagnostic = diagnose_certificate(certificate.as_ref(), now);
            assert!(
                diagnostic.status == status && diagnostic.message.contains(expected),
                "{diagnostic:?}"
            );
        }
    }
}
