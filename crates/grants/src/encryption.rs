//! Signs responses, and selects how they are encrypted to a service provider (R005, R007).
//!
//! Responsible for choosing the key, and for never sending an unencrypted response on the high
//! platform.

use std::sync::Arc;

use super::TokenService;
use passerelle_federation::ServiceProvider;
use passerelle_federation::assurance::Platform;
use passerelle_jose::SigningError;
use passerelle_jose::encrypt::{EncryptionKey, JweEncryptError, JweMark};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::authorize::AuthorizationRequest;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ClientId;
use passerelle_telemetry::trace;

/// Kind of a response; each has its own registered algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ResponseKind {
    IdToken,
    Userinfo,
}

/// Encryption of a response. Chosen before the response is built, so that a concurrent key change
/// does not affect it.
#[derive(Debug)]
pub(super) enum ResponseEncryption {
    /// Signed only: ID tokens and userinfo on the standard platform.
    SignedOnly,
    Encrypted(Arc<EncryptionKey>),
}

impl ResponseEncryption {
    /// Encrypts a compact JWS, or returns it unchanged when no encryption applies.
    ///
    /// # Errors
    /// `EncryptionFailed`.
    pub(super) fn encrypt(&self, jws: String) -> Result<String, ErrorCode> {
        self.encrypt_marked(jws, None)
    }

    /// Encrypts like [`Self::encrypt`]; `mark` lets the hub recognize the encrypted response later.
    ///
    /// # Errors
    /// `EncryptionFailed`.
    pub(super) fn encrypt_marked(
        &self,
        jws: String,
        mark: Option<JweMark<'_>>,
    ) -> Result<String, ErrorCode> {
        let Self::Encrypted(key) = self else { return Ok(jws) };
        let encrypted =
            mark.map_or_else(|| key.encrypt(&jws), |mark| key.encrypt_marked(&jws, &mark));
        encrypted.map_err(|error| encryption_failed(key, error))
    }

    /// Encrypts like [`Self::encrypt`], with the issuer in the header too.
    ///
    /// # Errors
    /// `EncryptionFailed`.
    pub(super) fn encrypt_for_issuer(
        &self,
        jws: String,
        issuer: &str,
    ) -> Result<String, ErrorCode> {
        let Self::Encrypted(key) = self else { return Ok(jws) };
        key.encrypt_for_issuer(&jws, issuer).map_err(|error| encryption_failed(key, error))
    }
}

fn encryption_failed(key: &EncryptionKey, error: JweEncryptError) -> ErrorCode {
    tracing::error!(%error, kid = key.kid, "response could not be encrypted");
    ErrorCode::EncryptionFailed
}

/// Waits for the signature of a response, in a span of its own.
///
/// # Errors
/// `SigningFailed`; `KeyDeviceUnavailable` if the key is in a device that failed.
pub(super) async fn signed_response(
    name: &str,
    signing: impl Future<Output = Result<String, SigningError>>,
) -> Result<String, ErrorCode> {
    trace::start_span("sign").run(signing).await.map_err(|error| {
        tracing::error!(%error, "{name} could not be signed");
        match error {
            SigningError::Device(_) => ErrorCode::KeyDeviceUnavailable,
            _ => ErrorCode::SigningFailed,
        }
    })
}

impl TokenService {
    /// Checks that no device of a current signing key has failed. Known from memory.
    ///
    /// # Errors
    /// `KeyDeviceUnavailable`.
    pub(super) fn check_signing_keys(&self) -> Result<(), ErrorCode> {
        let now = self.core.env.now();
        let is_available = |alg| self.signer.is_available(alg, now);
        if [SigningAlg::ES256, SigningAlg::RS256].into_iter().all(is_available) {
            Ok(())
        } else {
            Err(ErrorCode::KeyDeviceUnavailable)
        }
    }

    /// Checks that responses for this service provider can be encrypted now. Without registered
    /// encryption they always can.
    ///
    /// # Errors
    /// `ClientKeysMissing`.
    pub fn check_response_keys(&self, client_id: &ClientId) -> Result<(), ErrorCode> {
        let federation = self.core.federation.load();
        let Some(client) = federation.active_service_provider(client_id) else { return Ok(()) };
        self.response_encryption(client, ResponseKind::IdToken)?;
        self.response_encryption(client, ResponseKind::Userinfo)?;
        Ok(())
    }

    /// Checks that every response to this request can be signed and encrypted now.
    ///
    /// # Errors
    /// `ClientKeysMissing`, `KeyDeviceUnavailable`.
    pub fn check_request_keys(&self, request: &AuthorizationRequest) -> Result<(), ErrorCode> {
        self.check_signing_keys()?;
        self.check_response_keys(&request.client_id)?;
        if request.redirect.is_signed()
            && let Some(client) =
                self.core.federation.load().active_service_provider(&request.client_id)
        {
            self.authorization_response_encryption(client)?;
        }
        Ok(())
    }

    /// Returns the encryption of a signed authorization response (JARM §3).
    ///
    /// # Errors
    /// `ClientKeysMissing` if no usable key is known.
    pub(super) fn authorization_response_encryption(
        &self,
        client: &ServiceProvider,
    ) -> Result<ResponseEncryption, ErrorCode> {
        let Some(alg) = client.registration.protection.response_encryption else {
            return Ok(ResponseEncryption::SignedOnly);
        };
        self.client_keys
            .encryption_key(&client.registration.client_id, &client.keys, alg)
            .map(ResponseEncryption::Encrypted)
            .ok_or(ErrorCode::ClientKeysMissing)
    }

    /// Returns the encryption of a response to this service provider.
    ///
    /// # Errors
    /// `ClientKeysMissing` if no usable key is known, and on the high platform if no encryption is
    /// registered.
    pub(super) fn response_encryption(
        &self,
        client: &ServiceProvider,
        kind: ResponseKind,
    ) -> Result<ResponseEncryption, ErrorCode> {
        let encryption = match (self.core.platform, &client.encryption) {
            (Platform::Standard, None) => return Ok(ResponseEncryption::SignedOnly),
            // The configuration loader excludes this case; a federation built otherwise must not
            // leak either.
            (Platform::High, None) => return Err(ErrorCode::ClientKeysMissing),
            (Platform::Standard | Platform::High, Some(encryption)) => encryption,
        };
        let alg = match kind {
            ResponseKind::IdToken => encryption.id_token,
            ResponseKind::Userinfo => encryption.userinfo,
        };
        self.client_keys
            .encryption_key(&client.registration.client_id, &client.keys, alg)
            .map(ResponseEncryption::Encrypted)
            .ok_or(ErrorCode::ClientKeysMissing)
    }
}
