//! The certificate authorities of the system, which a small machine or container may lack. It then
//! starts and calls servers without TLS; a call over TLS names what is missing.

use std::sync::Once;

use reqwest::{Client, ClientBuilder};
use rustls::RootCertStore;

/// Why no server can be called over TLS.
pub const NO_AUTHORITIES: &str = "this machine has no certificate authorities";
/// What to do about [`NO_AUTHORITIES`].
pub const NO_AUTHORITIES_FIX: &str =
    "install the package ca-certificates, or set SSL_CERT_FILE to a file of certificates in PEM";

/// Returns the authorities of the system. Logs once that there are none.
pub fn system_authorities() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        static LOGGED: Once = Once::new();
        LOGGED.call_once(|| {
            tracing::warn!(
                "no server can be called over TLS: {NO_AUTHORITIES}: {NO_AUTHORITIES_FIX}"
            );
        });
    }
    roots
}

/// Builds an HTTP client that trusts the authorities of the system. Returns also whether there are
/// any; without one, the client accepts no server's certificate.
///
/// # Errors
/// Returns the error of `build`.
pub fn build_with_system_authorities(
    build: impl Fn(ClientBuilder) -> reqwest::Result<Client>,
) -> reqwest::Result<(Client, bool)> {
    match build(Client::builder()) {
        Err(_) if system_authorities().is_empty() => {
            build(Client::builder().tls_certs_only([])).map(|client| (client, false))
        }
        built => built.map(|client| (client, true)),
    }
}
