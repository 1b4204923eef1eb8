//! The response of ISO/IEC 18013-5 annex D.4.1.2. It has a MAC for a session near a reader, which
//! is verified last: all that the issuer signed is right when the MAC is the reason.

use serde_json::json;

use super::Bench;
use crate::credential::PresentationExpectations;
use crate::presentation::verify_presentation;
use crate::presentation_error::PresentationError::{self, *};
use crate::trust::TrustAnchors;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;

const RESPONSE: &str =
    include_str!("../../../../tests/fixtures/openid4vp/iso-18013-5-annex-d-4-1-2.hex");

/// A second after the object was signed, on 2020-10-01 at 13:30:02.
const SIGNED: u64 = 1_601_559_002;

fn response() -> Vec<u8> {
    let digits: Vec<_> = RESPONSE.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

fn position(bytes: &[u8], part: &[u8]) -> usize {
    bytes.windows(part.len()).position(|window| window == part).unwrap()
}

/// Returns the document signer's certificate, which is pinned: annex D doesn't print its root here.
fn document_signer(bytes: &[u8]) -> Vec<u8> {
    let at = position(bytes, &[0x59, 0x01, 0xf3, 0x30, 0x82]) + 3;
    bytes[at..at + 0x1f3].to_vec()
}

fn verify(bytes: &[u8], seconds: u64) -> PresentationError {
    let mut bench = Bench::mdoc();
    bench.anchors = TrustAnchors::from_der(&[document_signer(&response())]);
    bench.credential.types = vec!["org.iso.18013.5.1.mDL".into()];
    bench.credential.claims = serde_json::from_value(json!([["org.iso.18013.5.1"]])).unwrap();
    let now = Timestamp::from_seconds(seconds);
    let expected = PresentationExpectations { now, ..bench.expectations() };
    verify_presentation(&digest::base64url(bytes), &expected).map(|_| ()).unwrap_err()
}

#[test]
fn the_issuers_part_of_the_standards_response_is_verified() {
    assert_eq!(verify(&response(), SIGNED + 1), DeviceMac);
}

#[test]
fn the_standards_response_has_expired() {
    assert_eq!(verify(&response(), SIGNED + 365 * 86_400 + 100), CertificateExpired);
    assert_eq!(verify(&response(), SIGNED - 100), CredentialNotYetValid);
}

#[test]
fn the_standards_response_is_refused_when_it_is_altered() {
    let altered = |part: &[u8], other: &[u8]| {
        let mut bytes = response();
        let at = position(&bytes, part);
        bytes[at..at + part.len()].copy_from_slice(other);
        verify(&bytes, SIGNED + 1)
    };
    assert_eq!(altered(b"cDoe", b"cEve"), DigestMismatch);
    assert_eq!(altered(b"2019-10-20", b"2018-10-20"), DigestMismatch);
    assert_eq!(altered(b"2021-10-01T13:30:02Z", b"2031-10-01T13:30:02Z"), IssuerSignature);
    assert_eq!(altered(b"SHA-256", b"SHA-512"), IssuerSignature);
}
