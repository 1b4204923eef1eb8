//! What is wrong with this hub: the findings of its checks, each with the time at which it appeared
//! and the logins that it costs, causes before effects.
//!
//! `/readyz`, `/admin/status`, the console and `passerelle status` show the same list.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::login_trend::LoginTrend;
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_telemetry::CheckFinding;

/// The checks, causes before effects. The checks of optional crates, which are not here, come
/// before the connectors.
const CAUSES_FIRST: &[&str] = &[
    "draining",
    "store",
    "keys",
    "clock",
    "audit",
    "blocks",
    "config",
    "certificates",
    "limits",
    "egress",
    "register",
    OPTIONAL_CRATES,
    "connectors",
    "logout_tokens",
    "notices",
    "logins",
    "process",
];
/// Place of the checks of optional crates.
const OPTIONAL_CRATES: &str = "";
/// A problem that appears again within this time keeps the time of its first appearance.
const REAPPEARANCE_TIME: Duration = Duration::from_secs(60);

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
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::NotReady => "not ready",
        }
    }

    /// Returns the CSS class of the state.
    pub const fn css_class(self) -> &'static str {
        match self {
            Self::Ok => "",
            Self::Degraded => "warning",
            Self::NotReady => "error",
        }
    }
}

/// A problem of this hub.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// Name of the check that found it.
    pub check: String,
    /// `degraded` or `not_ready`.
    pub state: CheckState,
    #[serde(flatten)]
    pub finding: CheckFinding,
    /// When it appeared, RFC 3339. A restart begins to count again.
    pub since: String,
    /// Granted logins per minute that are missing since it appeared, compared with the hour
    /// before. `None` if it keeps no user out, or without logins to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_logins_per_minute: Option<f64>,
}

impl Problem {
    /// Returns the CSS class of a problem that keeps users out.
    pub fn css_class(&self) -> &'static str {
        let is_outage = self.state == CheckState::NotReady || self.finding.stops_logins;
        if is_outage { " bad" } else { "" }
    }

    /// Returns the words for the logins that it costs; empty without any.
    pub fn cost(&self) -> String {
        match self.lost_logins_per_minute {
            Some(lost) if lost >= 1.0 => format!("about {lost:.0} logins per minute are missing"),
            Some(_) => "less than one login per minute is missing".to_owned(),
            None => String::new(),
        }
    }
}

/// Remembers when each problem appeared.
pub(crate) struct ProblemHistory {
    env: Env,
    trend: Arc<LoginTrend>,
    appearances: Mutex<HashMap<ProblemKey, Appearance>>,
}

/// A check, and the kind of its finding.
type ProblemKey = (&'static str, String);

#[derive(Clone, Copy)]
struct Appearance {
    since: Timestamp,
    last_seen: Timestamp,
    /// Granted logins per minute before it.
    usual_rate: Option<f64>,
}

impl ProblemHistory {
    /// Creates a history without problems.
    pub(crate) fn new(env: &Env, trend: Arc<LoginTrend>) -> Self {
        Self { env: env.clone(), trend, appearances: Mutex::default() }
    }

    /// Returns the logins that problems are compared with.
    pub(crate) const fn trend(&self) -> &Arc<LoginTrend> {
        &self.trend
    }

    /// Returns what a check found, with the time at which it appeared.
    pub(crate) fn to_problem(
        &self,
        check: &'static str,
        state: CheckState,
        finding: CheckFinding,
    ) -> Problem {
        let now = self.env.now();
        let mut appearances = self.appearances.lock().unwrap_or_else(PoisonError::into_inner);
        let appearance =
            appearances.entry((check, finding.kind().to_owned())).or_insert_with(|| {
                let usual_rate = self.trend.granted_per_minute(&finding.identity_providers);
                Appearance { since: now, last_seen: now, usual_rate }
            });
        appearance.last_seen = now;
        let keeps_users_out = state == CheckState::NotReady
            || finding.stops_logins
            || !finding.identity_providers.is_empty();
        let lost = appearance.usual_rate.filter(|_| keeps_users_out).and_then(|usual| {
            let current = self
                .trend
                .granted_per_minute_since(&finding.identity_providers, appearance.since)?;
            Some(usual - current).filter(|lost| *lost >= 0.1)
        });
        Problem {
            check: check.to_owned(),
            state,
            since: format_rfc3339(appearance.since),
            lost_logins_per_minute: lost,
            finding,
        }
    }

    /// Sorts the problems of a report, and forgets those that no report has had for a minute.
    pub(crate) fn finish_report(&self, problems: &mut [Problem]) {
        problems.sort_by_key(|problem| (cause_rank(&problem.check), Reverse(problem.state)));
        let now = self.env.now();
        let mut appearances = self.appearances.lock().unwrap_or_else(PoisonError::into_inner);
        appearances.retain(|_, seen| now.since(seen.last_seen) <= REAPPEARANCE_TIME);
    }
}

fn cause_rank(check: &str) -> usize {
    let rank = |name: &str| CAUSES_FIRST.iter().position(|one| *one == name);
    rank(check).or_else(|| rank(OPTIONAL_CRATES)).unwrap_or_default()
}

/// Problems of one check that are shown before the others are folded: hundreds of invalid files
/// must not hide an identity provider that is down.
const SHOWN_PER_CHECK: usize = 3;

/// Splits the problems into those to show and those to fold.
pub fn fold_problems(problems: &[Problem]) -> (Vec<&Problem>, Vec<&Problem>) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    problems.iter().partition(|problem| {
        let count = counts.entry(&problem.check).or_default();
        *count += 1;
        *count <= SHOWN_PER_CHECK
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

    fn history() -> (ProblemHistory, Arc<ManualClock>, Arc<LoginTrend>) {
        let (clock, trend) = (Arc::new(ManualClock::default()), Arc::new(LoginTrend::default()));
        let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(1)));
        (ProblemHistory::new(&env, Arc::clone(&trend)), clock, trend)
    }

    fn finding(message: &str) -> CheckFinding {
        CheckFinding::new(message, "correct it").with_kind("kind")
    }

    fn degraded(history: &ProblemHistory, check: &'static str, message: &str) -> Problem {
        history.to_problem(check, CheckState::Degraded, finding(message))
    }

    #[test]
    fn causes_come_before_effects() {
        let (history, ..) = history();
        let checks =
            ["process", "logins", "connectors", "wallet", "egress", "audit", "clock", "store"];
        let mut problems = checks.map(|check| degraded(&history, check, "is wrong"));
        history.finish_report(&mut problems);
        let order: Vec<&str> = problems.iter().map(|problem| problem.check.as_str()).collect();
        assert_eq!(
            order,
            ["store", "clock", "audit", "egress", "wallet", "connectors", "logins", "process"]
        );
    }

    #[test]
    fn a_problem_keeps_its_time_while_it_lasts_and_when_it_is_back_within_a_minute() {
        let (history, clock, _) = history();
        let since = |message: &str| degraded(&history, "store", message).since;
        let start = since("90 of 100 logins are stored");
        clock.advance(Duration::from_secs(600));
        assert_eq!(since("95 of 100 logins are stored"), start, "only the number is another");
        clock.advance(Duration::from_secs(50));
        history.finish_report(&mut []);
        assert_eq!(since("91 of 100 logins are stored"), start);
        clock.advance(Duration::from_secs(61));
        history.finish_report(&mut []);
        assert_eq!(since("91 of 100 logins are stored"), "1970-01-01T00:11:51Z");
    }

    #[test]
    fn an_identity_provider_that_is_down_costs_the_logins_that_it_had() {
        let (history, clock, trend) = history();
        let mut total = 0;
        let mut minute = |granted: u64| {
            total += granted;
            clock.advance(Duration::from_secs(60));
            let outcomes = [("granted".to_owned(), total)].into_iter().collect();
            let ended = [("a".to_owned(), outcomes)].into_iter().collect();
            trend.add_minute(&ended, history.env.now());
        };
        for _ in 0..10 {
            minute(12);
        }
        let lost = || {
            let down = finding("a is down").with_identity_providers(vec!["a".into()]);
            history.to_problem("connectors", CheckState::Degraded, down).lost_logins_per_minute
        };
        assert_eq!(lost(), None, "no minute has passed since");
        minute(2);
        assert_eq!(lost(), Some(10.0));
        let harmless = degraded(&history, "audit", "is slow");
        assert_eq!(harmless.lost_logins_per_minute, None, "it keeps no user out");
    }

    #[test]
    fn hundreds_of_invalid_files_do_not_hide_what_comes_after_them() {
        let (history, ..) = history();
        let files = (0..300)
            .map(|number| degraded(&history, "config", &format!("file {number} is invalid")));
        let down = degraded(&history, "connectors", "a is down");
        let problems: Vec<Problem> = files.chain([down]).collect();
        let (shown, folded) = fold_problems(&problems);
        assert_eq!((shown.len(), folded.len()), (4, 297));
        assert_eq!(shown[3].check, "connectors");
    }
}
