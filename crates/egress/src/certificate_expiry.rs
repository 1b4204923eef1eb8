//! Reads the expiry of PEM certificates.

use openssl::asn1::{Asn1Time, Asn1TimeRef};
use openssl::x509::X509;

use passerelle_protocol::env::Timestamp;

/// Certificates are usually renewed a month before they expire; below this many days is a warning.
pub const MIN_CERTIFICATE_DAYS: i64 = 14;

/// Returns the earliest expiry among the certificates of a PEM text; `None` if it contains none.
pub fn earliest_expiry(pem: &[u8]) -> Option<Timestamp> {
    X509::stack_from_pem(pem).ok()?.iter().filter_map(expiry).min()
}

/// Returns the whole days until a DER certificate expires, negative if it has expired; `None` if
/// the bytes are not a certificate.
pub fn days_left(der: &[u8], now: Timestamp) -> Option<i64> {
    let expiry = expiry(&X509::from_der(der).ok()?)?;
    let seconds = |time: Timestamp| i64::try_from(time.seconds()).ok();
    Some((seconds(expiry)? - seconds(now)?).div_euclid(86_400))
}

/// Returns when a certificate expires.
pub fn expiry(certificate: &X509) -> Option<Timestamp> {
    timestamp(certificate.not_after())
}

/// Returns a time of a certificate; a time before 1970 is 1970.
pub fn timestamp(time: &Asn1TimeRef) -> Option<Timestamp> {
    let since = Asn1Time::from_unix(0).ok()?.diff(time).ok()?;
    let seconds = i64::from(since.days) * 86_400 + i64::from(since.secs);
    Some(Timestamp::from_seconds(u64::try_from(seconds).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::pkey::PKey;

    fn certificate(until: i64) -> Vec<u8> {
        let key = PKey::generate_ed25519().unwrap();
        let mut builder = X509::builder().unwrap();
        builder.set_pubkey(&key).unwrap();
        builder.set_not_before(&Asn1Time::from_unix(0).unwrap()).unwrap();
        builder.set_not_after(&Asn1Time::from_unix(until).unwrap()).unwrap();
        builder.sign(&key, openssl::hash::MessageDigest::null()).unwrap();
        builder.build().to_pem().unwrap()
    }

    #[test]
    fn the_earliest_expiry_of_a_chain_is_returned() {
        let chain = [certificate(2_000_000_123), certificate(1_900_000_000)].concat();
        assert_eq!(earliest_expiry(&chain), Some(Timestamp::from_seconds(1_900_000_000)));
        assert_eq!(earliest_expiry(b"none"), None);
    }
}
