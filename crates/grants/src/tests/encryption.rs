//! Encrypted responses: nothing is sent unencrypted, and briefly unavailable keys consume no code
//! (R005, R007, R041, R042).

use std::sync::LazyLock;

use josekit::jwe::ECDH_ES;
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use serde_json::{Map, json};

use super::*;
use passerelle_federation::client_keys::ResponseEncryptionAlgs;
use passerelle_jose::ClientKeys;
use passerelle_protocol::alg::EncryptionAlg;

static PRIVATE: LazyLock<Jwk> = LazyLock::new(|| Jwk::generate_ec_key(EcCurve::P256).unwrap());

const ECDH: ResponseEncryptionAlgs = ResponseEncryptionAlgs {
    id_token: Some(EncryptionAlg::EcdhEs),
    userinfo: Some(EncryptionAlg::EcdhEs),
};
const NONE: ResponseEncryptionAlgs = ResponseEncryptionAlgs { id_token: None, userinfo: None };

/// The public half of [`PRIVATE`], for encryption or for signatures.
pub(super) fn keys(purpose: &str) -> KeySource {
    let mut jwk: Map<String, Value> = PRIVATE.to_public_key().unwrap().into();
    jwk.extend(json!({ "kid": "enc-1", "use": purpose }).as_object().unwrap().clone());
    KeySource::Inline(Arc::new(
        ClientKeys::from_jwks(json!({ "keys": [jwk] }).to_string().as_bytes()).unwrap(),
    ))
}

impl Hub {
    /// Creates a hub on the high platform, where `sp` has its key.
    pub(super) fn high() -> Self {
        let hub = Self::build(ample_capacities(), |dependencies| {
            Arc::get_mut(&mut dependencies.core).unwrap().platform = Platform::High;
        });
        hub.set_encryption(keys("enc"), ECDH);
        hub
    }

    fn set_encryption(&self, keys: KeySource, encryption: ResponseEncryptionAlgs) {
        let service = ServiceProvider { encryption, ..service_with("sp", keys) };
        self.set_federation(federation_with([service]));
    }
}

/// Returns the JWS, decrypted with the service provider's private key.
pub(super) fn decrypted(jwe: &str) -> String {
    let decrypter = ECDH_ES.decrypter_from_jwk(&PRIVATE).unwrap();
    let (jws, header) = josekit::jwe::deserialize_compact(jwe, &decrypter).unwrap();
    assert_eq!((header.key_id(), header.content_type()), (Some("enc-1"), Some("JWT")));
    String::from_utf8(jws).unwrap()
}

#[tokio::test]
async fn both_responses_are_encrypted_and_contain_the_signed_ones() {
    let hub = Hub::high();
    let (access_token, id_token) = hub.tokens("code", &[("acr_values", "eidas2")]).await;
    let userinfo = hub.userinfo(&access_token).await.unwrap();
    for jwe in [id_token, userinfo] {
        let (header, claims) = read(&decrypted(&jwe));
        assert_eq!(
            (&header["alg"], &header["typ"], &claims["aud"]),
            (&json!("ES256"), &json!("JWT"), &json!("sp"))
        );
    }
}

#[tokio::test]
async fn briefly_unavailable_keys_consume_no_code() {
    let hub = Hub::high();
    hub.issue("code", &[("acr_values", "eidas2")]).await;
    hub.set_encryption(keys("sig"), ECDH);
    assert_eq!(
        hub.grants.response_signer.check_response_keys(&"sp".into()),
        Err(ErrorCode::ClientKeysMissing)
    );
    for _ in 0..2 {
        assert_eq!(hub.redeem("code").await, Err(ErrorCode::ClientKeysMissing));
    }
    hub.set_encryption(keys("enc"), ECDH);
    assert_eq!(hub.grants.response_signer.check_response_keys(&"sp".into()), Ok(()));
    let answer = hub.redeem("code").await.unwrap();
    // The access token stays valid, too.
    let access_token = answer["access_token"].as_str().unwrap();
    hub.set_encryption(keys("sig"), ECDH);
    assert_eq!(hub.userinfo(access_token).await, Err(ErrorCode::ClientKeysMissing));
    hub.set_encryption(keys("enc"), ECDH);
    assert!(hub.userinfo(access_token).await.is_ok());
}

#[tokio::test]
async fn whether_a_service_provider_has_keys_is_revealed_to_itself_alone() {
    let hub = Hub::high();
    hub.set_encryption(keys("sig"), ECDH);
    let stranger = TokenRequest { credentials: by_post("sp", "guessed"), ..token_request("code") };
    assert_eq!(hub.refusal(&stranger).await, Some(ErrorCode::ClientAuthentication));
    assert_eq!(hub.userinfo("guessed").await, Err(ErrorCode::AccessTokenInvalid));
}

#[tokio::test]
async fn on_high_nothing_is_sent_unencrypted_whatever_the_registration_lacks() {
    for (keys, encryption) in
        [(KeySource::None, NONE), (keys("enc"), NONE), (KeySource::None, ECDH)]
    {
        let hub = Hub::high();
        let (access_token, _) = hub.tokens("code", &[("acr_values", "eidas2")]).await;
        hub.issue("another", &[("acr_values", "eidas2")]).await;
        hub.set_encryption(keys, encryption);
        assert_eq!(hub.redeem("another").await, Err(ErrorCode::ClientKeysMissing));
        assert_eq!(hub.userinfo(&access_token).await, Err(ErrorCode::ClientKeysMissing));
    }
}

/// Attack: the keys of a service provider are kept away, so that its tokens come unencrypted.
#[tokio::test]
async fn on_standard_a_missing_key_never_leads_to_an_unencrypted_response() {
    let hub = Hub::new();
    let (access_token, _) = hub.tokens("code", &[]).await;
    hub.issue("another", &[]).await;
    for keys in [KeySource::None, keys("sig")] {
        hub.set_encryption(keys, ECDH);
        assert_eq!(hub.redeem("another").await, Err(ErrorCode::ClientKeysMissing));
        assert_eq!(hub.userinfo(&access_token).await, Err(ErrorCode::ClientKeysMissing));
    }
}

/// Attack: userinfo of a service provider that gets plain JSON leaks what it has registered to be
/// encrypted.
#[tokio::test]
async fn encrypted_userinfo_is_never_sent_as_plain_json() {
    let hub = Hub::new();
    let (access_token, _) = hub.tokens("code", &[]).await;
    let mut service = service_with("sp", keys("enc"));
    (service.encryption, service.userinfo_signed_response_alg) = (ECDH, None);
    hub.set_federation(federation_with([service]));
    assert_eq!(hub.userinfo(&access_token).await, Err(ErrorCode::EncryptionFailed));
}
