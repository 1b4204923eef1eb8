//! Checks `[public]` of `passerelle.toml`: the public listener, and which proxies are
//! trusted for the client's address.

use std::net::IpAddr;
use std::str::FromStr;

use super::public_listener_settings::PublicListener;
use passerelle_settings::FileCheck;

/// An IP network in CIDR notation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Returns true if the address is in the network. IPv4-mapped IPv6 addresses
    /// (`::ffff:192.0.2.1`) count as IPv4.
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

/// Error returned when a text is not a network that can be trusted.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkError {
    /// Not an address with a prefix length.
    #[error("is not a network")]
    Malformed,
    /// Bits are set after the prefix.
    #[error("has bits set after its prefix")]
    HostBits,
    /// The prefix length is 0.
    #[error("contains every address")]
    AllAddresses,
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| NetworkError::Malformed)?;
        // A mapped address would never match, since canonical addresses are compared.
        if address != address.to_canonical() {
            return Err(NetworkError::Malformed);
        }
        let most = if address.is_ipv4() { 32 } else { 128 };
        let digits = |bits: &str| {
            bits.bytes().all(|c| c.is_ascii_digit()).then(|| bits.parse().ok()).flatten()
        };
        let bits: u32 = bits
            .map_or(Some(most), digits)
            .filter(|bits| *bits <= most)
            .ok_or(NetworkError::Malformed)?;
        if bits == 0 {
            return Err(NetworkError::AllAddresses);
        }
        let host_bits = match address {
            IpAddr::V4(v4) => u128::from(v4.to_bits().checked_shl(bits).unwrap_or(0)),
            IpAddr::V6(v6) => v6.to_bits().checked_shl(bits).unwrap_or(0),
        };
        if host_bits == 0 { Ok(Self { address, bits }) } else { Err(NetworkError::HostBits) }
    }
}

/// Checks `[public]`.
pub fn check_public_listener(check: &mut FileCheck<'_>, public: &PublicListener) {
    for (index, text) in public.trusted_proxies.iter().enumerate() {
        if let Err(error) = text.parse::<Network>() {
            let fix = match error {
                NetworkError::Malformed => {
                    "write an address and a prefix length, for example 10.0.0.0/8, fd00::/8 or 192.0.2.7"
                }
                NetworkError::HostBits => "write the network's first address, or a longer prefix",
                NetworkError::AllAddresses => {
                    "list only the networks of the load balancers, since anyone else could forge addresses"
                }
            };
            check.report(&format!("public.trusted_proxies[{index}]"), error.to_string(), fix);
        }
    }
    // The proxies may forward certificates instead.
    let has_header = public.client_address_header.is_some() || public.client_certificates.is_some();
    match (public.trusted_proxies.is_empty(), has_header) {
        (true, true) if public.client_address_header.is_none() => {}
        (true, true) => {
            let fix = "add trusted_proxies with the networks of the load balancers, or remove it";
            check.report(
                "public.client_address_header",
                "has no effect without trusted_proxies",
                fix,
            );
        }
        (false, false) => {
            let fix =
                "add client_address_header = \"x-forwarded-for\" or \"forwarded\", or remove it";
            check.report(
                "public.trusted_proxies",
                "has no effect without client_address_header",
                fix,
            );
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
        for (text, error) in [
            ("10.0.0.1/8", NetworkError::HostBits),
            ("fd00::1/64", NetworkError::HostBits),
            ("0.0.0.0/0", NetworkError::AllAddresses),
            ("::/0", NetworkError::AllAddresses),
            ("10.0.0.0/33", NetworkError::Malformed),
            ("10.0.0.0/+8", NetworkError::Malformed),
            ("10.0.0.0/", NetworkError::Malformed),
            ("10.0.0/8", NetworkError::Malformed),
            ("::ffff:10.0.0.0/104", NetworkError::Malformed),
            ("balancer.example", NetworkError::Malformed),
            ("", NetworkError::Malformed),
        ] {
            assert_eq!(text.parse::<Network>(), Err(error), "{text}");
        }
    }
}
