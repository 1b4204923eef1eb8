//! Sealed answers of the fake identity provider: what a faithful one sends passes, what a forger sends has its own code.

use std::sync::LazyLock;

use josekit::jwe::{self, JweHeader};
use serde_json::json;

use super::super::fake_idp::*;
use super::super::*;
use crate::digest;
use crate::protocol::alg::EncryptionAlg;
use crate::token::open::tests::{encrypter, published, seal_to};
use crate::token::upstream_keys::tests::KEYS;

const ID_TOKEN: &str = "id_token_encrypted_response_alg = \"RSA-OAEP-256\"";
const USERINFO: &str =
    "userinfo_signed_response_alg = \"ES256\"\nuserinfo_encrypted_response_alg = \"RSA-OAEP-256\"";
const ALG: EncryptionAlg = EncryptionAlg::RsaOaep256;

/// A hub that never was.
static FOREIGN: LazyLock<UpstreamKeys> =
    LazyLock::new(|| UpstreamKeys::ephemeral(Timestamp::default()).unwrap());

fn now() -> Timestamp {
    Timestamp::from_seconds(NOW)
}

fn seal(alg: EncryptionAlg, inside: &str) -> String {
    seal_to(&published(&KEYS, now(), alg.as_str()), alg, inside, &json!({ "cty": "JWT" }))
}

fn claims_of(jws: &str) -> String {
    String::from_utf8(digest::from_base64url(jws.split('.').nth(1).unwrap()).unwrap()).unwrap()
}

fn to_a_stranger(jws: &str) -> String {
    seal_to(&published(&FOREIGN, now(), ALG.as_str()), ALG, jws, &json!({}))
}

fn to_an_impostor(jws: &str) -> String {
    let mut key = published(&FOREIGN, now(), ALG.as_str());
    key.set_key_id(published(&KEYS, now(), ALG.as_str()).key_id().unwrap());
    seal_to(&key, ALG, jws, &json!({}))
}

fn with_weaker_enc(jws: &str) -> String {
    let mut header = JweHeader::new();
    header.set_content_encryption("A128GCM");
    let key = published(&KEYS, now(), ALG.as_str());
    jwe::serialize_compact(jws.as_bytes(), &header, encrypter(ALG, &key).as_ref()).unwrap()
}

fn compressed(jws: &str) -> String {
    seal_to(
        &published(&KEYS, now(), ALG.as_str()),
        ALG,
        &format!("{jws}{}", "A".repeat(5_000_000)),
        &json!({ "zip": "DEF" }),
    )
}

fn with_crit(jws: &str) -> String {
    let sealed = seal(ALG, jws);
    let header =
        json!({ "alg": ALG.as_str(), "enc": "A256GCM", "crit": ["urn:example:new"] }).to_string();
    format!("{}.{}", digest::base64url(header.as_bytes()), sealed.split_once('.').unwrap().1)
}

fn unsigned_inside(jws: &str) -> String {
    let header = digest::base64url(json!({ "alg": "none" }).to_string().as_bytes());
    seal(ALG, &format!("{header}.{}.", jws.split('.').nth(1).unwrap()))
}

fn signature_of_another_inside(jws: &str) -> String {
    let (message, _) = jws.rsplit_once('.').unwrap();
    seal(ALG, &format!("{message}.{}", digest::base64url(&[7; 64])))
}

type Seal = fn(&str) -> String;

const FAITHFUL: Seal = |jws| seal(ALG, jws);

/// What a forger, or an identity provider that is set up otherwise, sends instead; the code; for what comes of the
/// inner signature, that of an ID token and that of userinfo.
const FORGED: [(&str, Seal, ErrorCode, ErrorCode); 13] = {
    use ErrorCode as E;
    [
        ("sealed_to_a_key_that_is_not_ours", to_a_stranger, E::SealKey, E::SealKey),
        ("our_kid_on_a_key_that_is_not_ours", to_an_impostor, E::SealBroken, E::SealBroken),
        (
            "alg_of_another_key",
            |jws| seal(EncryptionAlg::EcdhEs, jws),
            E::SealAlgorithm,
            E::SealAlgorithm,
        ),
        (
            "weaker_alg_of_the_same_key",
            |jws| seal(EncryptionAlg::RsaOaep, jws),
            E::SealAlgorithm,
            E::SealAlgorithm,
        ),
        ("enc_not_registered", with_weaker_enc, E::SealContentEncryption, E::SealContentEncryption),
        ("compressed_bomb", compressed, E::SealCompressed, E::SealCompressed),
        ("unknown_crit", with_crit, E::SealExtension, E::SealExtension),
        (
            "claims_signed_by_nobody",
            |jws| seal(ALG, &claims_of(jws)),
            E::SealUnsigned,
            E::SealUnsigned,
        ),
        ("alg_none_inside", unsigned_inside, E::IdTokenAlgorithm, E::UserinfoSignature),
        (
            "signature_of_another_inside",
            signature_of_another_inside,
            E::IdTokenSignature,
            E::UserinfoSignature,
        ),
        ("seal_inside_a_seal", |jws| seal(ALG, &seal(ALG, jws)), E::SealNested, E::SealNested),
        ("bare_jws_where_encryption_is_registered", str::to_owned, E::SealMissing, E::SealMissing),
        (
            "cut_off",
            |jws| seal(ALG, jws).rsplit_once('.').unwrap().0.to_owned(),
            E::SealMalformed,
            E::SealMalformed,
        ),
    ]
};

fn userinfo_claims(world: &World) -> Value {
    json!({ "iss": world.server.base(), "aud": "hub", "sub": "s-1", "email": "sealed@example.org" })
}

#[tokio::test]
async fn every_forged_seal_around_an_id_token_is_refused_with_its_own_code() {
    let world = World::with(ID_TOKEN).await;
    for (attack, forge, expected, _) in FORGED {
        world.script().seal = Some(forge);
        assert_eq!(world.complete().await.err(), Some(expected), "{attack}");
    }
    world.script().seal = Some(FAITHFUL);
    assert!(world.complete().await.is_ok());
}

#[tokio::test]
async fn every_forged_seal_around_userinfo_is_refused_with_its_own_code() {
    let world = World::with(USERINFO).await;
    let claims = userinfo_claims(&world);
    world.script().userinfo_jwt = Some(claims);
    for (attack, forge, _, expected) in FORGED {
        world.script().seal_userinfo = Some(forge);
        assert_eq!(world.complete().await.err(), Some(expected), "{attack}");
    }
    world.script().seal_userinfo = Some(FAITHFUL);
    assert!(world.complete().await.is_ok());
    world.script().userinfo_jwt = None;
    assert_eq!(
        world.complete().await.err(),
        Some(ErrorCode::SealMalformed),
        "plain where sealed is registered"
    );
}

#[tokio::test]
async fn what_is_sealed_with_each_algorithm_is_opened_and_verified() {
    let table: [(EncryptionAlg, Seal); 3] = [
        (EncryptionAlg::EcdhEs, |jws| seal(EncryptionAlg::EcdhEs, jws)),
        (EncryptionAlg::RsaOaep256, |jws| seal(EncryptionAlg::RsaOaep256, jws)),
        (EncryptionAlg::RsaOaep, |jws| seal(EncryptionAlg::RsaOaep, jws)),
    ];
    for (alg, faithful) in table {
        let alg = alg.as_str();
        let world = World::with(&format!(
            "id_token_encrypted_response_alg = \"{alg}\"\nid_token_encrypted_response_enc = \"A256GCM\"\n\
             userinfo_signed_response_alg = \"ES256\"\nuserinfo_encrypted_response_alg = \"{alg}\"",
        ))
        .await;
        let claims = userinfo_claims(&world);
        {
            let mut script = world.script();
            (script.seal, script.seal_userinfo, script.userinfo_jwt) =
                (Some(faithful), Some(faithful), Some(claims));
        }
        let proven = world.complete().await.unwrap();
        assert_eq!(
            Value::Object(proven.claims),
            json!({ "email": "sealed@example.org", "given_name": "Ada" }),
            "{alg}"
        );
        // RP-Initiated Logout 1.0, 2: a hint goes back signed only.
        assert_eq!(proven.id_token.unwrap().reveal().split('.').count(), 3, "{alg}");
    }
}

#[tokio::test]
async fn a_seal_where_none_is_registered_is_refused() {
    let plain = World::new().await;
    plain.script().seal = Some(FAITHFUL);
    assert_eq!(plain.complete().await.err(), Some(ErrorCode::IdTokenEncryption));
    {
        let mut script = plain.script();
        (script.seal, script.seal_userinfo) = (None, Some(FAITHFUL));
        script.userinfo_jwt = Some(json!({ "sub": "s-1" }));
    }
    assert_eq!(
        plain.complete().await.err(),
        Some(ErrorCode::UserinfoEncryption),
        "JSON is registered"
    );

    let signed = World::with("userinfo_signed_response_alg = \"ES256\"").await;
    let claims = userinfo_claims(&signed);
    {
        let mut script = signed.script();
        (script.userinfo_jwt, script.seal_userinfo) = (Some(claims), Some(FAITHFUL));
    }
    assert_eq!(
        signed.complete().await.err(),
        Some(ErrorCode::UserinfoEncryption),
        "a JWS is registered"
    );
}

#[tokio::test]
async fn keys_that_are_rotated_under_a_running_hub_open_what_comes_next() {
    let world = World::with(ID_TOKEN).await;
    world.script().seal = Some(to_a_stranger);
    assert_eq!(world.complete().await.err(), Some(ErrorCode::SealKey));
    world.keys.store(Arc::new(UpstreamKeys::none()));
    world.script().seal = Some(FAITHFUL);
    assert_eq!(
        world.complete().await.err(),
        Some(ErrorCode::SealKey),
        "the keys of before are gone"
    );
    world.keys.store(Arc::clone(&KEYS));
    assert!(world.complete().await.is_ok());
}
