//! Compares requested redirect URIs with registered ones (RFC 6749 §3.1.2.3; RFC 8252 §7; RFC 9700
//! §4.1.3).
//!
//! A native client can't know in advance which port of the loopback interface is free. So a public
//! client's loopback URI that is registered without a port matches every port. Everything else is
//! compared character for character.

use std::borrow::Cow;

use super::registration::ClientType;

/// Loopback addresses whose port may be left open. Not `localhost`: a name may resolve to another
/// interface (RFC 8252 §8.3).
const LOOPBACK_PREFIXES: [&str; 2] = ["http://127.0.0.1", "http://[::1]"];

/// Returns the URI to redirect to, if one of `registered` matches `requested`. No part of it is
/// copied from the request except a port number.
pub fn match_redirect_uri<'r>(
    registered: &'r [String],
    requested: &str,
    client_type: ClientType,
) -> Option<Cow<'r, str>> {
    if let Some(exact) = registered.iter().find(|uri| *uri == requested) {
        return Some(Cow::Borrowed(exact));
    }
    match client_type {
        ClientType::Confidential => None,
        ClientType::Public => {
            registered.iter().find_map(|uri| match_any_port(uri, requested)).map(Cow::Owned)
        }
    }
}

/// Matches a loopback URI that is registered without a port (RFC 8252 §7.3).
fn match_any_port(registered: &str, requested: &str) -> Option<String> {
    LOOPBACK_PREFIXES.into_iter().find_map(|prefix| {
        let rest = registered.strip_prefix(prefix)?;
        if !(rest.is_empty() || rest.starts_with(['/', '?'])) {
            return None;
        }
        let port_and_rest = requested.strip_prefix(prefix)?.strip_prefix(':')?;
        let digits = port_and_rest.strip_suffix(rest)?;
        // One spelling for each port: no sign, no leading zero.
        let port: u16 = digits.parse().ok()?;
        (port != 0 && port.to_string() == digits).then(|| format!("{prefix}:{port}{rest}"))
    })
}

/// Response parameters that the hub adds to a redirect URI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResponseParams {
    /// Of an authorization response (RFC 6749 §4.1.2; RFC 9207 §2; JARM §2.3).
    Authorization,
    /// Of a logout (OpenID Connect RP-Initiated Logout 1.0 §3).
    Logout,
}

impl ResponseParams {
    /// Returns their names.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Authorization => {
                &["code", "state", "iss", "error", "error_description", "error_uri", "response"]
            }
            Self::Logout => &["state"],
        }
    }

    /// Returns true if the query of a registered URI has one of these parameters. A response must
    /// not include a parameter twice (RFC 6749 §3.1): a client that reads the first `iss` is open
    /// to mix-up attacks.
    pub fn are_in_query(self, uri: &str) -> bool {
        let Some((_, query)) = uri.split_once('?') else { return false };
        url::form_urlencoded::parse(query.as_bytes())
            .any(|(name, _)| self.names().contains(&&*name))
    }
}

/// Returns the private-use scheme of a URI (RFC 8252 §7.1): a reversed domain name, which has a
/// dot. `None` for every other scheme.
pub fn private_use_scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let is_scheme_char = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'.');
    let is_name = |label: &str| !label.is_empty();
    (scheme.contains('.')
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(is_scheme_char)
        && scheme.split('.').all(is_name))
    .then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn registered() -> Vec<String> {
        [
            "http://127.0.0.1/callback",
            "http://[::1]/callback?app=1",
            "http://127.0.0.1:4711/fixed",
            "http://localhost:5173/callback",
            "com.example.app:/callback",
            "https://app.example/callback",
        ]
        .map(String::from)
        .to_vec()
    }

    fn matches(requested: &str, client_type: ClientType) -> bool {
        let list = registered();
        let matched = match_redirect_uri(&list, requested, client_type);
        if let Some(matched) = &matched {
            assert_eq!(matched, requested);
        }
        matched.is_some()
    }

    #[test]
    fn every_port_of_a_loopback_address_without_a_port_matches() {
        for port in [1, 80, 1024, 49_152, 65_535] {
            for uri in [
                format!("http://127.0.0.1:{port}/callback"),
                format!("http://[::1]:{port}/callback?app=1"),
            ] {
                assert!(matches(&uri, ClientType::Public), "{uri}");
                assert!(!matches(&uri, ClientType::Confidential), "{uri}");
            }
        }
        for uri in registered() {
            assert!(matches(&uri, ClientType::Public), "{uri}");
            assert!(matches(&uri, ClientType::Confidential), "{uri}");
        }
    }

    #[test]
    fn mix_of_loopback_ports_and_hosts_is_stopped() {
        for attack in [
            // other hosts, and spellings of the same one
            "http://localhost:4711/callback",
            "http://127.0.0.2:4711/callback",
            "http://127.1:4711/callback",
            "http://2130706433:4711/callback",
            "http://[0:0:0:0:0:0:0:1]:4711/callback?app=1",
            "http://[::1%25lo]:4711/callback?app=1",
            "http://127.0.0.1.attacker.example:4711/callback",
            "http://127.0.0.1:4711@attacker.example/callback",
            "http://127.0.0.1:@attacker.example/callback",
            "http://user@127.0.0.1:4711/callback",
            // other ports of a URI that names one
            "http://127.0.0.1:4712/fixed",
            "http://127.0.0.1/fixed",
            "http://localhost:5174/callback",
            "http://localhost/callback",
            // values that are not port, or other spellings of one
            "http://127.0.0.1:/callback",
            "http://127.0.0.1:0/callback",
            "http://127.0.0.1:08080/callback",
            "http://127.0.0.1:+80/callback",
            "http://127.0.0.1:-1/callback",
            "http://127.0.0.1:65536/callback",
            "http://127.0.0.1:8080\n/callback",
            "http://127.0.0.1:80 80/callback",
            // another scheme, path, query or fragment
            "https://127.0.0.1:4711/callback",
            "HTTP://127.0.0.1:4711/callback",
            "http://127.0.0.1:4711/callback/",
            "http://127.0.0.1:4711/Callback",
            "http://127.0.0.1:4711/callback?app=1",
            "http://[::1]:4711/callback",
            "http://127.0.0.1:4711/callback#",
            "http://127.0.0.1:4711/x/../callback",
            "http://127.0.0.1:4711/evil/callback",
            "https://app.example:8443/callback",
            "com.example.app:/other",
            "com.example.app:4711/callback",
        ] {
            assert!(!matches(attack, ClientType::Public), "{attack}");
        }
    }

    #[test]
    fn a_response_parameter_in_the_query_of_a_uri_is_found_in_every_spelling() {
        let (authorization, logout) = (ResponseParams::Authorization, ResponseParams::Logout);
        for (query, in_login, in_logout) in [
            ("", false, false),
            ("?", false, false),
            ("?tenant=7&codes=1&State=x&/code=1", false, false),
            ("?a=code&b=?", false, false),
            ("?tenant=7&state=1", true, true),
            ("?state", true, true),
            ("?%73tate=1", true, true),
            ("?code=z", true, false),
            ("?a=1&&iss=https://other.example", true, false),
            ("?error=x", true, false),
            ("?error_description=x", true, false),
            ("?error%5Furi=x", true, false),
            ("?response=x", true, false),
        ] {
            for start in ["https://app.example/cb", "com.example.app:/cb"] {
                let uri = format!("{start}{query}");
                assert_eq!(authorization.are_in_query(&uri), in_login, "{uri}");
                assert_eq!(logout.are_in_query(&uri), in_logout, "{uri}");
            }
        }
    }

    #[test]
    fn a_private_use_scheme_is_a_reversed_domain_name() {
        for (uri, scheme) in [
            ("com.example.app:/callback", Some("com.example.app")),
            ("org.example-app.v2:/", Some("org.example-app.v2")),
            ("myapp:/callback", None),
            ("javascript:alert(1)", None),
            ("data:text/html.x,", None),
            (".com:/", None),
            ("com.:/", None),
            ("com..example:/", None),
            ("1com.example:/", None),
            ("com.example/app:/", None),
            ("no scheme", None),
        ] {
            assert_eq!(private_use_scheme(uri), scheme, "{uri}");
        }
    }

    proptest! {
        #[test]
        fn a_match_differs_from_the_registered_uri_in_its_port_only(between in "[0-9:@/.a]{0,12}", path in "(/callback|/fixed|/)?") {
            let requested = format!("http://127.0.0.1{between}{path}");
            let list = registered();
            if let Some(uri) = match_redirect_uri(&list, &requested, ClientType::Public) {
                let parsed = url::Url::parse(&uri).unwrap();
                prop_assert_eq!(parsed.host_str(), Some("127.0.0.1"));
                prop_assert!(parsed.username().is_empty());
                prop_assert!(matches!(parsed.path(), "/callback" | "/fixed"));
            }
        }
    }
}
