//! Asks the local hub whether it is alive or ready (`passerelle health`), for container health
//! checks.

use std::net::SocketAddr;

use super::local_hub::get_from_hub;
use passerelle_config::command_settings::local_address;
use passerelle_egress::safe_http_client::{CallLimits, EgressError};

/// Probe of the private listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HealthProbe {
    Alive,
    Ready,
}

impl HealthProbe {
    const fn path(self) -> &'static str {
        match self {
            Self::Alive => "/livez",
            Self::Ready => "/readyz",
        }
    }
}

/// Error returned when the hub is not healthy.
#[derive(thiserror::Error, Debug)]
pub enum HealthError {
    #[error(
        "no hub answers at http://{address}{path} ({error}): start it, or name its private listener: --address HOST:PORT"
    )]
    Unreachable { address: SocketAddr, path: &'static str, error: EgressError },
    #[error("{0}")]
    Unhealthy(String),
}

/// Calls a probe of the private listener at `address` and returns the response body.
///
/// # Errors
/// Returns an error if the hub does not answer or the probe fails.
pub async fn probe_hub(address: SocketAddr, probe: HealthProbe) -> Result<String, HealthError> {
    let (address, path) = (local_address(address), probe.path());
    let answer = get_from_hub(address, path, CallLimits::DEFAULT)
        .await
        .map_err(|error| HealthError::Unreachable { address, path, error })?;
    let said = String::from_utf8_lossy(answer.body()).into_owned();
    if answer.status().is_success() { Ok(said) } else { Err(HealthError::Unhealthy(said)) }
}
