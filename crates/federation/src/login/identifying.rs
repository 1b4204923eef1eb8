//! State: the identity rules and the register identify the user.

use serde::{Deserialize, Serialize};

use super::{
    Consenting, Failed, IdentificationError, IdentifiedUser, LoginContext, Step, StepInputs,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ConnectorId;

/// The user is being identified.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Identifying {
    pub(super) connector: ConnectorId,
}

impl Identifying {
    /// Applies the outcome of [`Effect::Identify`](super::Effect::Identify).
    pub(super) fn on_identification(
        self,
        context: Box<LoginContext>,
        result: Result<Box<IdentifiedUser>, IdentificationError>,
        inputs: &StepInputs<'_>,
    ) -> Step {
        match result {
            // Another identity provider may prove the factors that an essential `acr` needs.
            Ok(user) if !context.request.accepts_acr(&user.acr_proof()) => {
                context.back_to_choice(self.connector, ErrorCode::AcrNotRequired)
            }
            Ok(user) => Consenting::enter(context, *user, inputs),
            Err(error) => Failed::from_identification_error(error, self.connector).enter(context),
        }
    }
}
