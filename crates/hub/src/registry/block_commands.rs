//! Sets, lifts and lists blocks of connectors for an operator.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Connectors;
use super::block_lookup::connector_blocks;
use crate::runtime_entries::{
    EntryKind, EntryOrigin, EntryUpdateError, Persistence, RuntimeEntries, RuntimeEntry,
};
use passerelle_federation::ConnectorProfile;
use passerelle_federation::blocks::{Block, BlockInput, BlockTarget};
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_settings::FieldDiagnostic;
use passerelle_telemetry::Metrics;

/// The operators' blocks.
pub type Blocks = RuntimeEntries<Block>;

/// A block to set on the running hub, and one in its file and record.
#[serde_with::serde_as]
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewBlock {
    pub connector: ConnectorId,
    /// One service provider or a list of them; absent for all.
    #[serde(rename = "service_provider", default)]
    #[serde_as(as = "Option<serde_with::OneOrMany<_>>")]
    pub service_providers: Option<Vec<ClientId>>,
    /// For operators.
    pub reason: String,
    /// For users, by language.
    #[serde(default)]
    pub message: BTreeMap<String, String>,
    /// RFC 3339.
    #[serde(default)]
    pub from: Option<String>,
    #[serde(default)]
    pub until: Option<String>,
}

impl EntryKind for Block {
    type Fields = NewBlock;

    const NAME: &'static str = "blocks";
    const RECORD_NAME: &'static str = "all";
    /// Every call of the gate scans them.
    const MAX_ENTRIES: usize = 500;
    const LOSS: &'static str = "a blocked identity provider would be usable again";
    const NOTE: &'static str =
        "Written by the hub. Change it by `passerelle idp block` and `passerelle idp unblock`.";

    fn from_fields(fields: NewBlock) -> Result<Self, Vec<FieldDiagnostic>> {
        let NewBlock { connector, service_providers, reason, message, from, until } = &fields;
        let target = BlockTarget::from_named(service_providers.clone());
        let (from, until) = (from.as_deref(), until.as_deref());
        Self::new(connector.clone(), target, BlockInput { reason, message, from, until })
    }

    fn to_fields(&self) -> NewBlock {
        NewBlock {
            connector: self.connector.clone(),
            service_providers: match &self.target {
                BlockTarget::Everyone => None,
                BlockTarget::Only(some) => Some(some.iter().cloned().collect()),
            },
            reason: self.reason.clone(),
            message: BTreeMap::clone(&self.message),
            from: self.validity.not_before.map(format_rfc3339),
            until: self.validity.not_after.map(format_rfc3339),
        }
    }

    fn has_ended(&self, now: Timestamp) -> bool {
        Self::has_ended(self, now)
    }
}

/// Error returned when a block was not set, or the setting is not confirmed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockError {
    UnknownConnector { known: Vec<ConnectorId> },
    UnknownServiceProvider(ClientId),
    Invalid(Vec<FieldDiagnostic>),
    NotUpdated(EntryUpdateError),
}

/// A block as an operator sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockRow {
    #[serde(rename = "by")]
    pub origin: EntryOrigin,
    /// Id to lift it by; `None` for a block from a file.
    pub id: Option<String>,
    pub connector: ConnectorId,
    /// `None` for all service providers.
    pub service_providers: Option<BTreeSet<ClientId>>,
    pub reason: String,
    pub message: BTreeMap<String, String>,
    /// RFC 3339, like `until`.
    pub from: Option<String>,
    pub until: Option<String>,
    pub in_force: bool,
}

impl Connectors {
    /// Sets a block, which is in force when this returns. Waits for the disk or the shared store.
    ///
    /// # Errors
    /// [`BlockError`].
    pub async fn block(&self, new: &NewBlock) -> Result<(BlockRow, Persistence), BlockError> {
        let federation = self.federation.load();
        if federation.connector(&new.connector).is_none() {
            return Err(BlockError::UnknownConnector {
                known: federation.connectors().keys().cloned().collect(),
            });
        }
        let mut named = new.service_providers.iter().flatten();
        if let Some(unknown) = named.find(|id| federation.service_provider(id).is_none()) {
            return Err(BlockError::UnknownServiceProvider(unknown.clone()));
        }
        if new.service_providers.as_ref().is_some_and(Vec::is_empty) {
            let fix = "leave it out for all service providers";
            let diagnostic = FieldDiagnostic::new("service_provider", "is an empty list", fix);
            return Err(BlockError::Invalid(vec![diagnostic]));
        }
        let block = Block::from_fields(new.clone()).map_err(BlockError::Invalid)?;
        if block.has_ended(self.blocks.now()) {
            let diagnostic =
                FieldDiagnostic::new("until", "is in the past", "set a time in the future");
            return Err(BlockError::Invalid(vec![diagnostic]));
        }
        let (added, persistence) = self.blocks.add(block).await.map_err(BlockError::NotUpdated)?;
        Ok((BlockRow::from_operator_block(&added, self.blocks.now()), persistence))
    }

    /// Lifts a block that an operator has set; `None` if none has this id. Waits as [`Self::block`]
    /// does.
    ///
    /// # Errors
    /// [`EntryUpdateError`].
    pub async fn unblock(
        &self,
        id: &str,
    ) -> Result<Option<(BlockRow, Persistence)>, EntryUpdateError> {
        let lifted = self.blocks.remove(id).await?;
        Ok(lifted.map(|(added, persistence)| {
            (BlockRow::from_operator_block(&added, self.blocks.now()), persistence)
        }))
    }

    /// Returns the operators' blocks of connectors that do not exist. They apply again when the
    /// file is back.
    pub fn orphaned_blocks(&self) -> Vec<BlockRow> {
        let (federation, operator_blocks, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let orphaned = operator_blocks.iter().filter(|one| {
            federation.connector(&one.value.connector).is_none() && !one.value.has_ended(now)
        });
        orphaned.map(|one| BlockRow::from_operator_block(one, now)).collect()
    }

    /// Sets the gauge of blocks in force, by connector.
    pub fn publish_block_metrics(&self, metrics: &Metrics) {
        let (federation, operator_blocks, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let count = |(id, connector): (_, &Arc<ConnectorProfile>)| {
            (
                id,
                connector_blocks(connector, &operator_blocks, id)
                    .filter(|(_, block)| block.is_in_force(now))
                    .count(),
            )
        };
        metrics.set_connector_blocks(federation.connectors().iter().map(count));
    }
}

impl BlockRow {
    fn from_operator_block(set: &RuntimeEntry<Block>, now: Timestamp) -> Self {
        Self::new(Some(&set.id), &set.value, now)
    }

    /// Creates the row of a block. `id` is `None` for a block of a connector's file.
    pub(super) fn new(id: Option<&str>, block: &Block, now: Timestamp) -> Self {
        Self {
            origin: if id.is_some() { EntryOrigin::Command } else { EntryOrigin::File },
            id: id.map(str::to_owned),
            connector: block.connector.clone(),
            service_providers: match &block.target {
                BlockTarget::Everyone => None,
                BlockTarget::Only(some) => Some(some.clone()),
            },
            reason: block.reason.clone(),
            message: BTreeMap::clone(&block.message),
            from: block.validity.not_before.map(format_rfc3339),
            until: block.validity.not_after.map(format_rfc3339),
            in_force: block.is_in_force(now),
        }
    }
}
