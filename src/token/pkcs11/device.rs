//! The token as a [`KeyDevice`](crate::token::key_device::KeyDevice).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::pool::SessionPool;
use super::token::{Pkcs11ModuleError, SharedToken};
use crate::ids::Secret;
use crate::telemetry::Metrics;
use crate::token::guarded_device::{DeviceBackend, DeviceOperation, GuardedKeyDevice};
use crate::token::key_device::{KeyDeviceError, KeyLocation};

/// How a device is called.
pub struct DeviceOptions {
    /// Number of sessions.
    pub sessions: usize,
    /// Longest time of a call with its wait in the queue.
    pub timeout: Duration,
    pub metrics: Option<Arc<Metrics>>,
}

/// A token behind a pool of sessions.
pub type Pkcs11Device = GuardedKeyDevice<SessionPool>;

impl Pkcs11Device {
    /// Starts the session threads. They connect at their first call, so a token that is away does
    /// not keep the hub from starting.
    ///
    /// # Errors
    /// `Threads`.
    pub fn start(token: &SharedToken, options: DeviceOptions) -> Result<Self, Pkcs11ModuleError> {
        let DeviceOptions { sessions, timeout, metrics } = options;
        let pool = SessionPool::start(token, sessions)?;
        Ok(Self::new(pool, KeyLocation::Pkcs11, timeout, metrics))
    }
}

#[async_trait]
impl DeviceBackend for SessionPool {
    async fn run(&self, operation: DeviceOperation) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        match self.call(operation)?.await {
            Ok(outcome) => outcome,
            // The thread that took the call has ended, which only a panic can cause.
            Err(_) => Err(KeyDeviceError::Unavailable("its thread has ended".to_owned())),
        }
    }

    fn close(&self, limit: Duration) {
        Self::close(self, limit);
    }
}
