//! Nothing can mend this login. Failure is sticky: the only way on is back to the service provider.

use serde::{Deserialize, Serialize};

use super::{Answer, Answered, Problem, Request, State, Step, Ticket, Unidentified, Way};
use crate::identity::Claim;
use crate::protocol::catalogue::ErrorCode;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    code: ErrorCode,
    /// What the identity lacks, for the page.
    claim: Option<Claim>,
}

impl Failed {
    /// Why.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.code
    }

    pub(super) const fn with(code: ErrorCode) -> Self {
        Self { code, claim: None }
    }

    pub(super) const fn lacking(why: Unidentified) -> Self {
        Self { code: why.code, claim: why.claim }
    }

    pub(super) fn enter(self, ticket: Ticket) -> Step {
        let answer = self.page();
        Step::settle(ticket, State::Failed(self), answer)
    }

    pub(super) fn on(self, ticket: Ticket, request: Request) -> Step {
        match request {
            // "Back to the service": it hears why (decisions 5).
            Request::Cancel => Answered::error(ticket, self.code),
            Request::Look { .. }
            | Request::Choose(_)
            | Request::Return(_)
            | Request::Review
            | Request::Consent(_)
            | Request::Displace => {
                let answer = self.page();
                Step::stay(ticket, State::Failed(self), answer)
            }
        }
    }

    const fn page(&self) -> Answer {
        Answer::Problem(Problem { code: self.code, claim: self.claim, way: Way::ServiceProvider })
    }
}
