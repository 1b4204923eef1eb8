//! L2 · Whether hubs that share the servers have keys in common: each hub that starts leaves a mark, sealed under the key
//! that it seals with, and a hub that can't open the mark of the one before it must not start. It would answer 503 wherever
//! it met another's record, and the others wherever they met one of its own.
//! And whether they are one: the mark says whose it is, for hubs of two platforms must not share records by mistake.
//!
//! Owns: the mark. Must not know: records.

use redis::Value;

use super::link::Trouble;
use super::{LONGEST_LIFE, RedisStore};
use crate::store::seal::SealFault;

const BOUND: &[u8] = b"passerelle ring 1";

impl RedisStore {
    /// Looks at the mark, and changes nothing.
    ///
    /// # Errors
    /// `Unfit` for a ring that lacks the key of the hub that started last.
    pub(super) async fn agree(&self) -> Result<(), Trouble> {
        let key = self.mark_key();
        let Value::BulkString(mark) = self.link.ask("load", redis::cmd("GET").arg(&key)).await?
        else {
            return Ok(());
        };
        match self.ring.open(key.as_bytes(), BOUND, &mark) {
            Err(SealFault::UnknownKey) => Err(Trouble::Unfit(format!(
                "the hub that started last seals under a key that seal_keys lacks here: all hubs that share a store need the \
                 same keys (docs/redis.md, Rotation). If no such hub is left, delete {key} there"
            ))),
            Ok(other) if !other.is_empty() && other != self.issuer.as_bytes() => {
                Err(Trouble::Unfit(format!(
                    "the hub that started last there is {}, and sessions of one must not count for another: give each its own prefix \
                 and its own seal_keys. If no such hub is left, delete {key} there",
                    String::from_utf8_lossy(&other)
                )))
            }
            // What was tampered with says nothing.
            Ok(_) | Err(SealFault::Broken | SealFault::Openssl) => Ok(()),
        }
    }

    /// Leaves this hub's mark.
    pub(super) async fn mark(&self) -> Result<(), Trouble> {
        let (key, (_, nonce)) = (self.mark_key(), self.fresh());
        let mark = self
            .ring
            .seal(key.as_bytes(), BOUND, &nonce, self.issuer.as_bytes())
            .map_err(|fault| Trouble::Refused(fault.to_string()))?;
        let mut set = redis::cmd("SET");
        set.arg(&key).arg(mark).arg("PX").arg(LONGEST_LIFE.as_millis().to_string());
        self.link.ask("insert", &set).await.map(drop)
    }

    fn mark_key(&self) -> String {
        format!("{}:ring", self.prefix)
    }
}
