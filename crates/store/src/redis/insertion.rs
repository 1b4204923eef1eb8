//! Inserts records: with their families, and in pairs, in one call where one server holds all keys.
//!
//! In a Cluster a record and its families lie on different servers. There the record and the
//! membership in its families are written concurrently.

use futures_util::future::join_all;
use redis::Value;

use super::call_error::RedisCallError;
use super::family_members::family_hash;
use super::record::{self, FAMILY_HASH_BYTES, InsertionId, RecordHeader, StoredState};
use super::{
    READ_COMMAND, RecordLocation, RedisStore, format_error, millis_text, server_ttl,
    unexpected_reply,
};
use crate::{CLOCK_SKEW_GRACE, InsertPairError, NewRecord, RecordKey, RecordVersion, StoreError};
use passerelle_protocol::env::Timestamp;

/// Version of a new record.
const FIRST_VERSION: RecordVersion = RecordVersion(1);

/// Result of joining families.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum JoinOutcome {
    Joined,
    Closed,
}

/// A new record as the server stores it.
struct EncodedRecord {
    location: RecordLocation,
    insertion_id: InsertionId,
    bytes: Vec<u8>,
    /// Time to live of the key, in milliseconds.
    ttl: String,
    families: Vec<[u8; FAMILY_HASH_BYTES]>,
    expires_at: Timestamp,
}

/// Arguments by which families learn a member.
struct MembershipArguments([Vec<u8>; 4]);

impl MembershipArguments {
    fn new(
        location: &RecordLocation,
        insertion_id: &InsertionId,
        until: Timestamp,
        now: Timestamp,
    ) -> Self {
        Self([
            [&[location.kind.letter][..], &location.hash, insertion_id].concat(),
            millis_text(until).into_bytes(),
            server_ttl(until, now).into_bytes(),
            millis_text(now - CLOCK_SKEW_GRACE).into_bytes(),
        ])
    }
}

impl RedisStore {
    /// Inserts a record for which the capacity is reserved.
    pub(super) async fn insert_reserved(
        &self,
        location: RecordLocation,
        draft: &NewRecord,
        now: Timestamp,
    ) -> Result<RecordVersion, StoreError> {
        let record = self.encode_new_record(location, draft, now)?;
        let inserted = if self.connections.has_one_server() {
            self.run_insert(&[&record], now).await.map_err(|error| match error {
                InsertPairError::First(error) | InsertPairError::Second(error) => error,
            })
        } else {
            self.insert_in_cluster(&record, now).await
        };
        self.undo_uncertain_insertion(&[&record], inserted.as_ref().err(), now).await;
        inserted.map(|()| FIRST_VERSION)
    }

    /// Inserts two records for which the capacity is reserved, in one call to one server.
    pub(super) async fn insert_reserved_pair(
        &self,
        records: [(&RecordKey, &NewRecord); 2],
        now: Timestamp,
    ) -> Result<(), InsertPairError> {
        let [first, second] = records.map(|(key, draft)| {
            self.encode_new_record(self.locate(key), draft, now).map_err(InsertPairError::First)
        });
        let (first, second) = (first?, second?);
        let inserted = self.run_insert(&[&first, &second], now).await;
        if let Err(InsertPairError::First(error)) = &inserted {
            self.undo_uncertain_insertion(&[&first, &second], Some(error), now).await;
        }
        inserted
    }

    /// Returns whether a record or a tombstone exists.
    pub(super) async fn exists(
        &self,
        location: &RecordLocation,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        match self.connections.query("load", redis::cmd(READ_COMMAND).arg(&location.key)).await? {
            Value::BulkString(bytes) => {
                let (head, _) = RecordHeader::parse(&bytes).map_err(format_error)?;
                Ok(head.state != StoredState::Revoked && head.expires_at > now)
            }
            _ => Ok(false),
        }
    }

    /// Adds the record to each of its families, until the given time.
    pub(super) async fn join_families(
        &self,
        families: &[[u8; FAMILY_HASH_BYTES]],
        location: &RecordLocation,
        insertion_id: &InsertionId,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<JoinOutcome, StoreError> {
        let MembershipArguments([member, until, ttl, over]) =
            &MembershipArguments::new(location, insertion_id, until, now);
        let now_text = millis_text(now);
        let arguments: [&[u8]; 5] = [member, until, now_text.as_bytes(), ttl, over];
        let joins = families.iter().map(async |family| {
            self.connections
                .run_script(&self.scripts.join_family, &self.family_key(family), &arguments)
                .await
        });
        let mut outcome = JoinOutcome::Joined;
        for answer in join_all(joins).await {
            if answer? == Value::Int(0) {
                outcome = JoinOutcome::Closed;
            }
        }
        Ok(outcome)
    }

    fn encode_new_record(
        &self,
        location: RecordLocation,
        draft: &NewRecord,
        now: Timestamp,
    ) -> Result<EncodedRecord, StoreError> {
        let (insertion_id, nonce) = self.new_insertion_id_and_nonce();
        let until = draft.expires_at;
        let families: Vec<[u8; FAMILY_HASH_BYTES]> =
            draft.families.iter().map(family_hash).collect();
        let header_bytes = record::authenticated_header(StoredState::Live, FIRST_VERSION, until);
        let encrypted = self.encrypt(&location, &header_bytes, &nonce, &draft.value)?;
        let bytes = [
            &header_bytes[..],
            &insertion_id,
            &record::encode_families(&families, until),
            &encrypted,
        ]
        .concat();
        let ttl = match draft.expires_unread_at {
            // Measured by the server's clock alone, so without the grace for differing clocks.
            Some(unread_until) if unread_until < until => {
                unread_until.since(now).as_millis().max(1).to_string()
            }
            _ => server_ttl(until, now),
        };
        Ok(EncodedRecord { location, insertion_id, bytes, ttl, families, expires_at: until })
    }

    /// Inserts the records with their families, in order, until one can't be inserted.
    async fn run_insert(
        &self,
        records: &[&EncodedRecord],
        now: Timestamp,
    ) -> Result<(), InsertPairError> {
        let now_text = millis_text(now);
        let memberships: Vec<(Vec<String>, MembershipArguments)> = records
            .iter()
            .map(|record| {
                let EncodedRecord { location, insertion_id, expires_at, .. } = record;
                let families = record.families.iter().map(|family| self.family_key(family));
                let arguments = MembershipArguments::new(location, insertion_id, *expires_at, now);
                (families.collect(), arguments)
            })
            .collect();
        let (mut keys, mut arguments): (Vec<&str>, Vec<&[u8]>) = (Vec::new(), Vec::new());
        for (record, (families, MembershipArguments(membership))) in
            records.iter().zip(&memberships)
        {
            keys.push(&record.location.key);
            keys.extend(families.iter().map(String::as_str));
            arguments.extend([&record.bytes[..], now_text.as_bytes(), record.ttl.as_bytes()]);
            arguments.extend(membership.iter().map(Vec::as_slice));
        }
        let reply =
            self.connections.run_script_on_keys(&self.scripts.insert, &keys, &arguments).await;
        match reply {
            Ok(Value::Int(1)) => Ok(()),
            Ok(Value::Int(0)) => Err(InsertPairError::First(StoreError::Exists)),
            Ok(Value::Int(-1)) => Err(InsertPairError::First(StoreError::Revoked)),
            Ok(Value::Int(-2)) => Err(InsertPairError::Second(StoreError::Exists)),
            Ok(Value::Int(-3)) => Err(InsertPairError::Second(StoreError::Revoked)),
            Ok(_) => Err(InsertPairError::First(unexpected_reply())),
            Err(error) => Err(InsertPairError::First(insertion_error(error))),
        }
    }

    async fn insert_in_cluster(
        &self,
        record: &EncodedRecord,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let now_text = millis_text(now);
        let arguments: [&[u8]; 3] = [&record.bytes, now_text.as_bytes(), record.ttl.as_bytes()];
        let location = &record.location;
        // Concurrently: nothing knows the key before this function returns, and a closed family
        // revokes the record.
        let (inserted, joined) = futures_util::join!(
            self.connections.run_script(&self.scripts.insert, &location.key, &arguments),
            self.join_families(
                &record.families,
                location,
                &record.insertion_id,
                record.expires_at,
                now
            )
        );
        let inserted = match inserted {
            Ok(Value::Int(1)) => Ok(()),
            Ok(Value::Int(0)) => Err(StoreError::Exists),
            Ok(Value::Int(-1)) => Err(StoreError::Revoked),
            Ok(_) => Err(unexpected_reply()),
            Err(error) => Err(insertion_error(error)),
        };
        match joined {
            Ok(JoinOutcome::Joined) => inserted,
            Ok(JoinOutcome::Closed) => Err(StoreError::Revoked),
            Err(error) => inserted.and(Err(error)),
        }
    }

    /// Revokes what an insertion with this error may have written, the last record first: none must
    /// exist without the one before it. Where that fails too, the key is unknown to all, and the
    /// record expires.
    async fn undo_uncertain_insertion(
        &self,
        records: &[&EncodedRecord],
        error: Option<&StoreError>,
        now: Timestamp,
    ) {
        if matches!(error, None | Some(StoreError::Exists | StoreError::Full)) {
            return;
        }
        for record in records.iter().rev() {
            if self.revoke_member(&record.location, &record.insertion_id, now).await.is_err() {
                return;
            }
        }
    }
}

fn insertion_error(error: RedisCallError) -> StoreError {
    match error {
        // The hubs' capacities together exceed the server's memory. It evicts no live record.
        RedisCallError::OutOfMemory => StoreError::Full,
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::redis_store::{fresh_prefix, shared_server, store_at};
    use crate::testing::store_conformance::{
        ample_capacities, at, code, key, new_record, new_record_in_family,
    };
    use crate::{Family, RecordKind, Store as _};

    /// A store, with a session and a code that it is about to insert.
    fn store_and_pair() -> (RedisStore, [EncodedRecord; 2]) {
        let store = store_at(shared_server(), &fresh_prefix(), &["key"], ample_capacities());
        let session = (key(RecordKind::SESSION, "a"), new_record("1", at(30)));
        let code = (code("a"), new_record_in_family("1", at(30), "mine"));
        let pair = [session, code]
            .map(|(key, draft)| store.encode_new_record(store.locate(&key), &draft, at(0)));
        (store, pair.map(Result::unwrap))
    }

    /// The server inserted the pair, the reply was lost, and the same bytes are sent again.
    #[tokio::test]
    async fn a_repeated_insertion_of_a_pair_gets_the_same_reply() {
        let (store, [session, code]) = store_and_pair();
        for _ in 0..2 {
            assert_eq!(store.run_insert(&[&session, &code], at(0)).await, Ok(()));
        }
        store.revoke(&Family("mine".into()), at(90), at(1)).await.unwrap();
        assert_eq!(
            store.run_insert(&[&session, &code], at(1)).await,
            Err(InsertPairError::Second(StoreError::Revoked)),
            "a repetition revives nothing"
        );
    }

    #[tokio::test]
    async fn a_pair_that_was_undone_does_not_live_when_it_arrives_late() {
        let (store, [session, code]) = store_and_pair();
        let lost = StoreError::Unavailable("no reply".into());
        store.undo_uncertain_insertion(&[&session, &code], Some(&lost), at(0)).await;
        assert_eq!(
            store.run_insert(&[&session, &code], at(0)).await,
            Err(InsertPairError::First(StoreError::Revoked))
        );
        for record in [&session, &code] {
            assert_eq!(store.exists(&record.location, at(1)).await, Ok(false));
        }
    }

    #[tokio::test]
    async fn a_server_without_memory_takes_neither_a_record_nor_its_membership() {
        let server = crate::testing::redis_server::Server::start(&[]);
        let store: Arc<RedisStore> = store_at(&server, "hub", &["key"], ample_capacities()).into();
        store.insert(code("a"), new_record("1", at(30)), at(0)).await.unwrap();
        server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
        let keys = server.keys();
        let token = key(RecordKind::TOKEN, "a");
        assert_eq!(
            store.insert(token, new_record_in_family("1", at(30), "mine"), at(1)).await,
            Err(StoreError::Full)
        );
        assert_eq!(server.keys(), keys);
        server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    }
}
