use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tempfile::TempDir;

use super::super::*;
use crate::config::blocks::{Reach as Whom, Words};
use crate::env::{HandClock, SeededEntropy};
use crate::store::conformance::ROOMY;
use crate::store::memory::MemoryStore;
use crate::store::redis::tests::released::{Sample, released};
use crate::store::{Draft, Family, Key, Kind, Reach, Record, Replaced, StoreFault, Taken, Version};

/// A store that can be switched off.
pub(crate) struct Servers {
    inner: MemoryStore,
    away: AtomicBool,
    is_outrun: AtomicBool,
    asked: AtomicUsize,
}

impl Servers {
    pub(crate) fn new() -> Arc<Self> {
        let (away, is_outrun, asked) =
            (AtomicBool::new(false), AtomicBool::new(false), AtomicUsize::new(0));
        Arc::new(Self { inner: MemoryStore::new(ROOMY), away, is_outrun, asked })
    }

    /// How many calls there were.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    pub(crate) fn go(&self, away: bool) {
        self.away.store(away, Ordering::Relaxed);
    }

    /// Lets another writer be faster than the next `replace`.
    pub(crate) fn outrun_next_replace(&self) {
        self.is_outrun.store(true, Ordering::Relaxed);
    }

    fn ask(&self) -> Result<&MemoryStore, StoreFault> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.away.load(Ordering::Relaxed) {
            Err(StoreFault::Unavailable("cut off".into()))
        } else {
            Ok(&self.inner)
        }
    }

    /// As a failover to a replica that has not heard of the latest.
    async fn put_back(&self, record: Option<Record>) {
        self.inner.remove(&record_key()).await.unwrap();
        if let Some(record) = record {
            let draft = Draft {
                value: record.value.to_vec(),
                expires_at: record.expires_at,
                unread_until: None,
                families: Arc::default(),
            };
            self.inner.insert(record_key(), draft, now()).await.unwrap();
        }
    }

    async fn record(&self) -> Option<Record> {
        self.inner.load(&record_key(), now()).await.unwrap()
    }
}

#[async_trait]
impl Store for Servers {
    async fn insert(&self, key: Key, draft: Draft, now: Timestamp) -> Result<Version, StoreFault> {
        self.ask()?.insert(key, draft, now).await
    }
    async fn load(&self, key: &Key, now: Timestamp) -> Result<Option<Record>, StoreFault> {
        self.ask()?.load(key, now).await
    }
    async fn replace(
        &self,
        key: &Key,
        expected: Version,
        value: Vec<u8>,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Replaced, StoreFault> {
        let inner = self.ask()?;
        if self.is_outrun.swap(false, Ordering::Relaxed) {
            return Ok(Replaced::Stale);
        }
        inner.replace(key, expected, value, until, now).await
    }
    async fn take(
        &self,
        key: &Key,
        tombstone: Vec<u8>,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Taken, StoreFault> {
        self.ask()?.take(key, tombstone, until, now).await
    }
    async fn remove(&self, key: &Key) -> Result<(), StoreFault> {
        self.ask()?.remove(key).await
    }
    async fn remove_version(
        &self,
        key: &Key,
        version: Version,
        now: Timestamp,
    ) -> Result<bool, StoreFault> {
        self.ask()?.remove_version(key, version, now).await
    }
    async fn revoke(
        &self,
        family: &Family,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreFault> {
        self.ask()?.revoke(family, until, now).await
    }
    fn reach(&self) -> Reach {
        Reach::Shared
    }
    fn count(&self, kind: Kind) -> usize {
        self.inner.count(kind)
    }
}

fn record_key() -> Key {
    Key { kind: Kind::Blocks, name: "all".into() }
}

fn now() -> Timestamp {
    Timestamp::from_seconds(1_800_000_000)
}

struct Node {
    folder: TempDir,
    seed: u64,
}

impl Node {
    fn new(seed: u64) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), seed }
    }

    /// As at a start.
    async fn start(&self, servers: &Arc<Servers>) -> Blocks {
        let env = Env::new(Arc::new(HandClock::at(now())), Arc::new(SeededEntropy::new(self.seed)));
        let blocks = Blocks::load(self.folder.path(), &env).unwrap();
        blocks.share(Arc::clone(servers) as _);
        blocks.refresh().await;
        blocks
    }
}

fn block(connector: &str) -> Block {
    let words = Words { reason: "leaked keys", message: &BTreeMap::new(), from: None, until: None };
    Block::new(connector.into(), Whom::Everyone, words).unwrap()
}

fn names(blocks: &Blocks) -> Vec<String> {
    blocks.all().iter().map(|one| one.block.connector.to_string()).collect()
}

#[tokio::test]
async fn what_one_hub_blocks_or_lifts_is_so_at_all_of_them() {
    let servers = Servers::new();
    let (one, other) = (Node::new(1).start(&servers).await, Node::new(2).start(&servers).await);
    let (first, survival) = one.add(block("first")).await.unwrap();
    assert!(matches!(survival, Survival::Kept) && names(&one) == ["first"]);
    other.refresh().await;
    assert_eq!(*one.all(), *other.all());
    // Without having heard of each other.
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
    assert_eq!((one.complaint(), one.unread()), (None, None));
}

#[tokio::test]
async fn cutting_the_store_off_opens_nothing_and_a_change_is_refused_whole() {
    let servers = Servers::new();
    let node = Node::new(1);
    let blocks = node.start(&servers).await;
    let (added, _) = blocks.add(block("first")).await.unwrap();
    servers.go(true);
    blocks.refresh().await;
    assert!(matches!(blocks.add(block("second")).await, Err(Unchanged::Away(_))));
    assert!(matches!(blocks.remove(&added.id).await, Err(Unchanged::Away(_))));
    assert_eq!(names(&blocks), ["first"], "something is half-done");
    assert!(
        blocks.complaint().is_some_and(|told| told.contains("cut off") && told.contains("mend: "))
    );
    assert_eq!(blocks.unread(), None, "it has read them once");
    // Nor does a restart meanwhile.
    let restarted = node.start(&servers).await;
    assert_eq!(names(&restarted), ["first"]);
    assert!(
        restarted.unread().is_some(),
        "what others did since is not known: others may serve better"
    );
    servers.go(false);
    restarted.refresh().await;
    assert_eq!(
        (restarted.complaint(), restarted.unread(), names(&restarted)),
        (None, None, vec!["first".to_owned()])
    );
}

#[tokio::test]
async fn a_restart_of_all_hubs_forgets_neither_a_block_nor_that_one_was_lifted() {
    let servers = Servers::new();
    let (one, other) = (Node::new(1), Node::new(2));
    let running = one.start(&servers).await;
    let (lifted, _) = running.add(block("lifted")).await.unwrap();
    running.add(block("stays")).await.unwrap();
    // The other has both in its file, and is down while one is lifted.
    assert_eq!(names(&other.start(&servers).await), ["lifted", "stays"]);
    running.remove(&lifted.id).await.unwrap();
    for node in [&other, &one] {
        assert_eq!(names(&node.start(&servers).await), ["stays"]);
    }
}

#[tokio::test]
async fn a_failover_that_loses_the_latest_opens_nothing_that_was_blocked() {
    let servers = Servers::new();
    let (one, other) = (Node::new(1).start(&servers).await, Node::new(2).start(&servers).await);
    let (first, _) = one.add(block("first")).await.unwrap();
    let old = servers.record().await;
    one.add(block("second")).await.unwrap();
    one.remove(&first.id).await.unwrap();
    for lost in [old, None] {
        servers.put_back(lost).await;
        other.refresh().await;
        one.refresh().await;
        other.refresh().await;
        assert_eq!((names(&one), names(&other)), (vec!["second".into()], vec!["second".into()]));
        assert_eq!(
            names(&Node::new(3).start(&servers).await),
            ["second"],
            "the store has it again"
        );
    }
    // A change on top of what was lost builds on what was acknowledged.
    servers.put_back(None).await;
    other.add(block("third")).await.unwrap();
    one.refresh().await;
    assert_eq!(names(&one), ["second", "third"]);
}

#[tokio::test]
async fn what_was_blocked_before_hubs_shared_a_store_is_blocked_at_all_of_them() {
    let servers = Servers::new();
    let (one, other) = (Node::new(1), Node::new(2));
    let env = Env::new(Arc::new(HandClock::at(now())), Arc::new(SeededEntropy::new(3)));
    Blocks::load(one.folder.path(), &env).unwrap().add(block("first")).await.unwrap();
    assert_eq!(names(&one.start(&servers).await), ["first"]);
    assert_eq!(names(&other.start(&servers).await), ["first"]);
}

#[tokio::test]
async fn a_record_that_makes_no_sense_opens_nothing() {
    let servers = Servers::new();
    let blocks = Node::new(1).start(&servers).await;
    blocks.add(block("first")).await.unwrap();
    let good = servers.record().await.unwrap();
    let text = String::from_utf8(good.value.to_vec()).unwrap();
    for bad in [
        String::new(),
        "{}".into(),
        text.replace("\"version\":1", "\"version\":2"),
        text.replace("\"reason\"", "\"why\""),
    ] {
        assert_ne!(bad, text);
        servers.put_back(Some(Record { value: bad.into_bytes().into(), ..good.clone() })).await;
        blocks.refresh().await;
        assert_eq!(names(&blocks), ["first"]);
        assert!(
            blocks.complaint().is_some_and(|told| told.contains("make no sense to this release"))
        );
        assert!(blocks.add(block("second")).await.is_err());
    }
}

#[tokio::test]
async fn of_many_changes_at_many_hubs_at_once_none_is_lost() {
    let servers = Servers::new();
    let mut writers = Vec::new();
    for seed in 0..4 {
        let blocks = Node::new(seed).start(&servers).await;
        let runtime = tokio::runtime::Handle::current();
        writers.push(tokio::task::spawn_blocking(move || {
            for round in 0..5 {
                // An honest refusal changes nothing; then it is tried again.
                while runtime.block_on(blocks.add(block(&format!("c-{seed}-{round}")))).is_err() {}
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let mut all = names(&Node::new(9).start(&servers).await);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 20, "{all:?}");
}

/// What is kept of two blocks, for the fixture of a release.
pub(crate) async fn sample() -> Sample {
    let servers = Servers::new();
    let one = Node::new(1).start(&servers).await;
    one.add(block("first")).await.unwrap();
    one.add(block("second")).await.unwrap();
    let record = servers.record().await.unwrap();
    Sample::new("the kill switches", &record_key(), serde_json::from_slice(&record.value).unwrap())
}

#[tokio::test]
async fn blocks_of_the_last_release_stay_in_force() {
    for sample in released(Kind::Blocks) {
        let servers = Servers::new();
        let draft = Draft {
            value: sample.bytes(),
            expires_at: now() + Duration::from_secs(60),
            unread_until: None,
            families: Arc::default(),
        };
        servers.inner.insert(record_key(), draft, now()).await.unwrap();
        let blocks = Node::new(2).start(&servers).await;
        assert_eq!(
            (names(&blocks), blocks.unread()),
            (vec!["first".to_owned(), "second".to_owned()], None)
        );
        assert_eq!(blocks.all()[0].block.reason, "leaked keys");
    }
}
