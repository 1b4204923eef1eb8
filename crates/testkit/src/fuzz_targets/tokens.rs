//! Tokens: signed, encrypted, and the keys that are published for them.

use std::str;

use futures_util::FutureExt as _;
use openidconnect::IssuerUrl;
use serde_json::Value;

use super::sample_keys::{NOW, SampleEncrypter, SampleSigner, public_jwks, upstream_keys};
use super::{FuzzFunction, FuzzTarget, target};
use passerelle_connector::oidc::id_token::{IdTokenExpectations, check_claims, verify_signature};
use passerelle_connector::oidc::logout_token::{LogoutTokenExpectations, verify_logout_token};
use passerelle_connector::oidc::userinfo::{UserinfoExpectations, verify_signed};
use passerelle_federation::testing::samples::IDP_ISSUER;
use passerelle_jose::ClientKeys;
use passerelle_jose::decrypt::{JweAlgorithms, decrypt_jwe};
use passerelle_jose::dpop_proof::DpopProof;
use passerelle_jose::verify::{
    MAX_JWT_BYTES, MAX_USABLE_KEYS_PER_SET, VerificationKeys, alg_of_similar_cost, names_audience,
    unverified_claims, verify_jws,
};
use passerelle_protocol::alg::{ContentEncryption, EncryptionAlg, SigningAlg, VerificationAlg};
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;

pub(super) const TARGETS: &[FuzzTarget] = &[
    target(
        "jws",
        &[
            "crates/jose/src/verify.rs",
            "crates/protocol/src/json.rs",
            "crates/protocol/src/digest.rs",
        ],
        jws,
    ),
    target("jwe", &["crates/jose/src/decrypt.rs", "crates/jose/src/jwe.rs"], jwe),
    target(
        "jwk_set",
        &[
            "crates/jose/src/verify/keys.rs",
            "crates/jose/src/client_keys.rs",
            "crates/jose/src/encrypt.rs",
        ],
        jwk_set,
    ),
    target(
        "id_token",
        &["crates/connector/src/oidc/id_token.rs", "crates/connector/src/oidc/keys.rs"],
        id_token,
    ),
    target("logout_token", &["crates/connector/src/oidc/logout_token.rs"], logout_token),
    target("signed_userinfo", &["crates/connector/src/oidc/userinfo.rs"], signed_userinfo),
    target("dpop_proof", &["crates/jose/src/dpop_proof.rs"], dpop_proof),
];

fn keys() -> VerificationKeys {
    VerificationKeys::from_jwks(&public_jwks()).unwrap()
}

fn jws() -> FuzzFunction {
    let (signer, keys) = (SampleSigner::new(), keys());
    Box::new(move |data| {
        let Some(compact) = signer.token(data) else { return false };
        let _ = (alg_of_similar_cost(&compact), unverified_claims(&compact));
        let mut accepted = false;
        for alg in [VerificationAlg::ES256, VerificationAlg::RS256] {
            let Ok(verified) = verify_jws(&compact, alg, &keys) else { continue };
            assert!(compact.len() <= MAX_JWT_BYTES);
            assert_eq!(alg, VerificationAlg::ES256, "an algorithm without a key");
            assert_eq!(verified.header["alg"], "ES256", "the token chose the algorithm");
            assert!(!verified.header.contains_key("crit"), "an unknown extension");
            assert_eq!(unverified_claims(&compact), verified.claims);
            accepted = true;
        }
        accepted
    })
}

/// An input that begins with `=` is encrypted first: so the content is read, too.
fn jwe() -> FuzzFunction {
    let (encrypter, keys) = (SampleEncrypter::new(), upstream_keys());
    Box::new(move |data| {
        let compact = match data.strip_prefix(b"=") {
            Some(content) => encrypter.encrypt(content),
            None => match str::from_utf8(data) {
                Ok(text) => text.to_owned(),
                Err(_) => return false,
            },
        };
        let mut accepted = false;
        for alg in EncryptionAlg::ALL {
            let algorithms = JweAlgorithms { alg, enc: ContentEncryption::default() };
            // A key in memory decrypts at once.
            let decrypted = decrypt_jwe(&compact, algorithms, &keys, NOW).now_or_never();
            if let Some(Ok(content)) = decrypted {
                assert_eq!(content.reveal().split('.').count(), 3, "its content is not signed");
                accepted = true;
            }
        }
        accepted
    })
}

fn jwk_set() -> FuzzFunction {
    let compact = SampleSigner::new().token(b"{\"alg\":\"ES256\"}\n{}").unwrap();
    Box::new(move |data| {
        if let Ok(keys) = VerificationKeys::from_jwks(data) {
            assert!(keys.len() <= MAX_USABLE_KEYS_PER_SET);
            let _ = (keys.is_empty(), keys.skipped(), keys.skipped_by_reason().count());
            let _ = verify_jws(&compact, VerificationAlg::ES256, &keys);
        }
        let _ = VerificationKeys::from_client_jwks(data).map(|keys| keys.len());
        let Ok(keys) = ClientKeys::from_jwks(data) else { return false };
        assert!(!contains_private_member(data), "a published private key is used");
        for alg in EncryptionAlg::ALL {
            if let Some(key) = keys.encryption.select(alg) {
                let _ = key.encrypt(&compact);
            }
        }
        true
    })
}

fn contains_private_member(set: &[u8]) -> bool {
    let set: Value = serde_json::from_slice(set).unwrap();
    set["keys"].as_array().unwrap().iter().any(|key| key.get("d").is_some())
}

const NONCE: &str = "nonce-of-the-hub";
const ACCESS_TOKEN: &str = "the access token";

fn id_token() -> FuzzFunction {
    let (signer, keys) = (SampleSigner::new(), keys());
    let issuer = IssuerUrl::new(IDP_ISSUER.to_owned()).unwrap();
    let access_token = Secret::new(ACCESS_TOKEN.to_owned());
    Box::new(move |data| {
        let Some(compact) = signer.token(data) else { return false };
        let expected = IdTokenExpectations {
            trusted_audiences: &[],
            issuer: &issuer,
            client_id: "hub",
            alg: SigningAlg::ES256,
            nonce: NONCE,
            access_token: &access_token,
            now: NOW,
        };
        let verified = verify_signature(&compact, &keys, expected.alg);
        let Ok(claims) = verified.and_then(|jws| check_claims(&compact, jws, &expected)) else {
            return false;
        };
        assert_eq!(claims["iss"], IDP_ISSUER, "mix-up");
        assert_eq!(claims["nonce"], NONCE, "a replayed ID token");
        assert!(names_audience(&claims, "hub"), "an ID token for another client");
        assert!(claims["sub"].as_str().is_some_and(|sub| !sub.is_empty()));
        if let Some(hash) = claims.get("at_hash").filter(|hash| !hash.is_null()) {
            let full = digest::sha256(ACCESS_TOKEN.as_bytes());
            assert_eq!(hash, &digest::base64url(&full[..16]), "a substituted access token");
        }
        true
    })
}

fn logout_token() -> FuzzFunction {
    let (signer, keys) = (SampleSigner::new(), keys());
    Box::new(move |data| {
        let Some(compact) = signer.token(data) else { return false };
        let expected = LogoutTokenExpectations {
            issuer: IDP_ISSUER,
            client_id: "hub",
            trusted_audiences: &[],
            alg: SigningAlg::ES256,
            now: NOW,
        };
        let Ok(logout) = verify_logout_token(&compact, &keys, &expected) else { return false };
        assert!(logout.session_id.is_some() || logout.subject.is_some());
        let claims = unverified_claims(&compact);
        assert!(!claims.contains_key("nonce"), "an ID token passes for a logout token");
        assert_eq!(claims["iss"], IDP_ISSUER);
        assert!(names_audience(&claims, "hub"));
        true
    })
}

fn signed_userinfo() -> FuzzFunction {
    let (signer, keys) = (SampleSigner::new(), keys());
    Box::new(move |data| {
        let Some(compact) = signer.token(data) else { return false };
        let expected = UserinfoExpectations { issuer: IDP_ISSUER, client_id: "hub", now: NOW };
        let verified = verify_signed(&compact, SigningAlg::ES256, &keys, &expected);
        let Ok(claims) = verified else { return false };
        assert_eq!(claims["iss"], IDP_ISSUER);
        assert!(names_audience(&claims, "hub"));
        true
    })
}

fn dpop_proof() -> FuzzFunction {
    let signer = SampleSigner::new();
    Box::new(move |data| {
        let Some(compact) = signer.token(data) else { return false };
        let Ok(proof) = DpopProof::parse(&compact) else { return false };
        let _thumbprint = proof.thumbprint();
        assert_eq!(*proof.unverified_claims(), unverified_claims(&compact));
        proof.verify().is_ok()
    })
}
