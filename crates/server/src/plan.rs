//! Fetches the digest of a running hub's configuration (`passerelle plan`).

use std::net::SocketAddr;

use super::local_hub::get_from_hub;
use passerelle_admin::private_listener::CONFIG_DIGEST_PATH;
use passerelle_config::command_settings::local_address;
use passerelle_config::config_digest::ConfigDigest;
use passerelle_egress::safe_http_client::{CallLimits, EgressError};

/// Large enough for tens of thousands of service providers.
const LIMITS: CallLimits = CallLimits { max_body_bytes: 64 * 1024 * 1024, ..CallLimits::DEFAULT };

/// Error returned when the digest of the active configuration can't be fetched.
#[derive(thiserror::Error, Debug)]
pub enum FetchDigestError {
    #[error(
        "no hub answers at http://{address}{CONFIG_DIGEST_PATH} ({error}): start it, or give a folder to compare with: --against DIR"
    )]
    Unreachable { address: SocketAddr, error: EgressError },
    #[error(
        "the server at http://{0}{CONFIG_DIGEST_PATH} is not a hub of this version: upgrade it, or use --against DIR"
    )]
    NotAHub(SocketAddr),
}

/// Fetches the digest of the configuration that the hub at `listen` has in use.
///
/// # Errors
/// Returns an error if no hub answers.
pub async fn fetch_active_digest(listen: SocketAddr) -> Result<ConfigDigest, FetchDigestError> {
    let address = local_address(listen);
    let silent = |error| FetchDigestError::Unreachable { address, error };
    let answer = get_from_hub(listen, CONFIG_DIGEST_PATH, LIMITS).await.map_err(silent)?;
    match answer.status().as_u16() {
        200 => {
            serde_json::from_slice(answer.body()).map_err(|_| FetchDigestError::NotAHub(address))
        }
        _ => Err(FetchDigestError::NotAHub(address)),
    }
}
