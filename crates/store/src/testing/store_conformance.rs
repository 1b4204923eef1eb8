//! Tests that every store must pass.
//!
//! `conformance!(factory)` generates them, where `factory` is an `async fn(Capacities) -> Arc<dyn
//! Store>`. Time is passed in; the races use real threads, because a single-threaded runtime would
//! hide them.

mod capacity;
mod model;
mod pairs;
mod races;
mod records;
mod revocation;

use std::sync::Arc;

use crate::{Capacities, Family, NewRecord, RecordKey, RecordKind, Store, TakeOutcome};
use passerelle_protocol::env::Timestamp;

pub use capacity::*;
pub use model::agrees_with_a_simple_model;
pub use pairs::*;
pub use races::*;
pub use records::*;
pub use revocation::*;

/// A kind that the store's crate doesn't know, as another crate declares it.
pub const FOREIGN_KIND: &RecordKind = &RecordKind::new("foreign", b'z', "foreign", 2048);

/// Returns capacities that no test exceeds.
pub fn ample_capacities() -> Capacities {
    let kinds = RecordKind::HUB_KINDS.iter().copied().chain([FOREIGN_KIND]);
    kinds.fold(Capacities::default(), |all, kind| all.with_records(kind, 1000))
}

#[cfg(test)]
macro_rules! conformance {
    ($factory:path) => {
        $crate::testing::store_conformance::conformance!($factory:
            versions_count_from_one, a_lost_replace_changes_nothing, compare_and_set_refuses_what_another_writer_changed, insert_refuses_a_live_key,
            a_record_is_gone_at_its_expiry_and_not_before, expired_code_can_not_be_taken, a_tombstone_expires,
            a_taken_code_names_its_tokens, insert_overwrites_expired_records_but_not_tombstones,
            a_full_store_rejects_new_records_and_keeps_the_others, capacity_is_released, many_records_load_at_once,
            an_extended_record_outlives_its_earlier_expiry, only_the_named_version_of_a_record_is_removed,
            capacity_for_logins_is_limited_in_bytes, every_capacity_can_be_limited_in_bytes, every_kind_is_limited_in_bytes, a_kind_without_a_capacity_has_no_room, codes_and_tokens_share_a_capacity,
            kinds_do_not_mix, remove_removes_tombstones_too, revocation_is_effective_at_once, either_family_revokes,
            a_reopened_family_does_not_contain_its_old_records, a_tombstone_survives_revocation,
            many_redeem_one_code_and_one_wins, many_use_one_assertion_and_one_is_first, used_assertions_have_a_capacity_of_their_own, many_replace_and_none_is_lost, many_insert_and_capacity_holds,
            a_pair_is_inserted_in_its_order, a_pair_needs_room_for_each_record,
            revocation_applies_to_concurrent_insertions, agrees_with_a_simple_model);
    };
    ($factory:path: $($check:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $check() {
                $crate::testing::store_conformance::$check(|capacities| async move { $factory(capacities).await }).await;
            }
        )*
    };
}
#[cfg(test)]
pub(crate) use conformance;

/// Returns a time, in seconds after the start of the suite.
pub fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(1_800_000_000 + seconds)
}

/// Returns a key.
pub fn key(kind: &'static RecordKind, name: &str) -> RecordKey {
    RecordKey { kind, name: name.into() }
}

/// Returns the key of a code.
pub fn code(name: &str) -> RecordKey {
    key(RecordKind::CODE, name)
}

/// Returns a record without families.
pub fn new_record(value: &str, expires_at: Timestamp) -> NewRecord {
    NewRecord { value: value.into(), expires_at, expires_unread_at: None, families: Arc::default() }
}

/// Returns a record in one family.
pub fn new_record_in_family(value: &str, expires_at: Timestamp, family: &str) -> NewRecord {
    NewRecord { families: [Family(family.into())].into(), ..new_record(value, expires_at) }
}

/// Returns the value of a live record.
pub async fn value(store: &Arc<dyn Store>, key: &RecordKey, now: Timestamp) -> Option<String> {
    let record = store.load(key, now).await.unwrap()?;
    Some(String::from_utf8(record.value.to_vec()).unwrap())
}

/// Calls `take` and returns `taken <value>`, `already taken <tombstone>` or `gone`.
pub async fn take(
    store: &Arc<dyn Store>,
    key: &RecordKey,
    tombstone: &str,
    until: Timestamp,
    now: Timestamp,
) -> String {
    match store.take(key, tombstone.into(), until, now).await.unwrap() {
        TakeOutcome::Taken(record) => format!("taken {}", String::from_utf8_lossy(&record.value)),
        TakeOutcome::AlreadyTaken(tombstone) => {
            format!("already taken {}", String::from_utf8_lossy(&tombstone))
        }
        TakeOutcome::Gone => "gone".into(),
    }
}
