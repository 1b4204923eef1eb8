//! Tests real actors and the real loop in paused time: identity providers die, come back, limit the
//! hub, or all fail at once.

mod dead_actor;
mod lease;
mod network_outage;
mod token_endpoint;

use std::cell::Cell;
use std::sync::atomic::AtomicU8;

use crate::health::{CallKind, EndedCall};
use crate::registry::Blocks;
use crate::registry::{self, ConnectorSpec, NotProbedError, Registry};
use passerelle_connector::testing::connectors::any_connector;
use passerelle_connector::{Connector, ConnectorError};
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_federation::{ConnectorProfile, Federation, UnavailableDisplay};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::env::{Clock as _, Env};
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_store::memory::MemoryStore;
use passerelle_store::testing::store_conformance::ample_capacities;
use passerelle_telemetry::Metrics;

use super::*;

/// How an identity provider answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Works,
    Refuses,
    Hangs,
    /// 503 with Retry-After.
    InMaintenance,
    Throttles,
    /// A directory that refuses the hub's own account.
    RefusesAccount,
}

const MODES: [Mode; 6] = [
    Mode::Works,
    Mode::Refuses,
    Mode::Hangs,
    Mode::InMaintenance,
    Mode::Throttles,
    Mode::RefusesAccount,
];
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(120);

/// An identity provider that records its probes.
pub(super) struct FakeIdp {
    mode: AtomicU8,
    clock: Arc<ManualClock>,
    pub probed_at: Mutex<Vec<Timestamp>>,
}

impl FakeIdp {
    fn new(clock: &Arc<ManualClock>) -> Arc<Self> {
        let (clock, probed_at) = (Arc::clone(clock), Mutex::default());
        Arc::new(Self { mode: AtomicU8::new(0), clock, probed_at })
    }

    pub(super) fn set(&self, mode: Mode) {
        let index = MODES.iter().position(|one| *one == mode).unwrap();
        self.mode.store(u8::try_from(index).unwrap(), Ordering::SeqCst);
    }

    pub(super) fn probes(&self) -> usize {
        self.probed_at.lock().unwrap().len()
    }

    async fn answer(&self) -> Result<(), ConnectorError> {
        let error = |code, retry_after| {
            Err(ConnectorError { retry_after, ..ConnectorError::new(code, "as set") })
        };
        match MODES[usize::from(self.mode.load(Ordering::SeqCst))] {
            Mode::Works => Ok(()),
            Mode::Refuses => error(ErrorCode::IdpUnreachable, None),
            Mode::Hangs => std::future::pending().await,
            Mode::InMaintenance => error(ErrorCode::IdpStatus, Some(RETRY_AFTER)),
            Mode::Throttles => error(ErrorCode::IdpThrottled, Some(RETRY_AFTER)),
            Mode::RefusesAccount => error(ErrorCode::LdapAccount, None),
        }
    }
}

#[async_trait::async_trait]
impl Connector for FakeIdp {
    async fn begin_login(
        &self,
        _: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        std::future::pending().await
    }
    async fn complete_login(
        &self,
        _: LoginAttempt,
        _: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        std::future::pending().await
    }
    async fn preload(&self) -> Result<(), ConnectorError> {
        Ok(())
    }
    async fn probe(&self) -> Result<(), ConnectorError> {
        self.probed_at.lock().unwrap().push(self.clock.now());
        self.answer().await
    }
}

/// A hub with identity providers `idp-000`, `idp-001`, and so on.
pub(super) struct ProberHub {
    pub connectors: Connectors,
    pub idps: Vec<Arc<FakeIdp>>,
    pub clock: Arc<ManualClock>,
    pub metrics: Arc<Metrics>,
}

pub(super) fn id(number: usize) -> ConnectorId {
    ConnectorId::new(format!("idp-{number:03}"))
}

pub(super) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Timestamp::from_seconds(1_700_000_000)))
}

impl ProberHub {
    pub(super) fn alone(count: usize) -> Self {
        Self::start(count, Arc::new(MemoryStore::new(ample_capacities())), clock(), 1)
    }

    pub(super) fn start(
        count: usize,
        store: Arc<dyn Store>,
        clock: Arc<ManualClock>,
        seed: u64,
    ) -> Self {
        Self::start_with_unprobed(count, &[], store, clock, seed)
    }

    /// A hub that does not probe the identity providers of these numbers.
    pub(super) fn start_with_unprobed(
        count: usize,
        unprobed: &[usize],
        store: Arc<dyn Store>,
        clock: Arc<ManualClock>,
        seed: u64,
    ) -> Self {
        let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(seed)));
        let idps: Vec<_> = (0..count).map(|_| FakeIdp::new(&clock)).collect();
        let configured = any_connector("one", "One");
        let metadata = configured.metadata();
        let entry = |number| {
            let is_probed = !unprobed.contains(&number);
            (id(number), Arc::new(ConnectorProfile { is_probed, ..metadata.clone() }))
        };
        let federation = Federation::new([], ScopeTable::default(), UnavailableDisplay::Disabled)
            .with_connectors((0..count).map(entry));
        let spec = |(number, idp): (usize, &Arc<FakeIdp>)| ConnectorSpec {
            id: id(number),
            connector: Arc::clone(idp) as Arc<dyn Connector>,
            limits: configured.file.limits,
            fields: Arc::default(),
        };
        let core = HubCore::for_tests(env.clone(), federation.into());
        let metrics = Arc::clone(&core.metrics);
        let deps = registry::RegistryDeps {
            core: Arc::new(core),
            blocks: Blocks::load(std::path::Path::new("no state is kept here"), &env).unwrap(),
            default_max_calls: 8,
            store,
            arbiters: Vec::new(),
        };
        let (connectors, _) = Registry::start(idps.iter().enumerate().map(spec).collect(), deps);
        Self { connectors, idps, clock, metrics }
    }

    pub(super) fn circuit(&self, number: usize) -> CircuitState {
        self.connectors.circuit_state(&id(number))
    }

    fn handle(&self, number: usize) -> ConnectorHandle {
        self.connectors.handle(&id(number)).unwrap()
    }

    pub(super) fn use_it(&self, number: usize) {
        let now = self.clock.now();
        self.handle(number).post_health_update(move |health| health.mark_used(now));
    }

    fn login(&self, number: usize, network: u8, outcome: Result<(), ErrorCode>) {
        let (took, now) = (Duration::from_millis(30), self.clock.now());
        let network = Some(ClientNetwork::containing([192, 0, network, 1].into()));
        self.handle(number).post_health_update(move |health| {
            health.mark_used(now);
            let kind = CallKind::CompleteLogin;
            if let Some(epoch) = health.snapshot.admit(kind, now) {
                health.record_call(EndedCall { kind, epoch, outcome, network, took }, now);
            }
        });
    }

    /// Lets seconds pass until the circuit of `number` is in this state. Returns the seconds that it took.
    pub(super) async fn until(&self, number: usize, circuit: CircuitState, limit: u64) -> u64 {
        for passed in 0..=limit {
            if self.circuit(number) == circuit {
                return passed;
            }
            pass(&self.clock, 1).await;
        }
        panic!("idp-{number:03} is not {circuit:?} within {limit} s");
    }
}

/// Lets both clocks run.
pub(super) async fn pass(clock: &ManualClock, seconds: u64) {
    for _ in 0..seconds {
        clock.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[actix::test]
async fn a_failed_identity_provider_is_disabled_and_a_recovered_one_offered_in_time() {
    tokio::time::pause();
    // In use, and not.
    for (mode, is_used, limit) in [
        (Mode::Refuses, true, 20),
        (Mode::Hangs, true, 40),
        (Mode::Refuses, false, 90),
        (Mode::Hangs, false, 90),
    ] {
        for delay in [0, 3, 7, 9] {
            let hub = ProberHub::alone(3);
            let use_it = || {
                (0..3).for_each(|number| {
                    if is_used {
                        hub.use_it(number)
                    }
                })
            };
            use_it();
            pass(&hub.clock, 70 + delay).await;
            use_it();
            hub.idps[1].set(mode);
            let died = hub.until(1, CircuitState::Open, limit).await;
            assert_eq!(
                (hub.circuit(0), hub.circuit(2)),
                (CircuitState::Closed, CircuitState::Closed)
            );
            hub.idps[1].set(Mode::Works);
            let back = hub.until(1, CircuitState::Closed, limit).await;
            eprintln!(
                "{mode:?}, in use: {is_used}: disabled after {died} s, offered after {back} s"
            );
        }
    }
}

#[actix::test]
async fn an_identity_provider_that_dies_after_its_documents_were_fetched_is_not_taken_for_healthy()
{
    // Once users were still sent there 28 minutes after it had died.
    tokio::time::pause();
    let hub = ProberHub::alone(2);
    pass(&hub.clock, 120).await;
    hub.idps[0].set(Mode::Refuses);
    pass(&hub.clock, 90).await;
    assert_eq!(hub.circuit(0), CircuitState::Open);
    let row = hub.connectors.overview().into_iter().find(|row| row.id == id(0)).unwrap();
    assert_eq!(row.state.as_str(), "down", "`idp list` differs");
    pass(&hub.clock, 1800).await;
    assert_eq!(hub.circuit(0), CircuitState::Open);
}

#[actix::test]
async fn five_hundred_identity_providers_are_probed_without_bursts() {
    tokio::time::pause();
    let hub = ProberHub::alone(500);
    pass(&hub.clock, 180).await;
    let mut per_second = std::collections::BTreeMap::new();
    for idp in &hub.idps {
        let probed_at = idp.probed_at.lock().unwrap();
        assert!((2..=3).contains(&probed_at.len()), "{} in three minutes", probed_at.len());
        for at in probed_at.iter() {
            *per_second.entry(at.seconds()).or_insert(0) += 1;
        }
    }
    let most = per_second.values().max().unwrap();
    assert!(*most <= 10, "{most} in one second; 500 a minute are 8.3 a second");

    // All in use: ten seconds for each.
    (0..500).for_each(|number| hub.use_it(number));
    pass(&hub.clock, 20).await;
    let before: usize = hub.idps.iter().map(|idp| idp.probes()).sum();
    pass(&hub.clock, 60).await;
    let probes = hub.idps.iter().map(|idp| idp.probes()).sum::<usize>() - before;
    assert!((2900..=3100).contains(&probes), "{probes}");
}

#[actix::test]
async fn retry_after_is_honoured() {
    tokio::time::pause();
    let hub = ProberHub::alone(2);
    hub.use_it(0);
    pass(&hub.clock, 20).await;
    // 429: it works, and limits the hub.
    hub.idps[0].set(Mode::Throttles);
    let before = hub.idps[0].probes();
    pass(&hub.clock, 11).await;
    assert_eq!(hub.idps[0].probes(), before + 1);
    pass(&hub.clock, 100).await;
    assert_eq!(
        (hub.idps[0].probes(), hub.circuit(0)),
        (before + 1, CircuitState::Closed),
        "probed before Retry-After"
    );
    hub.idps[0].set(Mode::Works);
    pass(&hub.clock, 40).await;
    assert!(hub.idps[0].probes() > before + 1);
    // 503 with Retry-After: it says itself that it is unavailable.
    hub.use_it(0);
    pass(&hub.clock, 70).await;
    hub.idps[0].set(Mode::InMaintenance);
    hub.until(0, CircuitState::Open, 20).await;
    let before = hub.idps[0].probes();
    pass(&hub.clock, 100).await;
    assert_eq!(hub.idps[0].probes(), before);
}

#[actix::test]
async fn if_all_fail_at_once_the_network_is_reported_and_none_is_disabled() {
    tokio::time::pause();
    let hub = ProberHub::alone(4);
    hub.use_it(2);
    pass(&hub.clock, 70).await;
    assert_eq!(hub.connectors.outbound_warning(), None);
    for idp in hub.idps.iter() {
        idp.set(Mode::Refuses);
    }
    for _ in 0..120 {
        pass(&hub.clock, 1).await;
        assert!((0..4).all(|number| hub.circuit(number) == CircuitState::Closed));
    }
    assert!(
        hub.connectors
            .outbound_warning()
            .is_some_and(|finding| finding.message.contains("this hub's network"))
    );
    assert!(hub.metrics.render().contains("\npasserelle_egress_down 1\n"));
    // The network is back, but one identity provider has died.
    (0..3).for_each(|number| hub.idps[number].set(Mode::Works));
    hub.until(3, CircuitState::Open, 90).await;
    assert_eq!(hub.connectors.outbound_warning(), None);
    assert!((0..3).all(|number| hub.circuit(number) == CircuitState::Closed));
}

#[actix::test]
async fn after_a_reload_a_corrected_identity_provider_is_offered_at_once() {
    tokio::time::pause();
    let hub = ProberHub::alone(2);
    pass(&hub.clock, 70).await;
    hub.idps[0].set(Mode::Refuses);
    hub.until(0, CircuitState::Open, 90).await;
    // Past the quick probes.
    pass(&hub.clock, 5).await;
    hub.idps[0].set(Mode::Works);
    hub.connectors.probe_failing_now();
    hub.until(0, CircuitState::Closed, 2).await;
}

#[actix::test]
async fn an_operator_who_asks_for_a_probe_learns_its_outcome_and_it_counts() {
    tokio::time::pause();
    let store = Arc::new(MemoryStore::new(ample_capacities()));
    let hub = ProberHub::start_with_unprobed(3, &[2], store, clock(), 1);
    pass(&hub.clock, 70).await;
    hub.idps[0].set(Mode::Refuses);
    hub.until(0, CircuitState::Open, 90).await;
    pass(&hub.clock, 5).await;
    let (before, recorded_after) = (hub.idps[0].probes(), Cell::new(None));
    let record = || recorded_after.set(Some(hub.idps[0].probes()));
    assert_eq!(hub.connectors.probe(&id(0), record).await, Ok(Some(ErrorCode::IdpUnreachable)));
    assert_eq!(recorded_after.get(), Some(before), "recorded before the probe");
    hub.idps[0].set(Mode::Works);
    assert_eq!(hub.connectors.probe(&id(0), || ()).await, Ok(None));
    assert_eq!(hub.circuit(0), CircuitState::Closed);
    let before = hub.idps[0].probes();
    pass(&hub.clock, 2).await;
    assert_eq!(hub.idps[0].probes(), before, "one request is one probe");
    let unrecorded = || panic!("recorded and not probed");
    assert_eq!(hub.connectors.probe(&id(2), unrecorded).await, Err(NotProbedError::ProbesOff));
    assert_eq!(
        hub.connectors.probe(&id(7), unrecorded).await,
        Err(NotProbedError::UnknownConnector)
    );
}

#[actix::test]
async fn probes_do_not_lock_the_hubs_own_account_in_a_directory() {
    tokio::time::pause();
    let hub = ProberHub::alone(2);
    hub.use_it(0);
    hub.idps[0].set(Mode::RefusesAccount);
    pass(&hub.clock, 900).await;
    assert!(hub.idps[0].probes() <= 4, "{} failed logins in 15 minutes", hub.idps[0].probes());
    // The operator has corrected the password.
    hub.idps[0].set(Mode::Works);
    let before = hub.idps[0].probes();
    hub.connectors.probe_failing_now();
    pass(&hub.clock, 2).await;
    assert_eq!(hub.idps[0].probes(), before + 1);
}

#[actix::test]
async fn an_operator_who_asks_for_probes_does_not_lock_the_hubs_own_account_in_a_directory() {
    tokio::time::pause();
    let hub = ProberHub::alone(2);
    pass(&hub.clock, 70).await;
    hub.idps[0].set(Mode::RefusesAccount);
    let refused = hub.connectors.probe(&id(0), || ()).await;
    assert_eq!(refused, Ok(Some(ErrorCode::LdapAccount)));
    let (before, until) = (hub.idps[0].probes(), hub.clock.now() + Duration::from_secs(300));
    assert_eq!(hub.connectors.probe(&id(0), || ()).await, Err(NotProbedError::Paused { until }));
    pass(&hub.clock, 200).await;
    assert_eq!(hub.idps[0].probes(), before, "neither at once nor by the schedule");
    // The operator has corrected the password.
    hub.idps[0].set(Mode::Works);
    hub.connectors.probe_now_if_failing(&id(0));
    pass(&hub.clock, 2).await;
    assert_eq!(hub.idps[0].probes(), before + 1);
    assert_eq!(hub.connectors.probe(&id(0), || ()).await, Ok(None));
}

#[actix::test]
async fn an_identity_provider_whose_probes_are_switched_off_is_never_called_without_a_login() {
    tokio::time::pause();
    let store = Arc::new(MemoryStore::new(ample_capacities()));
    let hub = ProberHub::start_with_unprobed(2, &[0], store, clock(), 1);
    hub.use_it(0);
    pass(&hub.clock, 300).await;
    assert_eq!(hub.idps[0].probes(), 0);
    assert!(hub.idps[1].probes() > 0);
    // Logins still show that it fails, and that it works again.
    for network in 0..5 {
        hub.login(0, network, Err(ErrorCode::IdpStatus));
    }
    hub.until(0, CircuitState::Open, 2).await;
    hub.until(0, CircuitState::HalfOpen, 20).await;
    hub.login(0, 1, Ok(()));
    hub.until(0, CircuitState::Closed, 2).await;
    assert_eq!(hub.idps[0].probes(), 0);
}

#[actix::test]
async fn a_single_identity_provider_is_disabled_without_a_witness() {
    tokio::time::pause();
    let hub = ProberHub::alone(1);
    hub.idps[0].set(Mode::Refuses);
    hub.until(0, CircuitState::Open, 90).await;
    assert_eq!(hub.connectors.outbound_warning(), None);
}
