//! Shares HTTP clients among callers with equal rules.
//!
//! Building a client parses the system's certificate authorities, which takes milliseconds;
//! hundreds of identity providers would take seconds. Connections are pooled per host, so no host's
//! connection is used for another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::ca_bundle::CaBundle;
use super::safe_http_client::{
    AllowedSchemes, CallLimits, EgressError, SafeHttpClient, TlsOptions,
};

/// Number of cached clients beyond which the cache is cleared. Only repeated configuration changes
/// reach it.
const MAX_CLIENTS: usize = 64;

/// Whether connections are reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pooling {
    Reuse,
    Fresh,
}

/// Rules of a client, by which it is shared.
type ClientKey = (AllowedSchemes, Vec<String>, Option<CaBundle>, Pooling);

/// HTTP clients with the default limits, by their rules. Clones share one cache.
#[derive(Clone, Default)]
pub struct HttpClientPool(Arc<Mutex<BTreeMap<ClientKey, SafeHttpClient>>>);

impl HttpClientPool {
    /// Returns the client for these rules. With a `ca_bundle`, only its authorities may
    /// issue a server's certificate.
    ///
    /// # Errors
    /// Returns an error if the TLS library can't be set up.
    pub fn client(
        &self,
        schemes: AllowedSchemes,
        internal_hosts: &[String],
        ca_bundle: Option<&CaBundle>,
    ) -> Result<SafeHttpClient, EgressError> {
        self.get_or_build(schemes, internal_hosts, ca_bundle, Pooling::Reuse)
    }

    /// Returns a client for these rules that opens a new connection for each call.
    ///
    /// # Errors
    /// Returns an error if the TLS library can't be set up.
    pub fn client_without_pooling(
        &self,
        schemes: AllowedSchemes,
        internal_hosts: &[String],
        ca_bundle: Option<&CaBundle>,
    ) -> Result<SafeHttpClient, EgressError> {
        self.get_or_build(schemes, internal_hosts, ca_bundle, Pooling::Fresh)
    }

    fn get_or_build(
        &self,
        schemes: AllowedSchemes,
        internal_hosts: &[String],
        ca_bundle: Option<&CaBundle>,
        pooling: Pooling,
    ) -> Result<SafeHttpClient, EgressError> {
        let key = (schemes, internal_hosts.to_vec(), ca_bundle.cloned(), pooling);
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let tls = TlsOptions { ca: ca_bundle.map(CaBundle::pem), client_identity: None };
        let build = match pooling {
            Pooling::Reuse => SafeHttpClient::with_tls,
            Pooling::Fresh => SafeHttpClient::without_pooling,
        };
        let client = build(schemes, internal_hosts, CallLimits::DEFAULT, tls)?;
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        clients.insert(key, client.clone());
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_shared_only_by_equal_rules() {
        let pool = HttpClientPool::default();
        let inside = url::Url::parse("https://10.0.0.1/").unwrap();
        let strict = pool.client(AllowedSchemes::HttpsOnly, &[], None).unwrap();
        let lenient = pool.client(AllowedSchemes::HttpsOnly, &["10.0.0.1".into()], None).unwrap();
        assert!(strict.check_url(&inside).is_err() && lenient.check_url(&inside).is_ok());
        pool.client(AllowedSchemes::HttpsOnly, &[], None).unwrap();
        assert_eq!(pool.0.lock().unwrap().len(), 2);
    }
}
