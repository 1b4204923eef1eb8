//! Measures the CPU time of checking one SAML response, plain and encrypted, beside that of one ID
//! token with the same key. The messages are the fuzz targets' seeds.
//!
//! `cargo bench --bench saml`; `-- 2000` for more rounds. Nothing is asserted: read the figures.
#![expect(clippy::unwrap_used, reason = "a measurement that can't be made should stop")]

use std::hint::black_box;
use std::time::Instant;

use josekit::jwk::alg::rsa::RsaKeyPair;
use josekit::jwk::{Jwk, KeyPair as _};
use josekit::jws::{JwsHeader, RS256, serialize_compact};
use openssl::pkey::PKey;
use openssl::x509::X509;
use passerelle_jose::verify::{VerificationKeys, verify_jws};
use passerelle_protocol::alg::VerificationAlg;
use passerelle_protocol::env::Timestamp;
use passerelle_saml::response::{ExpectedResponse, check_response};
use passerelle_saml::xml::{VerificationKey, XmlDecryptionKey};
use serde_json::json;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const KEY: &[u8] = include_bytes!("../fuzz/keys/rsa.json");
const CERTIFICATE: &[u8] = include_bytes!("../fuzz/keys/rsa.crt");
const SIGNED: &str = include_str!("../fuzz/seeds/saml_response/good_whole");
const ENCRYPTED: &str = include_str!("../fuzz/seeds/saml_response/good_encrypted");

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
    let jwk = Jwk::from_bytes(KEY).unwrap();
    let signer = RS256.signer_from_jwk(&jwk).unwrap();

    let certificate = X509::from_pem(CERTIFICATE).unwrap().to_der().unwrap();
    let private =
        PKey::private_key_from_der(&RsaKeyPair::from_jwk(&jwk).unwrap().to_der_private_key())
            .unwrap();
    let expected = ExpectedResponse {
        identity_provider: "https://idp.example/saml",
        service_provider: "https://hub.example/saml",
        consumer_url: "https://hub.example/saml/acs",
        request_id: "_r1",
        requested_at: NOW,
        force_authn: false,
        verification_keys: &[VerificationKey::from_certificate(&certificate).unwrap()],
        decryption_keys: &[XmlDecryptionKey::new(private).unwrap()],
        allow_cbc: false,
        scopes: &["idp.example".to_owned()],
    };
    for (what, seed) in [("signed assertion", SIGNED), ("encrypted signed assertion", ENCRYPTED)] {
        let response = seed.split_once('\n').unwrap().1.as_bytes();
        println!("{what}: {} bytes", response.len());
        measure("  check the response", rounds, || {
            black_box(check_response(black_box(response), &expected, NOW).unwrap());
        });
    }

    let claims = json!({
        "iss": "https://idp.example", "sub": "angela-7", "aud": "hub", "nonce": "n", "acr": "eidas2",
        "iat": NOW.seconds(), "exp": NOW.seconds() + 300, "auth_time": NOW.seconds(),
        "email": "angela@idp.example",
    });
    let mut header = JwsHeader::new();
    header.set_token_type("JWT");
    let token = serialize_compact(claims.to_string().as_bytes(), &header, &signer).unwrap();
    let jwks = json!({ "keys": [{
        "kty": "RSA", "n": jwk.parameter("n"), "e": jwk.parameter("e"), "use": "sig",
    }] });
    let keys = VerificationKeys::from_jwks(jwks.to_string().as_bytes()).unwrap();
    println!("ID token, RS256: {} bytes", token.len());
    measure("  verify the ID token", rounds, || {
        black_box(verify_jws(black_box(&token), VerificationAlg::RS256, &keys).unwrap());
    });
}
