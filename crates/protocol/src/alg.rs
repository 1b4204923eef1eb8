//! JOSE names of the supported signature and encryption algorithms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// RFC 7518 §3.1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum SigningAlg {
    #[default]
    ES256,
    RS256,
}

impl SigningAlg {
    /// All algorithms, in the order of the published key set.
    pub const ALL: [Self; 2] = [Self::ES256, Self::RS256];

    /// Returns the JOSE name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ES256 => "ES256",
            Self::RS256 => "RS256",
        }
    }
}

/// Signature algorithm of JWTs that others sign and the hub verifies (RFC 7518 §3.1; RFC 8037
/// §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum VerificationAlg {
    #[default]
    ES256,
    RS256,
    PS256,
    /// With Ed25519.
    EdDSA,
}

impl VerificationAlg {
    /// All algorithms.
    pub const ALL: [Self; 4] = [Self::ES256, Self::RS256, Self::PS256, Self::EdDSA];

    /// Returns the JOSE name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ES256 => "ES256",
            Self::RS256 => "RS256",
            Self::PS256 => "PS256",
            Self::EdDSA => "EdDSA",
        }
    }

    /// Returns whether this `alg` means the algorithm. `Ed25519` is `EdDSA` under its own name (RFC
    /// 9864).
    pub fn is_named(self, alg: &str) -> bool {
        alg == self.as_str() || (self == Self::EdDSA && alg == "Ed25519")
    }
}

/// The algorithms that a client may sign its JWTs with: one that is registered, or any that is
/// allowed. The registration decides, never the JWT alone (RFC 8725 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcceptedAlgs(&'static [VerificationAlg]);

impl AcceptedAlgs {
    /// All algorithms.
    pub const ANY: Self = Self(&VerificationAlg::ALL);
    /// All algorithms of FAPI 2.0 Security Profile §5.4.1.
    pub const FAPI2: Self =
        Self(&[VerificationAlg::ES256, VerificationAlg::PS256, VerificationAlg::EdDSA]);

    /// Returns the algorithms, at least one.
    pub fn iter(self) -> impl Iterator<Item = VerificationAlg> {
        self.0.iter().copied()
    }

    /// Returns the algorithm if it is the only one.
    pub fn only(self) -> Option<VerificationAlg> {
        if let [only] = self.0 { Some(*only) } else { None }
    }
}

impl From<VerificationAlg> for AcceptedAlgs {
    fn from(alg: VerificationAlg) -> Self {
        Self(match alg {
            VerificationAlg::ES256 => &[VerificationAlg::ES256],
            VerificationAlg::RS256 => &[VerificationAlg::RS256],
            VerificationAlg::PS256 => &[VerificationAlg::PS256],
            VerificationAlg::EdDSA => &[VerificationAlg::EdDSA],
        })
    }
}

impl From<SigningAlg> for VerificationAlg {
    fn from(alg: SigningAlg) -> Self {
        match alg {
            SigningAlg::ES256 => Self::ES256,
            SigningAlg::RS256 => Self::RS256,
        }
    }
}

/// How the key of a JWE is agreed on or wrapped (RFC 7518 §4.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
pub enum EncryptionAlg {
    #[serde(rename = "ECDH-ES")]
    EcdhEs,
    #[serde(rename = "RSA-OAEP-256")]
    RsaOaep256,
    /// Only for software that can do no better: it hashes with SHA-1.
    #[serde(rename = "RSA-OAEP")]
    RsaOaep,
}

impl EncryptionAlg {
    /// All algorithms, the strongest first.
    pub const ALL: [Self; 3] = [Self::EcdhEs, Self::RsaOaep256, Self::RsaOaep];

    /// Returns the JOSE name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EcdhEs => "ECDH-ES",
            Self::RsaOaep256 => "RSA-OAEP-256",
            Self::RsaOaep => "RSA-OAEP",
        }
    }
}

/// How the content of a JWE is encrypted (RFC 7518 §5.1): there is one way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum ContentEncryption {
    #[default]
    A256GCM,
}

impl ContentEncryption {
    /// Returns the JOSE name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A256GCM => "A256GCM",
        }
    }
}
