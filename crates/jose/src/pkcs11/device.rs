//! The token as a [`KeyDevice`](crate::key_device::KeyDevice).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::pool::SessionPool;
use super::token::{Pkcs11ModuleError, SharedToken};
use crate::guarded_device::{DeviceBackend, DeviceOperation, GuardedKeyDevice};
use crate::key_device::{KeyDeviceError, KeyLocation};
use passerelle_protocol::ids::Secret;
use passerelle_telemetry::Metrics;

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
        // A call that waits longer has too little time left: the load is high, and nothing has
        // failed.
        let pool = SessionPool::start(token, sessions, timeout / 2)?;
        Ok(Self::new(pool, KeyLocation::Pkcs11, timeout, metrics))
    }
}

#[async_trait]
impl DeviceBackend for SessionPool {
    async fn run(&self, operation: DeviceOperation) -> Result<Secret<Vec<u8>>, KeyDeviceError> {
        // Reached only after a panic of the thread that took the call.
        let ended = || KeyDeviceError::Unavailable("its thread has ended".to_owned());
        let ended_before = self.ended_calls();
        let (beginning, answer) = self.call(operation)?;
        match tokio::time::timeout(self.queue_limit(), beginning).await {
            Err(_) if self.ended_calls() > ended_before => return Err(KeyDeviceError::Busy),
            Err(_) => {
                let why = "none of its sessions answers".to_owned();
                return Err(KeyDeviceError::Unavailable(why));
            }
            Ok(begun) => begun.map_err(|_| ended())?,
        }
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    fn close(&self, limit: Duration) {
        Self::close(self, limit);
    }

    fn max_calls(&self) -> usize {
        Self::max_calls(self)
    }
}
