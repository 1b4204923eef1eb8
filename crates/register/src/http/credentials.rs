//! Holds the credentials of `[register.http]`, and checks its certificates and key at the start.

use openssl::x509::X509;

use passerelle_egress::client_identity::{ClientIdentityPart, check_client_identity};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;
use passerelle_settings::FieldDiagnostic;

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
/// Returns the key whose value can't be used.
pub(super) fn check_credentials(
    credentials: &HttpRegisterCredentials,
    now: Timestamp,
) -> Result<(), FieldDiagnostic> {
    if let Some(ca) = &credentials.ca {
        let key = "register.http.ca";
        let certificates = X509::stack_from_pem(ca.as_bytes()).map_err(|_| {
            let message = "names a file with a certificate that can't be read";
            FieldDiagnostic::new(key, message, "write each as PEM, from BEGIN to END")
        })?;
        if certificates.is_empty() {
            let fix = "put the authority's certificate there, as PEM";
            return Err(FieldDiagnostic::new(key, "names a file without a certificate", fix));
        }
    }
    let Some(identity) = &credentials.identity else { return Ok(()) };
    check_client_identity(identity, now).map_err(|error| {
        let key = match error.part {
            ClientIdentityPart::Certificate => "register.http.client_certificate",
            ClientIdentityPart::Key => "register.http.client_key",
        };
        FieldDiagnostic::new(key, error.message, error.fix)
    })
}
