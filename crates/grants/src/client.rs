//! Authenticates clients at the token endpoint with their registered method (RFC 6749 §2.3; RFC
//! 9700 §2.5).
//!
//! Responsible for secrets with their validity, for the registered method, and for failures that
//! reveal nothing by content or timing. [`crate::assertion`] validates assertions.

mod certificate;

use std::sync::Arc;

use super::HubCore;
use super::assertion::{AssertionError, AssertionVerifier};
use super::auth_failures::AuthFailureLimiter;
use super::client_keys::KeyDirectory;
use super::error::GrantError;
use passerelle_federation::dated_secret::DatedSecret;
use passerelle_federation::validity::ValidityStatus;
use passerelle_federation::{ClientAuthentication, DataProvider, ServiceProvider};
use passerelle_jose::client_certificate::CertificateAuthorities;
use passerelle_protocol::catalogue::{ErrorCode, RequiredParam};
use passerelle_protocol::client_auth::Credentials;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, Secret};
use passerelle_protocol::introspection::IntrospectionRequest;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_quota::RateLimitError;

/// Why client authentication failed; for the operator only.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ClientAuthError {
    #[error("no active service provider has this client_id")]
    Unknown,
    #[error("the client used another method than its registered token_endpoint_auth_method")]
    OtherMethod,
    #[error(
        "the client's certificate was not issued by the authorities of public.client_certificates, or is not valid now"
    )]
    CertificateUntrusted,
    #[error("the client's certificate is not the registered one")]
    CertificateOther,
    #[error("the client sent no credentials, and is not registered as a public client")]
    NoCredentials,
    #[error(
        "the client sent no credentials, but a token_endpoint_auth_method is registered for it"
    )]
    NoAuthentication,
    #[error("the secret is not one of the client's secrets")]
    Secret,
    #[error("the secret matches, but its not_before is in the future")]
    SecretNotYet,
    #[error("the secret matches, but its not_after has passed")]
    SecretExpired,
    #[error("the client assertion is invalid: {0}")]
    Assertion(#[from] AssertionError),
}

impl ClientAuthError {
    const fn code(self) -> ErrorCode {
        match self {
            Self::Unknown => ErrorCode::ClientUnknown,
            // RFC 6749 §5.2: "no client authentication included" is the method `none`.
            Self::OtherMethod | Self::NoAuthentication => ErrorCode::ClientOtherMethod,
            // The request lacks a parameter (R153); the same answer for an unknown id.
            Self::NoCredentials => ErrorCode::Missing(RequiredParam::TokenClientSecret),
            Self::CertificateUntrusted => ErrorCode::ClientCertificateUntrusted,
            Self::CertificateOther => ErrorCode::ClientCertificateNotRegistered,
            Self::Secret => ErrorCode::ClientAuthentication,
            Self::SecretNotYet => ErrorCode::ClientSecretNotYet,
            Self::SecretExpired => ErrorCode::ClientSecretExpired,
            Self::Assertion(error) => error.code(),
        }
    }
}

/// Authenticates service providers and data providers.
pub(super) struct ClientAuthenticator {
    pub(super) core: Arc<HubCore>,
    pub(super) client_keys: Arc<KeyDirectory>,
    /// Certificate authorities for clients with `tls_client_auth`; `None` if not configured.
    pub(super) certificate_authorities: Option<CertificateAuthorities>,
    pub(super) assertions: Arc<AssertionVerifier>,
    pub(super) failures: AuthFailureLimiter,
}

impl ClientAuthenticator {
    /// Authenticates a service provider.
    ///
    /// # Errors
    /// Without credentials, unless the client is public: a 400 if it must send `client_secret` by
    /// the federation's rules or its id is unknown, else a 401. A 401 that reads the same for an
    /// unknown id, an inactive client, another method than the registered one, and a wrong secret
    /// or signature; a 401 that names the defect of an assertion whose signature is valid; a 503
    /// when the hub can't decide; `TooManyFailures` instead of a 401 over the limit.
    pub(crate) async fn authenticate(
        &self,
        offered: &Credentials,
    ) -> Result<Arc<ServiceProvider>, GrantError> {
        if let Some(client_id) = offered.claimed_client() {
            self.core.ensure_client_known(client_id.as_str()).await?;
        }
        let authenticated = match offered {
            // RFC 6749 §2.3.1: several libraries send the header even without a secret.
            Credentials::SecretBasic { client_id, .. }
                if offered.prove_nothing() && self.is_public_client(client_id) =>
            {
                self.identify_public_client(client_id)
            }
            Credentials::SecretPost { client_id, secret } => {
                self.authenticate_by_secret(client_id, secret, SecretTransport::Post)
            }
            Credentials::SecretBasic { client_id, secret } => {
                self.authenticate_by_secret(client_id, secret, SecretTransport::Basic)
            }
            Credentials::Assertion { claimed, assertion } => {
                self.assertions.authenticate(claimed.as_ref(), assertion.reveal()).await
            }
            Credentials::Certificate { client_id, certificate } => {
                self.authenticate_by_certificate(client_id, certificate).await
            }
            Credentials::Public { client_id } => self.identify_public_client(client_id),
        };
        authenticated.map_err(|error| self.authentication_error(offered, error))
    }

    fn authenticate_by_secret(
        &self,
        client_id: &ClientId,
        secret: &Secret<String>,
        transport: SecretTransport,
    ) -> Result<Arc<ServiceProvider>, ClientAuthError> {
        let offered = digest::sha256(secret.reveal().as_bytes());
        let client = self.core.federation.load().active_service_provider(client_id).cloned();
        let registered =
            client.as_ref().and_then(|client| transport.registered_secrets(&client.authentication));
        let outcome = check_secret(registered, &offered, self.core.env.now());
        let uses_registered_method = registered.is_some();
        let client = client.ok_or(ClientAuthError::Unknown)?;
        if !uses_registered_method {
            return Err(ClientAuthError::OtherMethod);
        }
        outcome.map(|()| client)
    }

    /// Returns a public client, which has no credentials: its codes are bound to a PKCE challenge
    /// instead.
    fn identify_public_client(
        &self,
        client_id: &ClientId,
    ) -> Result<Arc<ServiceProvider>, ClientAuthError> {
        let client = self.core.federation.load().active_service_provider(client_id).cloned();
        let client = client.ok_or(ClientAuthError::NoCredentials)?;
        match (&client.authentication, client.registration.rules) {
            (ClientAuthentication::Public, _) => Ok(client),
            (ClientAuthentication::SecretPost(_), ProtocolRules::Federation) => {
                Err(ClientAuthError::NoCredentials)
            }
            _ => Err(ClientAuthError::NoAuthentication),
        }
    }

    fn is_public_client(&self, client_id: &ClientId) -> bool {
        let federation = self.core.federation.load();
        let client = federation.active_service_provider(client_id);
        client.is_some_and(|client| matches!(client.authentication, ClientAuthentication::Public))
    }

    fn authentication_error(&self, offered: &Credentials, error: ClientAuthError) -> GrantError {
        let named = offered.claimed_client();
        let federation = self.core.federation.load();
        let service = named.and_then(|id| federation.service_provider(id));
        let client_id = service.map(|service| service.registration.client_id.clone());
        let (code, rate_limited) = self.failures.count_failed_authentication(named, error.code());
        GrantError { code, client_id, reason: Some(error.to_string()), rate_limited }
    }

    /// Counts an introspection of an inactive token.
    ///
    /// # Errors
    /// The exceeded limit.
    pub(crate) fn count_inactive(&self, data_provider: &ClientId) -> Result<(), RateLimitError> {
        self.failures.count_inactive(data_provider)
    }

    /// Authenticates a data provider.
    ///
    /// # Errors
    /// A 401 that reads the same for every failure (R183); `TooManyFailures` over the limit.
    pub(crate) fn authenticate_data_provider(
        &self,
        request: &IntrospectionRequest,
    ) -> Result<Arc<DataProvider>, GrantError> {
        let claimed = request.claimed.as_ref();
        self.verify_data_provider(request).map_err(|code| {
            let (code, rate_limited) = self.failures.count_failed_authentication(claimed, code);
            // Only a registered id is logged: an unknown one could hold any text.
            let federation = self.core.federation.load();
            let client_id = claimed.filter(|id| {
                federation.data_provider(id).is_some() || federation.service_provider(id).is_some()
            });
            GrantError { code, client_id: client_id.cloned(), reason: None, rate_limited }
        })
    }

    fn verify_data_provider(
        &self,
        request: &IntrospectionRequest,
    ) -> Result<Arc<DataProvider>, ErrorCode> {
        let secret = request.secret.as_ref().map_err(|code| *code)?;
        let offered = digest::sha256(secret.reveal().as_bytes());
        let federation = self.core.federation.load();
        let found = request
            .claimed
            .as_ref()
            .and_then(|id| federation.data_provider(id))
            .filter(|provider| provider.active);
        // An unknown data provider costs the same comparison as a known one (R206).
        let outcome = check_secret(
            found.map(|provider| provider.secrets.as_slice()),
            &offered,
            self.core.env.now(),
        );
        let is_service_provider =
            request.claimed.as_ref().is_some_and(|id| federation.service_provider(id).is_some());
        let provider = found.ok_or(if is_service_provider {
            ErrorCode::DataProviderIsServiceProvider
        } else {
            ErrorCode::DataProviderUnknown
        })?;
        outcome.map_err(|error| match error {
            ClientAuthError::SecretNotYet => ErrorCode::DataProviderSecretNotYet,
            ClientAuthError::SecretExpired => ErrorCode::DataProviderSecretExpired,
            _ => ErrorCode::DataProviderSecret,
        })?;
        Ok(Arc::clone(provider))
    }
}

/// Checks that one of `registered` is the offered secret and is valid now. Without registered
/// secrets it makes the same comparison, so that timing does not reveal which ids exist (R206).
///
/// # Errors
/// `Secret`, `SecretNotYet`, `SecretExpired`.
fn check_secret(
    registered: Option<&[DatedSecret]>,
    offered: &[u8; 32],
    now: Timestamp,
) -> Result<(), ClientAuthError> {
    let dummy = [DatedSecret {
        sha256: [0; 32],
        validity: passerelle_federation::validity::Validity::default(),
    }];
    let found = registered.unwrap_or(&dummy).iter().fold(None, |found, secret| {
        let same = digest::constant_time_eq(&secret.sha256, offered);
        // A secret may be listed twice with different validity periods; one valid entry suffices.
        let status = secret.validity.status_at(now);
        if same && found != Some(ValidityStatus::Valid) { Some(status) } else { found }
    });
    match found {
        Some(ValidityStatus::Valid) => Ok(()),
        Some(ValidityStatus::NotYetValid) => Err(ClientAuthError::SecretNotYet),
        Some(ValidityStatus::Expired) => Err(ClientAuthError::SecretExpired),
        None => Err(ClientAuthError::Secret),
    }
}

/// Where the request carried the secret.
#[derive(Clone, Copy)]
enum SecretTransport {
    Post,
    Basic,
}

impl SecretTransport {
    /// Returns the secrets accepted in this place; `None` if another method is registered.
    fn registered_secrets(self, registered: &ClientAuthentication) -> Option<&[DatedSecret]> {
        match (self, registered) {
            (Self::Post, ClientAuthentication::SecretPost(secrets))
            | (Self::Basic, ClientAuthentication::SecretBasic(secrets))
            | (Self::Post | Self::Basic, ClientAuthentication::Secret(secrets)) => Some(secrets),
            _ => None,
        }
    }
}
