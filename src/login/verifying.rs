//! The connector checks what the callback brought. The attempt is closed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::upstream::Authentication;
use super::{Effect, Identifying, State, Step, Ticket, World};
use crate::assurance::At;
use crate::env::Timestamp;
use crate::ids::ConnectorId;
use crate::protocol::catalogue::ErrorCode;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verifying {
    pub(super) connector: ConnectorId,
    /// When the callback came; long ago in a record of a release that did not say.
    #[serde(default)]
    pub(super) since: Timestamp,
}

/// A process that still works on a callback does so for no longer than this, as a rule: one call to an identity provider
/// that is slow. Whoever waited in vain does no harm to one that works on.
const UNDER_WAY: Duration = Duration::from_secs(8);

impl Verifying {
    /// Whether the process that took the callback may still be at work on it.
    pub(super) fn is_under_way(&self, now: Timestamp) -> bool {
        now.since(self.since) < UNDER_WAY
    }

    pub(super) fn authenticated(
        self,
        ticket: Ticket,
        result: Result<Box<Authentication>, ErrorCode>,
        world: &World<'_>,
    ) -> Step {
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
        // On the standard platform the request names none, for every answer has the same (Core, 5.5.1.1).
        if !ticket.request.accepts_acr(authentication.level) {
            return ticket.back_to_choice(self.connector, ErrorCode::AcrNotRequired);
        }
        let state = State::Identifying(Identifying { connector: self.connector });
        Step::pass_through(ticket, state, Effect::Identify(authentication))
    }
}
