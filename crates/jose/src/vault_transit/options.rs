//! Settings of an engine.

use std::sync::Arc;
use std::time::Duration;

use url::Url;

use crate::device_credential::DeviceCredential;

/// How the engine is reached.
#[derive(Clone, Debug)]
pub struct TransitOptions {
    /// Of the server, with the path before `/v1`, if it has one.
    pub address: Url,
    /// Path of the engine: `transit`.
    pub mount: String,
    /// Namespace of the engine, for servers that have namespaces.
    pub namespace: Option<String>,
    pub token: DeviceCredential,
    /// PEM: the only authorities that may issue the server's certificate; `None` for the system's.
    pub ca: Option<Arc<str>>,
    /// Longest time of a call.
    pub timeout: Duration,
}
