//! Calls the private listener of a hub on this machine.

use std::net::SocketAddr;

use passerelle_config::command_settings::local_address;
use passerelle_egress::safe_http_client::{
    AllowedSchemes, CallLimits, EgressError, SafeHttpClient,
};

/// Gets `path` from the private listener that is configured as `listen`.
///
/// # Errors
/// Returns an error if nothing answers in time.
pub(super) async fn get_from_hub(
    listen: SocketAddr,
    path: &str,
    limits: CallLimits,
) -> Result<http::Response<Vec<u8>>, EgressError> {
    let address = local_address(listen);
    let host = address.ip().to_string();
    let client = SafeHttpClient::new(AllowedSchemes::HttpAndHttps, &[host], limits)?;
    let request = http::Request::get(format!("http://{address}{path}")).body(Vec::new());
    client.send(request.map_err(|error| EgressError::AddressForbidden(error.to_string()))?).await
}
