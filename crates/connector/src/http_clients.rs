//! Builds the HTTP clients of a connector as its file says.

use std::path::Path;

use super::error::ConnectorConfigError;
use passerelle_egress::ca_bundle::CaBundle;
use passerelle_egress::http_client_pool::HttpClientPool;
use passerelle_egress::safe_http_client::{
    AllowedSchemes, CallLimits, EgressError, SafeHttpClient, TlsOptions,
};
use passerelle_protocol::ids::Secret;

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
    ) -> Result<(SafeHttpClient, SafeHttpClient), ConnectorConfigError> {
        if self.client_identity.is_some() {
            return self.identified_clients(key, pool.limits());
        }
        let login_client = pool.client(self.schemes(), self.internal_hosts, self.ca_bundle);
        let login_client = login_client.map_err(|error| {
            ConnectorConfigError::new(
                key,
                format!("the TLS client can't be set up; check that ca-certificates is installed ({error})"),
            )
        })?;
        let probe_client = pool
            .client_without_pooling(self.schemes(), self.internal_hosts, self.ca_bundle)
            .map_err(|error| ConnectorConfigError::new(key, error.to_string()))?;
        Ok((login_client, probe_client))
    }

    /// Returns clients of this connector alone: no other one may use a connection that was opened
    /// with its certificate.
    fn identified_clients(
        &self,
        key: &'static str,
        limits: CallLimits,
    ) -> Result<(SafeHttpClient, SafeHttpClient), ConnectorConfigError> {
        let to_error = |error: EgressError| {
            let message = format!("no TLS client with its certificate can be made ({error})");
            ConnectorConfigError::new(key, message)
        };
        let (schemes, hosts) = (self.schemes(), self.internal_hosts);
        let login = SafeHttpClient::with_tls(schemes, hosts, limits, self.tls());
        let probe = SafeHttpClient::without_pooling(schemes, hosts, limits, self.tls());
        Ok((login.map_err(to_error)?, probe.map_err(to_error)?))
    }

    fn tls(&self) -> TlsOptions<'_> {
        TlsOptions { ca: self.ca_bundle.map(CaBundle::pem), client_identity: self.client_identity }
    }

    /// Returns a client that also captures the certificate of the identity provider.
    ///
    /// # Errors
    /// Returns an error if TLS can't be set up.
    pub fn capturing_client(&self) -> Result<SafeHttpClient, EgressError> {
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
) -> Result<Option<CaBundle>, ConnectorConfigError> {
    path.map(CaBundle::read).transpose().map_err(|why| ConnectorConfigError::new(key, why))
}
