//! Determines the client address of a request for rate limits: the peer, or the address that
//! trusted proxies forward (docs/limits.md).
//!
//! A client can send any header, so only entries written by a trusted proxy count. The list is read
//! from its end; the first address that is not a trusted proxy's is the client. The address is not
//! written to any log, audit line, metric or trace.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::HttpRequest;
use actix_web::http::header::{FORWARDED, HeaderMap, HeaderName, X_FORWARDED_FOR};

use super::host::PublicHost;
use super::proxies::Network;
use super::public_listener_settings::{AddressHeader, PublicListener};
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::field_value::trim_ows;
use passerelle_protocol::sender_constraint::{CertificateHeaderError, ForwardedCertificate};

/// Longest chain of proxies that is followed.
const MAX_HOPS: usize = 32;

/// The trusted proxies, and the header in which they forward the client address.
#[derive(Clone, Debug)]
pub struct TrustedProxies {
    trusted: Vec<Network>,
    header: Option<AddressHeader>,
    /// Header in which they forward the client certificate.
    certificate_header: Option<HeaderName>,
    /// The host at which the proxies set or remove that header, if it is not every one.
    certificate_host: Option<PublicHost>,
    /// Set once the warning about an unlisted proxy is logged.
    has_warned: Arc<AtomicBool>,
}

impl TrustedProxies {
    /// Creates the set from the configuration of the public listener.
    pub fn from_config(public: &PublicListener) -> Self {
        let trusted = public.trusted_proxies.iter().filter_map(|text| text.parse().ok()).collect();
        let certificates = public.client_certificates.as_ref();
        let certificate_header =
            certificates.and_then(|certificates| certificates.header.parse().ok());
        let certificate_host = certificates
            .and_then(|certificates| certificates.base_url.as_deref())
            .and_then(PublicHost::from_base_url);
        let header = public.client_address_header;
        Self { trusted, header, certificate_header, certificate_host, has_warned: Arc::default() }
    }

    /// Returns the client certificate that a trusted proxy forwards (RFC 9440). Anyone else could
    /// forge the header, so theirs is ignored; and so is one at a host where no proxy asks for
    /// certificates, because a proxy may pass on what the client sends.
    ///
    /// # Errors
    /// `Repeated` for two headers, of which a client may have sent one; the format of an unreadable
    /// one.
    pub fn client_certificate(
        &self,
        request: &HttpRequest,
    ) -> Result<Option<ForwardedCertificate>, CertificateHeaderError> {
        let Some(name) = &self.certificate_header else { return Ok(None) };
        let is_trusted = request.peer_addr().is_some_and(|peer| self.is_trusted(peer.ip()));
        let host = self.certificate_host.as_ref();
        let is_at_host = host.is_none_or(|host| host.matches_request_unambiguously(request));
        if !is_trusted || !is_at_host {
            return Ok(None);
        }
        let mut lines = request.headers().get_all(name);
        match (lines.next(), lines.next()) {
            (None, _) => Ok(None),
            (Some(line), None) => ForwardedCertificate::parse_header(line.as_bytes()),
            (Some(_), Some(_)) => Err(CertificateHeaderError::Repeated),
        }
    }

    /// Returns the client address. A proxy that forwards no readable address counts as the client.
    pub fn client_address(&self, request: &HttpRequest) -> IpAddr {
        // Requests without a peer, as in tests, count as one client.
        let peer = request.peer_addr().map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |peer| peer.ip());
        if self.trusted.is_empty() {
            self.warn_once_of_unlisted_proxy(request.headers());
        }
        self.resolve_client(peer, request.headers())
    }

    /// Returns the network of [`Self::client_address`].
    pub fn client_network(&self, request: &HttpRequest) -> ClientNetwork {
        ClientNetwork::containing(self.client_address(request))
    }

    /// Logs once that a request carries a forwarded address. The log does not name it: any client
    /// can send one.
    fn warn_once_of_unlisted_proxy(&self, headers: &HeaderMap) {
        if (headers.contains_key(X_FORWARDED_FOR) || headers.contains_key(FORWARDED))
            && !self.has_warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                "a request carries a forwarded address, but public.trusted_proxies is empty: limits by network count a proxy as \
                 one client; if the hub is behind a proxy, add it to public.trusted_proxies (docs/limits.md)"
            );
        }
    }

    fn resolve_client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let Some(header) = self.header.filter(|_| self.is_trusted(client)) else { return client };
        let name = match header {
            AddressHeader::XForwardedFor => &X_FORWARDED_FOR,
            AddressHeader::Forwarded => &FORWARDED,
        };
        let mut hops = 0;
        for line in header_lines(headers, name).into_iter().rev() {
            let nodes = line.and_then(|line| match header {
                AddressHeader::XForwardedFor => Some(line.split(',').collect()),
                AddressHeader::Forwarded => parse_forwarded(line),
            });
            let Some(nodes) = nodes else { return client };
            for node in nodes.into_iter().rev() {
                hops += 1;
                let Some(address) = parse_address(trim_ows(node)).filter(|_| hops <= MAX_HOPS)
                else {
                    return client;
                };
                client = address;
                if !self.is_trusted(client) {
                    return client;
                }
            }
        }
        client
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }
}

/// Returns each line of a header; `None` for one that is not text.
fn header_lines<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Vec<Option<&'a str>> {
    headers.get_all(name).map(|value| value.to_str().ok()).collect()
}

/// Parses `192.0.2.7`, `192.0.2.7:4711`, `2001:db8::7`, `[2001:db8::7]` or `[2001:db8::7]:4711`.
fn parse_address(node: &str) -> Option<IpAddr> {
    let bracketed = || node.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
    let with_port = || node.parse::<SocketAddr>().ok().map(|address| address.ip());
    node.parse()
        .ok()
        .or_else(with_port)
        .or_else(bracketed)
        .map(|address: IpAddr| address.to_canonical())
}

/// Returns the `for` of each element of a line (RFC 7239 §4), empty where an element has none.
///
/// Returns `None` for a malformed line: a client that sends an open quotation mark could otherwise
/// hide the entry that the proxy appends.
fn parse_forwarded(line: &str) -> Option<Vec<&str>> {
    let mut nodes = vec![""];
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let (value, name) = if rest.is_empty() || rest.starts_with([',', ';']) {
            (None, "")
        } else {
            let (name, after) = rest.split_once('=')?;
            let (value, after) = match after.strip_prefix('"') {
                // No address needs a backslash escape.
                Some(quoted) => {
                    quoted.split_once('"').filter(|(value, _)| !value.contains('\\'))?
                }
                None => after.split_at(after.find([',', ';', ' ', '\t']).unwrap_or(after.len())),
            };
            rest = after.trim_start_matches([' ', '\t']);
            (Some(value).filter(|value| !value.contains('"')), name)
        };
        let is_name = !name.is_empty()
            && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_');
        if value.is_some() && !is_name {
            return None;
        }
        if let (Some(value), Some(node)) =
            (value.filter(|_| name.eq_ignore_ascii_case("for")), nodes.last_mut())
        {
            if !node.is_empty() {
                return None;
            }
            *node = value;
        }
        let mut chars = rest.chars();
        match chars.next() {
            None => return Some(nodes),
            Some(',') => nodes.push(""),
            Some(';') => {}
            Some(_) => return None,
        }
        rest = chars.as_str();
    }
}

#[cfg(test)]
mod tests;
