//! Counts logins without an outcome: how many are in each state, and how many were abandoned.
//!
//! Does not store logins. It counts logins by state and by the second in which they expire. A login
//! that is still counted after the second in which it expires was abandoned. So the count needs no
//! scan of the store, and a login that ends in time is never counted twice. If a login moves to
//! another process, this process's count is one too high and the other's one too low; only the sum
//! over all processes is exact. A process offsets its deficits before it reports abandoned logins.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use passerelle_federation::login::state_name::IN_PROGRESS;
use passerelle_federation::login::{Login, LoginState};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_telemetry::{LoginOutcome, Metrics};

/// A step that began before the expiry may end within this time, which is longer than any step
/// takes.
const ABANDON_GRACE: Duration = Duration::from_secs(20);

/// Key under which a login is counted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LoginPosition {
    state: &'static str,
    service: ClientId,
    connector: Option<ConnectorId>,
}

impl LoginPosition {
    /// Returns the position of a login; `None` if it has its outcome.
    pub(crate) fn from_login(login: &Login) -> Option<Self> {
        let state = match &login.state {
            // An expired login is counted as abandoned once its second is past, whether or not the
            // user returned.
            LoginState::Failed(failed) if failed.code() != ErrorCode::LoginExpired => return None,
            LoginState::Completed(_) => return None,
            state => state.name(),
        };
        let service = login.context.request.client_id.clone();
        Some(Self { state, service, connector: login.state.connector().cloned() })
    }
}

/// Counter of the logins without an outcome.
#[derive(Default)]
pub struct LiveLoginCounter {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// Counts by the second in which the logins expire.
    by_expiry: BTreeMap<u64, HashMap<LoginPosition, i64>>,
    live: HashMap<&'static str, i64>,
    /// Counts below zero: logins that ended in this process and began in another one.
    deficits: HashMap<LoginPosition, i64>,
}

impl LiveLoginCounter {
    /// Counts a move of a login that expires at `expires_at`. `None`: it has just begun, or has its
    /// outcome.
    pub(super) fn record_move(
        &self,
        expires_at: Timestamp,
        from: Option<&LoginPosition>,
        to: Option<LoginPosition>,
    ) {
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

    /// Moves a login from one expiry to a later one.
    pub(super) fn move_expiry(
        &self,
        from: Timestamp,
        to: Timestamp,
        position: Option<LoginPosition>,
    ) {
        let Some(position) = position else { return };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.add(from, position.clone(), -1);
        counts.add(to, position, 1);
    }

    /// Sets the gauges, and counts the logins that were abandoned by `now`.
    pub fn publish_metrics(&self, now: Timestamp, metrics: &Metrics) {
        for (state, count) in self.live_by_state(now, metrics) {
            metrics.set_live_logins(state, count);
        }
    }

    /// Returns the count of each state, and counts the logins that were abandoned by `now`.
    pub fn live_by_state(
        &self,
        now: Timestamp,
        metrics: &Metrics,
    ) -> [(&'static str, i64); IN_PROGRESS.len()] {
        self.count_abandoned_logins(now, metrics);
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        IN_PROGRESS.map(|state| (state, counts.live.get(state).copied().unwrap_or_default()))
    }

    /// Counts abandoned logins. Called with each new login, because the metrics may never be
    /// scraped. Cheap where nothing has expired.
    pub(super) fn count_abandoned_logins(&self, now: Timestamp, metrics: &Metrics) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(second) = counts.by_expiry.first_entry() {
            if Timestamp::from_seconds(second.key() + 1) + ABANDON_GRACE > now {
                break;
            }
            for (position, count) in second.remove() {
                *counts.live.entry(position.state).or_default() -= count;
                counts.count_abandoned(position, count, metrics);
            }
        }
    }
}

impl Counts {
    fn add(&mut self, expires_at: Timestamp, position: LoginPosition, by: i64) {
        *self.live.entry(position.state).or_default() += by;
        *self.by_expiry.entry(expires_at.seconds()).or_default().entry(position).or_default() += by;
    }

    fn count_abandoned(&mut self, position: LoginPosition, count: i64, metrics: &Metrics) {
        let count = count + self.deficits.remove(&position).unwrap_or_default();
        match u64::try_from(count) {
            Ok(0) => {}
            Ok(times) => {
                metrics.record_abandoned_logins(position.state, times);
                metrics.record_login_end(
                    LoginOutcome::Abandoned,
                    &position.service,
                    position.connector.as_ref(),
                    times,
                );
            }
            Err(_) => drop(self.deficits.insert(position, count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_federation::login::LoginRequest;
    use passerelle_federation::testing::samples::{OPENED, login_context};

    fn position(state: &'static str) -> LoginPosition {
        LoginPosition { state, service: "sp".into(), connector: None }
    }

    fn metrics() -> Metrics {
        Metrics::new().unwrap()
    }

    fn assert_line(metrics: &Metrics, line: &str) {
        let text = metrics.render();
        assert!(text.lines().any(|has| has == line), "{line} is missing in\n{text}");
    }

    #[test]
    fn an_abandoned_login_is_counted_once_in_its_last_state() {
        let (counter, metrics, end) =
            (LiveLoginCounter::default(), metrics(), OPENED + Duration::from_secs(60));
        counter.record_move(end, None, Some(position("choosing")));
        counter.record_move(end, Some(&position("choosing")), Some(position("awaiting_callback")));
        counter.record_move(end, None, Some(position("choosing")));
        counter.record_move(end, Some(&position("choosing")), None);
        counter.publish_metrics(end, &metrics);
        assert_line(&metrics, "passerelle_logins_in_progress{state=\"awaiting_callback\"} 1");
        assert_line(&metrics, "passerelle_logins_in_progress{state=\"choosing\"} 0");
        assert_line(
            &metrics,
            "passerelle_login_outcomes_total{error=\"none\",outcome=\"abandoned\"} 0",
        );
        for _ in 0..2 {
            counter.publish_metrics(end + ABANDON_GRACE + Duration::from_secs(1), &metrics);
            assert_line(&metrics, "passerelle_logins_in_progress{state=\"awaiting_callback\"} 0");
            assert_line(
                &metrics,
                "passerelle_logins_abandoned_total{state=\"awaiting_callback\"} 1",
            );
            assert_line(
                &metrics,
                "passerelle_login_outcomes_total{error=\"none\",outcome=\"abandoned\"} 1",
            );
        }
        assert!(
            !metrics.render().contains("abandoned_total{state=\"choosing\"}"),
            "a login that ended was counted"
        );
    }

    #[test]
    fn a_login_that_ended_in_another_process_is_not_counted_as_abandoned() {
        let (one, other, metrics) =
            (LiveLoginCounter::default(), LiveLoginCounter::default(), metrics());
        let late = OPENED + Duration::from_secs(600);
        other.record_move(OPENED, Some(&position("choosing")), None);
        other.publish_metrics(late, &metrics);
        // Its deficit of one is offset by its next login.
        other.record_move(OPENED, None, Some(position("choosing")));
        other.publish_metrics(late, &metrics);
        assert!(!metrics.render().contains("abandoned_total{"));
        one.record_move(OPENED, None, Some(position("choosing")));
        one.publish_metrics(late, &metrics);
        assert_line(&metrics, "passerelle_logins_abandoned_total{state=\"choosing\"} 1");
    }

    /// The user who returns late gets a page that says so; the login counts as abandoned, not as
    /// failed.
    #[test]
    fn a_step_after_the_expiry_does_not_move_a_login() {
        let mut login = Login::new(login_context(&[]));
        let stood = LoginPosition::from_login(&login);
        login.context.expires_at = OPENED;
        let gate = |_: &ConnectorId, _| Ok(());
        let fresh = passerelle_protocol::testing::env::SeededEntropy::new(1);
        let inputs = passerelle_federation::login::StepInputs {
            now: OPENED,
            entropy: &fresh,
            gate: &gate,
            check_registration: &|_| Ok(()),
            connector_for_login_hint: &|_| None,
            forwarded_params: &|_, _| BTreeMap::new(),
            consent: passerelle_protocol::registration::ConsentRequirement::Information,
            client_type: passerelle_protocol::registration::ClientType::Confidential,
            callback_base: "",
            session: None,
            hub_count: passerelle_federation::login::HubCount::Single,
            mail_code_key: &passerelle_protocol::digest::HmacKey::new(b"key of the tests"),
        };
        let step = passerelle_federation::login::on_request(login, LoginRequest::Cancel, &inputs);
        assert!(step.login.has_expired());
        assert_eq!(stood.unwrap().state, "choosing");
    }
}
