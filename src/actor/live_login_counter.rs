//! L3 · Logins without an outcome: how many stand in each state, and which of them nobody came back to.
//!
//! Owns: the counting. Must not know: any login. A login leaves no trace here, only a one in the count of those that stand
//! in its state and expire in the same second; what is left in a second that is past was abandoned. So the count needs no
//! walk over the store, whichever store that is, and a login that ends in time is never counted twice. Where a login moves
//! between processes, one has counted it below zero and the other above: the sum over all of them is right, and a process
//! pays what it owes before it tells of another abandoned login.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId};
use crate::login::{Login, State};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::{Metrics, Outcome};

/// A step that began in time may still end in this time; the longest that one takes is shorter.
const GRACE: Duration = Duration::from_secs(20);

/// Where a login may stand without an outcome, as [`State::name`] calls it.
const STATES: [&str; 5] = ["choosing", "away", "verifying", "identifying", "consenting"];

/// Where a login stands: what it is counted under.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Spot {
    state: &'static str,
    service: ClientId,
    connector: Option<ConnectorId>,
}

impl Spot {
    /// `None` for a login that has its outcome.
    pub fn of(login: &Login) -> Option<Self> {
        let state = match &login.state {
            // Its time ran out: that is counted when its second is past, whether or not somebody came afterwards.
            State::Failed(failed) if failed.code() != ErrorCode::LoginExpired => return None,
            State::Answered(_) => return None,
            state => state.name(),
        };
        let service = login.ticket.request.client_id.clone();
        Some(Self { state, service, connector: login.state.connector().cloned() })
    }

    /// Expired logins stay where they stood.
    pub fn stays(login: &Login) -> bool {
        matches!(&login.state, State::Failed(failed) if failed.code() == ErrorCode::LoginExpired)
    }
}

#[derive(Default)]
pub struct Ongoing {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// By the second in which they expire.
    by_end: BTreeMap<u64, HashMap<Spot, i64>>,
    live: HashMap<&'static str, i64>,
    /// What other processes have moved on, or opened, beyond what this one can tell.
    owed: HashMap<Spot, i64>,
}

impl Ongoing {
    /// A login that expires at `expires_at` went from one spot to another; `None`: it began, or has its outcome.
    pub(super) fn moved(&self, expires_at: Timestamp, from: Option<&Spot>, to: Option<Spot>) {
        if from == to.as_ref() {
            return;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(from) = from {
            counts.add(expires_at, from.clone(), -1);
        }
        if let Some(to) = to {
            counts.add(expires_at, to, 1);
        }
    }

    /// A login will not end at the first of these moments but at the second.
    pub(super) fn outlives(&self, (first, second): (Timestamp, Timestamp), spot: Option<Spot>) {
        let Some(spot) = spot else { return };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.add(first, spot.clone(), -1);
        counts.add(second, spot, 1);
    }

    /// Tells of those whose time is over at `now`, and of how many stand where.
    pub fn report(&self, now: Timestamp, metrics: &Metrics) {
        for (state, count) in self.live(now, metrics) {
            metrics.logins_live(state, count);
        }
    }

    /// How many stand in each state, without those whose time is over at `now`, of which `metrics` is told.
    #[must_use]
    pub fn live(&self, now: Timestamp, metrics: &Metrics) -> [(&'static str, i64); STATES.len()] {
        self.sweep(now, metrics);
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        STATES.map(|state| (state, counts.live.get(state).copied().unwrap_or_default()))
    }

    /// Cheap where nothing is over: it is called with each login that opens, for nobody may be scraping.
    pub(super) fn sweep(&self, now: Timestamp, metrics: &Metrics) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(second) = counts.by_end.first_entry() {
            if Timestamp::from_seconds(second.key() + 1) + GRACE > now {
                break;
            }
            for (spot, left) in second.remove() {
                *counts.live.entry(spot.state).or_default() -= left;
                counts.settle(spot, left, metrics);
            }
        }
    }
}

impl Counts {
    fn add(&mut self, expires_at: Timestamp, spot: Spot, by: i64) {
        *self.live.entry(spot.state).or_default() += by;
        *self.by_end.entry(expires_at.seconds()).or_default().entry(spot).or_default() += by;
    }

    fn settle(&mut self, spot: Spot, left: i64, metrics: &Metrics) {
        let left = left + self.owed.remove(&spot).unwrap_or_default();
        match u64::try_from(left) {
            Ok(0) => {}
            Ok(times) => {
                metrics.logins_abandoned(spot.state, times);
                metrics.login_ended(
                    Outcome::Abandoned,
                    &spot.service,
                    spot.connector.as_ref(),
                    times,
                );
            }
            Err(_) => drop(self.owed.insert(spot, left)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::login::Request;
    use crate::login::samples::{OPENED, ticket};

    fn spot(state: &'static str) -> Spot {
        Spot { state, service: "sp".into(), connector: None }
    }

    fn metrics() -> Metrics {
        Metrics::new(OPENED).unwrap()
    }

    fn line(metrics: &Metrics, line: &str) {
        let text = metrics.render();
        assert!(text.lines().any(|has| has == line), "{line} is missing in\n{text}");
    }

    #[test]
    fn a_login_that_nobody_came_back_to_is_counted_once_where_it_stood() {
        let (ongoing, metrics, end) =
            (Ongoing::default(), metrics(), OPENED + Duration::from_secs(60));
        ongoing.moved(end, None, Some(spot("choosing")));
        ongoing.moved(end, Some(&spot("choosing")), Some(spot("away")));
        ongoing.moved(end, None, Some(spot("choosing")));
        ongoing.moved(end, Some(&spot("choosing")), None);
        ongoing.report(end, &metrics);
        line(&metrics, "passerelle_logins_live{state=\"away\"} 1");
        line(&metrics, "passerelle_logins_live{state=\"choosing\"} 0");
        line(&metrics, "passerelle_login_outcomes_total{error=\"none\",outcome=\"abandoned\"} 0");
        for _ in 0..2 {
            ongoing.report(end + GRACE + Duration::from_secs(1), &metrics);
            line(&metrics, "passerelle_logins_live{state=\"away\"} 0");
            line(&metrics, "passerelle_logins_abandoned_total{state=\"away\"} 1");
            line(
                &metrics,
                "passerelle_login_outcomes_total{error=\"none\",outcome=\"abandoned\"} 1",
            );
        }
        assert!(
            !metrics.render().contains("abandoned_total{state=\"choosing\"}"),
            "one that ended was counted"
        );
    }

    #[test]
    fn a_login_that_ended_elsewhere_is_not_told_of_as_abandoned_here_for_long() {
        let (one, other, metrics) = (Ongoing::default(), Ongoing::default(), metrics());
        let late = OPENED + Duration::from_secs(600);
        other.moved(OPENED, Some(&spot("choosing")), None);
        other.report(late, &metrics);
        // It owes one; its own next one pays it.
        other.moved(OPENED, None, Some(spot("choosing")));
        other.report(late, &metrics);
        assert!(!metrics.render().contains("abandoned_total{"));
        one.moved(OPENED, None, Some(spot("choosing")));
        one.report(late, &metrics);
        line(&metrics, "passerelle_logins_abandoned_total{state=\"choosing\"} 1");
    }

    /// Whoever comes late finds a page that says so; the login was abandoned all the same, and not failed as well.
    #[test]
    fn a_step_after_the_end_leaves_a_login_where_it_stood() {
        let mut login = Login::open(ticket(&[]));
        let stood = Spot::of(&login);
        login.ticket.expires_at = OPENED;
        let gate = |_: &ConnectorId, _| Ok(());
        let fresh = crate::env::SeededEntropy::new(1);
        let world = crate::login::World {
            now: OPENED,
            fresh: &fresh,
            gate: &gate,
            registered: &|_| Ok(()),
            consent: crate::login::ConsentPolicy::None,
            callback_base: "",
            session: None,
            nodes: crate::login::Nodes::One,
        };
        let step = crate::login::on_request(login, Request::Cancel, &world);
        assert!(Spot::stays(&step.login));
        assert_eq!(stood.unwrap().state, "choosing");
    }
}
