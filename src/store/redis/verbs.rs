//! L2 · The port's verbs: what is sent for each, and what its answer means.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use redis::{Cmd, Value};

use super::link::Trouble;
use super::names::{Member, hash_of};
use super::record::{self, FAMILY, Head, State};
use super::{GRACE, Joined, Place, READ, RedisStore, kept_for, malformed, parts, text, unexpected};
use crate::env::Timestamp;
use crate::store::{
    Draft, Family, Key, Kind, Loaded, Reach, Record, Replaced, Store, StoreFault, Taken, Usage,
    Version,
};

#[async_trait]
impl Store for RedisStore {
    async fn insert(&self, key: Key, draft: Draft, now: Timestamp) -> Result<Version, StoreFault> {
        let place = self.place(&key);
        if !self.places.admit(key.kind, draft.value.len(), draft.first_end(), now) {
            // A replay is told as one, also by a hub that is full.
            return Err(if self.stands(&place, now).await? {
                StoreFault::Exists
            } else {
                StoreFault::Full
            });
        }
        let inserted = self.insert_admitted(&place, &draft, now).await;
        if inserted.is_err() {
            self.places.free(key.kind, draft.first_end());
        }
        inserted
    }

    async fn load(&self, key: &Key, now: Timestamp) -> Result<Option<Record>, StoreFault> {
        let place = self.place(key);
        // Read each second, whether or not anybody logs in: counted apart.
        let verb = if key.kind.is_watched() { "watch" } else { "load" };
        match self.link.ask(verb, redis::cmd(READ).arg(&place.key)).await? {
            Value::BulkString(bytes) => {
                Ok(self.read(&place, &bytes)?.filter(|record| record.expires_at > now))
            }
            _ => Ok(None),
        }
    }

    async fn load_and_keep(&self, key: &Key, now: Timestamp) -> Result<Option<Loaded>, StoreFault> {
        let place = self.place(key);
        let (now_text, grace) = (text(now), GRACE.as_millis().to_string());
        let answer = self
            .link
            .run(&self.scripts.keep, &place.key, &[now_text.as_bytes(), grace.as_bytes()])
            .await?;
        let [Value::BulkString(bytes), Value::Int(left)] = parts(&answer) else {
            return if parts(&answer).is_empty() { Ok(None) } else { Err(unexpected()) };
        };
        let left = u64::try_from(*left).ok().map(Duration::from_millis);
        if let (Some(left), Some(head)) = (left, self.own_head(bytes)) {
            self.places.kept(place.kind, now + left, head.expires_at);
        }
        let record = self.read(&place, bytes)?.filter(|record| record.expires_at > now);
        Ok(record.map(|record| Loaded { record, is_first: left.is_some() }))
    }

    async fn load_many(
        &self,
        keys: &[Key],
        now: Timestamp,
    ) -> Result<Vec<Option<Record>>, StoreFault> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let places: Vec<Place> = keys.iter().map(|key| self.place(key)).collect();
        let commands: Vec<Cmd> = places.iter().map(|place| read_command(&place.key)).collect();
        let answer = self.link.ask_many("load", &commands).await?;
        if parts(&answer).len() != places.len() {
            return Err(unexpected());
        }
        let records = places.iter().zip(parts(&answer)).map(|(place, answer)| match answer {
            Value::BulkString(bytes) => {
                Ok(self.read(place, bytes)?.filter(|record| record.expires_at > now))
            }
            _ => Ok(None),
        });
        records.collect()
    }

    async fn replace(
        &self,
        key: &Key,
        expected: Version,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Replaced, StoreFault> {
        let place = self.place(key);
        let next = Version(expected.0.saturating_add(1));
        let bound = record::bound(State::Live, next, expires_at);
        let sealed = self.seal(&place, &bound, &self.fresh().1, &value)?;
        let (old, now_text, until, px) =
            (expected.0.to_be_bytes(), text(now), text(expires_at), kept_for(expires_at, now));
        let mut horizon = "0".to_owned();
        // Twice at most: the second time its families know how long it will live.
        for _ in 0..2 {
            let arguments: [&[u8]; 7] = [
                &old,
                &bound,
                &sealed,
                now_text.as_bytes(),
                px.as_bytes(),
                until.as_bytes(),
                horizon.as_bytes(),
            ];
            let answer = self.link.run(&self.scripts.replace, &place.key, &arguments).await?;
            match parts(&answer) {
                [Value::Int(1), before @ ..] => {
                    if let [Value::BulkString(before)] = before {
                        self.moved(place.kind, before, expires_at, Some(value.len()));
                    }
                    return Ok(Replaced::Done(next));
                }
                [Value::Int(0)] => return Ok(Replaced::Stale),
                [Value::Int(-1)] => return Ok(Replaced::Gone),
                [Value::Int(2), Value::BulkString(told)] => {
                    let (birth, families) = told.split_first_chunk::<8>().ok_or_else(unexpected)?;
                    let (families, _) = families.as_chunks::<FAMILY>();
                    if self.join(families, (&place, birth), expires_at, now).await?
                        == Joined::Closed
                    {
                        return Ok(Replaced::Gone);
                    }
                    horizon.clone_from(&until);
                }
                _ => return Err(unexpected()),
            }
        }
        Err(unexpected())
    }

    async fn take(
        &self,
        key: &Key,
        tombstone: Vec<u8>,
        tombstone_until: Timestamp,
        now: Timestamp,
    ) -> Result<Taken, StoreFault> {
        let place = self.place(key);
        let bound = record::bound(State::Tombstone, Version(0), tombstone_until);
        let sealed = self.seal(&place, &bound, &self.fresh().1, &tombstone)?;
        let (now_text, px) = (text(now), kept_for(tombstone_until, now));
        let arguments: [&[u8]; 4] = [&bound, &sealed, now_text.as_bytes(), px.as_bytes()];
        let answer = self.link.run(&self.scripts.take, &place.key, &arguments).await?;
        match parts(&answer) {
            // The third part is there when an earlier try had won already, and its answer was lost.
            [Value::Int(1), Value::BulkString(taken), earlier @ ..] => {
                if earlier.is_empty() {
                    self.moved(place.kind, taken, tombstone_until, None);
                }
                Ok(self.read(&place, taken)?.map_or(Taken::Gone, Taken::Won))
            }
            [Value::Int(2), Value::BulkString(head), Value::BulkString(left)] => {
                let (head, _) = Head::read(head).map_err(malformed)?;
                let left = self.open(&place, &Head { version: Version(0), ..head }, left)?;
                Ok(left.map_or(Taken::Gone, Taken::Spent))
            }
            [Value::Int(0)] => Ok(Taken::Gone),
            _ => Err(unexpected()),
        }
    }

    async fn remove(&self, key: &Key) -> Result<(), StoreFault> {
        let place = self.place(key);
        let old = self.link.run(&self.scripts.remove, &place.key, &[]).await?;
        self.give_back(place.kind, &old);
        Ok(())
    }

    async fn remove_version(
        &self,
        key: &Key,
        version: Version,
        now: Timestamp,
    ) -> Result<bool, StoreFault> {
        let place = self.place(key);
        let (version, now_text, grace) =
            (version.0.to_be_bytes(), text(now), GRACE.as_millis().to_string());
        let arguments: [&[u8]; 3] = [&version, now_text.as_bytes(), grace.as_bytes()];
        match parts(&self.link.run(&self.scripts.remove_version, &place.key, &arguments).await?) {
            [Value::BulkString(old), Value::Int(left)] => {
                let (head, _) = Head::read(old).map_err(malformed)?;
                if self.own_head(old).is_some() {
                    match u64::try_from(*left) {
                        Ok(left) => {
                            self.places.free_about(place.kind, now + Duration::from_millis(left))
                        }
                        Err(_) => self.places.free(place.kind, head.expires_at),
                    }
                }
                Ok(head.expires_at > now)
            }
            _ => Ok(false),
        }
    }

    async fn revoke(
        &self,
        family: &Family,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreFault> {
        let key = self.family_key(&hash_of(family));
        let (until_text, now_text, px, over) =
            (text(until), text(now), kept_for(until, now), text(now - GRACE));
        let arguments: [&[u8]; 4] =
            [until_text.as_bytes(), now_text.as_bytes(), px.as_bytes(), over.as_bytes()];
        let answer = self.link.run(&self.scripts.close, &key, &arguments).await?;
        let members = parts(&answer).iter().map(|member| match member {
            Value::BulkString(bytes) => Member::read(bytes),
            _ => None,
        });
        let members: Vec<Member> = members.collect::<Option<_>>().ok_or_else(unexpected)?;
        let kills = members.iter().map(async |member| {
            self.kill(&self.place_of(member.kind, member.hash), &member.birth, now).await
        });
        join_all(kills).await.into_iter().collect()
    }

    fn reach(&self) -> Reach {
        Reach::Shared
    }

    /// Those that this hub has admitted.
    fn count(&self, kind: Kind) -> usize {
        self.places.used(kind)
    }

    fn usage(&self, kind: Kind) -> Usage {
        self.places.usage(kind)
    }
}

fn read_command(key: &str) -> Cmd {
    let mut command = redis::cmd(READ);
    command.arg(key);
    command
}

impl RedisStore {
    async fn insert_admitted(
        &self,
        place: &Place,
        draft: &Draft,
        now: Timestamp,
    ) -> Result<Version, StoreFault> {
        let (birth, nonce) = self.fresh();
        let (version, until) = (Version(1), draft.expires_at);
        let families: Vec<[u8; FAMILY]> = draft.families.iter().map(hash_of).collect();
        let bound = record::bound(State::Live, version, until);
        let sealed = self.seal(place, &bound, &nonce, &draft.value)?;
        let bytes = [&bound[..], &birth, &record::families(&families, until), &sealed].concat();
        let px = match draft.unread_until {
            // By the server's clock alone, and so without the grace that hubs' clocks get.
            Some(unread_until) if unread_until < until => {
                unread_until.since(now).as_millis().max(1).to_string()
            }
            _ => kept_for(until, now),
        };
        let now_text = text(now);
        let arguments: [&[u8]; 3] = [&bytes, now_text.as_bytes(), px.as_bytes()];
        let insert = self.link.run(&self.scripts.insert, &place.key, &arguments);
        // At once: nobody knows the key before this function says so, and a family that is found closed ends the record.
        let (inserted, joined) =
            futures_util::join!(insert, self.join(&families, (place, &birth), until, now));
        let inserted = match inserted {
            Ok(Value::Int(1)) => Ok(version),
            Ok(Value::Int(0)) => Err(StoreFault::Exists),
            Ok(Value::Int(-1)) => Err(StoreFault::Revoked),
            Ok(_) => Err(unexpected()),
            // Above it, the capacities of all hubs; nothing live is evicted for a newcomer.
            Err(Trouble::Full) => Err(StoreFault::Full),
            Err(trouble) => Err(trouble.into()),
        };
        let inserted = match joined {
            Ok(Joined::Yes) => inserted,
            Ok(Joined::Closed) => Err(StoreFault::Revoked),
            Err(fault) => inserted.and(Err(fault)),
        };
        if !matches!(inserted, Ok(_) | Err(StoreFault::Exists | StoreFault::Full)) {
            // Nothing half-done remains; what can't be ended now was told to nobody, and ends by time.
            let _undone = self.kill(place, &birth, now).await;
        }
        inserted
    }
}
