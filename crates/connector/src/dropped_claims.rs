//! Remembers which malformed claims of one identity provider logins left out, for operators.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use passerelle_protocol::ids::ConnectorId;
use passerelle_telemetry::Metrics;
use serde::{Deserialize, Serialize};

/// Maximum number of rows; more are only counted in metrics.
const MAX_ROWS: usize = 64;

/// A malformed claim that logins left out, since the hub's start. Contains no value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct DroppedClaimRow {
    /// Name of the claim.
    pub claim: String,
    /// What it must be, and the type of its value.
    pub problem: String,
    /// What would repair it.
    pub fix: String,
}

/// The malformed claims of one identity provider.
#[derive(Debug, Default)]
pub struct DroppedClaims(Mutex<BTreeSet<DroppedClaimRow>>);

impl DroppedClaims {
    /// Records a claim that a login left out; returns true if no earlier login did for this reason.
    pub fn record(&self, row: DroppedClaimRow) -> bool {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.len() < MAX_ROWS && rows.insert(row)
    }

    /// Records, logs and counts a claim that a login left out: as a warning once for each row, because
    /// every login of the identity provider has it.
    pub fn report(
        &self,
        connector: &ConnectorId,
        metrics: Option<&Metrics>,
        reason: &'static str,
        row: DroppedClaimRow,
    ) {
        let DroppedClaimRow { claim, problem, fix } = &row;
        if let Some(metrics) = metrics {
            metrics.record_dropped_claim(connector, claim, reason);
        }
        if self.record(row.clone()) {
            tracing::warn!(%connector, claim, problem, fix, "claim left out");
        } else {
            tracing::debug!(%connector, claim, problem, "claim left out");
        }
    }

    /// Returns the claims.
    pub fn rows(&self) -> Vec<DroppedClaimRow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
