//! A connector is asked where to send the browser (it may have to fetch metadata first).

use serde::{Deserialize, Serialize};

use super::upstream::{Attempt, Departure, AuthorizationRedirect};
use super::{Answer, Away, Effect, State, Step, Ticket, World};
use crate::assurance::Level;
use crate::ids::{ConnectorId, Secret};
use crate::protocol::catalogue::ErrorCode;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Leaving {
    connector: ConnectorId,
    state: String,
    nonce: String,
    verifier: Secret<String>,
    redirect_uri: String,
    level: Level,
    reauthenticate: bool,
    max_age: Option<u64>,
}

impl Leaving {
    pub(super) const fn connector(&self) -> &ConnectorId {
        &self.connector
    }

    pub(super) fn enter(ticket: Ticket, connector: ConnectorId, departure: Departure) -> Step {
        let state = State::Leaving(Self {
            connector: connector.clone(),
            state: departure.state.clone(),
            nonce: departure.nonce.clone(),
            verifier: departure.verifier.clone(),
            redirect_uri: departure.redirect_uri.clone(),
            level: departure.level,
            reauthenticate: departure.reauthenticate,
            max_age: departure.max_age,
        });
        Step::pass_through(ticket, state, Effect::Begin(connector, departure))
    }

    pub(super) fn departed(
        self,
        ticket: Ticket,
        result: Result<AuthorizationRedirect, ErrorCode>,
        world: &World<'_>,
    ) -> Step {
        let left = match result {
            Ok(left) => left,
            Err(code) => return ticket.back_to_choice(self.connector, code),
        };
        let url = left.url.clone();
        let attempt = Attempt {
            connector: self.connector,
            state: self.state,
            nonce: self.nonce,
            verifier: self.verifier,
            redirect_uri: self.redirect_uri,
            level: self.level,
            reauthenticate: self.reauthenticate,
            max_age: self.max_age,
            left_at: world.now,
            left,
        };
        Step::settle(ticket, State::Away(Away { attempt }), Answer::Leave { url })
    }
}
