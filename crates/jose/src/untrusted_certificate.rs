//! Parses certificates that strangers send.
//!
//! Responsible for which public keys OpenSSL gets to see: it decodes the key of a certificate while
//! it parses the certificate, before anyone decides whether to trust it.

use openssl::x509::X509;
use x509_parser::oid_registry::{OID_KEY_TYPE_EC_PUBLIC_KEY, OID_SIG_ED25519};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::verify::is_sound_rsa_key;

/// Curves that keys of certificates may be on: NIST's P-256, P-384 and P-521, and brainpoolP256r1,
/// P384r1 and P512r1 (ISO/IEC 18013-5 §B.1.1, RFC 5639 §4.1).
const CURVES: [&str; 6] = [
    "1.2.840.10045.3.1.7",
    "1.3.132.0.34",
    "1.3.132.0.35",
    "1.3.36.3.3.2.8.1.1.7",
    "1.3.36.3.3.2.8.1.1.11",
    "1.3.36.3.3.2.8.1.1.13",
];

/// Error returned for a certificate that the hub does not read.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum UntrustedCertificateError {
    #[error("it is not one certificate in DER")]
    Malformed,
    #[error(
        "its key is none of: RSA of 2048 to 4096 bits with an exponent of at most 65537, EC on a named curve (P-256, P-384, P-521, brainpool), Ed25519"
    )]
    Key,
}

/// Parses one certificate (DER) without bytes after it.
///
/// # Errors
/// `Key` for a key that is expensive to use, or to read: RSA numbers, or parameters of a curve, of
/// the stranger's choice (RFC 5480 §2.1.1 forbids such parameters).
pub fn parse_untrusted_certificate(der: &[u8]) -> Result<X509, UntrustedCertificateError> {
    let Ok((rest, certificate)) = X509Certificate::from_der(der) else {
        return Err(UntrustedCertificateError::Malformed);
    };
    if !rest.is_empty() {
        return Err(UntrustedCertificateError::Malformed);
    }
    if !is_cheap_key(certificate.public_key()) {
        return Err(UntrustedCertificateError::Key);
    }
    X509::from_der(der).map_err(|_| UntrustedCertificateError::Malformed)
}

fn is_cheap_key(key: &SubjectPublicKeyInfo<'_>) -> bool {
    let algorithm = &key.algorithm;
    if algorithm.algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY {
        let curve = algorithm.parameters.as_ref().and_then(|parameters| parameters.as_oid().ok());
        return curve.is_some_and(|curve| CURVES.contains(&curve.to_id_string().as_str()));
    }
    match key.parsed() {
        Ok(PublicKey::RSA(key)) => is_sound_rsa_key(key.modulus, key.exponent),
        _ => algorithm.algorithm == OID_SIG_ED25519,
    }
}

#[cfg(test)]
mod tests;
