//! Key bindings of an SD-JWT that are not the holder's, not for this request, or not of now.

use openssl::nid::Nid;
use passerelle_protocol::digest;
use passerelle_testkit::wallet_credentials::sd_jwt::SdJwtPresentation;
use passerelle_testkit::wallet_credentials::{new_key, new_key_on, public_jwk, sign_jws};
use serde_json::{Value, json};

use super::{MaliciousWallet, SdJwtForgery, remove};

/// Signs a key binding of exactly this payload.
fn bind(pid: &mut SdJwtPresentation, payload: &Value) {
    pid.key_binding = Some(sign_jws(&pid.key_binding_header, payload, &pid.holder_key));
}

const FORGERIES: &[SdJwtForgery] = &[
    ("audience of another verifier", "key_binding_audience", |pid, _| {
        pid.key_binding_payload["aud"] = json!("x509_hash:another");
    }),
    ("audience without its prefix", "key_binding_audience", |pid, inputs| {
        let client_id = inputs.request.claims["client_id"].as_str().unwrap();
        pid.key_binding_payload["aud"] = json!(client_id.strip_prefix("x509_hash:").unwrap());
    }),
    ("audience of the hub's address", "key_binding_audience", |pid, inputs| {
        pid.key_binding_payload["aud"] = inputs.request.claims["response_uri"].clone();
    }),
    ("several audiences", "key_binding_audience", |pid, _| {
        let own = pid.key_binding_payload["aud"].clone();
        pid.key_binding_payload["aud"] = json!([own, "x509_hash:another"]);
    }),
    ("no audience", "key_binding_audience", |pid, _| remove(&mut pid.key_binding_payload, "aud")),
    ("nonce of another request", "key_binding_nonce", |pid, _| {
        pid.key_binding_payload["nonce"] = json!("nonce-of-another-request");
    }),
    ("nonce in other letters", "key_binding_nonce", |pid, inputs| {
        let nonce = inputs.request.claims["nonce"].as_str().unwrap();
        let swapped = if nonce.to_ascii_lowercase() == nonce {
            nonce.to_ascii_uppercase()
        } else {
            nonce.to_ascii_lowercase()
        };
        pid.key_binding_payload["nonce"] = json!(swapped);
    }),
    ("nonce as a list", "key_binding_nonce", |pid, _| {
        let own = pid.key_binding_payload["nonce"].clone();
        pid.key_binding_payload["nonce"] = json!([own]);
    }),
    ("no nonce", "key_binding_nonce", |pid, _| remove(&mut pid.key_binding_payload, "nonce")),
    ("stale key binding", "key_binding_too_old", |pid, inputs| {
        pid.key_binding_payload["iat"] = json!(inputs.now - 3600);
    }),
    ("expired key binding", "key_binding_too_old", |pid, inputs| {
        pid.key_binding_payload["exp"] = json!(inputs.now - 120);
    }),
    ("key binding made in advance", "key_binding_in_future", |pid, inputs| {
        pid.key_binding_payload["iat"] = json!(inputs.now + 3600);
    }),
    ("key binding that is not valid yet", "key_binding_in_future", |pid, inputs| {
        pid.key_binding_payload["nbf"] = json!(inputs.now + 3600);
    }),
    ("key binding without a time", "key_binding_malformed", |pid, _| {
        remove(&mut pid.key_binding_payload, "iat");
    }),
    ("key binding with a time that is a text", "key_binding_malformed", |pid, inputs| {
        pid.key_binding_payload["iat"] = json!(inputs.now.to_string());
    }),
    ("key binding with a critical extension", "key_binding_malformed", |pid, _| {
        pid.key_binding_header["crit"] = json!(["exp"]);
    }),
    ("stolen credential without key binding", "key_binding_missing", |pid, _| {
        pid.key_binding = Some(String::new());
    }),
    ("unsigned key binding", "holder_algorithm", |pid, _| {
        pid.key_binding_header["alg"] = json!("none");
    }),
    ("key binding with a symmetric signature", "holder_algorithm", |pid, _| {
        pid.key_binding_header["alg"] = json!("HS256");
    }),
    ("key binding on another curve", "holder_algorithm", |pid, _| {
        pid.holder_key = new_key_on(Nid::SECP384R1);
        pid.key_binding_header["alg"] = json!("ES384");
    }),
    ("another token as key binding", "key_binding_type", |pid, _| {
        pid.key_binding_header["typ"] = json!("openid4vci-proof+jwt");
    }),
    ("the issuer's token as key binding", "key_binding_type", |pid, _| {
        pid.key_binding = Some(sign_jws(&pid.header, &pid.payload, &pid.issuer_key));
    }),
    ("key binding of another holder", "holder_signature", |pid, _| pid.holder_key = new_key()),
    ("key binding that brings its key along", "holder_signature", |pid, _| {
        pid.holder_key = new_key();
        pid.key_binding_header["jwk"] = public_jwk(&pid.holder_key);
    }),
    ("key binding signed by the issuer", "holder_signature", |pid, _| {
        pid.holder_key = pid.issuer_key.clone();
    }),
    ("credential of another holder", "holder_signature", |pid, _| {
        pid.payload["cnf"]["jwk"] = public_jwk(&new_key());
    }),
    ("credential of no holder", "holder_key_missing", |pid, _| remove(&mut pid.payload, "cnf")),
    ("holder by key id", "holder_key_missing", |pid, _| {
        pid.payload["cnf"] = json!({ "kid": "1" });
    }),
    ("holder's key on another curve", "holder_key_invalid", |pid, _| {
        pid.payload["cnf"]["jwk"]["crv"] = json!("secp256k1");
    }),
    ("holder's key that is no point of its curve", "holder_key_invalid", |pid, _| {
        pid.payload["cnf"]["jwk"]["x"] = json!(digest::base64url(&[1; 32]));
    }),
    ("holder's key that is symmetric", "holder_key_invalid", |pid, _| {
        pid.payload["cnf"]["jwk"] = json!({ "kty": "oct", "k": digest::base64url(&[1; 32]) });
    }),
    ("holder's private key", "holder_key_invalid", |pid, _| {
        pid.payload["cnf"]["jwk"]["d"] = json!(digest::base64url(&[1; 32]));
    }),
    ("hash of other disclosures", "key_binding_digest", |pid, _| {
        let withheld = pid.disclosures.pop().unwrap();
        pid.key_binding_payload["sd_hash"] = json!(digest::sha256_base64url(&pid.sd_jwt()));
        pid.disclosures.push(withheld);
    }),
    ("hash of another algorithm", "key_binding_digest", |pid, _| {
        let hash =
            openssl::hash::hash(openssl::hash::MessageDigest::sha384(), pid.sd_jwt().as_bytes());
        pid.key_binding_payload["sd_hash"] = json!(digest::base64url(&hash.unwrap()));
    }),
    ("no hash of the presentation", "key_binding_digest", |pid, _| {
        let payload = pid.key_binding_payload.clone();
        bind(pid, &payload);
    }),
];

#[actix_web::test]
async fn a_key_binding_of_another_request_or_holder_is_refused() {
    MaliciousWallet::start("").await.assert_all_refused(FORGERIES).await;
}
