//! Properties of everything that is parsed: whatever a wallet, an issuer or a list's server sends,
//! the hub answers, and what it accepts is bounded. Signatures are right, so that the signed
//! content is reached.

use std::sync::Arc;

use ciborium::Value as Cbor;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use super::Bench;
use crate::cbor::{encode_cbor, parse_cbor};
use crate::claims_path::{ClaimsPathPointer, select_claims};
use crate::credential::StatusReference;
use crate::presentation_request::single_presentation;
use crate::status_list::{StatusError, StatusLists, UnreachableStatusPolicy};
use crate::testing::wallet_credentials::lists::{
    DocumentServer, STATUS_LIST_URI, UnsignedList, compressed,
};
use crate::testing::wallet_credentials::mdoc::MdocPresentation;
use crate::testing::wallet_credentials::sd_jwt::SdJwtPresentation;
use crate::testing::wallet_credentials::{PRESENTED_AT, TestAuthority};
use crate::trust::CertificatePurpose;
use crate::trust_list::{PinnedAnchors, TrustListSource, TrustSources};
use crate::verification::PresentationSample;
use passerelle_protocol::digest;
use passerelle_protocol::env::Env;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

/// Names that the parsers know.
const NAMES: [&str; 14] = [
    "_sd",
    "...",
    "_sd_alg",
    "vct",
    "cnf",
    "jwk",
    "exp",
    "status",
    "status_list",
    "idx",
    "uri",
    "family_name",
    "address",
    "a",
];

fn run<S: Strategy>(strategy: &S, cases: u32, mut check: impl FnMut(S::Value))
where
    S::Value: std::fmt::Debug,
{
    let check = std::cell::RefCell::new(&mut check);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let tested = TestRunner::new(config).run(strategy, |value| {
        (check.borrow_mut())(value);
        Ok(())
    });
    tested.unwrap();
}

/// Returns any JSON value of a few levels.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(&NAMES[..]).prop_map(|name| json!(digest::sha256_base64url(name))),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        let name = prop::sample::select(&NAMES[..]).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Returns any CBOR value of a few levels.
fn any_cbor() -> impl Strategy<Value = Cbor> {
    let leaf = prop_oneof![
        Just(Cbor::Null),
        any::<bool>().prop_map(Cbor::from),
        any::<i64>().prop_map(Cbor::from),
        any::<f64>().prop_map(Cbor::from),
        "[a-z]{0,8}".prop_map(Cbor::from),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Cbor::Bytes),
    ];
    let member = prop::sample::select(vec!["version", "documents", "docType", "digestID", "x"]);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        let tag = prop::sample::select(vec![0_u64, 24, 1004, 2]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Cbor::Array),
            (tag, inner.clone()).prop_map(|(tag, value)| Cbor::Tag(tag, Box::new(value))),
            prop::collection::vec((member.clone().prop_map(Cbor::from), inner), 0..5)
                .prop_map(Cbor::Map),
        ]
    })
}

/// Returns true if everything in `part` is in `whole`, at the same place; elements of arrays may be
/// missing.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .all(|(name, value)| whole.get(name).is_some_and(|whole| is_part(value, whole))),
        (Value::Array(part), Value::Array(whole)) => {
            let mut rest = whole.iter();
            part.iter().all(|value| rest.any(|whole| is_part(value, whole)))
        }
        _ => part == whole,
    }
}

proptest! {
    #[test]
    fn any_text_in_the_place_of_an_sd_jwt_is_refused(text in "[A-Za-z0-9_.~-]{0,300}", any in ".{0,100}") {
        let bench = Bench::sd_jwt();
        prop_assert!(bench.verify(&text).is_err());
        prop_assert!(bench.verify(&any).is_err());
    }

    #[test]
    fn what_is_selected_was_there_and_is_selected_again(
        claims in any_json(),
        paths in prop::collection::vec(prop::collection::vec(
            prop_oneof![
                prop::sample::select(&NAMES[..]).prop_map(Value::from),
                (0_usize..4).prop_map(Value::from),
                Just(Value::Null),
            ],
            1..5,
        ), 0..5),
    ) {
        let claims = json!({ "a": claims.clone(), "address": claims });
        let claims = claims.as_object().unwrap();
        let pointers: Vec<ClaimsPathPointer> = serde_json::from_value(json!(paths)).unwrap();
        let selected = select_claims(claims, &pointers);
        prop_assert!(is_part(&Value::Object(selected.clone()), &Value::Object(claims.clone())));
        prop_assert_eq!(select_claims(&selected, &pointers), selected);
    }

    #[test]
    fn a_vp_token_has_one_presentation_or_is_refused(token in any_json(), text in ".{0,20}") {
        if let Some((query, presentation)) = single_presentation(&token) {
            prop_assert_eq!(&token, &json!({ query: [presentation] }));
        }
        let one = json!({ "pid": [text] });
        prop_assert_eq!(single_presentation(&one), Some(("pid", text.as_str())));
    }

    #[test]
    fn any_sample_is_answered(bytes in prop::collection::vec(any::<u8>(), 0..60), object in any_json()) {
        let _answered = PresentationSample::parse(&bytes);
        let sample = json!({ "presentation": object.clone(), "nonce": object.clone() });
        let parsed = PresentationSample::parse(sample.to_string().as_bytes());
        let is_good = object.is_string();
        prop_assert_eq!(parsed.is_some_and(|parsed| parsed.is_ok()), is_good);
        // Claims are a sample for the mapping.
        let claims = json!({ "family_name": object });
        prop_assert!(PresentationSample::parse(claims.to_string().as_bytes()).is_none());
    }

    #[test]
    fn cbor_that_is_read_is_written_alike(value in any_cbor()) {
        let text = encode_cbor(&value);
        if let Ok(read) = parse_cbor(&text) {
            prop_assert_eq!(&encode_cbor(&read), &text);
        }
    }
}

#[test]
fn one_altered_letter_of_an_sd_jwt_is_refused_or_changes_nothing() {
    let bench = Bench::sd_jwt();
    let truth = SdJwtPresentation::of_pid(&bench.issuer).present();
    let claims = bench.verify(&truth).unwrap().claims;
    let letters = b"AZaz09-_.~=";
    run(
        &(any::<prop::sample::Index>(), prop::sample::select(&letters[..])),
        512,
        |(at, letter)| {
            let mut altered = truth.clone().into_bytes();
            let at = at.index(altered.len());
            altered[at] = letter;
            if let Ok(credential) = bench.verify(std::str::from_utf8(&altered).unwrap()) {
                assert_eq!(credential.claims, claims);
            }
        },
    );
}

#[test]
fn one_altered_byte_of_a_certificate_is_refused() {
    let bench = Bench::sd_jwt();
    let purpose = CertificatePurpose::SdJwtVc;
    let verify = |chain: &[Vec<u8>]| bench.anchors.verify_chain(chain, purpose, PRESENTED_AT);
    assert!(verify(&bench.issuer.chain).is_ok());
    run(&(any::<prop::sample::Index>(), 1_u8..), 512, |(at, change)| {
        let mut chain = bench.issuer.chain.clone();
        let at = at.index(chain[0].len());
        chain[0][at] ^= change;
        assert!(verify(&chain).is_err(), "byte {at} by {change}");
    });
}

#[test]
fn any_signed_claims_and_disclosures_are_answered() {
    let bench = Bench::sd_jwt();
    let disclosed = prop::collection::vec(any_json(), 0..4);
    run(&(any_json(), disclosed), 256, |(claims, disclosures)| {
        let mut presentation = SdJwtPresentation::of_pid(&bench.issuer);
        let encoded = disclosures.iter().map(|one| digest::base64url(one.to_string().as_bytes()));
        presentation.disclosures.extend(encoded);
        let digests = presentation.disclosures.iter().map(|one| digest::sha256_base64url(one));
        presentation.payload["nationalities"] = json!(digests.collect::<Vec<_>>());
        presentation.payload["address"] = claims.clone();
        let _answered = bench.verify(&presentation.present());
        // Nothing but the signature is right.
        presentation.payload = claims;
        assert!(bench.verify(&presentation.present()).is_err());
    });
}

#[test]
fn any_signed_object_and_response_members_are_answered() {
    let bench = Bench::mdoc();
    let of_response = vec!["version", "documents", "status", "documentErrors"];
    let of_object = vec!["docType", "valueDigests", "deviceKeyInfo", "validityInfo", "status"];
    let chosen = (prop::sample::select(of_response), prop::sample::select(of_object));
    run(&(any_cbor(), chosen), 256, |(value, (of_response, of_object))| {
        let mut presentation = MdocPresentation::of_pid(&bench.issuer);
        let object = presentation.security_object.as_map_mut().unwrap();
        object.iter_mut().filter(|(name, _)| *name == Cbor::from(of_object)).for_each(
            |(_, member)| {
                *member = value.clone();
            },
        );
        let _answered = bench.verify(&presentation.present());
        presentation.elements[0].item = value.clone();
        assert!(bench.verify(&presentation.present()).is_err());
        presentation.response_members.push((of_response.into(), value));
        let _answered = bench.verify(&presentation.present());
    });
}

#[test]
fn any_signed_status_list_is_answered() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let bench = Bench::sd_jwt();
    let member = prop::sample::select(vec!["status_list", "ttl", "exp", "iat", "sub", "x"]);
    let list = prop::collection::vec(any::<u8>(), 0..64);
    run(&(member, any_json(), list, any::<u64>()), 256, |(name, value, list, index)| {
        let mut signed = UnsignedList::with_statuses(&bench.issuer, &[0; 8]);
        signed.payload["status_list"]["lst"] = json!(compressed(&list));
        let is_changed = name != "x";
        signed.payload[name] = value;
        let server = Arc::new(DocumentServer::default());
        server.serve(STATUS_LIST_URI, signed.sign(&bench.issuer));
        let clock = Arc::new(ManualClock::at(PRESENTED_AT));
        let env = Env::new(clock, Arc::new(SeededEntropy::new(1)));
        let lists = StatusLists::new(server, env, UnreachableStatusPolicy::Refuse);
        let reference = StatusReference { uri: STATUS_LIST_URI.into(), index };
        let answer = runtime.block_on(lists.check_status(&reference, &bench.anchors));
        // Two bits for each entry.
        if !is_changed && index >= 4 * list.len() as u64 {
            assert_eq!(answer, Err(StatusError::OutOfRange));
        }
    });
}

#[test]
fn any_signed_trust_list_is_answered() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let operator = TestAuthority::new("List operator");
    let signer = operator.issue(&super::CertificateSpec::signer());
    let url = "https://lists.example/pid-providers";
    let place = prop::sample::select(vec![
        "",
        "/LoTE",
        "/LoTE/ListAndSchemeInformation",
        "/LoTE/ListAndSchemeInformation/NextUpdate",
        "/LoTE/TrustedEntitiesList",
        "/LoTE/TrustedEntitiesList/0/TrustedEntityServices",
        "/LoTE/TrustedEntitiesList/0/TrustedEntityServices/0/ServiceInformation/ServiceDigitalIdentity",
    ]);
    run(&(place, any_json()), 256, |(place, value)| {
        let mut list = UnsignedList::with_trusted(&signer, &[operator.der()]);
        *list.payload.pointer_mut(place).unwrap() = value;
        let server = Arc::new(DocumentServer::default());
        server.serve(url, list.sign(&signer));
        let clock = Arc::new(ManualClock::at(PRESENTED_AT));
        let env = Env::new(clock, Arc::new(SeededEntropy::new(1)));
        let source = TrustListSource {
            url: url.into(),
            signers: operator.anchors(),
            service_types: vec![],
            credentials: vec![],
        };
        let sources = TrustSources::new(PinnedAnchors::default(), vec![source], server, env);
        // The certificate of the true list at most.
        assert!(
            runtime.block_on(sources.refresh()).iter().flatten().all(|state| state.anchors <= 1)
        );
    });
}
