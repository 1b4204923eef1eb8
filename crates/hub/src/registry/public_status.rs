//! Lists what a public page may say about each identity provider: whether it works, and what
//! operators have announced.
//!
//! It says what every choice page shows, and nothing about people, rates or causes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Connectors;
use super::block_lookup::connector_blocks;
use super::connector_overview::ConnectorState;
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_federation::blocks::{Block, BlockTarget};
use passerelle_federation::provider_display::ProviderDisplay;
use passerelle_federation::validity::{Validity, ValidityStatus};
use passerelle_federation::{ConnectorProfile, ServiceProvider};
use passerelle_protocol::ids::{ClientId, ConnectorId};

/// A block that operators have announced or set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicBlock {
    /// Message for users, by language; may be empty.
    pub message: Arc<BTreeMap<String, String>>,
    pub validity: Validity,
}

/// What the public may know of an identity provider.
#[derive(Clone, Debug)]
pub struct ProviderStatus {
    pub id: ConnectorId,
    pub display: Arc<ProviderDisplay>,
    /// Never `Disabled`. `Degraded`: it failed recently, and may be tried.
    pub state: ConnectorState,
    /// The block in force.
    pub block: Option<PublicBlock>,
    /// Blocks that begin later, the next one first.
    pub planned: Vec<PublicBlock>,
}

impl Connectors {
    /// Returns the identity providers that choice pages list, sorted by name in this language. With
    /// a service provider: those that it may use, with the blocks for it; else with the blocks for
    /// all service providers.
    pub fn public_status(
        &self,
        service: Option<(&ClientId, &ServiceProvider)>,
        language: &str,
    ) -> Vec<ProviderStatus> {
        let federation = self.federation.load();
        let (operator_blocks, now) = (self.blocks.all(), self.blocks.now());
        let status = |id: &ConnectorId, connector: &ConnectorProfile| {
            let concerns = |block: &&Block| match service {
                Some((client_id, _)) => block.applies_to(client_id),
                None => block.target == BlockTarget::Everyone,
            };
            let blocks = || {
                connector_blocks(connector, &operator_blocks, id)
                    .map(|(_, block)| block)
                    .filter(concerns)
            };
            let public = |block: &Block| PublicBlock {
                message: Arc::clone(&block.message),
                validity: block.validity,
            };
            let block = blocks().find(|block| block.is_in_force(now)).map(public);
            let is_planned =
                |block: &&Block| block.validity.status_at(now) == ValidityStatus::NotYetValid;
            let mut planned: Vec<PublicBlock> = blocks().filter(is_planned).map(public).collect();
            planned.sort_by_key(|block| block.validity.not_before);
            let state = match self.circuit_state(id) {
                _ if block.is_some() => ConnectorState::Blocked,
                CircuitState::Open => ConnectorState::Down,
                CircuitState::HalfOpen => ConnectorState::Degraded,
                CircuitState::Closed => ConnectorState::Available,
            };
            let display = Arc::clone(&connector.display);
            ProviderStatus { id: id.clone(), display, state, block, planned }
        };
        let is_shown = |id: &ConnectorId, connector: &ConnectorProfile| {
            connector.enabled
                && connector.listed
                && service.is_none_or(|(_, service)| service.allowed_connectors.allows(id))
        };
        federation
            .sorted_connectors()
            .in_language(language)
            .iter()
            .filter_map(|id| Some((id, federation.connector(id)?)))
            .filter(|(id, connector)| is_shown(id, connector))
            .map(|(id, connector)| status(id, connector))
            .collect()
    }
}
