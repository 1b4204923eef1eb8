//! The token as a [`KeyDevice`]: time limits, the circuit breaker, the probe, and metrics.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep, timeout};

use super::pool::SessionPool;
use super::session::Operation;
use super::token::{Pkcs11ModuleError, SharedToken};
use crate::egress::circuit_breaker::{CircuitBreaker, CircuitState};
use crate::ids::Secret;
use crate::protocol::alg::SigningAlg;
use crate::telemetry::Metrics;
use crate::token::key_device::{KeyDevice, KeyDeviceError, OaepHash};
use crate::token::pkcs11_uri::Pkcs11Uri;

/// How long the circuit stays open before a trial call.
const OPEN_DURATION: Duration = Duration::from_secs(1);
/// Interval of the probes of a device that works.
const IDLE_PROBE_INTERVAL: Duration = Duration::from_secs(10);
/// Pause between the probes that decide whether a device has failed.
const REPEATED_PROBE_PAUSE: Duration = Duration::from_millis(100);

/// How a device is called.
pub struct DeviceOptions {
    /// Number of sessions.
    pub sessions: usize,
    /// Longest time of a call with its wait in the queue.
    pub timeout: Duration,
    pub metrics: Option<Arc<Metrics>>,
}

/// A token behind a pool of sessions.
pub struct Pkcs11Device {
    pool: SessionPool,
    breaker: CircuitBreaker,
    timeout: Duration,
    metrics: Option<Arc<Metrics>>,
    /// The last failure of the device, for the operator.
    last_failure: Mutex<Option<KeyDeviceError>>,
}

impl Pkcs11Device {
    /// Starts the session threads. They connect at their first call, so a token that is away does
    /// not keep the hub from starting.
    ///
    /// # Errors
    /// `Threads`.
    pub fn start(token: &SharedToken, options: DeviceOptions) -> Result<Self, Pkcs11ModuleError> {
        let DeviceOptions { sessions, timeout, metrics } = options;
        let observed = metrics.clone();
        if let Some(metrics) = &metrics {
            metrics.set_key_device_circuit(CircuitState::Closed.label(), &CircuitState::LABELS);
        }
        let on_change = move |from: CircuitState, to: CircuitState| {
            if let Some(metrics) = &observed {
                metrics.set_key_device_circuit(to.label(), &CircuitState::LABELS);
            }
            match to {
                CircuitState::Closed => tracing::info!("the key device works again"),
                CircuitState::Open if from == CircuitState::Closed => {
                    tracing::error!("the key device has failed: no login begins until it works");
                }
                CircuitState::Open | CircuitState::HalfOpen => {}
            }
        };
        Ok(Self {
            pool: SessionPool::start(token, sessions)?,
            breaker: CircuitBreaker::with_open_duration(OPEN_DURATION, Box::new(on_change)),
            timeout,
            metrics,
            last_failure: Mutex::default(),
        })
    }

    /// Returns why the device has failed; `None` while it works.
    #[must_use]
    pub fn failure(&self) -> Option<KeyDeviceError> {
        if self.is_available() {
            return None;
        }
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Probes the device for ever: rarely while it works, and until it works again.
    pub async fn watch(&self, probe_key: impl Fn() -> Option<(Pkcs11Uri, SigningAlg)>) {
        loop {
            let pause = if self.is_available() { IDLE_PROBE_INTERVAL } else { OPEN_DURATION };
            if let Some((key, alg)) = probe_key() {
                self.probe(&key, alg).await;
            }
            sleep(pause).await;
        }
    }

    /// Signs with a key; several times until that succeeds or the circuit opens.
    async fn probe(&self, key: &Pkcs11Uri, alg: SigningAlg) {
        while self.sign(key, alg, b"passerelle").await.is_err() && self.is_available() {
            sleep(REPEATED_PROBE_PAUSE).await;
        }
    }

    async fn call(&self, operation: Operation) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        let (label, began) = (operation.label(), Instant::now());
        let is_signature = matches!(operation, Operation::Sign { .. });
        let Some(permit) = self.breaker.try_acquire(began) else {
            self.record(label, "circuit_open");
            return Err(KeyDeviceError::Unavailable("it has failed recently".to_owned()));
        };
        let outcome = match self.pool.call(operation) {
            Err(error) => Err(error),
            Ok(answer) => match timeout(self.timeout, answer).await {
                Err(_) => Err(KeyDeviceError::TimedOut),
                // The thread that took the call has ended, which only a panic can cause.
                Ok(Err(_)) => Err(KeyDeviceError::Unavailable("its thread has ended".to_owned())),
                Ok(Ok(outcome)) => outcome,
            },
        };
        let result = match &outcome {
            Ok(_) => "success",
            Err(KeyDeviceError::Unavailable(_)) => "unavailable",
            Err(KeyDeviceError::TimedOut) => "timeout",
            Err(KeyDeviceError::Busy) => "busy",
            Err(KeyDeviceError::KeyMissing(_)) => "key_missing",
            Err(KeyDeviceError::Rejected(_) | KeyDeviceError::WrongSignature) => "rejected",
        };
        match &outcome {
            // Nothing was learned about the device.
            Err(KeyDeviceError::Busy) => drop(permit),
            Err(error) if is_failure(error, is_signature) => {
                let mut last = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner);
                *last = Some(error.clone());
                drop(last);
                permit.record_failure(Instant::now());
            }
            Ok(_) | Err(_) => permit.record_success(),
        }
        if let Some(metrics) = &self.metrics {
            metrics.record_key_device_time(label, began.elapsed());
        }
        self.record(label, result);
        outcome
    }

    fn record(&self, operation: &'static str, result: &'static str) {
        if let Some(metrics) = &self.metrics {
            metrics.record_key_device_call(operation, result);
        }
    }
}

/// Returns true if the error is the device's failure. A stranger can cause rejected ciphertexts;
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
impl KeyDevice for Pkcs11Device {
    async fn sign(
        &self,
        key: &Pkcs11Uri,
        alg: SigningAlg,
        message: &[u8],
    ) -> Result<Vec<u8>, KeyDeviceError> {
        let operation = Operation::Sign { key: key.clone(), alg, message: message.to_vec() };
        self.call(operation).await.map(Secret::into_inner)
    }

    async fn decrypt(
        &self,
        key: &Pkcs11Uri,
        hash: OaepHash,
        ciphertext: &[u8],
    ) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        let (key, ciphertext) = (key.clone(), ciphertext.to_vec());
        self.call(Operation::Decrypt { key, hash, ciphertext }).await
    }

    async fn derive(
        &self,
        key: &Pkcs11Uri,
        peer: &[u8],
    ) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        self.call(Operation::Derive { key: key.clone(), peer: peer.to_vec() }).await
    }

    fn is_available(&self) -> bool {
        self.breaker.state() == CircuitState::Closed
    }
}
