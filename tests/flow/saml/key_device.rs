//! A hub whose keys are in a PKCS#11 token, at a SAML identity provider.

use openssl::x509::X509;
use passerelle_testkit::encryption::{Encryption, GCM, SHA256_OAEP, encrypted_to};
use passerelle_testkit::fake_identity_provider::{
    FakeIdentityProvider, PASSWORD, ReceivedRequest, assertion, hub_key,
};
use passerelle_testkit::softhsm::SoftHsm;

use super::logout::{LOGOUT_URL, sign_out};
use super::{CONNECTOR, University};
use crate::browser::{Browser, Page};
use crate::federation::put;
use crate::hub::TestHub;
use crate::key_device::move_keys;
use crate::service::Authorize;

/// Returns the certificate for this use in the hub's metadata.
fn published_certificate(metadata: &str, usage: &str) -> X509 {
    let (_, key) = metadata.split_once(&format!("<md:KeyDescriptor use=\"{usage}\">")).unwrap();
    let (_, value) = key.split_once("<ds:X509Certificate>").unwrap();
    let (value, _) = value.split_once('<').unwrap();
    X509::from_der(&openssl::base64::decode_block(value).unwrap()).unwrap()
}

impl University {
    /// Starts a hub with its keys in this token. Returns the certificate to encrypt to, too.
    async fn with_keys_in(hsm: &SoftHsm) -> (Self, X509) {
        let idp = FakeIdentityProvider::new();
        let (own_key, _) = CONNECTOR.split_once("private_keys").unwrap();
        let hub = TestHub::edited(|folder| {
            let file = format!("{own_key}sign_requests = true\n");
            put(folder, "connectors/university.toml", file.as_bytes());
            put(folder, "saml/idp.xml", idp.metadata("").as_bytes());
            move_keys(folder, hsm);
        })
        .await;
        let metadata = hub.browser().get("/connectors/university/saml/metadata").await.body;
        let encryption = published_certificate(&metadata, "encryption");
        let certificate = published_certificate(&metadata, "signing");
        (Self { idp, certificate, hub }, encryption)
    }

    /// Signs Angela in by an encrypted assertion, after a signed request.
    async fn sign_in_encrypted<'b>(
        &self,
        browser: &'b Browser<'b>,
        recipient: &X509,
        encryption: &Encryption,
    ) -> Page<'b> {
        let page = browser.authorize(&Authorize::by("bakery")).await.choose("university").await;
        let request = ReceivedRequest::from_redirect(&page.url, Some(&self.certificate));
        let now = self.hub.now();
        let signed = self.idp.key.sign(&assertion(&request, PASSWORD, now, &[]));
        let key = recipient.public_key().unwrap();
        let encrypted = encrypted_to(&key, "EncryptedAssertion", &signed, encryption);
        self.finish(browser, &self.idp.respond_with(&request, now, &encrypted)).await
    }
}

#[actix_web::test]
async fn a_token_signs_requests_and_decrypts_assertions() {
    let Some(hsm) = SoftHsm::start() else { return };
    let (university, recipient) = University::with_keys_in(&hsm).await;
    let browser = university.hub.browser();
    let page = university.sign_in_encrypted(&browser, &recipient, &GCM).await;
    let received = page.consent().await.received();
    let tokens = university.hub.tokens("bakery", &received).await;
    assert_eq!(university.hub.userinfo(&tokens.access_token).await["family_name"], "DUBOIS");
    let url = sign_out(&browser, &tokens).await;
    let (key, now) = (hub_key(&university.certificate), university.hub.now());
    university.idp.answer_logout(&url, &key, LOGOUT_URL, now, true);
}

/// SoftHSM 2.6 has RSA-OAEP with SHA-1 only.
#[actix_web::test]
async fn an_assertion_that_the_token_can_not_decrypt_is_refused() {
    let Some(hsm) = SoftHsm::start() else { return };
    let (university, recipient) = University::with_keys_in(&hsm).await;
    let browser = university.hub.browser();
    let page = university.sign_in_encrypted(&browser, &recipient, &SHA256_OAEP).await;
    assert_eq!(page.code(), "Y020603");
}
