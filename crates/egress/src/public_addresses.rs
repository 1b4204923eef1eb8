//! Classifies IP addresses as public or not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address belongs to the public internet (IANA special-purpose registries, RFC
/// 6890).
pub(crate) fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let special = match (a, b, c) {
        (0 | 10 | 127 | 224..=255, _, _) => true, // this network, private, loopback, multicast, reserved, broadcast
        (100, 64..=127, _) => true,               // carrier-grade NAT
        (169, 254, _) => true,                    // link-local, cloud metadata
        (172, 16..=31, _) | (192, 168, _) => true, // private
        (192, 0, 0 | 2) | (192, 88, 99) => true, // protocol assignments, documentation, 6to4 relays
        (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => true, // benchmarks, documentation
        _ => false,
    };
    !special
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = ip.segments();
    let v4 = |high: u16, low: u16| {
        let ([p, q], [r, s]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(p, q, r, s))
    };
    match (a, b) {
        // Embedded IPv4 addresses are checked as IPv4: mapped, NAT64 (RFC 6052), 6to4.
        (0, 0) if (c, d, e, f) == (0, 0, 0, 0xffff) => v4(g, h),
        (0x64, 0xff9b) if (c, d, e, f) == (0, 0, 0, 0) => v4(g, h),
        (0x2002, _) => v4(b, c),
        (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, 0..=0xfff) => false, // Teredo and other protocols, documentation
        _ => (0x2000..=0x3fff).contains(&a), // global unicast; not loopback, unique-local, link-local, multicast
    }
}
