//! Opens TCP connections for protocols other than HTTP, by the rules of
//! [`super::safe_http_client`].
//!
//! Stops server-side request forgery and DNS rebinding: the name is resolved once, and the
//! connection goes to one of the resolved addresses. Does not depend on what is sent over it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::Instant;
use url::Host;

use super::address_rules::{FORBIDDEN_ADDRESS, is_internal, literal_ip};
use super::dns_resolver::DnsResolver;
use super::error::EgressError;
use super::public_addresses::is_public;

/// Opens TCP connections to one host and port.
#[derive(Clone, Debug)]
pub struct Dialer {
    host: Host,
    port: u16,
    is_internal: bool,
    timeout: Duration,
    resolver: Arc<DnsResolver>,
}

impl Dialer {
    /// Returns a dialer for `host`. The hosts in `internal_hosts` (names, or addresses as in a URL)
    /// may be loopback, link-local or private. `timeout` covers name resolution and connecting.
    ///
    /// # Errors
    /// `AddressForbidden` if the host is an IP address that may not be called.
    pub fn new(
        host: Host,
        port: u16,
        internal_hosts: &[String],
        timeout: Duration,
    ) -> Result<Self, EgressError> {
        let is_internal = is_internal(internal_hosts, &host.to_string());
        let dialer = Self { host, port, is_internal, timeout, resolver: Arc::default() };
        match literal_ip(&dialer.host) {
            Some(ip) if !dialer.may_connect_to(ip) => Err(dialer.forbidden_error()),
            Some(_) | None => Ok(dialer),
        }
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// `Unreachable` if the name can't be resolved or the connection fails, `AddressForbidden` if
    /// no resolved address may be called, `Timeout` if the time is up.
    pub async fn connect(&self) -> Result<TcpStream, EgressError> {
        let deadline = Instant::now() + self.timeout;
        let timeout = |_| EgressError::Timeout(self.host.to_string());
        let addresses =
            tokio::time::timeout_at(deadline, self.addresses()).await.map_err(timeout)??;
        tokio::time::timeout_at(deadline, TcpStream::connect(addresses.as_slice()))
            .await
            .map_err(timeout)?
            .map_err(|error| self.unreachable_error(&error))
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, EgressError> {
        if let Some(ip) = literal_ip(&self.host) {
            return Ok(vec![SocketAddr::new(ip, self.port)]);
        }
        let name = self.host.to_string();
        // A name server that hangs must not block lookups of other names.
        let found =
            self.resolver.resolve(&name).await.map_err(|error| self.unreachable_error(&error))?;
        let allowed = found.iter().map(SocketAddr::ip).filter(|ip| self.may_connect_to(*ip));
        let allowed: Vec<SocketAddr> = allowed.map(|ip| SocketAddr::new(ip, self.port)).collect();
        if allowed.is_empty() { Err(self.forbidden_error()) } else { Ok(allowed) }
    }

    fn may_connect_to(&self, ip: IpAddr) -> bool {
        self.is_internal || is_public(ip)
    }

    fn forbidden_error(&self) -> EgressError {
        EgressError::AddressForbidden(format!("{}: {FORBIDDEN_ADDRESS}", self.host))
    }

    fn unreachable_error(&self, error: &std::io::Error) -> EgressError {
        EgressError::Unreachable { host: self.host.to_string(), why: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    fn dialer(host: &str, port: u16, internal: &[&str]) -> Result<Dialer, EgressError> {
        let internal: Vec<String> = internal.iter().map(ToString::to_string).collect();
        Dialer::new(Host::parse(host).unwrap(), port, &internal, Duration::from_secs(5))
    }

    #[tokio::test]
    async fn a_private_address_is_refused_under_every_name() {
        for literal in ["127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]", "[fd00::1]", "0x7f.1"]
        {
            assert!(
                matches!(dialer(literal, 389, &[]), Err(EgressError::AddressForbidden(_))),
                "{literal}"
            );
        }
        // The address of a name is known only after resolution, which may change each time.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let rebound = dialer("localhost", port, &[]).unwrap().connect().await;
        assert!(matches!(rebound, Err(EgressError::AddressForbidden(_))), "{rebound:?}");
        assert!(dialer("localhost", port, &["LOCALHOST"]).unwrap().connect().await.is_ok());
        assert!(dialer("127.0.0.1", port, &["127.0.0.1"]).unwrap().connect().await.is_ok());
    }

    #[tokio::test]
    async fn a_hanging_lookup_uses_few_threads_and_its_callers_time_out() {
        let hanging = Dialer::new(
            Host::parse("localhost").unwrap(),
            389,
            &["localhost".into()],
            Duration::ZERO,
        )
        .unwrap();
        let _permits = hanging.resolver.all_permits("localhost").await;
        assert!(matches!(hanging.connect().await, Err(EgressError::Timeout(_))));
        let other = dialer("localhost", 0, &["localhost"]).unwrap();
        assert!(!other.addresses().await.unwrap().is_empty(), "each dialer has its own resolver");
    }

    #[tokio::test]
    async fn a_refused_connection_is_an_error_that_names_only_the_host() {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let error = dialer("127.0.0.1", free, &["127.0.0.1"]).unwrap().connect().await.unwrap_err();
        assert!(
            matches!(&error, EgressError::Unreachable { host, .. } if host == "127.0.0.1"),
            "{error}"
        );
    }
}
