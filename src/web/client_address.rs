//! Where a request comes from, for limits alone: the peer, or what trusted proxies say of theirs (docs/limits.md).
//!
//! Whoever talks to the hub may write any header. A word counts only if a trusted proxy has written it: the list is read
//! from its end, and its first address that is no proxy's is the client. What stands further left, anybody wrote. The
//! address goes into no log, audit line, metric or trace.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::HttpRequest;
use actix_web::http::header::{FORWARDED, HeaderMap, HeaderName, X_FORWARDED_FOR};

use crate::client_network::ClientNetwork;
use crate::config::model::{AddressHeader, PublicListener};
use crate::config::proxies::Network;

/// Longer chains of proxies there are not.
const MOST_HOPS: usize = 32;

/// Whose word counts, and where they write it.
#[derive(Clone, Debug)]
pub struct Proxies {
    trusted: Vec<Network>,
    header: Option<AddressHeader>,
    /// Set once the log has said that a proxy may stand in front which the configuration does not name.
    has_warned: Arc<AtomicBool>,
}

impl Proxies {
    #[must_use]
    pub fn of(public: &PublicListener) -> Self {
        let trusted = public.trusted_proxies.iter().filter_map(|text| text.parse().ok()).collect();
        Self { trusted, header: public.client_address_header, has_warned: Arc::default() }
    }

    /// Where it comes from. A proxy that says nothing that can be read counts as the client itself.
    #[must_use]
    pub fn client(&self, request: &HttpRequest) -> IpAddr {
        // Without a peer, as in tests: all such count as one.
        let peer = request.peer_addr().map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |peer| peer.ip());
        if self.trusted.is_empty() {
            self.warn_of_unnamed_proxy(request.headers());
        }
        self.behind(peer, request.headers())
    }

    /// Returns the network of [`Self::client`].
    #[must_use]
    pub fn client_network(&self, request: &HttpRequest) -> ClientNetwork {
        ClientNetwork::containing(self.client(request))
    }

    /// Logs once that requests come with a forwarded address. Not which: anybody can send one.
    fn warn_of_unnamed_proxy(&self, headers: &HeaderMap) {
        if (headers.contains_key(X_FORWARDED_FOR) || headers.contains_key(FORWARDED))
            && !self.has_warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                "a request carries a forwarded address, and public.trusted_proxies is empty: if a proxy stands in front, limits \
                 by network count it as one client; name it in public.trusted_proxies (docs/limits.md)"
            );
        }
    }

    fn behind(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let Some(header) = self.header.filter(|_| self.trusts(client)) else { return client };
        let name = match header {
            AddressHeader::XForwardedFor => &X_FORWARDED_FOR,
            AddressHeader::Forwarded => &FORWARDED,
        };
        let mut hops = 0;
        for line in lines(headers, name).into_iter().rev() {
            let told = line.and_then(|line| match header {
                AddressHeader::XForwardedFor => Some(line.split(',').collect()),
                AddressHeader::Forwarded => forwarded(line),
            });
            let Some(told) = told else { return client };
            for node in told.into_iter().rev() {
                hops += 1;
                let Some(address) = address(node.trim()).filter(|_| hops <= MOST_HOPS) else {
                    return client;
                };
                client = address;
                if !self.trusts(client) {
                    return client;
                }
            }
        }
        client
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }
}

/// Each line of a header; `None` for one that is no text.
fn lines<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Vec<Option<&'a str>> {
    headers.get_all(name).map(|value| value.to_str().ok()).collect()
}

/// `192.0.2.7`, `192.0.2.7:4711`, `2001:db8::7`, `[2001:db8::7]`, `[2001:db8::7]:4711`.
fn address(node: &str) -> Option<IpAddr> {
    let bracketed = || node.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
    let with_port = || node.parse::<SocketAddr>().ok().map(|address| address.ip());
    node.parse()
        .ok()
        .or_else(with_port)
        .or_else(bracketed)
        .map(|address: IpAddr| address.to_canonical())
}

/// The `for` of each element of one line (RFC 7239, 4), empty where an element has none. `None` for a line that breaks
/// the grammar: whoever sent an open quotation mark could otherwise swallow what the proxy wrote behind it.
fn forwarded(line: &str) -> Option<Vec<&str>> {
    let mut nodes = vec![""];
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let (value, name) = if rest.is_empty() || rest.starts_with([',', ';']) {
            (None, "")
        } else {
            let (name, after) = rest.split_once('=')?;
            let (value, after) = match after.strip_prefix('"') {
                // None of what is asked for needs a backslash.
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
        let mut left = rest.chars();
        match left.next() {
            None => return Some(nodes),
            Some(',') => nodes.push(""),
            Some(';') => {}
            Some(_) => return None,
        }
        rest = left.as_str();
    }
}

#[cfg(test)]
mod tests;
