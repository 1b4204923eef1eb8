//! Saves the last checkpoint of the audit log outside of the log: in the state folder, in a
//! configured file, and in a shared store. Compares the log with them at the start.

use std::collections::BTreeMap;
use std::path::{self, Path};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};

use passerelle_audit::continuity::leads_to_end;
use passerelle_audit::last_checkpoint::{
    CheckpointCheck, CheckpointFile, CheckpointStore, LastCheckpoint, check_log_end, load_newest,
};
use passerelle_audit::writer::LogEnd;
use passerelle_config::LoadedConfig;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_store::{RecordKey, RecordKind, RecordVersion, Store, StoreScope};
use passerelle_telemetry::CheckFinding;

/// Lifetime of the record from the last checkpoint of any hub.
const RECORD_LIFETIME: Duration = Duration::from_secs(366 * 24 * 3600);
/// Timeout of one load or save, with all its attempts. The state folder has the checkpoint as well.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of logs in the record. Beyond it the one saved longest ago is removed.
const MAX_LOGS: usize = 200;
/// Maximum number of attempts to save while other hubs change the record.
const MAX_SAVE_ATTEMPTS: usize = 64;

/// Result of comparing a log with its saved checkpoint.
pub(super) struct CheckpointComparison {
    pub check: CheckpointCheck,
    /// Number of the line of the checkpoint, if one was saved.
    pub checkpoint_seq: Option<u64>,
    pub stores: Vec<Box<dyn CheckpointStore>>,
    /// Finding for the operator, if the log has been modified.
    pub finding: Option<CheckFinding>,
}

/// Returns the name of a log in its checkpoints: the absolute path of its file, without links, so
/// that a log has one name however the path to its folder is written.
pub(super) fn log_name(path: &Path) -> String {
    let absolute = fs::canonicalize(path).or_else(|_| path::absolute(path));
    absolute.unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Compares the end of the log with the last checkpoint in the state folder and the shared store.
pub(super) fn compare_with_saved_checkpoint(
    loaded: &LoadedConfig,
    env: &Env,
    node: &str,
    store: &Arc<dyn Store>,
    end: &LogEnd,
) -> CheckpointComparison {
    let path = &loaded.settings.audit.path;
    let log = log_name(path);
    let mut stores: Vec<Box<dyn CheckpointStore>> =
        vec![Box::new(CheckpointFile::in_folder(&loaded.settings.state))];
    if let Some(copy) = &loaded.settings.audit.checkpoint_copy {
        stores.push(Box::new(CheckpointFile::at(copy)));
    }
    if store.scope() == StoreScope::Shared {
        stores.push(Box::new(SharedCheckpoint::new(store, env, node, &log)));
    }
    // The caller can't await, and a shared store needs a runtime.
    let saved = std::thread::scope(|scope| scope.spawn(|| load_newest(&mut stores, &log)).join());
    let saved =
        saved.unwrap_or_else(|_| Err(io::Error::other("reading the saved checkpoints failed")));
    let check =
        check_log_end(&saved, &end.chain, |checkpoint| leads_to_end(path, checkpoint, &end.chain));
    let checkpoint_seq = saved.ok().flatten().map(|checkpoint| checkpoint.seq);
    CheckpointComparison {
        check,
        checkpoint_seq,
        stores,
        finding: report_mismatch(check, checkpoint_seq, end.chain.seq)
            .or_else(|| report_unsigned_lines(end)),
    }
}

/// Logs the lines that the previous process did not sign, and returns them as a finding: a copy of
/// the checkpoint that was set back matches the log, whatever follows the checkpoint.
fn report_unsigned_lines(end: &LogEnd) -> Option<CheckFinding> {
    let unsigned = end.unsigned_lines + u64::from(end.unfinished && end.chain.seq > 0);
    if unsigned == 0 {
        return None;
    }
    tracing::warn!(unsigned, "the audit log ends with lines that no process has signed");
    Some(CheckFinding::new(
        format!(
            "{unsigned} lines of the audit log are unproven: the process that wrote them was killed before it signed them, or they were replaced while the hub was down"
        ),
        "compare them with a checkpoint that the hub's user can't change (docs/audit.md); the finding ends with the next start",
    ))
}

/// Logs the mismatch and returns it as a finding; `None` if the log matches or no checkpoint was
/// saved.
fn report_mismatch(
    check: CheckpointCheck,
    checkpoint_seq: Option<u64>,
    end: u64,
) -> Option<CheckFinding> {
    let code = ErrorCode::AuditLogChanged.entry().code;
    let what = match check {
        CheckpointCheck::Matched | CheckpointCheck::Unknown => return None,
        CheckpointCheck::Unreadable => {
            tracing::error!(
                code,
                seq = checkpoint_seq,
                found = end,
                "the audit log can't be compared with its last checkpoint"
            );
            return Some(CheckFinding::new(
                "the audit log can't be compared with its last checkpoint, so it may have been modified or truncated while the hub was down: \
                 the copies of the checkpoint, or a file of the log, can't be read",
                "see the hub's log for the file, make it readable or move it away, and run `passerelle audit verify`",
            ));
        }
        CheckpointCheck::Missing => "ends before",
        CheckpointCheck::Changed => "does not continue from",
    };
    let seq = checkpoint_seq?;
    tracing::error!(
        code,
        seq,
        found = end,
        "the audit log was modified or truncated while the hub was down"
    );
    Some(CheckFinding::new(
        format!(
            "the audit log {what} the checkpoint in line {seq} that the hub had saved: it was modified or truncated while the hub was down"
        ),
        "run `passerelle audit verify`, and keep the file as it is",
    ))
}

/// Copy of the checkpoint in a shared store: one record, with an entry for each log of each hub.
struct SharedCheckpoint {
    store: Arc<dyn Store>,
    key: RecordKey,
    /// Key of this hub's log in the record.
    entry: String,
    env: Env,
    runtime: Option<Runtime>,
}

/// Entry of one log. The checkpoint itself is in the log and in the state folder.
#[derive(Serialize, Deserialize)]
struct LogEntry {
    log: String,
    seq: u64,
    hash: String,
    saved_at: Timestamp,
}

type Entries = BTreeMap<String, LogEntry>;

impl SharedCheckpoint {
    fn new(store: &Arc<dyn Store>, env: &Env, node: &str, log: &str) -> Self {
        Self {
            store: Arc::clone(store),
            key: RecordKey {
                kind: RecordKind::BLOCKS,
                name: digest::sha256_base64url("audit seals").into(),
            },
            entry: digest::sha256_base64url(&format!("{node}\n{log}")),
            env: env.clone(),
            runtime: Builder::new_current_thread().enable_all().build().ok(),
        }
    }

    fn block_on<T>(&self, call: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        let runtime =
            self.runtime.as_ref().ok_or_else(|| io::Error::other("no runtime could be created"))?;
        let answer = runtime.block_on(async { tokio::time::timeout(STORE_TIMEOUT, call).await });
        answer.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    async fn entries(&self, now: Timestamp) -> io::Result<Option<(Entries, RecordVersion)>> {
        let record = self.store.load(&self.key, now).await.map_err(io::Error::other)?;
        record
            .map(|record| Ok((serde_json::from_slice(&record.value)?, record.version)))
            .transpose()
    }

    /// Tries to save once; returns false if another hub has changed the record meanwhile.
    async fn try_save(&self, checkpoint: &LastCheckpoint, now: Timestamp) -> io::Result<bool> {
        let (mut entries, version) = match self.entries(now).await? {
            Some((entries, version)) => (entries, Some(version)),
            None => (Entries::new(), None),
        };
        let LastCheckpoint { log, seq, hash, .. } = checkpoint.clone();
        entries.insert(self.entry.clone(), LogEntry { log, seq, hash, saved_at: now });
        while entries.len() > MAX_LOGS {
            let oldest = entries
                .iter()
                .min_by_key(|(_, entry)| entry.saved_at)
                .map(|(name, _)| name.clone());
            oldest.and_then(|name| entries.remove(&name));
        }
        let value = serde_json::to_vec(&entries)?;
        let expires_at = now + RECORD_LIFETIME;
        let saved = self.store.compare_and_set(&self.key, version, value, expires_at, now).await;
        saved.map_err(io::Error::other)
    }
}

impl CheckpointStore for SharedCheckpoint {
    fn load(&mut self) -> io::Result<Option<LastCheckpoint>> {
        let entries = self.block_on(self.entries(self.env.now()))?;
        let entry = entries.and_then(|(mut entries, _)| entries.remove(&self.entry));
        Ok(entry.map(|LogEntry { log, seq, hash, .. }| LastCheckpoint {
            log,
            seq,
            hash,
            jws: String::new(),
        }))
    }

    fn save(&mut self, checkpoint: &LastCheckpoint) -> io::Result<()> {
        let now = self.env.now();
        self.block_on(async {
            for _ in 0..MAX_SAVE_ATTEMPTS {
                if self.try_save(checkpoint, now).await? {
                    return Ok(());
                }
            }
            Err(io::Error::other("other hubs keep changing the record"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
    use passerelle_store::memory::MemoryStore;
    use passerelle_store::testing::store_conformance::ample_capacities;

    #[test]
    fn an_unreadable_checkpoint_is_a_finding_and_one_that_was_never_saved_is_not() {
        assert!(
            report_mismatch(CheckpointCheck::Unreadable, None, 9)
                .unwrap()
                .message
                .contains("can't be compared")
        );
        assert!(
            report_mismatch(CheckpointCheck::Changed, Some(7), 9)
                .unwrap()
                .message
                .contains("line 7")
        );
        assert_eq!(
            (
                report_mismatch(CheckpointCheck::Unknown, None, 9),
                report_mismatch(CheckpointCheck::Matched, Some(9), 9)
            ),
            (None, None)
        );
    }

    /// Attack: lines are cut from the log, and the hub is started with another spelling of its
    /// folder, for which no checkpoint is saved.
    #[test]
    fn a_log_has_one_name_however_its_path_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("config/audit.jsonl");
        fs::create_dir(real.parent().unwrap()).unwrap();
        fs::write(&real, "").unwrap();
        std::os::unix::fs::symlink(real.parent().unwrap(), folder.path().join("link")).unwrap();
        for spelling in ["config/audit.jsonl", "config/../config/./audit.jsonl", "link/audit.jsonl"]
        {
            assert_eq!(log_name(&folder.path().join(spelling)), real.display().to_string());
        }
    }

    #[test]
    fn the_shared_copy_is_replaced_and_belongs_to_one_log_of_one_hub() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(ample_capacities()));
        let env = Env::system();
        let place = |node: &str, log: &str| SharedCheckpoint::new(&store, &env, node, log);
        let checkpoint = |seq: u64| LastCheckpoint {
            log: "a".into(),
            seq,
            hash: "h".into(),
            jws: String::new(),
        };
        assert_eq!(place("one", "a").load().unwrap(), None);
        for seq in [2, 9] {
            place("one", "a").save(&checkpoint(seq)).unwrap();
            assert_eq!(place("one", "a").load().unwrap(), Some(checkpoint(seq)));
        }
        assert_eq!(place("two", "a").load().unwrap(), None);
        assert_eq!(place("one", "b").load().unwrap(), None);
        assert_eq!(store.count(RecordKind::BLOCKS), 1, "one record for all logs");
    }

    #[test]
    fn the_oldest_entries_are_removed_and_concurrent_saves_lose_nothing() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(ample_capacities()));
        let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_000_000)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
        let place = |node: &str| SharedCheckpoint::new(&store, &env, node, "a");
        let checkpoint =
            LastCheckpoint { log: "a".into(), seq: 2, hash: "h".into(), jws: String::new() };
        for node in 0..MAX_LOGS + 10 {
            clock.advance(Duration::from_secs(1));
            place(&node.to_string()).save(&checkpoint).unwrap();
        }
        let saved =
            (0..MAX_LOGS + 10).filter(|node| place(&node.to_string()).load().unwrap().is_some());
        assert_eq!(saved.collect::<Vec<_>>(), (10..MAX_LOGS + 10).collect::<Vec<_>>());
        std::thread::scope(|scope| {
            for node in ["x", "y", "z"] {
                let mut place = place(node);
                let checkpoint = checkpoint.clone();
                scope.spawn(move || (0..20).for_each(|_| place.save(&checkpoint).unwrap()));
            }
        });
        assert!(["x", "y", "z"].iter().all(|node| place(node).load().unwrap().is_some()));
    }
}
