//! Names of keys in the Transit engine of a Vault server, as far as key files need them.

use std::fmt;

/// Longest name of a key, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// Names one version of a key: `vault-transit:key=passerelle-tokens-1a2b;version=1`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TransitKeyUri {
    name: String,
    /// Pinned: a rotation in the Vault server adds a version whose public half is not published.
    version: u32,
}

impl TransitKeyUri {
    /// Creates the URI of a key; `None` if it is no name of a key.
    pub fn new(name: &str, version: u32) -> Option<Self> {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let is_inner = |byte: &u8| is_word(byte) || matches!(byte, b'-' | b'.');
        let bytes = name.as_bytes();
        let fits = (1..=MAX_NAME_BYTES).contains(&bytes.len())
            && bytes.iter().all(is_inner)
            && bytes.first().is_some_and(is_word)
            && bytes.last().is_some_and(is_word);
        (fits && version > 0).then(|| Self { name: name.to_owned(), version })
    }

    /// Parses a URI with the attributes `key` and `version`. Returns `None` for any other: the
    /// server, the engine's path and the token are settings, and a key file must not choose them.
    pub fn parse(text: &str) -> Option<Self> {
        let (key, version) = text.strip_prefix("vault-transit:")?.split_once(';')?;
        let version = version.strip_prefix("version=")?;
        let is_number = version.bytes().all(|byte| byte.is_ascii_digit());
        let version = version.parse().ok().filter(|_| is_number)?;
        Self::new(key.strip_prefix("key=")?, version)
    }

    /// Returns the name of the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version of the key.
    pub const fn version(&self) -> u32 {
        self.version
    }
}

impl fmt::Display for TransitKeyUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vault-transit:key={};version={}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_written_as_it_is_parsed() {
        let uri = TransitKeyUri::new("passerelle-tokens-1a.2b_3", 7).unwrap();
        assert_eq!(uri.to_string(), "vault-transit:key=passerelle-tokens-1a.2b_3;version=7");
        assert_eq!(TransitKeyUri::parse(&uri.to_string()), Some(uri));
    }

    #[test]
    fn a_key_file_chooses_neither_server_nor_path_nor_token() {
        for bad in [
            "vault-transit:",
            "vault-transit:key=a",
            "vault-transit:key=;version=1",
            "vault-transit:key=a;version=0",
            "vault-transit:key=a;version=+1",
            "vault-transit:key=a;version=1;version=2",
            "vault-transit:key=a/../../sys/seal;version=1",
            "vault-transit:key=..;version=1",
            "vault-transit:key=a%2fb;version=1",
            "vault-transit:key=a?b;version=1",
            "vault-transit:key=é;version=1",
            "pkcs11:id=%01",
        ] {
            assert_eq!(TransitKeyUri::parse(bad), None, "{bad}");
        }
        let long = format!("vault-transit:key={};version=1", "a".repeat(129));
        assert_eq!(TransitKeyUri::parse(&long), None);
    }
}
