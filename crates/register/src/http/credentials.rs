//! Holds the credentials of `[register.http]`, and checks its certificates and key at the start.

use openssl::x509::X509;

use super::HttpRegisterConfigError;
use passerelle_egress::client_identity::{ClientIdentityPart, check_client_identity};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;

/// Credentials for mutual authentication with an `http` register. Certificates and keys are PEM.
#[derive(Clone, Default, Debug)]
pub struct HttpRegisterCredentials {
    /// The hub's certificate with its chain, followed by its key.
    pub identity: Option<Secret<String>>,
    /// The only certificate authorities trusted for the register; `None` for the system's.
    pub ca: Option<String>,
    /// Bearer token, a `b64token` (RFC 6750 §2.1).
    pub bearer: Option<Secret<String>>,
}

/// Checks the credentials. `now` is compared with the certificates' dates.
///
/// # Errors
/// Returns the configuration key and the fix.
pub fn check_credentials(
    credentials: &HttpRegisterCredentials,
    now: Timestamp,
) -> Result<(), HttpRegisterConfigError> {
    let refuse = |key, why: &str| HttpRegisterConfigError { key, reason: why.to_owned() };
    if let Some(ca) = &credentials.ca {
        let certificates = X509::stack_from_pem(ca.as_bytes()).map_err(|_| {
            refuse(
                "ca",
                "it has a certificate that can't be read; write each as PEM, from BEGIN to END",
            )
        })?;
        if certificates.is_empty() {
            return Err(refuse("ca", "it has no certificate; put the authority's there, as PEM"));
        }
    }
    let Some(identity) = &credentials.identity else { return Ok(()) };
    check_client_identity(identity, now).map_err(|error| {
        let key = match error.part {
            ClientIdentityPart::Certificate => "client_certificate",
            ClientIdentityPart::Key => "client_key",
        };
        refuse(key, error.message)
    })
}
