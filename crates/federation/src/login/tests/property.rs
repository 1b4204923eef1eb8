//! Tests what holds for any sequence of requests and outcomes, valid or not, at any time.

mod moves;

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::assurance::Level;
use crate::login::tests::harness::{
    BLOCKED, BrowserView, CLOSED, Harness, OPEN, callback_with, seen,
};
use crate::login::upstream::LoginAttempt;
use crate::login::{
    Completed, ConsentAnswer, ConsentSubmission, Effect, EffectOutcome, IdentifiedUser,
    LoginRequest, LoginState, MailAction, MailLanguage, MailSubmission, Save, SessionUse,
    StepOutput,
};
use crate::testing::samples::{
    authentication, authorization_redirect, identified_user, user_of_reused_session,
    user_with_mail_rule,
};
use moves::*;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::registration::ConsentRequirement;

/// A login, and all that was ever seen of it.
struct ObservedLogin {
    harness: Harness,
    attempts: Vec<LoginAttempt>,
    pending: Option<Effect>,
    completed: BTreeSet<String>,
    codes: BTreeSet<String>,
    refused: bool,
    /// Since the choice was last shown: a completed attempt, then an authentication, then an
    /// identity.
    authenticated: bool,
    identified: bool,
    reused: bool,
    /// Whether a rule asks for a code by mail.
    asks_mail: bool,
    /// The last code that was sent.
    mail_code: Option<Secret<String>>,
}

impl ObservedLogin {
    fn new(changes: &[(&str, &str)], policy: ConsentRequirement) -> Self {
        Self {
            harness: Harness::new(changes).with_policy(policy).with_session("session"),
            attempts: vec![],
            pending: None,
            completed: BTreeSet::new(),
            codes: BTreeSet::new(),
            refused: false,
            authenticated: false,
            identified: false,
            reused: false,
            asks_mail: false,
            mail_code: None,
        }
    }

    /// Takes a step, after the pending effect, unless the step concerns that.
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
        let end = self.harness.login.outcome();
        let failed = matches!(self.harness.login.state, LoginState::Failed(_));
        let Some(then) = self.act(step) else { return };
        match then {
            StepOutput::Perform(effect) => {
                self.check_effect(&effect, end.is_some() || failed);
                self.pending = Some(*effect);
            }
            StepOutput::Answer(answer) => {
                self.pending = None;
                if let BrowserView::ServiceProvider(_, Some(session)) = seen(answer) {
                    assert!(
                        self.codes.contains(self.harness.code().unwrap()),
                        "an answer before its grant"
                    );
                    let LoginState::Completed(Completed::Granted { session: stored, .. }) =
                        &self.harness.login.state
                    else {
                        panic!()
                    };
                    assert_eq!(
                        stored.as_ref().map(passerelle_protocol::ids::Secret::reveal),
                        Some(&session)
                    );
                }
            }
        }
        // A grant that could not be stored is the only exit from a completed login.
        let report_lost = matches!(step, Move::Answer { good: false, .. });
        match (end, self.harness.login.outcome()) {
            (Some(before), after) => {
                assert!(after == Some(before) || report_lost, "{before:?} became {after:?}")
            }
            (None, Some(Ok(()))) => assert!(!failed && !self.refused, "granted after a failure"),
            (None, _) => {}
        }
        self.refused |= matches!(self.harness.login.outcome(), Some(Err(_)));
    }

    fn act(&mut self, step: &Move) -> Option<StepOutput> {
        Some(match step {
            Move::Answer { good, level } => {
                let effect = self.pending.take()?;
                self.report(effect, *good, *level)
            }
            Move::UnexpectedOutcome(kind) => {
                self.harness.report_outcome(self.unexpected_outcome(*kind)?)
            }
            Move::Gate { closed } => {
                self.harness.gate = match closed {
                    None => OPEN,
                    Some(GateRefusal::Closed) => CLOSED,
                    Some(GateRefusal::Block) => BLOCKED,
                };
                return None;
            }
            Move::Wait { millis } => {
                self.harness.now =
                    self.harness.now + std::time::Duration::from_millis(u64::from(*millis));
                return None;
            }
            Move::Crash => {
                self.pending = None;
                self.harness.crash();
                return None;
            }
            request => {
                let request = self.request(request)?;
                if let (LoginRequest::OpenPage { reuse: Ok(Some(_)) }, LoginState::Choosing(_)) =
                    (&request, &self.harness.login.state)
                {
                    self.reused = true;
                }
                self.harness.send(request)
            }
        })
    }

    /// Returns `None` where the outcome would be expected: only the process that works on the state
    /// has it.
    fn unexpected_outcome(&self, kind: OutcomeKind) -> Option<EffectOutcome> {
        match (kind, &self.harness.login.state) {
            (OutcomeKind::RedirectPrepared, LoginState::PreparingRedirect(_))
            | (OutcomeKind::Authenticated, LoginState::Verifying(_))
            | (OutcomeKind::Identified, LoginState::Identifying(_)) => None,
            (OutcomeKind::RedirectPrepared, _) => {
                Some(EffectOutcome::RedirectPrepared(Ok(authorization_redirect())))
            }
            (OutcomeKind::Authenticated, _) => Some(EffectOutcome::Authenticated(Ok(Box::new(
                authentication("idp", Level::Eidas3),
            )))),
            (OutcomeKind::Identified, _) => {
                Some(EffectOutcome::Identified(Ok(Box::new(identified_user("idp", Level::Eidas3)))))
            }
        }
    }

    fn request(&self, step: &Move) -> Option<LoginRequest> {
        Some(match step {
            Move::OpenPage { reuse, consented } => {
                let session = || {
                    Box::new(IdentifiedUser {
                        consented: *consented,
                        ..user_of_reused_session("session")
                    })
                };
                LoginRequest::OpenPage { reuse: Ok(reuse.then(session)) }
            }
            Move::Choose { other } => {
                LoginRequest::Choose(if *other { "other" } else { "idp" }.into())
            }
            Move::Cancel => LoginRequest::Cancel,
            Move::Callback { attempt, flaw } => {
                let attempt = self.attempts.iter().rev().nth(*attempt)?;
                callback_with(attempt, |back| match flaw {
                    Flaw::None => {}
                    Flaw::State => back.state.push('x'),
                    Flaw::Connector => back.connector = "evil".into(),
                    Flaw::Iss => back.params.iss = Some("https://evil.example".into()),
                })
            }
            Move::OpenMailPage => LoginRequest::OpenMailPage(MailLanguage::default()),
            Move::MailCode { right } => {
                let code = self.mail_code.clone().filter(|_| *right);
                let code = code.unwrap_or_else(|| Secret::new("not a code".into()));
                LoginRequest::Mail(MailSubmission::Code(code))
            }
            Move::OpenConsentPage => LoginRequest::OpenConsentPage,
            Move::Consent { yes, shown } => {
                let page = match &self.harness.login.state {
                    LoginState::Consenting(page) if *shown => page.page_digest(),
                    _ => "another page".into(),
                };
                LoginRequest::Consent(ConsentSubmission {
                    answer: if *yes { ConsentAnswer::Yes } else { ConsentAnswer::No },
                    page_digest: page,
                })
            }
            Move::Displace => LoginRequest::Displace,
            Move::Answer { .. }
            | Move::UnexpectedOutcome(_)
            | Move::Gate { .. }
            | Move::Wait { .. }
            | Move::Crash => return None,
        })
    }

    fn report(&mut self, effect: Effect, good: bool, level: Level) -> StepOutput {
        match effect {
            Effect::BeginLogin(..) => {
                let then = self.harness.report_outcome(EffectOutcome::RedirectPrepared(
                    good.then(authorization_redirect).ok_or(ErrorCode::IdpTimeout),
                ));
                if let LoginState::AwaitingCallback(state) = &self.harness.login.state {
                    self.attempts.push(LoginAttempt::clone(&state.attempt));
                }
                then
            }
            Effect::CompleteLogin(attempt, ..) => {
                self.authenticated = good;
                let ok = Box::new(authentication(attempt.connector.as_str(), level));
                self.harness.report_outcome(EffectOutcome::Authenticated(
                    good.then_some(ok).ok_or(ErrorCode::IdTokenNonce),
                ))
            }
            Effect::Identify(authentication) => {
                self.identified = good;
                let level = authentication.level;
                let ok = Box::new(IdentifiedUser {
                    authentication: *authentication,
                    mail: user_with_mail_rule().mail.filter(|_| self.asks_mail),
                    ..identified_user("idp", level)
                });
                self.harness.report_outcome(EffectOutcome::Identified(
                    good.then_some(ok).ok_or(ErrorCode::RegisterNotFound.into()),
                ))
            }
            Effect::Mail(mail) => {
                if let MailAction::Send { code, .. } = mail.action {
                    self.mail_code = Some(code);
                }
                self.harness.report_outcome(EffectOutcome::Mail(
                    good.then_some(()).ok_or(ErrorCode::MailUnavailable),
                ))
            }
            Effect::IssueCode(_) => self.harness.report_outcome(EffectOutcome::CodeIssued(
                good.then_some(()).ok_or(ErrorCode::StoreFull),
            )),
            Effect::CheckCode(_) => {
                self.harness.report_outcome(EffectOutcome::CodeChecked(Ok(good)))
            }
        }
    }

    fn check_effect(&mut self, effect: &Effect, ended: bool) {
        match effect {
            Effect::BeginLogin(..) => assert!(!ended, "a redirect of an ended login"),
            Effect::CompleteLogin(attempt, arrival, _) => {
                assert!(!ended, "a callback of an ended login");
                assert_eq!(
                    self.harness.saved,
                    Save::Yes,
                    "an attempt that another hub would find open"
                );
                let youngest = self.attempts.last().unwrap();
                assert_eq!(attempt.request.state, youngest.request.state, "an older attempt");
                assert!(
                    attempt.request.nonce == youngest.request.nonce
                        && attempt.request.verifier == youngest.request.verifier,
                    "mixed attempts"
                );
                assert_eq!(arrival.iss.as_deref(), Some(youngest.redirect.issuer.as_str()));
                assert!(
                    self.completed.insert(attempt.request.state.clone()),
                    "an attempt completed twice"
                );
                (self.authenticated, self.identified) = (false, false);
            }
            Effect::Identify(authentication) => {
                assert!(self.authenticated && !ended);
                assert!(
                    authentication.level >= self.harness.login.context.request.level,
                    "a level below the request"
                );
            }
            Effect::Mail(_) => {
                assert!(!ended, "a mail of an ended login");
                assert_eq!(self.harness.saved, Save::Yes, "two hubs could count one code");
            }
            Effect::IssueCode(grant) => {
                let has_mail = grant.user.evidence.has_mail();
                let is_new = matches!(grant.session, SessionUse::New { .. });
                assert_eq!(has_mail, self.asks_mail && is_new, "a code that was not entered");
                let again = self.codes.contains(grant.code.reveal());
                assert!(!ended || again, "a grant of an ended login");
                assert!(self.harness.saved == Save::Yes || again, "two hubs could grant");
                match &grant.session {
                    SessionUse::New { .. } => {
                        assert!(self.authenticated && self.identified, "no user was identified");
                        assert!(
                            self.completed.contains(
                                self.harness.login.context.accepted_state.as_ref().unwrap()
                            )
                        );
                    }
                    SessionUse::Reused { .. } => assert!(self.reused, "no session was reused"),
                }
                assert!(grant.user.level >= grant.request.level || self.reused, "too low a level");
                self.codes.insert(grant.code.reveal().clone());
                assert_eq!(self.codes.len(), 1, "two codes in one login");
            }
            Effect::CheckCode(code) => {
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
        asks_mail in any::<bool>(),
    ) {
        let policy = if required { ConsentRequirement::Required } else { ConsentRequirement::Information };
        let mut observed = ObservedLogin::new(&[("acr_values", level), ("prompt", prompt), ("idp_hint", hint)], policy);
        observed.asks_mail = asks_mail;
        for step in &steps {
            observed.play(step);
        }
    }
}

/// Random steps prove nothing if they never complete a login.
#[test]
fn many_random_logins_reach_their_end() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut reached = [0; 3];
    let mut confirmed = 0;
    for round in 0..400 {
        let mut observed = ObservedLogin::new(&[], ConsentRequirement::Information);
        observed.asks_mail = round % 2 == 0;
        for step in &moves().new_tree(&mut runner).unwrap().current() {
            observed.play(step);
        }
        match observed.harness.login.outcome() {
            Some(Ok(())) => {
                reached[0] += 1;
                confirmed += usize::from(observed.mail_code.is_some());
            }
            Some(Err(_)) => reached[1] += 1,
            None => reached[2] += 1,
        }
    }
    assert!(reached.iter().all(|count| *count > 40) && confirmed > 4, "{reached:?} {confirmed}");
}
