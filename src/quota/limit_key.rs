//! Whom a limit counts for: sixteen bytes, of an id or of the network that an address is in.

use std::fmt;
use std::net::IpAddr;

use crate::client_network::{self, ClientNetwork};
use crate::digest;

/// Never printed: it may be where somebody lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject(pub(super) [u8; 16]);

impl Subject {
    /// Of an id, however long: two of them never meet by intent.
    #[must_use]
    pub fn named(id: &str) -> Self {
        Self(digest::sha256(id.as_bytes()).first_chunk().copied().unwrap_or_default())
    }

    /// The network around an address.
    #[must_use]
    pub fn around(address: IpAddr, prefixes: Prefixes) -> Self {
        Self(client_network::masked(address, prefixes.v4, prefixes.v6))
    }

    /// The IPv6 site around an address: the /48 that one subscriber can hold (RFC 6177 §2).
    #[must_use]
    pub fn site_around(address: IpAddr) -> Self {
        Self(ClientNetwork::containing(address).octets())
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subject(…)")
    }
}

/// Bits of an address that are counted as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefixes {
    pub v4: u8,
    pub v6: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_counted_as_one_and_strangers_apart() {
        let is_one = |one: &str, other: &str, v4, v6| {
            let of = |address: &str| Subject::around(address.parse().unwrap(), Prefixes { v4, v6 });
            of(one) == of(other)
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
        assert_eq!(format!("{:?}", Subject::named("x")), "Subject(…)");
    }
}
