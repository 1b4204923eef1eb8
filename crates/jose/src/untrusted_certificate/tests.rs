//! Certificates of strangers by their keys.

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{Asn1Flag, EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{HasPublic, PKey, PKeyRef};
use openssl::rsa::Rsa;

use super::*;

/// Returns a certificate for a key, signed by another one.
fn certificate_for(key: &PKeyRef<impl HasPublic>) -> Vec<u8> {
    let signer = PKey::generate_ed25519().unwrap();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_not_before(&Asn1Time::from_unix(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::from_unix(1).unwrap()).unwrap();
    builder.set_pubkey(key).unwrap();
    builder.sign(&signer, MessageDigest::null()).unwrap();
    builder.build().to_der().unwrap()
}

fn outcome(key: &PKeyRef<impl HasPublic>) -> Result<(), UntrustedCertificateError> {
    parse_untrusted_certificate(&certificate_for(key)).map(|_| ())
}

/// Returns a certificate for a key on this curve, named or described by its parameters.
fn on_curve(curve: Nid, form: Asn1Flag) -> Result<(), UntrustedCertificateError> {
    let mut group = EcGroup::from_curve_name(curve).unwrap();
    group.set_asn1_flag(form);
    outcome(&PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap())
}

/// Returns a certificate for an RSA key with a modulus of this many bits.
fn with_rsa(bits: i32, e: &[u8]) -> Result<(), UntrustedCertificateError> {
    let (mut n, one) = (BigNum::new().unwrap(), BigNum::from_u32(1).unwrap());
    n.lshift(&one, bits - 1).unwrap();
    n.add_word(1).unwrap();
    let key = Rsa::from_public_components(n, BigNum::from_slice(e).unwrap()).unwrap();
    outcome(&PKey::from_rsa(key).unwrap())
}

/// A compressed point on a curve of the stranger's choice costs OpenSSL most of a second.
#[test]
fn curve_parameters_of_a_stranger_are_never_computed_with() {
    for curve in [Nid::X9_62_PRIME256V1, Nid::SECP384R1] {
        assert_eq!(on_curve(curve, Asn1Flag::NAMED_CURVE), Ok(()));
        let refused = Err(UntrustedCertificateError::Key);
        assert_eq!(on_curve(curve, Asn1Flag::EXPLICIT_CURVE), refused);
    }
}

#[test]
fn a_certificate_with_a_key_that_is_expensive_to_verify_is_refused() {
    let refused = Err(UntrustedCertificateError::Key);
    for (bits, e, expected) in [
        (2047, &[1, 0, 1][..], refused),
        (2048, &[1, 0, 1], Ok(())),
        (4096, &[1, 0, 1], Ok(())),
        (4097, &[1, 0, 1], refused),
        (16_384, &[1, 0, 1], refused),
        (2048, &[3], Ok(())),
        (2048, &[1, 0, 3], refused),
        (2048, &[255; 255], refused),
        (3072, &[255; 384], refused),
    ] {
        assert_eq!(with_rsa(bits, e), expected, "{bits} {}", e.len());
    }
}

#[test]
fn a_key_of_another_type_or_curve_is_refused() {
    for curve in
        [Nid::SECP521R1, Nid::BRAINPOOL_P256R1, Nid::BRAINPOOL_P384R1, Nid::BRAINPOOL_P512R1]
    {
        assert_eq!(on_curve(curve, Asn1Flag::NAMED_CURVE), Ok(()));
    }
    let refused = Err(UntrustedCertificateError::Key);
    for curve in [Nid::SECP224R1, Nid::SECP256K1, Nid::SECT571R1] {
        assert_eq!(on_curve(curve, Asn1Flag::NAMED_CURVE), refused);
    }
    assert_eq!(outcome(&PKey::generate_ed25519().unwrap()), Ok(()));
    assert_eq!(outcome(&PKey::generate_ed448().unwrap()), refused);
    assert_eq!(outcome(&PKey::generate_x25519().unwrap()), refused);
}

#[test]
fn what_is_not_one_certificate_is_refused() {
    let good = certificate_for(&PKey::generate_ed25519().unwrap());
    for der in
        [&[][..], &[1, 2, 3], &good[1..], &good[..good.len() - 1], &[&good[..], &[0]].concat()]
    {
        let refused = Err(UntrustedCertificateError::Malformed);
        assert_eq!(parse_untrusted_certificate(der).map(|_| ()), refused);
    }
}
