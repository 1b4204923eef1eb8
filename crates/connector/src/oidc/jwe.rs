//! Decrypts responses of an identity provider, and maps each failure to an error code.

use super::settings::OidcKind;
use crate::error::ConnectorError;
use passerelle_jose::RelyingPartyKeys;
use passerelle_jose::decrypt::{JweAlgorithms, JweDecryptError, decrypt_jwe};
use passerelle_protocol::alg::{ContentEncryption, EncryptionAlg};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;

/// Response that can be encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EncryptedResponse {
    IdToken,
    Userinfo,
    Authorization,
}

impl EncryptedResponse {
    /// Returns the JWE algorithms that the file registers; `None` if it registers no encryption.
    pub(super) fn jwe_algorithms(self, kind: &OidcKind) -> Option<JweAlgorithms> {
        let algorithms = |alg: Option<EncryptionAlg>, enc: Option<ContentEncryption>| {
            alg.map(|alg| JweAlgorithms { alg, enc: enc.unwrap_or_default() })
        };
        match self {
            Self::IdToken => algorithms(
                kind.id_token_encrypted_response_alg,
                kind.id_token_encrypted_response_enc,
            ),
            Self::Userinfo => algorithms(
                kind.userinfo_encrypted_response_alg,
                kind.userinfo_encrypted_response_enc,
            ),
            Self::Authorization => algorithms(
                kind.authorization_encrypted_response_alg,
                kind.authorization_encrypted_response_enc,
            ),
        }
    }

    /// Decrypts a JWE. The JWS inside is not verified.
    ///
    /// # Errors
    /// Returns an error with a distinct code for each violated rule.
    pub(super) async fn decrypt(
        self,
        compact: &str,
        algorithms: JweAlgorithms,
        keys: &RelyingPartyKeys,
        now: Timestamp,
    ) -> Result<Secret<String>, ConnectorError> {
        let name = match self {
            Self::IdToken => "ID token",
            Self::Userinfo => "userinfo",
            Self::Authorization => "authorization response",
        };
        decrypt_jwe(compact, algorithms, keys, now).await.map_err(|error| {
            let code = match (self, &error) {
                (_, JweDecryptError::Device(_)) => ErrorCode::KeyDeviceUnavailable,
                (Self::IdToken | Self::Userinfo, error) => error_code(error),
                // The browser sends it, so it may be anything.
                (Self::Authorization, _) => ErrorCode::IdpResponseEncryption,
            };
            ConnectorError::new(code, format!("{name}: {error}"))
        })
    }
}

const fn error_code(error: &JweDecryptError) -> ErrorCode {
    match error {
        JweDecryptError::NotEncrypted => ErrorCode::JweMissing,
        JweDecryptError::TooLarge | JweDecryptError::Malformed => ErrorCode::JweMalformed,
        JweDecryptError::Algorithm => ErrorCode::JweAlgorithm,
        JweDecryptError::ContentEncryption => ErrorCode::JweContentEncryption,
        JweDecryptError::Compressed => ErrorCode::JweCompressed,
        JweDecryptError::Extension => ErrorCode::JweExtension,
        JweDecryptError::UnknownKey => ErrorCode::JweKey,
        JweDecryptError::DecryptionFailed => ErrorCode::JweDecryption,
        JweDecryptError::Unsigned => ErrorCode::JweUnsigned,
        JweDecryptError::Nested => ErrorCode::JweNested,
        JweDecryptError::Device(_) => ErrorCode::KeyDeviceUnavailable,
    }
}
