//! Reads the domain of an e-mail address, in `login_hint` and where the hub asks for one.
//!
//! Only the domain counts: nothing of the part before the `@` is kept or compared, so no answer
//! reveals whether an address exists.

use url::Host;

/// The longest address (RFC 5321 §4.5.3.1.3).
const MAX_ADDRESS_CHARS: usize = 254;

/// The domain of an e-mail address, in lower case and ASCII.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EmailDomain(String);

impl EmailDomain {
    /// Returns the domain of an address; `None` if the text is not an address.
    #[expect(
        clippy::disallowed_methods,
        reason = "people type or paste the address, with spaces of any kind"
    )]
    pub fn from_address(address: &str) -> Option<Self> {
        let address = address.trim();
        if address.chars().count() > MAX_ADDRESS_CHARS || address.contains(char::is_control) {
            return None;
        }
        let (local, domain) = address.rsplit_once('@').filter(|(local, _)| !local.is_empty())?;
        if local.contains(char::is_whitespace) {
            return None;
        }
        Self::parse(domain)
    }

    /// Parses a domain name with at least two labels; international names become ASCII.
    pub fn parse(domain: &str) -> Option<Self> {
        let Host::Domain(name) = Host::parse(domain).ok()? else { return None };
        let is_label = |label: &str| {
            let charset = |c: u8| c.is_ascii_alphanumeric() || c == b'-';
            (1..=63).contains(&label.len()) && label.bytes().all(charset)
        };
        (name.contains('.') && name.split('.').all(is_label)).then_some(Self(name))
    }

    /// Returns the domain.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn domain(address: &str) -> Option<String> {
        EmailDomain::from_address(address).map(|domain| domain.as_str().to_owned())
    }

    #[test]
    fn only_the_domain_of_an_address_is_kept() {
        for (address, expected) in [
            ("angela@example.org", Some("example.org")),
            ("  Angela.Dubois+x@Mail.EXAMPLE.org \n", Some("mail.example.org")),
            ("angela@münchen.example", Some("xn--mnchen-3ya.example")),
            ("\"a@b\"@example.org", Some("example.org")),
            ("example.org", None),
            ("@example.org", None),
            ("angela@", None),
            ("angela@localhost", None),
            ("angela@127.0.0.1", None),
            ("angela@[::1]", None),
            ("angela@exa mple.org", None),
            ("angela@example.org/x", None),
            ("angela@example.org:25", None),
            ("angela@example..org", None),
            ("angela@*.example.org", None),
            ("angela@exa_mple.org", None),
            ("ang ela@example.org", None),
            ("a\r\nbcc: b@example.org", None),
            ("", None),
        ] {
            assert_eq!(domain(address).as_deref(), expected, "{address:?}");
        }
        assert_eq!(domain(&format!("{}@example.org", "a".repeat(255))), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_a_domain_is_plain_ascii(text in "\\PC{0,40}", tail in "(@\\PC{0,20})?") {
            if let Some(domain) = domain(&format!("{text}{tail}")) {
                let is_plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'.');
                prop_assert!(domain.bytes().all(is_plain), "{}", domain);
            }
        }
    }
}
