//! The authentication is proven; the identity rules and the register decide who it is.

use serde::{Deserialize, Serialize};

use super::{Consenting, Failed, Proven, Step, Ticket, Unidentified, World};
use crate::ids::ConnectorId;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Identifying {
    pub(super) connector: ConnectorId,
}

impl Identifying {
    pub(super) fn identified(
        self,
        ticket: Ticket,
        result: Result<Box<Proven>, Unidentified>,
        world: &World<'_>,
    ) -> Step {
        match result {
            Ok(proven) => Consenting::enter(ticket, *proven, world),
            // Register and identity failures can't be mended by choosing again: a page that waits for the person.
            Err(why) => Failed::lacking(why).enter(ticket),
        }
    }
}
