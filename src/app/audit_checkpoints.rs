//! Where a running hub keeps the last seal of its audit log: the state folder, and the store that hubs share.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};

use crate::audit::descent::leads_to_end;
use crate::audit::last_seal::{LastSeal, SealCheck, SealFile, SealStore, compare, load_newest};
use crate::audit::writer::Found;
use crate::config::Loaded;
use crate::digest;
use crate::env::{Env, Timestamp};
use crate::protocol::catalogue::ErrorCode;
use crate::store::{Draft, Key, Kind, Reach, Replaced, Store, StoreFault, Version};

/// The record lives on from each seal of any node.
const LIFE: Duration = Duration::from_secs(366 * 24 * 3600);
/// A store that takes longer is away: the state folder has the seal as well.
const PATIENCE: Duration = Duration::from_secs(2);
/// Logs in the record. Beyond it the one that was sealed longest ago is removed, as of a container that is gone.
const MAX_LOGS: usize = 200;
/// A save that loses a race against another node's is repeated this often.
const ATTEMPTS: usize = 64;

/// What is known of a log before the first line of this process.
pub(super) struct Compared {
    pub check: SealCheck,
    /// Number of the sealed line, where one was kept.
    pub sealed: Option<u64>,
    pub places: Vec<Box<dyn SealStore>>,
    /// For the operator: the log is not what it was.
    pub finding: Option<String>,
}

/// Compares the log's end with the last seal that the state folder and the shared store keep.
pub(super) fn compare_with_kept(
    loaded: &Loaded,
    env: &Env,
    node: &str,
    store: &Arc<dyn Store>,
    found: &Found,
) -> Compared {
    let path = &loaded.settings.audit.path;
    let log = path.display().to_string();
    let mut places: Vec<Box<dyn SealStore>> =
        vec![Box::new(SealFile::in_folder(&loaded.settings.state))];
    if store.reach() == Reach::Shared {
        places.push(Box::new(SharedSeal::new(store, env, node, &log)));
    }
    // The caller can't await, and a shared store needs a runtime.
    let known = std::thread::scope(|scope| scope.spawn(|| load_newest(&mut places, &log)).join());
    let known = known.unwrap_or_else(|_| Err(io::Error::other("reading the kept seals failed")));
    let check = compare(&known, &found.chain, |seal| leads_to_end(path, seal, &found.chain));
    let sealed = known.ok().flatten().map(|seal| seal.seq);
    Compared { check, sealed, places, finding: describe(check, sealed, found.chain.seq) }
}

/// Returns what the operator reads of a log that is not proven to be what it was, and logs it.
fn describe(check: SealCheck, sealed: Option<u64>, end: u64) -> Option<String> {
    let code = ErrorCode::AuditLogChanged.entry().code;
    let what = match check {
        SealCheck::Matched | SealCheck::Unknown => return None,
        SealCheck::Unreadable => {
            tracing::error!(
                code,
                seq = sealed,
                found = end,
                "the audit log can't be compared with its last checkpoint"
            );
            return Some(
                "the audit log can't be compared with its last checkpoint, so it may have been changed or cut while the hub was down: \
                 the copies of the checkpoint, or a file of the log, can't be read; mend: the hub's log names what; \
                 make it readable or move it away, and run `passerelle audit verify`"
                    .to_owned(),
            );
        }
        SealCheck::Missing => "ends before",
        SealCheck::Changed => "does not lead on from",
    };
    let seq = sealed?;
    tracing::error!(
        code,
        seq,
        found = end,
        "the audit log was changed or cut while the hub was down"
    );
    Some(format!(
        "the audit log {what} the checkpoint in line {seq} that the hub had kept: it was changed or cut while the hub was down; \
         mend: run `passerelle audit verify`, and keep the file as it is"
    ))
}

/// The copy in a store that hubs share: one record beside the blocks, with an entry for each log of each node.
struct SharedSeal {
    store: Arc<dyn Store>,
    key: Key,
    /// Names this node's log in the record.
    entry: String,
    env: Env,
    runtime: Option<Runtime>,
}

/// What the record holds of one log. The checkpoint itself is in the log and in the state folder.
#[derive(Serialize, Deserialize)]
struct Entry {
    log: String,
    seq: u64,
    hash: String,
    saved_at: Timestamp,
}

type Entries = BTreeMap<String, Entry>;

impl SharedSeal {
    fn new(store: &Arc<dyn Store>, env: &Env, node: &str, log: &str) -> Self {
        Self {
            store: Arc::clone(store),
            key: Key { kind: Kind::Blocks, name: digest::fingerprint("audit seals").into() },
            entry: digest::fingerprint(&format!("{node}\n{log}")),
            env: env.clone(),
            runtime: Builder::new_current_thread().enable_all().build().ok(),
        }
    }

    fn wait_for<T>(&self, call: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        let runtime =
            self.runtime.as_ref().ok_or_else(|| io::Error::other("no runtime could be made"))?;
        let answer = runtime.block_on(async { tokio::time::timeout(PATIENCE, call).await });
        answer.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    async fn entries(&self, now: Timestamp) -> io::Result<Option<(Entries, Version)>> {
        let found = self.store.load(&self.key, now).await.map_err(io::Error::other)?;
        found.map(|record| Ok((serde_json::from_slice(&record.value)?, record.version))).transpose()
    }

    /// Returns false where another node has changed the record meanwhile.
    async fn try_save(&self, seal: &LastSeal, now: Timestamp) -> io::Result<bool> {
        let (mut entries, version) = match self.entries(now).await? {
            Some((entries, version)) => (entries, Some(version)),
            None => (Entries::new(), None),
        };
        let LastSeal { log, seq, hash, .. } = seal.clone();
        entries.insert(self.entry.clone(), Entry { log, seq, hash, saved_at: now });
        while entries.len() > MAX_LOGS {
            let oldest = entries
                .iter()
                .min_by_key(|(_, entry)| entry.saved_at)
                .map(|(name, _)| name.clone());
            oldest.and_then(|name| entries.remove(&name));
        }
        let value = serde_json::to_vec(&entries)?;
        let Some(version) = version else {
            let draft = Draft {
                value,
                expires_at: now + LIFE,
                unread_until: None,
                families: Arc::default(),
            };
            return match self.store.insert(self.key.clone(), draft, now).await {
                Ok(_) => Ok(true),
                Err(StoreFault::Exists) => Ok(false),
                Err(fault) => Err(io::Error::other(fault)),
            };
        };
        let replaced = self
            .store
            .replace(&self.key, version, value, now + LIFE, now)
            .await
            .map_err(io::Error::other)?;
        Ok(matches!(replaced, Replaced::Done(_)))
    }
}

impl SealStore for SharedSeal {
    fn load(&mut self) -> io::Result<Option<LastSeal>> {
        let entries = self.wait_for(self.entries(self.env.now()))?;
        let entry = entries.and_then(|(mut entries, _)| entries.remove(&self.entry));
        Ok(entry.map(|Entry { log, seq, hash, .. }| LastSeal {
            log,
            seq,
            hash,
            jws: String::new(),
        }))
    }

    fn save(&mut self, seal: &LastSeal) -> io::Result<()> {
        let now = self.env.now();
        self.wait_for(async {
            for _ in 0..ATTEMPTS {
                if self.try_save(seal, now).await? {
                    return Ok(());
                }
            }
            Err(io::Error::other("other nodes change the record all the time"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{HandClock, SeededEntropy};
    use crate::store::conformance::ROOMY;
    use crate::store::memory::MemoryStore;

    #[test]
    fn a_seal_that_can_not_be_read_is_a_finding_and_one_that_was_never_kept_is_none() {
        assert!(describe(SealCheck::Unreadable, None, 9).unwrap().contains("can't be compared"));
        assert!(describe(SealCheck::Changed, Some(7), 9).unwrap().contains("line 7"));
        assert_eq!(
            (describe(SealCheck::Unknown, None, 9), describe(SealCheck::Matched, Some(9), 9)),
            (None, None)
        );
    }

    #[test]
    fn the_shared_copy_is_replaced_and_belongs_to_one_log_of_one_node() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(ROOMY));
        let env = Env::system();
        let place = |node: &str, log: &str| SharedSeal::new(&store, &env, node, log);
        let seal =
            |seq: u64| LastSeal { log: "a".into(), seq, hash: "h".into(), jws: String::new() };
        assert_eq!(place("one", "a").load().unwrap(), None);
        for seq in [2, 9] {
            place("one", "a").save(&seal(seq)).unwrap();
            assert_eq!(place("one", "a").load().unwrap(), Some(seal(seq)));
        }
        assert_eq!(place("two", "a").load().unwrap(), None);
        assert_eq!(place("one", "b").load().unwrap(), None);
        assert_eq!(store.count(Kind::Blocks), 1, "the blocks keep their places");
    }

    #[test]
    fn containers_that_are_gone_make_room_and_nodes_that_save_at_once_lose_nothing() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(ROOMY));
        let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1_000_000)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
        let place = |node: &str| SharedSeal::new(&store, &env, node, "a");
        let seal = LastSeal { log: "a".into(), seq: 2, hash: "h".into(), jws: String::new() };
        for node in 0..MAX_LOGS + 10 {
            clock.advance(Duration::from_secs(1));
            place(&node.to_string()).save(&seal).unwrap();
        }
        let known =
            (0..MAX_LOGS + 10).filter(|node| place(&node.to_string()).load().unwrap().is_some());
        assert_eq!(known.collect::<Vec<_>>(), (10..MAX_LOGS + 10).collect::<Vec<_>>());
        std::thread::scope(|scope| {
            for node in ["x", "y", "z"] {
                let mut place = place(node);
                let seal = seal.clone();
                scope.spawn(move || (0..20).for_each(|_| place.save(&seal).unwrap()));
            }
        });
        assert!(["x", "y", "z"].iter().all(|node| place(node).load().unwrap().is_some()));
    }
}
