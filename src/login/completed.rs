//! The service provider has its answer; what is left is to repeat it for a double click.

use serde::{Deserialize, Serialize};

use super::{Answer, Effect, Failed, Grant, Proven, Request, SessionUse, State, Step, Ticket, Way};
use crate::env::Timestamp;
use crate::ids::{ConnectorId, Secret};
use crate::protocol::authorize::SpAnswer;
use crate::protocol::catalogue::ErrorCode;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answered {
    /// With this code, and the cookie of the session that began with it.
    Granted {
        code: Secret<String>,
        session: Option<Secret<String>>,
        /// Where the person authenticated.
        connector: ConnectorId,
        /// For whoever repeats the step at another node: the process that was to store the code may have died, or the store
        /// been away. It has served where the grant was told to be done.
        #[serde(default)]
        kept: Option<Box<Kept>>,
    },
    Refused(ErrorCode),
}

/// What a grant is made of, beside its code and what the ticket holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    pub(super) proven: Proven,
    pub(super) session: SessionUse,
    pub(super) consented: bool,
    pub(super) granted_at: Timestamp,
}

impl Kept {
    /// The session that the granted one takes the place of.
    const fn former_session(&self) -> Option<&Secret<String>> {
        match &self.session {
            SessionUse::Fresh { former, .. } => former.as_ref(),
            SessionUse::Reused { .. } => None,
        }
    }

    pub(super) fn grant(&self, code: &Secret<String>, ticket: &Ticket) -> Grant {
        Grant {
            code: code.clone(),
            request: ticket.request.clone(),
            scopes: ticket.request.scopes.clone(),
            proven: self.proven.clone(),
            login: ticket.hash.clone(),
            support_id: ticket.support_id.clone(),
            consented: self.consented,
            session: self.session.clone(),
            granted_at: self.granted_at,
        }
    }
}

impl Answered {
    /// What must have ended before the answer is repeated.
    pub(super) fn former_session(&self) -> Option<&Secret<String>> {
        match self {
            Self::Granted { kept, .. } => kept.as_ref()?.former_session(),
            Self::Refused(_) => None,
        }
    }

    /// Ends the login with an error that the service provider hears of.
    pub(super) fn error(ticket: Ticket, code: ErrorCode) -> Step {
        let state = Self::Refused(code);
        let answer = state.answer(&ticket);
        Step::settle(ticket, State::Answered(state), answer)
    }

    pub(super) fn on(self, ticket: Ticket, request: Request) -> Step {
        match request {
            // A callback that this login never accepted gets nothing, least of all a code.
            Request::Return(back) if ticket.returned.as_deref() != Some(&back.state) => {
                self.already_done(ticket)
            }
            // A double click, or the answer got lost: the same answer again, while its code can still be used.
            Request::Look { .. } | Request::Consent(_) | Request::Cancel | Request::Return(_) => {
                match &self {
                    Self::Granted { code, .. } => {
                        let effect = Effect::LookForCode(code.clone());
                        Step::pass_through(ticket, State::Answered(self), effect)
                    }
                    Self::Refused(_) if matches!(request, Request::Look { .. }) => {
                        self.already_done(ticket)
                    }
                    Self::Refused(_) => self.repeat(ticket),
                }
            }
            Request::Choose(_) | Request::Review | Request::Displace => self.already_done(ticket),
        }
    }

    pub(super) fn granted(mut self, ticket: Ticket, result: Result<(), ErrorCode>) -> Step {
        match result {
            Ok(()) => {
                if let Self::Granted { kept, .. } = &mut self {
                    *kept = None;
                }
                self.repeat(ticket)
            }
            // Issued, used or over by now.
            Err(ErrorCode::AlreadyDone) => self.already_done(ticket),
            // Nothing may be shown: the service provider hears of it at once.
            Err(code) if ticket.request.prompt.none => Self::error(ticket, code),
            // It may have been stored or not: the next look tells, and ends what is left to do.
            Err(ErrorCode::StoreUnavailable) => self.in_a_moment(ticket),
            Err(code) => Failed::with(code).enter(ticket),
        }
    }

    pub(super) fn code_lives(self, ticket: Ticket, lives: Result<bool, ErrorCode>) -> Step {
        match (lives, &self) {
            (Ok(true), _) => self.repeat(ticket),
            // Never stored, or used: the store takes no code a second time, so that asking for the same one again is safe.
            (Ok(false), Self::Granted { code, kept: Some(kept), .. }) => {
                let effect = Effect::Grant(Box::new(kept.grant(code, &ticket)));
                Step::pass_through(ticket, State::Answered(self), effect)
            }
            (Ok(false), _) => self.already_done(ticket),
            (Err(_), _) => self.in_a_moment(ticket),
        }
    }

    fn in_a_moment(self, ticket: Ticket) -> Step {
        Step::stay(
            ticket,
            State::Answered(self),
            Answer::problem(ErrorCode::StoreUnavailable, Way::Choice),
        )
    }

    fn answer(&self, ticket: &Ticket) -> Answer {
        let redirect = &ticket.request.redirect;
        let (answer, session): (SpAnswer, _) = match self {
            Self::Granted { code, session, .. } => (redirect.code(code.reveal()), session.clone()),
            Self::Refused(code) => (redirect.error(*code), None),
        };
        Answer::ServiceProvider { answer, session }
    }

    fn repeat(self, ticket: Ticket) -> Step {
        let answer = self.answer(&ticket);
        Step::stay(ticket, State::Answered(self), answer)
    }

    fn already_done(self, ticket: Ticket) -> Step {
        Step::stay(
            ticket,
            State::Answered(self),
            Answer::problem(ErrorCode::AlreadyDone, Way::HomePage),
        )
    }
}
