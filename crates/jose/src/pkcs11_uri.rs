//! Names of keys in PKCS#11 tokens: `pkcs11:` URIs (RFC 7512) as far as key files need them.

use std::fmt;

/// Longest `id` of an object, in bytes.
const MAX_ID_BYTES: usize = 128;

/// Names one private key in the configured token: `pkcs11:id=%01%02;type=private`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pkcs11Uri {
    /// `CKA_ID`.
    id: Vec<u8>,
}

impl Pkcs11Uri {
    /// Creates the URI of a key from its `CKA_ID`.
    #[must_use]
    pub fn from_id(id: Vec<u8>) -> Self {
        Self { id }
    }

    /// Parses a URI with the attribute `id` and, if present, `type=private`. Returns `None` for any
    /// other: the token, the module and the PIN are settings, and a key file must not choose them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut id = None;
        for attribute in text.strip_prefix("pkcs11:")?.split(';') {
            match attribute.split_once('=')? {
                ("id", value) if id.is_none() => id = Some(percent_decode(value)?),
                ("type", "private") => {}
                _ => return None,
            }
        }
        id.filter(|id| (1..=MAX_ID_BYTES).contains(&id.len())).map(Self::from_id)
    }

    /// Returns the `CKA_ID`.
    pub fn id(&self) -> &[u8] {
        &self.id
    }
}

impl fmt::Display for Pkcs11Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("pkcs11:id=")?;
        self.id.iter().try_for_each(|byte| write!(f, "%{byte:02X}"))?;
        f.write_str(";type=private")
    }
}

/// Decodes the value of an attribute (RFC 7512 §2.3).
fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                let digit = |byte: u8| char::from(byte).to_digit(16);
                u8::try_from(digit(digits[0])? << 4 | digit(digits[1])?).ok()?
            }
            b if b.is_ascii_alphanumeric() || b"-._~:[]@!$'()*+,=&".contains(&b) => b,
            _ => return None,
        });
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_as_it_is_parsed() {
        let uri = Pkcs11Uri::from_id(vec![0, 0x8f, b'a', b';', 0xff]);
        assert_eq!(uri.to_string(), "pkcs11:id=%00%8F%61%3B%FF;type=private");
        assert_eq!(Pkcs11Uri::parse(&uri.to_string()), Some(uri));
        assert_eq!(Pkcs11Uri::parse("pkcs11:id=a%2f").unwrap().id(), b"a/");
    }

    #[test]
    fn a_key_file_chooses_neither_token_nor_module_nor_pin() {
        for bad in [
            "pkcs11:",
            "pkcs11:id=",
            "pkcs11:object=hub",
            "pkcs11:id=%01;id=%02",
            "pkcs11:id=%01;type=public",
            "pkcs11:token=other;id=%01",
            "pkcs11:id=%01?pin-value=1234",
            "pkcs11:id=%01?module-path=/tmp/evil.so",
            "pkcs11:id=%0",
            "pkcs11:id=%+1",
            "pkcs11:id=é",
            "https://example.org/",
        ] {
            assert_eq!(Pkcs11Uri::parse(bad), None, "{bad}");
        }
        assert_eq!(Pkcs11Uri::parse(&format!("pkcs11:id={}", "a".repeat(129))), None);
    }
}
