//! Adds the blocks to the registry's view: the gate's input, and what an operator sees and changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Connectors, gate_input};
use crate::actor::blocks::{BlockUpdateError, OperatorBlock, Persistence};
use crate::actor::health::HealthView;
use crate::assurance::Level;
use crate::config::blocks::{self, Block, BlockInput, BlockTarget};
use crate::config::{ConnectorMetadata, Federation, FieldDiagnostic, format_rfc3339};
use crate::egress::circuit_breaker::CircuitState;
use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId};
use crate::session::gate;
use crate::telemetry::Metrics;

/// A block to set on the running hub.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewBlock {
    pub connector: ConnectorId,
    /// Absent for all service providers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_provider: Option<ClientId>,
    /// For operators.
    pub reason: String,
    /// For users, by language.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub message: BTreeMap<String, String>,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// Error returned when a block was not set; nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockError {
    UnknownConnector { known: Vec<ConnectorId> },
    UnknownServiceProvider,
    Invalid(Vec<FieldDiagnostic>),
    NotUpdated(BlockUpdateError),
}

/// Where a block was set, and so where it can be lifted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockOrigin {
    /// The connector's file.
    File,
    Command,
}

/// A block as an operator sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockRow {
    #[serde(rename = "by")]
    pub origin: BlockOrigin,
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

/// A connector as an operator sees it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConnectorRow {
    pub id: ConnectorId,
    /// Display name, by language.
    pub name: BTreeMap<String, String>,
    pub state: ConnectorState,
    pub lowest: Level,
    pub highest: Level,
    /// Blocks in force and future ones.
    pub blocks: Vec<BlockRow>,
    /// Absent while the connector is being added or removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthRow>,
}

/// Health of a connector's identity provider, by the calls of the last minute.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HealthRow {
    pub circuit: CircuitState,
    /// From 0 to 1, of the calls that say something about the identity provider; 0 without any.
    pub failure_ratio: f64,
    /// The 99th percentile of call durations; `None` without any.
    pub p99_seconds: Option<f64>,
    /// Why calls of the last minute failed, by code, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<(String, u32)>,
    /// How far its clock is ahead of the hub's, if measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_seconds: Option<i64>,
}

/// Whether a connector can be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConnectorState {
    On,
    /// Disabled in its file.
    Off,
    /// Blocked for all service providers. A connector that is blocked for some is `On`.
    Blocked,
}

/// Condition of a connector, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectorCondition {
    Well,
    /// It may be chosen, and at least half of its calls fail.
    Failing,
    Down,
    /// Its circuit is half-open.
    Recovering,
    Off,
    Blocked,
}

impl ConnectorCondition {
    /// Returns the condition as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Failing => "failing",
            Self::Down => "down",
            Self::Recovering => "being tried",
            Self::Off => "off",
            Self::Blocked => "blocked",
        }
    }
}

impl ConnectorRow {
    /// Returns the condition of the connector.
    #[must_use]
    pub fn condition(&self) -> ConnectorCondition {
        match (self.state, &self.health) {
            (ConnectorState::Off, _) => ConnectorCondition::Off,
            (ConnectorState::Blocked, _) => ConnectorCondition::Blocked,
            (ConnectorState::On, None) => ConnectorCondition::Well,
            (ConnectorState::On, Some(health)) => match health.circuit {
                CircuitState::Open => ConnectorCondition::Down,
                CircuitState::HalfOpen => ConnectorCondition::Recovering,
                CircuitState::Closed
                    if health.failure_ratio >= 0.5
                        && health.failures() >= MIN_FAILURES_TO_SHOW_FAILING =>
                {
                    ConnectorCondition::Failing
                }
                CircuitState::Closed => ConnectorCondition::Well,
            },
        }
    }
}

impl Connectors {
    /// Returns the current input of the gate.
    #[must_use]
    pub fn gate_input(&self, client_id: &ClientId, id: &ConnectorId) -> gate::GateInput {
        self.gate_snapshot().gate_input(&self.federation.load(), client_id, id)
    }

    /// Reads the operators' blocks and the time once, for a check of many connectors.
    pub(in crate::actor) fn gate_snapshot(&self) -> GateSnapshot {
        GateSnapshot { operator_blocks: self.blocks.all(), now: self.blocks.now() }
    }
}

/// The operators' blocks at one moment.
pub(in crate::actor) struct GateSnapshot {
    operator_blocks: Arc<Vec<OperatorBlock>>,
    now: Timestamp,
}

impl GateSnapshot {
    /// Returns the gate's input by the given federation.
    pub fn gate_input(
        &self,
        federation: &Federation,
        client_id: &ClientId,
        id: &ConnectorId,
    ) -> gate::GateInput {
        let facts = gate_input(federation, client_id, id);
        let connector = federation.connector(id);
        let block = connector.and_then(|connector| {
            block_in_force(connector, &self.operator_blocks, client_id, id, self.now)
        });
        match block.map(|block| &block.target) {
            None => facts,
            // A disabled connector stays disabled, and an unknown one can't be blocked.
            Some(BlockTarget::Everyone)
                if matches!(facts.connector, gate::ConnectorStatus::On { .. }) =>
            {
                gate::GateInput { connector: gate::ConnectorStatus::Blocked, ..facts }
            }
            Some(BlockTarget::Only(_)) if facts.pairing == gate::Pairing::Allowed => {
                gate::GateInput { pairing: gate::Pairing::BlockedByOperator, ..facts }
            }
            Some(BlockTarget::Everyone | BlockTarget::Only(_)) => facts,
        }
    }
}

impl Connectors {
    /// Returns the operator's message for a user who meets a block, by language; empty without one.
    #[must_use]
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
    pub(in crate::actor) fn is_blocked(&self, id: &ConnectorId) -> bool {
        let (federation, operator_blocks, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let blocks_all =
            |block: &Block| block.target == BlockTarget::Everyone && block.is_in_force(now);
        federation.connector(id).is_some_and(|connector| {
            connector_blocks(connector, &operator_blocks, id).any(|(_, block)| blocks_all(block))
        })
    }

    /// Sets a block, which is in force when this returns. Waits for the disk or the shared store.
    ///
    /// # Errors
    /// [`BlockError`]; nothing has changed.
    pub async fn block(&self, new: &NewBlock) -> Result<(BlockRow, Persistence), BlockError> {
        let federation = self.federation.load();
        if federation.connector(&new.connector).is_none() {
            return Err(BlockError::UnknownConnector {
                known: federation.connectors().keys().cloned().collect(),
            });
        }
        if new
            .service_provider
            .as_ref()
            .is_some_and(|client_id| federation.service_provider(client_id).is_none())
        {
            return Err(BlockError::UnknownServiceProvider);
        }
        let target = new
            .service_provider
            .clone()
            .map_or(BlockTarget::Everyone, |one| BlockTarget::Only([one].into()));
        let (from, until) = (new.from.as_deref(), new.until.as_deref());
        let input = BlockInput { reason: &new.reason, message: &new.message, from, until };
        let block =
            Block::new(new.connector.clone(), target, input).map_err(BlockError::Invalid)?;
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
    /// [`BlockUpdateError`]; nothing has changed.
    pub async fn unblock(
        &self,
        id: &str,
    ) -> Result<Option<(BlockRow, Persistence)>, BlockUpdateError> {
        let lifted = self.blocks.remove(id).await?;
        Ok(lifted.map(|(added, persistence)| {
            (BlockRow::from_operator_block(&added, self.blocks.now()), persistence)
        }))
    }

    /// Returns every connector, by id.
    #[must_use]
    pub fn overview(&self) -> Vec<ConnectorRow> {
        let (federation, operator_blocks, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let actors = self.actors.load();
        let row = |(id, connector): (&ConnectorId, &Arc<ConnectorMetadata>)| {
            let ConnectorMetadata { name, enabled, levels, .. } = connector.as_ref();
            let current = connector_blocks(connector, &operator_blocks, id)
                .filter(|(_, block)| !block.has_ended(now));
            let blocks: Vec<BlockRow> =
                current.map(|(id, block)| BlockRow::new(id, block, now)).collect();
            let blocks_all =
                blocks.iter().any(|row| row.in_force && row.service_providers.is_none());
            ConnectorRow {
                id: id.clone(),
                name: BTreeMap::clone(name),
                state: match (enabled, blocks_all) {
                    (false, _) => ConnectorState::Off,
                    (true, true) => ConnectorState::Blocked,
                    (true, false) => ConnectorState::On,
                },
                lowest: levels.lowest,
                highest: levels.highest,
                blocks,
                health: actors.get(id).map(|entry| {
                    HealthRow::new(
                        entry.handle.health().view(now),
                        entry.spec.connector.clock_skew_seconds(),
                    )
                }),
            }
        };
        federation.connectors().iter().map(row).collect()
    }

    /// Returns the operators' blocks of connectors that do not exist. They apply again when the
    /// file is back.
    #[must_use]
    pub fn orphaned_blocks(&self) -> Vec<BlockRow> {
        let (federation, operator_blocks, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let orphaned = operator_blocks.iter().filter(|one| {
            federation.connector(&one.block.connector).is_none() && !one.block.has_ended(now)
        });
        orphaned.map(|one| BlockRow::from_operator_block(one, now)).collect()
    }

    /// Sets the gauge of blocks in force, by connector.
    pub fn publish_block_metrics(&self, metrics: &Metrics) {
        let (federation, operator_blocks, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let count = |(id, connector): (_, &Arc<ConnectorMetadata>)| {
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

/// Returns a connector's blocks: the operators' first, because they are newer.
fn connector_blocks<'a>(
    connector: &'a ConnectorMetadata,
    operator_blocks: &'a [OperatorBlock],
    id: &'a ConnectorId,
) -> impl Iterator<Item = (Option<&'a str>, &'a Block)> {
    let operator_blocks = operator_blocks.iter().filter(move |one| one.block.connector == *id);
    let operator_blocks = operator_blocks.map(|one| (Some(one.id.as_str()), &one.block));
    operator_blocks.chain(connector.blocks.iter().map(|block| (None, block)))
}

fn block_in_force<'a>(
    connector: &'a ConnectorMetadata,
    operator_blocks: &'a [OperatorBlock],
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

/// Fewer failures in the last minute may be caused by one browser.
const MIN_FAILURES_TO_SHOW_FAILING: u32 = 3;

impl HealthRow {
    fn failures(&self) -> u32 {
        self.reasons.iter().map(|(_, count)| *count).sum()
    }

    fn new(view: HealthView, skew_seconds: Option<i64>) -> Self {
        Self {
            circuit: view.circuit,
            failure_ratio: view.tally.failure_ratio(),
            p99_seconds: view.latency.map(|latency| latency.p99.as_secs_f64()),
            reasons: view
                .reasons
                .into_iter()
                .map(|(code, count)| (code.entry().code.to_owned(), count))
                .collect(),
            skew_seconds,
        }
    }
}

impl BlockRow {
    fn from_operator_block(set: &OperatorBlock, now: Timestamp) -> Self {
        Self::new(Some(&set.id), &set.block, now)
    }

    fn new(id: Option<&str>, block: &Block, now: Timestamp) -> Self {
        Self {
            origin: if id.is_some() { BlockOrigin::Command } else { BlockOrigin::File },
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
