//! Encrypted responses: a correct one is accepted, and each attack is rejected with its own code.

use std::sync::LazyLock;

use josekit::jwe::{self, JweHeader};
use serde_json::json;

use super::super::*;
use crate::testing::fake_idp::*;
use passerelle_jose::RelyingPartyKeys;
use passerelle_jose::testing::sample_keys::KEYS;
use passerelle_jose::testing::sample_keys::{encrypt_to, encrypter, published};
use passerelle_protocol::alg::EncryptionAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;

const ID_TOKEN: &str = "id_token_encrypted_response_alg = \"RSA-OAEP-256\"";
const USERINFO: &str =
    "userinfo_signed_response_alg = \"ES256\"\nuserinfo_encrypted_response_alg = \"RSA-OAEP-256\"";
const ALG: EncryptionAlg = EncryptionAlg::RsaOaep256;

/// Keys of another hub.
static FOREIGN_KEYS: LazyLock<RelyingPartyKeys> =
    LazyLock::new(|| RelyingPartyKeys::ephemeral(Timestamp::default()).unwrap());

fn now() -> Timestamp {
    Timestamp::from_seconds(NOW)
}

fn encrypt_jws(alg: EncryptionAlg, inside: &str) -> String {
    encrypt_to(&published(&KEYS, now(), alg.as_str()), alg, inside, &json!({ "cty": "JWT" }))
}

fn decode_claims(jws: &str) -> String {
    String::from_utf8(digest::from_base64url(jws.split('.').nth(1).unwrap()).unwrap()).unwrap()
}

fn with_foreign_key(jws: &str) -> String {
    encrypt_to(&published(&FOREIGN_KEYS, now(), ALG.as_str()), ALG, jws, &json!({}))
}

fn with_foreign_key_and_our_kid(jws: &str) -> String {
    let mut key = published(&FOREIGN_KEYS, now(), ALG.as_str());
    key.set_key_id(published(&KEYS, now(), ALG.as_str()).key_id().unwrap());
    encrypt_to(&key, ALG, jws, &json!({}))
}

fn with_weaker_enc(jws: &str) -> String {
    let mut header = JweHeader::new();
    header.set_content_encryption("A128GCM");
    let key = published(&KEYS, now(), ALG.as_str());
    jwe::serialize_compact(jws.as_bytes(), &header, encrypter(ALG, &key).as_ref()).unwrap()
}

fn compressed(jws: &str) -> String {
    encrypt_to(
        &published(&KEYS, now(), ALG.as_str()),
        ALG,
        &format!("{jws}{}", "A".repeat(5_000_000)),
        &json!({ "zip": "DEF" }),
    )
}

fn with_crit(jws: &str) -> String {
    let encrypted = encrypt_jws(ALG, jws);
    let header =
        json!({ "alg": ALG.as_str(), "enc": "A256GCM", "crit": ["urn:example:new"] }).to_string();
    format!("{}.{}", digest::base64url(header.as_bytes()), encrypted.split_once('.').unwrap().1)
}

fn unsigned_inside(jws: &str) -> String {
    let header = digest::base64url(json!({ "alg": "none" }).to_string().as_bytes());
    encrypt_jws(ALG, &format!("{header}.{}.", jws.split('.').nth(1).unwrap()))
}

fn signature_of_another_inside(jws: &str) -> String {
    let (message, _) = jws.rsplit_once('.').unwrap();
    encrypt_jws(ALG, &format!("{message}.{}", digest::base64url(&[7; 64])))
}

type EncryptFn = fn(&str) -> String;

const ENCRYPTED: EncryptFn = |jws| encrypt_jws(ALG, jws);

/// Attack, response, and the expected codes for an ID token and for userinfo.
const ATTACKS: [(&str, EncryptFn, ErrorCode, ErrorCode); 13] = {
    use ErrorCode as E;
    [
        ("encrypted_with_a_foreign_key", with_foreign_key, E::JweKey, E::JweKey),
        (
            "foreign_key_with_our_kid",
            with_foreign_key_and_our_kid,
            E::JweDecryption,
            E::JweDecryption,
        ),
        (
            "alg_of_another_key",
            |jws| encrypt_jws(EncryptionAlg::EcdhEs, jws),
            E::JweAlgorithm,
            E::JweAlgorithm,
        ),
        (
            "weaker_alg_of_the_same_key",
            |jws| encrypt_jws(EncryptionAlg::RsaOaep, jws),
            E::JweAlgorithm,
            E::JweAlgorithm,
        ),
        ("enc_not_registered", with_weaker_enc, E::JweContentEncryption, E::JweContentEncryption),
        ("compressed_bomb", compressed, E::JweCompressed, E::JweCompressed),
        ("unknown_crit", with_crit, E::JweExtension, E::JweExtension),
        (
            "unsigned_claims",
            |jws| encrypt_jws(ALG, &decode_claims(jws)),
            E::JweUnsigned,
            E::JweUnsigned,
        ),
        ("alg_none_inside", unsigned_inside, E::IdTokenAlgorithm, E::UserinfoSignature),
        (
            "signature_of_another_inside",
            signature_of_another_inside,
            E::IdTokenSignature,
            E::UserinfoSignature,
        ),
        (
            "nested_encryption",
            |jws| encrypt_jws(ALG, &encrypt_jws(ALG, jws)),
            E::JweNested,
            E::JweNested,
        ),
        ("bare_jws_where_encryption_is_registered", str::to_owned, E::JweMissing, E::JweMissing),
        (
            "cut_off",
            |jws| encrypt_jws(ALG, jws).rsplit_once('.').unwrap().0.to_owned(),
            E::JweMalformed,
            E::JweMalformed,
        ),
    ]
};

fn userinfo_claims(fixture: &OidcFixture) -> Value {
    json!({ "iss": fixture.server.base(), "aud": "hub", "sub": "s-1", "email": "encrypted@example.org" })
}

#[tokio::test]
async fn every_attack_on_an_encrypted_id_token_is_rejected_with_its_own_code() {
    let fixture = OidcFixture::with(ID_TOKEN).await;
    for (attack, attack_response, expected, _) in ATTACKS {
        fixture.script().encrypt_id_token = Some(attack_response);
        assert_eq!(fixture.complete_login().await.err(), Some(expected), "{attack}");
    }
    fixture.script().encrypt_id_token = Some(ENCRYPTED);
    assert!(fixture.complete_login().await.is_ok());
}

#[tokio::test]
async fn every_attack_on_encrypted_userinfo_is_rejected_with_its_own_code() {
    let fixture = OidcFixture::with(USERINFO).await;
    let claims = userinfo_claims(&fixture);
    fixture.script().userinfo_jwt = Some(claims);
    for (attack, attack_response, _, expected) in ATTACKS {
        fixture.script().encrypt_userinfo = Some(attack_response);
        assert_eq!(fixture.complete_login().await.err(), Some(expected), "{attack}");
    }
    fixture.script().encrypt_userinfo = Some(ENCRYPTED);
    assert!(fixture.complete_login().await.is_ok());
    fixture.script().userinfo_jwt = None;
    assert_eq!(
        fixture.complete_login().await.err(),
        Some(ErrorCode::JweMalformed),
        "plain, although encrypted is registered"
    );
}

#[tokio::test]
async fn responses_encrypted_with_each_algorithm_are_decrypted_and_verified() {
    let table: [(EncryptionAlg, EncryptFn); 3] = [
        (EncryptionAlg::EcdhEs, |jws| encrypt_jws(EncryptionAlg::EcdhEs, jws)),
        (EncryptionAlg::RsaOaep256, |jws| encrypt_jws(EncryptionAlg::RsaOaep256, jws)),
        (EncryptionAlg::RsaOaep, |jws| encrypt_jws(EncryptionAlg::RsaOaep, jws)),
    ];
    for (alg, encrypt) in table {
        let alg = alg.as_str();
        let fixture = OidcFixture::with(&format!(
            "id_token_encrypted_response_alg = \"{alg}\"\nid_token_encrypted_response_enc = \"A256GCM\"\n\
             userinfo_signed_response_alg = \"ES256\"\nuserinfo_encrypted_response_alg = \"{alg}\"",
        ))
        .await;
        let claims = userinfo_claims(&fixture);
        {
            let mut script = fixture.script();
            (script.encrypt_id_token, script.encrypt_userinfo, script.userinfo_jwt) =
                (Some(encrypt), Some(encrypt), Some(claims));
        }
        let authentication = fixture.complete_login().await.unwrap();
        assert_eq!(
            Value::Object(authentication.claims),
            json!({ "email": "encrypted@example.org", "given_name": "Ada" }),
            "{alg}"
        );
        // RP-Initiated Logout 1.0 §2: the hint is the signed token.
        assert_eq!(authentication.session_hint.unwrap().reveal().split('.').count(), 3, "{alg}");
    }
}

#[tokio::test]
async fn an_encrypted_response_is_rejected_if_none_is_registered() {
    let plain = OidcFixture::new().await;
    plain.script().encrypt_id_token = Some(ENCRYPTED);
    assert_eq!(plain.complete_login().await.err(), Some(ErrorCode::IdTokenEncryption));
    {
        let mut script = plain.script();
        (script.encrypt_id_token, script.encrypt_userinfo) = (None, Some(ENCRYPTED));
        script.userinfo_jwt = Some(json!({ "sub": "s-1" }));
    }
    assert_eq!(
        plain.complete_login().await.err(),
        Some(ErrorCode::UserinfoEncryption),
        "JSON is registered"
    );

    let signed = OidcFixture::with("userinfo_signed_response_alg = \"ES256\"").await;
    let claims = userinfo_claims(&signed);
    {
        let mut script = signed.script();
        (script.userinfo_jwt, script.encrypt_userinfo) = (Some(claims), Some(ENCRYPTED));
    }
    assert_eq!(
        signed.complete_login().await.err(),
        Some(ErrorCode::UserinfoEncryption),
        "a JWS is registered"
    );
}

#[tokio::test]
async fn rotated_keys_of_the_hub_take_effect_at_once() {
    let fixture = OidcFixture::with(ID_TOKEN).await;
    fixture.script().encrypt_id_token = Some(with_foreign_key);
    assert_eq!(fixture.complete_login().await.err(), Some(ErrorCode::JweKey));
    fixture.keys.store(Arc::new(RelyingPartyKeys::empty()));
    fixture.script().encrypt_id_token = Some(ENCRYPTED);
    assert_eq!(
        fixture.complete_login().await.err(),
        Some(ErrorCode::JweKey),
        "the old keys are removed"
    );
    fixture.keys.store(Arc::clone(&KEYS));
    assert!(fixture.complete_login().await.is_ok());
}
