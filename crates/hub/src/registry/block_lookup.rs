//! Passes the blocks to the gate: those of the connectors' files and those of operators.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Connectors;
use crate::runtime_entries::RuntimeEntry;
use passerelle_federation::blocks::{self, Block, BlockTarget};
use passerelle_federation::session::gate::{self, PermittedConnector, UnavailableReason};
use passerelle_federation::{ConnectorProfile, ServiceProvider};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId};

impl Connectors {
    /// Returns what a connector can prove to a service provider that may use it now.
    ///
    /// # Errors
    /// The first reason against it.
    pub fn permit_connector(
        &self,
        client_id: &ClientId,
        id: &ConnectorId,
    ) -> Result<PermittedConnector, UnavailableReason> {
        let federation = self.federation.load();
        let operator_blocks = self.blocks.all();
        let block = federation.connector(id).and_then(|connector| {
            block_in_force(connector, &operator_blocks, client_id, id, self.blocks.now())
        });
        federation.permit_connector(client_id, id, block.map(|block| &block.target))
    }

    /// Reads the operators' blocks and the time once, for a check of many connectors.
    pub(crate) fn gate_snapshot(&self) -> GateSnapshot {
        GateSnapshot { operator_blocks: self.blocks.all(), now: self.blocks.now() }
    }
}

/// The operators' blocks at one moment.
pub(crate) struct GateSnapshot {
    operator_blocks: Arc<Vec<RuntimeEntry<Block>>>,
    now: Timestamp,
}

impl GateSnapshot {
    /// Returns what a connector can prove to a service provider that may use it at this moment.
    ///
    /// # Errors
    /// The first reason against it.
    pub(crate) fn permit_connector(
        &self,
        client_id: &ClientId,
        service: Option<&Arc<ServiceProvider>>,
        id: &ConnectorId,
        connector: &ConnectorProfile,
    ) -> Result<PermittedConnector, UnavailableReason> {
        let allowed = service.map(|service| &service.allowed_connectors);
        let block = block_in_force(connector, &self.operator_blocks, client_id, id, self.now);
        gate::permit_connector(allowed, id, Some(connector), block.map(|block| &block.target))
    }
}

impl Connectors {
    /// Returns the operator's message for a user who meets a block, by language; empty without one.
    pub fn operator_message(
        &self,
        client_id: &ClientId,
        id: &ConnectorId,
    ) -> Arc<BTreeMap<String, String>> {
        let (federation, operator_blocks) = (self.federation.load(), self.blocks.all());
        let connector = federation.connector(id);
        let block = connector.and_then(|connector| {
            block_in_force(connector, &operator_blocks, client_id, id, self.blocks.now())
        });
        block.map(|block| Arc::clone(&block.message)).unwrap_or_default()
    }

    /// Returns whether a block for all service providers is in force.
    pub(crate) fn is_blocked(&self, id: &ConnectorId) -> bool {
        let (federation, operator_blocks, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let blocks_all =
            |block: &Block| block.target == BlockTarget::Everyone && block.is_in_force(now);
        federation.connector(id).is_some_and(|connector| {
            connector_blocks(connector, &operator_blocks, id).any(|(_, block)| blocks_all(block))
        })
    }
}

/// Returns a connector's blocks: the operators' first, because they are newer.
pub(super) fn connector_blocks<'a>(
    connector: &'a ConnectorProfile,
    operator_blocks: &'a [RuntimeEntry<Block>],
    id: &'a ConnectorId,
) -> impl Iterator<Item = (Option<&'a str>, &'a Block)> {
    let operator_blocks = operator_blocks.iter().filter(move |one| one.value.connector == *id);
    let operator_blocks = operator_blocks.map(|one| (Some(one.id.as_str()), &one.value));
    operator_blocks.chain(connector.blocks.iter().map(|block| (None, block)))
}

fn block_in_force<'a>(
    connector: &'a ConnectorProfile,
    operator_blocks: &'a [RuntimeEntry<Block>],
    client_id: &ClientId,
    id: &'a ConnectorId,
    now: Timestamp,
) -> Option<&'a Block> {
    blocks::find_block_in_force(
        connector_blocks(connector, operator_blocks, id).map(|(_, block)| block),
        id,
        client_id,
        now,
    )
}
