//! Exchanges a code for tokens (OpenID Connect Core 1.0 §3.1.3), and proves who asks for them: by a
//! client assertion, a client certificate or a DPoP proof. Does not verify the ID token.

use serde_json::Value;

use super::client_assertion;
use super::metadata::ResolvedProvider;
use super::settings::UpstreamAuthMethod;
use super::upstream::Upstream;
use crate::code_flow::{self, TokenRequestProofs};
use crate::dpop::DpopSession;
use crate::error::ConnectorError;
use passerelle_egress::safe_http_client::SafeHttpClient;
use passerelle_federation::login::upstream::LoginAttempt;
use passerelle_jose::PrivateJwk;
use passerelle_jose::dpop_key::DpopKey;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_auth::JWT_BEARER_ASSERTION_TYPE;
use passerelle_protocol::ids::Secret;

/// Tokens of a token response, not verified yet.
pub(super) struct OidcTokens {
    pub access_token: Secret<String>,
    /// Compact, as received.
    pub id_token: Secret<String>,
}

/// Returns the parameters of a client assertion (RFC 7521 §4.2); none if the hub uses a client
/// secret.
pub(super) fn assertion_params(assertion: Option<Secret<String>>) -> Vec<(&'static str, String)> {
    assertion.map_or_else(Vec::new, |assertion| {
        vec![
            ("client_assertion_type", JWT_BEARER_ASSERTION_TYPE.to_owned()),
            ("client_assertion", assertion.into_inner()),
        ]
    })
}

/// Which of two HTTP clients makes a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallPurpose {
    Login,
    /// Without connection reuse.
    Probe,
}

impl Upstream {
    /// Returns the client for calls that authenticate the hub.
    pub(super) fn authenticating_http(
        &self,
        provider: &ResolvedProvider,
        purpose: CallPurpose,
    ) -> &SafeHttpClient {
        match (provider.presents_certificate, purpose) {
            (true, CallPurpose::Login) => &self.certificate_http.0,
            (true, CallPurpose::Probe) => &self.certificate_http.1,
            (false, CallPurpose::Login) => &self.http,
            (false, CallPurpose::Probe) => &self.probe_http,
        }
    }

    /// Returns a client assertion for one request, if the hub authenticates by `private_key_jwt`.
    ///
    /// # Errors
    /// `IdpAssertion` if no key can sign.
    pub(super) async fn sign_client_assertion(
        &self,
        token_endpoint: &str,
    ) -> Result<Option<Secret<String>>, ConnectorError> {
        match self.kind.token_endpoint_auth_method {
            UpstreamAuthMethod::ClientSecretPost
            | UpstreamAuthMethod::ClientSecretBasic
            | UpstreamAuthMethod::TlsClientAuth
            | UpstreamAuthMethod::SelfSignedTlsClientAuth => Ok(None),
            UpstreamAuthMethod::PrivateKeyJwt => {
                let keys = self.hub_keys.load_full();
                client_assertion::sign_client_assertion(
                    &self.kind,
                    token_endpoint,
                    &keys,
                    &self.env,
                )
                .await
                .map(Some)
            }
        }
    }

    /// Returns a key for the tokens of one login, if they are bound to one.
    ///
    /// # Errors
    /// `Internal` if OpenSSL fails.
    pub(super) fn new_dpop_key(
        provider: &ResolvedProvider,
    ) -> Result<Option<PrivateJwk>, ConnectorError> {
        let key = provider.uses_dpop.then(DpopKey::generate).transpose();
        key.map_err(|error| ConnectorError::new(ErrorCode::Internal, error.to_string()))
    }

    /// Returns the DPoP session of a login, if its tokens are bound to a key.
    ///
    /// # Errors
    /// `Internal` if the key is unusable.
    pub(super) fn dpop_session(
        &self,
        key: Option<&PrivateJwk>,
    ) -> Result<Option<DpopSession<'_>>, ConnectorError> {
        key.map(|key| DpopSession::new(key, &self.dpop_nonces, &self.env)).transpose()
    }

    /// Redeems a code, with a client assertion if the hub has no client secret. Repeats the request
    /// once if the identity provider asks for its nonce.
    ///
    /// # Errors
    /// Returns an error if the call fails, the code is rejected, or the response has no ID token.
    pub(super) async fn exchange_code(
        &self,
        provider: &ResolvedProvider,
        purpose: CallPurpose,
        code: Secret<String>,
        attempt: &LoginAttempt,
        dpop: Option<&DpopSession<'_>>,
    ) -> Result<OidcTokens, ConnectorError> {
        let http = self.authenticating_http(provider, purpose);
        let redeem = async || {
            // A new assertion for each request: its `jti` counts once, as the proof's does.
            let assertion = self.sign_client_assertion(&attempt.redirect.token_endpoint).await?;
            let proofs = TokenRequestProofs { assertion_params: assertion_params(assertion), dpop };
            code_flow::redeem_code(&provider.client, http, code.clone(), attempt, proofs).await
        };
        let response = match redeem().await {
            Err(error) if error.code == ErrorCode::IdpDpopNonce => redeem().await?,
            outcome => outcome?,
        };
        match response.id_token {
            Some(Value::String(id_token)) => Ok(OidcTokens {
                access_token: response.access_token,
                id_token: Secret::new(id_token),
            }),
            Some(_) => {
                Err(ConnectorError::new(ErrorCode::IdTokenMalformed, "id_token is not a string"))
            }
            None => Err(ConnectorError::new(
                ErrorCode::IdTokenMissing,
                "the token response has no id_token; check that the openid scope is granted",
            )),
        }
    }
}
