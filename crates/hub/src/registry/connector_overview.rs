//! Lists the connectors for an operator: state, health and blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Connectors;
use super::block_commands::BlockRow;
use super::block_lookup::connector_blocks;
use crate::health::{HealthSnapshot, MIN_FAILURES_TO_DEGRADE, ProbeFailures};
use passerelle_connector::dropped_claims::DroppedClaimRow;
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_federation::ConnectorProfile;
use passerelle_federation::assurance::Level;
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::env::Timestamp;
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
    /// Calls that failed because of it, as a share of these and the successful logins, from 0 to 1;
    /// 0 without either.
    pub failure_ratio: f64,
    /// The 99th percentile of call durations; `None` without any.
    pub p99_seconds: Option<f64>,
    /// The median of call durations; `None` with fewer than three.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_seconds: Option<f64>,
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

/// State of an identity provider, those that need attention first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConnectorState {
    /// Its circuit is open: it can't be chosen.
    Down,
    /// It may be chosen, and at least as many calls fail as logins succeed, the hub's probes fail, or
    /// its circuit is half-open.
    Degraded,
    /// Blocked for all service providers. One that is blocked for some is not.
    Blocked,
    Available,
    /// Disabled in its file.
    Disabled,
}

impl ConnectorState {
    /// Returns whether neither its file nor a block disables it for all service providers.
    pub const fn is_enabled(self) -> bool {
        !matches!(self, Self::Blocked | Self::Disabled)
    }

    /// Returns whether users may choose it.
    pub const fn is_usable(self) -> bool {
        matches!(self, Self::Available | Self::Degraded)
    }

    /// Returns the word for the state, the same wherever an operator reads it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Degraded => "degraded",
            Self::Blocked => "blocked",
            Self::Available => "available",
            Self::Disabled => "disabled",
        }
    }
}

impl ConnectorRow {
    /// Returns whether nothing is wrong with it: it is available and not slow, and a restart doesn't
    /// lose it.
    pub fn is_healthy(&self) -> bool {
        matches!(self.state, ConnectorState::Available)
            && !self.is_slow()
            && self.invalid_file.is_none()
    }

    /// Returns the error code for which the hub can't reach it, or the most frequent one of the
    /// last minute's calls.
    pub fn cause(&self) -> Option<&str> {
        let health = self.health.as_ref()?;
        let unreachable = health.unreachable.as_ref().map(|unreachable| unreachable.code.as_str());
        unreachable.or_else(|| health.reasons.first().map(|(code, _)| code.as_str()))
    }

    /// Returns whether users may choose it, but wait for long at half of its calls.
    pub fn is_slow(&self) -> bool {
        let median = self.health.as_ref().and_then(|health| health.median_seconds);
        self.state.is_usable() && median.is_some_and(|seconds| seconds > SLOW_CALL_SECONDS)
    }
}

/// Half of the time limit of a request. Durations are upper bounds of buckets, of which one ends at
/// 3.072 s.
const SLOW_CALL_SECONDS: f64 = 3.1;

/// Dates of what a connector relies on.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ConnectorDates {
    /// When the keys in use of its identity provider were fetched; `None` for a kind without keys.
    pub keys_fetched_at: Option<Timestamp>,
    /// When what the operator must renew expires, with its name.
    pub expiries: Vec<(&'static str, Timestamp)>,
}

impl Connectors {
    /// Returns the dates of a connector's keys and certificates; none for an unknown one.
    pub fn dates(&self, id: &ConnectorId) -> ConnectorDates {
        let connector = self.connector(id);
        connector.map_or_else(ConnectorDates::default, |connector| ConnectorDates {
            keys_fetched_at: connector.keys_fetched_at(),
            expiries: connector.certificate_expiries(),
        })
    }

    /// Returns every connector, by id.
    pub fn overview(&self) -> Vec<ConnectorRow> {
        let (federation, operator_blocks, now) =
            (self.federation.load(), self.blocks.all(), self.blocks.now());
        let actors = self.actors.load();
        let invalid_files = self.invalid_files.load();
        let row = |(id, connector): (&ConnectorId, &Arc<ConnectorProfile>)| {
            let ConnectorProfile { name, enabled, levels, .. } = connector.as_ref();
            let current = connector_blocks(connector, &operator_blocks, id)
                .filter(|(_, block)| !block.has_ended(now));
            let blocks: Vec<BlockRow> =
                current.map(|(id, block)| BlockRow::new(id, block, now)).collect();
            let blocks_all =
                blocks.iter().any(|row| row.in_force && row.service_providers.is_none());
            let health = actors.get(id).map(|entry| {
                let skew_seconds = self.clock.credible_skew(entry.spec.connector.as_ref());
                HealthRow::new(&entry.handle.health(), now, skew_seconds)
            });
            ConnectorRow {
                id: id.clone(),
                name: BTreeMap::clone(name),
                state: match (enabled, blocks_all) {
                    (false, _) => ConnectorState::Disabled,
                    (true, true) => ConnectorState::Blocked,
                    (true, false) => {
                        health.as_ref().map_or(ConnectorState::Available, HealthRow::state)
                    }
                },
                lowest: levels.lowest,
                highest: levels.highest,
                blocks,
                dropped_claims: actors
                    .get(id)
                    .map(|entry| {
                        let mut rows = entry.handle.published_health().dropped_claims.rows();
                        rows.extend(entry.spec.connector.dropped_claims());
                        rows
                    })
                    .unwrap_or_default(),
                health,
                invalid_file: invalid_files.get(id).cloned(),
            }
        };
        federation.connectors().iter().map(row).collect()
    }
}

/// The durations of fewer calls in the last minute say little.
const MIN_CALLS_FOR_MEDIAN: u32 = 3;

impl HealthRow {
    fn state(&self) -> ConnectorState {
        let failures: u32 = self.reasons.iter().map(|(_, count)| *count).sum();
        match self.circuit {
            CircuitState::Open => ConnectorState::Down,
            CircuitState::HalfOpen => ConnectorState::Degraded,
            CircuitState::Closed
                if self.failure_ratio >= 0.5 && failures >= MIN_FAILURES_TO_DEGRADE =>
            {
                ConnectorState::Degraded
            }
            CircuitState::Closed if self.unreachable.is_some() => ConnectorState::Degraded,
            CircuitState::Closed => ConnectorState::Available,
        }
    }

    fn new(health: &HealthSnapshot, now: Timestamp, skew_seconds: Option<i64>) -> Self {
        let reasons = health.window.reasons(now).into_iter();
        let (tally, latency) = (health.window.tally(now), health.window.latency(now));
        let has_enough_calls = tally.successes + tally.failures >= MIN_CALLS_FOR_MEDIAN;
        Self {
            circuit: health.circuit_state(now),
            failure_ratio: tally.failure_ratio(),
            p99_seconds: latency.map(|latency| latency.p99.as_secs_f64()),
            median_seconds: latency
                .filter(|_| has_enough_calls)
                .map(|latency| latency.p50.as_secs_f64()),
            reasons: reasons.map(|(code, count)| (code.entry().code.to_owned(), count)).collect(),
            unreachable: health.documents.failing.map(UnreachableRow::from),
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
