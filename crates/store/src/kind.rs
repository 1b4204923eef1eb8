//! Opens the store that the settings describe, whatever its kind.
//!
//! A kind of store is one folder: a [`TableKind`](passerelle_settings::TableKind) for its table
//! `[store.<name>]`, and [`StoreSettings`] for what the table says. It has one line in
//! [`super::KINDS`].

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;

use super::counters::Counters;
use super::{Capacities, Store};
use passerelle_protocol::env::Env;
use passerelle_settings::{ConfiguredTable, KindTable};
use passerelle_telemetry::Metrics;

/// What a store is opened with besides its settings.
#[derive(Clone)]
pub struct StoreContext {
    /// Maximum number of records of each kind.
    pub capacities: Capacities,
    /// Issuer of the hub; hubs with another issuer must not read its records.
    pub issuer: String,
    pub env: Env,
    pub metrics: Arc<Metrics>,
}

/// Returns why the store does not answer, as far as is known without a call.
pub type StoreCheck = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// An open store and what belongs to it.
pub struct OpenedStore {
    pub store: Arc<dyn Store>,
    pub check: StoreCheck,
    /// Counters that hubs with a shared store sum up; `None` for an embedded store.
    pub counters: Option<Arc<dyn Counters>>,
    /// Snapshot of an embedded store, if configured.
    pub snapshot: Option<Box<dyn StoreSnapshot>>,
}

impl OpenedStore {
    /// Creates the value for a store that always answers and has nothing else.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, check: Box::new(|| Ok(())), counters: None, snapshot: None }
    }
}

/// Error that keeps a hub from using its store, with its fix.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{0}")]
pub struct OpenStoreError(pub String);

/// Checked settings of a store, with their secrets.
#[async_trait]
pub trait StoreSettings: Any + Send + Sync {
    /// Opens the store. A shared server that does not answer is not an error: the hub becomes ready
    /// when it does.
    ///
    /// # Errors
    /// Returns an error if the store must not be used as it is configured.
    fn open(&self, context: &StoreContext) -> Result<OpenedStore, OpenStoreError>;

    /// Returns the folder that the open store writes files to, if any.
    fn written_folder(&self) -> Option<&Path> {
        None
    }

    /// Returns true if the open store connects to a Unix socket.
    fn uses_unix_socket(&self) -> bool {
        false
    }

    /// Checks what [`Self::open`] needs, without opening the store.
    ///
    /// # Errors
    /// Returns the error that `open` would return.
    fn check(&self) -> Result<(), OpenStoreError> {
        Ok(())
    }

    /// Queries shared servers: a summary, or why they do not answer. Returns `None` for an embedded
    /// store.
    ///
    /// # Errors
    /// Returns an error if the store can't be built.
    async fn probe(
        &self,
        _context: &StoreContext,
    ) -> Result<Option<Result<String, String>>, OpenStoreError> {
        Ok(None)
    }
}

/// Returns what [`TableKind::load`](passerelle_settings::TableKind::load) returns: the table as
/// operators may see it, and the settings that open the store.
pub fn store_settings(
    kind: &KindTable<'_>,
    table: &impl Serialize,
    settings: impl StoreSettings,
) -> ConfiguredTable {
    kind.configured(table, Box::new(settings) as Box<dyn StoreSettings>)
}

/// Whether the store began with records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreOrigin {
    /// The records of the previous process were restored from a snapshot.
    Restored,
    /// The store began empty.
    Empty,
}

/// Passes the records of an embedded store from process to process.
#[async_trait]
pub trait StoreSnapshot: Send + Sync {
    /// Restores the snapshot. Call it once nothing else can keep the hub from starting, and before
    /// requests are served. Blocks on the disk.
    ///
    /// # Errors
    /// Returns an error if a later start might restore the snapshot again. A snapshot that can't be
    /// read is not an error: the hub starts without its sessions.
    fn restore(&self) -> Result<StoreOrigin, OpenStoreError>;

    /// Saves the store; nothing may be stored afterwards. A failure is logged and does not stop the
    /// shutdown.
    async fn save(self: Box<Self>);
}
