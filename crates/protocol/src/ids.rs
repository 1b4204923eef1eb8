//! Newtypes for identifiers, and [`Secret`].

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest;
use crate::env::Entropy;

mod secret;

pub use secret::{Erase, Secret, issued_secret, stored_secret};

macro_rules! string_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(transparent)]
        pub struct $name(#[schemars(with = "String")] Arc<str>);

        impl $name {
            /// Wraps a value without checking it.
            pub fn new(value: impl Into<Arc<str>>) -> Self {
                Self(value.into())
            }

            /// Returns the identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(value: &str) -> Self {
                Self::new(value)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

string_id! {
    /// The `client_id` of a service provider or data provider, as registered.
    ClientId
}

impl ClientId {
    /// Start of each id that the hub assigns to a client that registers itself. Only for these the
    /// store is read.
    pub const REGISTERED_PREFIX: &'static str = "dcr-";

    /// Returns true if the hub has assigned this id.
    pub fn is_assigned_by_hub(&self) -> bool {
        self.0.starts_with(Self::REGISTERED_PREFIX)
    }
}
string_id! {
    /// Name of a connector: its file's stem, `[a-z0-9-]{1,64}`, never `confirm`.
    ConnectorId
}
string_id! {
    /// A scope value (RFC 6749 §3.3).
    Scope
}
string_id! {
    /// The pairwise subject identifier that a service provider sees (`sub`).
    Subject
}
string_id! {
    /// Support id, which a user reads to the help desk and an operator finds in the log: 12
    /// characters of Crockford's base 32.
    SupportId
}
string_id! {
    /// base64url(SHA-256(login cookie's value)): the public, URL-safe name of a login.
    InteractionHash
}

impl ConnectorId {
    /// Returns true for `[a-z0-9-]{1,64}` except `confirm`, which is a path segment.
    pub fn is_well_formed(value: &str) -> bool {
        let charset = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        (1..=64).contains(&value.len()) && value.bytes().all(charset) && value != "confirm"
    }
}

impl InteractionHash {
    /// Returns the hash of a login cookie's value.
    pub fn from_cookie(value: &str) -> Self {
        Self::new(digest::sha256_base64url(value))
    }

    /// Returns true for 43 base64url characters, the form of a hash.
    pub fn is_well_formed(value: &str) -> bool {
        value.len() == 43
            && value.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_')
    }
}

impl SupportId {
    /// Generates 60 random bits in Crockford's base 32: short enough to read out, without the
    /// ambiguous I, L, O and U.
    pub fn generate(entropy: &dyn Entropy) -> Self {
        const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        let bits = entropy.bits256();
        let letters = bits.iter().take(12).filter_map(|byte| ALPHABET.get(usize::from(byte & 31)));
        Self::new(letters.map(|letter| char::from(*letter)).collect::<String>())
    }

    /// Parses a support id as typed by an operator: in any case, with blanks or hyphens, with I, L
    /// and O read as the digits that they resemble. `None` if it is not a support id.
    #[expect(
        clippy::disallowed_methods,
        reason = "people type or paste the id, with spaces of any kind"
    )]
    pub fn parse(typed: &str) -> Option<Self> {
        let letters = typed.chars().filter(|c| !c.is_whitespace() && *c != '-').map(|c| {
            match c.to_ascii_uppercase() {
                'I' | 'L' => '1',
                'O' => '0',
                other => other,
            }
        });
        // One more than the valid length, so that a long text is neither copied nor truncated to a
        // valid id.
        let id = Self::new(letters.take(13).collect::<String>());
        id.number().is_some().then_some(id)
    }

    /// Returns the 60 bits; `None` if [`Self::generate`] did not create the id.
    pub fn number(&self) -> Option<u64> {
        let digit = |letter: u8| -> Option<u64> {
            Some(u64::from(match letter {
                b'0'..=b'9' => letter - b'0',
                b'A'..=b'H' => letter - b'A' + 10,
                b'J' | b'K' => letter - b'J' + 18,
                b'M' | b'N' => letter - b'M' + 20,
                b'P'..=b'T' => letter - b'P' + 22,
                b'V'..=b'Z' => letter - b'V' + 27,
                _ => return None,
            }))
        };
        let letters = self.0.as_bytes();
        (letters.len() == 12).then_some(())?;
        letters.iter().try_fold(0, |number, letter| Some(number << 5 | digit(*letter)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_support_id_is_understood_as_people_write_it() {
        let entropy = crate::testing::env::SeededEntropy::new(3);
        for _ in 0..1000 {
            let id = SupportId::generate(&entropy);
            let heard = id.as_str().to_ascii_lowercase().replace('0', "o").replace('1', "l");
            let heard = format!(" {}-{} {}\n", &heard[..4], &heard[4..8], &heard[8..]);
            assert_eq!(SupportId::parse(&heard), Some(id.clone()), "{heard}");
        }
        for (digit, letter) in "0123456789ABCDEFGHJKMNPQRSTVWXYZ".chars().enumerate() {
            let id = SupportId::new(format!("00000000000{letter}"));
            assert_eq!(id.number(), Some(digit as u64), "{letter}");
        }
        for bad in [
            "",
            "0123456789A",
            "0123456789ABC",
            "0123456789AU",
            "../../../etc",
            "<script>aaaa",
            "éééééé",
        ] {
            assert_eq!(SupportId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn connector_ids_are_short_lower_case_words() {
        for good in ["impots", "la-poste", "a", "0"] {
            assert!(ConnectorId::is_well_formed(good), "{good}");
        }
        for bad in ["", "confirm", "Impots", "a_b", "a/b", "é", &"a".repeat(65)] {
            assert!(!ConnectorId::is_well_formed(bad), "{bad}");
        }
    }
}
