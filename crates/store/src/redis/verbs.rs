//! Implements [`Store`] for Redis: the script call of each operation, and the meaning of its reply.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use redis::{Cmd, Value};

use super::family_members::{FamilyMember, family_hash};
use super::record::{self, FAMILY_HASH_BYTES, RecordHeader, StoredState};
use super::{
    JoinOutcome, READ_COMMAND, RecordLocation, RedisStore, array_items, format_error, millis_text,
    server_ttl, unexpected_reply,
};
use crate::{
    CLOCK_SKEW_GRACE, Family, InsertPairError, LoadedRecord, NewRecord, Record, RecordKey,
    RecordKind, RecordRetention, RecordVersion, ReplaceOutcome, Store, StoreError, StoreScope,
    TakeOutcome, Usage,
};
use passerelle_protocol::env::Timestamp;

#[async_trait]
impl Store for RedisStore {
    async fn insert(
        &self,
        key: RecordKey,
        draft: NewRecord,
        now: Timestamp,
    ) -> Result<RecordVersion, StoreError> {
        let location = self.locate(&key);
        if !self.capacity.try_reserve(key.kind, draft.value.len(), draft.earliest_expiry(), now) {
            // A full hub, too, reports a replay as such.
            return Err(if self.exists(&location, now).await? {
                StoreError::Exists
            } else {
                StoreError::Full
            });
        }
        let inserted = self.insert_reserved(location, &draft, now).await;
        if inserted.is_err() {
            self.capacity.release(key.kind, draft.earliest_expiry());
        }
        inserted
    }

    async fn insert_pair(
        &self,
        first_key: RecordKey,
        first: NewRecord,
        second_key: RecordKey,
        second: NewRecord,
        now: Timestamp,
    ) -> Result<(), InsertPairError> {
        let reserve = |kind, draft: &NewRecord| {
            self.capacity.try_reserve(kind, draft.value.len(), draft.earliest_expiry(), now)
        };
        let release =
            |kind, draft: &NewRecord| self.capacity.release(kind, draft.earliest_expiry());
        let is_first_reserved =
            self.connections.has_one_server() && reserve(first_key.kind, &first);
        if !is_first_reserved || !reserve(second_key.kind, &second) {
            if is_first_reserved {
                release(first_key.kind, &first);
            }
            self.insert(first_key, first, now).await.map_err(InsertPairError::First)?;
            self.insert(second_key, second, now).await.map_err(InsertPairError::Second)?;
            return Ok(());
        }
        let records = [(&first_key, &first), (&second_key, &second)];
        let inserted = self.insert_reserved_pair(records, now).await;
        if matches!(inserted, Err(InsertPairError::First(_))) {
            release(first_key.kind, &first);
        }
        if inserted.is_err() {
            release(second_key.kind, &second);
        }
        inserted
    }

    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Option<Record>, StoreError> {
        let location = self.locate(key);
        // Polled every second without traffic, so it has its own label.
        let verb = if key.kind.retention == RecordRetention::HubState { "poll" } else { "load" };
        match self.connections.query(verb, redis::cmd(READ_COMMAND).arg(&location.key)).await? {
            Value::BulkString(bytes) => {
                Ok(self.read_live(&location, &bytes)?.filter(|record| record.expires_at > now))
            }
            _ => Ok(None),
        }
    }

    async fn load_and_extend(
        &self,
        key: &RecordKey,
        now: Timestamp,
    ) -> Result<Option<LoadedRecord>, StoreError> {
        let location = self.locate(key);
        let (now_text, grace) = (millis_text(now), CLOCK_SKEW_GRACE.as_millis().to_string());
        let answer = self
            .connections
            .run_script(
                &self.scripts.load_and_extend,
                &location.key,
                &[now_text.as_bytes(), grace.as_bytes()],
            )
            .await?;
        let [Value::BulkString(bytes), Value::Int(left)] = array_items(&answer) else {
            return if array_items(&answer).is_empty() {
                Ok(None)
            } else {
                Err(unexpected_reply())
            };
        };
        let left = u64::try_from(*left).ok().map(Duration::from_millis);
        if let (Some(left), Some(head)) = (left, self.own_header(bytes)) {
            self.capacity.extend_near(location.kind, now + left, head.expires_at);
        }
        let record = self.read_live(&location, bytes)?.filter(|record| record.expires_at > now);
        Ok(record.map(|record| LoadedRecord { record, was_unread: left.is_some() }))
    }

    async fn load_many(
        &self,
        keys: &[RecordKey],
        now: Timestamp,
    ) -> Result<Vec<Option<Record>>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let locations: Vec<RecordLocation> = keys.iter().map(|key| self.locate(key)).collect();
        let commands: Vec<Cmd> =
            locations.iter().map(|location| read_command(&location.key)).collect();
        let answer = self.connections.query_many("load", &commands).await?;
        if array_items(&answer).len() != locations.len() {
            return Err(unexpected_reply());
        }
        let records =
            locations.iter().zip(array_items(&answer)).map(|(location, answer)| match answer {
                Value::BulkString(bytes) => {
                    Ok(self.read_live(location, bytes)?.filter(|record| record.expires_at > now))
                }
                _ => Ok(None),
            });
        records.collect()
    }

    async fn replace(
        &self,
        key: &RecordKey,
        expected: RecordVersion,
        value: Vec<u8>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<ReplaceOutcome, StoreError> {
        let location = self.locate(key);
        let next = RecordVersion(expected.0.saturating_add(1));
        let header_bytes = record::authenticated_header(StoredState::Live, next, expires_at);
        let encrypted =
            self.encrypt(&location, &header_bytes, &self.new_insertion_id_and_nonce().1, &value)?;
        let expected = expected.0.to_be_bytes();
        // Two attempts at most: for the second one, the families know the new expiry.
        for families_until in [None, Some(expires_at)] {
            let parts = [&expected[..], &header_bytes, &encrypted];
            match self.run_replace(&location, parts, expires_at, now, families_until).await? {
                ReplaceReply::Replaced(before) => {
                    if let Some(before) = before {
                        self.update_capacity(location.kind, &before, expires_at, value.len());
                    }
                    return Ok(ReplaceOutcome::Replaced(next));
                }
                ReplaceReply::Stale => return Ok(ReplaceOutcome::Stale),
                ReplaceReply::Gone => return Ok(ReplaceOutcome::Gone),
                ReplaceReply::OutlivesFamilies(families) => {
                    let (insertion_id, families) =
                        families.split_first_chunk::<8>().ok_or_else(unexpected_reply)?;
                    let (families, _) = families.as_chunks::<FAMILY_HASH_BYTES>();
                    let joined = self
                        .join_families(families, &location, insertion_id, expires_at, now)
                        .await?;
                    if joined == JoinOutcome::Closed {
                        return Ok(ReplaceOutcome::Gone);
                    }
                }
            }
        }
        Err(unexpected_reply())
    }

    async fn take(
        &self,
        key: &RecordKey,
        tombstone: Vec<u8>,
        tombstone_until: Timestamp,
        now: Timestamp,
    ) -> Result<TakeOutcome, StoreError> {
        let location = self.locate(key);
        let header_bytes =
            record::authenticated_header(StoredState::Tombstone, RecordVersion(0), tombstone_until);
        let encrypted = self.encrypt(
            &location,
            &header_bytes,
            &self.new_insertion_id_and_nonce().1,
            &tombstone,
        )?;
        let (now_text, px) = (millis_text(now), server_ttl(tombstone_until, now));
        let arguments: [&[u8]; 4] = [&header_bytes, &encrypted, now_text.as_bytes(), px.as_bytes()];
        let answer =
            self.connections.run_script(&self.scripts.take, &location.key, &arguments).await?;
        match array_items(&answer) {
            // The third item is present when an earlier attempt had won and its reply was lost.
            [Value::Int(1), Value::BulkString(taken), earlier @ ..] => {
                if earlier.is_empty() {
                    let bytes = tombstone.len();
                    self.update_capacity(location.kind, taken, tombstone_until, bytes);
                }
                Ok(self.read_live(&location, taken)?.map_or(TakeOutcome::Gone, TakeOutcome::Taken))
            }
            [Value::Int(2), Value::BulkString(head), Value::BulkString(tombstone)] => {
                let (head, _) = RecordHeader::parse(head).map_err(format_error)?;
                let tombstone = self.decrypt(
                    &location,
                    &RecordHeader { version: RecordVersion(0), ..head },
                    tombstone,
                )?;
                Ok(tombstone.map_or(TakeOutcome::Gone, TakeOutcome::AlreadyTaken))
            }
            [Value::Int(0)] => Ok(TakeOutcome::Gone),
            _ => Err(unexpected_reply()),
        }
    }

    async fn remove(&self, key: &RecordKey) -> Result<(), StoreError> {
        let location = self.locate(key);
        let old = self.connections.run_script(&self.scripts.remove, &location.key, &[]).await?;
        self.release_capacity(location.kind, &old);
        Ok(())
    }

    async fn remove_version(
        &self,
        key: &RecordKey,
        version: RecordVersion,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let location = self.locate(key);
        let (version, now_text, grace) =
            (version.0.to_be_bytes(), millis_text(now), CLOCK_SKEW_GRACE.as_millis().to_string());
        let arguments: [&[u8]; 3] = [&version, now_text.as_bytes(), grace.as_bytes()];
        match array_items(
            &self
                .connections
                .run_script(&self.scripts.remove_version, &location.key, &arguments)
                .await?,
        ) {
            [Value::BulkString(old), Value::Int(left)] => {
                let (head, _) = RecordHeader::parse(old).map_err(format_error)?;
                if self.own_header(old).is_some() {
                    match u64::try_from(*left) {
                        Ok(left) => self
                            .capacity
                            .release_near(location.kind, now + Duration::from_millis(left)),
                        Err(_) => self.capacity.release(location.kind, head.expires_at),
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
    ) -> Result<(), StoreError> {
        let key = self.family_key(&family_hash(family));
        let (until_text, now_text, px, expired_before) = (
            millis_text(until),
            millis_text(now),
            server_ttl(until, now),
            millis_text(now - CLOCK_SKEW_GRACE),
        );
        let arguments: [&[u8]; 4] =
            [until_text.as_bytes(), now_text.as_bytes(), px.as_bytes(), expired_before.as_bytes()];
        let answer =
            self.connections.run_script(&self.scripts.close_family, &key, &arguments).await?;
        let members = array_items(&answer).iter().map(|member| match member {
            Value::BulkString(bytes) => FamilyMember::parse(bytes),
            _ => None,
        });
        let members: Vec<FamilyMember> =
            members.collect::<Option<_>>().ok_or_else(unexpected_reply)?;
        let revocations = members.iter().map(async |member| {
            let kind = self.capacity.kind_of_letter(member.letter).ok_or_else(unexpected_reply)?;
            let location = self.location_of_hash(kind, member.hash);
            self.revoke_member(&location, &member.insertion_id, now).await
        });
        join_all(revocations).await.into_iter().collect()
    }

    fn scope(&self) -> StoreScope {
        StoreScope::Shared
    }

    /// Counts the records that this hub has admitted.
    fn count(&self, kind: &RecordKind) -> usize {
        self.capacity.count(kind)
    }

    fn usage(&self, kind: &RecordKind) -> Usage {
        self.capacity.usage(kind)
    }
}

fn read_command(key: &str) -> Cmd {
    let mut command = redis::cmd(READ_COMMAND);
    command.arg(key);
    command
}

/// Reply of the script `replace`.
enum ReplaceReply {
    /// With the record before, unless an earlier attempt had replaced it and its reply was lost.
    Replaced(Option<Vec<u8>>),
    Stale,
    Gone,
    /// The families forget the record before its new expiry: its insertion id and their hashes.
    OutlivesFamilies(Vec<u8>),
}

impl RedisStore {
    /// Runs the script `replace` with the expected version, the header and the ciphertext.
    /// `families_until`: until when the families of the record are known to know it.
    async fn run_replace(
        &self,
        location: &RecordLocation,
        [expected, header, encrypted]: [&[u8]; 3],
        expires_at: Timestamp,
        now: Timestamp,
        families_until: Option<Timestamp>,
    ) -> Result<ReplaceReply, StoreError> {
        let (now_text, until, px) =
            (millis_text(now), millis_text(expires_at), server_ttl(expires_at, now));
        let horizon = families_until.map_or_else(|| "0".to_owned(), millis_text);
        let arguments: [&[u8]; 7] = [
            expected,
            header,
            encrypted,
            now_text.as_bytes(),
            px.as_bytes(),
            until.as_bytes(),
            horizon.as_bytes(),
        ];
        let reply =
            self.connections.run_script(&self.scripts.replace, &location.key, &arguments).await?;
        match array_items(&reply) {
            [Value::Int(1), before @ ..] => Ok(ReplaceReply::Replaced(match before {
                [Value::BulkString(before)] => Some(before.clone()),
                _ => None,
            })),
            [Value::Int(0)] => Ok(ReplaceReply::Stale),
            [Value::Int(-1)] => Ok(ReplaceReply::Gone),
            [Value::Int(2), Value::BulkString(families)] => {
                Ok(ReplaceReply::OutlivesFamilies(families.clone()))
            }
            _ => Err(unexpected_reply()),
        }
    }
}
