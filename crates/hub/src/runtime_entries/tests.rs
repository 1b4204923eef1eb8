mod store_sync;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::registry::Blocks;
use passerelle_federation::blocks::{Block, BlockInput, BlockTarget};
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

const NOW: u64 = 1_800_000_000;

struct Hub {
    folder: TempDir,
    clock: Arc<ManualClock>,
    env: Env,
}

impl Hub {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(NOW)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(3)));
        Self { folder: tempfile::tempdir().unwrap(), clock, env }
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn file(&self) -> PathBuf {
        self.state().join("blocks.json")
    }

    /// Loads the blocks as at a start.
    fn blocks(&self) -> Blocks {
        Blocks::load(&self.state(), &self.env).unwrap()
    }

    fn refused(&self, content: &str) -> String {
        fs::create_dir_all(self.state()).unwrap();
        fs::write(self.file(), content).unwrap();
        Blocks::load(&self.state(), &self.env).err().unwrap().to_string()
    }
}

fn block(connector: &str, lasting: Option<u64>) -> Block {
    let until = lasting.map(|lasting| format_rfc3339(Timestamp::from_seconds(NOW + lasting)));
    let message = BTreeMap::from([("fr".to_owned(), "Fermé".to_owned())]);
    let words = BlockInput {
        reason: "leaked keys",
        message: &message,
        from: None,
        until: until.as_deref(),
    };
    Block::new(connector.into(), BlockTarget::Only(["sp".into()].into()), words).unwrap()
}

#[tokio::test]
async fn blocks_survive_a_restart() {
    let hub = Hub::new();
    assert!(
        hub.blocks().all().is_empty() && !hub.state().exists(),
        "a hub without blocks writes nothing"
    );
    let blocks = hub.blocks();
    let (first, persistence) = blocks.add(block("one", Some(60))).await.unwrap();
    assert!(matches!(persistence, Persistence::Persisted));
    let (second, _) = blocks.add(block("two", None)).await.unwrap();
    assert_eq!(*hub.blocks().all(), [first.clone(), second.clone()]);
    blocks.remove(&first.id).await.unwrap().unwrap();
    assert!(blocks.remove(&first.id).await.unwrap().is_none(), "lifted twice");
    assert_eq!(
        (blocks.all().as_slice(), hub.blocks().all().as_slice()),
        ([second.clone()].as_slice(), [second].as_slice())
    );
}

#[tokio::test]
async fn no_other_user_reads_or_writes_the_file() {
    let hub = Hub::new();
    hub.blocks().add(block("one", None)).await.unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(hub.file()), mode(hub.state())), (0o600, 0o700));
    assert_eq!(fs::read_dir(hub.state()).unwrap().count(), 1, "a temporary file is left");
}

#[tokio::test]
async fn a_damaged_file_stops_the_start_and_lifts_no_block() {
    let hub = Hub::new();
    hub.blocks().add(block("one", None)).await.unwrap();
    let good = fs::read_to_string(hub.file()).unwrap();
    for (what, bad) in [
        ("cut off", good[..good.len() / 2].to_owned()),
        ("empty", String::new()),
        ("another version", good.replace("\"version\": 1", "\"version\": 2")),
        ("no version", good.replace("\"version\": 1,", "")),
        ("an unknown member", good.replace("\"reason\"", "\"reasons\"")),
        ("a member twice", good.replace("\"reason\"", "\"id\": \"x\", \"reason\"")),
        ("no reason", good.replace("leaked keys", "")),
    ] {
        assert_ne!(bad, good, "{what}");
        let message = hub.refused(&bad);
        assert!(
            message.contains("blocks.json: the blocks are invalid (") && message.contains("fix: "),
            "{what}: {message}"
        );
    }
    fs::write(hub.file(), good).unwrap();
    assert_eq!(hub.blocks().all().len(), 1);
}

#[tokio::test]
async fn a_block_that_can_not_be_written_is_in_force_and_reported() {
    let hub = Hub::new();
    let blocks = hub.blocks();
    // No folder can be created where a file is, not even by root.
    fs::write(hub.state(), "in the way").unwrap();
    let (added, persistence) = blocks.add(block("one", None)).await.unwrap();
    let Persistence::NotPersisted(error) = persistence else {
        panic!("it can't have been written")
    };
    assert!(
        error.to_string().contains("fix: let this user write to the folder (the setting `state`)"),
        "{error}"
    );
    assert_eq!(blocks.all().as_slice(), std::slice::from_ref(&added));
    assert!(matches!(blocks.remove(&added.id).await, Ok(Some((_, Persistence::NotPersisted(_))))));
    assert!(blocks.all().is_empty());
}

#[tokio::test]
async fn expired_blocks_are_dropped_at_the_next_change() {
    let hub = Hub::new();
    let blocks = hub.blocks();
    blocks.add(block("one", Some(60))).await.unwrap();
    hub.clock.advance(Duration::from_millis(59_999));
    blocks.add(block("two", None)).await.unwrap();
    assert_eq!(hub.blocks().all().len(), 2);
    hub.clock.advance(Duration::from_millis(1));
    blocks.add(block("three", None)).await.unwrap();
    let names: Vec<_> =
        hub.blocks().all().iter().map(|one| one.value.connector.to_string()).collect();
    assert_eq!(names, ["two", "three"]);
}

#[tokio::test]
async fn concurrent_changes_lose_nothing() {
    let hub = Hub::new();
    let blocks = hub.blocks();
    let (lifted, _) = blocks.add(block("lifted", None)).await.unwrap();
    let writer = |writer: u32| {
        let blocks = blocks.clone();
        tokio::spawn(async move {
            for round in 0..5 {
                blocks.add(block(&format!("c-{writer}-{round}"), None)).await.unwrap();
            }
        })
    };
    let writers: Vec<_> = (0..8).map(writer).collect();
    blocks.remove(&lifted.id).await.unwrap().unwrap();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(blocks.all().len(), 40);
    assert_eq!(*hub.blocks().all(), *blocks.all());
}

#[tokio::test]
async fn the_number_of_blocks_is_limited() {
    let hub = Hub::new();
    fs::write(hub.state(), "no disk is needed for this").unwrap();
    let blocks = Blocks::new(Vec::new(), hub.file(), &hub.env);
    for _ in 0..Block::MAX_ENTRIES {
        blocks.add(block("one", None)).await.unwrap();
    }
    assert_eq!(
        blocks.add(block("one", None)).await.unwrap_err(),
        EntryUpdateError::TooMany { name: "blocks", max: Block::MAX_ENTRIES }
    );
    assert_eq!(blocks.all().len(), Block::MAX_ENTRIES);
}
