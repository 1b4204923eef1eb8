//! L2 · What every store must do, the same for all of them: `conformance!(factory)` makes the tests, where `factory`
//! is an `async fn(Capacities) -> Arc<dyn Store>`.
//!
//! Time is by hand; the races use real threads, because a runtime of one thread would hide them.

mod against_a_model;
mod races;
mod rules;

use std::sync::Arc;

use super::{Capacities, Draft, Family, Key, Kind, Store, Taken};
use crate::env::Timestamp;

pub use against_a_model::agrees_with_a_simple_model;
pub use races::*;
pub use rules::*;

pub const ROOMY: Capacities = Capacities {
    logins: 1000,
    login_bytes: 1_000_000,
    sessions: 1000,
    grants: 1000,
    logouts: 1000,
    parked: 1000,
    assertions: 1000,
    own_codes: 1000,
    blocks: 1000,
    probes: 1000,
};

macro_rules! conformance {
    ($factory:path) => {
        $crate::store::conformance::conformance!($factory:
            versions_count_from_one, a_lost_replace_changes_nothing, insert_refuses_a_live_key,
            a_record_is_gone_at_its_expiry_and_not_before, expired_code_can_not_be_taken, a_tombstone_ends_too,
            a_spent_code_tells_what_it_issued, insert_goes_over_what_expired_but_not_over_a_tombstone,
            a_full_store_refuses_newcomers_and_keeps_the_others, room_comes_back, many_records_load_at_once,
            a_record_that_is_loaded_to_be_kept_outlives_its_earlier_end, only_the_named_version_of_a_record_is_removed,
            room_for_logins_is_counted_in_bytes, codes_and_tokens_share_a_capacity,
            kinds_do_not_mix, remove_takes_tombstones_too, revocation_is_effective_at_once, either_family_revokes,
            a_revoked_family_opens_again_without_its_old_records, a_tombstone_survives_revocation,
            many_redeem_one_code_and_one_wins, many_use_one_assertion_and_one_is_first, used_assertions_have_a_capacity_of_their_own, many_replace_and_none_is_lost, many_insert_and_capacity_holds,
            revocation_reaches_what_is_inserted_meanwhile, agrees_with_a_simple_model);
    };
    ($factory:path: $($check:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $check() {
                $crate::store::conformance::$check(|capacities| async move { $factory(capacities).await }).await;
            }
        )*
    };
}
pub(crate) use conformance;

/// A moment, in seconds after the suite's beginning.
pub fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(1_800_000_000 + seconds)
}

pub fn key(kind: Kind, name: &str) -> Key {
    Key { kind, name: name.into() }
}

pub fn code(name: &str) -> Key {
    key(Kind::Code, name)
}

pub fn draft(value: &str, expires_at: Timestamp) -> Draft {
    Draft { value: value.into(), expires_at, unread_until: None, families: Arc::default() }
}

pub fn kin(value: &str, expires_at: Timestamp, family: &str) -> Draft {
    Draft { families: [Family(family.into())].into(), ..draft(value, expires_at) }
}

/// The value of a live record.
pub async fn value(store: &Arc<dyn Store>, key: &Key, now: Timestamp) -> Option<String> {
    let record = store.load(key, now).await.unwrap()?;
    Some(String::from_utf8(record.value.to_vec()).unwrap())
}

/// `take` in words: `won value`, `spent tombstone` or `gone`.
pub async fn take(
    store: &Arc<dyn Store>,
    key: &Key,
    tombstone: &str,
    until: Timestamp,
    now: Timestamp,
) -> String {
    match store.take(key, tombstone.into(), until, now).await.unwrap() {
        Taken::Won(record) => format!("won {}", String::from_utf8_lossy(&record.value)),
        Taken::Spent(tombstone) => format!("spent {}", String::from_utf8_lossy(&tombstone)),
        Taken::Gone => "gone".into(),
    }
}
