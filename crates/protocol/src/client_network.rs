//! Reduces a client's address to its network, so that clients are distinguished without keeping
//! addresses. Responsible for the prefix lengths and for never printing an address.

use std::net::{IpAddr, Ipv6Addr};

/// The /24 (IPv4) or /48 (IPv6; RFC 6177 §2) network of a client's address.
///
/// `Debug` prints no address, since an address may identify a person.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Debug)]
#[debug("ClientNetwork(…)")]
pub struct ClientNetwork([u8; 16]);

impl ClientNetwork {
    /// Returns the network that contains `address`. An IPv4-mapped IPv6 address counts as IPv4.
    pub fn containing(address: IpAddr) -> Self {
        Self(mask_address(address, 24, 48))
    }

    /// Returns whether the addresses of this network are private, see [`is_private`].
    pub const fn is_private(self) -> bool {
        is_private(IpAddr::V6(Ipv6Addr::from_bits(u128::from_be_bytes(self.0))))
    }

    /// Returns the network's address, IPv4 as IPv4-mapped IPv6. It is meant only for keyed hashes.
    pub const fn octets(self) -> [u8; 16] {
        self.0
    }
}

/// Returns whether an address is loopback, private (RFC 1918, RFC 4193), link-local or unspecified.
/// Such an address normally belongs to a proxy, not to a client.
pub const fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_unspecified()
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || v6.is_unspecified()
        }
    }
}

/// Returns the first `v4_prefix` or `v6_prefix` bits of an address.
///
/// IPv4 is returned as IPv4-mapped IPv6, so that no IPv4 network equals an IPv6 network.
pub fn mask_address(address: IpAddr, v4_prefix: u8, v6_prefix: u8) -> [u8; 16] {
    let (bits, prefix) = match address.to_canonical() {
        IpAddr::V4(v4) => (v4.to_ipv6_mapped().to_bits(), 96 + u32::from(v4_prefix.min(32))),
        IpAddr::V6(v6) => (v6.to_bits(), u32::from(v6_prefix.min(128))),
    };
    let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or(0);
    Ipv6Addr::from_bits(bits & mask).octets()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_equal_and_print_nothing() {
        let network = |address: &str| ClientNetwork::containing(address.parse().unwrap());
        assert_eq!(network("192.0.2.1"), network("192.0.2.254"));
        assert_eq!(network("192.0.2.1"), network("::ffff:192.0.2.9"));
        assert_ne!(network("192.0.2.1"), network("192.0.3.1"));
        assert_eq!(network("2001:db8::1"), network("2001:db8:0:ffff::1"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:1::1"));
        assert_eq!(format!("{:?}", network("192.0.2.1")), "ClientNetwork(…)");
    }

    #[test]
    fn addresses_of_this_machine_and_of_private_networks_are_private() {
        for (address, expected) in [
            ("127.0.0.1", true),
            ("10.1.2.3", true),
            ("172.31.0.1", true),
            ("192.168.1.1", true),
            ("169.254.0.1", true),
            ("::ffff:10.0.0.1", true),
            ("::1", true),
            ("::", true),
            ("fd00::1", true),
            ("fe80::1", true),
            ("192.0.2.1", false),
            ("172.32.0.1", false),
            ("100.64.0.1", false),
            ("2001:db8::1", false),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(is_private(address), expected, "{address}");
            assert_eq!(
                ClientNetwork::containing(address).is_private(),
                expected,
                "the network of {address}"
            );
        }
    }
}
