//! Builds the HTTP clients of a connector as its file says.

use std::path::Path;

use super::unusable_settings::unusable_ca_bundle;
use passerelle_egress::ca_bundle::CaBundle;
use passerelle_egress::http_client_pool::HttpClientPool;
use passerelle_egress::safe_http_client::{
    AllowedSchemes, CallLimits, EgressError, SafeHttpClient, TlsOptions,
};
use passerelle_protocol::ids::Secret;
use passerelle_settings::FieldDiagnostic;

/// Settings of a connector's file for calls to its identity provider.
pub struct HttpClientOptions<'a> {
    pub insecure_http: bool,
    pub internal_hosts: &'a [String],
    /// Authorities that may issue its certificate; `None` for the system's.
    pub ca_bundle: Option<&'a CaBundle>,
    /// PEM: the hub's certificate with its chain and key, for calls that present it.
    pub client_identity: Option<&'a Secret<String>>,
}

impl HttpClientOptions<'_> {
    /// Returns the client for logins, and the one for probes, which reuses no connection. `key` is
    /// the kind's.
    ///
    /// # Errors
    /// Returns an error about `key` if TLS can't be set up.
    pub fn clients(
        &self,
        key: &'static str,
        pool: &HttpClientPool,
    ) -> Result<(SafeHttpClient, SafeHttpClient), FieldDiagnostic> {
        if self.client_identity.is_some() {
            return self.identified_clients(key);
        }
        let login_client = pool.client(self.schemes(), self.internal_hosts, self.ca_bundle);
        let probe_client =
            pool.client_without_pooling(self.schemes(), self.internal_hosts, self.ca_bundle);
        let no_client = |error: EgressError| {
            let fix = "install the certificate authorities of the system (ca-certificates)";
            FieldDiagnostic::new(key, format!("needs TLS, which can't be set up: {error}"), fix)
        };
        Ok((login_client.map_err(no_client)?, probe_client.map_err(no_client)?))
    }

    /// Returns clients of this connector alone: no other one may use a connection that was opened
    /// with its certificate.
    fn identified_clients(
        &self,
        key: &'static str,
    ) -> Result<(SafeHttpClient, SafeHttpClient), FieldDiagnostic> {
        let no_client = |error: EgressError| {
            let message = format!("names a certificate that TLS can't present: {error}");
            let fix = "write the certificate and its chain into the file as PEM, and its key into that of client_key";
            FieldDiagnostic::new(key, message, fix)
        };
        let (schemes, hosts, limits) = (self.schemes(), self.internal_hosts, CallLimits::DEFAULT);
        let login = SafeHttpClient::with_tls(schemes, hosts, limits, self.tls());
        let probe = SafeHttpClient::without_pooling(schemes, hosts, limits, self.tls());
        Ok((login.map_err(no_client)?, probe.map_err(no_client)?))
    }

    fn tls(&self) -> TlsOptions<'_> {
        TlsOptions { ca: self.ca_bundle.map(CaBundle::pem), client_identity: self.client_identity }
    }

    /// Returns a client that also captures the certificate of the identity provider.
    ///
    /// # Errors
    /// Returns an error if TLS can't be set up.
    pub(crate) fn capturing_client(&self) -> Result<SafeHttpClient, EgressError> {
        SafeHttpClient::capturing_certificates(
            self.schemes(),
            self.internal_hosts,
            CallLimits::DEFAULT,
            self.tls(),
        )
    }

    const fn schemes(&self) -> AllowedSchemes {
        if self.insecure_http { AllowedSchemes::HttpAndHttps } else { AllowedSchemes::HttpsOnly }
    }
}

/// Reads the `ca` file of a connector, if it names one.
///
/// # Errors
/// Returns an error about `key` if the file can't be used.
pub fn read_ca_bundle(
    key: &'static str,
    path: Option<&Path>,
) -> Result<Option<CaBundle>, FieldDiagnostic> {
    path.map(CaBundle::read).transpose().map_err(|why| unusable_ca_bundle(key, &why))
}
