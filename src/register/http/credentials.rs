//! Holds the credentials of `[register.http]`, and checks its certificates and key at the start.

use openssl::asn1::Asn1Time;
use openssl::pkey::PKey;
use openssl::x509::X509;

use super::HttpRegisterConfigError;
use crate::env::Timestamp;
use crate::ids::Secret;

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
    let pem = identity.reveal().as_bytes();
    let unreadable = "can't be read; write it as PEM, the certificate itself first, then its chain";
    let chain = X509::stack_from_pem(pem).map_err(|_| refuse("client_certificate", unreadable))?;
    let certificate = chain.first().ok_or_else(|| refuse("client_certificate", unreadable))?;
    // An empty passphrase keeps OpenSSL from asking for one at the terminal.
    let key = PKey::private_key_from_pem_passphrase(pem, b"").map_err(|_| {
        refuse("client_key", "has no readable private key; write it as PEM, without a passphrase")
    })?;
    let public = certificate.public_key().map_err(|_| refuse("client_certificate", unreadable))?;
    if !public.public_eq(&key) {
        return Err(refuse(
            "client_key",
            "is not the key of the certificate; give the one that it was made for",
        ));
    }
    let seconds = i64::try_from(now.seconds()).unwrap_or(i64::MAX);
    let expired = Asn1Time::from_unix(seconds).is_ok_and(|now| certificate.not_after() < now);
    if expired {
        return Err(refuse("client_certificate", "has expired; put a new one and its key there"));
    }
    Ok(())
}
