use actix_web::http::header::{HeaderName, HeaderValue};
use proptest::prelude::*;

use super::*;

fn proxies(header: AddressHeader) -> TrustedProxies {
    TrustedProxies::from_config(&PublicListener {
        max_connections: None,
        max_connections_per_peer: None,
        listen: "127.0.0.1:0".parse().unwrap(),
        trusted_proxies: vec!["10.0.0.0/8".into(), "fd00::/8".into()],
        client_address_header: Some(header),
        hsts_include_subdomains: false,
        client_certificates: None,
    })
}

fn client(header: AddressHeader, peer: &str, lines: &[&str]) -> String {
    let mut headers = HeaderMap::new();
    let name = if header == AddressHeader::Forwarded { FORWARDED } else { X_FORWARDED_FOR };
    lines
        .iter()
        .for_each(|line| headers.append(name.clone(), HeaderValue::from_str(line).unwrap()));
    proxies(header).resolve_client(peer.parse().unwrap(), &headers).to_string()
}

#[test]
fn the_last_address_that_is_not_a_proxy_is_the_client() {
    for (peer, lines, expected) in [
        ("10.0.0.1", &["192.0.2.7"][..], "192.0.2.7"),
        ("10.0.0.1", &["192.0.2.7, 10.0.0.2"], "192.0.2.7"),
        ("10.0.0.1", &["192.0.2.7,10.0.0.2", "fd00::3"], "192.0.2.7"),
        ("10.0.0.1", &["192.0.2.7:4711"], "192.0.2.7"),
        ("10.0.0.1", &["2001:db8::7"], "2001:db8::7"),
        ("10.0.0.1", &["[2001:db8::7]"], "2001:db8::7"),
        ("10.0.0.1", &["[2001:db8::7]:4711"], "2001:db8::7"),
        ("10.0.0.1", &["::ffff:192.0.2.7"], "192.0.2.7"),
        ("::ffff:10.0.0.1", &["192.0.2.7"], "192.0.2.7"),
        ("10.0.0.1", &[], "10.0.0.1"),
        ("10.0.0.1", &[""], "10.0.0.1"),
        ("10.0.0.1", &["10.0.0.9, 10.0.0.2"], "10.0.0.9"),
    ] {
        assert_eq!(client(AddressHeader::XForwardedFor, peer, lines), expected, "{lines:?}");
    }
    for (peer, lines, expected) in [
        ("10.0.0.1", &["for=192.0.2.7"][..], "192.0.2.7"),
        ("10.0.0.1", &["For=\"[2001:db8::7]:4711\";proto=https;by=10.0.0.1"], "2001:db8::7"),
        ("10.0.0.1", &["for=192.0.2.1, proto=https;for=192.0.2.7 ,for=10.0.0.2"], "192.0.2.7"),
        ("10.0.0.1", &["for=192.0.2.7", "for=\"10.0.0.2:1\";host=\"a,b;c\""], "192.0.2.7"),
        ("10.0.0.1", &["for=unknown"], "10.0.0.1"),
        ("10.0.0.1", &["for=192.0.2.7, for=_hidden, for=10.0.0.2"], "10.0.0.2"),
        ("10.0.0.1", &["proto=https"], "10.0.0.1"),
    ] {
        assert_eq!(client(AddressHeader::Forwarded, peer, lines), expected, "{lines:?}");
    }
}

#[test]
fn a_forged_header_of_an_untrusted_peer_is_ignored() {
    for header in [AddressHeader::XForwardedFor, AddressHeader::Forwarded] {
        for lines in [&["192.0.2.7"][..], &["for=192.0.2.7"], &["10.0.0.1"], &["for=10.0.0.1"]] {
            assert_eq!(client(header, "203.0.113.9", lines), "203.0.113.9");
        }
    }
    let mut headers = HeaderMap::new();
    headers.append(X_FORWARDED_FOR, HeaderValue::from_static("192.0.2.7"));
    let peer: IpAddr = "10.0.0.1".parse().unwrap();
    assert_eq!(
        proxies(AddressHeader::Forwarded).resolve_client(peer, &headers),
        peer,
        "only the configured header is read"
    );
    let silent = TrustedProxies { header: None, ..proxies(AddressHeader::Forwarded) };
    assert_eq!(silent.resolve_client(peer, &headers), peer);
}

/// CVE-2025-64484: a proxy passes on a client's header whose name has underscores.
#[test]
fn a_forwarded_header_with_underscores_is_not_read() {
    let mut headers = HeaderMap::new();
    let name = HeaderName::from_static("x_forwarded_for");
    headers.append(name, HeaderValue::from_static("192.0.2.7"));
    let peer: IpAddr = "10.0.0.1".parse().unwrap();
    assert_eq!(proxies(AddressHeader::XForwardedFor).resolve_client(peer, &headers), peer);
}

#[test]
fn forged_addresses_in_front_of_what_the_proxy_wrote_change_nothing() {
    for forged in
        ["1.1.1.1", "10.0.0.5", "1.1.1.1, 10.0.0.5", "rubbish", "\"", ",,,", "for=1.1.1.1"]
    {
        let line = format!("{forged}, 203.0.113.9");
        assert_eq!(
            client(AddressHeader::XForwardedFor, "10.0.0.1", &[&line]),
            "203.0.113.9",
            "{line}"
        );
        assert_eq!(
            client(AddressHeader::XForwardedFor, "10.0.0.1", &[forged, "203.0.113.9"]),
            "203.0.113.9",
            "{line}"
        );
    }
}

#[test]
fn an_open_quotation_mark_does_not_hide_the_proxys_entry() {
    for forged in [
        "for=\"1.1.1.1",
        "for=1.1.1.1;by=\"",
        "for=\"1.1.1.1\\",
        "for=1.1.1.1;host=\"a\\\"",
        "for=\"",
        "=",
    ] {
        for written in ["for=203.0.113.9", "for=\"203.0.113.9\"", "for=\"[2001:db8::9]:1\""] {
            let found =
                client(AddressHeader::Forwarded, "10.0.0.1", &[&format!("{forged}, {written}")]);
            assert!(
                ["10.0.0.1", "203.0.113.9", "2001:db8::9"].contains(&found.as_str()),
                "{forged} and {written}: {found}"
            );
        }
    }
}

#[test]
fn a_chain_without_end_is_not_followed() {
    let line = vec!["10.0.0.5"; MAX_HOPS + 5].join(",");
    assert_eq!(
        client(AddressHeader::XForwardedFor, "10.0.0.1", &[&format!("1.1.1.1,{line}")]),
        "10.0.0.5"
    );
}

proptest! {
    /// Whatever a client sends, the result is the address that the proxy saw, or the proxy.
    #[test]
    fn no_header_forges_an_address(forged in "[ -~]{0,60}", quoted in any::<bool>()) {
        let plain = client(AddressHeader::XForwardedFor, "10.0.0.1", &[&format!("{forged}, 203.0.113.9")]);
        prop_assert_eq!(plain, "203.0.113.9");
        let written = if quoted { "for=\"203.0.113.9:80\"" } else { "for=203.0.113.9" };
        let found = client(AddressHeader::Forwarded, "10.0.0.1", &[&format!("{forged}, {written}")]);
        prop_assert!(found == "203.0.113.9" || found == "10.0.0.1", "{}", found);
    }

    #[test]
    fn parts_of_a_list_survive_their_writing(addresses in proptest::collection::vec(any::<std::net::Ipv6Addr>(), 1..8)) {
        let line = addresses.iter().map(|address| format!("for=\"[{address}]\"")).collect::<Vec<_>>().join(", ");
        let nodes: Vec<_> = parse_forwarded(&line).unwrap().into_iter().map(|node| parse_address(node).unwrap()).collect();
        let expected: Vec<_> = addresses.iter().map(|address| IpAddr::V6(*address).to_canonical()).collect();
        prop_assert_eq!(nodes, expected);
    }
}
