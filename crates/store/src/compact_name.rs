//! Names of records and families as the in-memory store keeps them.

use std::hash::{Hash, Hasher};

use super::{Family, RecordKey};
use passerelle_protocol::digest;

/// Name of a record or family. A SHA-256 hash takes 32 bytes, not the 43 of its base64url form.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum CompactName {
    Digest([u8; 32]),
    Text(Box<str>),
}

impl From<&str> for CompactName {
    fn from(name: &str) -> Self {
        // Canonical base64url only, so that two names never become one.
        let digest = (name.len() == 43)
            .then(|| digest::from_base64url(name))
            .flatten()
            .and_then(|bytes| bytes.try_into().ok());
        digest.map_or_else(|| Self::Text(name.into()), Self::Digest)
    }
}

impl From<&RecordKey> for CompactName {
    fn from(key: &RecordKey) -> Self {
        Self::from(&*key.name)
    }
}

impl From<&Family> for CompactName {
    fn from(family: &Family) -> Self {
        Self::from(&*family.0)
    }
}

impl CompactName {
    /// Returns the name as text.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Digest(digest) => digest::base64url(digest),
            Self::Text(name) => name.to_string(),
        }
    }
}

impl Hash for CompactName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            // A part of a SHA-256 hash distinguishes as well as the whole.
            Self::Digest([a, b, c, d, e, f, g, h, ..]) => {
                state.write_u64(u64::from_ne_bytes([*a, *b, *c, *d, *e, *f, *g, *h]));
            }
            Self::Text(name) => name.hash(state),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_decoded_unchanged() {
        let hash = digest::sha256_base64url("a token");
        // The last character of 43 has two bits too many; only one spelling is canonical.
        let aliases = (0..=u8::MAX)
            .filter(u8::is_ascii)
            .map(|last| format!("{}{}", &hash[..42], char::from(last)));
        let others = ["", "all", "é", &hash[..42], &format!("{hash}=")].map(str::to_owned);
        let names: Vec<_> = aliases.chain(others).collect();
        for name in &names {
            assert_eq!(CompactName::from(name.as_str()).to_text(), *name);
        }
        assert!(matches!(CompactName::from(hash.as_str()), CompactName::Digest(_)));
    }
}
