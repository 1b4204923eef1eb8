//! Types of the hub's keys, and the algorithms of each.

use passerelle_protocol::alg::{EncryptionAlg, SigningAlg};

/// Type of a key of the hub (JWK `kty`). One decryption key of each type is current at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyType {
    /// P-256, for ES256 or ECDH-ES.
    Ec,
    /// For RS256, or for RSA-OAEP-256 and RSA-OAEP.
    Rsa,
}

impl KeyType {
    /// In the order of the published key set.
    pub const ALL: [Self; 2] = [Self::Ec, Self::Rsa];

    /// Returns the type of the keys that sign with this algorithm.
    pub const fn from_signing_alg(alg: SigningAlg) -> Self {
        match alg {
            SigningAlg::ES256 => Self::Ec,
            SigningAlg::RS256 => Self::Rsa,
        }
    }

    /// Returns the algorithm that a key of this type signs with.
    pub const fn signing_alg(self) -> SigningAlg {
        match self {
            Self::Ec => SigningAlg::ES256,
            Self::Rsa => SigningAlg::RS256,
        }
    }

    /// Returns the algorithms of a decryption key of this type, the preferred one first.
    pub const fn encryption_algs(self) -> &'static [EncryptionAlg] {
        match self {
            Self::Ec => &[EncryptionAlg::EcdhEs],
            Self::Rsa => &[EncryptionAlg::RsaOaep256, EncryptionAlg::RsaOaep],
        }
    }

    /// Returns the JOSE names of [`Self::encryption_algs`].
    pub const fn encryption_alg_names(self) -> &'static str {
        match self {
            Self::Ec => "ECDH-ES",
            Self::Rsa => "RSA-OAEP-256, RSA-OAEP",
        }
    }
}
