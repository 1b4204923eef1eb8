//! What holds for any sequence of requests and reports, right and wrong ones, at any time.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::assurance::Level;
use crate::login::samples::{authentication, left, proven, reused};
use crate::login::tests::stage::{BLOCKED, CLOSED, OPEN, Seen, Stage, back_with, seen};
use crate::login::upstream::Attempt;
use crate::login::{
    Answered, Consent, ConsentAnswer, ConsentPolicy, Effect, Proven, Report, Request, Save,
    SessionUse, State, Then,
};
use crate::protocol::catalogue::ErrorCode;

#[derive(Clone, Copy, Debug)]
enum Closed {
    ForGood,
    /// A kill switch.
    ForAWhile,
}

/// What one step does to the login; what it refers to (an attempt, a page) is looked up when it is taken.
#[derive(Clone, Debug)]
enum Move {
    Look {
        reuse: bool,
        consented: bool,
    },
    Choose {
        other: bool,
    },
    Cancel,
    /// The answer to one of the attempts so far, with this flaw.
    Return {
        attempt: usize,
        flaw: Flaw,
    },
    Review,
    Consent {
        yes: bool,
        shown: bool,
    },
    Displace,
    /// The answer to what was asked for last, good or bad.
    Answer {
        good: bool,
        level: Level,
    },
    /// A report out of turn: of an effect that this state did not ask for.
    Stray(Kind),
    /// `None`: open.
    Gate {
        closed: Option<Closed>,
    },
    Wait {
        millis: u32,
    },
    /// The process dies before what it was asked to do is answered.
    Crash,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Departed,
    Authenticated,
    Identified,
}

#[derive(Clone, Copy, Debug)]
enum Flaw {
    None,
    State,
    Connector,
    Iss,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let flaw = prop_oneof![5 => Just(Flaw::None), 1 => Just(Flaw::State), 1 => Just(Flaw::Connector), 1 => Just(Flaw::Iss)];
    let level = prop_oneof![Just(Level::Eidas1), Just(Level::Eidas2), Just(Level::Eidas3)];
    let one = prop_oneof![
        4 => (prop::bool::weighted(0.2), any::<bool>()).prop_map(|(reuse, consented)| Move::Look { reuse, consented }),
        12 => prop::bool::weighted(0.2).prop_map(|other| Move::Choose { other }),
        1 => Just(Move::Cancel),
        20 => (prop_oneof![4 => Just(0_usize), 1 => 1_usize..3], flaw).prop_map(|(attempt, flaw)| Move::Return { attempt, flaw }),
        2 => Just(Move::Review),
        16 => (prop::bool::weighted(0.9), prop::bool::weighted(0.8)).prop_map(|(yes, shown)| Move::Consent { yes, shown }),
        1 => prop::bool::weighted(0.1).prop_map(|displace| if displace { Move::Displace } else { Move::Review }),
        12 => (prop::bool::weighted(0.7), level).prop_map(|(good, level)| Move::Answer { good, level }),
        2 => prop_oneof![Just(Kind::Departed), Just(Kind::Authenticated), Just(Kind::Identified)].prop_map(Move::Stray),
        1 => prop::option::weighted(0.2, prop_oneof![Just(Closed::ForGood), Just(Closed::ForAWhile)]).prop_map(|closed| Move::Gate { closed }),
        2 => Just(Move::Crash),
        1 => (0_u32..200_000).prop_map(|millis| Move::Wait { millis }),
    ];
    prop::collection::vec(one, 1..40)
}

/// A login, and all that was ever seen of it.
struct Witness {
    stage: Stage,
    attempts: Vec<Attempt>,
    pending: Option<Effect>,
    completed: BTreeSet<String>,
    codes: BTreeSet<String>,
    refused: bool,
    /// Since the choice was last shown: a completed attempt, then an authentication, then an identity.
    authenticated: bool,
    identified: bool,
    reused: bool,
}

impl Witness {
    fn new(changes: &[(&str, &str)], policy: ConsentPolicy) -> Self {
        Self {
            stage: Stage::new(changes).with_policy(policy).with_session("session"),
            attempts: vec![],
            pending: None,
            completed: BTreeSet::new(),
            codes: BTreeSet::new(),
            refused: false,
            authenticated: false,
            identified: false,
            reused: false,
        }
    }

    /// Takes a step, after what was asked for has been done, unless the step is about that.
    fn play(&mut self, step: &Move) {
        while self.pending.is_some()
            && !matches!(
                step,
                Move::Answer { .. } | Move::Crash | Move::Gate { .. } | Move::Wait { .. }
            )
        {
            self.take(&Move::Answer { good: true, level: Level::Eidas2 });
        }
        self.take(step);
    }

    fn take(&mut self, step: &Move) {
        let end = self.stage.login.end();
        let failed = matches!(self.stage.login.state, State::Failed(_));
        let Some(then) = self.act(step) else { return };
        match then {
            Then::Do(effect) => {
                self.judge(&effect, end.is_some() || failed);
                self.pending = Some(*effect);
            }
            Then::Answer(answer) => {
                self.pending = None;
                if let Seen::Sp(_, Some(session)) = seen(answer) {
                    assert!(
                        self.codes.contains(self.stage.code().unwrap()),
                        "an answer before its grant"
                    );
                    let State::Answered(Answered::Granted { session: kept, .. }) =
                        &self.stage.login.state
                    else {
                        panic!()
                    };
                    assert_eq!(kept.as_ref().map(crate::ids::Secret::reveal), Some(&session));
                }
            }
        }
        // A grant that could not be stored is the one way out of an answered login.
        let report_lost = matches!(step, Move::Answer { good: false, .. });
        match (end, self.stage.login.end()) {
            (Some(before), after) => {
                assert!(after == Some(before) || report_lost, "{before:?} became {after:?}")
            }
            (None, Some(Ok(()))) => assert!(!failed && !self.refused, "granted after a failure"),
            (None, _) => {}
        }
        self.refused |= matches!(self.stage.login.end(), Some(Err(_)));
    }

    fn act(&mut self, step: &Move) -> Option<Then> {
        Some(match step {
            Move::Answer { good, level } => {
                let effect = self.pending.take()?;
                self.report(effect, *good, *level)
            }
            Move::Stray(kind) => self.stage.tell(self.stray(*kind)?),
            Move::Gate { closed } => {
                self.stage.gate = match closed {
                    None => OPEN,
                    Some(Closed::ForGood) => CLOSED,
                    Some(Closed::ForAWhile) => BLOCKED,
                };
                return None;
            }
            Move::Wait { millis } => {
                self.stage.now =
                    self.stage.now + std::time::Duration::from_millis(u64::from(*millis));
                return None;
            }
            Move::Crash => {
                self.pending = None;
                self.stage.crash();
                return None;
            }
            request => {
                let request = self.request(request)?;
                if let (Request::Look { reuse: Some(_) }, State::Choosing(_)) =
                    (&request, &self.stage.login.state)
                {
                    self.reused = true;
                }
                self.stage.ask(request)
            }
        })
    }

    /// `None` where it would be no stray: the state waits for just that, and only the process that works on it has a
    /// report to give. One that died gives none, so what it would have said is not for a test to invent.
    fn stray(&self, kind: Kind) -> Option<Report> {
        match (kind, &self.stage.login.state) {
            (Kind::Departed, State::Leaving(_))
            | (Kind::Authenticated, State::Verifying(_))
            | (Kind::Identified, State::Identifying(_)) => None,
            (Kind::Departed, _) => Some(Report::Departed(Ok(left()))),
            (Kind::Authenticated, _) => {
                Some(Report::Authenticated(Ok(Box::new(authentication("idp", Level::Eidas3)))))
            }
            (Kind::Identified, _) => {
                Some(Report::Identified(Ok(Box::new(proven("idp", Level::Eidas3)))))
            }
        }
    }

    fn request(&self, step: &Move) -> Option<Request> {
        Some(match step {
            Move::Look { reuse, consented } => {
                let session = || Box::new(Proven { consented: *consented, ..reused("session") });
                Request::Look { reuse: reuse.then(session) }
            }
            Move::Choose { other } => Request::Choose(if *other { "other" } else { "idp" }.into()),
            Move::Cancel => Request::Cancel,
            Move::Return { attempt, flaw } => {
                let attempt = self.attempts.iter().rev().nth(*attempt)?;
                back_with(attempt, |back| match flaw {
                    Flaw::None => {}
                    Flaw::State => back.state.push('x'),
                    Flaw::Connector => back.connector = "evil".into(),
                    Flaw::Iss => back.arrival.iss = Some("https://evil.example".into()),
                })
            }
            Move::Review => Request::Review,
            Move::Consent { yes, shown } => {
                let page = match &self.stage.login.state {
                    State::Consenting(page) if *shown => page.shown(),
                    _ => "another page".into(),
                };
                Request::Consent(Consent {
                    answer: if *yes { ConsentAnswer::Yes } else { ConsentAnswer::No },
                    shown: page,
                })
            }
            Move::Displace => Request::Displace,
            Move::Answer { .. }
            | Move::Stray(_)
            | Move::Gate { .. }
            | Move::Wait { .. }
            | Move::Crash => return None,
        })
    }

    fn report(&mut self, effect: Effect, good: bool, level: Level) -> Then {
        match effect {
            Effect::Begin(..) => {
                let then =
                    self.stage.tell(Report::Departed(good.then(left).ok_or(ErrorCode::IdpTimeout)));
                if let State::Away(away) = &self.stage.login.state {
                    self.attempts.push(away.attempt.clone());
                }
                then
            }
            Effect::Complete(attempt, ..) => {
                self.authenticated = good;
                let ok = Box::new(authentication(attempt.connector.as_str(), level));
                self.stage
                    .tell(Report::Authenticated(good.then_some(ok).ok_or(ErrorCode::IdTokenNonce)))
            }
            Effect::Identify(authentication) => {
                self.identified = good;
                let level = authentication.level;
                let ok =
                    Box::new(Proven { authentication: *authentication, ..proven("idp", level) });
                self.stage.tell(Report::Identified(
                    good.then_some(ok).ok_or(ErrorCode::RegisterNotFound.into()),
                ))
            }
            Effect::Grant(_) => {
                self.stage.tell(Report::Granted(good.then_some(()).ok_or(ErrorCode::StoreFull)))
            }
            Effect::LookForCode(_) => self.stage.tell(Report::CodeLives(Ok(good))),
        }
    }

    fn judge(&mut self, effect: &Effect, over: bool) {
        match effect {
            Effect::Begin(..) => assert!(!over, "a departure of a login that is over"),
            Effect::Complete(attempt, arrival, _) => {
                assert!(!over, "a completion of a login that is over");
                assert_eq!(
                    self.stage.saved,
                    Save::Yes,
                    "an attempt that another node would find open"
                );
                let youngest = self.attempts.last().unwrap();
                assert_eq!(attempt.state, youngest.state, "an older attempt");
                assert!(
                    attempt.nonce == youngest.nonce && attempt.verifier == youngest.verifier,
                    "mixed attempts"
                );
                assert_eq!(arrival.iss.as_deref(), Some(youngest.left.issuer.as_str()));
                assert!(self.completed.insert(attempt.state.clone()), "an attempt completed twice");
                (self.authenticated, self.identified) = (false, false);
            }
            Effect::Identify(found) => {
                assert!(self.authenticated && !over);
                assert!(found.level >= self.stage.login.ticket.request.level, "a level rounded up");
            }
            Effect::Grant(grant) => {
                let again = self.codes.contains(grant.code.reveal());
                assert!(!over || again, "a grant of a login that is over");
                assert!(self.stage.saved == Save::Yes || again, "two nodes could grant");
                match &grant.session {
                    SessionUse::Fresh { .. } => {
                        assert!(self.authenticated && self.identified, "nobody was proven");
                        assert!(
                            self.completed
                                .contains(self.stage.login.ticket.returned.as_ref().unwrap())
                        );
                    }
                    SessionUse::Reused { .. } => assert!(self.reused, "no session came along"),
                }
                assert!(
                    grant.proven.level >= grant.request.level || self.reused,
                    "too low a level"
                );
                self.codes.insert(grant.code.reveal().clone());
                assert_eq!(self.codes.len(), 1, "two codes in one login");
            }
            Effect::LookForCode(code) => {
                assert!(self.codes.contains(code.reveal()), "a code that was never granted")
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_steps_gives_a_code_that_was_not_earned(
        steps in moves(),
        required in any::<bool>(),
        level in prop_oneof![Just("eidas1"), Just("eidas2")],
        prompt in prop_oneof![4 => Just(""), 2 => Just("login"), 1 => Just("none")],
        hint in prop_oneof![3 => Just(""), 1 => Just("idp")],
    ) {
        let policy = if required { ConsentPolicy::Required } else { ConsentPolicy::Information };
        let mut witness = Witness::new(&[("acr_values", level), ("prompt", prompt), ("idp_hint", hint)], policy);
        for step in &steps {
            witness.play(step);
        }
    }
}

/// Random steps prove nothing if they never get anywhere.
#[test]
fn many_random_logins_reach_their_end() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut reached = [0; 3];
    for _ in 0..400 {
        let mut witness = Witness::new(&[], ConsentPolicy::Information);
        for step in &moves().new_tree(&mut runner).unwrap().current() {
            witness.play(step);
        }
        match witness.stage.login.end() {
            Some(Ok(())) => reached[0] += 1,
            Some(Err(_)) => reached[1] += 1,
            None => reached[2] += 1,
        }
    }
    assert!(reached.iter().all(|count| *count > 40), "{reached:?}");
}
