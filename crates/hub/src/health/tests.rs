mod evidence;
use proptest::prelude::*;

use super::attribution::is_idp_failure;
use super::circuit::MAX_OPEN_TIME;
use super::*;
use passerelle_protocol::catalogue::ErrorOrigin;
use passerelle_protocol::client_network::ClientNetwork;

pub(super) const T0: Timestamp = Timestamp::from_seconds(1_700_000_000);
pub(super) const TOOK: Duration = Duration::from_millis(40);
pub(super) const DEAD: ErrorCode = ErrorCode::IdpUnreachable;

pub(super) fn net(network: u32) -> ClientNetwork {
    let [_, a, b, c] = network.to_be_bytes();
    ClientNetwork::containing([10 + a, b, c, 1].into())
}

/// An identity provider's health, and the time.
pub(super) struct Harness {
    pub health: Health,
    pub now: Timestamp,
}

impl Harness {
    pub(super) fn new() -> Self {
        Self { health: Health::default(), now: T0 }
    }

    pub(super) fn wait(&mut self, by: Duration) {
        self.now = self.now + by;
    }

    pub(super) fn admit(&self, call: CallKind) -> Option<u64> {
        self.health.snapshot.admit(call, self.now)
    }

    pub(super) fn update(&mut self, change: impl FnOnce(&mut Health)) -> Option<CircuitTransition> {
        self.health.update(self.now, change).1
    }

    /// A call from this network, admitted in this epoch, ends.
    pub(super) fn end_call(
        &mut self,
        kind: CallKind,
        epoch: u64,
        outcome: Result<(), ErrorCode>,
        network: u32,
    ) {
        let ended = EndedCall { kind, epoch, outcome, network: Some(net(network)), took: TOOK };
        let now = self.now;
        self.update(|health| health.record_call(ended, now));
    }

    /// A login from this network, if the circuit permits one.
    pub(super) fn login(&mut self, outcome: Result<(), ErrorCode>, network: u32) {
        if let Some(epoch) = self.admit(CallKind::CompleteLogin) {
            self.end_call(CallKind::CompleteLogin, epoch, outcome, network);
        }
        self.apply_evidence();
    }

    /// Does what the prober does while others work.
    pub(super) fn apply_evidence(&mut self) {
        let now = self.now;
        let evidence = self.health.evidence(now);
        if let Some((cause, _)) = evidence.open_cause.filter(|_| !evidence.is_open) {
            self.update(|health| health.open_circuit(cause, now));
        }
    }

    pub(super) fn documents(&mut self, outcome: ProbeOutcome) -> Option<CircuitTransition> {
        let now = self.now;
        let closed = self.update(|health| health.record_document_probe(outcome, false, TOOK, now));
        self.apply_evidence();
        closed
    }

    /// Does what the prober does in each round.
    pub(super) fn half_open_if_due(&mut self) {
        let now = self.now;
        self.update(|health| health.half_open_if_due(now));
    }

    pub(super) fn open_by_logins(&mut self) {
        (0..5).for_each(|network| self.login(Err(DEAD), network));
        assert_eq!((self.circuit(), self.cause()), (CircuitState::Open, Some(OpenCause::Logins)));
    }

    pub(super) fn cause(&self) -> Option<OpenCause> {
        self.health.snapshot.circuit.cause()
    }

    pub(super) fn circuit(&self) -> CircuitState {
        self.health.snapshot.circuit_state(self.now)
    }
}

#[test]
fn every_upstream_code_is_attributed() {
    use ErrorCode as E;
    let idp_failures = [
        E::IdpUnreachable,
        E::IdpCertificateTime,
        E::IdpTimeout,
        E::IdpStatus,
        E::IdpTooLarge,
        E::IdpAddressForbidden,
        E::IdpDiscovery,
        E::IdpIssuerMismatch,
        E::IdpKeys,
        E::IdpTokenAnswer,
        E::IdTokenMalformed,
        E::IdTokenAlgorithm,
        E::IdTokenKey,
        E::IdTokenSignature,
        E::IdTokenIssuer,
        E::IdTokenAudience,
        E::IdTokenAzp,
        E::IdTokenExpired,
        E::IdTokenFuture,
        E::IdTokenNotYet,
        E::IdTokenAtHash,
        E::IdTokenSubject,
        E::IdTokenEncryption,
        E::UserinfoMalformed,
        E::UserinfoSubject,
        E::UserinfoSignature,
        E::UserinfoAudience,
        E::UserinfoTime,
        E::UserinfoKey,
        E::JweMissing,
        E::JweMalformed,
        E::JweAlgorithm,
        E::JweContentEncryption,
        E::JweCompressed,
        E::JweExtension,
        E::JweKey,
        E::JweDecryption,
        E::JweUnsigned,
        E::JweNested,
        E::UserinfoEncryption,
        E::IdpClientRefused,
        E::IdpAccessTokenMissing,
        E::IdpTokenType,
        E::LdapTls,
        E::LdapAccount,
        E::LdapAnswer,
        E::IdpPushAnswer,
        E::IdpDpopNonce,
        E::IdpTokenUnbound,
        E::IdpEncoding,
    ];
    let other_failures = [
        // The hub's own limits, and the register.
        E::IdpBusy,
        E::IdpCircuitOpen,
        E::RegisterUnavailable,
        E::RegisterContract,
        E::RegisterBusy,
        E::RegisterIdentity,
        // It answers, and limits the hub.
        E::IdpThrottled,
        // About one user.
        E::IdentityIncomplete,
        E::IdentityMalformed,
        E::UserinfoSubjectMissing,
        E::LdapSubject,
        // Anyone can send a logout token.
        E::LogoutTokenMalformed,
        E::LogoutTokenUnproven,
        E::LogoutTokenEncryption,
        E::LogoutTokenIssuer,
        E::LogoutTokenAudience,
        E::LogoutTokenTime,
        E::LogoutTokenEvent,
        E::LogoutTokenNonce,
        E::LogoutTokenSubject,
        E::LogoutTokenReplayed,
        // A browser can cause these at will.
        E::IdpError,
        E::IdpTemporarilyUnavailable,
        E::IdpStateUnusable,
        E::IdpCallbackMalformed,
        E::IdpCodeMalformed,
        E::IdpIssMissing,
        E::IdpIssWrong,
        E::IdpCodeRefused,
        E::IdpPushRefused,
        E::IdpResponseKey,
        E::IdpResponseUnproven,
        E::IdpResponseClaims,
        E::IdpResponseEncryption,
        E::IdTokenNonce,
        E::IdTokenMissing,
        E::IdTokenAuthTime,
        E::ReauthenticationNotProven,
        E::PromptLoginIgnored,
        E::UserinfoRefused,
        E::AcrTooLow,
        E::AcrMissing,
        E::AcrUnlisted,
    ];
    for code in &E::all() {
        let (theirs, not) = (idp_failures.contains(code), other_failures.contains(code));
        if code.entry().origin == ErrorOrigin::Upstream {
            assert!(theirs != not, "{code:?}: add it to one of the two lists");
        }
        assert_eq!(is_idp_failure(*code), theirs, "{code:?}");
    }
}

#[test]
fn quantiles_are_at_most_half_too_long() {
    let mut window = CallWindow::default();
    assert_eq!(window.latency(T0), None);
    for millis in 1..=100 {
        window.record(T0, CallKind::CompleteLogin, Ok(()), Duration::from_millis(millis));
    }
    window.record(T0, CallKind::CompleteLogin, Err(DEAD), Duration::from_secs(600));
    let quantiles = window.latency(T0).unwrap();
    for (quantile, exact) in [(quantiles.p50, 50), (quantiles.p95, 95), (quantiles.p99, 99)] {
        let exact = Duration::from_millis(exact);
        assert!(
            quantile >= exact && quantile <= exact * 3 / 2 + Duration::from_millis(1),
            "{quantile:?} for {exact:?}"
        );
    }
}

#[test]
fn redirects_that_need_no_call_do_not_hide_slow_answers() {
    let mut window = CallWindow::default();
    for _ in 0..3 {
        window.record(T0, CallKind::BeginLogin, Ok(()), Duration::from_millis(5));
        window.record(T0, CallKind::CompleteLogin, Ok(()), Duration::from_secs(4));
    }
    assert!(window.latency(T0).unwrap().p50 >= Duration::from_secs(4));
}

#[test]
fn an_anomaly_is_reported_once_and_memory_is_bounded() {
    let health = PublishedHealth::default();
    assert!(health.is_new_anomaly("magic"));
    assert!(!health.is_new_anomaly("magic"));
    let reported = (0..1000).filter(|n| health.is_new_anomaly(&n.to_string())).count();
    assert_eq!(reported, MAX_LOGGED_ANOMALIES - 1);
}

#[test]
fn probes_that_succeed_say_nothing_where_every_login_fails() {
    let mut window = CallWindow::default();
    for _ in 0..4 {
        window.record(T0, CallKind::Probe, Ok(()), TOOK);
        window.record(T0, CallKind::CompleteLogin, Err(ErrorCode::IdpTimeout), TOOK);
    }
    let ratio = |window: &CallWindow| window.tally(T0).failure_ratio();
    assert!((ratio(&window) - 1.0).abs() < f64::EPSILON);
    for _ in 0..12 {
        window.record(T0, CallKind::CompleteLogin, Ok(()), TOOK);
    }
    assert!((ratio(&window) - 0.25).abs() < f64::EPSILON);
    assert!(ratio(&CallWindow::default()).abs() < f64::EPSILON);
}

fn outcome() -> impl Strategy<Value = Result<(), ErrorCode>> {
    prop_oneof![
        Just(Ok(())),
        Just(Err(DEAD)),
        Just(Err(ErrorCode::IdpTimeout)),
        Just(Err(ErrorCode::IdpDenied))
    ]
}

proptest! {
    /// The window agrees with a list of all calls about the last nine to ten slots.
    #[test]
    fn the_window_agrees_with_a_list(steps in prop::collection::vec((0_u64..20_000, outcome()), 1..200)) {
        let (mut window, mut list, mut now) = (CallWindow::default(), Vec::new(), T0);
        for (wait, outcome) in steps {
            now = now + Duration::from_millis(wait);
            window.record(now, CallKind::CompleteLogin, outcome, TOOK);
            list.push((now, outcome));
            let oldest = now.millis() / 6_000 - 9;
            let live: Vec<_> = list.iter().filter(|(at, _)| at.millis() / 6_000 >= oldest).collect();
            let failures = live.iter().filter(|(_, outcome)| outcome.is_err()).count();
            let tally = window.tally(now);
            prop_assert_eq!((tally.successes as usize, tally.failures as usize), (live.len() - failures, failures));
            let counted: u32 = window.reasons(now).iter().map(|(_, times)| times).sum();
            prop_assert_eq!(counted, tally.failures);
        }
    }

    /// Whatever one network sends, in any order and among others' calls: it can't open or keep open
    /// a circuit.
    #[test]
    fn one_network_opens_no_circuit_and_keeps_none_open(
        steps in prop::collection::vec((0_u64..15_000, outcome(), 0_u8..4), 1..300),
    ) {
        let mut harness = Harness::new();
        for (wait, outcome, what) in steps {
            harness.wait(Duration::from_millis(wait));
            match what {
                0 => assert!(harness.admit(CallKind::BeginLogin).is_some()),
                1 => harness.half_open_if_due(),
                _ => harness.login(outcome, 7),
            }
            prop_assert_eq!(harness.circuit(), CircuitState::Closed);
        }
        // The same if it had just failed.
        harness.wait(Duration::from_secs(61));
        (10..30).for_each(|network| harness.login(Err(DEAD), network));
        prop_assert_eq!(harness.circuit(), CircuitState::Open);
        for _ in 0..40 {
            harness.wait(Duration::from_secs(10));
            harness.login(Err(DEAD), 7);
            harness.half_open_if_due();
        }
        prop_assert_ne!(harness.circuit(), CircuitState::Open);
    }

    /// In any order of events: what is offered is permitted, and a recovery is found.
    #[test]
    fn availability_agrees_with_admission_and_recovery_is_found(
        steps in prop::collection::vec((0_u64..15_000, 0_u8..5, outcome(), 0_u32..12), 1..200),
    ) {
        let mut harness = Harness::new();
        let probed = |outcome: Result<(), ErrorCode>| outcome.map_or_else(ProbeOutcome::Failed, |()| ProbeOutcome::Succeeded);
        for (wait, what, outcome, network) in steps {
            harness.wait(Duration::from_millis(wait));
            let is_failing = harness.circuit() == CircuitState::Open;
            prop_assert_eq!(harness.admit(CallKind::BeginLogin).is_none(), is_failing);
            prop_assert_eq!(harness.admit(CallKind::CompleteLogin).is_none(), is_failing);
            match what {
                0 => drop(harness.documents(probed(outcome))),
                1 => harness.half_open_if_due(),
                _ => harness.login(outcome, network),
            }
        }
        for _ in 0..20 {
            harness.wait(MAX_OPEN_TIME);
            harness.documents(ProbeOutcome::Succeeded);
            harness.half_open_if_due();
            harness.login(Ok(()), 1);
        }
        prop_assert_eq!(harness.circuit(), CircuitState::Closed);
    }
}
