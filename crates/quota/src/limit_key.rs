//! Defines what a rate limiter counts by: an id, or the network of an address, in sixteen bytes.

use std::net::IpAddr;

use passerelle_protocol::client_network::{self, ClientNetwork};
use passerelle_protocol::digest;

/// Key of a rate limiter. Its `Debug` hides it: an address is personal data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, derive_more::Debug)]
#[debug("LimitKey(…)")]
pub struct LimitKey(pub(super) [u8; 16]);

impl LimitKey {
    /// Returns the key of an id of any length. Collisions can't be produced on purpose.
    pub fn from_id(id: &str) -> Self {
        Self(digest::sha256(id.as_bytes()).first_chunk().copied().unwrap_or_default())
    }

    /// Returns the key of the network that contains an address.
    pub fn from_network(address: IpAddr, prefixes: PrefixLengths) -> Self {
        Self(client_network::mask_address(address, prefixes.v4, prefixes.v6))
    }

    /// Returns the key of the IPv6 site that contains an address: the /48 that one subscriber can
    /// hold (RFC 6177 §2).
    pub fn from_site(address: IpAddr) -> Self {
        Self(ClientNetwork::containing(address).octets())
    }
}

/// Prefix lengths of the networks that are counted as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrefixLengths {
    pub v4: u8,
    pub v6: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_share_a_key() {
        let is_one = |one: &str, other: &str, v4, v6| {
            let key = |address: &str| {
                LimitKey::from_network(address.parse().unwrap(), PrefixLengths { v4, v6 })
            };
            key(one) == key(other)
        };
        for (one, other, v4, v6, same) in [
            ("192.0.2.1", "192.0.2.1", 32, 64, true),
            ("192.0.2.1", "192.0.2.2", 32, 64, false),
            ("192.0.2.1", "192.0.2.254", 24, 64, true),
            ("192.0.2.1", "192.0.3.1", 24, 64, false),
            ("192.0.2.1", "::ffff:192.0.2.1", 32, 64, true),
            ("192.0.2.1", "::ffff:192.0.2.2", 32, 64, false),
            ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", 32, 64, true),
            ("2001:db8::1", "2001:db8:0:1::1", 32, 64, false),
            ("2001:db8::1", "2001:db8:0:ff::1", 32, 56, true),
            ("2001:db8::1", "2001:db8::2", 32, 128, false),
            ("0.0.0.0", "::", 32, 64, false),
        ] {
            assert_eq!(is_one(one, other, v4, v6), same, "{one} and {other} by /{v4} and /{v6}");
        }
        assert_eq!(format!("{:?}", LimitKey::from_id("x")), "LimitKey(…)");
    }
}
