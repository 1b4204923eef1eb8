//! Reads refresh tokens, and derives the secret of the next one.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::RefreshGrant;
use passerelle_protocol::digest;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;

/// How long after a use the same request gets the same answer, because the first one was lost.
const REPEAT_GRACE: Duration = Duration::from_secs(30);

/// A secret that is no longer in use.
#[derive(Serialize, Deserialize)]
pub(super) struct ReplacedSecret {
    /// SHA-256 of the secret.
    secret: String,
    /// Key that derived the next secret from it. The next one is not stored, and can't be derived
    /// without the secret.
    #[serde(with = "passerelle_protocol::ids::stored_secret")]
    key: Secret<String>,
    replaced_at: Timestamp,
}

/// A refresh token, as sent: the name of its grant, and its secret.
#[derive(Clone, Copy)]
pub(super) struct RefreshTokenParts<'a> {
    pub grant: &'a str,
    secret: &'a str,
}

impl<'a> RefreshTokenParts<'a> {
    /// `None` for a text that can't be a refresh token; an access token has no dot.
    pub(super) fn parse(token: &'a str) -> Option<Self> {
        let (grant, secret) = token.split_once('.')?;
        Some(Self { grant, secret })
    }

    /// Returns whether this is the token in use.
    pub(super) fn is_in_use(self, grant: &RefreshGrant) -> bool {
        self.has_hash(&grant.secret)
    }

    /// Returns a secret that replaces this one, and what is stored of this one.
    pub(super) fn replace_secret(
        self,
        env: &Env,
        now: Timestamp,
    ) -> (ReplacedSecret, Secret<String>) {
        let key = Secret::new(env.entropy().token());
        let next = self.next_secret(&key);
        let secret = digest::sha256_base64url(self.secret);
        (ReplacedSecret { secret, key, replaced_at: now }, next)
    }

    /// Returns the secret in use, if it replaced this one a moment ago.
    pub(super) fn repeated_answer(
        self,
        grant: &RefreshGrant,
        now: Timestamp,
    ) -> Option<Secret<String>> {
        let replaced = grant.replaced.as_ref()?;
        let is_recent = now < replaced.replaced_at + REPEAT_GRACE;
        (is_recent && self.has_hash(&replaced.secret)).then(|| self.next_secret(&replaced.key))
    }

    /// Returns the token of the same grant with this secret.
    pub(super) fn with_secret(self, secret: &Secret<String>) -> Secret<String> {
        Secret::new(format!("{}.{}", self.grant, secret.reveal()))
    }

    fn next_secret(self, key: &Secret<String>) -> Secret<String> {
        let tag = digest::hmac_parts(
            key.reveal().as_bytes(),
            &[b"refresh token", self.secret.as_bytes()],
        );
        Secret::new(digest::base64url(&tag))
    }

    fn has_hash(self, hash: &str) -> bool {
        let own = digest::sha256_base64url(self.secret);
        digest::constant_time_eq(own.as_bytes(), hash.as_bytes())
    }
}
