//! `[public]` of `passerelle.toml`: where the public listener is, and whose word counts for where a request comes from.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::Problem;
use super::settings::within;
use super::source::Source;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublicListener {
    /// Address and port, `127.0.0.1:8080`; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Networks of the load balancers in front, as `10.0.0.0/8` or `fd00::/8`: what they write in
    /// `client_address_header` is believed, and nobody else.
    #[serde(default)]
    pub trusted_proxies: Vec<String>,
    /// The header that they write the client's address in. Only limits look at it (docs/limits.md). When absent, the peer
    /// of the connection is the client.
    #[serde(default)]
    pub client_address_header: Option<AddressHeader>,
    /// Connections at once. When absent, 10,000, or fewer where the process may hold fewer descriptors: a part of them is
    /// always kept for the private listener, the store and identity providers (docs/limits.md, "Connections").
    #[serde(default)]
    pub max_connections: Option<usize>,
    /// Connections at once from one IPv4 address or one IPv6 /64; those of `trusted_proxies` are not counted. When absent, a
    /// quarter of all, for peers with a public address.
    #[serde(default)]
    pub max_connections_per_peer: Option<usize>,
}

/// One of the two ways in which proxies tell whom they speak for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AddressHeader {
    /// `X-Forwarded-For: 192.0.2.7, 10.0.0.1`.
    XForwardedFor,
    /// RFC 7239: `Forwarded: for=192.0.2.7, for="[2001:db8::7]:4711"`.
    Forwarded,
}

/// A network, by an address and the bits that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// An IPv4 address is in no IPv6 network; one that is written as IPv6 (`::ffff:192.0.2.1`) is an IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let mask = u32::MAX.checked_shl(32 - self.bits).unwrap_or(0);
                own.to_bits() & mask == other.to_bits() & mask
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let mask = u128::MAX.checked_shl(128 - self.bits).unwrap_or(0);
                own.to_bits() & mask == other.to_bits() & mask
            }
            _ => false,
        }
    }
}

/// Why a text is no network that could be trusted.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkFault {
    #[error("is no network")]
    Malformed,
    #[error("has bits set behind its prefix")]
    HostBits,
    #[error("is every address there is")]
    Everybody,
}

impl FromStr for Network {
    type Err = NetworkFault;

    fn from_str(text: &str) -> Result<Self, NetworkFault> {
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| NetworkFault::Malformed)?;
        // A mapped address would never match: what is compared is canonical.
        if address != address.to_canonical() {
            return Err(NetworkFault::Malformed);
        }
        let most = if address.is_ipv4() { 32 } else { 128 };
        let digits = |bits: &str| {
            bits.bytes().all(|c| c.is_ascii_digit()).then(|| bits.parse().ok()).flatten()
        };
        let bits: u32 = bits
            .map_or(Some(most), digits)
            .filter(|bits| *bits <= most)
            .ok_or(NetworkFault::Malformed)?;
        if bits == 0 {
            return Err(NetworkFault::Everybody);
        }
        let behind = match address {
            IpAddr::V4(v4) => u128::from(v4.to_bits().checked_shl(bits).unwrap_or(0)),
            IpAddr::V6(v6) => v6.to_bits().checked_shl(bits).unwrap_or(0),
        };
        if behind == 0 { Ok(Self { address, bits }) } else { Err(NetworkFault::HostBits) }
    }
}

pub(super) fn check(source: &Source, public: &PublicListener, problems: &mut Vec<Problem>) {
    for (index, text) in public.trusted_proxies.iter().enumerate() {
        if let Err(fault) = text.parse::<Network>() {
            let mend = match fault {
                NetworkFault::Malformed => {
                    "write an address and its prefix, as 10.0.0.0/8, fd00::/8 or 192.0.2.7"
                }
                NetworkFault::HostBits => "write the network's first address, or a longer prefix",
                NetworkFault::Everybody => {
                    "name the load balancers' own networks: anybody could forge an address"
                }
            };
            problems.push(source.problem(
                &format!("public.trusted_proxies[{index}]"),
                fault.to_string(),
                mend,
            ));
        }
    }
    let mut connections = |key: &str, value: Option<usize>, least: u64| {
        let value = value.map_or(least, |value| u64::try_from(value).unwrap_or(u64::MAX));
        within(source, &format!("public.{key}"), value, (least, 1_000_000), problems);
    };
    connections("max_connections", public.max_connections, 16);
    connections("max_connections_per_peer", public.max_connections_per_peer, 1);
    match (public.trusted_proxies.is_empty(), public.client_address_header) {
        (true, Some(_)) => {
            let mend = "add trusted_proxies, the load balancers' networks, or remove it";
            problems.push(source.problem(
                "public.client_address_header",
                "has no effect, for nobody may write it",
                mend,
            ));
        }
        (false, None) => {
            let mend = "add client_address_header = \"x-forwarded-for\" or \"forwarded\", as they write it, or remove it";
            problems.push(source.problem(
                "public.trusted_proxies",
                "has no effect without a header to look at",
                mend,
            ));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_and_its_bits() {
        let contains = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        for (network, address, is_in) in [
            ("10.0.0.0/8", "10.255.255.255", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7/32", "192.0.2.6", false),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe00::1", false),
            ("::1", "::1", true),
            ("::1", "127.0.0.1", false),
            ("128.0.0.0/1", "255.1.1.1", true),
            ("8000::/1", "192.0.2.7", false),
        ] {
            assert_eq!(contains(network, address), is_in, "{address} in {network}");
        }
        for (text, fault) in [
            ("10.0.0.1/8", NetworkFault::HostBits),
            ("fd00::1/64", NetworkFault::HostBits),
            ("0.0.0.0/0", NetworkFault::Everybody),
            ("::/0", NetworkFault::Everybody),
            ("10.0.0.0/33", NetworkFault::Malformed),
            ("10.0.0.0/+8", NetworkFault::Malformed),
            ("10.0.0.0/", NetworkFault::Malformed),
            ("10.0.0/8", NetworkFault::Malformed),
            ("::ffff:10.0.0.0/104", NetworkFault::Malformed),
            ("balancer.example", NetworkFault::Malformed),
            ("", NetworkFault::Malformed),
        ] {
            assert_eq!(text.parse::<Network>(), Err(fault), "{text}");
        }
    }
}
