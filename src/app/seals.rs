//! Where a running hub keeps the last seal of its audit log: the state folder, and the store that hubs share.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::audit::file;
use crate::audit::last_seal::{LastSeal, SealCheck, SealFile, SealStore, compare, load_newest};
use crate::audit::writer::Found;
use crate::config::Loaded;
use crate::digest;
use crate::env::Env;
use crate::protocol::catalogue::ErrorCode;
use crate::store::{Draft, Key, Kind, Reach, Replaced, Store, StoreFault};

/// A record that is not written for so long is of a log that nobody writes any more.
const LIFE: Duration = Duration::from_secs(366 * 24 * 3600);
/// A store that takes longer is away: the state folder has the seal as well.
const PATIENCE: Duration = Duration::from_secs(2);

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
pub(super) fn compare_with_kept(loaded: &Loaded, env: &Env, node: &str, store: &Arc<dyn Store>, found: &Found) -> Compared {
    let path = &loaded.settings.audit.path;
    let log = path.display().to_string();
    let mut places: Vec<Box<dyn SealStore>> = vec![Box::new(SealFile::in_folder(&loaded.settings.state))];
    if store.reach() == Reach::Shared {
        places.push(Box::new(SharedSeal::new(store, env, node, &log)));
    }
    // Whoever builds a hub can't await, and a shared store needs a clock.
    let known = std::thread::scope(|scope| scope.spawn(|| load_newest(&mut places, &log)).join().unwrap_or_default());
    let check = compare(known.as_ref(), &found.chain, |seq| file::hash_of_line(path, seq));
    let sealed = known.map(|seal| seal.seq);
    let what = match check {
        SealCheck::Matched | SealCheck::Unknown => None,
        SealCheck::Missing => Some("ends before"),
        SealCheck::Changed => Some("holds another line in the place of"),
    };
    let finding = what.zip(sealed).map(|(what, seq)| {
        let code = ErrorCode::AuditLogChanged.entry().code;
        tracing::error!(code, seq, found = found.chain.seq, "the audit log was changed or cut while the hub was down");
        format!(
            "the audit log {what} the checkpoint in line {seq} that the hub had kept: it was changed or cut while the hub was down; \
             mend: run `passerelle audit verify`, and keep the file as it is"
        )
    });
    Compared { check, sealed, places, finding }
}

/// The copy in a store that hubs share: one record for each log of each node, beside the blocks.
struct SharedSeal {
    store: Arc<dyn Store>,
    key: Key,
    env: Env,
    runtime: Option<Runtime>,
}

impl SharedSeal {
    fn new(store: &Arc<dyn Store>, env: &Env, node: &str, log: &str) -> Self {
        let name = digest::fingerprint(&format!("audit seal\n{node}\n{log}"));
        Self {
            store: Arc::clone(store),
            key: Key { kind: Kind::Blocks, name: name.into() },
            env: env.clone(),
            runtime: Builder::new_current_thread().enable_all().build().ok(),
        }
    }

    fn wait_for<T>(&self, call: impl Future<Output = Result<T, StoreFault>>) -> io::Result<T> {
        let runtime = self.runtime.as_ref().ok_or_else(|| io::Error::other("no runtime could be made"))?;
        let answer = runtime.block_on(async { tokio::time::timeout(PATIENCE, call).await });
        answer.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?.map_err(io::Error::other)
    }
}

impl SealStore for SharedSeal {
    fn load(&mut self) -> io::Result<Option<LastSeal>> {
        let found = self.wait_for(self.store.load(&self.key, self.env.now()))?;
        Ok(found.map(|record| serde_json::from_slice(&record.value)).transpose()?)
    }

    fn save(&mut self, seal: &LastSeal) -> io::Result<()> {
        let (now, value) = (self.env.now(), serde_json::to_vec(seal)?);
        self.wait_for(async {
            // One writer for each node's log: it is replaced, or there for the first time.
            if let Some(record) = self.store.load(&self.key, now).await? {
                let replaced = self.store.replace(&self.key, record.version, value.clone(), now + LIFE, now).await?;
                if matches!(replaced, Replaced::Done(_)) {
                    return Ok(());
                }
            }
            let draft = Draft { value, expires_at: now + LIFE, unread_until: None, families: Arc::default() };
            self.store.insert(self.key.clone(), draft, now).await.map(drop)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::conformance::ROOMY;
    use crate::store::memory::MemoryStore;

    #[test]
    fn the_shared_copy_is_replaced_and_belongs_to_one_log_of_one_node() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(ROOMY));
        let env = Env::system();
        let place = |node: &str, log: &str| SharedSeal::new(&store, &env, node, log);
        let seal = |seq: u64| LastSeal { log: "a".into(), seq, hash: "h".into(), jws: "j".into() };
        assert_eq!(place("one", "a").load().unwrap(), None);
        for seq in [2, 9] {
            place("one", "a").save(&seal(seq)).unwrap();
            assert_eq!(place("one", "a").load().unwrap(), Some(seal(seq)));
        }
        assert_eq!(place("two", "a").load().unwrap(), None);
        assert_eq!(place("one", "b").load().unwrap(), None);
    }
}
