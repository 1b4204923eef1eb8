//! Signs responses, and selects how they are encrypted to their client (R005, R007).
//!
//! Responsible for choosing the key, and for never sending an unencrypted response on the high
//! platform.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::ser::SerializeMap as _;

use super::HubCore;
use super::client_keys::KeyDirectory;
use passerelle_federation::assurance::Platform;
use passerelle_federation::{DataProvider, IntrospectionResponseFormat, ServiceProvider};
use passerelle_jose::encrypt::{EncryptionKey, JweEncryptError, JweMark};
use passerelle_jose::jwt_signer::sign_jwt;
use passerelle_jose::logout_token::LOGOUT_TOKEN_TYP;
use passerelle_jose::{Signer, SigningError};
use passerelle_protocol::alg::{EncryptionAlg, SigningAlg};
use passerelle_protocol::authorize::{
    AuthorizationRequest, AuthorizationResponse, UnsignedResponse,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;
use passerelle_protocol::introspection;
use passerelle_telemetry::trace;

/// What the hub signs for its clients.
#[derive(Clone, Copy, Debug)]
pub(super) enum JwtKind {
    IdToken,
    Userinfo,
    Introspection,
    AuthorizationResponse,
    LogoutToken,
}

impl JwtKind {
    const fn typ(self) -> &'static str {
        match self {
            Self::IdToken | Self::Userinfo | Self::AuthorizationResponse => "JWT",
            Self::Introspection => introspection::JWT_TYPE,
            Self::LogoutToken => LOGOUT_TOKEN_TYP,
        }
    }

    /// Returns the name in the operator's log.
    const fn name(self) -> &'static str {
        match self {
            Self::IdToken => "ID token",
            Self::Userinfo => "userinfo response",
            Self::Introspection => "introspection response",
            Self::AuthorizationResponse => "authorization response",
            Self::LogoutToken => "logout token",
        }
    }
}

/// Encryption of a response. Chosen before the response is built, so that a concurrent key change
/// does not affect it.
#[derive(Debug)]
pub(super) enum ResponseEncryption {
    /// Signed only; plain JSON for userinfo that is not signed either.
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

/// JARM §2.1 recommends ten minutes at most.
const RESPONSE_LIFETIME: Duration = Duration::from_secs(600);

/// Claims of a signed authorization response (JARM §2.1): `iss` and `aud` stop a mix-up, `exp` a
/// replay.
struct ResponseClaims<'a> {
    iss: &'a str,
    exp: Timestamp,
    response: &'a UnsignedResponse,
}

impl Serialize for ResponseClaims<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("iss", self.iss)?;
        members.serialize_entry("aud", self.response.client_id.as_str())?;
        members.serialize_entry("exp", &self.exp.seconds())?;
        for (name, value) in &self.response.claims {
            members.serialize_entry(name, value)?;
        }
        members.end()
    }
}

/// Signs with the keys of the hub, and encrypts with those of clients.
pub struct ResponseSigner {
    pub(super) core: Arc<HubCore>,
    pub(super) signer: Arc<dyn Signer>,
    pub(super) client_keys: Arc<KeyDirectory>,
}

impl ResponseSigner {
    /// Signs claims as a JWT, in a span of its own.
    ///
    /// # Errors
    /// `SigningFailed`; `KeyDeviceUnavailable` if the key is in a device that failed.
    pub(super) async fn sign(
        &self,
        kind: JwtKind,
        alg: SigningAlg,
        claims: &(impl Serialize + Sync),
    ) -> Result<String, ErrorCode> {
        let now = self.core.env.now();
        let signing = sign_jwt(self.signer.as_ref(), alg, kind.typ(), claims, now);
        trace::start_span("sign").run(signing).await.map_err(|error| {
            tracing::error!(%error, "{} could not be signed", kind.name());
            match error {
                SigningError::Device(_) => ErrorCode::KeyDeviceUnavailable,
                _ => ErrorCode::SigningFailed,
            }
        })
    }

    /// Returns an authorization response as a JWT for its service provider (JARM: JWT Secured
    /// Authorization Response Mode for OAuth 2.0).
    ///
    /// # Errors
    /// `RedirectUriWithdrawn` if the client is no longer registered for signed responses;
    /// `ClientKeysMissing`, `SigningFailed`, `EncryptionFailed`. Nothing may be sent then.
    pub async fn sign_authorization_response(
        &self,
        response: UnsignedResponse,
    ) -> Result<AuthorizationResponse, ErrorCode> {
        let (alg, encryption) = {
            let federation = self.core.federation.load();
            let client = federation
                .active_service_provider(&response.client_id)
                .ok_or(ErrorCode::RedirectUriWithdrawn)?;
            let alg = client.registration.protection.response_alg;
            let alg = alg.ok_or(ErrorCode::RedirectUriWithdrawn)?;
            (alg, self.authorization_response_encryption(client)?)
        };
        let exp = self.core.env.now() + RESPONSE_LIFETIME;
        let claims = ResponseClaims { iss: &self.core.issuer, exp, response: &response };
        let jws = self.sign(JwtKind::AuthorizationResponse, alg, &claims).await?;
        Ok(response.into_response(encryption.encrypt(jws)?))
    }

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
        self.id_token_encryption(client)?;
        self.userinfo_encryption(client)?;
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
    fn authorization_response_encryption(
        &self,
        client: &ServiceProvider,
    ) -> Result<ResponseEncryption, ErrorCode> {
        let Some(alg) = client.registration.protection.response_encryption else {
            return Ok(ResponseEncryption::SignedOnly);
        };
        self.client_encryption(client, alg)
    }

    /// Returns the encryption of an ID token, or of a logout token, for this service provider.
    ///
    /// # Errors
    /// As [`Self::userinfo_encryption`].
    pub(super) fn id_token_encryption(
        &self,
        client: &ServiceProvider,
    ) -> Result<ResponseEncryption, ErrorCode> {
        self.response_encryption(client, client.encryption.id_token)
    }

    /// Returns the encryption of userinfo for this service provider.
    ///
    /// # Errors
    /// `ClientKeysMissing` if no usable key is known, or if no encryption is registered on the high
    /// platform: a missing key never leads to an unencrypted response.
    pub(super) fn userinfo_encryption(
        &self,
        client: &ServiceProvider,
    ) -> Result<ResponseEncryption, ErrorCode> {
        self.response_encryption(client, client.encryption.userinfo)
    }

    fn response_encryption(
        &self,
        client: &ServiceProvider,
        alg: Option<EncryptionAlg>,
    ) -> Result<ResponseEncryption, ErrorCode> {
        match (self.core.platform, alg) {
            (Platform::Standard, None) => Ok(ResponseEncryption::SignedOnly),
            // The configuration loader excludes this case; a federation built otherwise must not
            // leak either.
            (Platform::High, None) => Err(ErrorCode::ClientKeysMissing),
            (Platform::Standard | Platform::High, Some(alg)) => self.client_encryption(client, alg),
        }
    }

    fn client_encryption(
        &self,
        client: &ServiceProvider,
        alg: EncryptionAlg,
    ) -> Result<ResponseEncryption, ErrorCode> {
        self.client_keys
            .encryption_key(&client.registration.client_id, &client.keys, alg)
            .map(ResponseEncryption::Encrypted)
            .ok_or(ErrorCode::ClientKeysMissing)
    }

    /// Returns the encryption of an introspection response. Chosen before the token is looked up,
    /// so that a missing key fails early.
    ///
    /// # Errors
    /// `DataProviderKeysMissing`.
    pub(super) fn introspection_encryption(
        &self,
        provider: &DataProvider,
    ) -> Result<ResponseEncryption, ErrorCode> {
        let IntrospectionResponseFormat::Jwt { encryption: Some(alg), .. } =
            provider.response_format
        else {
            return Ok(ResponseEncryption::SignedOnly);
        };
        self.client_keys
            .encryption_key(&provider.client_id, &provider.keys, alg)
            .map(ResponseEncryption::Encrypted)
            .ok_or(ErrorCode::DataProviderKeysMissing)
    }
}
