mod evidence;
use proptest::prelude::*;

use super::blame::is_the_providers;
use super::circuit::LONGEST_PAUSE;
use super::*;
use crate::protocol::catalogue::Fault;

pub(super) const T0: Timestamp = Timestamp::from_seconds(1_700_000_000);
pub(super) const TOOK: Duration = Duration::from_millis(40);
pub(super) const DEAD: ErrorCode = ErrorCode::IdpUnreachable;

pub(super) fn net(network: u32) -> ClientNetwork {
    let [_, a, b, c] = network.to_be_bytes();
    ClientNetwork::containing([10 + a, b, c, 1].into())
}

/// An identity provider's health, and the time.
pub(super) struct Stage {
    pub health: Arc<Health>,
    pub now: Timestamp,
}

impl Stage {
    pub fn new() -> Self {
        Self { health: Arc::default(), now: T0 }
    }

    pub fn wait(&mut self, by: Duration) {
        self.now = self.now + by;
    }

    pub fn ask(&self, call: Call) -> Option<Pass> {
        self.health.admit(call, self.now)
    }

    pub fn call(&self, call: Call, outcome: Result<(), ErrorCode>, network: u32) -> Option<Turn> {
        self.ask(call).expect("it is not let through").settle(
            outcome,
            Some(net(network)),
            TOOK,
            self.now,
        )
    }

    /// A login from this network, as far as one is let through.
    pub fn login(&self, outcome: Result<(), ErrorCode>, network: u32) {
        if let Some(pass) = self.ask(Call::Complete) {
            pass.settle(outcome, Some(net(network)), TOOK, self.now);
        }
        self.decide();
    }

    /// What the prober does while others work.
    pub fn decide(&self) {
        let evidence = self.health.evidence(self.now);
        if let Some((cause, _)) = evidence.condemned.filter(|_| !evidence.is_open) {
            self.health.open(cause, self.now);
        }
    }

    pub fn documents(&self, outcome: ProbeOutcome) -> Option<Turn> {
        let closed = self.health.record_documents(outcome, false, TOOK, self.now);
        self.decide();
        closed
    }

    pub fn login_probe(&self, outcome: ProbeOutcome) {
        self.health.record_login_probe(outcome, TOOK, self.now);
        self.decide();
    }

    pub fn open_by_logins(&self) {
        (0..5).for_each(|network| self.login(Err(DEAD), network));
        assert_eq!((self.condition(), self.cause()), (Condition::Open, Some(Cause::Logins)));
    }

    pub fn cause(&self) -> Option<Cause> {
        self.health.state().circuit.cause()
    }

    pub fn condition(&self) -> Condition {
        self.health.view(self.now).condition
    }
}

#[test]
fn every_upstream_code_is_either_the_providers_doing_or_not() {
    use ErrorCode as E;
    let the_providers = [
        E::IdpUnreachable,
        E::IdpTimeout,
        E::IdpStatus,
        E::IdpTooLarge,
        E::IdpAddressForbidden,
        E::IdpDiscovery,
        E::IdpIssuerMismatch,
        E::IdpKeys,
        E::IdpKeysTooMany,
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
        E::SealMissing,
        E::SealMalformed,
        E::SealAlgorithm,
        E::SealContentEncryption,
        E::SealCompressed,
        E::SealExtension,
        E::SealKey,
        E::SealBroken,
        E::SealUnsigned,
        E::SealNested,
        E::UserinfoEncryption,
        E::IdpClientRefused,
        E::IdpAccessTokenMissing,
        E::IdpTokenType,
        E::LdapTls,
        E::LdapAccount,
        E::LdapAnswer,
    ];
    let somebody_elses = [
        // The hub's own limits, and the register.
        E::IdpBusy,
        E::IdpInTrouble,
        E::RegisterUnavailable,
        E::RegisterContract,
        E::RegisterBusy,
        E::RegisterIdentity,
        // It answers, and limits the hub.
        E::IdpThrottled,
        // About one person.
        E::IdentityIncomplete,
        E::IdentityMalformed,
        E::UserinfoSubjectMissing,
        E::LdapSubject,
        // A browser can bring these about at will.
        E::IdpError,
        E::IdpStateUnusable,
        E::IdpCallbackMalformed,
        E::IdpCodeMalformed,
        E::IdpIssMissing,
        E::IdpIssWrong,
        E::IdpCodeRefused,
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
    for code in E::ALL {
        let (theirs, not) = (the_providers.contains(code), somebody_elses.contains(code));
        if code.entry().fault == Fault::Upstream {
            assert!(theirs != not, "{code:?}: say in this table whose doing it is");
        }
        assert_eq!(is_the_providers(*code), theirs, "{code:?}");
    }
}

#[test]
fn times_are_told_within_half_as_much_again() {
    let mut window = Window::default();
    assert_eq!(window.latency(T0), None);
    for millis in 1..=100 {
        window.record(T0, Call::Complete, Ok(()), Duration::from_millis(millis));
    }
    window.record(T0, Call::Complete, Err(DEAD), Duration::from_secs(600));
    let told = window.latency(T0).unwrap();
    for (told, exact) in [(told.p50, 50), (told.p95, 95), (told.p99, 99)] {
        let exact = Duration::from_millis(exact);
        assert!(
            told >= exact && told <= exact * 3 / 2 + Duration::from_millis(1),
            "{told:?} for {exact:?}"
        );
    }
}

#[test]
fn an_oddity_is_told_once_and_strangers_can_not_fill_the_memory() {
    let health = Health::default();
    assert!(health.is_news("magic"));
    assert!(!health.is_news("magic"));
    let told = (0..1000).filter(|n| health.is_news(&n.to_string())).count();
    assert_eq!(told, ODDITIES - 1);
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
    /// The window says what a list of everything would say of the last nine to ten slots.
    #[test]
    fn the_window_agrees_with_a_list(steps in prop::collection::vec((0_u64..20_000, outcome()), 1..200)) {
        let (mut window, mut list, mut now) = (Window::default(), Vec::new(), T0);
        for (wait, outcome) in steps {
            now = now + Duration::from_millis(wait);
            window.record(now, Call::Complete, outcome, TOOK);
            list.push((now, outcome));
            let oldest = now.millis() / 6_000 - 9;
            let live: Vec<_> = list.iter().filter(|(at, _)| at.millis() / 6_000 >= oldest).collect();
            let ill = live.iter().filter(|(_, outcome)| outcome.is_err()).count();
            let tally = window.tally(now);
            prop_assert_eq!((tally.well as usize, tally.ill as usize), (live.len() - ill, ill));
            let told: u32 = window.reasons(now).iter().map(|(_, times)| times).sum();
            prop_assert_eq!(told, tally.ill);
        }
    }

    /// Whatever one network sends, in whatever order, among whatever other people do from theirs: the circuit is at every
    /// moment as it would be had that network sent each of its failures as nothing but one vote a minute, which is none.
    #[test]
    fn whatever_one_network_sends_opens_no_circuit_and_keeps_none_open(
        steps in prop::collection::vec((0_u64..15_000, outcome(), 0_u8..4), 1..300),
    ) {
        let mut stage = Stage::new();
        for (wait, outcome, what) in steps {
            stage.wait(Duration::from_millis(wait));
            match what {
                0 => drop(stage.ask(Call::Begin)),
                // Its token endpoint works, and the hub sees that.
                1 if stage.health.wants_login_probe(stage.now) => stage.login_probe(ProbeOutcome::Succeeded),
                _ => stage.login(outcome, 7),
            }
            prop_assert_eq!(stage.condition(), Condition::Closed);
        }
        // The same where it had failed a moment ago.
        stage.wait(Duration::from_secs(61));
        (10..30).for_each(|network| stage.login(Err(DEAD), network));
        prop_assert_eq!(stage.condition(), Condition::Open);
        for _ in 0..40 {
            stage.wait(Duration::from_secs(10));
            stage.login(Err(DEAD), 7);
            if stage.health.wants_login_probe(stage.now) {
                stage.login_probe(ProbeOutcome::Succeeded);
            }
        }
        prop_assert_ne!(stage.condition(), Condition::Open);
    }

    /// Whatever happens in whatever order: what is offered is let through, and what works again is found to.
    #[test]
    fn whatever_happens_the_circuit_keeps_its_word(
        steps in prop::collection::vec((0_u64..15_000, 0_u8..5, outcome(), 0_u32..12), 1..200),
    ) {
        let mut stage = Stage::new();
        let probed = |outcome: Result<(), ErrorCode>| outcome.map_or_else(ProbeOutcome::Failed, |()| ProbeOutcome::Succeeded);
        for (wait, what, outcome, network) in steps {
            stage.wait(Duration::from_millis(wait));
            let is_failing = stage.health.standing(stage.now) == Standing::Failing;
            prop_assert_eq!(stage.health.refuses(Call::Begin, stage.now), is_failing);
            prop_assert_eq!(stage.ask(Call::Complete).is_none(), is_failing);
            match what {
                0 => drop(stage.documents(probed(outcome))),
                1 => stage.login_probe(probed(outcome)),
                _ => stage.login(outcome, network),
            }
        }
        for _ in 0..20 {
            stage.wait(LONGEST_PAUSE);
            stage.documents(ProbeOutcome::Succeeded);
            stage.login_probe(ProbeOutcome::Succeeded);
            stage.login(Ok(()), 1);
        }
        prop_assert_eq!(stage.condition(), Condition::Closed);
    }
}
