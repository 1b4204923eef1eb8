//! Which certificates are accepted, and names in them (RFC 8705 §2.1; RFC 4514).

use std::time::Duration;

use openssl::hash::MessageDigest;

use super::*;
use crate::testing::certificates::{Authority, LeafCertificate};
use passerelle_protocol::env::Env;

fn authorities(authority: &Authority) -> CertificateAuthorities {
    CertificateAuthorities::from_pem(&authority.pem()).unwrap()
}

fn now() -> Timestamp {
    Env::system().now()
}

#[test]
fn a_certificate_with_a_forged_issuer_is_refused() {
    let (own, forged) = (Authority::new("Example CA"), Authority::new("Example CA"));
    let trusted = authorities(&own);
    let leaf = LeafCertificate::default();
    assert!(trusted.has_issued(&own.issue(&leaf), now()));
    assert!(!trusted.has_issued(&forged.issue(&leaf), now()));
    assert!(!trusted.has_issued(&LeafCertificate::default().self_signed(), now()));
}

#[test]
fn a_certificate_for_another_use_or_time_is_refused() {
    let own = Authority::new("Example CA");
    let trusted = authorities(&own);
    let server = LeafCertificate::default().for_servers();
    assert!(!trusted.has_issued(&own.issue(&server), now()));
    let leaf = own.issue(&LeafCertificate::default());
    let day = Duration::from_secs(24 * 3600);
    assert!(trusted.has_issued(&leaf, now()));
    assert!(!trusted.has_issued(&leaf, now() - day - day));
    assert!(!trusted.has_issued(&leaf, now() + day * 400));
}

/// Two certificates with one SHA-1 can be made (SHAttered, CVE-2005-4900): the second one would
/// have the authority's signature.
#[test]
fn a_certificate_whose_signature_uses_sha_1_is_refused() {
    let own = Authority::new("Example CA");
    let leaf = LeafCertificate::default();
    for (hash, is_accepted) in [
        (MessageDigest::sha1(), false),
        (MessageDigest::sha256(), true),
        (MessageDigest::sha384(), true),
    ] {
        let issued = own.issue_with(&leaf, hash);
        let name = hash.type_().long_name().unwrap();
        assert_eq!(authorities(&own).has_issued(&issued, now()), is_accepted, "{name}");
    }
}

#[test]
fn a_name_is_compared_whole() {
    let leaf = LeafCertificate::default().self_signed();
    let dn = |text: &str| CertificateName::SubjectDn(DistinguishedName::parse(text).unwrap());
    let ip = |text: &str| CertificateName::Ip(text.parse().unwrap());
    for (name, is_in) in [
        (dn("CN=shop,O=Example\\, Inc.,C=FR"), true),
        (dn("CN = shop , 2.5.4.10=Example\\2C Inc., C=FR"), true),
        (dn("C=FR,O=Example\\, Inc.,CN=shop"), false),
        (dn("CN=shop"), false),
        (dn("CN=shop,O=Example\\, Inc."), false),
        (dn("CN=Shop,O=Example\\, Inc.,C=FR"), false),
        (CertificateName::Dns("SHOP.example.org".into()), true),
        (CertificateName::Dns("example.org".into()), false),
        (CertificateName::Uri("https://shop.example.org/id".into()), true),
        (CertificateName::Uri("https://shop.example.org".into()), false),
        (CertificateName::Email("shop@example.org".into()), true),
        (CertificateName::Email("shop.example.org".into()), false),
        (ip("192.0.2.7"), true),
        (ip("192.0.2.8"), false),
        (ip("2001:db8::7"), false),
    ] {
        assert_eq!(name.is_in(&leaf), is_in, "{name:?}");
    }
}

#[test]
fn an_escaped_plus_sign_before_a_digit_is_no_hexadecimal_number() {
    let DistinguishedName(attributes) = DistinguishedName::parse("CN=a\\+1\\+f\\2b").unwrap();
    assert_eq!(attributes[0].value, "a+1+f+");
}

#[test]
fn a_distinguished_name_that_can_not_be_compared_is_refused() {
    for text in [
        "",
        "shop",
        "CN",
        "NoSuchKind=a",
        "CN=a+O=b",
        "CN=#04",
        "CN=a;O=b",
        "CN=a,",
        "CN=\\",
        "CN=\\ff",
    ] {
        assert_eq!(DistinguishedName::parse(text), None, "{text}");
    }
}

#[test]
fn a_file_without_a_certificate_is_no_file_of_authorities() {
    for pem in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(CertificateAuthorities::from_pem(pem.as_bytes()).is_err());
    }
}
