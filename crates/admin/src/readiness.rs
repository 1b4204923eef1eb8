//! The readiness of this process: named checks, and what they found.
//!
//! Does not depend on what is checked: each check is a named closure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

pub use passerelle_telemetry::CheckFinding;

/// A readiness check; returns why the process is not ready.
type ReadinessCheck = Box<dyn Fn() -> Option<CheckFinding> + Send + Sync>;

/// Lists the problems that an operator should fix, while requests are still served.
type DegradationCheck = Box<dyn Fn() -> Vec<CheckFinding> + Send + Sync>;

/// State of a check.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Ok,
    /// Needs a fix; requests are still served.
    Degraded,
    /// No request should be sent to this process.
    NotReady,
}

impl CheckState {
    /// Returns the state as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::NotReady => "not ready",
        }
    }

    /// Returns the CSS class of the state.
    #[must_use]
    pub const fn css_class(self) -> &'static str {
        match self {
            Self::Ok => "",
            Self::Degraded => "warning",
            Self::NotReady => "error",
        }
    }
}

/// Result of one check, as in `/readyz`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckResult {
    pub name: String,
    pub state: CheckState,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<CheckFinding>,
}

/// Readiness of this process: ready if every check passes and it is not shutting down.
#[derive(Default)]
pub struct Readiness {
    checks: Vec<(&'static str, ReadinessCheck)>,
    degradation_checks: Vec<(&'static str, DegradationCheck)>,
    draining: AtomicBool,
    /// An operator has drained the process, and may resume it.
    drained: AtomicBool,
}

impl Readiness {
    /// Adds a check. It runs at each `/readyz`: it must read known state and never wait.
    #[must_use]
    pub fn with_check(
        mut self,
        name: &'static str,
        check: impl Fn() -> Option<CheckFinding> + Send + Sync + 'static,
    ) -> Self {
        self.checks.push((name, Box::new(check)));
        self
    }

    /// Adds a check whose problems do not make the process unready. It runs at each `/readyz`.
    #[must_use]
    pub fn with_degradation_check(
        mut self,
        name: &'static str,
        check: impl Fn() -> Vec<CheckFinding> + Send + Sync + 'static,
    ) -> Self {
        self.degradation_checks.push((name, Box::new(check)));
        self
    }

    /// Returns the result of every check, by name.
    #[must_use]
    pub fn check_results(&self) -> Vec<CheckResult> {
        let (reasons, degradations) = (self.not_ready_reasons(), self.degradations());
        let registered = self
            .checks
            .iter()
            .map(|(name, _)| *name)
            .chain(self.degradation_checks.iter().map(|(name, _)| *name));
        let names: BTreeSet<&str> = registered.chain(reasons.keys().copied()).collect();
        let row = |name: &str| {
            let (reason, details) = (reasons.get(name), degradations.get(name));
            let state = match (reason, details) {
                (Some(_), _) => CheckState::NotReady,
                (None, Some(_)) => CheckState::Degraded,
                (None, None) => CheckState::Ok,
            };
            let findings = reason.into_iter().chain(details.into_iter().flatten());
            CheckResult { name: name.to_owned(), state, findings: findings.cloned().collect() }
        };
        names.into_iter().map(row).collect()
    }

    /// Returns the problems that do not make the process unready, by check.
    #[must_use]
    pub fn degradations(&self) -> BTreeMap<&'static str, Vec<CheckFinding>> {
        let results = self.degradation_checks.iter().map(|(name, check)| (*name, check()));
        results.filter(|(_, problems)| !problems.is_empty()).collect()
    }

    /// Returns whether the process is ready and admits logins.
    #[must_use]
    pub fn admits_logins(&self) -> bool {
        let degradations = self.degradations();
        self.not_ready_reasons().is_empty()
            && !degradations.values().flatten().any(|finding| finding.stops_logins)
    }

    /// Makes the process not ready: the first step of a shutdown.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Makes the process not ready, or ready again, for an operator.
    pub fn set_drained(&self, drained: bool) {
        self.drained.store(drained, Ordering::SeqCst);
    }

    /// Returns whether an operator has drained the process.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.drained.load(Ordering::SeqCst)
    }

    /// Returns whether the process shuts down or is drained, so that no new connection should come.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst) || self.is_drained()
    }

    /// Returns the reasons why the process is not ready, by check.
    #[must_use]
    pub fn not_ready_reasons(&self) -> BTreeMap<&'static str, CheckFinding> {
        let reason = |(name, check): &(&'static str, ReadinessCheck)| Some((*name, check()?));
        let mut reasons: BTreeMap<_, _> = self.checks.iter().filter_map(reason).collect();
        if self.draining.load(Ordering::SeqCst) {
            let fix = "wait until it has ended: the service manager starts the next one";
            let finding = CheckFinding::new("this process is shutting down", fix);
            reasons.insert("draining", finding);
        } else if self.is_drained() {
            let message = "an operator has drained this hub; it still serves what reaches it";
            let finding = CheckFinding::new(message, "resume it with `passerelle node resume`");
            reasons.insert("draining", finding);
        }
        reasons
    }
}
