//! Measures the CPU time of verifying one wallet presentation: SD-JWT VC and mdoc, each with the
//! status list of its issuer in the cache.
//!
//! `cargo bench --bench wallet`; `-- 2000` for more rounds. Nothing is asserted: read the figures.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measurement that can't be made should stop"
)]

use std::hint::black_box;
use std::sync::Arc;

use passerelle_jose::response_key::{ResponseKey, encrypt_response};
use passerelle_openid4vp::claims_path::ClaimsPathPointer;
use passerelle_openid4vp::credential::{
    CredentialFormat, ExpectedCredential, PresentationExpectations, RequestChannel,
    StatusReference, VerificationPolicy,
};
use passerelle_openid4vp::presentation::verify_presentation;
use passerelle_openid4vp::status_list::{StatusLists, UnreachableStatusPolicy};
use passerelle_protocol::env::Env;
use passerelle_testkit::env::{ManualClock, SeededEntropy};
use passerelle_testkit::wallet_credentials::lists::{
    DocumentServer, STATUS_LIST_URI, UnsignedList,
};
use passerelle_testkit::wallet_credentials::mdoc::{
    IssuedElement, MdocPresentation, PID_DOC_TYPE, date, map, security_object,
};
use passerelle_testkit::wallet_credentials::sd_jwt::SdJwtPresentation;
use passerelle_testkit::wallet_credentials::{
    CLIENT_ID, CertificateSpec, NONCE, PRESENTED_AT, RESPONSE_URI, TestAuthority, TestSigner,
};
use serde_json::json;
use tokio::time::Instant;

/// What a PID is asked for; each is one disclosure or element.
const CLAIMS: [&str; 10] = [
    "given_name",
    "family_name",
    "birth_family_name",
    "birthdate",
    "sex",
    "nationality",
    "email",
    "personal_administrative_number",
    "issuing_country",
    "issuing_authority",
];

fn sd_jwt(issuer: &TestSigner) -> String {
    let mut pid = SdJwtPresentation::of_pid(issuer);
    pid.disclosures.clear();
    pid.payload["_sd"] = json!([]);
    pid.payload.as_object_mut().unwrap().remove("issuing_country");
    for name in CLAIMS {
        pid.disclose(name, &json!("a value of some length"));
    }
    pid.present()
}

fn mdoc(issuer: &TestSigner) -> String {
    let mut pid = MdocPresentation::of_pid(issuer);
    let elements = CLAIMS.iter().zip(1..);
    pid.elements = elements
        .map(|(name, id)| match *name {
            "birthdate" => IssuedElement::new(id, name, date("1964-08-12")),
            _ => IssuedElement::new(id, name, map([("value", "a value of some length".into())])),
        })
        .collect();
    pid.security_object = security_object(&pid.elements, &pid.device_key);
    pid.present()
}

fn expected(format: CredentialFormat) -> ExpectedCredential {
    let pointer = |name: &&str| match format {
        CredentialFormat::DcSdJwt => ClaimsPathPointer::from_keys([*name]),
        CredentialFormat::MsoMdoc => ClaimsPathPointer::from_keys([PID_DOC_TYPE, *name]),
    };
    ExpectedCredential {
        format,
        types: vec!["urn:eudi:pid:1".into(), PID_DOC_TYPE.into()],
        claims: CLAIMS.iter().map(pointer).collect(),
        claim_sets: Vec::new(),
    }
}

/// Prints the time of one call, as the least of ten series.
fn measure(what: &str, rounds: u32, mut call: impl FnMut()) {
    let series = (0..10).map(|_| {
        let begin = Instant::now();
        (0..rounds).for_each(|_| call());
        begin.elapsed() / rounds
    });
    let least = series.min().unwrap();
    println!("{what:<44} {:>8.1} µs", least.as_secs_f64() * 1e6);
}

fn main() {
    let rounds = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let rounds = rounds.unwrap_or(500);
    let authority = TestAuthority::new("Member State CA");
    let issuer = authority.issue(&CertificateSpec::signer());
    let (anchors, policy) = (authority.anchors(), VerificationPolicy::default());
    for (what, format, presentation) in [
        ("SD-JWT VC, ten disclosures", CredentialFormat::DcSdJwt, sd_jwt(&issuer)),
        ("mdoc, ten elements", CredentialFormat::MsoMdoc, mdoc(&issuer)),
    ] {
        let credential = expected(format);
        let expected = PresentationExpectations {
            channel: RequestChannel::DirectPost {
                client_id: CLIENT_ID,
                response_uri: RESPONSE_URI,
            },
            nonce: NONCE,
            encryption_key_thumbprint: Some([7; 32]),
            credential: &credential,
            policy: &policy,
            anchors: &anchors,
            now: PRESENTED_AT,
            received_at: PRESENTED_AT,
        };
        println!("{what}: {} bytes", presentation.len());
        measure("  verify the presentation", rounds, || {
            black_box(verify_presentation(black_box(&presentation), &expected).unwrap());
        });
        let key = ResponseKey::generate().unwrap();
        let token = json!({ "vp_token": { "pid": [presentation] } }).to_string();
        let public = key.public_jwk().unwrap();
        let response = encrypt_response(&public, "A128GCM", token.as_bytes()).unwrap();
        measure("  decrypt the response", rounds, || {
            black_box(key.decrypt(black_box(&response)).unwrap());
        });
    }
    measure("generate the key of a request", rounds, || {
        black_box(ResponseKey::generate().unwrap().public_jwk().unwrap());
    });

    let server = Arc::new(DocumentServer::default());
    let clock = Arc::new(ManualClock::at(PRESENTED_AT));
    let env = Env::new(clock, Arc::new(SeededEntropy::new(1)));
    // A million credentials with two bits each.
    let list = UnsignedList::with_statuses(&issuer, &vec![0; 1_000_000]);
    server.serve(STATUS_LIST_URI, list.sign(&issuer));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let reference = StatusReference { uri: STATUS_LIST_URI.into(), index: 999_999 };
    let lists = || {
        let refuse = UnreachableStatusPolicy::Refuse;
        StatusLists::new(Arc::clone(&server) as Arc<_>, env.clone(), refuse)
    };
    let cached = lists();
    let check = |lists: &StatusLists| {
        runtime.block_on(lists.check_status(&reference, &anchors)).unwrap();
    };
    check(&cached);
    measure("status from a list in the cache", rounds, || check(&cached));
    measure("status from a list that is fetched", rounds.div_ceil(10), || check(&lists()));
}
