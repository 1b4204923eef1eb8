//! The guard's rules for what is no HTTP: a TCP connection to a host that may be called (decisions 10).
//!
//! Owns: which addresses may be connected to, and how long that may take. Must not know: what is spoken there.
//! Stops server-side request forgery and DNS rebinding, as [`super::guard`] does: the name is resolved once, and the
//! connection goes to what was resolved.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::Instant;
use url::Host;

use super::guard::{FORBIDDEN, GuardFault, bare};
use super::lookups::Lookups;
use super::public_addresses::is_public;

/// Connects to one host and port.
#[derive(Clone, Debug)]
pub struct Dialer {
    host: Host,
    port: u16,
    is_internal: bool,
    limit: Duration,
    lookups: Arc<Lookups>,
}

impl Dialer {
    /// `internal_hosts`: names, or addresses as a URL writes them, that may be loopback, link-local or private. `limit`
    /// is for resolving and connecting together.
    ///
    /// # Errors
    /// `AddressForbidden`: the host is an address that may not be called.
    pub fn new(
        host: Host,
        port: u16,
        internal_hosts: &[String],
        limit: Duration,
    ) -> Result<Self, GuardFault> {
        let written = host.to_string();
        let is_internal = internal_hosts
            .iter()
            .any(|internal| bare(internal).eq_ignore_ascii_case(bare(&written)));
        let dialer = Self { host, port, is_internal, limit, lookups: Arc::default() };
        match dialer.literal() {
            Some(ip) if !dialer.may(ip) => Err(dialer.forbidden()),
            Some(_) | None => Ok(dialer),
        }
    }

    /// # Errors
    /// The name leads nowhere, or only to addresses that may not be called; nobody answers in time.
    pub async fn connect(&self) -> Result<TcpStream, GuardFault> {
        let deadline = Instant::now() + self.limit;
        let late = |_| GuardFault::Timeout(self.host.to_string());
        let addresses =
            tokio::time::timeout_at(deadline, self.addresses()).await.map_err(late)??;
        tokio::time::timeout_at(deadline, TcpStream::connect(addresses.as_slice()))
            .await
            .map_err(late)?
            .map_err(|error| self.unreachable(&error))
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, GuardFault> {
        if let Some(ip) = self.literal() {
            return Ok(vec![SocketAddr::new(ip, self.port)]);
        }
        let name = self.host.to_string();
        // A hanging name server must not take the threads that others' names are looked up by.
        let found = self.lookups.of(&name).await.map_err(|error| self.unreachable(&error))?;
        let allowed = found.iter().map(|address| address.ip()).filter(|ip| self.may(*ip));
        let allowed: Vec<SocketAddr> = allowed.map(|ip| SocketAddr::new(ip, self.port)).collect();
        if allowed.is_empty() { Err(self.forbidden()) } else { Ok(allowed) }
    }

    const fn literal(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(ip) => Some(IpAddr::V4(ip)),
            Host::Ipv6(ip) => Some(IpAddr::V6(ip)),
        }
    }

    fn may(&self, ip: IpAddr) -> bool {
        self.is_internal || is_public(ip)
    }

    fn forbidden(&self) -> GuardFault {
        GuardFault::AddressForbidden(format!("{}: {FORBIDDEN}", self.host))
    }

    fn unreachable(&self, error: &std::io::Error) -> GuardFault {
        GuardFault::Unreachable { host: self.host.to_string(), why: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    fn dialer(host: &str, port: u16, internal: &[&str]) -> Result<Dialer, GuardFault> {
        let internal: Vec<String> = internal.iter().map(ToString::to_string).collect();
        Dialer::new(Host::parse(host).unwrap(), port, &internal, Duration::from_secs(5))
    }

    #[tokio::test]
    async fn a_private_address_is_refused_by_whatever_name_it_goes() {
        for literal in ["127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]", "[fd00::1]", "0x7f.1"]
        {
            assert!(
                matches!(dialer(literal, 389, &[]), Err(GuardFault::AddressForbidden(_))),
                "{literal}"
            );
        }
        // A name says where it leads only when it is resolved, and again each time.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let rebound = dialer("localhost", port, &[]).unwrap().connect().await;
        assert!(matches!(rebound, Err(GuardFault::AddressForbidden(_))), "{rebound:?}");
        assert!(dialer("localhost", port, &["LOCALHOST"]).unwrap().connect().await.is_ok());
        assert!(dialer("127.0.0.1", port, &["127.0.0.1"]).unwrap().connect().await.is_ok());
    }

    #[tokio::test]
    async fn a_name_that_hangs_is_looked_up_by_few_threads_and_its_callers_are_told_in_time() {
        let hanging = Dialer::new(
            Host::parse("localhost").unwrap(),
            389,
            &["localhost".into()],
            Duration::ZERO,
        )
        .unwrap();
        let _turns = hanging.lookups.all_turns("localhost").await;
        assert!(matches!(hanging.connect().await, Err(GuardFault::Timeout(_))));
        let other = dialer("localhost", 0, &["localhost"]).unwrap();
        assert!(
            !other.addresses().await.unwrap().is_empty(),
            "another connector's lookups are its own"
        );
    }

    #[tokio::test]
    async fn nobody_there_is_a_fault_with_the_host_alone() {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let fault = dialer("127.0.0.1", free, &["127.0.0.1"]).unwrap().connect().await.unwrap_err();
        assert!(
            matches!(&fault, GuardFault::Unreachable { host, .. } if host == "127.0.0.1"),
            "{fault}"
        );
    }
}
