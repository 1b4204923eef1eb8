//! Answers that an identity provider seals to the hub: what its file registers, and which code each failure has.
//!
//! Owns: the bridge to `token::open`. Must not know: what the signed answer inside says.

use crate::config::model::OidcKind;
use crate::connector::ConnectorFault;
use crate::env::Timestamp;
use crate::ids::Secret;
use crate::protocol::alg::{ContentEncryption, EncryptionAlg};
use crate::protocol::catalogue::ErrorCode;
use crate::token::UpstreamKeys;
use crate::token::open::{Sealing, UnsealFault, open_jwe};

/// Which answer it is, for the operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    IdToken,
    Userinfo,
}

impl Answer {
    /// How it is sealed, where the file says that it is.
    #[must_use]
    pub fn sealing(self, kind: &OidcKind) -> Option<Sealing> {
        let of = |alg: Option<EncryptionAlg>, enc: Option<ContentEncryption>| {
            alg.map(|alg| Sealing { alg, enc: enc.unwrap_or_default() })
        };
        match self {
            Self::IdToken => {
                of(kind.id_token_encrypted_response_alg, kind.id_token_encrypted_response_enc)
            }
            Self::Userinfo => {
                of(kind.userinfo_encrypted_response_alg, kind.userinfo_encrypted_response_enc)
            }
        }
    }

    /// Opens it; the compact JWS inside is not verified yet.
    ///
    /// # Errors
    /// One code for each rule that it breaks.
    pub fn open(
        self,
        compact: &str,
        sealing: Sealing,
        keys: &UpstreamKeys,
        now: Timestamp,
    ) -> Result<Secret<String>, ConnectorFault> {
        let name = match self {
            Self::IdToken => "ID token",
            Self::Userinfo => "userinfo",
        };
        open_jwe(compact, sealing, keys, now)
            .map_err(|fault| ConnectorFault::new(code_of(fault), format!("{name}: {fault}")))
    }
}

fn code_of(fault: UnsealFault) -> ErrorCode {
    match fault {
        UnsealFault::Bare => ErrorCode::SealMissing,
        UnsealFault::TooLarge | UnsealFault::Malformed => ErrorCode::SealMalformed,
        UnsealFault::Algorithm => ErrorCode::SealAlgorithm,
        UnsealFault::ContentEncryption => ErrorCode::SealContentEncryption,
        UnsealFault::Compressed => ErrorCode::SealCompressed,
        UnsealFault::Extension => ErrorCode::SealExtension,
        UnsealFault::UnknownKey => ErrorCode::SealKey,
        UnsealFault::Broken => ErrorCode::SealBroken,
        UnsealFault::Unsigned => ErrorCode::SealUnsigned,
        UnsealFault::Nested => ErrorCode::SealNested,
    }
}
