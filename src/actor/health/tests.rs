use proptest::prelude::*;

use super::blame::is_the_providers;
use super::breaker::{FIRST_PAUSE, LEAST, LONGEST_PAUSE, QUIET, REFILL, TRIALS};
use super::*;
use crate::protocol::catalogue::Fault;

const T0: Timestamp = Timestamp::from_seconds(1_700_000_000);
const TOOK: Duration = Duration::from_millis(40);
const DEAD: ErrorCode = ErrorCode::IdpUnreachable;

/// An identity provider's health, and the time.
struct Stage {
    health: Arc<Health>,
    now: Timestamp,
}

impl Stage {
    fn new() -> Self {
        Self { health: Arc::default(), now: T0 }
    }

    fn wait(&mut self, by: Duration) {
        self.now = self.now + by;
    }

    fn ask(&self, call: Call) -> Option<Pass> {
        self.health.admit(call, self.now)
    }

    fn call(&self, call: Call, outcome: Result<(), ErrorCode>) -> Option<Turn> {
        self.ask(call).expect("it is not let through").settle(outcome, TOOK, self.now)
    }

    fn fail(&self, call: Call, times: u32) -> Option<Turn> {
        (0..times).fold(None, |_, _| self.call(call, Err(DEAD)))
    }

    fn condition(&self) -> Condition {
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
        // About one person.
        E::IdentityIncomplete,
        E::IdentityMalformed,
        E::UserinfoSubjectMissing,
        E::LdapSubject,
        // A browser can bring these about at will.
        E::IdpError,
        E::IdpStateUnusable,
        E::IdpCallbackMalformed,
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
fn nobody_shuts_an_identity_provider_with_forged_callbacks() {
    let stage = Stage::new();
    let forged = [ErrorCode::IdpError, ErrorCode::IdpIssWrong, ErrorCode::IdpCodeRefused, ErrorCode::IdTokenNonce];
    for code in forged.into_iter().cycle().take(1000).chain([ErrorCode::IdpDenied; 100]) {
        assert_eq!(stage.call(Call::Complete, Err(code)), None);
    }
    assert_eq!(stage.health.standing(stage.now), Standing::Well);
    assert_eq!(stage.health.view(stage.now).tally, Tally::default());
}

#[test]
fn answers_from_memory_do_not_thin_out_failures() {
    let stage = Stage::new();
    for _ in 0..1000 {
        stage.call(Call::Begin, Ok(()));
    }
    let turn = stage.fail(Call::Complete, LEAST).unwrap();
    assert_eq!((turn.to, turn.pause, turn.tally.ill), (Condition::Open, Some(FIRST_PAUSE), LEAST));
    assert_eq!(turn.reasons, [(DEAD, LEAST)]);
    assert!(stage.ask(Call::Begin).is_none() && stage.ask(Call::Complete).is_none() && stage.ask(Call::End).is_none());
}

#[test]
fn a_few_failures_among_many_logins_open_nothing() {
    let stage = Stage::new();
    for _ in 0..40 {
        stage.call(Call::Complete, Ok(()));
    }
    assert_eq!(stage.fail(Call::Complete, 39), None);
    assert_eq!(stage.fail(Call::Complete, 1).unwrap().to, Condition::Open, "half of all");
}

#[test]
fn what_happened_more_than_a_minute_ago_is_forgotten() {
    let mut stage = Stage::new();
    stage.fail(Call::Complete, LEAST - 1);
    stage.wait(Duration::from_secs(60));
    assert_eq!(stage.fail(Call::Complete, LEAST - 1), None);
    assert_eq!(stage.health.view(stage.now).tally.ill, LEAST - 1);
}

#[test]
fn a_probe_proves_that_documents_are_back_and_nobody_else_tries_meanwhile() {
    let mut stage = Stage::new();
    stage.fail(Call::Begin, LEAST);
    assert_eq!(stage.health.probe_in(stage.now), Some(FIRST_PAUSE / 2));
    stage.wait(FIRST_PAUSE / 2);
    let probe = stage.ask(Call::Probe).unwrap();
    stage.wait(FIRST_PAUSE);
    assert_eq!(stage.health.standing(stage.now), Standing::Failing, "the pause is over, but the probe is still out");
    assert!(stage.ask(Call::Begin).is_none() && stage.ask(Call::Probe).is_none());
    assert_eq!(probe.settle(Ok(()), TOOK, stage.now).unwrap().to, Condition::Closed);
    assert_eq!(stage.health.standing(stage.now), Standing::Well);
    assert_eq!(stage.fail(Call::Begin, LEAST - 1), None, "old failures are forgiven");
}

#[test]
fn failed_probes_make_the_pause_grow_to_a_minute() {
    let mut stage = Stage::new();
    stage.fail(Call::Begin, LEAST);
    for pause in [5, 10, 20, 40, 60, 60] {
        let pause = Duration::from_secs(pause);
        assert_eq!(stage.health.probe_in(stage.now), Some(pause / 2));
        stage.wait(pause / 2);
        assert_eq!(stage.call(Call::Probe, Err(ErrorCode::IdpTimeout)), None, "no news");
        assert_eq!(stage.condition(), Condition::Open);
    }
    stage.wait(LONGEST_PAUSE);
    assert_eq!(stage.health.standing(stage.now), Standing::OnTrial);
}

#[test]
fn where_logins_failed_a_probe_lets_some_try_and_only_a_login_proves_it_well() {
    let mut stage = Stage::new();
    stage.fail(Call::Complete, LEAST);
    stage.wait(FIRST_PAUSE / 2);
    assert_eq!(stage.call(Call::Probe, Ok(())).unwrap().to, Condition::HalfOpen);
    assert_eq!(stage.health.standing(stage.now), Standing::OnTrial);
    assert_eq!(stage.health.probe_in(stage.now), None);
    for _ in 0..TRIALS {
        assert_eq!(stage.call(Call::Begin, Ok(())), None, "it may have been answered from memory");
    }
    assert_eq!(stage.health.standing(stage.now), Standing::Failing, "enough people have been sent off");
    assert!(stage.ask(Call::Begin).is_none());
    stage.wait(REFILL);
    assert_eq!(stage.health.standing(stage.now), Standing::OnTrial);
    assert_eq!(stage.call(Call::Complete, Ok(())).unwrap().to, Condition::Closed);
}

#[test]
fn a_failed_trial_opens_it_again_for_twice_as_long() {
    let mut stage = Stage::new();
    stage.fail(Call::Complete, LEAST);
    stage.wait(FIRST_PAUSE);
    assert_eq!(stage.health.standing(stage.now), Standing::OnTrial, "without a probe too");
    let passes: Vec<_> = (0..TRIALS).map(|_| stage.ask(Call::Complete).unwrap()).collect();
    assert!(stage.ask(Call::Complete).is_none(), "no more at once");
    let mut passes = passes.into_iter();
    let turn = passes.next().unwrap().settle(Err(DEAD), TOOK, stage.now).unwrap();
    assert_eq!((turn.to, turn.pause), (Condition::Open, Some(FIRST_PAUSE * 2)));
    // Those that were out have no say any more, good or bad.
    assert_eq!(passes.next().unwrap().settle(Ok(()), TOOK, stage.now), None);
    assert_eq!(passes.next().unwrap().settle(Err(DEAD), TOOK, stage.now), None);
    assert_eq!(stage.condition(), Condition::Open);
}

#[test]
fn a_trial_that_was_given_up_or_was_somebody_elses_doing_makes_room() {
    let mut stage = Stage::new();
    stage.fail(Call::Complete, LEAST);
    stage.wait(FIRST_PAUSE);
    for _ in 0..TRIALS * 3 {
        drop(stage.ask(Call::Complete).unwrap());
        stage.call(Call::Complete, Err(ErrorCode::IdpDenied));
    }
    assert_eq!(stage.condition(), Condition::HalfOpen);
    let stage = Stage::new();
    stage.fail(Call::Begin, LEAST);
    drop(stage.ask(Call::Probe).unwrap());
    assert!(stage.ask(Call::Probe).is_some(), "a probe that was given up is made again");
}

#[test]
fn nobody_comes_and_nothing_speaks_against_it_any_more() {
    let mut stage = Stage::new();
    stage.fail(Call::Complete, LEAST);
    stage.wait(FIRST_PAUSE / 2);
    stage.call(Call::Probe, Ok(()));
    stage.wait(QUIET);
    assert_eq!((stage.condition(), stage.health.standing(stage.now)), (Condition::Closed, Standing::Well));
    assert_eq!(stage.fail(Call::Complete, LEAST - 1), None);
}

#[test]
fn a_logout_is_not_sent_to_one_that_fails_and_is_no_trial() {
    let mut stage = Stage::new();
    stage.fail(Call::Begin, LEAST);
    assert!(stage.ask(Call::End).is_none());
    stage.wait(FIRST_PAUSE);
    assert_eq!(stage.call(Call::End, Ok(())), None);
    assert_eq!(stage.condition(), Condition::HalfOpen);
}

#[test]
fn a_clock_that_is_set_back_shuts_nobody_out_for_long() {
    let mut stage = Stage::new();
    stage.fail(Call::Complete, LEAST);
    stage.now = T0 - Duration::from_secs(86_400);
    assert_eq!(stage.health.standing(stage.now), Standing::OnTrial);
    assert_eq!(stage.health.view(stage.now).tally, Tally::default(), "what is ahead of us did not happen yet");
    assert!(stage.ask(Call::Begin).is_some());
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
        assert!(told >= exact && told <= exact * 3 / 2 + Duration::from_millis(1), "{told:?} for {exact:?}");
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
    prop_oneof![Just(Ok(())), Just(Err(DEAD)), Just(Err(ErrorCode::IdpTimeout)), Just(Err(ErrorCode::IdpDenied))]
}

fn any_call() -> impl Strategy<Value = Call> {
    prop_oneof![Just(Call::Begin), Just(Call::Complete), Just(Call::SignIn), Just(Call::End), Just(Call::Warm), Just(Call::Probe)]
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

    /// Whatever happens in whatever order: never more trials than allowed, open means that nobody is sent there, what is
    /// offered is let through, and an identity provider that is well again is found out in the end.
    #[test]
    fn whatever_happens_the_circuit_keeps_its_word(
        steps in prop::collection::vec((0_u64..15_000, any_call(), outcome(), 0_usize..6), 1..150),
    ) {
        let mut stage = Stage::new();
        let mut out: Vec<(Call, Result<(), ErrorCode>, Pass)> = Vec::new();
        for (wait, call, outcome, settle) in steps {
            stage.wait(Duration::from_millis(wait));
            let standing = stage.health.standing(stage.now);
            match standing {
                Standing::Failing => prop_assert!(stage.health.refuses(Call::Begin, stage.now)),
                Standing::OnTrial | Standing::Well => prop_assert!(!stage.health.refuses(Call::Begin, stage.now)),
            }
            let before = stage.condition();
            if let Some(pass) = stage.ask(call) {
                prop_assert!(before != Condition::Open || call == Call::Probe);
                out.push((call, outcome, pass));
            }
            if settle < out.len() {
                let (_, outcome, pass) = out.swap_remove(settle);
                pass.settle(outcome, TOOK, stage.now);
            }
            prop_assert!(stage.health.state().breaker.trials_out() <= TRIALS);
        }
        // From here on it is well: probes and people find it so.
        drop(out);
        for _ in 0..20 {
            stage.wait(LONGEST_PAUSE);
            for call in [Call::Probe, Call::Complete] {
                if let Some(pass) = stage.ask(call) {
                    pass.settle(Ok(()), TOOK, stage.now);
                }
            }
        }
        prop_assert_eq!(stage.condition(), Condition::Closed);
    }
}
