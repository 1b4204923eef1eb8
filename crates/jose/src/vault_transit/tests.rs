//! Keys in a Transit engine, and every fault of its server.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::*;
use crate::decrypt::{JweAlgorithms, JweDecryptError, decrypt_jwe};
use crate::device_credential::DeviceCredential;
use crate::guarded_device::watch_device;
use crate::jwt_signer::{Signer as _, SigningError};
use crate::key_device::{
    DeviceKeyGenerator, DeviceKeySpec, DeviceKeyUsage, KeyDevice, KeyDeviceError, KeyLocation,
};
use crate::key_type::KeyType;
use crate::keyfiles::{self, KeyFolder, KeyPurpose, NewDeviceKeys};
use crate::testing::fake_vault::{FakeVault, TOKEN, VaultFault};
use crate::testing::sample_keys::{encrypt_to, published};
use crate::testing::vault_server::VaultServer;
use crate::{Keyring, RelyingPartyKeys};
use passerelle_protocol::alg::{ContentEncryption, EncryptionAlg, SigningAlg};
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;

mod circuit;

const TIMEOUT: Duration = Duration::from_secs(2);
const JWS: &str = "aGVhZA.Ym9keQ.c2ln";
const PURPOSES: [KeyPurpose; 3] =
    [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption];

fn options(address: &str, token: DeviceCredential) -> TransitOptions {
    TransitOptions {
        address: address.parse().unwrap(),
        mount: "transit".to_owned(),
        namespace: None,
        token,
        ca: None,
        timeout: TIMEOUT,
    }
}

fn fixed(token: &str) -> DeviceCredential {
    DeviceCredential::new(None, Secret::new(token.to_owned()))
}

/// The keys of a hub in an engine.
struct Fixture {
    folder: TempDir,
    device: Arc<VaultTransitDevice>,
    generator: TransitKeyGenerator,
    env: Env,
}

impl Fixture {
    fn new(options: TransitOptions) -> Self {
        let fixture = Self {
            folder: tempfile::tempdir().unwrap(),
            device: Arc::new(VaultTransitDevice::connect_lazily(&options, None).unwrap()),
            generator: TransitKeyGenerator::new(options),
            env: Env::system(),
        };
        keyfiles::create_keys(fixture.key_folder(), &fixture.env).unwrap();
        fixture
    }

    fn start(vault: &FakeVault, token: DeviceCredential) -> Self {
        Self::new(options(vault.address(), token))
    }

    fn key_folder(&self) -> KeyFolder<'_> {
        KeyFolder {
            folder: self.folder.path(),
            passphrase: None,
            refuses_plain_keys: false,
            devices: vec![self.device.clone()],
            new_keys: vec![NewDeviceKeys { generator: &self.generator, purposes: &PURPOSES }],
        }
    }

    fn ring(&self) -> Keyring {
        keyfiles::load_keyring(self.key_folder(), self.now()).unwrap()
    }

    fn upstream(&self) -> RelyingPartyKeys {
        keyfiles::load_upstream_keys(self.key_folder(), self.now()).unwrap()
    }

    fn now(&self) -> Timestamp {
        self.env.now()
    }

    async fn sign(&self, alg: SigningAlg) -> Result<String, SigningError> {
        self.ring().sign(alg, "JWT", b"{\"sub\":\"a\"}", self.now()).await
    }

    async fn device_error(&self) -> KeyDeviceError {
        match self.sign(SigningAlg::ES256).await {
            Err(SigningError::Device(error)) => error,
            outcome => panic!("{outcome:?}"),
        }
    }

    /// Decrypts what an identity provider encrypts to the published key.
    async fn decrypt(&self, forge: bool) -> Result<String, JweDecryptError> {
        let (upstream, alg) = (self.upstream(), EncryptionAlg::RsaOaep256);
        let jwk = published(&upstream, self.now(), alg.as_str());
        let mut jwe = encrypt_to(&jwk, alg, JWS, &json!({}));
        if forge {
            let mut parts: Vec<&str> = jwe.split('.').collect();
            let garbage = passerelle_protocol::digest::base64url(&[7; 256]);
            parts[1] = &garbage;
            jwe = parts.join(".");
        }
        let algorithms = JweAlgorithms { alg, enc: ContentEncryption::A256GCM };
        decrypt_jwe(&jwe, algorithms, &upstream, self.now()).await.map(Secret::into_inner)
    }

    async fn recover(&self) {
        let ring = self.ring();
        let (key, _) = ring.states(self.now())[0];
        let probe = key.device_key().unwrap().clone();
        let works = async {
            while !self.device.is_available() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            () = watch_device(self.device.as_ref(), || vec![probe.clone()]) => {}
            () = works => {}
            () = tokio::time::sleep(Duration::from_secs(20)) => panic!("it does not recover"),
        }
    }
}

async fn check_keys_of_a_hub(fixture: &Fixture) {
    let (ring, upstream) = (fixture.ring(), fixture.upstream());
    for ring in [&ring, upstream.assertion()] {
        for alg in [SigningAlg::ES256, SigningAlg::RS256] {
            // The hub verifies each signature of a device with the public key.
            ring.sign(alg, "JWT", b"{\"sub\":\"a\"}", fixture.now()).await.unwrap();
        }
    }
    assert_eq!(fixture.decrypt(false).await.as_deref(), Ok(JWS));
    let rows = keyfiles::list_keys(fixture.folder.path(), fixture.now()).unwrap();
    let locations: Vec<_> = rows.iter().map(|row| (row.alg, row.location)).collect();
    let (remote, file) = (KeyLocation::VaultTransit, KeyLocation::File);
    assert_eq!(locations.iter().filter(|(_, location)| *location == remote).count(), 5);
    assert!(locations.contains(&("ECDH-ES", file)), "{locations:?}");
}

#[tokio::test]
async fn keys_in_an_engine_sign_and_decrypt_and_those_for_key_agreement_stay_in_files() {
    let vault = FakeVault::start();
    check_keys_of_a_hub(&Fixture::start(&vault, fixed(TOKEN))).await;
}

#[tokio::test]
async fn the_server_sees_hashes_and_no_token_that_it_signs() {
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    vault.take_requests();
    fixture.sign(SigningAlg::ES256).await.unwrap();
    let requests = vault.take_requests();
    let [request] = &requests[..] else { panic!("{requests:?}") };
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(openssl::base64::decode_block(body["input"].as_str().unwrap()).unwrap().len(), 32);
    assert!(request.target.starts_with("/v1/transit/sign/passerelle-tokens-"), "{request:?}");
    assert!(!request.target.contains(TOKEN) && !request.body.contains(TOKEN));
}

#[tokio::test]
async fn a_forged_signature_of_the_server_is_never_sent() {
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    vault.set_fault(VaultFault::ForgedSignature);
    for alg in [SigningAlg::ES256, SigningAlg::RS256] {
        let outcome = fixture.sign(alg).await;
        assert_eq!(outcome, Err(SigningError::Device(KeyDeviceError::WrongSignature)));
    }
}

#[tokio::test]
async fn a_redirect_does_not_lead_the_token_elsewhere() {
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    vault.take_requests();
    vault.set_fault(VaultFault::Redirect);
    let error = fixture.device_error().await.to_string();
    assert!(error.contains("a redirect is not followed"), "{error}");
    assert_eq!(vault.take_requests().len(), 1);
}

#[tokio::test]
async fn what_no_vault_server_answers_is_a_failure_and_is_not_repeated_to_the_operator() {
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    for (fault, words) in [
        (VaultFault::HugeAnswer, "larger than 65536 bytes"),
        (VaultFault::NoJson, "lacks what it must have"),
        (VaultFault::OtherVersion, "not of the key's version"),
        (VaultFault::Sealed, "sealed"),
    ] {
        vault.set_fault(fault);
        let error = fixture.device_error().await.to_string();
        assert!(error.contains(words) && !error.contains("html"), "{error}");
    }
}

#[tokio::test]
async fn a_call_of_an_unresponsive_server_ends_at_the_time_limit() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    let address = format!("http://{}", silent.local_addr().unwrap());
    let options = options(&address, fixed(TOKEN));
    let device = Arc::new(VaultTransitDevice::connect_lazily(&options, None).unwrap());
    let source = KeyFolder { devices: vec![device], ..fixture.key_folder() };
    let ring = keyfiles::load_keyring(source, fixture.now()).unwrap();
    let began = Instant::now();
    let outcome = ring.sign(SigningAlg::ES256, "JWT", b"{}", fixture.now()).await;
    assert!(matches!(outcome, Err(SigningError::Device(_))), "{outcome:?}");
    assert!(began.elapsed() < TIMEOUT * 3, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_token_that_an_agent_renews_is_used_without_a_failed_call() {
    let vault = FakeVault::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vault.token");
    fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let token = DeviceCredential::new(Some(file.clone()), Secret::new("unused".to_owned()));
    let fixture = Fixture::start(&vault, token);
    fixture.sign(SigningAlg::ES256).await.unwrap();
    vault.set_token("hvs.renewed");
    fs::write(&file, "hvs.renewed").unwrap();
    fixture.sign(SigningAlg::ES256).await.unwrap();
}

#[tokio::test]
async fn a_refused_token_is_in_no_error_and_no_debug_text() {
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    vault.set_token("hvs.another");
    let error = fixture.device_error().await;
    let text = format!("{error} {error:?} {:?}", options(vault.address(), fixed(TOKEN)));
    assert!(text.contains("check vault_transit.token") && !text.contains(TOKEN), "{text}");
    let unusable = options(vault.address(), fixed("a\nb"));
    let device = Arc::new(VaultTransitDevice::connect_lazily(&unusable, None).unwrap());
    let source = KeyFolder { devices: vec![device], ..fixture.key_folder() };
    let ring = keyfiles::load_keyring(source, fixture.now()).unwrap();
    let error = ring.sign(SigningAlg::ES256, "JWT", b"{}", fixture.now()).await.unwrap_err();
    assert!(error.to_string().contains("can't be sent"), "{error}");
}

#[tokio::test]
async fn a_removed_key_is_named() {
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    vault.remove_keys();
    let error = fixture.device_error().await;
    assert!(matches!(&error, KeyDeviceError::KeyMissing(key) if key.starts_with("vault-transit:")));
    assert!(matches!(
        fixture.decrypt(false).await,
        Err(JweDecryptError::Device(KeyDeviceError::KeyMissing(_)))
    ));
}

#[tokio::test]
async fn a_swapped_public_half_of_a_new_decryption_key_is_found_before_it_is_published() {
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    let folder = tempfile::tempdir().unwrap();
    let new_keys =
        NewDeviceKeys { generator: &fixture.generator, purposes: &[KeyPurpose::Encryption] };
    let source =
        || KeyFolder { folder: folder.path(), new_keys: vec![new_keys], ..fixture.key_folder() };
    for (fault, words) in [
        (VaultFault::OtherPublicKey, "does not decrypt what the public half"),
        (VaultFault::DecryptionRefused(403), "status 403"),
    ] {
        vault.set_fault(fault);
        let error = keyfiles::create_keys(source(), &fixture.env).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(keyfiles::list_keys(folder.path(), fixture.now()).unwrap(), []);
    }
    vault.set_fault(VaultFault::None);
    assert_eq!(keyfiles::create_keys(source(), &fixture.env).unwrap().len(), 6);
}

#[test]
fn keys_for_key_agreement_are_refused() {
    let generator = TransitKeyGenerator::new(options("http://127.0.0.1:1", fixed(TOKEN)));
    let spec = DeviceKeySpec {
        id: vec![1],
        label: "x".to_owned(),
        key_type: KeyType::Ec,
        usage: DeviceKeyUsage::Decrypt,
    };
    let error = generator.generate(&spec).unwrap_err().error;
    let KeyDeviceError::Rejected(why) = error else { panic!("{error}") };
    assert!(why.contains("ECDH-ES"), "{why}");
}

#[tokio::test]
async fn a_key_file_in_two_devices_and_one_in_a_missing_device_are_refused() {
    let vault = FakeVault::start();
    let fixture = Fixture::start(&vault, fixed(TOKEN));
    let without = KeyFolder { devices: Vec::new(), new_keys: Vec::new(), ..fixture.key_folder() };
    let error = keyfiles::load_keyring(without, fixture.now()).unwrap_err();
    assert!(error.to_string().contains("[vault_transit]"), "{error}");
    let mut files = fs::read_dir(fixture.folder.path()).unwrap().map(|file| file.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|e| e == "json")).unwrap();
    let mut content: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    content["pkcs11"] = "pkcs11:id=%01".into();
    fs::write(&file, content.to_string()).unwrap();
    let error = keyfiles::load_keyring(fixture.key_folder(), fixture.now()).unwrap_err();
    assert!(error.to_string().contains("two devices"), "{error}");
}

/// The same with a real server, over TLS.
#[tokio::test]
async fn a_real_server_signs_and_decrypts_for_a_hub() {
    let Some(server) = VaultServer::start() else { return };
    let token = fixed(&server.token);
    let options = TransitOptions {
        ca: Some(server.ca()),
        timeout: Duration::from_secs(5),
        ..options(&server.address(), token)
    };
    let fixture = Fixture::new(options);
    check_keys_of_a_hub(&fixture).await;
    for _ in 0..6 {
        assert_eq!(fixture.decrypt(true).await, Err(JweDecryptError::DecryptionFailed));
    }
    assert!(fixture.device.is_available());
    server.delete_keys();
    let error = fixture.device_error().await;
    assert!(matches!(error, KeyDeviceError::KeyMissing(_)), "{error}");
    server.seal();
    let error = fixture.device_error().await;
    assert!(error.to_string().contains("sealed"), "{error}");
}
