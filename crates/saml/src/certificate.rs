//! Makes X.509 certificates of the hub's keys (RFC 5280 §4.1). SAML metadata holds keys as
//! certificates, of which peers use nothing but the key.
//!
//! Written here and not by OpenSSL, because the key that signs may be in a device.

use std::time::Duration;

use openssl::hash::{MessageDigest, hash};
use openssl::pkey::{HasPublic, PKeyRef};
use passerelle_protocol::env::Timestamp;

use crate::time::format_time;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const UTF8_STRING: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// `[0] EXPLICIT`, for the version.
const VERSION: u8 = 0xa0;
/// `AlgorithmIdentifier` of sha256WithRSAEncryption (RFC 4055 §5).
const SHA256_WITH_RSA: [u8; 15] =
    [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b, 0x05, 0x00];
/// Object identifier of `commonName` (2.5.4.3).
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
/// Length of a `commonName` (RFC 5280 Appendix A.1, ub-common-name).
const MAX_COMMON_NAME_CHARS: usize = 64;
/// Longer than any key should be in use.
const VALIDITY: Duration = Duration::from_secs(20 * 365 * 24 * 60 * 60);

/// A certificate without its signature. The same key always has the same one.
#[derive(Debug)]
pub(crate) struct UnsignedCertificate(Vec<u8>);

impl UnsignedCertificate {
    /// Prepares the certificate of a key. `None` if OpenSSL can't encode the key.
    pub(crate) fn new(
        key: &PKeyRef<impl HasPublic>,
        common_name: &str,
        created: Timestamp,
    ) -> Option<Self> {
        let public = key.public_key_to_der().ok()?;
        let digest = hash(MessageDigest::sha256(), &public).ok()?;
        // Positive, and not zero.
        let mut serial = digest.get(..16)?.to_vec();
        *serial.first_mut()? = serial.first()? & 0x3f | 0x40;
        let name: String = common_name.chars().take(MAX_COMMON_NAME_CHARS).collect();
        let name = sequence(&[&COMMON_NAME, &der(UTF8_STRING, name.as_bytes())]);
        let name = sequence(&[&der(SET, &name)]);
        let validity = sequence(&[&time(created)?, &time(created + VALIDITY)?]);
        let version = der(VERSION, &der(INTEGER, &[2]));
        let serial = der(INTEGER, &serial);
        let parts: [&[u8]; 7] =
            [&version, &serial, &SHA256_WITH_RSA, &name, &validity, &name, &public];
        Some(Self(sequence(&parts)))
    }

    /// Returns what an RSA key must sign with PKCS #1 v1.5 and SHA-256.
    pub(crate) fn signing_input(&self) -> &[u8] {
        &self.0
    }

    /// Returns the certificate in DER.
    pub(crate) fn with_signature(&self, signature: &[u8]) -> Vec<u8> {
        // The first byte is the number of unused bits.
        let signature = der(BIT_STRING, &[&[0], signature].concat());
        sequence(&[&self.0, &SHA256_WITH_RSA, &signature])
    }
}

/// Writes a time: with two digits of the year before 2050 (RFC 5280 §4.1.2.5).
fn time(time: Timestamp) -> Option<Vec<u8>> {
    let digits: String = format_time(time).chars().filter(char::is_ascii_digit).collect();
    let text = format!("{digits}Z");
    match text.strip_prefix("20") {
        Some(short) if digits.as_str() < "2050" => Some(der(UTC_TIME, short.as_bytes())),
        _ => (digits.len() == 14).then(|| der(GENERALIZED_TIME, text.as_bytes())),
    }
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    der(SEQUENCE, &parts.concat())
}

/// Returns a value in DER (ITU-T X.690 §8.1).
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let significant: Vec<u8> = length.iter().copied().skip_while(|byte| *byte == 0).collect();
    let mut value = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short) if short < 0x80 => value.push(short),
        _ => {
            value.push(0x80 | u8::try_from(significant.len()).unwrap_or_default());
            value.extend(significant);
        }
    }
    value.extend(content);
    value
}

#[cfg(test)]
mod tests {
    use openssl::pkey::{PKey, Private};
    use openssl::rsa::Rsa;
    use openssl::x509::X509;
    use passerelle_egress::certificate_expiry::{expiry, timestamp};

    use super::*;
    use crate::xml::{SignatureAlgorithm, VerificationKey};

    const CREATED: Timestamp = Timestamp::from_seconds(1_795_971_600);

    fn certificate(private: &PKey<Private>, name: &str, created: Timestamp) -> Vec<u8> {
        let unsigned = UnsignedCertificate::new(private, name, created).unwrap();
        let algorithm = SignatureAlgorithm::RSA_SHA256;
        unsigned.with_signature(&algorithm.sign(private, unsigned.signing_input()).unwrap())
    }

    #[test]
    fn openssl_and_the_hub_read_a_certificate_that_its_key_verifies() {
        let private = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
        let der = certificate(&private, "hub.example", CREATED);
        let parsed = X509::from_der(&der).unwrap();
        assert!(parsed.verify(&private).unwrap());
        assert!(parsed.public_key().unwrap().public_eq(&private));
        let subject = parsed.subject_name().entries().next().unwrap();
        assert_eq!(subject.data().as_slice(), b"hub.example");
        assert!(VerificationKey::from_certificate(&der).is_ok());
        let again = certificate(&private, "hub.example", CREATED);
        assert_eq!(der, again, "peers compare certificates");
        assert!(X509::from_der(&certificate(&private, &"ü".repeat(200), CREATED)).is_ok());
        for created in [Timestamp::default(), CREATED, Timestamp::from_seconds(2_500_000_000)] {
            let parsed = X509::from_der(&certificate(&private, "x", created)).unwrap();
            assert_eq!(expiry(&parsed), Some(created + VALIDITY));
            assert_eq!(timestamp(parsed.not_before()), Some(created));
        }
    }
}
