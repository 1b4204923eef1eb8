//! The browser is at the identity provider; one attempt is open.

use serde::{Deserialize, Serialize};

use super::choosing::choose;
use super::upstream::Attempt;
use super::{
    Answer, Answered, Effect, Request, Return, State, Step, Ticket, Verifying, Way, World,
};
use crate::assurance::At;
use crate::protocol::catalogue::ErrorCode;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Away {
    pub(super) attempt: Attempt,
}

impl Away {
    pub(super) fn on(self, ticket: Ticket, request: Request, world: &World<'_>) -> Step {
        match request {
            // Back from the identity provider by the back button: the choice is open again.
            Request::Look { .. } => {
                Step::stay(ticket, State::Away(self), Answer::Choice { banner: None })
            }
            // Choosing again closes the older attempt: its state is forgotten (decisions 5).
            Request::Choose(connector) => choose(ticket, &connector, world),
            Request::Cancel => Answered::error(ticket, ErrorCode::UserCancelled),
            Request::Return(back) => self.returned(ticket, back, world),
            Request::Review | Request::Consent(_) | Request::Displace => Step::stay(
                ticket,
                State::Away(self),
                Answer::problem(ErrorCode::StepOutOfOrder, Way::Choice),
            ),
        }
    }

    fn returned(self, mut ticket: Ticket, back: Return, world: &World<'_>) -> Step {
        let attempt = &self.attempt;
        // Forged and replayed states, and answers of another identity provider (mix-up, RFC 9700, 4.4), leave the
        // open attempt as it is: the person's real answer may still be on its way.
        if attempt.state != back.state || attempt.connector != back.connector {
            return Step::stay(
                ticket,
                State::Away(self),
                Answer::problem(ErrorCode::StateUnknown, Way::Choice),
            );
        }
        if !back.arrival.code_is_acceptable() {
            return Step::stay(
                ticket,
                State::Away(self),
                Answer::problem(ErrorCode::IdpCodeMalformed, Way::Choice),
            );
        }
        ticket.returned = Some(back.state);
        if let Err(code) = issuer_agrees(attempt, back.arrival.iss.as_deref()) {
            let connector = self.attempt.connector;
            return ticket.back_to_choice(connector, code);
        }
        if let Err(code) = (world.gate)(&attempt.connector, At::Asked(attempt.demand())) {
            return ticket.shut_out(&attempt.connector, code);
        }
        // Stored as closed before the code is used: a second callback can never reach the token endpoint.
        let state =
            State::Verifying(Verifying { connector: attempt.connector.clone(), since: world.now });
        Step::settle_then(ticket, state, Effect::Complete(self.attempt, back.arrival, back.network))
    }
}

/// RFC 9207: required when announced, compared whenever present.
fn issuer_agrees(attempt: &Attempt, iss: Option<&str>) -> Result<(), ErrorCode> {
    match iss {
        Some(iss) if iss != attempt.left.issuer => Err(ErrorCode::IdpIssWrong),
        None if attempt.left.iss_expected => Err(ErrorCode::IdpIssMissing),
        Some(_) | None => Ok(()),
    }
}
