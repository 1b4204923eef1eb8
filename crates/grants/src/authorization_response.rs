//! Signs authorization responses, and encrypts them where that is registered (JARM: JWT Secured
//! Authorization Response Mode for OAuth 2.0).

use std::time::Duration;

use serde::Serialize;
use serde::ser::SerializeMap as _;

use super::TokenService;
use super::encryption::signed_response;
use passerelle_jose::jwt_signer::sign_jwt;
use passerelle_protocol::authorize::{AuthorizationResponse, UnsignedResponse};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;

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

impl TokenService {
    /// Returns the response as a JWT for its service provider.
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
        let now = self.core.env.now();
        let claims = ResponseClaims {
            iss: &self.core.issuer,
            exp: now + RESPONSE_LIFETIME,
            response: &response,
        };
        let signing = sign_jwt(self.signer.as_ref(), alg, &claims, now);
        let jws = signed_response("authorization response", signing).await?;
        Ok(response.into_response(encryption.encrypt(jws)?))
    }
}
