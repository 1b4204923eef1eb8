//! The connector checks what the callback brought. The attempt is closed.

use serde::{Deserialize, Serialize};

use super::upstream::Authentication;
use super::{Effect, Identifying, State, Step, Ticket, World};
use crate::assurance::At;
use crate::ids::ConnectorId;
use crate::protocol::catalogue::ErrorCode;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verifying {
    pub(super) connector: ConnectorId,
}

impl Verifying {
    pub(super) fn authenticated(self, ticket: Ticket, result: Result<Box<Authentication>, ErrorCode>, world: &World<'_>) -> Step {
        let authentication = match result {
            Ok(authentication) => authentication,
            Err(code) => return ticket.back_to_choice(self.connector, code),
        };
        // Asked again with the level that was really obtained (decisions 1, the gate).
        if let Err(code) = (world.gate)(&self.connector, At::Obtained(authentication.level)) {
            return ticket.shut_out(&self.connector, code);
        }
        if authentication.level < ticket.request.level {
            // Another identity provider may reach it (decisions 8).
            return ticket.back_to_choice(self.connector, ErrorCode::AcrTooLow);
        }
        let state = State::Identifying(Identifying { connector: self.connector });
        Step::pass_through(ticket, state, Effect::Identify(authentication))
    }
}
