//! L2 · Counts of several hubs: a sorted set for each minute, its members hashes that only hubs can make.
//!
//! One key, so that one script adds a whole batch in one round trip and knows one that it has had; it moves with each
//! minute, so a Cluster's nodes take turns. An address prefix has few values: a plain hash of it could be tried out by
//! whoever reads the server, so it is an HMAC under a key derived from the seal key, and another one each minute.

use async_trait::async_trait;
use redis::Value;

use super::{RedisStore, unexpected};
use crate::digest;
use crate::store::StoreFault;
use crate::store::counters::{Batch, Counters, WINDOW};

#[async_trait]
impl Counters for RedisStore {
    async fn add(&self, batch: &Batch) -> Result<Vec<u64>, StoreFault> {
        let key = format!("{}:q:{}", self.prefix, batch.window);
        let window = batch.window.to_be_bytes();
        // The mark tells a hub from a subject.
        let hub = format!("!{}", digest::base64url(&batch.hub));
        let (kept, number) = ((WINDOW * 2).as_millis().to_string(), batch.number.to_string());
        let mut owned = vec![kept.into_bytes(), hub.into_bytes(), number.into_bytes()];
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
        let Value::Array(sums) = self.link.run(&self.scripts.count, &key, &arguments).await? else {
            return Err(unexpected());
        };
        let sums: Option<Vec<u64>> = sums.into_iter().map(whole).collect();
        sums.filter(|sums| sums.len() == batch.additions.len()).ok_or_else(unexpected)
    }
}

fn whole(sum: Value) -> Option<u64> {
    match sum {
        Value::Int(sum) => sum.try_into().ok(),
        _ => None,
    }
}
