//! Stores the shared counters in Redis: one sorted set per minute, with hashed members.
//!
//! One key per minute, so that one script adds a whole batch in one round trip and recognises a
//! repeated batch. In a Cluster the key moves to another node each minute. Network prefixes are few
//! enough to guess from a plain hash, so a member is an HMAC with a key derived from the encryption
//! key, different each minute.

use async_trait::async_trait;
use redis::Value;

use super::{RedisStore, unexpected_reply};
use crate::StoreError;
use crate::counters::{CounterBatch, Counters, WINDOW_LENGTH};
use passerelle_protocol::digest;

#[async_trait]
impl Counters for RedisStore {
    async fn add(&self, batch: &CounterBatch) -> Result<Vec<u64>, StoreError> {
        let key = format!("{}:q:{}", self.prefix, batch.window);
        let window = batch.window.to_be_bytes();
        // The prefix distinguishes hubs from subjects.
        let hub = format!("!{}", digest::base64url(&batch.hub));
        let (ttl, number) = ((WINDOW_LENGTH * 2).as_millis().to_string(), batch.number.to_string());
        let mut owned = vec![ttl.into_bytes(), hub.into_bytes(), number.into_bytes()];
        for (counted, count) in &batch.additions {
            let member = digest::hmac_parts(
                &self.counter_key,
                &[counted.limit.as_bytes(), &counted.subject, &window],
            );
            let member = member.first_chunk::<16>().copied().unwrap_or_default();
            owned.push(digest::base64url(&member).into_bytes());
            owned.push(count.to_string().into_bytes());
        }
        let arguments: Vec<&[u8]> = owned.iter().map(Vec::as_slice).collect();
        let Value::Array(sums) =
            self.connections.run_script(&self.scripts.add_counts, &key, &arguments).await?
        else {
            return Err(unexpected_reply());
        };
        let sums: Option<Vec<u64>> = sums.into_iter().map(non_negative).collect();
        sums.filter(|sums| sums.len() == batch.additions.len()).ok_or_else(unexpected_reply)
    }
}

fn non_negative(sum: Value) -> Option<u64> {
    match sum {
        Value::Int(sum) => sum.try_into().ok(),
        _ => None,
    }
}
