use std::collections::BTreeMap;

use tempfile::TempDir;

use super::super::*;
use crate::registry::Blocks;
use passerelle_federation::blocks::{Block, BlockInput, BlockTarget};
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_store::testing::fake_shared_store::FakeSharedStore;
use passerelle_store::{Record, RecordKey, RecordKind};

fn record_key() -> RecordKey {
    RecordKey { kind: RecordKind::BLOCKS, name: "all".into() }
}

fn now() -> Timestamp {
    Timestamp::from_seconds(1_800_000_000)
}

struct HubFixture {
    folder: TempDir,
    seed: u64,
}

impl HubFixture {
    fn new(seed: u64) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), seed }
    }

    /// Starts the hub with this store.
    async fn start(&self, servers: &Arc<FakeSharedStore>) -> Blocks {
        let env =
            Env::new(Arc::new(ManualClock::at(now())), Arc::new(SeededEntropy::new(self.seed)));
        let blocks = Blocks::load(self.folder.path(), &env).unwrap();
        blocks.share_through(Arc::clone(servers) as _);
        blocks.refresh().await;
        blocks
    }
}

fn block(connector: &str) -> Block {
    let words =
        BlockInput { reason: "leaked keys", message: &BTreeMap::new(), from: None, until: None };
    Block::new(connector.into(), BlockTarget::Everyone, words).unwrap()
}

fn names(blocks: &Blocks) -> Vec<String> {
    blocks.all().iter().map(|one| one.value.connector.to_string()).collect()
}

#[tokio::test]
async fn a_change_at_one_hub_applies_at_all() {
    let servers = FakeSharedStore::new();
    let (one, other) =
        (HubFixture::new(1).start(&servers).await, HubFixture::new(2).start(&servers).await);
    let (first, survival) = one.add(block("first")).await.unwrap();
    assert!(matches!(survival, Persistence::Persisted) && names(&one) == ["first"]);
    other.refresh().await;
    assert_eq!(*one.all(), *other.all());
    // Before they have read each other's change.
    one.add(block("second")).await.unwrap();
    other.add(block("third")).await.unwrap();
    assert_eq!(names(&other), ["first", "second", "third"]);
    one.refresh().await;
    assert!(other.remove(&first.id).await.unwrap().is_some());
    assert!(one.remove(&first.id).await.unwrap().is_none(), "lifted twice");
    one.refresh().await;
    assert_eq!(
        (names(&one), names(&other)),
        (vec!["second".into(), "third".into()], vec!["second".into(), "third".into()])
    );
    assert_eq!((one.warning(), one.not_ready_reason()), (None, None));
}

#[tokio::test]
async fn without_the_store_blocks_stay_in_force_and_changes_are_refused() {
    let servers = FakeSharedStore::new();
    let hub = HubFixture::new(1);
    let blocks = hub.start(&servers).await;
    let (added, _) = blocks.add(block("first")).await.unwrap();
    servers.set_unavailable(true);
    blocks.refresh().await;
    assert!(matches!(
        blocks.add(block("second")).await,
        Err(EntryUpdateError::StoreUnavailable(_))
    ));
    assert!(matches!(blocks.remove(&added.id).await, Err(EntryUpdateError::StoreUnavailable(_))));
    assert_eq!(names(&blocks), ["first"], "a change was half made");
    assert!(
        blocks
            .warning()
            .is_some_and(|warning| warning.message.contains("cut off") && !warning.fix.is_empty())
    );
    assert_eq!(blocks.not_ready_reason(), None, "it has read them once");
    // A restart meanwhile lifts no block either.
    let restarted = hub.start(&servers).await;
    assert_eq!(names(&restarted), ["first"]);
    assert!(restarted.not_ready_reason().is_some(), "the changes of others since then are unknown");
    servers.set_unavailable(false);
    restarted.refresh().await;
    assert_eq!(
        (restarted.warning(), restarted.not_ready_reason(), names(&restarted)),
        (None, None, vec!["first".to_owned()])
    );
}

/// So the hub must not say that nothing was changed.
#[tokio::test]
async fn a_change_whose_confirmation_is_lost_takes_effect_at_all_hubs() {
    let servers = FakeSharedStore::new();
    let (one, other) =
        (HubFixture::new(1).start(&servers).await, HubFixture::new(2).start(&servers).await);
    one.add(block("first")).await.unwrap();
    servers.lose_next_reply();
    let unconfirmed = one.add(block("second")).await;
    assert!(matches!(unconfirmed, Err(EntryUpdateError::StoreUnavailable(_))));
    for hub in [&one, &other] {
        hub.refresh().await;
        assert_eq!(names(hub), ["first", "second"]);
    }
}

#[tokio::test]
async fn a_restart_of_all_hubs_forgets_neither_a_block_nor_that_one_was_lifted() {
    let servers = FakeSharedStore::new();
    let (one, other) = (HubFixture::new(1), HubFixture::new(2));
    let running = one.start(&servers).await;
    let (lifted, _) = running.add(block("lifted")).await.unwrap();
    running.add(block("stays")).await.unwrap();
    // The other has both in its file, and is down while one is lifted.
    assert_eq!(names(&other.start(&servers).await), ["lifted", "stays"]);
    running.remove(&lifted.id).await.unwrap();
    for hub in [&other, &one] {
        assert_eq!(names(&hub.start(&servers).await), ["stays"]);
    }
}

#[tokio::test]
async fn a_failover_that_loses_the_latest_writes_lifts_no_block() {
    let servers = FakeSharedStore::new();
    let (one, other) =
        (HubFixture::new(1).start(&servers).await, HubFixture::new(2).start(&servers).await);
    let (first, _) = one.add(block("first")).await.unwrap();
    let old = servers.record(&record_key(), now()).await;
    one.add(block("second")).await.unwrap();
    one.remove(&first.id).await.unwrap();
    for lost in [old, None] {
        servers.put_back(&record_key(), lost, now()).await;
        other.refresh().await;
        one.refresh().await;
        other.refresh().await;
        assert_eq!((names(&one), names(&other)), (vec!["second".into()], vec!["second".into()]));
        assert_eq!(
            names(&HubFixture::new(3).start(&servers).await),
            ["second"],
            "the store has it again"
        );
    }
    // A change after the loss builds on the confirmed blocks.
    servers.put_back(&record_key(), None, now()).await;
    other.add(block("third")).await.unwrap();
    one.refresh().await;
    assert_eq!(names(&one), ["second", "third"]);
}

#[tokio::test]
async fn blocks_from_before_hubs_shared_a_store_apply_at_all() {
    let servers = FakeSharedStore::new();
    let (one, other) = (HubFixture::new(1), HubFixture::new(2));
    let env = Env::new(Arc::new(ManualClock::at(now())), Arc::new(SeededEntropy::new(3)));
    Blocks::load(one.folder.path(), &env).unwrap().add(block("first")).await.unwrap();
    assert_eq!(names(&one.start(&servers).await), ["first"]);
    assert_eq!(names(&other.start(&servers).await), ["first"]);
}

#[tokio::test]
async fn an_invalid_record_lifts_no_block() {
    let servers = FakeSharedStore::new();
    let blocks = HubFixture::new(1).start(&servers).await;
    blocks.add(block("first")).await.unwrap();
    let good = servers.record(&record_key(), now()).await.unwrap();
    let text = String::from_utf8(good.value.to_vec()).unwrap();
    for bad in [
        String::new(),
        "{}".into(),
        text.replace("\"version\":1", "\"version\":2"),
        text.replace("\"reason\"", "\"why\""),
    ] {
        assert_ne!(bad, text);
        servers
            .put_back(
                &record_key(),
                Some(Record { value: bad.into_bytes().into(), ..good.clone() }),
                now(),
            )
            .await;
        blocks.refresh().await;
        assert_eq!(names(&blocks), ["first"]);
        assert!(blocks.warning().is_some_and(|warning| {
            warning.message.contains("can't parse the blocks in the store")
        }));
        assert!(blocks.add(block("second")).await.is_err());
    }
}

#[tokio::test]
async fn concurrent_changes_at_several_hubs_lose_nothing() {
    let servers = FakeSharedStore::new();
    let mut writers = Vec::new();
    for seed in 0..4 {
        let blocks = HubFixture::new(seed).start(&servers).await;
        let runtime = tokio::runtime::Handle::current();
        writers.push(tokio::task::spawn_blocking(move || {
            for round in 0..5 {
                // A refusal changes nothing; the change is repeated.
                while runtime.block_on(blocks.add(block(&format!("c-{seed}-{round}")))).is_err() {}
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let mut all = names(&HubFixture::new(9).start(&servers).await);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 20, "{all:?}");
}
