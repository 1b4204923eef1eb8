//! The browser is to choose an identity provider.

use serde::{Deserialize, Serialize};

use super::upstream::Departure;
use super::{
    Answer, Answered, Consenting, Leaving, Proven, Request, State, Step, Ticket, Way, World,
};
use crate::assurance::At;
use crate::ids::{ConnectorId, Secret};
use crate::protocol::catalogue::ErrorCode;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Choosing {
    pub banner: Option<Banner>,
}

/// Why the person is back at the choice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Banner {
    /// The identity provider that failed; `None` when it was the hub.
    pub connector: Option<ConnectorId>,
    pub code: ErrorCode,
}

impl Banner {
    /// A kill switch is in force.
    pub(super) const fn is_block(code: ErrorCode) -> bool {
        matches!(code, ErrorCode::IdpBlocked | ErrorCode::IdpBlockedForService)
    }
}

impl Choosing {
    pub(super) fn on(self, ticket: Ticket, request: Request, world: &World<'_>) -> Step {
        match request {
            Request::Look { reuse } => self.look(ticket, reuse, world),
            Request::Choose(connector) => choose(ticket, &connector, world),
            Request::Cancel => Answered::error(ticket, ErrorCode::UserCancelled),
            // A late duplicate of the callback that led here gets what the first one got.
            Request::Return(back) if ticket.returned.as_deref() == Some(&back.state) => {
                self.show(ticket)
            }
            Request::Return(_) => self.stay(ticket, ErrorCode::StateUnknown),
            // The consent page that a kill switch came between, opened or sent again.
            Request::Review | Request::Consent(_) if self.is_shut_out() => self.tell(ticket),
            Request::Review | Request::Consent(_) | Request::Displace => {
                self.stay(ticket, ErrorCode::StepOutOfOrder)
            }
        }
    }

    fn look(self, mut ticket: Ticket, reuse: Option<Box<Proven>>, world: &World<'_>) -> Step {
        if self.banner.is_some() {
            return self.show(ticket);
        }
        if let Some(proven) = reuse {
            return Consenting::enter(ticket, *proven, world);
        }
        // Nothing may be shown, and prompt=none is never sent to an identity provider (decisions 3).
        if ticket.request.prompt.none {
            return Answered::error(ticket, ErrorCode::LoginRequired);
        }
        // A hint that the gate refuses is ignored (decisions 3).
        let hint = ticket
            .request
            .idp_hint
            .clone()
            .filter(|_| !ticket.hint_followed && !ticket.request.prompt.select_account);
        match hint {
            Some(connector)
                if (world.gate)(&connector, At::Asked(ticket.request.demand())).is_ok() =>
            {
                ticket.hint_followed = true;
                choose(ticket, &connector, world)
            }
            Some(_) | None => self.show(ticket),
        }
    }

    fn is_shut_out(&self) -> bool {
        self.banner.as_ref().is_some_and(|banner| Banner::is_block(banner.code))
    }

    fn tell(self, ticket: Ticket) -> Step {
        match self.banner.clone() {
            Some(banner) => Step::stay(ticket, State::Choosing(self), Answer::Blocked(banner)),
            None => self.show(ticket),
        }
    }

    fn show(self, ticket: Ticket) -> Step {
        let banner = self.banner.clone();
        Step::stay(ticket, State::Choosing(self), Answer::Choice { banner })
    }

    fn stay(self, ticket: Ticket, code: ErrorCode) -> Step {
        Step::stay(ticket, State::Choosing(self), Answer::problem(code, Way::Choice))
    }
}

/// Leaves for a connector, if the gate agrees.
pub(super) fn choose(ticket: Ticket, connector: &ConnectorId, world: &World<'_>) -> Step {
    if let Err(code) = (world.gate)(connector, At::Asked(ticket.request.demand())) {
        let banner = Banner { connector: Some(connector.clone()), code };
        let state = State::Choosing(Choosing { banner: Some(banner.clone()) });
        return Step::settle(ticket, state, Answer::Choice { banner: Some(banner) });
    }
    let request = &ticket.request;
    let departure = Departure {
        // Unrelated to the interaction's address, which the identity provider must not learn.
        state: world.fresh.token(),
        nonce: world.fresh.token(),
        verifier: Secret::new(world.fresh.token()),
        redirect_uri: format!("{}{connector}", world.callback_base),
        level: request.level,
        reauthenticate: request.prompt.login,
        max_age: request.max_age,
        login_hint: request.login_hint.as_ref().map(|hint| hint.reveal().clone()),
        ui_locales: (!request.ui_locales.is_empty()).then(|| request.ui_locales.join(" ")),
    };
    Leaving::enter(ticket, connector.clone(), departure)
}
