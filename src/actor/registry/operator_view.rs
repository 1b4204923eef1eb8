//! The registry's view with the kill switches over it: what the gate is told, what an operator sees and changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Connectors, gate_facts};
use crate::actor::blocks::{Commanded, Survival, Unchanged};
use crate::actor::health::{Condition, View};
use crate::assurance::Level;
use crate::config::blocks::{self, Block, Reach, Words};
use crate::config::{ConnectorFacts, Federation, Flaw, in_rfc3339};
use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId};
use crate::session::gate;
use crate::telemetry::Metrics;

/// A block to be set on the running hub.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewBlock {
    pub connector: ConnectorId,
    /// Absent: for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_provider: Option<ClientId>,
    /// For operators.
    pub reason: String,
    /// For persons, by language.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub message: BTreeMap<String, String>,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// Why no block was set; nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unset {
    UnknownConnector { known: Vec<ConnectorId> },
    UnknownServiceProvider,
    Flawed(Vec<Flaw>),
    Unchanged(Unchanged),
}

/// Who set a block, and so who can lift it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The connector's file.
    File,
    Command,
}

/// A block as an operator sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockRow {
    pub by: By,
    /// To lift it by; `None` of a file's.
    pub id: Option<String>,
    pub connector: ConnectorId,
    /// `None`: all of them.
    pub service_providers: Option<BTreeSet<ClientId>>,
    pub reason: String,
    pub message: BTreeMap<String, String>,
    /// RFC 3339, as `until`.
    pub from: Option<String>,
    pub until: Option<String>,
    pub in_force: bool,
}

/// A connector as an operator sees it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConnectorRow {
    pub id: ConnectorId,
    /// For people, by language.
    pub name: BTreeMap<String, String>,
    pub state: ConnectorState,
    pub lowest: Level,
    pub highest: Level,
    /// Those in force, and those that are still to come.
    pub blocks: Vec<BlockRow>,
    /// Absent of a connector that is just being added or removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthRow>,
}

/// How a connector's identity provider is doing, by the calls of the last minute.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HealthRow {
    pub circuit: Circuit,
    /// From 0 to 1, of the calls that tell something of the identity provider; 0 without any.
    pub failure_ratio: f64,
    /// So long 99 of 100 calls took at most; `None` without any.
    pub p99_seconds: Option<f64>,
    /// Why calls of the last minute failed, by code, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<(String, u32)>,
    /// By how much its clock is ahead of the hub's, where it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_seconds: Option<i64>,
}

/// As the metric `passerelle_connector_breaker` calls them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Circuit {
    Closed,
    Open,
    HalfOpen,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConnectorState {
    On,
    /// Its file says so.
    Off,
    /// For everybody; where some service providers only are blocked it is on.
    Blocked,
}

/// What an operator sees of a connector in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectorStanding {
    Well,
    /// It may be chosen, and half of its calls or more fail.
    Failing,
    Down,
    /// It was down, and is being tried.
    Tried,
    Off,
    Blocked,
}

impl ConnectorStanding {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Failing => "failing",
            Self::Down => "down",
            Self::Tried => "being tried",
            Self::Off => "off",
            Self::Blocked => "blocked",
        }
    }
}

impl ConnectorRow {
    #[must_use]
    pub fn standing(&self) -> ConnectorStanding {
        match (self.state, &self.health) {
            (ConnectorState::Off, _) => ConnectorStanding::Off,
            (ConnectorState::Blocked, _) => ConnectorStanding::Blocked,
            (ConnectorState::On, None) => ConnectorStanding::Well,
            (ConnectorState::On, Some(health)) => match health.circuit {
                Circuit::Open => ConnectorStanding::Down,
                Circuit::HalfOpen => ConnectorStanding::Tried,
                Circuit::Closed
                    if health.failure_ratio >= 0.5 && health.failures() >= MIN_FAILURES =>
                {
                    ConnectorStanding::Failing
                }
                Circuit::Closed => ConnectorStanding::Well,
            },
        }
    }
}

impl Connectors {
    /// The facts that the gate judges, as they are now.
    #[must_use]
    pub fn facts(&self, client_id: &ClientId, id: &ConnectorId) -> gate::Facts {
        self.at_once().facts(&self.federation.load(), client_id, id)
    }

    /// The kill switches by command and the time, read once for whoever asks of many connectors.
    pub(in crate::actor) fn at_once(&self) -> AtOnce {
        AtOnce { commanded: self.blocks.all(), now: self.blocks.now() }
    }
}

/// One moment: what was commanded then, and when it was.
pub(in crate::actor) struct AtOnce {
    commanded: Arc<Vec<Commanded>>,
    now: Timestamp,
}

impl AtOnce {
    /// What the gate judges, by a snapshot at hand.
    pub fn facts(
        &self,
        federation: &Federation,
        client_id: &ClientId,
        id: &ConnectorId,
    ) -> gate::Facts {
        let facts = gate_facts(federation, client_id, id);
        let connector = federation.connector(id);
        let block = connector
            .and_then(|connector| in_force(connector, &self.commanded, client_id, id, self.now));
        match block.map(|block| &block.reach) {
            None => facts,
            // Off is off for longer, and what does not exist can't be blocked.
            Some(Reach::Everyone) if matches!(facts.connector, gate::Connector::On { .. }) => {
                gate::Facts { connector: gate::Connector::Blocked, ..facts }
            }
            Some(Reach::Only(_)) if facts.pairing == gate::Pairing::Allowed => {
                gate::Facts { pairing: gate::Pairing::Suspended, ..facts }
            }
            Some(Reach::Everyone | Reach::Only(_)) => facts,
        }
    }
}

impl Connectors {
    /// What the operator has to say to the person whom a block keeps away, by language; empty without such a word.
    #[must_use]
    pub fn word(&self, client_id: &ClientId, id: &ConnectorId) -> Arc<BTreeMap<String, String>> {
        let (federation, commanded) = (self.federation.load(), self.blocks.all());
        let connector = federation.connector(id);
        let block = connector.and_then(|connector| {
            in_force(connector, &commanded, client_id, id, self.blocks.now())
        });
        block.map(|block| Arc::clone(&block.message)).unwrap_or_default()
    }

    /// True where a block for everybody is in force.
    pub(in crate::actor) fn is_blocked(&self, id: &ConnectorId) -> bool {
        let (federation, commanded, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let stands = |block: &Block| block.reach == Reach::Everyone && block.is_in_force(now);
        federation
            .connector(id)
            .is_some_and(|connector| of(connector, &commanded, id).any(|(_, block)| stands(block)))
    }

    /// Sets a block. It is in force when this returns; it waits for the disk, or for the store that hubs share.
    ///
    /// # Errors
    /// See [`Unset`].
    pub async fn block(&self, new: &NewBlock) -> Result<(BlockRow, Survival), Unset> {
        let federation = self.federation.load();
        if federation.connector(&new.connector).is_none() {
            return Err(Unset::UnknownConnector {
                known: federation.connectors().keys().cloned().collect(),
            });
        }
        if new
            .service_provider
            .as_ref()
            .is_some_and(|client_id| federation.service(client_id).is_none())
        {
            return Err(Unset::UnknownServiceProvider);
        }
        let reach =
            new.service_provider.clone().map_or(Reach::Everyone, |one| Reach::Only([one].into()));
        let (from, until) = (new.from.as_deref(), new.until.as_deref());
        let words = Words { reason: &new.reason, message: &new.message, from, until };
        let block = Block::new(new.connector.clone(), reach, words).map_err(Unset::Flawed)?;
        if block.is_over(self.blocks.now()) {
            let flaw =
                Flaw::new("until", "is over already", "write a moment that is still to come");
            return Err(Unset::Flawed(vec![flaw]));
        }
        let (commanded, survival) = self.blocks.add(block).await.map_err(Unset::Unchanged)?;
        Ok((BlockRow::commanded(&commanded, self.blocks.now()), survival))
    }

    /// Lifts a block that was set by command; `None` if there is none of this id. It waits as [`Self::block`] does.
    ///
    /// # Errors
    /// Nothing has changed.
    pub async fn unblock(&self, id: &str) -> Result<Option<(BlockRow, Survival)>, Unchanged> {
        let lifted = self.blocks.remove(id).await?;
        Ok(lifted.map(|(commanded, survival)| {
            (BlockRow::commanded(&commanded, self.blocks.now()), survival)
        }))
    }

    /// Every connector, by id.
    #[must_use]
    pub fn overview(&self) -> Vec<ConnectorRow> {
        let (federation, commanded, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let actors = self.actors.load();
        let row = |(id, connector): (&ConnectorId, &Arc<ConnectorFacts>)| {
            let ConnectorFacts { name, enabled, levels, .. } = connector.as_ref();
            let alive = of(connector, &commanded, id).filter(|(_, block)| !block.is_over(now));
            let blocks: Vec<BlockRow> =
                alive.map(|(by, block)| BlockRow::of(by, block, now)).collect();
            let everyone = blocks.iter().any(|row| row.in_force && row.service_providers.is_none());
            ConnectorRow {
                id: id.clone(),
                name: BTreeMap::clone(name),
                state: match (enabled, everyone) {
                    (false, _) => ConnectorState::Off,
                    (true, true) => ConnectorState::Blocked,
                    (true, false) => ConnectorState::On,
                },
                lowest: levels.lowest,
                highest: levels.highest,
                blocks,
                health: actors.get(id).map(|entry| {
                    HealthRow::of(
                        entry.handle.health().view(now),
                        entry.plan.connector.skew_seconds(),
                    )
                }),
            }
        };
        federation.connectors().iter().map(row).collect()
    }

    /// Blocks by command of connectors that are not there (any more): they hold again as soon as the file is back.
    #[must_use]
    pub fn orphaned_blocks(&self) -> Vec<BlockRow> {
        let (federation, commanded, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let orphaned = commanded.iter().filter(|one| {
            federation.connector(&one.block.connector).is_none() && !one.block.is_over(now)
        });
        orphaned.map(|one| BlockRow::commanded(one, now)).collect()
    }

    /// How many blocks are in force on each connector.
    pub fn report_blocks(&self, metrics: &Metrics) {
        let (federation, commanded, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let count = |(id, connector): (_, &Arc<ConnectorFacts>)| {
            (id, of(connector, &commanded, id).filter(|(_, block)| block.is_in_force(now)).count())
        };
        metrics.connector_blocks(federation.connectors().iter().map(count));
    }
}

/// A connector's blocks: those by command first, the younger word.
fn of<'a>(
    connector: &'a ConnectorFacts,
    commanded: &'a [Commanded],
    id: &'a ConnectorId,
) -> impl Iterator<Item = (Option<&'a str>, &'a Block)> {
    let commanded = commanded.iter().filter(move |one| one.block.connector == *id);
    let commanded = commanded.map(|one| (Some(one.id.as_str()), &one.block));
    commanded.chain(connector.blocks.iter().map(|block| (None, block)))
}

fn in_force<'a>(
    connector: &'a ConnectorFacts,
    commanded: &'a [Commanded],
    client_id: &ClientId,
    id: &'a ConnectorId,
    now: Timestamp,
) -> Option<&'a Block> {
    blocks::in_force(of(connector, commanded, id).map(|(_, block)| block), id, client_id, now)
}

/// Fewer failures in the last minute are bad luck, or one browser's doing.
const MIN_FAILURES: u32 = 3;

impl HealthRow {
    fn failures(&self) -> u32 {
        self.reasons.iter().map(|(_, count)| *count).sum()
    }

    fn of(view: View, skew_seconds: Option<i64>) -> Self {
        Self {
            circuit: match view.condition {
                Condition::Closed => Circuit::Closed,
                Condition::Open => Circuit::Open,
                Condition::HalfOpen => Circuit::HalfOpen,
            },
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
    fn commanded(commanded: &Commanded, now: Timestamp) -> Self {
        Self::of(Some(&commanded.id), &commanded.block, now)
    }

    fn of(id: Option<&str>, block: &Block, now: Timestamp) -> Self {
        Self {
            by: if id.is_some() { By::Command } else { By::File },
            id: id.map(str::to_owned),
            connector: block.connector.clone(),
            service_providers: match &block.reach {
                Reach::Everyone => None,
                Reach::Only(some) => Some(some.clone()),
            },
            reason: block.reason.clone(),
            message: BTreeMap::clone(&block.message),
            from: block.window.not_before.map(in_rfc3339),
            until: block.window.not_after.map(in_rfc3339),
            in_force: block.is_in_force(now),
        }
    }
}
