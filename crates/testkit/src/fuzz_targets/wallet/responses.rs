//! The encrypted response of a wallet, samples for `passerelle check connector`, and certificates
//! that wallets send.

use std::str;

use serde_json::{Value, json};

use super::{WalletBench, document_signer, iso_response};
use crate::fuzz_targets::FuzzFunction;
use passerelle_jose::response_key::{ResponseKey, encrypt_response};
use passerelle_openid4vp::credential::CredentialFormat;
use passerelle_openid4vp::presentation_request::single_presentation;
use passerelle_openid4vp::testing::wallet_credentials::mdoc::{MdocPresentation, PID_DOC_TYPE};
use passerelle_openid4vp::testing::wallet_credentials::sd_jwt::SdJwtPresentation;
use passerelle_openid4vp::testing::wallet_credentials::{CLIENT_ID, NONCE, RESPONSE_URI};
use passerelle_openid4vp::trust::{CertificatePurpose, TrustAnchors};
use passerelle_openid4vp::verification::PresentationSample;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;

/// The content of a response, which is encrypted first; also a whole JWE, and the header of one.
pub(super) fn wallet_response() -> FuzzFunction {
    let key = ResponseKey::generate().unwrap();
    let public = key.public_jwk().unwrap();
    let good = encrypt_response(&public, "A256GCM", br#"{"vp_token":{"pid":["a"]}}"#).unwrap();
    let (header, rest) = good.split_once('.').unwrap();
    let (header, rest) = (header.to_owned(), rest.to_owned());
    Box::new(move |data| {
        if let Ok(text) = str::from_utf8(data) {
            assert!(key.decrypt(text).is_err(), "a response to another key");
        }
        let other_header = digest::base64url(data);
        let altered = key.decrypt(&format!("{other_header}.{rest}"));
        assert!(altered.is_err() || other_header == header, "a header altered on the way");
        let Ok(jwe) = encrypt_response(&public, "A128GCM", data) else { return false };
        let Ok(content) = key.decrypt(&jwe) else { return false };
        let Some(token) = content.reveal().get("vp_token") else { return false };
        let Some((query, presentation)) = single_presentation(token) else { return false };
        assert_eq!(*token, json!({ query: [presentation] }), "more than one presentation");
        true
    })
}

/// A sample, in which `SD-JWT` and `MDOC` stand for presentations.
pub(super) fn presentation_sample() -> FuzzFunction {
    let sd_jwt =
        WalletBench::new(CredentialFormat::DcSdJwt, "urn:eudi:pid:1", json!([["family_name"]]));
    let mdoc = WalletBench::new(
        CredentialFormat::MsoMdoc,
        PID_DOC_TYPE,
        json!([[PID_DOC_TYPE, "family_name"], [PID_DOC_TYPE, "nationality"]]),
    );
    let mut pid = SdJwtPresentation::of_pid(&sd_jwt.issuer);
    pid.disclosures.clear();
    pid.payload["_sd"] = json!([]);
    pid.disclose("family_name", &json!("Mustermann"));
    let presentations =
        [("SD-JWT", pid.present()), ("MDOC", MdocPresentation::of_pid(&mdoc.issuer).present())];
    Box::new(move |data| {
        let Ok(mut text) = str::from_utf8(data).map(str::to_owned) else {
            assert!(PresentationSample::parse(data).is_none());
            return false;
        };
        for (word, presentation) in &presentations {
            text = text.replacen(word, presentation, 1);
        }
        let Some(Ok(sample)) = PresentationSample::parse(text.as_bytes()) else { return false };
        let verify = |bench: &WalletBench| {
            sample.verify(&bench.credential, &bench.policy, &bench.anchors, bench.now).is_ok()
        };
        let (is_sd_jwt, is_mdoc) = (verify(&sd_jwt), verify(&mdoc));
        let object: Value = serde_json::from_str(&text).unwrap_or_default();
        let differs = |name: &str, value: &str| object[name].as_str().is_some_and(|n| n != value);
        if is_sd_jwt {
            assert!(!differs("nonce", NONCE) && !differs("client_id", CLIENT_ID), "a replay");
        }
        let names_request = ["nonce", "client_id", "response_uri"];
        if is_mdoc && names_request.iter().all(|name| object[name].is_string()) {
            let values = [NONCE, CLIENT_ID, RESPONSE_URI];
            let is_other = names_request.iter().zip(values).any(|(name, v)| differs(name, v));
            assert!(!is_other, "a transcript of another request");
            assert_eq!(object["key_thumbprint"], digest::base64url(&[7; 32]));
        }
        is_sd_jwt || is_mdoc
    })
}

/// A certificate that is pinned, as base64url; before it in the chain the document signer of
/// ISO/IEC 18013-5 annex D, which it did not issue.
pub(super) fn certificate_chain() -> FuzzFunction {
    let signer = document_signer(&iso_response());
    let now = Timestamp::from_seconds(1_601_559_003);
    Box::new(move |data| {
        let Ok(text) = str::from_utf8(data) else { return false };
        let Some(der) = digest::from_base64url(text.trim_ascii()) else { return false };
        let anchors = TrustAnchors::from_der(std::slice::from_ref(&der));
        let _ = (anchors.key_identifiers(), anchors.earliest_expiry());
        let purpose = CertificatePurpose::MobileSecurityObject;
        if der != signer {
            let chain = [signer.clone(), der.clone()];
            assert!(anchors.verify_chain(&chain, purpose, now).is_err(), "an untrusted signer");
        }
        let Ok(verified) = anchors.verify_chain(&[der], purpose, now) else { return false };
        let certificate = verified.certificate;
        assert!(certificate.not_before <= now && now <= certificate.not_after, "an expired signer");
        assert_eq!(certificate.subject, certificate.anchor_subject);
        true
    })
}
