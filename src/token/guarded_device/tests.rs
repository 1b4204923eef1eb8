//! Which outcomes of a call open and close the circuit.

use super::*;
use crate::egress::circuit_breaker::FAILURES_TO_OPEN;
use crate::token::pkcs11_uri::Pkcs11Uri;

type Outcome = Result<Vec<u8>, KeyDeviceError>;

/// Answers every call alike.
struct ScriptedBackend(Mutex<Outcome>);

#[async_trait]
impl DeviceBackend for ScriptedBackend {
    async fn run(&self, _: DeviceOperation) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        self.0.lock().unwrap().clone().map(Secret::new)
    }

    fn close(&self, _: Duration) {}
}

type Device = GuardedKeyDevice<ScriptedBackend>;

fn device() -> Device {
    let backend = ScriptedBackend(Mutex::new(Ok(Vec::new())));
    GuardedKeyDevice::new(backend, KeyLocation::Pkcs11, Duration::from_secs(1), None)
}

impl Device {
    fn set(&self, outcome: Outcome) {
        *self.backend.0.lock().unwrap() = outcome;
    }

    async fn sign_with(&self, outcome: Outcome) {
        self.set(outcome.clone());
        assert_eq!(self.sign(&key(), SigningAlg::ES256, b"message").await, outcome);
    }

    async fn decrypt_with(&self, outcome: Outcome) {
        self.set(outcome.clone());
        let decrypted = self.decrypt(&key(), OaepHash::Sha256, b"ciphertext").await;
        assert_eq!(decrypted.map(Secret::into_inner), outcome);
    }

    async fn fail(&self, times: u32) {
        for _ in 0..times {
            self.sign_with(unavailable()).await;
        }
    }
}

fn key() -> DeviceKeyUri {
    DeviceKeyUri::Pkcs11(Pkcs11Uri::from_id(vec![1]))
}

fn unavailable() -> Outcome {
    Err(KeyDeviceError::Unavailable("it is away".to_owned()))
}

fn rejected() -> Outcome {
    Err(KeyDeviceError::Rejected("it does not decrypt".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn an_attacker_who_sends_ciphertexts_for_another_key_does_not_open_the_circuit() {
    let device = device();
    for _ in 0..FAILURES_TO_OPEN * 4 {
        device.decrypt_with(rejected()).await;
    }
    assert!(device.is_available() && device.failure().is_none());
}

#[tokio::test(start_paused = true)]
async fn an_attacker_who_sends_ciphertexts_for_another_key_does_not_keep_the_circuit_closed() {
    let device = device();
    device.fail(FAILURES_TO_OPEN - 1).await;
    device.decrypt_with(rejected()).await;
    assert!(device.is_available());
    device.fail(1).await;
    assert!(!device.is_available(), "a rejected ciphertext ends no row of failures");

    tokio::time::advance(OPEN_DURATION).await;
    device.decrypt_with(rejected()).await;
    assert!(!device.is_available(), "a rejected ciphertext is no proof that the device signs");
    device.sign_with(Ok(b"signature".to_vec())).await;
    assert!(device.is_available());
}

#[tokio::test(start_paused = true)]
async fn a_busy_device_neither_opens_nor_closes_the_circuit() {
    let device = device();
    let busy = || Err(KeyDeviceError::Busy);
    for _ in 0..FAILURES_TO_OPEN * 4 {
        device.sign_with(busy()).await;
        device.decrypt_with(busy()).await;
    }
    assert!(device.is_available());
    device.fail(FAILURES_TO_OPEN - 1).await;
    device.sign_with(busy()).await;
    device.fail(1).await;
    assert!(!device.is_available());
    tokio::time::advance(OPEN_DURATION).await;
    device.sign_with(busy()).await;
    assert!(!device.is_available());
}
