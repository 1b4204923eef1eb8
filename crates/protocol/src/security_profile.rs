//! Security profiles on top of the rules of a service provider: FAPI 2.0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::alg::{AcceptedAlgs, VerificationAlg};

/// A security profile on top of the rules, weakest first. Each has all of those before it.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SecurityProfile {
    /// FAPI 2.0 Security Profile.
    Fapi2,
    /// FAPI 2.0 Message Signing: requests and responses are signed, too.
    Fapi2MessageSigning,
}

impl SecurityProfile {
    /// Returns the value of the setting `profile`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fapi2 => "fapi2",
            Self::Fapi2MessageSigning => "fapi2-message-signing",
        }
    }

    /// Returns whether authorization requests and responses must be signed (FAPI 2.0 Message
    /// Signing §5.3.1 and §5.4.1).
    pub const fn signs_messages(self) -> bool {
        matches!(self, Self::Fapi2MessageSigning)
    }

    /// Returns the algorithms that JWTs may be signed with.
    pub const fn algs(self) -> AcceptedAlgs {
        AcceptedAlgs::FAPI2
    }

    /// Returns whether JWTs may be signed with this algorithm.
    pub fn allows(self, alg: VerificationAlg) -> bool {
        self.algs().iter().any(|allowed| allowed == alg)
    }
}
