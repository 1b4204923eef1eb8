//! Decrypts and verifies signed authorization responses of the identity provider (JARM §2.4).

use std::sync::Arc;

use serde_json::{Map, Value};

use super::jwe::EncryptedResponse;
use super::upstream::Upstream;
use crate::error::ConnectorError;
use passerelle_federation::login::upstream::{CallbackParams, LoginAttempt};
use passerelle_jose::verify::{
    Expiry, JwsError, VerificationKeys, check_time_claims, names_audience, verify_jws,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;

impl Upstream {
    /// Returns the parameters of a callback: of the signed response if one is registered, and then
    /// nothing of the address.
    ///
    /// # Errors
    /// `IdpResponseEncryption`, `IdpResponseKey`, `IdpResponseUnproven`, `IdpResponseClaims`,
    /// `IdpCodeMalformed`, or the error of fetching the keys.
    pub(super) async fn verified_callback(
        self: &Arc<Self>,
        attempt: &LoginAttempt,
        callback: CallbackParams,
    ) -> Result<CallbackParams, ConnectorError> {
        let Some(alg) = self.kind.authorization_signed_response_alg else { return Ok(callback) };
        let unproven = |why: &str| ConnectorError::new(ErrorCode::IdpResponseUnproven, why);
        let Some(response) = &callback.response else {
            // A response in plain parameters could be anyone's.
            return Err(unproven("the parameter response is missing"));
        };
        let response = self.decrypt_response(response).await?;
        let provider = self.provider().await?;
        let check = |keys: &VerificationKeys| {
            verify_jws(response.reveal(), alg, keys).map_err(|error| match error {
                JwsError::UnknownKey => {
                    ConnectorError::new(ErrorCode::IdpResponseKey, error.to_string())
                }
                error => unproven(&error.to_string()),
            })
        };
        let retry_on = &[ErrorCode::IdpResponseKey];
        let claims = self.verify_with_keys(&provider, retry_on, check).await?.claims;
        self.check_response_claims(&claims, attempt)?;
        let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        let params = CallbackParams {
            code: text("code").map(Secret::new),
            iss: Some(self.kind.issuer.clone()),
            error: text("error"),
            response: None,
        };
        if params.code_is_acceptable() {
            Ok(params)
        } else {
            let why = "the code is too long, or not printable ASCII";
            Err(ConnectorError::new(ErrorCode::IdpCodeMalformed, why))
        }
    }

    /// Returns the signed response, decrypted if encryption is registered (JARM §2.4, step 1).
    async fn decrypt_response(
        &self,
        response: &Secret<String>,
    ) -> Result<Secret<String>, ConnectorError> {
        match EncryptedResponse::Authorization.jwe_algorithms(&self.kind) {
            Some(algorithms) => {
                let (keys, now) = (self.hub_keys.load_full(), self.env.now());
                let encrypted = response.reveal();
                EncryptedResponse::Authorization.decrypt(encrypted, algorithms, &keys, now).await
            }
            None => Ok(response.clone()),
        }
    }

    /// Returns the unverified `state` of a signed response, decrypted if encryption is registered.
    pub(super) async fn unverified_state(&self, response: &Secret<String>) -> Option<String> {
        let response = self.decrypt_response(response).await.inspect_err(|error| {
            tracing::warn!(connector = %self.id, %error, "authorization response not decrypted");
        });
        CallbackParams::unverified_state(response.ok()?.reveal())
    }

    /// Checks issuer, audience, time and request of the response (JARM §2.4, steps 4 to 6). Stops
    /// mix-up attacks, and a response of another login.
    fn check_response_claims(
        &self,
        claims: &Map<String, Value>,
        attempt: &LoginAttempt,
    ) -> Result<(), ConnectorError> {
        let wrong = |why: &str| Err(ConnectorError::new(ErrorCode::IdpResponseClaims, why));
        let is =
            |name: &str, expected: &str| claims.get(name).and_then(Value::as_str) == Some(expected);
        if !is("iss", &self.kind.issuer) {
            return wrong("its iss is not the issuer of the connector's file");
        }
        if !names_audience(claims, &self.kind.client_id) {
            return wrong("its aud is not the hub's client_id");
        }
        if !is("state", &attempt.request.state) {
            return wrong("its state is not that of the authorization request");
        }
        let now = self.env.now();
        match check_time_claims(claims, Expiry::Required, now) {
            Ok(()) => Ok(()),
            Err(error) => wrong(&error.to_string()),
        }
    }
}
