//! Which outcomes of a call open and close the circuit.

use josekit::jws::JwsSigner;

use super::*;
use crate::key_device::{DeviceKey, UnusedKeyDevice};
use crate::pkcs11_uri::Pkcs11Uri;
use crate::signing_key::{self, SigningKey};
use passerelle_egress::circuit_breaker::FAILURES_TO_OPEN;
use passerelle_protocol::env::Timestamp;

const MESSAGE: &[u8] = b"message";

/// Calls that a device of these tests takes at once.
const MAX_CALLS: usize = 8;

type Outcome = Result<Vec<u8>, KeyDeviceError>;

/// Signs with two keys, of which one may be removed from the device.
struct SigningBackend {
    signer: Box<dyn JwsSigner>,
    removed: Mutex<Option<DeviceKeyUri>>,
}

#[async_trait]
impl DeviceBackend for SigningBackend {
    async fn run(&self, operation: DeviceOperation) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        let DeviceOperation::Sign { key, message, .. } = operation else { panic!() };
        if self.removed.lock().unwrap().as_ref() == Some(&key) {
            return Err(KeyDeviceError::KeyMissing(key.to_string()));
        }
        Ok(Secret::new(self.signer.sign(&message).unwrap()))
    }

    fn close(&self, _: Duration) {}

    fn max_calls(&self) -> usize {
        MAX_CALLS
    }
}

/// Answers no decryption, and is busy with [`MAX_CALLS`].
struct SlowBackend {
    signature: Vec<u8>,
    calls: Semaphore,
}

#[async_trait]
impl DeviceBackend for SlowBackend {
    async fn run(&self, operation: DeviceOperation) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        let _call = self.calls.try_acquire().map_err(|_| KeyDeviceError::Busy)?;
        if !matches!(operation, DeviceOperation::Sign { .. }) {
            std::future::pending::<()>().await;
        }
        Ok(Secret::new(self.signature.clone()))
    }

    fn close(&self, _: Duration) {}

    fn max_calls(&self) -> usize {
        MAX_CALLS
    }
}

/// Answers every call alike.
struct ScriptedBackend(Mutex<Outcome>);

#[async_trait]
impl DeviceBackend for ScriptedBackend {
    async fn run(&self, _: DeviceOperation) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        self.0.lock().unwrap().clone().map(Secret::new)
    }

    fn close(&self, _: Duration) {}

    fn max_calls(&self) -> usize {
        MAX_CALLS
    }
}

struct Fixture {
    device: GuardedKeyDevice<ScriptedBackend>,
    key: DeviceSigningKey,
    signer: Box<dyn JwsSigner>,
    /// What the key signs of [`MESSAGE`].
    signature: Vec<u8>,
}

impl Fixture {
    fn new() -> Self {
        let backend = ScriptedBackend(Mutex::new(Ok(Vec::new())));
        let limit = Duration::from_secs(1);
        let private = signing_key::generate(SigningAlg::ES256).unwrap();
        let (alg, public) = signing_key::public_half(private.reveal()).unwrap();
        let signer = signing_key::build_signer(alg, private.reveal()).unwrap();
        let uri = DeviceKeyUri::Pkcs11(Pkcs11Uri::from_id(vec![1]));
        let absent = DeviceKey { device: Arc::new(UnusedKeyDevice(KeyLocation::Pkcs11)), uri };
        let now = Timestamp::default();
        let key = SigningKey::in_device(&public, absent, now, now).unwrap();
        Self {
            device: GuardedKeyDevice::new(backend, KeyLocation::Pkcs11, limit, None),
            key: key.device_key().unwrap().clone(),
            signature: signer.sign(MESSAGE).unwrap(),
            signer,
        }
    }

    fn is_available(&self) -> bool {
        self.device.is_available()
    }

    fn set(&self, outcome: Outcome) {
        *self.device.backend.0.lock().unwrap() = outcome;
    }

    async fn sign_with(&self, outcome: Outcome) -> Outcome {
        self.set(outcome);
        self.device.sign(&self.key, MESSAGE).await
    }

    async fn decrypt_with(&self, outcome: Outcome) {
        self.set(outcome.clone());
        let decrypted = self.device.decrypt(&self.key.uri, OaepHash::Sha256, b"ciphertext").await;
        assert_eq!(decrypted.map(Secret::into_inner), outcome);
    }

    async fn fail(&self, times: u32) {
        for _ in 0..times {
            assert_eq!(self.sign_with(unavailable()).await, unavailable());
        }
    }

    /// Probes the device until it works or has failed, or for a minute.
    async fn watch_until(&self, is_available: bool) -> bool {
        let watch = watch_device(&self.device, || vec![self.key.clone()]);
        let reached = async {
            while self.is_available() != is_available {
                sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            () = watch => false,
            () = reached => true,
            () = sleep(Duration::from_secs(60)) => false,
        }
    }
}

fn unavailable() -> Outcome {
    Err(KeyDeviceError::Unavailable("it is away".to_owned()))
}

fn rejected() -> Outcome {
    Err(KeyDeviceError::Rejected("it does not decrypt".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn an_attacker_who_sends_ciphertexts_for_another_key_does_not_open_the_circuit() {
    let fixture = Fixture::new();
    for _ in 0..FAILURES_TO_OPEN * 4 {
        fixture.decrypt_with(rejected()).await;
    }
    assert!(fixture.is_available() && fixture.device.failure().is_none());
}

#[tokio::test(start_paused = true)]
async fn an_attacker_whose_ciphertexts_decrypt_or_not_does_not_keep_the_circuit_closed() {
    let missing = Err(KeyDeviceError::KeyMissing("key".to_owned()));
    for outcome in [rejected(), Ok(b"plaintext".to_vec()), missing] {
        let fixture = Fixture::new();
        fixture.fail(FAILURES_TO_OPEN - 1).await;
        fixture.decrypt_with(outcome.clone()).await;
        assert!(fixture.is_available());
        fixture.fail(1).await;
        assert!(!fixture.is_available(), "a decryption does not reset the count of failures");

        tokio::time::advance(OPEN_TIME).await;
        fixture.set(outcome);
        let decrypted = fixture.device.decrypt(&fixture.key.uri, OaepHash::Sha256, b"ciphertext");
        let refused = decrypted.await.map(Secret::into_inner);
        assert!(matches!(refused, Err(KeyDeviceError::Unavailable(_))), "{refused:?}");
        assert!(!fixture.is_available(), "the trial is left to a signature");
        fixture.sign_with(Ok(fixture.signature.clone())).await.unwrap();
        assert!(fixture.is_available());
    }
}

/// Attack: a flood of logout tokens that are encrypted to the hub's key.
#[tokio::test(start_paused = true)]
async fn a_flood_of_ciphertexts_leaves_the_device_for_signatures() {
    let Fixture { key, signature, .. } = Fixture::new();
    let backend = SlowBackend { signature, calls: Semaphore::new(MAX_CALLS) };
    let limit = Duration::from_secs(1);
    let device = GuardedKeyDevice::new(backend, KeyLocation::Pkcs11, limit, None);
    device.sign(&key, MESSAGE).await.unwrap();
    let flood = (0..2 * MAX_CALLS).map(|_| device.decrypt(&key.uri, OaepHash::Sha256, b"x"));
    let mut flood = Box::pin(futures_util::future::join_all(flood));
    assert!(futures_util::poll!(&mut flood).is_pending());
    assert_eq!(device.sign(&key, MESSAGE).await.map(drop), Ok(()));
    let outcomes = flood.await;
    let is_busy = |outcome: &&Result<Secret<Vec<u8>>, KeyDeviceError>| {
        matches!(outcome, Err(KeyDeviceError::Busy))
    };
    assert_eq!(outcomes.iter().filter(is_busy).count(), 2 * MAX_CALLS - MAX_CALLS / 2);
}

#[tokio::test(start_paused = true)]
async fn a_device_that_only_decrypts_works_again_when_a_decryption_succeeds() {
    let fixture = Fixture::new();
    for _ in 0..FAILURES_TO_OPEN {
        fixture.decrypt_with(unavailable()).await;
    }
    assert!(!fixture.is_available());
    tokio::time::advance(OPEN_TIME).await;
    fixture.decrypt_with(Ok(b"plaintext".to_vec())).await;
    assert!(fixture.is_available());
}

#[tokio::test(start_paused = true)]
async fn a_busy_device_neither_opens_nor_closes_the_circuit() {
    let fixture = Fixture::new();
    let busy = || Err(KeyDeviceError::Busy);
    for _ in 0..FAILURES_TO_OPEN * 4 {
        assert_eq!(fixture.sign_with(busy()).await, busy());
        fixture.decrypt_with(busy()).await;
    }
    assert!(fixture.is_available());
    fixture.fail(FAILURES_TO_OPEN - 1).await;
    assert_eq!(fixture.sign_with(busy()).await, busy());
    fixture.fail(1).await;
    assert!(!fixture.is_available());
    tokio::time::advance(OPEN_TIME).await;
    assert_eq!(fixture.sign_with(busy()).await, busy());
    assert!(!fixture.is_available());
}

#[tokio::test(start_paused = true)]
async fn a_device_that_signs_with_a_wrong_key_opens_the_circuit() {
    let fixture = Fixture::new();
    let mut wrong = fixture.signature.clone();
    wrong[0] ^= 1;
    for _ in 0..FAILURES_TO_OPEN {
        assert!(fixture.is_available());
        let outcome = fixture.sign_with(Ok(wrong.clone())).await;
        assert_eq!(outcome, Err(KeyDeviceError::WrongSignature));
    }
    assert!(!fixture.is_available());
    assert_eq!(fixture.device.failure(), Some(KeyDeviceError::WrongSignature));

    tokio::time::advance(OPEN_TIME).await;
    assert_eq!(fixture.sign_with(Ok(wrong)).await, Err(KeyDeviceError::WrongSignature));
    assert!(!fixture.is_available(), "a wrong signature is no proof that the device works");
    tokio::time::advance(OPEN_TIME).await;
    fixture.sign_with(Ok(fixture.signature.clone())).await.unwrap();
    assert!(fixture.is_available());
}

#[tokio::test(start_paused = true)]
async fn the_probe_finds_a_device_that_signs_with_a_wrong_key() {
    let fixture = Fixture::new();
    // The probe signs another message.
    fixture.set(Ok(fixture.signature.clone()));
    assert!(fixture.watch_until(false).await, "the circuit stays closed");
    assert!(!fixture.watch_until(true).await, "a wrong signature closes the circuit");
}

/// The other key of the token still signs.
#[tokio::test(start_paused = true)]
async fn the_probe_finds_one_removed_key_and_the_other_does_not_close_the_circuit() {
    let Fixture { key: first, signer, .. } = Fixture::new();
    let second = DeviceSigningKey {
        uri: DeviceKeyUri::Pkcs11(Pkcs11Uri::from_id(vec![2])),
        ..first.clone()
    };
    let backend = SigningBackend { signer, removed: Mutex::new(Some(second.uri.clone())) };
    let device = GuardedKeyDevice::new(backend, KeyLocation::Pkcs11, Duration::from_secs(1), None);
    let opened = async {
        while device.is_available() {
            sleep(Duration::from_millis(1)).await;
        }
        for _ in 0..60_000 {
            sleep(Duration::from_millis(1)).await;
            assert!(!device.is_available(), "the other key closed the circuit");
        }
        *device.backend.removed.lock().unwrap() = None;
        while !device.is_available() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        () = watch_device(&device, || vec![first.clone(), second.clone()]) => {}
        reached = timeout(Duration::from_secs(300), opened) => reached.unwrap(),
    }
}
