//! Checks a certificate that the hub presents as a TLS client.

use openssl::asn1::Asn1Time;
use openssl::pkey::PKey;
use openssl::x509::X509;

use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;

/// Part of a client identity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientIdentityPart {
    Certificate,
    Key,
}

/// Error in a client identity.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("{message}; {fix}")]
pub struct ClientIdentityError {
    pub part: ClientIdentityPart,
    /// What is wrong, as a predicate of the part.
    pub message: &'static str,
    pub fix: &'static str,
}

/// Checks a certificate with its chain and key, all in PEM. `now` is compared with its dates.
///
/// # Errors
/// Returns the part that can't be used.
pub fn check_client_identity(
    identity: &Secret<String>,
    now: Timestamp,
) -> Result<(), ClientIdentityError> {
    let refuse = |part, message, fix| ClientIdentityError { part, message, fix };
    let unreadable = refuse(
        ClientIdentityPart::Certificate,
        "can't be read",
        "write it as PEM, the certificate itself first, then its chain",
    );
    let pem = identity.reveal().as_bytes();
    let chain = X509::stack_from_pem(pem).map_err(|_| unreadable)?;
    let certificate = chain.first().ok_or(unreadable)?;
    // An empty passphrase keeps OpenSSL from asking for one at the terminal.
    let key = PKey::private_key_from_pem_passphrase(pem, b"").map_err(|_| {
        let fix = "write it as PEM, without a passphrase";
        refuse(ClientIdentityPart::Key, "has no readable private key", fix)
    })?;
    let public = certificate.public_key().map_err(|_| unreadable)?;
    if !public.public_eq(&key) {
        let message = "is not the key of the certificate";
        return Err(refuse(ClientIdentityPart::Key, message, "give the one that it was made for"));
    }
    let seconds = i64::try_from(now.seconds()).unwrap_or(i64::MAX);
    let now = Asn1Time::from_unix(seconds).map_err(|_| unreadable)?;
    let (message, fix) = if certificate.not_after() < now {
        ("has expired", "put a new one and its key there")
    } else if certificate.not_before() > now {
        let fix = "check the clock of this machine, or put a valid one and its key there";
        ("is not valid yet", fix)
    } else {
        return Ok(());
    };
    Err(refuse(ClientIdentityPart::Certificate, message, fix))
}
