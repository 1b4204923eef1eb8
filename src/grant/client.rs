//! Who is calling: what a client offers at the token endpoint, against what it has registered (decisions 6).
//!
//! Owns: secrets and their dates, which method counts, and that whoever fails learns nothing by the answer or by its
//! time. Assertions are judged in `grant::assertion`. RFC 6749, 2.3; RFC 9700, 2.5.

use std::sync::Arc;

use super::Grants;
use super::assertion::AssertionFault;
use super::refusal::Refusal;
use crate::config::federation::Authentication;
use crate::config::{DatedSecret, Service, Standing};
use crate::digest;
use crate::env::Timestamp;
use crate::ids::{ClientId, Secret};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::client_auth::Credentials;

/// Why a client is not believed: for the operator's eyes.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ClientFault {
    #[error("no active service provider has this client_id")]
    Unknown,
    #[error("it used another method than its registered token_endpoint_auth_method")]
    OtherMethod,
    #[error("the secret is none of its secrets")]
    Secret,
    #[error("the secret is right, but its not_before has not come yet")]
    SecretNotYet,
    #[error("the secret is right, but its not_after has passed")]
    SecretExpired,
    #[error("its client assertion is refused: {0}")]
    Assertion(#[from] AssertionFault),
}

impl ClientFault {
    const fn code(self) -> ErrorCode {
        match self {
            Self::Unknown => ErrorCode::ClientUnknown,
            Self::OtherMethod => ErrorCode::ClientOtherMethod,
            Self::Secret => ErrorCode::ClientAuthentication,
            Self::SecretNotYet => ErrorCode::ClientSecretNotYet,
            Self::SecretExpired => ErrorCode::ClientSecretExpired,
            Self::Assertion(fault) => fault.code(),
        }
    }
}

impl Grants {
    /// The service provider that these credentials prove.
    ///
    /// # Errors
    /// A 401 that reads the same for an unknown id, an inactive one, another method than the registered one, and a
    /// secret or signature that is wrong; one that says what is wrong with an assertion whose signature holds; a 503
    /// where the hub can't tell; `TooManyMistakes` instead of a 401 that is one too many.
    pub async fn authenticate(&self, offered: &Credentials) -> Result<Arc<Service>, Refusal> {
        let judged = match offered {
            Credentials::SecretPost { client_id, secret } => {
                self.by_secret(client_id, secret, SecretBy::Post)
            }
            Credentials::SecretBasic { client_id, secret } => {
                self.by_secret(client_id, secret, SecretBy::Basic)
            }
            Credentials::Assertion { claimed, assertion } => {
                self.by_assertion(claimed.as_ref(), assertion.reveal()).await
            }
        };
        judged.map_err(|fault| self.refusal(offered, fault))
    }

    fn by_secret(
        &self,
        client_id: &ClientId,
        secret: &Secret<String>,
        by: SecretBy,
    ) -> Result<Arc<Service>, ClientFault> {
        let offered = digest::sha256(secret.reveal().as_bytes());
        let client = self.federation.load().active(client_id).cloned();
        let registered = client.as_ref().and_then(|client| by.registered(&client.authentication));
        let standing = standing(registered, &offered, self.env.now());
        let is_by_this_method = registered.is_some();
        let client = client.ok_or(ClientFault::Unknown)?;
        if !is_by_this_method {
            return Err(ClientFault::OtherMethod);
        }
        standing.map(|()| client)
    }

    fn refusal(&self, offered: &Credentials, fault: ClientFault) -> Refusal {
        let named = match offered {
            Credentials::SecretPost { client_id, .. }
            | Credentials::SecretBasic { client_id, .. } => Some(client_id),
            Credentials::Assertion { claimed, .. } => claimed.as_ref(),
        };
        let federation = self.federation.load();
        let service = named.and_then(|id| federation.service(id));
        let client_id = service.map(|service| service.registration.client_id.clone());
        let (code, over) = self.mistakes.authentication_failed(named, fault.code());
        Refusal { code, client_id, reason: Some(fault.to_string()), over }
    }
}

/// Whether one of `registered` is the secret offered, and counts now. Nobody's secrets, `None`, cost the same comparison as
/// somebody's, so that ids can't be listed by timing.
pub(super) fn standing(
    registered: Option<&[DatedSecret]>,
    offered: &[u8; 32],
    now: Timestamp,
) -> Result<(), ClientFault> {
    let nobody = [DatedSecret { sha256: [0; 32], validity: crate::config::Validity::default() }];
    let found = registered.unwrap_or(&nobody).iter().fold(None, |found, kept| {
        let same = digest::equal(&kept.sha256, offered);
        // A secret may be listed twice, with two spans of time: one that is valid now counts.
        let standing = kept.validity.at(now);
        if same && found != Some(Standing::Valid) { Some(standing) } else { found }
    });
    match found {
        Some(Standing::Valid) => Ok(()),
        Some(Standing::NotYet) => Err(ClientFault::SecretNotYet),
        Some(Standing::Over) => Err(ClientFault::SecretExpired),
        None => Err(ClientFault::Secret),
    }
}

/// Where a secret was put.
#[derive(Clone, Copy)]
enum SecretBy {
    Post,
    Basic,
}

impl SecretBy {
    /// The secrets that may come this way; `None` if another method is registered.
    fn registered(self, registered: &Authentication) -> Option<&[DatedSecret]> {
        match (self, registered) {
            (Self::Post, Authentication::SecretPost(secrets))
            | (Self::Basic, Authentication::SecretBasic(secrets))
            | (Self::Post | Self::Basic, Authentication::Secret(secrets)) => Some(secrets),
            _ => None,
        }
    }
}
