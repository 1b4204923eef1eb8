//! The page where a password is typed, as the web layer may see it: whether a connector has one, and one question.

use std::time::Duration;

use super::logins::Standing;
use super::registry::Connectors;
use crate::assurance::At;
use crate::client_network::ClientNetwork;
use crate::connector::own_page::{SignedIn, Typed};
use crate::grant::Gate as _;
use crate::ids::{ConnectorId, InteractionHash, Secret};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::at_level;

/// What was typed, and for which attempt.
#[derive(Clone, Debug)]
pub struct TypedIn {
    pub login: InteractionHash,
    /// The attempt's `state`, as the page's address carries it.
    pub state: String,
    pub username: Secret<String>,
    pub password: Secret<String>,
    /// The network that the form was sent from.
    pub network: ClientNetwork,
}

/// What became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignInOutcome {
    /// The query, without `?`, for the connector's callback.
    Proven(Secret<String>),
    /// Name or password are wrong.
    Refused,
    /// Too many were wrong: not before this time has passed.
    Wait(Duration),
    /// It could not be judged; the operator has been told.
    Failed(ErrorCode),
}

impl Connectors {
    /// Whether a password is typed for this connector on a page of the hub.
    #[must_use]
    pub fn asks_password(&self, id: &ConnectorId) -> bool {
        self.connector(id).is_some_and(|connector| connector.password_page().is_some())
    }

    /// Whether this login may use this connector, as far as can be said before the person is known (decisions 1).
    #[must_use]
    pub fn admits(&self, id: &ConnectorId, standing: &Standing) -> bool {
        !standing.over
            && !standing.failed
            && self.may(&standing.client_id, id, At::Asked(standing.demand)).is_ok()
    }

    /// Judges what was typed, within the connector's limits of calls and time.
    pub async fn sign_in(
        &self,
        id: &ConnectorId,
        typed: TypedIn,
        standing: &Standing,
    ) -> SignInOutcome {
        let TypedIn { login, state, username, password, network } = typed;
        let outcome = match self.handle(id) {
            Ok(handle) => handle.sign_in(Typed { login, state, username, password, network }).await,
            Err(code) => return SignInOutcome::Failed(code),
        };
        match outcome {
            Ok(SignedIn::Yes(query)) => SignInOutcome::Proven(query),
            Ok(SignedIn::No) => SignInOutcome::Refused,
            Ok(SignedIn::Wait(wait)) => SignInOutcome::Wait(wait),
            Err(fault) => {
                let support_id = standing.support_id.as_str();
                at_level!(fault.code, support_id, connector = %id, detail = fault.detail, "an identity provider's step failed");
                SignInOutcome::Failed(fault.code)
            }
        }
    }
}
