//! Checks that the hubs of one store share keys and an issuer.
//!
//! Each hub that starts leaves a marker: its issuer, encrypted with its first key. A hub that can't
//! decrypt the marker of the previous one must not start: both would answer 503 wherever they met
//! each other's records. A hub with another issuer must not start either, because sessions of one
//! platform must not count for another.

use redis::Value;

use super::call_error::RedisCallError;
use super::{MAX_TTL, RedisStore};
use crate::encryption::EncryptionError;

const MARKER_ASSOCIATED_DATA: &[u8] = b"passerelle ring 1";

impl RedisStore {
    /// Compares the marker with this hub's keys and issuer, without changing it.
    ///
    /// # Errors
    /// `Misconfigured` if this hub lacks the key of the marker, or if the issuer differs.
    pub(super) async fn check_marker(&self) -> Result<(), RedisCallError> {
        let key = self.marker_key();
        let Value::BulkString(marker) =
            self.connections.query("load", redis::cmd("GET").arg(&key)).await?
        else {
            return Ok(());
        };
        match self.encryption_keys.decrypt(key.as_bytes(), MARKER_ASSOCIATED_DATA, &marker) {
            Err(EncryptionError::UnknownKey) => Err(RedisCallError::Misconfigured(format!(
                "the hub that started last encrypts with a key that encryption_keys lacks here: all hubs that share a store need \
                 the same keys (docs/redis.md, Rotation). If no such hub is left, delete {key} there"
            ))),
            Ok(other) if other != self.issuer.as_bytes() => {
                Err(RedisCallError::Misconfigured(format!(
                    "the hub that started last there is {}, and sessions of one must not count for another: \
                     give each its own prefix and its own encryption_keys. If no such hub is left, delete {key} there",
                    String::from_utf8_lossy(&other)
                )))
            }
            // A marker that was tampered with proves nothing.
            Ok(_) | Err(EncryptionError::Corrupted | EncryptionError::Openssl) => Ok(()),
        }
    }

    /// Writes this hub's marker.
    ///
    /// # Errors
    /// Any error of the call.
    pub(super) async fn write_marker(&self) -> Result<(), RedisCallError> {
        let (key, (_, nonce)) = (self.marker_key(), self.new_insertion_id_and_nonce());
        let marker = self
            .encryption_keys
            .encrypt(key.as_bytes(), MARKER_ASSOCIATED_DATA, &nonce, self.issuer.as_bytes())
            .map_err(|error| RedisCallError::Rejected(error.to_string()))?;
        let mut set = redis::cmd("SET");
        set.arg(&key).arg(marker).arg("PX").arg(MAX_TTL.as_millis().to_string());
        self.connections.query("insert", &set).await.map(drop)
    }

    fn marker_key(&self) -> String {
        format!("{}:ring", self.prefix)
    }
}
