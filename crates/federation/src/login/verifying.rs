//! State: the connector verifies the callback. The attempt is closed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::upstream::Authentication;
use super::{Effect, Identifying, LoginContext, LoginState, Step, StepInputs};
use crate::assurance::AcrCheck;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ConnectorId;

/// A callback is being verified.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verifying {
    pub(super) connector: ConnectorId,
    /// When the callback was accepted; zero in records of releases that did not store it.
    #[serde(default)]
    pub(super) since: Timestamp,
}

/// The longest time in which a process works on a callback: one call to a slow identity provider. A
/// second process that stops waiting earlier harms nothing.
const MAX_VERIFICATION_TIME: Duration = Duration::from_secs(8);

impl Verifying {
    /// Returns whether the process that accepted the callback may still be working on it.
    pub(super) fn is_under_way(&self, now: Timestamp) -> bool {
        now.since(self.since) < MAX_VERIFICATION_TIME
    }

    /// Applies the outcome of [`Effect::CompleteLogin`](super::Effect::CompleteLogin).
    pub(super) fn on_authentication(
        self,
        context: Box<LoginContext>,
        result: Result<Box<Authentication>, ErrorCode>,
        inputs: &StepInputs<'_>,
    ) -> Step {
        let authentication = match result {
            Ok(authentication) => authentication,
            Err(code) => return context.back_to_choice(self.connector, code),
        };
        // The gate is checked again, with the level that was achieved.
        if let Err(code) = (inputs.gate)(&self.connector, AcrCheck::Achieved(authentication.level))
        {
            return context.answer_gate_error(&self.connector, code);
        }
        if authentication.level < context.request.level {
            // Another identity provider may reach the level.
            return context.back_to_choice(self.connector, ErrorCode::AcrTooLow);
        }
        // On the standard platform `accepts_level` accepts every level, because every answer has
        // the same `acr` (OpenID Connect Core 1.0 §5.5.1.1).
        if !context.request.accepts_level(authentication.level) {
            return context.back_to_choice(self.connector, ErrorCode::AcrNotRequired);
        }
        let state = LoginState::Identifying(Identifying { connector: self.connector });
        Step::perform_unsaved(context, state, Effect::Identify(authentication))
    }
}
