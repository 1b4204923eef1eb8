//! What the audit log is told of a login's step. One fact is told once: most of it at the step's end, for a step that loses
//! a race is taken again; and of what a step has stored, before the next thing happens.

use super::means::LoginServices;
use crate::assurance::Level;
use crate::audit::{Audit, Event, Name};
use crate::ids::{ConnectorId, Subject};
use crate::login::{Answer, ConsentAnswer, Effect, Login, Report, Request};
use crate::protocol::catalogue::ErrorCode;

/// As [`crate::login::State::name`] calls it.
const FAILED: &str = "failed";

/// One step, as far as it went.
pub(super) struct Trail<'m> {
    means: &'m LoginServices,
    before: &'static str,
    asked: Asked,
    /// The session that answers, until it is told.
    reused: Option<(ConnectorId, Subject, Level)>,
    /// The connector that was called last.
    called: Option<ConnectorId>,
    departed: Option<Result<(), ErrorCode>>,
    obtained: Option<Level>,
    accepted: bool,
    /// Why the last call failed, for the operator console.
    fault_detail: Option<String>,
}

/// What the browser asked for, as far as the log is concerned.
enum Asked {
    Look,
    Choose(ConnectorId),
    Return,
    Review,
    Yes,
    No,
    Other,
}

/// An event of this login.
pub(super) fn of(name: Name, login: &Login) -> Event {
    let ticket = &login.ticket;
    Event::of(name).sp(&ticket.request.client_id).login(&ticket.hash).support_id(&ticket.support_id)
}

impl<'m> Trail<'m> {
    pub fn new(means: &'m LoginServices, login: &Login, request: &Request) -> Self {
        let mut reused = None;
        let asked = match request {
            Request::Look { reuse } => {
                let told = |proven: &crate::login::Proven| {
                    (proven.authentication.connector.clone(), proven.subject.clone(), proven.level)
                };
                reused = reuse.as_deref().map(told);
                Asked::Look
            }
            Request::Choose(connector) => Asked::Choose(connector.clone()),
            Request::Return(_) => Asked::Return,
            Request::Review => Asked::Review,
            Request::Consent(consent) if consent.answer == ConsentAnswer::Yes => Asked::Yes,
            Request::Consent(_) => Asked::No,
            Request::Cancel | Request::Displace => Asked::Other,
        };
        let before = login.state.name();
        Self {
            means,
            before,
            asked,
            reused,
            called: None,
            departed: None,
            obtained: None,
            accepted: false,
            fault_detail: None,
        }
    }

    /// What `effect` follows from is stored.
    pub fn before(&mut self, login: &Login, effect: &Effect) {
        match effect {
            Effect::Begin(connector, _) => self.called = Some(connector.clone()),
            Effect::Complete(attempt, ..) => self.called = Some(attempt.connector.clone()),
            Effect::Identify(proven) => {
                self.accepted = true;
                self.audit().tell(|| {
                    of(Name::CallbackAccepted, login).idp(&proven.connector).level(proven.level)
                });
            }
            // What was told when it was granted first.
            Effect::Grant(_) if self.before == "answered" => {}
            Effect::Grant(grant) => {
                self.tell_reuse(login);
                let name = match (&self.asked, grant.consented) {
                    (Asked::Yes, true) => Name::ConsentGiven,
                    (Asked::Yes, false) => Name::InformationContinued,
                    _ => return,
                };
                let proven = &grant.proven;
                self.audit().tell(|| {
                    of(name, login).idp(&proven.authentication.connector).subject(&proven.subject)
                });
            }
            Effect::LookForCode(_) => {}
        }
    }

    /// `fault_detail`: why the call failed, where it did.
    pub fn after(&mut self, report: &Report, fault_detail: Option<String>) {
        self.fault_detail = fault_detail.or_else(|| self.fault_detail.take());
        match report {
            Report::Departed(left) => {
                self.departed = Some(left.as_ref().map(|_| ()).map_err(|code| *code))
            }
            Report::Authenticated(Ok(proven)) => self.obtained = Some(proven.level),
            Report::Authenticated(Err(_))
            | Report::Identified(_)
            | Report::Granted(_)
            | Report::CodeLives(_) => {}
        }
    }

    /// The step is stored, and the browser gets `answer`.
    pub fn end(mut self, login: &Login, answer: &Answer) {
        self.tell_reuse(login);
        let after = login.state.name();
        let code = refusal(login, answer, self.before);
        match (&self.asked, answer) {
            (Asked::Look, Answer::Choice { banner }) if self.departed.is_none() => {
                self.audit().tell(|| {
                    let shown = of(Name::ChoiceShown, login);
                    banner.as_ref().map_or(shown.clone(), |banner| {
                        about(shown, banner.connector.as_ref()).code(banner.code)
                    })
                })
            }
            (Asked::Return, _) if !self.accepted => return self.callback(login, answer, code),
            (Asked::Review, Answer::Consent(page)) => {
                let name = if page.explicit { Name::ConsentShown } else { Name::InformationShown };
                let proven = &page.proven;
                self.audit().tell(|| {
                    of(name, login).idp(&proven.authentication.connector).subject(&proven.subject)
                });
            }
            (Asked::No, _)
                if self.before != after
                    && login.end() == Some(Err(ErrorCode::UserRefusedConsent)) =>
            {
                self.audit().tell(|| of(Name::ConsentRefused, login));
            }
            _ => {}
        }
        if self.chosen(login, answer) {
            return self.ended(login, answer);
        }
        let refused_step = match answer {
            Answer::Problem(_) if after == FAILED => None,
            Answer::Problem(_) | Answer::Blocked(_) => code,
            _ => None,
        };
        if let Some(code) = refused_step {
            let connector = match answer {
                Answer::Blocked(banner) => banner.connector.as_ref(),
                _ => None,
            };
            self.audit().tell(|| about(of(Name::StepRefused, login), connector).code(code));
        }
        self.ended(login, answer);
    }

    /// True if an identity provider was chosen, which is then told.
    fn chosen(&self, login: &Login, answer: &Answer) -> bool {
        let (connector, code) = match (&self.departed, &self.asked, answer) {
            (Some(departed), _, _) => (self.called.as_ref(), departed.err()),
            (None, Asked::Choose(connector), Answer::Choice { banner: Some(banner) }) => {
                // Whatever the form named: only what is configured is repeated.
                let known = self.means.federation.load().connector(connector).is_some();
                (Some(connector).filter(|_| known), Some(banner.code))
            }
            _ => return false,
        };
        self.audit().tell(|| {
            let chosen =
                about(of(Name::IdpChosen, login), connector).level(login.ticket.request.level);
            code.map_or(chosen.clone(), |code| {
                chosen.code(code).detail(self.fault_detail.as_deref())
            })
        });
        true
    }

    fn callback(&self, login: &Login, answer: &Answer, code: Option<ErrorCode>) {
        let moved = self.before != login.state.name();
        let refused = match answer {
            Answer::Problem(_) if login.state.name() == FAILED => None,
            // Forged, or of an older attempt; or the whole attempt has failed.
            Answer::Problem(_) | Answer::Blocked(_) => code,
            // A late duplicate of a callback is shown what the first one got, and is no other fact.
            Answer::Choice { .. } | Answer::ServiceProvider { .. } if moved => code,
            _ => None,
        };
        if let Some(code) = refused {
            self.audit().tell(|| {
                let event =
                    about(of(Name::CallbackRefused, login), self.called.as_ref()).code(code);
                let event = event.detail(self.fault_detail.as_deref());
                self.obtained.map_or(event.clone(), |level| event.level(level))
            });
        }
        self.ended(login, answer);
    }

    /// How the login has ended, if it has in this step. A code that was issued is told by whoever issued it.
    fn ended(&self, login: &Login, answer: &Answer) {
        if self.before == login.state.name() || self.before == FAILED {
            return;
        }
        match (login.end(), answer) {
            (Some(Err(code)), _) => self.audit().tell(|| of(Name::LoginRefused, login).code(code)),
            (None, Answer::Problem(problem)) if login.state.name() == FAILED => {
                self.audit().tell(|| of(Name::LoginFailed, login).code(problem.code));
            }
            (Some(Ok(())) | None, _) => {}
        }
    }

    fn tell_reuse(&mut self, login: &Login) {
        if let Some((idp, subject, level)) = self.reused.take() {
            self.audit()
                .tell(|| of(Name::SessionReused, login).idp(&idp).subject(&subject).level(level));
        }
    }

    fn audit(&self) -> &'m Audit {
        &self.means.grants.audit
    }
}

fn about(event: Event, connector: Option<&ConnectorId>) -> Event {
    match connector {
        Some(connector) => event.idp(connector),
        None => event,
    }
}

/// Why the browser does not get on, if it does not.
fn refusal(login: &Login, answer: &Answer, before: &str) -> Option<ErrorCode> {
    match answer {
        Answer::Problem(problem) => Some(problem.code),
        Answer::Blocked(banner) => Some(banner.code),
        Answer::Choice { banner } => banner.as_ref().map(|banner| banner.code),
        Answer::ServiceProvider { .. } if before != login.state.name() => {
            login.end().and_then(Result::err)
        }
        Answer::ServiceProvider { .. }
        | Answer::Leave { .. }
        | Answer::ToConsent
        | Answer::Consent(_) => None,
    }
}
