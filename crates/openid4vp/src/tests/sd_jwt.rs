mod disclosures;
mod key_binding;

use std::time::Duration;

use openssl::nid::Nid;
use serde_json::{Map, Value, json};

use super::Bench;
use crate::credential::{RequestChannel, StatusReference, VerifiedCredential};
use crate::presentation::verify_presentation;
use crate::presentation_error::PresentationError::{self, *};
use crate::signature::CredentialAlg;
use crate::testing::wallet_credentials::sd_jwt::{SdJwtPresentation, disclosure};
use crate::testing::wallet_credentials::{
    CLIENT_ID, PRESENTED_AT, new_key, new_key_on, public_jwk, sign_jws,
};
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;

fn verify_changed(
    bench: &Bench,
    change: impl FnOnce(&mut SdJwtPresentation),
) -> Result<VerifiedCredential, PresentationError> {
    let mut presentation = SdJwtPresentation::of_pid(&bench.issuer);
    change(&mut presentation);
    bench.verify(&presentation.present())
}

/// Asserts that the presentation is refused for this reason, and would be accepted without the lie.
#[track_caller]
fn assert_lie(reason: PresentationError, lie: impl FnOnce(&mut SdJwtPresentation)) {
    let bench = Bench::sd_jwt();
    assert!(verify_changed(&bench, |_| {}).is_ok());
    assert_eq!(verify_changed(&bench, lie).map(|_| ()), Err(reason));
}

fn remove(object: &mut Value, member: &str) {
    object.as_object_mut().unwrap().remove(member).unwrap();
}

#[test]
fn a_true_presentation_is_accepted() {
    let bench = Bench::sd_jwt();
    let presentation = SdJwtPresentation::of_pid(&bench.issuer);
    let credential = bench.verify(&presentation.present()).unwrap();
    assert_eq!(credential.credential_type, "urn:eudi:pid:1");
    // Neither digests, nor what was not requested, nor what the hub alone uses.
    assert_eq!(
        Value::Object(credential.claims),
        json!({ "family_name": "Mustermann", "address": { "locality": "Berlin" }, "nationalities": ["DE"] })
    );
    let status = StatusReference { uri: "https://status.example/1".into(), index: 7 };
    assert_eq!(credential.status, Some(status));
    assert_eq!(credential.issuer.subject, "C=FR, CN=PID issuer");
    assert_eq!(credential.issuer.anchor_subject, "C=FR, CN=Member State CA");
    let end = Timestamp::from_seconds(PRESENTED_AT.seconds() + 86_400);
    assert_eq!(credential.validity.expires_at, Some(end));
}

#[test]
fn a_true_presentation_over_the_digital_credentials_api_is_accepted() {
    let bench = Bench::sd_jwt();
    let channel = RequestChannel::DigitalCredentialsApi { origin: "https://hub.example" };
    let expected = super::PresentationExpectations { channel, ..bench.expectations() };
    let mut presentation = SdJwtPresentation::of_pid(&bench.issuer);
    let refused = verify_presentation(&presentation.present(), &expected);
    assert_eq!(refused.map(|_| ()), Err(KeyBindingAudience));
    presentation.key_binding_payload["aud"] = json!("origin:https://hub.example");
    assert!(verify_presentation(&presentation.present(), &expected).is_ok());
}

#[test]
fn other_curves_of_issuer_and_holder_are_accepted_where_the_policy_has_them() {
    let mut bench = Bench::sd_jwt();
    let spec = super::CertificateSpec::signer();
    bench.issuer = bench.authority.issue_for(new_key_on(Nid::SECP384R1), &spec);
    let change = |p: &mut SdJwtPresentation| {
        p.header["alg"] = json!("ES384");
        p.holder_key = new_key_on(Nid::SECP384R1);
        p.payload["cnf"]["jwk"] = public_jwk(&p.holder_key);
        p.key_binding_header["alg"] = json!("ES384");
    };
    assert!(verify_changed(&bench, change).is_ok());
    bench.policy.holder_algs = vec![CredentialAlg::ES256];
    assert_eq!(verify_changed(&bench, change).map(|_| ()), Err(HolderAlgorithm));
    bench.policy.issuer_algs = vec![CredentialAlg::ES256];
    assert_eq!(verify_changed(&bench, change).map(|_| ()), Err(IssuerAlgorithm));
}

// The issuer's token.

#[test]
fn another_token_of_the_issuer_is_refused() {
    for typ in [json!("JWT"), json!("statuslist+jwt"), json!("kb+jwt"), json!(1)] {
        assert_lie(WrongTokenType, |p| p.header["typ"] = typ);
    }
    assert_lie(WrongTokenType, |p| remove(&mut p.header, "typ"));
}

#[test]
fn an_unsigned_credential_is_refused() {
    assert_lie(IssuerAlgorithm, |p| p.header["alg"] = json!("none"));
    assert_lie(IssuerAlgorithm, |p| remove(&mut p.header, "alg"));
}

#[test]
fn a_credential_with_a_symmetric_signature_is_refused() {
    assert_lie(IssuerAlgorithm, |p| p.header["alg"] = json!("HS256"));
}

#[test]
fn an_algorithm_of_another_curve_than_the_certificates_is_refused() {
    assert_lie(IssuerSignature, |p| p.header["alg"] = json!("ES384"));
}

#[test]
fn a_critical_header_extension_is_refused() {
    assert_lie(IssuerHeader, |p| p.header["crit"] = json!(["exp"]));
    assert_lie(IssuerHeader, |p| p.header["b64"] = json!(false));
}

#[test]
fn a_credential_signed_by_the_holder_is_refused() {
    assert_lie(IssuerSignature, |p| p.issuer_key = p.holder_key.clone());
}

#[test]
fn a_payload_altered_after_signing_is_refused() {
    let bench = Bench::sd_jwt();
    let presentation = SdJwtPresentation::of_pid(&bench.issuer).present();
    let (header, rest) = presentation.split_once('.').unwrap();
    let (payload, rest) = rest.split_once('.').unwrap();
    let payload = String::from_utf8(digest::from_base64url(payload).unwrap()).unwrap();
    let altered = payload.replace("\"issuing_country\":\"DE\"", "\"issuing_country\":\"FR\"");
    assert_ne!(payload, altered);
    let forged = format!("{header}.{}.{rest}", digest::base64url(altered.as_bytes()));
    assert_eq!(bench.verify(&forged).map(|_| ()), Err(IssuerSignature));
}

#[test]
fn a_key_in_the_header_of_the_token_is_not_used() {
    let key = new_key();
    assert_lie(IssuerSignature, |p| {
        p.header["jwk"] = public_jwk(&key);
        p.issuer_key = key;
    });
    assert_lie(CertificateMissing, |p| {
        remove(&mut p.header, "x5c");
        p.header["jku"] = json!("https://attacker.example/keys");
    });
}

#[test]
fn a_malformed_certificate_chain_is_refused() {
    assert_lie(CertificateMissing, |p| p.header["x5c"] = json!([]));
    for x5c in [json!("MIIB"), json!([1]), json!(["%"]), json!(["AAAA"]), json!([["AAAA"]])] {
        assert_lie(CertificateMalformed, |p| p.header["x5c"] = x5c);
    }
}

#[test]
fn a_repeated_member_of_header_or_payload_is_refused() {
    let bench = Bench::sd_jwt();
    let presentation = SdJwtPresentation::of_pid(&bench.issuer);
    let part = |text: String| digest::base64url(text.as_bytes());
    let payload = presentation.payload.to_string().replacen('{', r#"{"vct":"x","#, 1);
    let message = format!("{}.{}", part(presentation.header.to_string()), part(payload));
    let signature =
        crate::testing::wallet_credentials::sign_raw(&presentation.issuer_key, message.as_bytes());
    let forged = format!("{message}.{}~~x", digest::base64url(&signature));
    assert_eq!(bench.verify(&forged).map(|_| ()), Err(Malformed));
}

#[test]
fn texts_that_are_no_sd_jwt_are_refused() {
    let bench = Bench::sd_jwt();
    let whole = SdJwtPresentation::of_pid(&bench.issuer).present();
    let (issuer_jwt, _) = whole.split_once('~').unwrap();
    for text in ["", "~", "~~", "a.b.c~x", issuer_jwt, "é~é", "..~x", &whole[1..]] {
        assert!(bench.verify(text).is_err(), "{text}");
    }
}

// Type and time.

#[test]
fn a_credential_of_another_type_is_refused() {
    assert_lie(WrongType, |p| p.payload["vct"] = json!("urn:example:library-card"));
    assert_lie(WrongType, |p| p.payload["vct"] = json!(["urn:eudi:pid:1"]));
    assert_lie(WrongType, |p| remove(&mut p.payload, "vct"));
}

#[test]
fn an_expired_credential_is_refused() {
    let now = PRESENTED_AT.seconds();
    assert_lie(CredentialExpired, |p| p.payload["exp"] = json!(now - 61));
    assert!(verify_changed(&Bench::sd_jwt(), |p| p.payload["exp"] = json!(now - 30)).is_ok());
}

#[test]
fn a_credential_that_is_not_valid_yet_is_refused() {
    let now = PRESENTED_AT.seconds();
    assert_lie(CredentialNotYetValid, |p| p.payload["nbf"] = json!(now + 61));
    assert_lie(CredentialNotYetValid, |p| p.payload["iat"] = json!(now + 61));
}

#[test]
fn contradictory_and_malformed_times_are_refused() {
    for time in [json!("tomorrow"), json!(-1), json!(1e300), json!([1])] {
        assert_lie(InvalidTimes, |p| p.payload["exp"] = time);
    }
    assert_lie(InvalidTimes, |p| {
        p.payload["nbf"] = p.payload["exp"].clone();
    });
}
