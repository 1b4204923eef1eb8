//! Lists the connectors for an operator: state, health and blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Connectors;
use super::block_commands::BlockRow;
use super::block_lookup::connector_blocks;
use crate::health::{HealthView, ProbeFailures};
use passerelle_connector::dropped_claims::DroppedClaimRow;
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_federation::ConnectorMetadata;
use passerelle_federation::assurance::Level;
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::ids::ConnectorId;

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
    /// Malformed claims that logins left out since the start of this hub.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_claims: Vec<DroppedClaimRow>,
    /// What is wrong with its file, whose last valid version is in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_file: Option<String>,
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
    /// Why the hub can't reach it now, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<UnreachableRow>,
    /// How far its clock is ahead of the hub's, if measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_seconds: Option<i64>,
}

/// Why the hub's own probes of an identity provider fail.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UnreachableRow {
    /// RFC 3339.
    pub since: String,
    /// Error code of the last probe.
    pub code: String,
    /// Its meaning.
    pub reason: String,
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
    Healthy,
    /// It may be chosen, and at least half of its calls fail.
    Failing,
    Down,
    /// Its circuit is half-open.
    Recovering,
    Off,
    Blocked,
    /// Its identity provider is healthy, and its file is invalid: a restart loses the connector.
    FileInvalid,
}

impl ConnectorCondition {
    /// Returns the condition as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Failing => "failing",
            Self::Down => "down",
            Self::Recovering => "recovering",
            Self::Off => "off",
            Self::Blocked => "blocked",
            Self::FileInvalid => "file invalid",
        }
    }
}

impl ConnectorRow {
    /// Returns the condition of the connector.
    #[must_use]
    pub fn condition(&self) -> ConnectorCondition {
        match self.provider_condition() {
            ConnectorCondition::Healthy if self.invalid_file.is_some() => {
                ConnectorCondition::FileInvalid
            }
            condition => condition,
        }
    }

    fn provider_condition(&self) -> ConnectorCondition {
        match (self.state, &self.health) {
            (ConnectorState::Off, _) => ConnectorCondition::Off,
            (ConnectorState::Blocked, _) => ConnectorCondition::Blocked,
            (ConnectorState::On, None) => ConnectorCondition::Healthy,
            (ConnectorState::On, Some(health)) => match health.circuit {
                CircuitState::Open => ConnectorCondition::Down,
                CircuitState::HalfOpen => ConnectorCondition::Recovering,
                CircuitState::Closed
                    if health.failure_ratio >= 0.5
                        && health.failures() >= MIN_FAILURES_TO_SHOW_FAILING =>
                {
                    ConnectorCondition::Failing
                }
                CircuitState::Closed if health.unreachable.is_some() => ConnectorCondition::Failing,
                CircuitState::Closed => ConnectorCondition::Healthy,
            },
        }
    }
}

impl Connectors {
    /// Returns every connector, by id.
    #[must_use]
    pub fn overview(&self) -> Vec<ConnectorRow> {
        let (federation, operator_blocks, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let actors = self.actors.load();
        let invalid_files = self.invalid_files.load();
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
                dropped_claims: actors
                    .get(id)
                    .map(|entry| {
                        let mut rows = entry.handle.health().dropped_claims().rows();
                        rows.extend(entry.spec.connector.dropped_claims());
                        rows
                    })
                    .unwrap_or_default(),
                health: actors.get(id).map(|entry| {
                    HealthRow::new(
                        entry.handle.health().view(now),
                        self.clock.credible_skew(entry.spec.connector.as_ref()),
                    )
                }),
                invalid_file: invalid_files.get(id).cloned(),
            }
        };
        federation.connectors().iter().map(row).collect()
    }
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
            unreachable: view.documents_failing.map(UnreachableRow::from),
            skew_seconds,
        }
    }
}

impl From<ProbeFailures> for UnreachableRow {
    fn from(failures: ProbeFailures) -> Self {
        let entry = failures.code.entry();
        Self {
            since: format_rfc3339(failures.since),
            code: entry.code.to_owned(),
            reason: entry.description.to_owned(),
        }
    }
}
