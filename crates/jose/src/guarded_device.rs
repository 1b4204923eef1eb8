//! A device that holds private keys, with what every one of them needs: a time limit, the circuit
//! breaker, the probe, and metrics.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use super::device_key_uri::DeviceKeyUri;
use super::key_device::{DeviceSigningKey, KeyDevice, KeyDeviceError, KeyLocation, OaepHash};
use passerelle_egress::circuit_breaker::{CircuitBreaker, CircuitState};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::ids::Secret;
use passerelle_telemetry::{CheckFinding, Metrics};

/// How long the circuit stays open before a trial call.
const OPEN_TIME: Duration = Duration::from_secs(1);
/// Interval of the probes of a device that works.
const IDLE_PROBE_INTERVAL: Duration = Duration::from_secs(10);
/// Pause between the probes that decide whether a device has failed.
const REPEATED_PROBE_PAUSE: Duration = Duration::from_millis(100);

/// A call of a device. None changes the device, so each can be repeated.
#[derive(Clone)]
pub enum DeviceOperation {
    Sign { key: DeviceKeyUri, alg: SigningAlg, message: Vec<u8> },
    Decrypt { key: DeviceKeyUri, hash: OaepHash, ciphertext: Vec<u8> },
    Derive { key: DeviceKeyUri, peer: Vec<u8> },
}

impl DeviceOperation {
    /// Returns the label of metrics.
    const fn label(&self) -> &'static str {
        match self {
            Self::Sign { .. } => "sign",
            Self::Decrypt { .. } => "decrypt",
            Self::Derive { .. } => "derive",
        }
    }
}

/// What reaches a device. [`GuardedKeyDevice`] limits its calls.
#[async_trait]
pub trait DeviceBackend: Send + Sync {
    /// Runs an operation. A dropped call has no effect.
    ///
    /// # Errors
    /// Any [`KeyDeviceError`] but `TimedOut` and `WrongSignature`.
    async fn run(&self, operation: DeviceOperation) -> Result<Secret<Vec<u8>>, KeyDeviceError>;

    /// Stops the calls that are still running. Blocks for at most `limit`.
    fn close(&self, limit: Duration);

    /// Returns how many calls can run or wait at once; more are [`KeyDeviceError::Busy`].
    fn max_calls(&self) -> usize;

    /// Returns what the operator has to fix although calls succeed. Known from memory.
    fn warning(&self) -> Option<CheckFinding> {
        None
    }
}

/// A device behind its circuit breaker.
pub struct GuardedKeyDevice<B> {
    backend: B,
    location: KeyLocation,
    breaker: CircuitBreaker,
    /// Whether it has been asked for a signature: then only signatures show that it works.
    signs: AtomicBool,
    /// Half of the calls that the device takes at once. Anyone can send a ciphertext, in a logout
    /// token for example, and a flood of them must leave calls for signatures.
    ciphertext_permits: Semaphore,
    /// Longest time of a call.
    timeout: Duration,
    metrics: Option<Arc<Metrics>>,
    /// The last failure of the device, for the operator.
    last_failure: Mutex<Option<KeyDeviceError>>,
}

impl<B: DeviceBackend> GuardedKeyDevice<B> {
    /// Creates a device whose circuit is closed. Makes no call.
    pub fn new(
        backend: B,
        location: KeyLocation,
        timeout: Duration,
        metrics: Option<Arc<Metrics>>,
    ) -> Self {
        let (observed, device) = (metrics.clone(), location.as_str());
        let show = move |state: CircuitState| {
            if let Some(metrics) = &observed {
                metrics.set_key_device_circuit(device, state.label(), &CircuitState::LABELS);
            }
        };
        show(CircuitState::Closed);
        let on_change = move |from: CircuitState, to: CircuitState| {
            show(to);
            match to {
                CircuitState::Closed => tracing::info!(device, "the key device works again"),
                CircuitState::Open if from == CircuitState::Closed => tracing::error!(
                    device,
                    "the key device has failed: no login begins until it works"
                ),
                CircuitState::Open | CircuitState::HalfOpen => {}
            }
        };
        let breaker = CircuitBreaker::with_open_time(OPEN_TIME, Box::new(on_change));
        let (signs, last_failure) = (AtomicBool::new(false), Mutex::default());
        let ciphertext_permits = Semaphore::new(backend.max_calls().div_ceil(2));
        Self {
            backend,
            location,
            breaker,
            signs,
            ciphertext_permits,
            timeout,
            metrics,
            last_failure,
        }
    }

    /// Runs an operation, and checks its answer: one that fails the check is a failure of the
    /// device.
    async fn call(
        &self,
        operation: DeviceOperation,
        check: impl FnOnce(&[u8]) -> Result<(), KeyDeviceError> + Send,
    ) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        let (label, began) = (operation.label(), Instant::now());
        let is_signature = matches!(operation, DeviceOperation::Sign { .. });
        if is_signature {
            self.signs.store(true, Ordering::Relaxed);
        }
        // Anyone can send a ciphertext. So on a device that also signs, a decryption never uses the
        // trial permit of a half-open circuit, its success does not close the circuit, and it uses
        // no more than its share of the calls.
        let shows_success = is_signature || !self.signs.load(Ordering::Relaxed);
        let share = (!shows_success).then(|| self.ciphertext_permits.try_acquire());
        let Ok(_share) = share.transpose() else {
            self.record(label, "busy");
            return Err(KeyDeviceError::Busy);
        };
        let permit =
            (shows_success || self.is_available()).then(|| self.breaker.try_acquire(began));
        let Some(permit) = permit.flatten() else {
            self.record(label, "circuit_open");
            return Err(KeyDeviceError::Unavailable("it has failed recently".to_owned()));
        };
        let outcome = timeout(self.timeout, self.backend.run(operation)).await;
        let outcome = outcome.unwrap_or(Err(KeyDeviceError::TimedOut));
        let outcome = outcome.and_then(|answer| check(answer.reveal()).map(|()| answer));
        let result = match &outcome {
            Ok(_) => "success",
            Err(KeyDeviceError::Unavailable(_)) => "unavailable",
            Err(KeyDeviceError::TimedOut) => "timeout",
            Err(KeyDeviceError::Busy) => "busy",
            Err(KeyDeviceError::KeyMissing(_)) => "key_missing",
            Err(KeyDeviceError::Rejected(_)) => "rejected",
            Err(KeyDeviceError::WrongSignature) => "wrong_signature",
        };
        match &outcome {
            // The outcome says nothing about the device: a broken server answers too, and anyone
            // can send a ciphertext that doesn't decrypt.
            Err(KeyDeviceError::Busy) => drop(permit),
            Err(KeyDeviceError::Rejected(_)) if !is_signature => drop(permit),
            Err(error) if is_failure(error, is_signature) => {
                let mut last = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner);
                *last = Some(error.clone());
                drop(last);
                permit.record_failure(Instant::now());
            }
            Ok(_) | Err(_) if shows_success => permit.record_success(),
            Ok(_) | Err(_) => drop(permit),
        }
        if let Some(metrics) = &self.metrics {
            metrics.record_key_device_time(self.location.as_str(), label, began.elapsed());
        }
        self.record(label, result);
        outcome
    }

    fn record(&self, operation: &'static str, result: &'static str) {
        if let Some(metrics) = &self.metrics {
            metrics.record_key_device_call(self.location.as_str(), operation, result);
        }
    }
}

/// Returns true if the error is the device's failure. Anyone can cause rejected ciphertexts;
/// and a missing decryption key fails only what is encrypted to it.
const fn is_failure(error: &KeyDeviceError, is_signature: bool) -> bool {
    match error {
        KeyDeviceError::Unavailable(_) | KeyDeviceError::TimedOut => true,
        KeyDeviceError::KeyMissing(_)
        | KeyDeviceError::Rejected(_)
        | KeyDeviceError::WrongSignature => is_signature,
        KeyDeviceError::Busy => false,
    }
}

#[async_trait]
impl<B: DeviceBackend> KeyDevice for GuardedKeyDevice<B> {
    async fn sign(
        &self,
        key: &DeviceSigningKey,
        message: &[u8],
    ) -> Result<Vec<u8>, KeyDeviceError> {
        let (uri, alg) = (key.uri.clone(), key.alg);
        let operation = DeviceOperation::Sign { key: uri, alg, message: message.to_vec() };
        let verified = self.call(operation, |signature| key.verify(message, signature)).await;
        verified.map(Secret::into_inner)
    }

    async fn decrypt(
        &self,
        key: &DeviceKeyUri,
        hash: OaepHash,
        ciphertext: &[u8],
    ) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        let (key, ciphertext) = (key.clone(), ciphertext.to_vec());
        self.call(DeviceOperation::Decrypt { key, hash, ciphertext }, |_| Ok(())).await
    }

    async fn derive(
        &self,
        key: &DeviceKeyUri,
        peer: &[u8],
    ) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        let operation = DeviceOperation::Derive { key: key.clone(), peer: peer.to_vec() };
        self.call(operation, |_| Ok(())).await
    }

    fn close(&self) {
        self.backend.close(self.timeout);
    }

    fn is_available(&self) -> bool {
        self.breaker.state() == CircuitState::Closed
    }
    fn location(&self) -> KeyLocation {
        self.location
    }

    fn failure(&self) -> Option<KeyDeviceError> {
        if self.is_available() {
            return None;
        }
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn warning(&self) -> Option<CheckFinding> {
        self.backend.warning()
    }
}

/// Probes a device: rarely while it works, and often until it works again. Never returns.
pub async fn watch_device(device: &dyn KeyDevice, probe_keys: impl Fn() -> Vec<DeviceSigningKey>) {
    let mut failed_key = None;
    loop {
        let pause = if device.is_available() { IDLE_PROBE_INTERVAL } else { OPEN_TIME };
        failed_key = probe(device, probe_keys(), failed_key).await;
        sleep(pause).await;
    }
}

/// Signs with each key until one opens the circuit, and returns that key. A key that did so before
/// is the first, so that another one does not close the circuit in between.
async fn probe(
    device: &dyn KeyDevice,
    mut keys: Vec<DeviceSigningKey>,
    failed_key: Option<DeviceKeyUri>,
) -> Option<DeviceKeyUri> {
    keys.sort_by_key(|key| Some(&key.uri) != failed_key.as_ref());
    for key in keys {
        while device.sign(&key, b"passerelle").await.is_err() {
            if !device.is_available() {
                return Some(key.uri);
            }
            sleep(REPEATED_PROBE_PAUSE).await;
        }
    }
    None
}

#[cfg(test)]
mod tests;
