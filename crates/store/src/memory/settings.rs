//! Defines and checks `[store.memory]`, and registers the kind `memory` (docs/deploying.md).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MemoryStore;
use super::shutdown_snapshot::ShutdownSnapshot;
use super::snapshot_file::{SnapshotError, SnapshotFile};
use crate::encryption_settings::read_encryption_keys;
use crate::kind::{OpenStoreError, OpenedStore, StoreContext, StoreSettings, store_settings};
use passerelle_protocol::atomic_file::parent_folder;
use passerelle_protocol::ids::Secret;
use passerelle_settings::{ConfiguredTable, KindTable, SecretRef, TableKind};

/// The memory of this process, for a single hub. A planned restart passes its content to the next
/// process.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "snapshot": "state/store.snapshot",
    "encryption_keys": [{ "file": "store.key" }]
}]))]
pub(super) struct MemoryConfig {
    /// File to which the hub writes its logins, sessions, codes, tokens and revocations, encrypted,
    /// at an orderly shutdown, and from which the next process restores them. Its folder must be
    /// writable for the hub, and accessible to no one else.
    pub snapshot: PathBuf,
    /// Keys that encrypt the file, each of at least 32 random characters. The first encrypts, all
    /// decrypt.
    pub encryption_keys: Vec<SecretRef>,
}

/// A store without a snapshot, which begins empty: the default.
pub struct VolatileMemory;

/// A checked `[store.memory]` with its keys.
pub struct MemorySettings {
    pub snapshot: PathBuf,
    pub encryption_keys: Vec<Secret<String>>,
}

/// The kind `memory`.
pub const KIND: TableKind = TableKind {
    name: "memory",
    summary: "The memory of this process, saved across planned restarts.",
    schema: |generator| generator.subschema_for::<MemoryConfig>(),
    load,
};

fn load(table: &mut KindTable<'_>) -> Option<ConfiguredTable> {
    let mut config: MemoryConfig = table.deserialize()?;
    let path = config.snapshot.as_os_str().as_encoded_bytes();
    if config.snapshot.file_name().is_none() || path.ends_with(b"/") {
        let fix = "write the path of a file, for example \"state/store.snapshot\"";
        table.report("snapshot", "is not the path of a file", fix);
    }
    let encryption_keys = read_encryption_keys(table, &config.encryption_keys);
    config.snapshot = table.resolve_path(&config.snapshot);
    let snapshot = config.snapshot.clone();
    Some(store_settings(table, &config, MemorySettings { snapshot, encryption_keys }))
}

impl StoreSettings for VolatileMemory {
    fn open(&self, context: &StoreContext) -> Result<OpenedStore, OpenStoreError> {
        Ok(OpenedStore::new(Arc::new(MemoryStore::new(context.capacities.clone()))))
    }
}

impl StoreSettings for MemorySettings {
    fn open(&self, context: &StoreContext) -> Result<OpenedStore, OpenStoreError> {
        self.check()?;
        let store = Arc::new(MemoryStore::new(context.capacities.clone()));
        let file = SnapshotFile::new(&self.snapshot, &self.encryption_keys, &context.issuer);
        let snapshot = ShutdownSnapshot::new(file, &store, &context.env);
        Ok(OpenedStore { snapshot: Some(Box::new(snapshot)), ..OpenedStore::new(store) })
    }

    fn written_folder(&self) -> Option<&Path> {
        Some(parent_folder(&self.snapshot))
    }

    fn check(&self) -> Result<(), OpenStoreError> {
        Ok(SnapshotFile::check_writable(&self.snapshot)?)
    }
}

impl From<SnapshotError> for OpenStoreError {
    fn from(error: SnapshotError) -> Self {
        Self(error.to_string())
    }
}
