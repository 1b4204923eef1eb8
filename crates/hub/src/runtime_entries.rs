//! Holds what operators set on the running hub, beside what the configuration files have: blocks
//! and notices.
//!
//! Responsible for the set of entries of one kind, and for applying each change before it is
//! confirmed. Does not depend on HTTP, or on what an entry does: the gate reads the blocks at every
//! step, and each page the notices.

mod store_sync;
mod stored_form;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use store_sync::SharedReadStatus;
pub use stored_form::EntriesFileError;

use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::SupportId;
use passerelle_settings::FieldDiagnostic;
use passerelle_store::Store;

/// A kind of entries.
pub trait EntryKind: Clone + PartialEq + Send + Sync + 'static {
    /// The fields as an operator writes them, and as file and record have them. Unknown ones are
    /// refused: they might limit the entry.
    type Fields: Serialize + DeserializeOwned;

    /// The kind in the plural: name of the file, and of the member in file and record.
    const NAME: &'static str;
    /// Name of the record in a shared store.
    const RECORD_NAME: &'static str;
    /// Maximum number of entries.
    const MAX_ENTRIES: usize;
    /// What happens without the entries.
    const LOSS: &'static str;
    /// The commands that change the file.
    const NOTE: &'static str;

    /// Checks the fields.
    ///
    /// # Errors
    /// A diagnostic for each invalid field.
    fn from_fields(fields: Self::Fields) -> Result<Self, Vec<FieldDiagnostic>>;

    fn to_fields(&self) -> Self::Fields;

    /// Returns whether it will never be in force again.
    fn has_ended(&self, now: Timestamp) -> bool;
}

/// An entry that an operator has set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuntimeEntry<K> {
    /// 12 characters; used to remove it.
    pub id: String,
    pub set_at: Timestamp,
    pub value: K,
}

/// The operators' entries of one kind: a handle, cheap to clone.
#[derive(Clone)]
pub struct RuntimeEntries<K>(Arc<Inner<K>>);

struct Inner<K> {
    env: Env,
    current: ArcSwap<EntrySet<K>>,
    path: PathBuf,
    /// Held while a change is read, applied and written, so that no concurrent change is lost in
    /// memory or in the file.
    write_lock: Mutex<()>,
    /// Set if several hubs share the entries.
    store: OnceLock<Arc<dyn Store>>,
    read_status: Mutex<SharedReadStatus>,
}

/// The entries as this hub knows them.
struct EntrySet<K> {
    /// Increases with each shared change; 0 for entries from the file, or of a hub that shares no
    /// store.
    revision: u64,
    entries: Arc<Vec<RuntimeEntry<K>>>,
}

/// Where an entry was set, and so where it can be removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryOrigin {
    /// A configuration file.
    File,
    Command,
}

/// Whether a change outlives this process and reaches the other hubs. It is in force in any case.
#[derive(Debug)]
pub enum Persistence {
    Persisted,
    /// The file could not be written.
    NotPersisted(EntriesFileError),
}

/// Error returned when a change is not confirmed.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum EntryUpdateError {
    #[error("there are {max} {name} already")]
    TooMany { name: &'static str, max: usize },
    /// The shared store can't be used. The change may have taken effect.
    #[error("{0}")]
    StoreUnavailable(String),
    /// The change may have taken effect.
    #[error("the change was interrupted")]
    Interrupted,
}

impl<K: EntryKind> RuntimeEntries<K> {
    /// Loads the entries from `folder`. Nothing is written before a change.
    ///
    /// # Errors
    /// [`EntriesFileError`] if the file exists and can't be read or parsed: an entry must not get
    /// lost.
    pub fn load(folder: &Path, env: &Env) -> Result<Self, EntriesFileError> {
        let path = folder.join(format!("{}.json", K::NAME));
        let entries = stored_form::read_file(&path)?;
        Ok(Self::new(entries, path, env))
    }

    fn new(entries: Vec<RuntimeEntry<K>>, path: PathBuf, env: &Env) -> Self {
        Self(Arc::new(Inner {
            env: env.clone(),
            current: ArcSwap::from_pointee(EntrySet { revision: 0, entries: Arc::new(entries) }),
            path,
            write_lock: Mutex::default(),
            store: OnceLock::new(),
            read_status: Mutex::default(),
        }))
    }

    /// Returns all entries.
    pub fn all(&self) -> Arc<Vec<RuntimeEntry<K>>> {
        Arc::clone(&self.0.current.load().entries)
    }

    /// Returns the time by which entries start and end.
    pub fn now(&self) -> Timestamp {
        self.0.env.now()
    }

    /// Adds an entry, which is in force when this returns. Waits for the disk or the store.
    ///
    /// # Errors
    /// [`EntryUpdateError`].
    pub async fn add(&self, value: K) -> Result<(RuntimeEntry<K>, Persistence), EntryUpdateError> {
        let added = RuntimeEntry {
            id: SupportId::generate(self.0.env.entropy()).to_string(),
            set_at: self.now(),
            value,
        };
        let (one, max) = (added.clone(), K::MAX_ENTRIES);
        let done = self
            .update(move |entries| (entries.len() < max).then(|| entries.push(one.clone())))
            .await?;
        done.map(|((), persistence)| (added, persistence))
            .ok_or(EntryUpdateError::TooMany { name: K::NAME, max })
    }

    /// Removes an entry, which has no effect any more when this returns. Waits for the disk or the
    /// store. `None`: no entry has this id.
    ///
    /// # Errors
    /// [`EntryUpdateError`].
    pub async fn remove(
        &self,
        id: &str,
    ) -> Result<Option<(RuntimeEntry<K>, Persistence)>, EntryUpdateError> {
        let id = id.to_owned();
        self.update(move |entries| {
            entries.iter().position(|one| one.id == id).map(|at| entries.remove(at))
        })
        .await
    }

    /// Applies a change; `None` if `change` returns `None`.
    async fn update<T: Send + 'static>(
        &self,
        change: impl Fn(&mut Vec<RuntimeEntry<K>>) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Option<(T, Persistence)>, EntryUpdateError> {
        if let Some(store) = self.0.store.get() {
            return self.update_shared(store.as_ref(), change).await;
        }
        let entries = self.clone();
        tokio::task::spawn_blocking(move || entries.update_local(change))
            .await
            .map_err(|_| EntryUpdateError::Interrupted)
    }

    fn update_local<T>(
        &self,
        change: impl FnOnce(&mut Vec<RuntimeEntry<K>>) -> Option<T>,
    ) -> Option<(T, Persistence)> {
        let inner = &self.0;
        let _alone = inner.write_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = Vec::clone(&self.all());
        let now = self.now();
        // Expired entries have no effect, and the file need not hold them.
        entries.retain(|one| !one.value.has_ended(now));
        let made = change(&mut entries)?;
        let entries = Arc::new(entries);
        // The change takes effect before the write, because the disk may be slow or full.
        inner.current.store(Arc::new(EntrySet { revision: 0, entries: Arc::clone(&entries) }));
        let persistence = stored_form::write_file(&inner.path, &entries)
            .map_or_else(Persistence::NotPersisted, |()| Persistence::Persisted);
        Some((made, persistence))
    }
}

#[cfg(test)]
pub(crate) mod tests;
