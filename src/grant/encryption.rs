//! Sealing answers to the service provider that asked (R005, R007; decisions 6, High).
//!
//! Owns: which key an answer is sealed with, and that on the high platform none leaves unsealed. Must not know: how a
//! JWE is made, where keys come from.

use std::sync::Arc;

use super::Grants;
use crate::assurance::Platform;
use crate::config::Service;
use crate::ids::ClientId;
use crate::protocol::catalogue::ErrorCode;
use crate::token::seal::{EncryptionKey, Mark};

/// What is to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    IdToken,
    Userinfo,
}

/// What an answer goes out in; chosen before the work begins, so that keys which change meanwhile change nothing.
#[derive(Debug)]
pub(super) enum Envelope {
    /// The standard platform: signed, and legible.
    Open,
    Sealed(Arc<EncryptionKey>),
}

impl Envelope {
    pub(super) fn close(&self, jws: String) -> Result<String, ErrorCode> {
        self.close_with(jws, None)
    }

    /// The same; an encrypted answer can be recognized by this mark.
    pub(super) fn close_with(
        &self,
        jws: String,
        mark: Option<Mark<'_>>,
    ) -> Result<String, ErrorCode> {
        let Self::Sealed(key) = self else { return Ok(jws) };
        let sealed = mark.map_or_else(|| key.seal(&jws), |mark| key.seal_marked(&jws, &mark));
        sealed.map_err(|fault| {
            tracing::error!(%fault, kid = key.kid, "an answer could not be sealed");
            ErrorCode::SealingFailed
        })
    }
}

impl Grants {
    /// Whether this service provider's answers could be written now: on the high platform, whether its keys are known.
    ///
    /// # Errors
    /// `ClientKeysMissing`.
    pub fn can_answer(&self, client_id: &ClientId) -> Result<(), ErrorCode> {
        let federation = self.federation.load();
        let Some(client) = federation.active(client_id) else { return Ok(()) };
        self.envelope(client, Answer::IdToken)?;
        self.envelope(client, Answer::Userinfo)?;
        Ok(())
    }

    /// # Errors
    /// `ClientKeysMissing`; never an open envelope on the high platform.
    pub(super) fn envelope(&self, client: &Service, answer: Answer) -> Result<Envelope, ErrorCode> {
        let encryption = match (self.platform, &client.encryption) {
            (Platform::Standard, None) => return Ok(Envelope::Open),
            // No loaded configuration leads here; one that is put together otherwise must not leak.
            (Platform::High, None) => return Err(ErrorCode::ClientKeysMissing),
            (Platform::Standard | Platform::High, Some(encryption)) => encryption,
        };
        let alg = match answer {
            Answer::IdToken => encryption.id_token,
            Answer::Userinfo => encryption.userinfo,
        };
        let keys = self
            .client_keys
            .keys(&client.registration.client_id, &client.keys)
            .ok_or(ErrorCode::ClientKeysMissing)?;
        keys.encryption
            .choose(alg)
            .cloned()
            .map(Envelope::Sealed)
            .ok_or(ErrorCode::ClientKeysMissing)
    }
}
