//! L2 · The store that many hubs share: Redis or Valkey, alone, under Sentinels, or as a Cluster (architecture 5).
//!
//! Owns: the verbs over a network. Must not know: what a record means.
//!
//! **One key for each record**, a hash, spread over a Cluster; no verb needs two keys at once. What several records have
//! in common is their families: a family is a set of its members, and revoking it closes the set, then ends each member.
//! So looking at a token costs one round trip, and ending a session as many as it must (docs/redis.md has the proof that
//! no member can slip through).
//!
//! **Time.** A record is gone by its own `expires_at` and the `now` of the verb; the server only frees its memory, some
//! time later. Durations travel, not moments, so that the server's clock decides nothing.

mod agreement;
mod counters;
mod inspect;
mod link;
mod names;
mod pack;
mod places;
mod record;
mod scripts;
mod target;
#[cfg(test)]
pub(crate) mod tests;
mod verbs;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use redis::Value;

use self::inspect::Inspected;
use self::link::{Link, Trouble};
use self::places::Places;
use self::record::{Birth, FAMILY, Head, Malformed, State};
use self::scripts::Scripts;
use self::target::Target;
use crate::config::StoreCredentials;
use crate::config::model::RedisConfig;
use crate::digest;
use crate::env::{Env, Timestamp};
use crate::store::seal::{Ring, SealFault};
use crate::store::{Capacities, Key, Kind, Record, StoreFault, Version};
use crate::telemetry::Metrics;

/// The server keeps what is over for this much longer: hubs' clocks differ, and a lost answer is asked for again.
const GRACE: Duration = Duration::from_secs(60);
/// A reading that counts as a write (it changes nothing, and is not replicated): a primary that was cut off and replaced
/// without having heard of it refuses it, for want of replicas, where GET would show what has been ended elsewhere.
const READ: &str = "GETEX";
/// How long what is left of a revoked record refuses the insertion that may still be on its way.
const IN_FLIGHT: Duration = Duration::from_secs(60);
const LONGEST_LIFE: Duration = Duration::from_secs(366 * 24 * 3600);

/// Records on servers that any number of hubs share.
pub struct RedisStore {
    link: Arc<Link>,
    scripts: Scripts,
    ring: Ring,
    places: Places,
    prefix: String,
    /// The first half of the births of this store's records: whose place is whose.
    own: [u8; 4],
    /// What subjects of counts are hashed with.
    counter_key: [u8; 32],
    /// Whose records these are; empty where nobody asks.
    issuer: String,
    env: Env,
}

/// Why a store can't be had.
#[derive(thiserror::Error, Debug)]
pub enum RedisFault {
    #[error("there is no thread for the store: {0}")]
    Thread(#[from] std::io::Error),
    /// Starting all the same would lose sessions later.
    #[error("the store, {at}, can't be used: {why}")]
    Unfit { at: String, why: String },
}

impl RedisStore {
    /// Connects when it is first asked, or a moment later.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn new(
        config: &RedisConfig,
        credentials: &StoreCredentials,
        capacities: Capacities,
        env: Env,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, RedisFault> {
        let limit = Duration::from_millis(config.call_milliseconds);
        let [a, b, c, d, ..] = env.entropy().bits256();
        // The one that seals; while keys change, hubs with another first key count apart (docs/limits.md).
        let seal_key = credentials.seal_keys.first().map_or("", |key| key.reveal());
        let counter_key = digest::hmac(b"passerelle counters 1", seal_key.as_bytes());
        Ok(Self {
            counter_key,
            link: Link::new(
                Target::new(config, credentials),
                limit,
                &config.prefix,
                Arc::clone(metrics),
            )?,
            scripts: Scripts::default(),
            ring: Ring::new(&credentials.seal_keys),
            places: Places::new(capacities),
            prefix: config.prefix.clone(),
            own: [a, b, c, d],
            issuer: String::new(),
            env,
        })
    }

    /// For the hubs of this issuer alone.
    #[must_use]
    pub fn of_hub(self, issuer: &str) -> Self {
        Self { issuer: issuer.to_owned(), ..self }
    }

    /// Asks the servers what they are: one line for the operator. One that is away is no fault of the configuration, and
    /// is told as such.
    ///
    /// # Errors
    /// `Unfit`: servers that must not be used as they are set up.
    pub async fn inspect(&self) -> Result<Result<String, String>, RedisFault> {
        let at = self.link.described();
        let judged = async {
            let inspected: Inspected = self.link.inspect().await?;
            inspected.judge().map_err(Trouble::Unfit)?;
            self.agree().await?;
            Ok(inspected.summary(self.env.now()))
        };
        match judged.await {
            Ok(summary) => Ok(Ok(format!("{at}: {summary}"))),
            Err(Trouble::Unfit(why)) => Err(RedisFault::Unfit { at, why }),
            Err(trouble) => Ok(Err(format!("{at}: {trouble}"))),
        }
    }

    /// [`Self::inspect`] for a hub that starts and can't await; from now on the keys of those that start later must include
    /// its own. A few seconds at most.
    ///
    /// # Errors
    /// `Unfit`.
    pub fn join_and_wait(self: &Arc<Self>) -> Result<Result<String, String>, RedisFault> {
        let (store, (reply, answer)) = (Arc::clone(self), std::sync::mpsc::channel());
        self.link.at_home(async move {
            let inspected = store.inspect().await;
            if matches!(inspected, Ok(Ok(_)))
                && let Err(trouble) = store.mark().await
            {
                tracing::warn!(%trouble, "hubs that start later can't be told of this one's keys");
            }
            let _nobody_waits = reply.send(inspected);
        });
        answer.recv().unwrap_or_else(|_| Ok(Err("its thread has ended".to_owned())))
    }

    /// What keeps the store from answering, as far as is known without asking.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        self.link.complaint().map(|trouble| trouble.to_string())
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("at", &self.link.described()).finish_non_exhaustive()
    }
}

/// Where a record lies: the hash of its kind and name, so that no name is ever told to a server.
struct Place {
    kind: Kind,
    hash: [u8; 32],
    key: String,
}

impl RedisStore {
    fn place(&self, key: &Key) -> Place {
        let hash = digest::sha256(&[&[key.kind.letter()], key.name.as_bytes()].concat());
        self.place_of(key.kind, hash)
    }

    fn place_of(&self, kind: Kind, hash: [u8; 32]) -> Place {
        let key =
            format!("{}:{}:{}", self.prefix, char::from(kind.letter()), digest::base64url(&hash));
        Place { kind, hash, key }
    }

    fn family_key(&self, family: &[u8; FAMILY]) -> String {
        format!("{}:f:{}", self.prefix, digest::base64url(family))
    }

    fn fresh(&self) -> (Birth, [u8; 12]) {
        let [a, b, c, d] = self.own;
        let bits = self.env.entropy().bits256();
        let [e, f, g, h, rest @ ..] = bits;
        ([a, b, c, d, e, f, g, h], rest.first_chunk().copied().unwrap_or_default())
    }

    fn seal(
        &self,
        place: &Place,
        bound: &[u8],
        nonce: &[u8; 12],
        value: &[u8],
    ) -> Result<Vec<u8>, StoreFault> {
        let sealed = self.ring.seal(&place.hash, bound, nonce, &pack::pack(value));
        sealed.map_err(|fault| StoreFault::Unavailable(fault.to_string()))
    }

    /// `None` for what was tampered with: to a hub it is not there.
    fn open(
        &self,
        place: &Place,
        head: &Head,
        sealed: &[u8],
    ) -> Result<Option<Arc<[u8]>>, StoreFault> {
        match self.ring.open(&place.hash, &head.bound(), sealed) {
            Ok(packed) => Ok(Some(pack::unpack(&packed).map_err(malformed)?.into())),
            Err(SealFault::Broken) => {
                tracing::error!(kind = ?place.kind, "a record in the store was tampered with; it counts as absent");
                Ok(None)
            }
            Err(fault) => Err(StoreFault::Unavailable(format!("a record can't be read: {fault}"))),
        }
    }

    /// A live record's bytes, whether or not it is over.
    fn read(&self, place: &Place, bytes: &[u8]) -> Result<Option<Record>, StoreFault> {
        let (head, rest) = Head::read(bytes).map_err(malformed)?;
        if head.state != State::Live {
            return Ok(None);
        }
        let value = self.open(place, &head, record::sealed_value(rest).map_err(malformed)?)?;
        Ok(value.map(|value| Record { version: head.version, value, expires_at: head.expires_at }))
    }

    /// Whether a record or a tombstone stands there.
    async fn stands(&self, place: &Place, now: Timestamp) -> Result<bool, StoreFault> {
        match self.link.ask("load", redis::cmd(READ).arg(&place.key)).await? {
            Value::BulkString(bytes) => {
                let (head, _) = Head::read(&bytes).map_err(malformed)?;
                Ok(head.state != State::Revoked && head.expires_at > now)
            }
            _ => Ok(false),
        }
    }

    /// Tells each family of a member that may live until then.
    async fn join(
        &self,
        families: &[[u8; FAMILY]],
        (place, birth): (&Place, &Birth),
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Joined, StoreFault> {
        let member = [&[place.kind.letter()][..], &place.hash, birth].concat();
        let (until_text, now_text, px, over) =
            (text(until), text(now), kept_for(until, now), text(now - GRACE));
        let arguments: [&[u8]; 5] =
            [&member, until_text.as_bytes(), now_text.as_bytes(), px.as_bytes(), over.as_bytes()];
        let joins = families.iter().map(async |family| {
            self.link.run(&self.scripts.join, &self.family_key(family), &arguments).await
        });
        let mut joined = Joined::Yes;
        for answer in join_all(joins).await {
            if answer? == Value::Int(0) {
                joined = Joined::Closed;
            }
        }
        Ok(joined)
    }

    /// Ends one member, unless another record has come in its stead.
    async fn kill(&self, place: &Place, birth: &Birth, now: Timestamp) -> Result<(), StoreFault> {
        let left =
            Head { state: State::Revoked, version: Version(0), expires_at: now, birth: *birth };
        let left = [&left.bound()[..], birth].concat();
        let px = IN_FLIGHT.as_millis().to_string();
        let killed =
            self.link.run(&self.scripts.kill, &place.key, &[birth, &left, px.as_bytes()]).await?;
        self.give_back(place.kind, &killed);
        Ok(())
    }

    /// The place of a record of this store's that is no more.
    fn give_back(&self, kind: Kind, old: &Value) {
        if let Value::BulkString(old) = old
            && let Some(head) = self.own_head(old)
        {
            self.places.free(kind, head.expires_at);
        }
    }

    fn moved(&self, kind: Kind, old: &[u8], to: Timestamp, bytes: Option<usize>) {
        if let Some(head) = self.own_head(old) {
            self.places.moved(kind, head.expires_at, to, bytes);
        }
    }

    fn own_head(&self, old: &[u8]) -> Option<Head> {
        Head::read(old).ok().map(|(head, _)| head).filter(|head| head.birth.starts_with(&self.own))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    Yes,
    Closed,
}

fn text(moment: Timestamp) -> String {
    record::millis(moment).to_string()
}

/// How long the server keeps it, in milliseconds.
fn kept_for(until: Timestamp, now: Timestamp) -> String {
    until.since(now).saturating_add(GRACE).min(LONGEST_LIFE).as_millis().to_string()
}

fn parts(answer: &Value) -> &[Value] {
    match answer {
        Value::Array(parts) => parts,
        _ => &[],
    }
}

impl From<Trouble> for StoreFault {
    fn from(trouble: Trouble) -> Self {
        Self::Unavailable(trouble.to_string())
    }
}

fn malformed(fault: Malformed) -> StoreFault {
    StoreFault::Unavailable(fault.to_string())
}

fn unexpected() -> StoreFault {
    StoreFault::Unavailable(
        "its answer is none that a hub's script gives: other programs use these keys".to_owned(),
    )
}
