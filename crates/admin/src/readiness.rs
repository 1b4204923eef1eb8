//! The readiness of this process: named checks, and what they found.
//!
//! Does not depend on what is checked: each check is a named closure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::login_trend::LoginTrend;
pub use crate::problem::CheckState;
use crate::problem::{Problem, ProblemHistory};
use passerelle_protocol::env::Env;
pub use passerelle_telemetry::CheckFinding;

/// A readiness check; returns why the process is not ready.
type ReadinessCheck = Box<dyn Fn() -> Option<CheckFinding> + Send + Sync>;

/// Lists the problems that an operator should fix, while requests are still served.
type DegradationCheck = Box<dyn Fn() -> Vec<CheckFinding> + Send + Sync>;

/// Result of one check, as in `/readyz`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckResult {
    pub name: String,
    pub state: CheckState,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<CheckFinding>,
}

/// Readiness of this process: ready if every check passes and it is not shutting down.
pub struct Readiness {
    checks: Vec<(&'static str, ReadinessCheck)>,
    degradation_checks: Vec<(&'static str, DegradationCheck)>,
    draining: AtomicBool,
    /// An operator has drained the process, and may resume it.
    drained: AtomicBool,
    history: ProblemHistory,
}

/// What the checks found at one moment.
pub struct ReadinessReport {
    /// Every check, by name.
    names: BTreeSet<&'static str>,
    /// Causes before effects.
    pub problems: Vec<Problem>,
}

impl ReadinessReport {
    /// Returns whether no finding makes the process unready.
    pub fn is_ready(&self) -> bool {
        self.problems.iter().all(|problem| problem.state != CheckState::NotReady)
    }

    /// Returns the result of every check, by name.
    pub fn check_results(&self) -> Vec<CheckResult> {
        let result = |name: &&'static str| {
            let found = self.problems.iter().filter(|problem| problem.check == *name);
            CheckResult {
                name: (*name).to_owned(),
                state: found.clone().map(|problem| problem.state).max().unwrap_or(CheckState::Ok),
                findings: found.map(|problem| problem.finding.clone()).collect(),
            }
        };
        self.names.iter().map(result).collect()
    }

    /// Returns the findings of this state, by check.
    pub fn findings(&self, state: CheckState) -> BTreeMap<&str, Vec<CheckFinding>> {
        let mut findings: BTreeMap<&str, Vec<CheckFinding>> = BTreeMap::new();
        for problem in self.problems.iter().filter(|problem| problem.state == state) {
            findings.entry(&problem.check).or_default().push(problem.finding.clone());
        }
        findings
    }
}

impl Readiness {
    /// Creates the readiness of a process without checks. `trend` says how many logins a problem
    /// costs.
    #[must_use]
    pub fn new(env: &Env, trend: Arc<LoginTrend>) -> Self {
        Self {
            checks: Vec::new(),
            degradation_checks: Vec::new(),
            draining: AtomicBool::new(false),
            drained: AtomicBool::new(false),
            history: ProblemHistory::new(env, trend),
        }
    }

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

    /// Runs every check.
    pub fn report(&self) -> ReadinessReport {
        let found = |check, state, finding| self.history.to_problem(check, state, finding);
        let draining = self.draining_finding();
        let mut names: BTreeSet<&'static str> = draining.iter().map(|_| "draining").collect();
        let mut problems: Vec<Problem> = draining
            .map(|finding| found("draining", CheckState::NotReady, finding))
            .into_iter()
            .collect();
        for (name, check) in &self.checks {
            problems.extend(check().map(|finding| found(name, CheckState::NotReady, finding)));
        }
        for (name, check) in &self.degradation_checks {
            let degraded = check().into_iter();
            problems.extend(degraded.map(|finding| found(name, CheckState::Degraded, finding)));
        }
        names.extend(self.checks.iter().map(|(name, _)| *name));
        names.extend(self.degradation_checks.iter().map(|(name, _)| *name));
        self.history.finish_report(&mut problems);
        ReadinessReport { names, problems }
    }

    /// Returns the logins of the last hour.
    pub const fn login_trend(&self) -> &Arc<LoginTrend> {
        self.history.trend()
    }

    /// Returns whether the process is ready and admits logins.
    pub fn admits_logins(&self) -> bool {
        let report = self.report();
        report.is_ready() && !report.problems.iter().any(|problem| problem.finding.stops_logins)
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
    pub fn is_drained(&self) -> bool {
        self.drained.load(Ordering::SeqCst)
    }

    /// Returns whether the process shuts down or is drained, so that no new connection should come.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst) || self.is_drained()
    }

    fn draining_finding(&self) -> Option<CheckFinding> {
        if self.draining.load(Ordering::SeqCst) {
            let fix = "wait until it has ended: the service manager starts the next one";
            return Some(CheckFinding::new("this process is shutting down", fix));
        }
        self.is_drained().then(|| {
            let message = "an operator has drained this hub; it still serves what reaches it";
            CheckFinding::new(message, "resume it with `passerelle node resume`")
        })
    }
}
